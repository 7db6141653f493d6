// tokamax/stablehlo/rules/require_rules.hpp: says at once what all of a program has no rule.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (part of program)
// tested by tests/stablehlo/program.cpp
#pragma once

#include <tokamax/stablehlo/rules/custom_calls.hpp>  // custom_call_of
#include <tokamax/stablehlo/rules/evaluator.hpp>     // find_rule

#include <unordered_set>  // unordered_set

namespace tokamax::stablehlo::detail {

/// Collects what has no rule in a function and in those that it calls.
class missing_rules {
 public:
  explicit missing_rules(const program_module& m) : module_(m) {}

  void look(const function& f) {
    if (seen_.insert(&f).second) look(f.body);
  }
  /// "stablehlo.send at line 3, column 5; ...": the first 20 of them.
  std::string text() const {
    std::string s;
    for (std::size_t k = 0; k < found_.size() && k < 20; ++k) s += (k ? "; " : "") + found_[k];
    return found_.size() > 20 ? s + "; and " + std::to_string(found_.size() - 20) + " more" : s;
  }

 private:
  void look(const region& r) {
    for (const operation& o : r.operations) {
      if (!find_rule(o.name).entry && !o.name.ends_with("return")) add(o.name, o);
      if (o.name == "stablehlo.custom_call") {
        const attribute* const target = o.attributes.find("call_target_name");
        if (target && !custom_call_of(target->text)) add("the custom call \"" + target->text + "\"", o);
      }
      for (const value_type& t : o.types)
        if (t.is == value_type::form::array && t.dtype == dtype::none) add("the type " + t.other, o);
      for (const region& inner : o.regions) look(inner);
      for (const char* name : {"callee", "decomposition"})
        if (const attribute* const called = o.attributes.find(name))
          if (const function* const f = module_.find(called->text)) look(*f);
    }
  }
  void add(const std::string& what, const operation& o) { found_.push_back(what + " at " + o.where.text()); }

  const program_module& module_;
  std::unordered_set<const function*> seen_;
  std::vector<std::string> found_;
};

/// Refuses a function that contains operations, types of elements or custom calls without a rule, and names them all.
inline void require_rules(const program_module& m, const function& entry) {
  missing_rules missing(m);
  missing.look(entry);
  if (const std::string found = missing.text(); !found.empty())
    throw error(error_kind::file, "stablehlo: operations without a rule", found,
                "what examples/stablehlo_coverage.md lists");
}

}  // namespace tokamax::stablehlo::detail
