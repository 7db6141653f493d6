// tokamax/base/extent.hpp: extents that are known when a program runs, and arithmetic with them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/extent_form.hpp>  // extent_form

#include <initializer_list>  // lists in braces

namespace tokamax {

namespace detail {
// A dynamic extent is one number below -2^61. Down to -2^62 it is a factor of 36 bits and a product of up to three symbols,
// which are written as digits s + 1 to the base 9. Below that it is any other `extent_form` that fits into 50 bits.
//
// Programs may count with such numbers as if they were sizes. What comes of that must not look like an extent. So all of
// them have the same low bits, which no sum of a few of them and a small number has, and the bits above are mixed, so that
// differences are far from all sizes. Those of few bits are close to -2^61 and -2^62, where they are known as floats too.
struct extent_code {
  std::int64_t end;  // the numbers are below this one
  int bits, mark_bits;
  static constexpr int few_bits = 36;
  static constexpr std::uint64_t mark = 0x35b, odd = 0x9e3779b97f4a7c15u, inverse = 0xf1de83e19937733du;
  static_assert(odd * inverse == 1);

  static constexpr std::uint64_t first(std::uint64_t v, int n) { return v & ((std::uint64_t{1} << n) - 1); }
  static constexpr std::uint64_t mixed(std::uint64_t v, int n) {
    return first(v * odd, n) ^ first(v * odd, n) >> n / 2;
  }
  static constexpr std::uint64_t unmixed(std::uint64_t v, int n) { return first((v ^ v >> n / 2) * inverse, n); }
  constexpr std::uint64_t many() const { return std::uint64_t{1} << (bits + mark_bits - 1); }
  constexpr std::int64_t number_of(std::uint64_t payload) const {
    const bool few = payload >> few_bits == 0;
    const std::uint64_t at =
        few ? mixed(payload, few_bits) << mark_bits | mark : many() | mixed(payload, bits) << (mark_bits - 1) | mark;
    return end - 1 - static_cast<std::int64_t>(at);
  }
  /// 0 if there is none.
  constexpr std::uint64_t payload_of(std::int64_t number) const {
    const std::uint64_t at = static_cast<std::uint64_t>(end) - 1 - static_cast<std::uint64_t>(number);
    if (at >> (few_bits + mark_bits) == 0) return unmixed(at >> mark_bits, few_bits);
    return at >= many() ? unmixed((at - many()) >> (mark_bits - 1), bits) : 0;
  }
};
inline constexpr extent_code product_code{no_extent, 46, 15}, form_code{2 * no_extent, extent_bits::capacity, 12};

/// The digits for how often each symbol is a factor, 2 bits each; 0 if there are too many.
constexpr std::uint64_t digits_of(unsigned symbols) {
  std::uint64_t digits = 0;
  for (int s = 0; s < max_symbols; ++s)
    for (unsigned k = symbols >> 2 * s & 3; k; --k) digits = 9 * digits + static_cast<unsigned>(s) + 1;
  return digits < 729 ? digits : 0;
}
constexpr unsigned symbols_of(std::uint64_t digits) {
  unsigned symbols = 0;
  for (; digits % 9; digits /= 9) symbols += 1u << 2 * (digits % 9 - 1);
  return symbols;
}
constexpr std::int64_t dynamic_extent(std::int64_t factor, unsigned symbols) {
  return product_code.number_of(static_cast<std::uint64_t>(factor) << 10 | digits_of(symbols));
}

/// The number that stands for an extent or an amount; no_extent if it has too many bits.
constexpr std::int64_t encoded(extent_form f) {
  if (f.ok && f.count == 0 && f.symbols == 0) return f.factor > no_extent ? f.factor : no_extent;
  if (f.factor < 0 && f.count) {
    f.factor = -f.factor;
    f.sums[0].multiply(-1, 0, f.ok);
  }
  if (!f.ok || f.factor == 0) return f.ok ? 0 : no_extent;
  if (f.count == 0 && f.factor > 0 && digits_of(f.symbols))
    return f.factor > max_factor ? too_large : dynamic_extent(f.factor, f.symbols);
  extent_bits b;
  b.put(f.factor < 0, 1);
  b.put_symbols(f.symbols);
  b.put(f.count > 0, 1);
  if (f.count) {
    b.put(f.sums[0]);
    b.put(f.count > 1, 1);
  }
  if (f.count > 1) {
    const bool same = f.sums[0] == f.sums[1];
    b.put(same, 1);
    if (!same) b.put(f.sums[1]);
  }
  b.put_rest(static_cast<std::uint64_t>(f.factor < 0 ? -f.factor : f.factor));
  return b.ok() ? form_code.number_of(b.bits()) : no_extent;
}
/// What a number means; `ok` is false for one that stands for nothing.
constexpr extent_form decoded(std::int64_t e) {
  extent_form f;
  if (e > no_extent) {
    f.factor = e;
    return f;
  }
  if (e >= form_code.end) {
    const std::uint64_t payload = product_code.payload_of(e);
    f.factor = static_cast<std::int64_t>(payload >> 10);
    f.symbols = symbols_of(payload & 1023);
    f.ok = f.symbols != 0 && dynamic_extent(f.factor, f.symbols) == e;
    return f;
  }
  extent_bits b(form_code.payload_of(e));
  const bool negative = b.get(1);
  f.symbols = b.get_symbols();
  f.factor = 1;
  if (b.get(1)) {
    const extent_sum first = b.get_sum();
    f.multiply(first);
    if (b.get(1)) f.multiply(b.get(1) ? first : b.get_sum());
  }
  f.ok = f.ok && b.ok();
  f.multiply(static_cast<std::int64_t>(b.rest()), 0);
  if (negative) f.factor = -f.factor;
  f.ok = encoded(f) == e;
  return f;
}
}  // namespace detail

/// A dynamic extent: `factor` times the symbol `symbol` (0..7), whose value is known when a program runs.
/// Encoded as one negative number, so that a shape stays a list of integers.
consteval std::int64_t dyn(int symbol = 0, std::int64_t factor = 1) {
  if (symbol < 0 || symbol >= max_symbols) throw "dyn: expected a symbol from 0 to 7";
  if (factor < 1 || factor > detail::max_factor) throw "dyn: expected a factor from 1 on";
  return detail::dynamic_extent(factor, 1u << 2 * symbol);
}
constexpr bool is_dyn(std::int64_t extent) { return extent < no_extent; }
/// The symbol of which a dynamic extent is a multiple, and `factor_of` how often; -1 if it is none of one symbol.
constexpr int symbol_of(std::int64_t dynamic) {
  const detail::extent_form f = detail::decoded(dynamic);
  for (int s = 0; s < max_symbols; ++s)
    if (f.count == 0 && f.symbols == 1u << 2 * s) return s;
  return -1;
}
constexpr std::int64_t factor_of(std::int64_t dynamic) { return detail::decoded(dynamic).factor; }
/// Can an array have this extent? If a program has computed with a dynamic extent, the result looks like any other
/// negative number and is refused. So is a difference that may be below 0.
constexpr bool is_extent(std::int64_t extent) {
  if (extent >= 0) return true;
  if (!is_dyn(extent)) return false;
  const detail::extent_form f = detail::decoded(extent);
  return f.ok && f.is_positive();
}

namespace detail {
/// Is this a dynamic extent, or what arithmetic made of one? No program counts so far below 0 otherwise.
constexpr bool comes_of_extent(std::int64_t v) { return v < -(std::int64_t{1} << 48); }
}  // namespace detail

/// The values of the symbols for which arenas are laid out while compiling.
inline constexpr std::int64_t one_of_each_symbol[max_symbols] = {1, 1, 1, 1, 1, 1, 1, 1};

/// The value of an extent, stride or offset for given symbols.
constexpr std::int64_t resolve(std::int64_t extent, const std::int64_t* symbols) {
  return is_dyn(extent) ? detail::decoded(extent).value(symbols) : extent;
}

/// Can a dynamic extent have the value `value`? `symbols` holds the values that are known, and -1 for others. The extent
/// tells the value of one that is not known, if it is a multiple of it and a number.
constexpr bool find_symbol(std::int64_t extent, std::int64_t value, std::int64_t* symbols) {
  const detail::extent_form f = detail::decoded(extent);
  bool ok = f.ok;
  const detail::extent_sum s = f.as_sum(ok);
  const detail::polynomial::term last = s.outer.terms[s.outer.count ? s.outer.count - 1 : 0];
  for (int k = 0; k < max_symbols && ok; ++k)
    if (s.times == 0 && last.symbols == 1u << 2 * k && s.outer.count == 1 + (s.outer.number() != 0) && symbols[k] < 0) {
      const std::int64_t rest = value - s.outer.number();
      if (rest < 0 || rest % last.factor != 0) return false;
      symbols[k] = rest / last.factor;
    }
  std::int64_t least = 0;
  for (int k = 0; k < max_symbols; ++k)
    if (f.has_symbol(k) && symbols[k] < least) least = symbols[k];
  return f.ok && least == 0 && f.value(symbols) == value;
}

namespace detail {
/// a * b of amounts, which may be negative.
constexpr std::int64_t mul_amounts(std::int64_t a, std::int64_t b) {
  extent_form f = decoded(a);
  const extent_form g = decoded(b);
  bool ok = f.ok && g.ok;
  if (ok && (checked_product(f.factor, g.factor, ok), !ok)) return too_large;
  f.multiply(g.factor, g.symbols);
  for (int k = 0; k < g.count; ++k) f.multiply(g.sums[k]);
  return ok ? encoded(f) : no_extent;
}
}  // namespace detail

/// a * b. Products beyond 2^63 - 1 are `too_large`, and those that cannot be encoded are no_extent.
constexpr std::int64_t mul_extent(std::int64_t a, std::int64_t b) {
  if ((a | b) >> 31 == 0) return a * b;  // the usual case
  if (a >= 0 && b >= 0) return a == 0 || b <= too_large / a ? a * b : too_large;
  if (a == 0 || b == 0) return 0;
  return is_extent(a) && is_extent(b) ? detail::mul_amounts(a, b) : no_extent;
}
/// a / b, or no_extent if one is dynamic and the quotient is not whole for all values of the symbols.
constexpr std::int64_t div_extent(std::int64_t a, std::int64_t b) {
  if (a >= 0 && b > 0) return a / b;
  if (b == 0 || !is_extent(a) || !is_extent(b)) return no_extent;
  const detail::extent_form f = detail::decoded(a), g = detail::decoded(b);
  if (f.factor % g.factor != 0 || detail::common_symbols(f.symbols, g.symbols) != g.symbols) return no_extent;
  detail::extent_form quotient{.factor = f.factor / g.factor, .symbols = f.symbols - g.symbols};
  int taken = 0;
  for (int k = 0; k < f.count; ++k)
    if (taken < g.count && f.sums[k] == g.sums[taken])
      ++taken;
    else
      quotient.multiply(f.sums[k]);
  return taken == g.count ? detail::encoded(quotient) : no_extent;
}

namespace detail {
/// a + b of amounts, which may be negative; no_extent if the sum cannot be encoded.
constexpr std::int64_t add_amounts(std::int64_t a, std::int64_t b) {
  if (a > no_extent && b > no_extent && a < -no_extent && b < -no_extent) return a + b;  // the usual case
  if (a == no_extent || b == no_extent) return no_extent;
  if (!is_dyn(a) && !is_dyn(b)) {
    std::int64_t sum = 0;
    return __builtin_add_overflow(a, b, &sum) ? a > 0 ? too_large : no_extent : sum;
  }
  if ((!is_dyn(a) && comes_of_extent(a)) || (!is_dyn(b) && comes_of_extent(b))) return no_extent;
  if (a == 0 || b == 0) return a == 0 ? b : a;
  extent_form f = decoded(a), g = decoded(b);
  bool ok = f.ok && g.ok;
  extent_form sum{.factor = 1, .symbols = common_symbols(f.symbols, g.symbols)};
  f.symbols -= sum.symbols;
  g.symbols -= sum.symbols;
  for (int i = 0; i < f.count; ++i)
    for (int k = 0; i < f.count && k < g.count; ++k)
      if (f.sums[i] == g.sums[k]) {
        sum.multiply(f.sums[i]);
        for (extent_form* const from : {&f, &g}) {
          const int at = from == &f ? i : k;
          if (at == 0) from->sums[0] = from->sums[1];
          from->sums[--from->count] = {};
        }
        k = -1;
      }
  extent_sum rest = f.as_sum(ok);
  rest.add(g.as_sum(ok), ok);
  sum.multiply(rest);
  return ok ? encoded(sum) : no_extent;
}
constexpr std::int64_t negated(std::int64_t amount) {
  if (!is_dyn(amount)) return amount == no_extent ? amount : -amount;
  extent_form f = decoded(amount);
  f.factor = -f.factor;
  return f.ok ? encoded(f) : no_extent;
}
/// The larger one of an amount and 0; no_extent if it cannot be encoded.
constexpr std::int64_t cut_at_zero(std::int64_t amount) {
  if (!is_dyn(amount)) return amount > 0 || amount == no_extent ? amount : 0;
  const extent_form f = decoded(amount);
  if (!f.ok || f.is_positive()) return f.ok ? amount : no_extent;
  if (f.count == 0) return 0;
  extent_form cut{.factor = f.factor, .symbols = f.symbols};
  bool ok = f.factor > 0;
  int open = 0;
  for (int k = 0; k < f.count; ++k) {
    extent_sum s = f.sums[k];
    if (!s.is_positive()) {
      ++open;
      if (s.times == 0) {
        s = {.inner = s.outer, .times = 1};
      } else {  // max(0, t + max(0, u)) = max(0, t + u) where t is not above 0
        ok = ok && s.times > 0 && (s.times == 1 || s.divisor == 1) && s.outer.is_negative();
        polynomial all;
        all.add(s.inner, s.times, ok);
        all.add(s.outer, s.divisor, ok);
        s = {.inner = all, .times = 1, .divisor = s.divisor};
      }
    }
    cut.multiply(s);
  }
  return ok && open == 1 ? encoded(cut) : no_extent;
}
}  // namespace detail

/// a + b, or no_extent if the sum cannot be encoded, or may be negative while one of them is dynamic.
constexpr std::int64_t add_extent(std::int64_t a, std::int64_t b) {
  const std::int64_t sum = detail::add_amounts(a, b);
  return is_dyn(sum) && !is_extent(sum) ? no_extent : sum;
}
/// max(a - b, 0): what b leaves of a, as slices have it.
constexpr std::int64_t sub_extent(std::int64_t a, std::int64_t b) {
  for (const std::int64_t e : {a, b})
    if (detail::comes_of_extent(e) && !is_extent(e)) return no_extent;
  return detail::cut_at_zero(detail::add_amounts(a, detail::negated(b)));
}
/// a / b, rounded up, for a known b from 1 on.
constexpr std::int64_t ceil_extent(std::int64_t a, std::int64_t b) {
  if (b < 1) return no_extent;
  if (!is_dyn(a)) return a < 0 ? no_extent : detail::ceil_of(a, b);
  detail::extent_form f = detail::decoded(a);
  const std::int64_t common = std::gcd(f.factor, b);
  f.factor /= common;
  b /= common;
  bool ok = f.ok && f.factor > 0;
  if (ok && b == 1 && f.is_positive()) return detail::encoded(f);
  detail::extent_sum s = f.as_sum(ok), quotient{.times = 1, .divisor = b};
  if (s.times == 0) {
    quotient.inner = s.outer;
    ok = ok && s.outer.is_positive(false) && detail::ceil_of(s.outer.number(), b) >= 0;
  } else if (s.times > 0 && s.divisor == 1 && s.outer.count == 0) {
    quotient.inner.add(s.inner, s.times, ok);
  } else {  // max(t, t + ceil(u / d)) / b = max(ceil(t / b), ceil((u + td) / bd))
    const std::int64_t t = s.outer.number(), least = detail::ceil_of(t, b);
    ok = ok && s.times == 1 && s.outer.count == (t != 0) && t >= 0;
    quotient.divisor = detail::checked_product(b, s.divisor, ok);
    quotient.inner = s.inner;
    quotient.inner.add(0, detail::checked_product(t, s.divisor, ok), ok);
    quotient.inner.add(0, detail::checked_product(-least, quotient.divisor, ok), ok);
    quotient.outer.add(0, least, ok);
  }
  detail::extent_form result{.factor = 1};
  result.multiply(quotient);
  return ok ? detail::encoded(result) : no_extent;
}
/// Is a <= b, whatever the values of the symbols? Only if that is easy to see.
constexpr bool at_most(std::int64_t a, std::int64_t b) {
  if (a == b || (a >= 0 && b >= 0)) return a <= b;
  if (!is_extent(a) || !is_extent(b)) return false;
  if (is_extent(detail::add_amounts(b, detail::negated(a)))) return true;
  bool ok = true;
  const detail::extent_sum less = detail::decoded(a).as_sum(ok), more = detail::decoded(b).as_sum(ok);
  return ok && never_above(less, more);
}

}  // namespace tokamax
