// tokamax/stablehlo/rules/evaluator.hpp: what functions and regions compute, by the rules of their operations.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (part of program)
// tested by tests/stablehlo/rules/rules.cpp
#pragma once

#include <tokamax/lax/convert.hpp>           // convert_element_type
#include <tokamax/stablehlo/rules/rule.hpp>  // rule_call

namespace tokamax::stablehlo::detail {

/// A rule, and whether it may stand in a body that is applied to all elements at once.
struct found_rule {
  const rule_entry* entry = nullptr;
  bool elementwise = false;
};
/// The rule of an operation; none if it has none.
found_rule find_rule(std::string_view name);

/// A comparison that a program asks for with a custom call of the test suite.
struct noted_check {
  std::string kind;
  value found, expected;
  position where;
};

/// Functions of one module.
class evaluator {
 public:
  explicit evaluator(const program_module& m, std::vector<noted_check>* checks = nullptr)
      : module_(m), checks_(checks) {}

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
    return run(f.body, values_of_call, in, lanes);
  }
  /// The results of a region. Its operations may use what stands in `around`.
  values run(const region& r, frame& around, const values& in, bool lanes) const {
    if (in.size() != r.arguments.size())
      throw error(error_kind::file, "stablehlo: region", std::to_string(in.size()) + " arguments",
                  std::to_string(r.arguments.size()), r.operations.empty() ? "" : r.operations[0].where.text());
    for (std::size_t k = 0; k < in.size(); ++k) around[static_cast<std::size_t>(r.arguments[k])] = in[k];
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
  /// The results of one operation, which have the types of the text.
  static values apply(const rule_call& c) {
    const operation& o = c.op;
    const auto [entry, elementwise] = find_rule(o.name);
    if (!entry) refuse(o, "an operation without a rule", "one that is known");
    if (c.lanes && !elementwise) refuse(o, "an operation on whole arrays in a body", "elementwise operations");
    values out;
    try {
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

  const program_module& module_;
  std::vector<noted_check>* checks_;
  mutable int depth_ = 0;
};

/// The regions of a call, on arrays of their types, or on all elements at once.
inline values run_body(const rule_call& c, int k, const values& in) {
  return c.run.run(c.body(k), c.around, in, c.lanes);
}
inline values run_on_elements(const rule_call& c, int k, const values& in) {
  values out = c.run.run(c.body(k), c.around, in, true);
  const shape& s = in.empty() ? shape{} : in[0].re.shape();
  for (value& v : out) v = each_part([&](const array& x) { return broadcast_to(x, s); }, v);
  return out;
}

}  // namespace tokamax::stablehlo::detail
