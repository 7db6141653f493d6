// tokamax/base/extent_form.hpp: what a dynamic extent means: products and sums of symbols, and the number that stands for it.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/base/extent.cpp
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

#include <bit>               // bit_width
#include <compare>           // comparisons by default
#include <cstdint>           // int64_t
#include <initializer_list>  // lists in braces
#include <limits>            // max
#include <numeric>           // gcd

namespace tokamax {

inline constexpr int max_symbols = 8;
inline constexpr std::int64_t too_large = std::numeric_limits<std::int64_t>::max();  ///< stands for all larger products
/// Stands for a result that is not an extent, or that cannot be encoded.
inline constexpr std::int64_t no_extent = -(std::int64_t{1} << 61);

namespace detail {

inline constexpr std::int64_t max_factor = (std::int64_t{1} << 36) - 1;
constexpr std::int64_t checked_sum(std::int64_t a, std::int64_t b, bool& ok) {
  std::int64_t sum = 0;
  ok = !__builtin_add_overflow(a, b, &sum) && ok;
  return sum;
}
constexpr std::int64_t checked_product(std::int64_t a, std::int64_t b, bool& ok) {
  std::int64_t product = 0;
  ok = !__builtin_mul_overflow(a, b, &product) && ok;
  return product;
}
/// The least whole number that is not below a / b, of which b is positive.
constexpr std::int64_t ceil_of(std::int64_t a, std::int64_t b) { return a / b + (a % b > 0); }

/// How often each symbol is a factor, 2 bits each, of a product of two such lists.
constexpr unsigned product_of_symbols(unsigned a, unsigned b, bool& ok) {
  for (int s = 0; s < max_symbols; ++s) ok = ok && (a >> 2 * s & 3) + (b >> 2 * s & 3) <= 3;
  return ok ? a + b : 0;
}
constexpr unsigned common_symbols(unsigned a, unsigned b) {
  unsigned both = 0;
  for (int s = 0; s < max_symbols; ++s) {
    const unsigned x = a >> 2 * s & 3, y = b >> 2 * s & 3;
    both |= (x < y ? x : y) << 2 * s;
  }
  return both;
}
/// The value of a product of symbols.
constexpr std::int64_t value_of(unsigned symbols, const std::int64_t* values) {
  std::int64_t n = 1;
  for (; symbols; symbols >>= 2, ++values)
    for (unsigned k = symbols & 3; k; --k) n *= *values;
  return n;
}

/// A sum of products of symbols, such as 2nm + n - 1, ordered by the symbols. The number is a term without symbols.
struct polynomial {
  static constexpr int most = 4;
  struct term {
    unsigned symbols = 0;
    std::int64_t factor = 0;
    constexpr auto operator<=>(const term&) const = default;
  };
  int count = 0;
  term terms[most] = {};

  constexpr auto operator<=>(const polynomial&) const = default;
  constexpr std::int64_t number() const { return count && !terms[0].symbols ? terms[0].factor : 0; }
  constexpr void add(unsigned symbols, std::int64_t factor, bool& ok) {
    int at = 0;
    while (at < count && terms[at].symbols < symbols) ++at;
    if (at == count || terms[at].symbols != symbols) {
      if (factor == 0) return;
      if (count == most) return void(ok = false);
      for (int i = count++; i > at; --i) terms[i] = terms[i - 1];
      terms[at] = {symbols, factor};
      return;
    }
    terms[at].factor = checked_sum(terms[at].factor, factor, ok);
    if (terms[at].factor != 0) return;
    for (--count; at < count; ++at) terms[at] = terms[at + 1];
    terms[count] = {};
  }
  constexpr void add(const polynomial& p, std::int64_t times, bool& ok) {
    for (int i = 0; i < p.count; ++i) add(p.terms[i].symbols, checked_product(p.terms[i].factor, times, ok), ok);
  }
  /// Has no term a negative factor? The value is then 0 or more. `number_too`: also the term without symbols.
  constexpr bool is_positive(bool number_too = true) const {
    for (int i = 0; i < count; ++i)
      if (terms[i].factor < 0 && (number_too || terms[i].symbols)) return false;
    return true;
  }
  constexpr bool is_negative() const {
    for (int i = 0; i < count; ++i)
      if (terms[i].factor > 0) return false;
    return true;
  }
  constexpr std::int64_t value(const std::int64_t* values) const {
    std::int64_t n = 0;
    for (int i = 0; i < count; ++i) n += terms[i].factor * value_of(terms[i].symbols, values);
    return n;
  }
};

/// outer + times * max(0, ceil(inner / divisor)). It has one form for each value: what need not be inside is outside.
struct extent_sum {
  polynomial outer = {}, inner = {};
  std::int64_t times = 0, divisor = 1;

  constexpr auto operator<=>(const extent_sum&) const = default;
  constexpr std::int64_t value(const std::int64_t* values) const {
    const std::int64_t least = times ? ceil_of(inner.value(values), divisor) : 0;
    return outer.value(values) + times * (least > 0 ? least : 0);
  }
  constexpr void add(const extent_sum& s, bool& ok) {
    outer.add(s.outer, 1, ok);
    if (s.times == 0) return;
    if (times == 0)
      inner = s.inner, divisor = s.divisor;
    else
      ok = ok && inner == s.inner && divisor == s.divisor;
    times = checked_sum(times, s.times, ok);
  }
  constexpr void multiply(std::int64_t factor, unsigned symbols, bool& ok) {
    ok = ok && (symbols == 0 || times == 0);
    polynomial p;
    for (int i = 0; i < outer.count; ++i)
      p.add(product_of_symbols(outer.terms[i].symbols, symbols, ok), checked_product(outer.terms[i].factor, factor, ok),
            ok);
    outer = p;
    times = checked_product(times, factor, ok);
  }
  constexpr void normalize(bool& ok) {
    const auto divide_inner = [&](std::int64_t by) {
      polynomial p;
      for (const polynomial::term& t : inner.terms) p.add(t.symbols, ceil_of(t.factor, by), ok);
      inner = p;
    };
    std::int64_t common = divisor, whole = 0;
    for (const polynomial::term& t : inner.terms) common = std::gcd(common, t.symbols ? t.factor : 0);
    divide_inner(common);
    divisor /= common;
    for (const polynomial::term& t : inner.terms) whole = std::gcd(whole, t.factor);
    if (divisor == 1 && whole > 1) {
      divide_inner(whole);
      times = checked_product(times, whole, ok);
    }
    if (inner.is_positive(false) && ceil_of(inner.number(), divisor) >= 0) {  // never below 0
      polynomial rest;
      for (const polynomial::term& t : inner.terms) {
        const std::int64_t out = t.symbols ? t.factor / divisor : ceil_of(t.factor, divisor);
        outer.add(t.symbols, checked_product(out, times, ok), ok);
        rest.add(t.symbols, t.factor - out * divisor, ok);
      }
      inner = rest;
    }
    if (times == 0 || inner.is_negative()) times = 0, inner = {}, divisor = 1;
  }
  /// Is the value 0 or more, whatever the symbols are? Only if that is easy to see.
  constexpr bool is_positive() const {
    if (times >= 0 && outer.is_positive()) return true;
    if (times == 0 || (times < 0 && !outer.is_positive())) return false;
    bool ok =
        true;  // times * ceil(inner / divisor) is at least times * inner / divisor, or the same for the next number
    polynomial least = inner;
    if (times < 0) least.add(0, divisor - 1, ok);
    polynomial all;
    all.add(outer, divisor, ok);
    all.add(least, times, ok);
    return ok && all.is_positive();
  }
};

/// Is a <= b, whatever the symbols are? Only if that is easy to see: for the 0 and for the quotient in a, there is a 0 or a
/// quotient in b that is not less.
constexpr bool never_above(const extent_sum& a, const extent_sum& b) {
  if (a.times < 0 || b.times < 0) return false;
  bool all = true;
  for (const bool quotient_of_a : {false, true}) {
    bool any = false;
    for (const bool quotient_of_b : {false, true}) {
      bool ok = true;
      polynomial rest, most = a.inner;
      most.add(0, a.divisor - 1, ok);  // the quotient is rounded up
      rest.add(b.outer, checked_product(a.divisor, b.divisor, ok), ok);
      if (quotient_of_b) rest.add(b.inner, checked_product(b.times, a.divisor, ok), ok);
      rest.add(a.outer, checked_product(-a.divisor, b.divisor, ok), ok);
      if (quotient_of_a) rest.add(most, checked_product(-a.times, b.divisor, ok), ok);
      any = any || (ok && rest.is_positive());
    }
    all = all && any;
  }
  return all;
}

/// factor * symbols * sums: what an extent means, or an amount that may be negative.
struct extent_form {
  static constexpr int most_sums = 2;
  std::int64_t factor = 0;
  unsigned symbols = 0;
  int count = 0;
  extent_sum sums[most_sums] = {};
  bool ok = true;

  constexpr bool operator==(const extent_form&) const = default;
  constexpr void multiply(std::int64_t by, unsigned more) {
    factor = checked_product(factor, by, ok);
    symbols = product_of_symbols(symbols, more, ok);
  }
  constexpr void multiply(extent_sum s) {
    s.normalize(ok);
    std::int64_t common = s.times < 0 ? -s.times : s.times;
    unsigned shared = s.times || !s.outer.count ? 0 : s.outer.terms[0].symbols;
    for (int i = 0; i < s.outer.count; ++i) {
      common = std::gcd(common, s.outer.terms[i].factor);
      shared = common_symbols(shared, s.outer.terms[i].symbols);
    }
    multiply(common, shared);
    if (common == 0) return void(*this = {.ok = ok});
    for (polynomial::term& t : s.outer.terms)
      if (t.factor) t.factor /= common, t.symbols -= shared;
    s.times /= common;
    if (s.times == 0 && s.outer.count == 1) return multiply(s.outer.terms[0].factor, s.outer.terms[0].symbols);
    if (count == most_sums) return void(ok = false);
    const bool first = count && s < sums[0];
    if (first) sums[1] = sums[0];
    sums[first ? 0 : count] = s;
    ++count;
  }
  constexpr bool is_positive() const {
    bool positive = factor >= 0;
    for (int k = 0; k < count; ++k) positive = positive && sums[k].is_positive();
    return positive;
  }
  /// Does the value depend on this symbol?
  constexpr bool has_symbol(int s) const {
    unsigned all = symbols;
    for (int k = 0; k < count; ++k)
      for (int i = 0; i < polynomial::most; ++i) all |= sums[k].outer.terms[i].symbols | sums[k].inner.terms[i].symbols;
    return all >> 2 * s & 3;
  }
  /// The same as one sum.
  constexpr extent_sum as_sum(bool& fits) const {
    extent_sum s;
    fits = fits && count <= 1;
    if (count == 0)
      s.outer.add(0, 1, fits);
    else
      s = sums[0];
    s.multiply(factor, symbols, fits);
    return s;
  }
  constexpr std::int64_t value(const std::int64_t* values) const {
    std::int64_t n = factor * value_of(symbols, values);
    for (int k = 0; k < count; ++k) n *= sums[k].value(values);
    return n;
  }
};

/// The bits of an extent's number, from the lowest one on. Small numbers are short, as in Elias' delta code.
class extent_bits {
 public:
  static constexpr int capacity = 50;
  constexpr extent_bits() = default;
  constexpr explicit extent_bits(std::uint64_t bits) : bits_(bits) {}
  constexpr void put(std::uint64_t v, int n) {
    ok_ = ok_ && used_ + n <= capacity;
    if (ok_) bits_ |= v << used_, used_ += n;
  }
  constexpr std::uint64_t get(int n) {
    ok_ = ok_ && used_ + n <= capacity;
    if (!ok_) return 0;
    used_ += n;
    return bits_ >> (used_ - n) & ((std::uint64_t{1} << n) - 1);
  }
  constexpr void put_natural(std::int64_t v) {  // from 1 on
    const auto number = static_cast<std::uint64_t>(v);
    const auto width = static_cast<int>(std::bit_width(number)),
               length = static_cast<int>(std::bit_width(static_cast<unsigned>(width)));
    put((std::uint64_t{1} << (length - 1)) - 1, length);
    put(static_cast<std::uint64_t>(width) - (std::uint64_t{1} << (length - 1)), length - 1);
    put(number - (std::uint64_t{1} << (width - 1)), width - 1);
  }
  constexpr std::int64_t get_natural() {
    int length = 1;
    while (ok_ && length < 6 && get(1)) ++length;
    const auto width = static_cast<int>((std::uint64_t{1} << (length - 1)) + get(length - 1));
    return width > capacity ? 1 : static_cast<std::int64_t>((std::uint64_t{1} << (width - 1)) + get(width - 1));
  }
  constexpr void put_signed(std::int64_t v) {  // not 0
    put(v < 0, 1);
    put_natural(v < 0 ? -v : v);
  }
  constexpr std::int64_t get_signed() {
    const bool negative = get(1);
    const std::int64_t v = get_natural();
    return negative ? -v : v;
  }
  constexpr void put_symbols(unsigned symbols) {
    for (int s = 0; s < max_symbols; ++s)
      for (unsigned k = symbols >> 2 * s & 3; k; --k) put(1u | static_cast<unsigned>(s) << 1, 4);
    put(0, 1);
  }
  constexpr unsigned get_symbols() {
    unsigned symbols = 0;
    while (ok_ && get(1)) symbols = product_of_symbols(symbols, 1u << 2 * get(3), ok_);
    return symbols;
  }
  constexpr void put(const polynomial& p) {
    for (int i = 0; i < p.count; ++i) {
      put(1, 1);
      put_signed(p.terms[i].factor);
      put_symbols(p.terms[i].symbols);
    }
    put(0, 1);
  }
  constexpr polynomial get_polynomial() {
    polynomial p;
    while (ok_ && get(1)) {
      const std::int64_t factor = get_signed();
      p.add(get_symbols(), factor, ok_);
    }
    return p;
  }
  /// What programs have most is short: n - k, cut at 0, and n / k, rounded up.
  constexpr void put(const extent_sum& s) {
    const polynomial::term& last = s.inner.terms[s.inner.count ? s.inner.count - 1 : 0];
    const bool one = s.times == 1 && s.outer.count == 0 && last.factor == 1 && std::has_single_bit(last.symbols) &&
                     std::countr_zero(last.symbols) % 2 == 0;
    const bool cut = one && s.divisor == 1 && s.inner.count == 2 && s.inner.number() < 0;
    const bool rounded = one && s.divisor > 1 && s.inner.count == 1;
    put(cut ? 1 : rounded ? 2 : s.times ? 3 : 0, 2);
    if (cut || rounded) {
      put(static_cast<unsigned>(std::countr_zero(last.symbols)) / 2, 3);
      return put_natural(cut ? -s.inner.number() : s.divisor);
    }
    put(s.outer);
    if (s.times == 0) return;
    put_signed(s.times);
    put_natural(s.divisor);
    put(s.inner);
  }
  constexpr extent_sum get_sum() {
    extent_sum s;
    const std::uint64_t kind = get(2);
    if (kind == 1 || kind == 2) {
      s.times = 1;
      s.inner.add(1u << 2 * get(3), 1, ok_);
      const std::int64_t number = get_natural();
      if (kind == 2) s.divisor = number;
      if (kind == 1) s.inner.add(0, -number, ok_);
      return s;
    }
    s.outer = get_polynomial();
    if (kind == 0) return s;
    s.times = get_signed();
    s.divisor = get_natural();
    s.inner = get_polynomial();
    return s;
  }
  constexpr void put_rest(std::uint64_t v) {
    const int left = capacity - used_;
    ok_ = ok_ && v < std::uint64_t{1} << left;
    if (ok_) bits_ |= v << used_;
  }
  constexpr std::uint64_t rest() const { return bits_ >> used_; }
  constexpr std::uint64_t bits() const { return bits_; }
  constexpr bool ok() const { return ok_; }

 private:
  std::uint64_t bits_ = 0;
  int used_ = 0;
  bool ok_ = true;
};

}  // namespace detail

}  // namespace tokamax
