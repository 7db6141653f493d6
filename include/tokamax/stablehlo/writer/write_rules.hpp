// tokamax/stablehlo/writer/write_rules.hpp: how ops are written whose form in StableHLO is another one: bodies, records, pairs of numbers.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (part of program)
// tested by tests/stablehlo/write.cpp
#pragma once

#include <tokamax/lax/cumulative.hpp>                         // cumulative_options
#include <tokamax/lax/dot_general.hpp>                        // dot_dimensions
#include <tokamax/lax/indexing/scatter.hpp>                   // scatter_options
#include <tokamax/lax/indexing/slice.hpp>                     // slice_options, pad_options
#include <tokamax/lax/shapes/concatenate.hpp>                 // concatenate_options
#include <tokamax/lax/shapes/reverse.hpp>                     // reverse_options
#include <tokamax/lax/windows/conv.hpp>                       // conv_options
#include <tokamax/stablehlo/writer/dynamic_slice_writer.hpp>  // written_dynamic_slice

#include <limits>  // numeric_limits
#include <span>    // span

namespace tokamax::stablehlo::detail {

/// Comparisons are one operation with a direction.
template <const char* Direction>
written written_compare(const write_call& w) {
  return w.to.compare(w[0], w[1], Direction);
}
inline constexpr char eq_text[] = "EQ", ne_text[] = "NE", lt_text[] = "LT", le_text[] = "LE", gt_text[] = "GT",
                      ge_text[] = "GE";

/// In what a sum is added up: floats below 32 bits in f32.
inline dtype summed_in_of(dtype t) { return is_floating(t) ? carrying(t) : t; }
/// A reduction by one operation; of narrow floats it is a sum in f32.
inline written reduced_by(const write_call& w, const char* operation, double init) {
  // The sum of narrow floats is rounded once.
  const dtype t = w[0].type.dtype, in = std::string_view(operation) == "stablehlo.add" ? summed_in_of(t) : t;
  const written x = w.to.convert(w[0], in), start = w.to.constant(init, {in, false, {}});
  const written y =
      w.to.add("stablehlo.reduce", {x, start}, {in, false, w.type().shape},
               {{"dimensions", list_of(w.attrs<reduce_attributes>().axis)}}, {w.to.combine(operation, in)});
  return w.to.convert(y, t);
}
/// The number below all others, from which a maximum starts, and the one above them.
inline double least_number(dtype t) {
  // -0 becomes 0, and every NaN the same one.
  if (is_floating(t)) return -std::numeric_limits<double>::infinity();
  if (!is_signed(t)) return 0;
  return -std::ldexp(1.0, bits_of(t) - 1);
}
inline double greatest_number(dtype t) {
  if (is_floating(t)) return std::numeric_limits<double>::infinity();
  return std::ldexp(1.0, bits_of(t) - (is_signed(t) ? 1 : 0)) - 1;  // of 64 bits it is rounded, and kept as the highest
}

/// Products in full precision.
inline written written_dot(const write_call& w) {
  const auto d = w.attrs<dot_dimensions>();
  // XLA may use fewer bits on other devices unless it is told so.
  attribute precision;
  precision.is = attribute::form::list;
  precision.items = {word("HIGHEST"), word("HIGHEST")};
  return w.to.add("stablehlo.dot_general", {w[0], w[1]}, w.type(),
                  {{"lhs_batching_dimensions", list_of(d.lhs_batch)},
                   {"rhs_batching_dimensions", list_of(d.rhs_batch)},
                   {"lhs_contracting_dimensions", list_of(d.lhs_contracting)},
                   {"rhs_contracting_dimensions", list_of(d.rhs_contracting)},
                   {"precision_config", precision}});
}
/// Images [N, space..., C], windows [space..., C, O].
inline written written_convolution(const write_call& w) {
  const auto o = w.attrs<conv_options>();
  const int space = o.strides.rank();
  // Space lies between the first and the last axis of images, and before both of windows.
  axes of_input, of_kernel;
  for (int i = 0; i < space; ++i) {
    of_input.push_back(i + 1);
    of_kernel.push_back(i);
  }
  return w.to.add("stablehlo.convolution", {w[0], w[1]}, w.type(),
                  {{"window_strides", list_of(o.strides)},
                   {"padding", pairs_of(o.low, o.high)},
                   {"lhs_dilation", list_of(o.lhs_dilation)},
                   {"rhs_dilation", list_of(o.rhs_dilation)},
                   {"input_batch_dimension", whole(0)},
                   {"input_feature_dimension", whole(space + 1)},
                   {"input_spatial_dimensions", list_of(of_input)},
                   {"kernel_input_feature_dimension", whole(space)},
                   {"kernel_output_feature_dimension", whole(space + 1)},
                   {"kernel_spatial_dimensions", list_of(of_kernel)},
                   {"output_batch_dimension", whole(0)},
                   {"output_feature_dimension", whole(space + 1)},
                   {"output_spatial_dimensions", list_of(of_input)},
                   {"feature_group_count", whole(o.feature_groups)},
                   {"batch_group_count", whole(o.batch_groups)}});
}

/// Rows by index. A row of NaN, or of the lowest or highest integer, stands for one outside.
inline written written_gather(const write_call& w) {
  const written &table = w[0], &indices = w[1];
  const shape s = indices.type.shape;
  // A window is one row.
  shape row = table.type.shape;
  row[0] = 1;
  axes offset;
  for (int i = s.rank(); i < w.type().shape.rank(); ++i) offset.push_back(i);
  // StableHLO moves indices into the table; the places of those outside are replaced behind it.
  const written rows = w.to.add("stablehlo.gather", {table, indices}, w.type(),
                                {{"offset_dims", list_of(offset)},
                                 {"collapsed_slice_dims", list_of(axes{0})},
                                 {"start_index_map", list_of(axes{0})},
                                 {"index_vector_dim", whole(s.rank())},
                                 {"slice_sizes", list_of(row)}});
  // Which of the indices name a row?
  const written zero = w.to.constant(0, indices.type);
  const written end = w.to.constant(static_cast<double>(table.type.shape[0]), indices.type);
  const written inside = w.to.add(
      "stablehlo.and", {w.to.compare(indices, zero, "GE"), w.to.compare(indices, end, "LT")}, {bool_, false, s});
  const dtype t = w.type().dtype;
  const double outside = is_floating(t) ? std::numeric_limits<double>::quiet_NaN()
                         : is_signed(t) ? least_number(t)
                                        : greatest_number(t);
  return w.to.select(w.to.broadcast(inside, w.type().shape, iota_axes(s.rank())), rows,
                     w.to.constant(outside, w.type()));
}
/// Rows of updates into rows of an operand.
inline written scattered_rows(const write_call& w, const written& operand, const written& indices,
                              const written& updates, region body) {
  std::int64_t n = size(indices.type.shape);
  shape rows{n}, window;
  axes of_window;
  for (int i = 1; i < operand.type.shape.rank(); ++i) {
    rows.push_back(operand.type.shape[i]);
    of_window.push_back(i);
  }
  // The body says what becomes of an element and its update.
  std::vector<region> regions;
  regions.push_back(std::move(body));
  return w.to.add("stablehlo.scatter", {operand, w.to.reshape(indices, {n, 1}), w.to.reshape(updates, rows)},
                  operand.type,
                  {{"update_window_dims", list_of(of_window)},
                   {"inserted_window_dims", list_of(axes{0})},
                   {"scatter_dims_to_operand_dims", list_of(axes{0})},
                   {"index_vector_dim", whole(1)}},
                  std::move(regions));
}
/// The last update of a row counts here; XLA takes any.
inline written written_scatter(const write_call& w) {
  const auto leading = static_cast<int>(w.attrs<scatter_options>().axes);
  shape s{1};
  for (int i = 0; i < w[0].type.shape.rank(); ++i)
    i < leading ? void(s[0] *= w[0].type.shape[i]) : s.push_back(w[0].type.shape[i]);
  region last = w.to.scalars({w[0].type, w[0].type}, [](operation_builder&, const std::vector<written>& in) {
    return std::vector<written>{in[1]};
  });
  return w.to.reshape(scattered_rows(w, w.to.reshape(w[0], s), w[1], w[2], std::move(last)), w.type().shape);
}

/// A comparator by the first operand, in which zeros are equal and NaN is the largest number.
inline region key_comparator(const write_call& w, bool descending) {
  std::vector<array_type> types;
  for (const written& x : w.in) types.insert(types.end(), {x.type, x.type});
  return w.to.scalars(types, [&](operation_builder& b, const std::vector<written>& in) {
    const dtype t = in[0].type.dtype;
    written keys[2] = {in[0], in[1]};
    if (is_floating(t))
      for (written& k : keys) {
        const written zero = b.constant(0, k.type), nan = b.constant(std::numeric_limits<double>::quiet_NaN(), k.type),
                      x = k;
        const written plus = b.select(b.compare(x, zero, "EQ"), zero, x);
        k = b.select(b.compare(x, x, "NE"), nan, plus);
      }
    return std::vector<written>{b.compare(keys[0], keys[1], descending ? "GT" : "LT", is_floating(t))};
  });
}
/// Windows that reach from each element to one end.
inline written written_cumsum(const write_call& w) {
  const auto o = w.attrs<cumulative_options>();
  const shape& s = w[0].type.shape;
  const int axis = o.axis;
  // A window as long as the axis, of which one half lies in the padding.
  shape window, low, high;
  for (int i = 0; i < s.rank(); ++i) {
    window.push_back(i == axis && s[i] > 0 ? s[i] : 1);
    low.push_back(i == axis && !o.reverse && s[i] > 0 ? s[i] - 1 : 0);
    high.push_back(i == axis && o.reverse && s[i] > 0 ? s[i] - 1 : 0);
  }
  const dtype in = summed_in_of(w[0].type.dtype);
  const written zero = w.to.constant(0, {in, false, {}});
  const written y = w.to.add("stablehlo.reduce_window", {w.to.convert(w[0], in), zero}, {in, false, s},
                             {{"window_dimensions", list_of(window)}, {"padding", pairs_of(low, high)}},
                             {w.to.combine("stablehlo.add", in)});
  return w.to.convert(y, w.type().dtype);
}

/// Rules of ops that compute.
inline std::span<const write_entry> write_rules() {
  static constexpr write_entry all[] = {
      {"conv_general_dilated", written_convolution},
      {"convert_element_type", [](const write_call& w) { return w.to.convert(w[0], w.type().dtype); }},
      {"cumsum", written_cumsum},
      {"dot_general", written_dot},
      {"eq", written_compare<eq_text>},
      {"erf", [](const write_call& w) { return w.to.add("chlo.erf", w.in, w.type()); }},
      {"erf_inv", [](const write_call& w) { return w.to.add("chlo.erf_inv", w.in, w.type()); }},
      {"fma",
       [](const write_call& w) {
         return w.to.add("stablehlo.add", {w.to.add("stablehlo.multiply", {w[0], w[1]}, w.type()), w[2]}, w.type());
       }},
      {"ge", written_compare<ge_text>},
      {"gt", written_compare<gt_text>},
      {"le", written_compare<le_text>},
      {"lt", written_compare<lt_text>},
      {"ne", written_compare<ne_text>},
      {"reduce_and", [](const write_call& w) { return reduced_by(w, "stablehlo.and", 1); }},
      {"reduce_max",
       [](const write_call& w) { return reduced_by(w, "stablehlo.maximum", least_number(w[0].type.dtype)); }},
      {"reduce_min",
       [](const write_call& w) { return reduced_by(w, "stablehlo.minimum", greatest_number(w[0].type.dtype)); }},
      {"reduce_or", [](const write_call& w) { return reduced_by(w, "stablehlo.or", 0); }},
      {"reduce_sum", [](const write_call& w) { return reduced_by(w, "stablehlo.add", 0); }},
  };
  return all;
}
/// Numbers in order from some number on.
inline written written_iota(const write_call& w) {
  const auto o = w.attrs<iota_attributes>();
  const written start = w.to.constant(static_cast<double>(o.start), w.type());
  if (o.dimension < 0) return start;
  const written n = w.to.add("stablehlo.iota", {}, w.type(), {{"iota_dimension", whole(o.dimension)}});
  return o.start == 0 ? n : w.to.add("stablehlo.add", {n, start}, w.type());
}
/// Elements added before, behind and between others.
inline written written_pad(const write_call& w) {
  const auto o = w.attrs<pad_options>();
  return w.to.add("stablehlo.pad", w.in, w.type(),
                  {{"edge_padding_low", list_of(o.low)},
                   {"edge_padding_high", list_of(o.high)},
                   {"interior_padding", list_of(o.interior)}});
}
/// Rules of ops that move elements.
inline std::span<const write_entry> movement_write_rules() {
  static constexpr write_entry all[] = {
      {"bitcast_convert_type",
       [](const write_call& w) { return w.to.add("stablehlo.bitcast_convert", w.in, w.type()); }},
      {"broadcast_in_dim",
       [](const write_call& w) {
         const auto o = w.attrs<broadcast_options>();
         return w.to.broadcast(w[0], o.extents, o.dimensions);
       }},
      {"concatenate",
       [](const write_call& w) {
         return w.to.add("stablehlo.concatenate", w.in, w.type(),
                         {{"dimension", whole(w.attrs<concatenate_options>().axis)}});
       }},
      {"dynamic_slice", written_dynamic_slice},
      {"dynamic_update_slice", written_dynamic_update},
      {"gather", written_gather},
      {"iota", written_iota},
      {"pad", written_pad},
      {"reshape", [](const write_call& w) { return w.to.add("stablehlo.reshape", w.in, w.type()); }},
      {"reverse",
       [](const write_call& w) {
         return w.to.add("stablehlo.reverse", w.in, w.type(),
                         {{"dimensions", list_of(w.attrs<reverse_options>().dimensions)}});
       }},
      {"scatter", written_scatter},
      {"scatter_add",
       [](const write_call& w) {
         return scattered_rows(w, w.to.constant(0, w.type()), w[0], w[1],
                               w.to.combine("stablehlo.add", w.type().dtype));
       }},
      {"scatter_add_onto",
       [](const write_call& w) {
         return scattered_rows(w, w[0], w[1], w[2], w.to.combine("stablehlo.add", w.type().dtype));
       }},
      {"slice",
       [](const write_call& w) {
         const auto o = w.attrs<slice_options>();
         return w.to.add("stablehlo.slice", w.in, w.type(),
                         {{"start_indices", list_of(o.start)},
                          {"limit_indices", list_of(o.limit)},
                          {"strides", list_of(o.stride)}});
       }},
      {"transpose",
       [](const write_call& w) {
         return w.to.add("stablehlo.transpose", w.in, w.type(),
                         {{"permutation", list_of(w.attrs<transpose_options>().permutation)}});
       }},
  };
  return all;
}
/// The rule of an op: its own, or for ops of elements that of the name in its descriptor; null if there is none.
inline write_rule write_rule_of(const op& o) {
  // A rule of its own comes before the name in the descriptor.
  for (const auto& rules : {write_rules(), movement_write_rules()})
    for (const write_entry& e : rules)
      if (e.name == o.name) return e.apply;
  const bool same =
      o.memory.kind == op_kind::elementwise || o.memory.kind == op_kind::barrier || o.stablehlo.starts_with("chlo.");
  if (same && (o.stablehlo.starts_with("stablehlo.") || o.stablehlo.starts_with("chlo.")))
    return [](const write_call& w) { return w.to.add(std::string(w.c.self->stablehlo), w.in, w.type()); };
  return nullptr;
}

}  // namespace tokamax::stablehlo::detail
