// tokamax/base/extent_text.hpp: dynamic extents as text: "4n", "n+1", "2n(m+o)", "max(0,n-1)", "16ceil(n/16)".
// SPDX-License-Identifier: Apache-2.0
// tested by tests/base/extent.cpp
#pragma once

#include <tokamax/base/extent.hpp>  // extent_form, add_amounts

#include <string_view>  // string_view

namespace tokamax::detail {

inline constexpr char first_symbol = 'n';  ///< the symbols are n, o, ..., u

constexpr void write_symbols(auto& out, unsigned symbols) {
  for (int s = 0; s < max_symbols; ++s)
    for (unsigned k = symbols >> 2 * s & 3; k; --k) out << static_cast<char>(first_symbol + s);
}
/// Writes a factor, but not 1, and before it a sign unless this is the first term.
constexpr void write_factor(auto& out, std::int64_t factor, bool first, bool alone) {
  if (factor < 0)
    out << '-';
  else if (!first)
    out << '+';
  const std::int64_t size = factor < 0 ? -factor : factor;
  if (alone || size != 1) out << size;
}
constexpr void write_polynomial(auto& out, const polynomial& p, bool& first) {
  for (int i = 0; i < p.count; ++i) {
    const polynomial::term& t = p.terms[i + 1 == p.count && p.number() ? 0
                                        : p.number()                   ? i + 1
                                                                       : i];  // the number last
    write_factor(out, t.factor, first, t.symbols == 0);
    write_symbols(out, t.symbols);
    first = false;
  }
}
constexpr void write_sum(auto& out, const extent_sum& s) {
  bool first = true;
  write_polynomial(out, s.outer, first);
  if (s.times == 0) return;
  write_factor(out, s.times, first, false);
  const bool cut = !s.inner.is_positive(false) || ceil_of(s.inner.number(), s.divisor) < 0;
  if (s.divisor > 1) out << std::string_view("ceil(");
  if (cut) out << std::string_view("max(0,");
  first = true;
  const bool apart = !cut && s.inner.count > 1;
  if (apart) out << '(';
  write_polynomial(out, s.inner, first);
  if (apart) out << ')';
  if (cut) out << ')';
  if (s.divisor > 1) out << '/' << s.divisor << ')';
}
/// Appends an extent, or an amount that may be negative; "?" if the number stands for nothing.
constexpr void write_extent(auto& out, std::int64_t e) {
  const extent_form f = decoded(e);
  if (!f.ok) return void(out << '?');
  if (f.count == 1 && f.factor == 1 && f.symbols == 0) return write_sum(out, f.sums[0]);
  write_factor(out, f.factor, true, f.symbols == 0 && f.count == 0);
  write_symbols(out, f.symbols);
  for (int k = 0; k < f.count; ++k) {
    const extent_sum& s = f.sums[k];
    const bool apart = s.outer.count > 0 || s.times != 1;
    if (apart) out << '(';
    write_sum(out, s);
    if (apart) out << ')';
  }
}

/// Reads what `write_extent` writes, and other sums and products of such, from the beginning of `text` on.
class extent_reader {
 public:
  constexpr explicit extent_reader(std::string_view text) : text_(text) {}
  /// no_extent if there is no extent or amount, or one that cannot be encoded.
  constexpr std::int64_t sum() {
    bool minus = accept("-");
    std::int64_t all = 0;
    do {
      const std::int64_t one = product();
      all = add_amounts(all, minus ? negated(one) : one);
      minus = accept("-");
    } while (minus || accept("+"));
    return all;
  }
  /// How many characters were read.
  constexpr std::size_t length() const { return at_; }

 private:
  constexpr bool accept(std::string_view s) {
    if (text_.substr(at_, s.size()) != s) return false;
    at_ += s.size();
    return true;
  }
  constexpr bool is_digit() const { return at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; }
  constexpr std::int64_t number() {
    bool ok = true;
    std::int64_t v = 0;
    while (is_digit()) v = checked_sum(checked_product(v, 10, ok), text_[at_++] - '0', ok);
    return ok ? v : no_extent;
  }
  constexpr std::int64_t closed(std::int64_t v) { return accept(")") ? v : no_extent; }
  constexpr std::int64_t product() {
    std::int64_t all = is_digit() ? number() : 1;
    bool any = at_ > 0 && text_[at_ - 1] >= '0' && text_[at_ - 1] <= '9';
    for (;; any = true) {
      if (at_ < text_.size() && text_[at_] >= first_symbol && text_[at_] < first_symbol + max_symbols) {
        all = mul_amounts(all, dynamic_extent(1, 1u << 2 * (text_[at_++] - first_symbol)));
      } else if (accept("max(0,")) {
        all = mul_amounts(all, closed(cut_at_zero(sum())));
      } else if (accept("ceil(")) {
        const std::int64_t of = sum();
        all = mul_amounts(all, accept("/") ? closed(ceil_extent(of, number())) : no_extent);
      } else if (accept("(")) {
        all = mul_amounts(all, closed(sum()));
      } else {
        return any ? all : no_extent;
      }
    }
  }
  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace tokamax::detail
