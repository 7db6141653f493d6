// tokamax/stablehlo/rules/evaluator.hpp: what functions and regions compute, by the rules of their operations.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (part of program)
// tested by tests/stablehlo/rules/rules.cpp
#pragma once

#include <tokamax/core/context.hpp>          // context_part
#include <tokamax/lax/convert.hpp>           // convert_element_type
#include <tokamax/stablehlo/rules/rule.hpp>  // rule_call

#include <algorithm>  // any_of

namespace tokamax::stablehlo::detail {

/// A rule, whether it may stand in a body that is applied to all elements at once, and whether it may compute extents while
/// a program is traced.
struct found_rule {
  const rule_entry* entry = nullptr;
  bool elementwise = false, folds = false;
};
/// The rule of an operation; none if it has none.
found_rule find_rule(std::string_view name);

/// A comparison that a program asks for with a custom call of the test suite.
struct noted_check {
  std::string kind;
  value found, expected;
  position where;
  double bound = 0;  ///< the largest distance that is accepted
};

/// Functions of one module.
class evaluator {
 public:
  explicit evaluator(const program_module& m, std::vector<noted_check>* checks = nullptr)
      : module_(m), checks_(checks) {
    for (const function& f : m.functions) dynamic_ = dynamic_ || has_unknown_extents(f.body);
  }

  const program_module& of_module() const { return module_; }
  std::vector<noted_check>* checks() const { return checks_; }

  /// The results of a function.
  values call(const function& f, const values& in, bool lanes = false) const {
    if (!f.has_body)
      throw error(error_kind::file, "stablehlo: function @" + f.name, "no body", "a body", f.where.text());
    if (depth_ >= 100)
      throw error(error_kind::file, "stablehlo: function @" + f.name, "calls inside of 100 others", "fewer",
                  f.where.text());
    // A recursion would never end, because calls are put in their place.
    ++depth_;
    const struct leave {
      int& depth;
      ~leave() { --depth; }
    } leaves{depth_};
    frame values_of_call(static_cast<std::size_t>(f.value_count));
    values out = run(f.body, values_of_call, in, lanes);
    const operation& last = f.body.operations.back();
    if (out.size() != f.results.size())
      refuse(last, std::to_string(out.size()) + " results", std::to_string(f.results.size()));
    for (std::size_t k = 0; k < out.size(); ++k) settle(last, f.results[k], out[k], lanes);
    return out;
  }
  /// The results of a region. Its operations may use what stands in `around`.
  values run(const region& r, frame& around, const values& in, bool lanes) const {
    if (in.size() != r.arguments.size())
      throw error(error_kind::file, "stablehlo: region", std::to_string(in.size()) + " arguments",
                  std::to_string(r.arguments.size()), r.operations.empty() ? "" : r.operations[0].where.text());
    for (std::size_t k = 0; k < in.size(); ++k) {
      value& v = around[static_cast<std::size_t>(r.arguments[k])] = in[k];
      if (k < r.types.size() && !r.operations.empty()) settle(r.operations[0], r.types[k], v, lanes);
    }
    for (const operation& o : r.operations) {
      // A return ends the region.
      values operands;
      operands.reserve(o.operands.size());
      for (int id : o.operands) operands.push_back(around[static_cast<std::size_t>(id)]);
      if (o.name.ends_with("return")) return operands;
      values results = apply({o, operands, *this, around, lanes});
      for (std::size_t k = 0; k < results.size(); ++k)
        around[static_cast<std::size_t>(o.results[k])] = std::move(results[k]);
    }
    return {};
  }

 private:
  static bool has_unknown_extents(const region& r) {
    const auto unknown = [](const value_type& t) {
      return std::any_of(t.extents.begin(), t.extents.end(), [](std::int64_t e) { return e < 0; });
    };
    if (std::any_of(r.types.begin(), r.types.end(), unknown)) return true;
    return std::any_of(r.operations.begin(), r.operations.end(), [&](const operation& o) {
      return std::any_of(o.types.begin(), o.types.end(), unknown) ||
             std::any_of(o.regions.begin(), o.regions.end(), has_unknown_extents);
    });
  }
  /// Is this arithmetic of extents? Its few integers are computed while the program is traced, so that what they are extents
  /// of has known ones.
  bool computes_extents(const rule_call& c) const {
    if (!dynamic_ || c.lanes) return false;
    for (const value& v : c.in)
      if (v.is_complex() || !v.re.is_concrete() || !is_integer_or_bool(v.re.dtype())) return false;
    return std::all_of(c.op.types.begin(), c.op.types.end(), [](const value_type& t) {
      const bool is_known = std::all_of(t.extents.begin(), t.extents.end(), [](std::int64_t e) { return e >= 0; });
      return t.is_array() && !t.complex && is_integer_or_bool(t.dtype) && is_known && size(t.extents) <= 64;
    });
  }
  /// The results of one operation, which have the types of the text.
  values apply(const rule_call& c) const {
    const operation& o = c.op;
    const auto [entry, elementwise, folds] = find_rule(o.name);
    if (!entry) refuse(o, "an operation without a rule", "one that is known");
    if (c.lanes && !elementwise) refuse(o, "an operation on whole arrays in a body", "elementwise operations");
    values out;
    try {
      const context_part<&context::trace> scope(folds && computes_extents(c) ? nullptr : current_context.trace);
      out = entry->apply(c);
    } catch (const error& e) {
      if (e.where == o.where.text() || e.where.starts_with("line ") || e.where.starts_with("byte ")) throw;
      throw error(e.kind, o.name + ": " + e.subject, e.found, e.expected, o.where.text());
    }
    if (out.size() != o.types.size())
      refuse(o, std::to_string(o.types.size()) + " results", std::to_string(out.size()));
    for (std::size_t k = 0; k < out.size(); ++k) settle(o, o.types[k], out[k], c.lanes);
    return out;
  }
  // Rules settle the results of branches, too.
 public:
  /// Checks that a result has the type that the text says.
  static void settle(const operation& o, const value_type& t, value& v, bool lanes) {
    if (!t.is_array()) return;  // tokens
    for (array* part : {&v.re, &v.im}) {
      if (!part->exists()) continue;
      if (part->type().weak) *part = convert_element_type(*part, part->dtype(), false);
      bool fits = part->dtype() == t.dtype && v.is_complex() == t.complex;
      if (!lanes) {
        fits = fits && part->rank() == t.extents.rank();
        for (int i = 0; fits && i < part->rank(); ++i) fits = t.extents[i] < 0 || t.extents[i] == part->extent(i);
      }
      if (!fits)
        refuse(o, "a result " + std::string(message(part_type(t)).view()) + (t.complex ? " of complex numbers" : ""),
               std::string(message(part->type()).view()) + (v.is_complex() ? " of complex numbers" : ""));
    }
  }

 private:
  const program_module& module_;
  std::vector<noted_check>* checks_;
  bool dynamic_ = false;  ///< has the module unknown extents?
  mutable int depth_ = 0;
};

/// The regions of a call, on arrays of their types, or on all elements at once.
inline values run_body(const rule_call& c, int k, const values& in) {
  return c.run.run(c.body(k), c.around, in, c.lanes);
}
inline values run_on_elements(const rule_call& c, int k, const values& in, std::size_t results) {
  values out = c.run.run(c.body(k), c.around, in, true);
  if (out.size() != results)
    refuse(c.op, "a body of " + std::to_string(out.size()) + " results", std::to_string(results));
  const shape& s = in.empty() ? shape{} : in[0].re.shape();
  for (value& v : out) v = each_part([&](const array& x) { return broadcast_to(x, s); }, v);
  return out;
}

}  // namespace tokamax::stablehlo::detail
