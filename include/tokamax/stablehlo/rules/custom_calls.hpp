// tokamax/stablehlo/rules/custom_calls.hpp: rules of custom calls by their targets.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (part of program)
// tested by tests/stablehlo/rules/rules.cpp
#pragma once

#include <tokamax/stablehlo/rules/dynamic_rules.hpp>  // dynamic_windows
#include <tokamax/stablehlo/rules/lapack_calls.hpp>   // lapack_calls

#include <span>  // span

namespace tokamax::stablehlo::detail {

/// What tells several devices how arrays lie on them.
inline values same_values(const rule_call& c) { return c.in; }
/// Notes what is to be compared, for those who ask for it. Programs that only run leave it out.
inline values noted_as(const rule_call& c, const std::string& kind, const value& expected) {
  if (!c.run.checks()) return {};
  const auto number = [&](std::string_view name, double otherwise) {
    const attribute* const a = c.find(name);
    if (!a) return otherwise;
    return a->is == attribute::form::real ? as_double({static_cast<std::uint64_t>(a->integer)}, a->type.dtype)
                                          : static_cast<double>(a->integer);
  };
  const double bound = kind == "check.expect_almost_eq" ? number("tolerance", 1e-4)
                       : kind == "check.expect_close"   ? number("max_ulp_difference", 3)
                                                        : 0;
  c.run.checks()->push_back({kind, c.at(0), expected, c.op.where, bound});
  return {};
}
inline values noted(const rule_call& c) {
  if (c.count() != 2) refuse(c.op, std::to_string(c.count()) + " operands", "two");
  return noted_as(c, c.op.name == "stablehlo.custom_call" ? c.text("call_target_name") : c.op.name, c.at(1));
}
/// The same with a constant, which stands in the operation.
inline values noted_constant(const rule_call& c) {
  const attribute* const a = c.find("value");
  if (!a || a->is != attribute::form::elements) c.wrong("value", "dense elements");
  return noted_as(c, c.op.name.substr(0, c.op.name.size() - std::string_view("_const").size()), a->elements);
}

inline std::span<const rule_entry> custom_calls() {
  static constexpr rule_entry all[] = {
      {"Sharding", "identity on one device", same_values},
      {"SPMDFullToShardShape", "identity on one device", same_values},
      {"SPMDShardToFullShape", "identity on one device", same_values},
      {"annotate_device_placement", "identity on one device", same_values},
      {"check.expect_almost_eq", "checked on request", noted},
      {"check.expect_close", "checked on request", noted},
      {"check.expect_eq", "checked on request", noted},
      {"shape_assertion", "throws its message at the call", asserted_extents},
      {"dynamic_reduce_window", "reduce_window, with extents known at the call", dynamic_windows},
      {"dynamic_rng_bit_generator", "random bits, with extents known at the call", resolved_value<random_form>},
      {"dynamic_top_k", "top_k, with a number known at the call", resolved_value<top_k_form>},
  };
  return all;
}
/// The rule of a target, which names a library function or a marker; null if it has none.
inline const rule_entry* custom_call_of(const std::string& target) {
  std::string family = target.starts_with("stablehlo.") ? target.substr(10) : target;
  if (target.starts_with("lapack_") && target.size() > 8 && std::string_view("sdcz").find(target[7]) != target.npos)
    family[7] = '?';
  for (const auto& calls : {custom_calls(), lapack_calls()})
    for (const rule_entry& r : calls)
      if (r.name == family) return &r;
  return nullptr;
}
inline values custom_call(const rule_call& c) {
  const std::string target = c.text("call_target_name");
  if (const rule_entry* const r = custom_call_of(target)) return r->apply(c);
  refuse(c.op, "the target \"" + target + "\"", "one of the known custom calls");
}

inline std::span<const rule_entry> custom_call_rules() {
  static constexpr rule_entry all[] = {
      {"check.expect_almost_eq", "compared on request", noted},
      {"check.expect_almost_eq_const", "compared on request", noted_constant},
      {"check.expect_close", "compared on request", noted},
      {"check.expect_eq", "compared on request", noted},
      {"check.expect_eq_const", "compared on request", noted_constant},
      {"stablehlo.custom_call", "by its target", custom_call},
  };
  return all;
}

}  // namespace tokamax::stablehlo::detail
