// tokamax/stablehlo/rules/rules.hpp: all rules of operations by name.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (part of program)
#pragma once

#include <tokamax/stablehlo/rules/chlo_rules.hpp>       // chlo_rules, arithmetic_rules
#include <tokamax/stablehlo/rules/control_rules.hpp>    // control_rules
#include <tokamax/stablehlo/rules/custom_calls.hpp>     // custom_call_rules
#include <tokamax/stablehlo/rules/dynamic_rules.hpp>    // dynamic_rules
#include <tokamax/stablehlo/rules/indexing_rules.hpp>   // indexing_rules
#include <tokamax/stablehlo/rules/product_rules.hpp>    // product_rules
#include <tokamax/stablehlo/rules/random_rules.hpp>     // random_rules
#include <tokamax/stablehlo/rules/reduction_rules.hpp>  // reduction_rules
#include <tokamax/stablehlo/rules/shape_rules.hpp>      // shape_rules
#include <tokamax/stablehlo/rules/sort_rules.hpp>       // sort_rules

#include <unordered_map>  // unordered_map

namespace tokamax::stablehlo::detail {

inline found_rule find_rule(std::string_view name) {
  static const std::unordered_map<std::string_view, found_rule> table = [] {
    std::unordered_map<std::string_view, found_rule> t;
    const auto add = [&](std::span<const rule_entry> rules, bool elementwise, bool folds) {
      for (const rule_entry& r : rules) t.emplace(r.name, found_rule{&r, elementwise, folds});
    };
    for (const auto& rules : {arithmetic_rules(), function_rules(), scalar_rules()}) add(rules, true, true);
    for (const auto& rules : {call_rules(), chlo_rules()}) add(rules, true, false);
    add(shape_rules(), false, true);
    for (const auto& rules : {control_rules(), custom_call_rules(), dynamic_rules(), indexing_rules(), product_rules(),
                              random_rules(), reduction_rules(), sort_rules(), chlo_array_rules()})
      add(rules, false, false);
    return t;
  }();
  const auto found = table.find(name);
  return found == table.end() ? found_rule{} : found->second;
}

}  // namespace tokamax::stablehlo::detail
