// tokamax/text/jinja/value_tests.hpp: what stands behind `is`: defined, string, equalto and others.
// SPDX-License-Identifier: Apache-2.0
// needs <utf8proc.h>
// umbrella: in the map only (the library of `tokamax::text` compiles it)
// tested by tests/text/chat_template.cpp
#pragma once

#include <tokamax/text/jinja/methods.hpp>  // all_are

#include <functional>  // function

namespace tokamax::text::jinja {

/// A test: what it asks of a value and of arguments.
using value_test = std::function<bool(limits&, const value&, const bound_arguments&)>;
struct named_test {
  std::string_view name;
  bool has_argument;
  value_test ask;
};

namespace detail {

// Comparisons, each by a sign, as selectattr takes it, and by names.
inline std::vector<named_test> comparing_tests() {
  using b = const bound_arguments&;
  const auto order = [](bool swap, bool expected) -> value_test {
    return
        [=](limits& run, const value& v, b a) { return (swap ? less(run, a[0], v) : less(run, v, a[0])) == expected; };
  };
  const value_test same = [](limits& run, const value& v, b a) { return equal(run, v, a[0]); };
  const value_test other = [](limits& run, const value& v, b a) { return !equal(run, v, a[0]); };
  return {
      {"==", true, same},
      {"eq", true, same},
      {"equalto", true, same},
      {"!=", true, other},
      {"ne", true, other},
      {">", true, order(true, true)},
      {"gt", true, order(true, true)},
      {"greaterthan", true, order(true, true)},
      {"<", true, order(false, true)},
      {"lt", true, order(false, true)},
      {"lessthan", true, order(false, true)},
      {">=", true, order(false, false)},
      {"ge", true, order(false, false)},
      {"<=", true, order(true, false)},
      {"le", true, order(true, false)},
  };
}
// What a value is.
inline std::vector<named_test> value_tests() {
  using b = const bound_arguments&;
  const auto kind = [](auto f) -> value_test { return [f](limits&, const value& v, b) { return f(v); }; };
  const auto parity = [](std::int64_t rest) -> value_test {
    return [=](limits& run, const value& v, b) { return equal(run, arithmetic(run, "%", v, std::int64_t{2}), rest); };
  };
  const auto cased = [](const char* name) -> value_test {
    return [=](limits& run, const value& v, b) { return truth(all_are(run, to_text(run, v), name)); };
  };
  const auto is_sequence = [](const value& v) { return v.is_undefined() || v.text() || v.places() || v.dict(); };
  return {
      {"defined", false, kind([](const value& v) { return !v.is_undefined(); })},
      {"undefined", false, kind([](const value& v) { return v.is_undefined(); })},
      {"none", false, kind([](const value& v) { return v.is_none(); })},
      {"boolean", false, kind([](const value& v) { return v.flag() != nullptr; })},
      {"true", false, kind([](const value& v) { return v.flag() && *v.flag(); })},
      {"false", false, kind([](const value& v) { return v.flag() && !*v.flag(); })},
      {"integer", false, kind([](const value& v) { return v.integer() != nullptr; })},
      {"float", false, kind([](const value& v) { return v.real() != nullptr; })},
      {"number", false, kind([](const value& v) { return as_real(v).has_value(); })},
      {"string", false, kind([](const value& v) { return v.text() != nullptr; })},
      {"mapping", false, kind([](const value& v) { return v.dict() != nullptr; })},
      {"sequence", false, kind(is_sequence)},
      {"iterable", false, kind([=](const value& v) { return is_sequence(v) || v.list() || type_name(v) == "loop"; })},
      {"callable", false, kind([](const value& v) { return v.is_undefined() || v.function(); })},
      {"odd", false, parity(1)},
      {"even", false, parity(0)},
      {"lower", false, cased("islower")},
      {"upper", false, cased("isupper")},
      {"divisibleby", true,
       [](limits& run, const value& v, b a) { return equal(run, arithmetic(run, "%", v, a[0]), std::int64_t{0}); }},
      {"in", true, [](limits& run, const value& v, b a) { return contains(run, a[0], v); }},
      {"sameas", true,
       [](limits& run, const value& v, b a) {
         const bool simple = v.is_none() || v.flag() || a[0].is_none() || a[0].flag();
         if (!simple) run.refuse("sameas", type_name(v), "true, false or none");
         return v.is.index() == a[0].is.index() && equal(run, v, a[0]);
       }},
  };
}

}  // namespace detail

/// The test of a name, or null.
inline const named_test* find_test(std::string_view name) {
  static const std::vector<named_test> of_values = detail::value_tests(), comparing = detail::comparing_tests();
  for (const std::vector<named_test>* all : {&of_values, &comparing})
    for (const named_test& t : *all)
      if (t.name == name) return &t;
  return nullptr;
}

/// Is a test true of a value?
/// errors  tokamax::error that names a test which is not known
inline bool apply_test(limits& run, const std::string& name, const value& v, const arguments& given) {
  const named_test* test = find_test(name);
  if (!test) run.refuse("test", name, "defined, none, string, mapping or another that is known");
  if (test->has_argument) return test->ask(run, v, bound_arguments(run, name, given, {"other"}));
  return test->ask(run, v, bound_arguments(run, name, given, {}));
}

}  // namespace tokamax::text::jinja
