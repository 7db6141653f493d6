// tokamax/stablehlo/rules/custom_calls.hpp: rules of custom calls by their targets.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (part of program)
// tested by tests/stablehlo/rules/rules.cpp
#pragma once

#include <tokamax/stablehlo/rules/lapack_calls.hpp>  // lapack_calls

#include <span>  // span

namespace tokamax::stablehlo::detail {

/// What tells several devices how arrays lie on them.
inline values same_values(const rule_call& c) { return c.in; }
/// Notes what is to be compared, for those who ask for it. Programs that only run leave it out.
inline values noted(const rule_call& c) {
  if (c.run.checks()) {
    if (c.count() != 2) refuse(c.op, std::to_string(c.count()) + " operands", "two");
    c.run.checks()->push_back({c.text("call_target_name"), c.at(0), c.at(1), c.op.where});
  }
  return {};
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
  };
  return all;
}
/// The rule of a target, which names a library function or a marker.
inline values custom_call(const rule_call& c) {
  const std::string target = c.text("call_target_name");
  std::string family = target;
  if (target.starts_with("lapack_") && target.size() > 8 && (target[7] == 's' || target[7] == 'd')) family[7] = '?';
  for (const auto& calls : {custom_calls(), lapack_calls()})
    for (const rule_entry& r : calls)
      if (r.name == family) return r.apply(c);
  refuse(c.op, "the target \"" + target + "\"", "one of the known custom calls");
}

inline std::span<const rule_entry> custom_call_rules() {
  static constexpr rule_entry all[] = {{"stablehlo.custom_call", "by its target", custom_call}};
  return all;
}

}  // namespace tokamax::stablehlo::detail
