// tokamax/stablehlo/rules/dynamic_rules.hpp: rules of operations whose extents are operands: they are known when a program is called.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (part of program)
// tested by tests/stablehlo/rules/dynamic_rules.cpp
#pragma once

#include <tokamax/stablehlo/attributes.hpp>       // whole, list_of
#include <tokamax/stablehlo/rules/evaluator.hpp>  // find_rule

#include <array>  // array
#include <span>   // span

namespace tokamax::stablehlo::detail {

/// An operation that has operands where another one has attributes, or the extents of its result.
struct dynamic_form {
  std::string_view means;
  int known;                                     ///< how many of these operands there are, behind the others
  std::array<std::string_view, 5> attributes{};  ///< what they are; "extents": of the result
};
inline constexpr std::string_view of_result = "extents";

/// The extents that an operand of an operation gives to its result.
inline shape known_extents(const rule_call& c, const std::vector<std::int64_t>& numbers) {
  const value_type& t = c.op.types.back();
  if (static_cast<int>(numbers.size()) != t.extents.rank())
    refuse(c.op, std::to_string(numbers.size()) + " extents", std::to_string(t.extents.rank()));
  shape s;
  for (std::int64_t e : numbers) {
    const std::int64_t expected = t.extents[s.rank()];
    if (e < 0 || (expected >= 0 && e != expected))
      refuse(c.op, "an extent of " + std::to_string(e), expected >= 0 ? std::to_string(expected) : "0 or more");
    s.push_back(e);
  }
  return s;
}
/// The operation with its operands of extents as attributes. Its region may be that of a function, whose values are `around`.
inline values resolved(const rule_call& c, const dynamic_form& form, std::vector<region> regions, frame& around) {
  operation o = c.op;
  if (!regions.empty()) o.regions = std::move(regions);
  const int first = c.count() - form.known;
  if (first < 0 || o.types.empty()) refuse(c.op, std::to_string(c.count()) + " operands", "more, and a result");
  for (int k = 0; k < form.known; ++k) {
    const std::vector<std::int64_t> numbers = c.known(first + k);
    const std::string_view name = form.attributes[static_cast<std::size_t>(k)];
    if (name == of_result)
      o.types.back().extents = known_extents(c, numbers);
    else if (c.at(first + k).re.rank() == 0)
      o.attributes.add(std::string(name), whole(numbers[0]));
    else
      o.attributes.add(std::string(name), list_of(numbers));
  }
  const values in(c.in.begin(), c.in.begin() + first);
  return find_rule(form.means).entry->apply({o, in, c.run, around, c.lanes});
}
template <const dynamic_form& Form>
values resolved_value(const rule_call& c) {
  return resolved(c, Form, {}, c.around);
}

inline constexpr dynamic_form broadcast_form{"stablehlo.broadcast_in_dim", 1, {of_result}};
inline constexpr dynamic_form convolution_form{"stablehlo.convolution", 1, {"padding"}};
inline constexpr dynamic_form gather_form{"stablehlo.gather", 1, {"slice_sizes"}};
inline constexpr dynamic_form iota_form{"stablehlo.iota", 1, {of_result}};
inline constexpr dynamic_form pad_form{
    "stablehlo.pad", 3, {"edge_padding_low", "edge_padding_high", "interior_padding"}};
inline constexpr dynamic_form reshape_form{"stablehlo.reshape", 1, {of_result}};
inline constexpr dynamic_form slice_form{"stablehlo.slice", 3, {"start_indices", "limit_indices", "strides"}};
inline constexpr dynamic_form top_k_form{"chlo.top_k", 1, {"k"}};
inline constexpr dynamic_form random_form{"stablehlo.rng_bit_generator", 1, {of_result}};
inline constexpr dynamic_form window_form{
    "stablehlo.reduce_window",
    5,
    {"window_dimensions", "window_strides", "base_dilations", "window_dilations", "padding"}};

/// The call that JAX writes for windows of a program of unknown extents; its body is a function.
inline values dynamic_windows(const rule_call& c) {
  const attribute* const names = c.find("called_computations");
  if (!names || names->items.size() != 1) c.wrong("called_computations", "the name of one function");
  const function* const f = c.run.of_module().find(names->items[0].text);
  if (!f) refuse(c.op, "@" + names->items[0].text, "a function of the module");
  frame inside(static_cast<std::size_t>(f->value_count));
  return resolved(c, window_form, {f->body}, inside);
}
/// Throws the message of a program whose arguments do not have the extents that it was made for. {0}, {1}, ... in it are the
/// operands behind the first.
inline values asserted_extents(const rule_call& c) {
  const std::vector<std::int64_t> holds = c.known(0);
  if (holds == std::vector<std::int64_t>{1}) return {};
  std::string text = c.text("error_message", "the extents of the arguments do not fit the program");
  for (int k = 1; k < c.count(); ++k) {
    const std::string place = "{" + std::to_string(k - 1) + "}";
    const std::vector<std::int64_t> number = c.known(k);
    for (std::size_t at = text.find(place); at != text.npos; at = text.find(place, at + 1))
      text.replace(at, place.size(), number.empty() ? "" : std::to_string(number[0]));
  }
  throw error(error_kind::shape, "stablehlo: extents of arguments", text, "extents that the program was made for",
              c.op.where.text());
}

inline std::span<const rule_entry> dynamic_rules() {
  static constexpr rule_entry all[] = {
      {"stablehlo.dynamic_broadcast_in_dim", "broadcast_in_dim, with extents known at the call",
       resolved_value<broadcast_form>},
      {"stablehlo.dynamic_conv", "conv_general_dilated, with padding known at the call",
       resolved_value<convolution_form>},
      {"stablehlo.dynamic_gather", "gather of rows, with extents known at the call", resolved_value<gather_form>},
      {"stablehlo.dynamic_iota", "iota, with extents known at the call", resolved_value<iota_form>},
      {"stablehlo.dynamic_pad", "pad, with padding known at the call", resolved_value<pad_form>},
      {"stablehlo.dynamic_reshape", "reshape, with extents known at the call", resolved_value<reshape_form>},
      {"chlo.dynamic_reshape", "reshape, with extents known at the call", resolved_value<reshape_form>},
      {"stablehlo.get_dimension_size", "an extent of the argument",
       [](const rule_call& c) -> values {
         const std::int64_t axis = c.integer("dimension");
         if (axis < 0 || axis >= c.at(0).re.rank()) refuse(c.op, "axis " + std::to_string(axis), "one of the operand");
         const std::int64_t e = c.at(0).re.extent(static_cast<int>(axis));
         return {{array(static_cast<double>(e), {c.result().dtype, false, {}}), {}}};
       }},
      {"stablehlo.real_dynamic_slice", "slice, with bounds known at the call", resolved_value<slice_form>},
  };
  return all;
}

}  // namespace tokamax::stablehlo::detail
