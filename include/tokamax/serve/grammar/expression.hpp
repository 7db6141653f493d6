// tokamax/serve/grammar/expression.hpp: sets of texts, made of literals, characters, sequences, choices, repetitions and rules.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/serve/grammar/grammar.cpp
#pragma once

#include <tokamax/base/requirements.hpp>  // before all else

#include <algorithm>    // sort, max
#include <string>       // string
#include <string_view>  // string_view
#include <vector>       // vector

namespace tokamax::serve {

/// Code points from the first to the last one.
struct code_range {
  char32_t first, last;
};
inline constexpr char32_t last_code = 0x10FFFF;

/// A set of texts. Schemas, regular expressions, choices and grammars are all read into this form.
struct expression {
  enum class kind { literal, codes, sequence, choice, repeat, rule };
  static constexpr int no_limit = -1;

  kind what = kind::sequence;
  std::string text = {};                ///< of a literal
  std::vector<code_range> ranges = {};  ///< of codes: one code point of them
  std::vector<expression> parts = {};   ///< of a sequence, choice or repetition
  int least = 0, most = no_limit;       ///< times, of a repetition
  int rule = 0;                         ///< whose texts it has
};

/// One text.
inline expression literal(std::string_view text) {
  return {.what = expression::kind::literal, .text = std::string(text)};
}
/// A code point of some ranges.
inline expression codes(std::vector<code_range> ranges) {
  return {.what = expression::kind::codes, .ranges = std::move(ranges)};
}
/// One text after another; of no parts, the empty text.
inline expression joined(std::vector<expression> parts = {}) { return {.parts = std::move(parts)}; }
/// Any of them; of no parts, no text at all.
inline expression any_of(std::vector<expression> parts) {
  return {.what = expression::kind::choice, .parts = std::move(parts)};
}
/// Texts of a part one after another, so many times.
inline expression repeat(expression part, int least, int most = expression::no_limit) {
  expression e{.what = expression::kind::repeat, .least = least, .most = most};
  e.parts.push_back(std::move(part));
  return e;
}
inline expression optional_text(expression part) { return repeat(std::move(part), 0, 1); }
/// The texts of a rule, which may come later.
inline expression use_rule(int rule) { return {.what = expression::kind::rule, .rule = rule}; }

/// Rules, which may use each other. The texts of the grammar are those of rule 0.
struct grammar_rules {
  std::vector<expression> rules = {};
  std::vector<std::string> names = {};  ///< for messages

  int add(std::string name, expression e = {}) {
    rules.push_back(std::move(e));
    names.push_back(std::move(name));
    return static_cast<int>(rules.size()) - 1;
  }
};

/// Sorted ranges without common code points.
inline std::vector<code_range> without_overlap(std::vector<code_range> ranges);
/// The code points that none of the ranges has.
inline std::vector<code_range> all_but(std::vector<code_range> ranges) {
  std::vector<code_range> result;
  char32_t next = 0;
  for (const code_range& r : without_overlap(std::move(ranges))) {
    if (r.first > next) result.push_back({next, r.first - 1});
    next = r.last + 1;
  }
  if (next <= last_code) result.push_back({next, last_code});
  return result;
}
inline std::vector<code_range> without_overlap(std::vector<code_range> ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const code_range& a, const code_range& b) { return a.first < b.first; });
  std::vector<code_range> result;
  for (const code_range& r : ranges) {
    if (!result.empty() && r.first <= result.back().last + 1)
      result.back().last = std::max(result.back().last, r.last);
    else
      result.push_back(r);
  }
  return result;
}

}  // namespace tokamax::serve
