// tokamax/serve/grammar/json_texts.hpp: strings, numbers and values of JSON as sets of texts, bounded where JSON is not.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/serve/grammar/json_schema.cpp
#pragma once

#include <tokamax/serve/grammar/expression.hpp>  // expression
#include <tokamax/text/utf8.hpp>                 // decode_utf8

#include <cmath>     // ceil, floor
#include <cstdint>   // uint64_t
#include <optional>  // optional
#include <set>       // set

namespace tokamax::serve::json {

/// Nothing, a space, or a line end and some spaces: endless white space is a way to never answer.
inline expression white_space() {
  return optional_text(
      any_of({literal(" "), joined({literal("\n"), repeat(codes({{' ', ' '}, {'\t', '\t'}}), 0, 20)})}));
}
/// 0 to 9.
inline expression digit() { return codes({{'0', '9'}}); }

/// One character of a string, out of a set: as it is, or by its escape where it needs one.
inline expression character(std::vector<code_range> set) {
  const auto has = [&](char32_t c) {
    return std::any_of(set.begin(), set.end(), [&](const code_range& r) { return r.first <= c && c <= r.last; });
  };
  std::vector<expression> ways;
  std::vector<code_range> out = all_but(set);
  out.insert(out.end(), {{0, 0x1F}, {'"', '"'}, {'\\', '\\'}, {0xD800, 0xDFFF}});
  if (auto plain = all_but(std::move(out)); !plain.empty()) ways.push_back(codes(std::move(plain)));
  for (const auto& [c, escape] : {std::pair<char32_t, const char*>{'"', "\\\""},
                                  {'\\', "\\\\"},
                                  {'\b', "\\b"},
                                  {'\f', "\\f"},
                                  {'\n', "\\n"},
                                  {'\r', "\\r"},
                                  {'\t', "\\t"}})
    if (has(c)) ways.push_back(literal(escape));
  for (char32_t c = 0; c < 0x20; ++c)
    if (has(c) && (c < 8 || c == 11 || c > 13)) {
      constexpr char digits[] = "0123456789abcdef";
      ways.push_back(literal(std::string("\\u00") + digits[c >> 4] + digits[c & 15]));
    }
  return any_of(std::move(ways));
}
/// Any character of a string, in any of its forms.
inline expression any_character() {
  const std::vector<code_range> hex{{'0', '9'}, {'A', 'F'}, {'a', 'f'}};
  const auto digits = [&](int n) { return repeat(codes(hex), n, n); };
  const expression d = codes({{'D', 'D'}, {'d', 'd'}});
  const expression high = joined({d, codes({{'8', '9'}, {'A', 'B'}, {'a', 'b'}}), digits(2)});
  const expression low = joined({d, codes({{'C', 'F'}, {'c', 'f'}}), digits(2)});
  const expression code =
      any_of({joined({codes({{'0', '9'}, {'A', 'C'}, {'E', 'F'}, {'a', 'c'}, {'e', 'f'}}), digits(3)}),
              joined({d, codes({{'0', '7'}}), digits(2)}), joined({high, literal("\\u"), low})});
  const expression escape =
      any_of({codes({{'"', '"'}, {'/', '/'}, {'\\', '\\'}, {'b', 'b'}, {'f', 'f'}, {'n', 'n'}, {'r', 'r'}, {'t', 't'}}),
              joined({literal("u"), code})});
  return any_of(
      {codes(all_but({{0, 0x1F}, {'"', '"'}, {'\\', '\\'}, {0xD800, 0xDFFF}})), joined({literal("\\"), escape})});
}

/// The characters of a string that is none of the names and begins with `begin`. They are no escapes, which could write a name in
/// another way.
inline expression other_name(const std::set<std::string>& names, const std::string& begin = {}) {
  std::vector<code_range> used{{0, 0x1F}, {'"', '"'}, {'\\', '\\'}, {0xD800, 0xDFFF}};
  const expression any = codes(all_but(used));
  std::vector<expression> all;
  if (!names.contains(begin)) all.push_back(joined());
  for (auto at = names.lower_bound(begin); at != names.end() && at->starts_with(begin);) {
    if (at->size() == begin.size()) {
      ++at;
      continue;
    }
    const text::utf8_step step = text::decode_utf8(*at, begin.size());
    const std::string longer = at->substr(0, begin.size() + step.length);
    if (step.code >= 0x20 && step.code != '"' && step.code != '\\')
      all.push_back(joined({codes({{step.code, step.code}}), other_name(names, longer)}));
    used.push_back({step.code, step.code});
    while (at != names.end() && at->starts_with(longer)) ++at;
  }
  all.push_back(joined({codes(all_but(std::move(used))), repeat(any, 0)}));
  return any_of(std::move(all));
}

/// Numbers of as many digits, from `low` to `high`, which have so many digits.
inline expression digits_between(const std::string& low, const std::string& high) {
  if (low.empty()) return joined();
  const auto first = [](char a, char b) {
    return codes({{static_cast<unsigned char>(a), static_cast<unsigned char>(b)}});
  };
  const int rest = static_cast<int>(low.size()) - 1;
  const std::string zeros(low.size() - 1, '0'), nines(low.size() - 1, '9');
  if (low.substr(1) == zeros && high.substr(1) == nines)
    return joined({first(low[0], high[0]), repeat(digit(), rest, rest)});
  if (low[0] == high[0]) return joined({first(low[0], low[0]), digits_between(low.substr(1), high.substr(1))});
  std::vector<expression> all{joined({first(low[0], low[0]), digits_between(low.substr(1), nines)})};
  if (low[0] + 1 < high[0])
    all.push_back(
        joined({first(static_cast<char>(low[0] + 1), static_cast<char>(high[0] - 1)), repeat(digit(), rest, rest)}));
  all.push_back(joined({first(high[0], high[0]), digits_between(zeros, high.substr(1))}));
  return any_of(std::move(all));
}
/// Natural numbers from `low` to `high`, without zeros before them.
inline expression naturals(std::uint64_t low, std::uint64_t high) {
  std::vector<expression> all;
  while (low <= high) {
    const std::string begin = std::to_string(low), nines(begin.size(), '9');
    const bool longer = std::to_string(high).size() > begin.size();
    all.push_back(digits_between(begin, longer ? nines : std::to_string(high)));
    if (!longer) break;
    low = 1;
    for (std::size_t i = 0; i < begin.size(); ++i) low *= 10;
  }
  return any_of(std::move(all));
}

/// The bounds of a number.
struct bounds {
  std::optional<double> least = {}, most = {};
  bool above_least = false, below_most = false;  ///< is the bound itself left out?
  bool any() const { return least || most; }
};
/// Integers have at most 16 digits, so that doubles hold nearly all of them.
inline constexpr double largest_integer = 9'999'999'999'999'999.0;

namespace detail {

// Integers from low to high, and what may follow behind their digits.
inline void put_integers(std::vector<expression>& to, double low, double high, const expression& behind) {
  low = std::max(low, -largest_integer), high = std::min(high, largest_integer);
  if (low > high) return;
  const auto natural = [](double v) { return static_cast<std::uint64_t>(v); };
  if (high >= 0) to.push_back(joined({naturals(natural(std::max(low, 0.0)), natural(high)), behind}));
  if (low < 0) to.push_back(joined({literal("-"), naturals(natural(std::max(-high, 1.0)), natural(-low)), behind}));
}

}  // namespace detail

/// Integers within bounds; of none, if there is none.
inline expression integers(const bounds& b) {
  double low = b.least ? std::ceil(*b.least) : -largest_integer, high = b.most ? std::floor(*b.most) : largest_integer;
  if (b.least && b.above_least && low == *b.least) low += 1;
  if (b.most && b.below_most && high == *b.most) high -= 1;
  std::vector<expression> all;
  detail::put_integers(all, low, high, joined());
  return any_of(std::move(all));
}
/// Numbers of at most 16 digits before the point, 15 behind it and an exponent of two.
inline expression numbers() {
  return joined({optional_text(literal("-")), naturals(0, static_cast<std::uint64_t>(largest_integer)),
                 optional_text(joined({literal("."), repeat(digit(), 1, 15)})),
                 optional_text(joined({codes({{'E', 'E'}, {'e', 'e'}}), optional_text(codes({{'+', '+'}, {'-', '-'}})),
                                       repeat(digit(), 1, 2)}))});
}
/// Numbers within bounds: integers, and fractions between two integers that are both within the bounds.
inline expression numbers(const bounds& b) {
  if (!b.any()) return numbers();
  std::vector<expression> all{integers(b)};
  const double low = b.least.value_or(-largest_integer), high = b.most.value_or(largest_integer);
  // At the integer below which the fraction 0 is left out, the last digit is not 0.
  const expression some = joined({literal("."), repeat(digit(), 0, 14), codes({{'1', '9'}})});
  const auto put = [&](const char* sign, double from, double to, bool without_first) {
    from = std::max(from, 0.0), to = std::min(to, largest_integer);
    if (from > to) return;
    all.push_back(
        joined({literal(sign), naturals(static_cast<std::uint64_t>(from), static_cast<std::uint64_t>(from)), some}));
    if (!without_first)
      all.push_back(joined({literal(sign), naturals(static_cast<std::uint64_t>(from), static_cast<std::uint64_t>(to)),
                            literal("."), repeat(digit(), 1, 15)}));
    else if (from + 1 <= to)
      all.push_back(
          joined({literal(sign), naturals(static_cast<std::uint64_t>(from) + 1, static_cast<std::uint64_t>(to)),
                  literal("."), repeat(digit(), 1, 15)}));
  };
  put("", std::ceil(low), std::floor(high) - 1, b.above_least && std::ceil(low) == low && low >= 0);
  put("-", std::ceil(-high), std::floor(-low) - 1, b.below_most && std::ceil(high) == high && high <= 0);
  return any_of(std::move(all));
}

}  // namespace tokamax::serve::json
