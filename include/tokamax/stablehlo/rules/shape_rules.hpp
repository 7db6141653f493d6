// tokamax/stablehlo/rules/shape_rules.hpp: rules of constants, and of operations that move elements.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (part of program)
// tested by tests/stablehlo/rules/rules.cpp
#pragma once

#include <tokamax/lax/dot_general.hpp>            // dot_general
#include <tokamax/lax/indexing/gather.hpp>        // integers_in_i32
#include <tokamax/lax/indexing/slice.hpp>         // slice, pad
#include <tokamax/lax/iota.hpp>                   // iota
#include <tokamax/lax/shapes/concatenate.hpp>     // concatenate
#include <tokamax/lax/shapes/reverse.hpp>         // reverse
#include <tokamax/lax/shapes/transpose.hpp>       // transpose
#include <tokamax/stablehlo/rules/evaluator.hpp>  // rule_entry

#include <span>     // span
#include <utility>  // swap

namespace tokamax::stablehlo::detail {

/// x with its axes in another order. A product of which the free axes of both operands trade places is that of the operands in
/// the other order: gradients that JAX writes have such transposes, and what follows reads their elements one after the other.
inline array transposed(const array& x, const axes& order) {
  if (!x.is_traced() || (*x.trace())[x.id()].op != &dot_general_p) return transpose(x, order);
  const graph& g = *x.trace();
  const node& n = g[x.id()];
  const auto operand = [&](int k) { return array(x.trace(), g.operand(n, k), g[g.operand(n, k)].type, x.storage()); };
  const array a = operand(0), b = operand(1);
  auto d = call{.attributes = g.words_of(n), .attribute_count = n.word_count}.attrs<dot_dimensions>();
  const int batch = d.lhs_batch.rank(), of_a = a.rank() - batch - d.lhs_contracting.rank(),
            of_b = x.rank() - batch - of_a;
  axes traded = iota_axes(batch);
  for (int i = 0; i < of_b; ++i) traded.push_back(batch + of_a + i);
  for (int i = 0; i < of_a; ++i) traded.push_back(batch + i);
  if (order != traded) return transpose(x, order);
  std::swap(d.lhs_batch, d.rhs_batch);
  std::swap(d.lhs_contracting, d.rhs_contracting);
  return dot_general(b, a, d);
}

/// Equal elements stay one literal.
inline values constant_value(const rule_call& c) {
  const attribute* const a = c.find("value");
  if (!a || a->is != attribute::form::elements) c.wrong("value", "dense elements");
  return {a->elements};
}
/// An operand as extents of the result; in a body on all elements it has those of all lanes already.
inline values broadcast_value(const rule_call& c) {
  const shape& s = c.extents();
  if (c.lanes) {
    if (s.rank()) refuse(c.op, "an operation on whole arrays in a body", "elementwise operations");
    return {c.at(0)};
  }
  // The axes may come in any order.
  const axes to = c.axes_of("broadcast_dimensions", s.rank());
  axes sorted, order;
  for (int i = 0; i < s.rank(); ++i)
    for (int k = 0; k < to.rank(); ++k)
      if (to[k] == i) sorted.push_back(i), order.push_back(k);
  if (to.rank() != c.at(0).re.rank())
    refuse(c.op, std::to_string(to.rank()) + " broadcast_dimensions", std::to_string(c.at(0).re.rank()));
  return {each_part([&](const array& x) { return broadcast_in_dim(transpose(x, order), s, sorted); }, c.at(0))};
}
/// The same elements with other extents.
inline values reshaped_value(const rule_call& c) {
  if (c.lanes) return broadcast_value(c);
  const shape& s = c.extents();
  if (size(s) != c.at(0).re.size())
    refuse(c.op, std::to_string(c.at(0).re.size()) + " elements", std::to_string(size(s)));
  return {each_part([&](const array& x) { return reshape(x, s); }, c.at(0))};
}
/// Parts of complex arrays are joined each by itself.
inline values concatenated(const rule_call& c) {
  const auto axis = static_cast<int>(c.integer("dimension"));
  arrays re, im;
  for (int k = 0; k < c.count(); ++k) {
    const complex_parts p = c.is_complex() ? c.parts(k) : complex_parts{c[k], {}};
    re.push_back(p.re);
    im.push_back(p.im);
  }
  if (re.empty() || axis < 0 || axis >= re[0].rank()) refuse(c.op, "dimension " + std::to_string(axis), "an axis");
  return {{concatenate(re, axis), c.is_complex() ? concatenate(im, axis) : array()}};
}
/// A box of elements with steps.
inline values sliced(const rule_call& c) {
  const int rank = c.at(0).re.rank();
  const shape start = c.list("start_indices", rank, 0), limit = c.list("limit_indices", rank, 0),
              step = c.list("strides", rank, 1);
  return {each_part([&](const array& x) { return slice(x, start, limit, step); }, c.at(0))};
}
/// Elements around and between those of an array.
inline values padded(const rule_call& c) {
  const int rank = c.at(0).re.rank();
  const shape low = c.list("edge_padding_low", rank, 0), high = c.list("edge_padding_high", rank, 0),
              between = c.list("interior_padding", rank, 0);
  if (!c.is_complex()) return {{pad(c[0], c[1], low, high, between), {}}};
  const complex_parts x = c.parts(0), v = c.parts(1);
  return {{pad(x.re, v.re, low, high, between), pad(x.im, v.im, low, high, between)}};
}
/// Numbers in order.
inline values iota_value(const rule_call& c) {
  const value_type& t = c.result();
  const std::int64_t axis = c.integer("iota_dimension");
  if (axis < 0 || axis >= t.extents.rank())
    refuse(c.op, "iota_dimension " + std::to_string(axis), "an axis of the result");
  if (t.complex || t.dtype == f16 || t.dtype == bf16 ||
      bits_of(t.dtype) < 32) {  // counted in a dtype that has all numbers
    const array n = astype(iota(i32, c.extents(), static_cast<int>(axis)), t.dtype);
    return {{n, t.complex ? zeros_like(n) : array()}};
  }
  return {{iota(t.dtype, c.extents(), static_cast<int>(axis)), {}}};
}
/// Bits as another dtype, whose elements may be wider (along the last axis) or narrower.
inline values bits_converted(const rule_call& c) {
  const value_type& t = c.result();
  if (c.at(0).is_complex() || t.complex) {
    if (c.at(0).is_complex() && t.complex) return {c.at(0)};
    refuse(c.op, "complex numbers as real ones", "elements of one kind");
  }
  const array& x = c[0];
  const int from = bits_of(x.dtype()), to = bits_of(t.dtype);
  if (x.dtype() == bool_ || t.dtype == bool_) {
    if (x.dtype() != t.dtype) refuse(c.op, "bits of " + std::string(name(x.dtype())), "those of numbers");
    return {c.at(0)};
  }
  if (from == to) return {{bitcast_convert_type(x, t.dtype), {}}};
  const dtype wide = narrowest(dtype_kind::unsigned_integer, std::max(from, to)),
              narrow = narrowest(dtype_kind::unsigned_integer, std::min(from, to));
  const std::int64_t parts = std::max(from, to) / std::min(from, to);
  const array shifts_of_parts = iota(wide, {parts}, 0) * array(std::min(from, to), {wide, false, {}});
  if (to < from) {  // the lowest bits come first
    shape s = x.shape();
    s.push_back(parts);
    const array bits = broadcast_in_dim(bitcast_convert_type(x, wide), s, iota_axes(x.rank()));
    return {{bitcast_convert_type(astype(shift_right_logical(bits, broadcast_to(shifts_of_parts, s)), narrow), t.dtype),
             {}}};
  }
  if (x.rank() == 0 || x.extent(-1) != parts) refuse(c.op, "another last axis", std::to_string(parts) + " parts");
  const array bits =
      shift_left(astype(bitcast_convert_type(x, narrow), wide), broadcast_to(shifts_of_parts, x.shape()));
  return {{bitcast_convert_type(reduce_sum(bits, {x.rank() - 1}), t.dtype), {}}};
}
/// Starts of a box, each moved so that the box fits.
inline arrays clamped_starts(const rule_call& c, int first, const shape& box) {
  const array& x = c.at(0).re;
  if (c.count() - first != x.rank())
    refuse(c.op, std::to_string(c.count() - first) + " starts", std::to_string(x.rank()));
  arrays starts;
  for (int i = 0; i < x.rank(); ++i) {
    const array s = tokamax::detail::integers_in_i32(c[first + i], {});
    starts.push_back(
        minimum(maximum(s, array(0)), array(static_cast<int>(std::max<std::int64_t>(x.extent(i) - box[i], 0)))));
  }
  return starts;
}

inline std::span<const rule_entry> shape_rules() {
  static constexpr rule_entry all[] = {
      {"stablehlo.bitcast_convert", "bitcast_convert_type", bits_converted},
      {"stablehlo.broadcast", "broadcast_in_dim",
       [](const rule_call& c) -> values {
         const int more = c.extents().rank() - c.at(0).re.rank();
         axes to;
         for (int i = 0; i < c.at(0).re.rank(); ++i) to.push_back(more + i);
         return {each_part([&](const array& x) { return broadcast_in_dim(x, c.extents(), to); }, c.at(0))};
       }},
      {"stablehlo.concatenate", "concatenate", concatenated},
      {"stablehlo.dynamic_slice", "dynamic_slice",
       [](const rule_call& c) -> values {
         const shape box = c.list("slice_sizes", c.at(0).re.rank(), 0);
         const arrays starts = clamped_starts(c, 1, box);
         return {each_part([&](const array& x) { return dynamic_slice(x, starts, box); }, c.at(0))};
       }},
      {"stablehlo.dynamic_update_slice", "dynamic_update_slice",
       [](const rule_call& c) -> values {
         const arrays starts = clamped_starts(c, 2, c.at(1).re.shape());
         if (!c.is_complex()) return {{dynamic_update_slice(c[0], c[1], starts), {}}};
         const complex_parts x = c.parts(0), u = c.parts(1);
         return {{dynamic_update_slice(x.re, u.re, starts), dynamic_update_slice(x.im, u.im, starts)}};
       }},
      {"stablehlo.iota", "iota", iota_value},
      {"stablehlo.pad", "pad", padded},
      {"stablehlo.reverse", "reverse",
       [](const rule_call& c) -> values {
         const axes which = c.axes_of("dimensions", c.at(0).re.rank());
         return {each_part([&](const array& x) { return reverse(x, which); }, c.at(0))};
       }},
      {"stablehlo.slice", "slice", sliced},
      {"stablehlo.transpose", "transpose",
       [](const rule_call& c) -> values {
         const axes order = c.axes_of("permutation", c.at(0).re.rank());
         return {each_part([&](const array& x) { return transposed(x, order); }, c.at(0))};
       }},
  };
  return all;
}
/// Those that may stand in bodies, too.
inline std::span<const rule_entry> scalar_rules() {
  static constexpr rule_entry all[] = {
      {"stablehlo.constant", "captured data or a literal", constant_value},
      {"func.constant", "", constant_value},
      {"chlo.constant", "", constant_value},
      {"stablehlo.broadcast_in_dim", "broadcast_in_dim", broadcast_value},
      {"stablehlo.reshape", "reshape", reshaped_value},
  };
  return all;
}

}  // namespace tokamax::stablehlo::detail
