// tokamax/core/print.hpp: arrays as text, in NumPy's format.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/core/array.hpp>  // array

#include <iosfwd>  // basic_ostream
#include <string>  // string

namespace tokamax {

/// The elements in nested brackets, as NumPy prints them. Columns are aligned and lines have 75 characters. Numbers have up
/// to 8 digits after the point, and no more than distinguish them from their neighbours. If there are more than 1000
/// elements, three are shown at each end of an axis. An array without data is shown by its type and kind:
/// `f32[2,3] (traced)`.
///
/// dtypes  any; narrower floats with the digits of their values in f32
/// source  numpy.array_str with NumPy's default options
std::string to_string(const array& x);

/// Writes an array and the end of the line to standard output.
void print(const array& x);

/// `std::cout << x`, in files that include <ostream> or <iostream>.
template <class Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const array& x) {
  return out << to_string(x);
}

}  // namespace tokamax

#if defined(TOKAMAX_COMPILED_ONCE)

  #include <algorithm>  // max
  #include <charconv>   // to_chars
  #include <cmath>      // isfinite
  #include <cstdio>     // puts
  #include <vector>     // vector

namespace tokamax {
namespace detail {

/// Prints one array. The width of elements depends on all elements that are shown.
class array_printer {
 public:
  explicit array_printer(const array& x) : x_(x), elided_(x.size() > 1000), strides_(row_major(x.shape())) {}

  std::string run() {
    if (x_.size() == 0) return "[]";
    if (x_.rank() == 0) return alone();
    collect(0, 0);
    measure();
    return brackets(0, 0, " ", 75);
  }

 private:
  using strings = std::vector<std::string>;
  static constexpr std::int64_t edge = 3;

  bool is_float() const { return is_floating(x_.dtype()); }
  bool is_elided(int axis) const { return elided_ && x_.extent(axis) > 2 * edge; }
  /// Calls f(i) for the entries of an axis that are shown; -1 stands for those that are left out.
  template <class F>
  void for_each_shown(int axis, const F& f) const {
    const std::int64_t n = x_.extent(axis);
    for (std::int64_t i = 0; i < n; ++i) {
      if (is_elided(axis) && i == edge) f(-1), i = n - edge;
      f(i);
    }
  }
  void collect(int axis, std::int64_t at) {
    if (axis == x_.rank()) return shown_.push_back(at);
    for_each_shown(axis, [&](std::int64_t i) {
      if (i >= 0) collect(axis + 1, at + i * strides_[axis]);
    });
  }

  double value(std::int64_t at) const { return as_double(bits(at), x_.dtype()); }
  element_bits bits(std::int64_t at) const {
    return dispatch(x_.dtype(), [&]<dtype T>() { return element_bits::of(x_.data<element_t<T>>()[at]); });
  }
  std::string whole(std::int64_t at) const {
    const std::uint64_t v = bits(at).value;
    return is_signed(x_.dtype()) ? std::to_string(static_cast<std::int64_t>(v)) : std::to_string(v);
  }
  /// The shortest digits that read back as v in f32 or f64, or `digits` of them after the point.
  template <class T>
  static std::string digits_in(T v, std::chars_format format, int digits) {
    char buffer[512];
    const auto end = digits < 0 ? std::to_chars(buffer, buffer + sizeof buffer, v, format)
                                : std::to_chars(buffer, buffer + sizeof buffer, v, format, digits);
    return {buffer, end.ptr};
  }
  std::string digits_of(double v, std::chars_format format, int digits = -1) const {
    return is_wide() ? digits_in(v, format, digits) : digits_in(static_cast<float>(v), format, digits);
  }
  bool is_wide() const { return bits_of(x_.dtype()) == 64; }
  double many() const { return is_wide() ? 1e8 : 1e6; }  // f32 has 6 digits, so longer numbers get an exponent
  struct number {
    std::string whole, fraction, exponent;
  };
  static number split(std::string s) {
    number n;
    if (const auto e = s.find('e'); e != std::string::npos) n.exponent = s.substr(e), s.resize(e);
    if (const auto point = s.find('.'); point != std::string::npos) n.fraction = s.substr(point + 1), s.resize(point);
    n.whole = s;
    while (!n.fraction.empty() && n.fraction.back() == '0') n.fraction.pop_back();
    return n;
  }
  number parts(double v) const {
    if (scientific_) return split(digits_of(v, std::chars_format::scientific));
    number n = split(digits_of(v, std::chars_format::fixed));
    return n.fraction.size() <= 8 ? n : split(digits_of(v, std::chars_format::fixed, 8));
  }
  static std::string special(double v) { return std::isnan(v) ? "nan" : v < 0 ? "-inf" : "inf"; }

  /// An array without axes, as a number.
  std::string alone() const {
    const double v = value(0);
    if (x_.dtype() == bool_) return v != 0 ? "True" : "False";
    if (!is_float()) return whole(0);
    if (!std::isfinite(v)) return special(v);
    const bool plain = v == 0 || (std::abs(v) < (is_wide() ? 1e16 : many()) && std::abs(v) >= 1e-4);
    std::string s = digits_of(v, plain ? std::chars_format::fixed : std::chars_format::scientific);
    if (plain && s.find('.') == std::string::npos) s += ".0";
    return s;
  }

  /// Finds the widths before and after the point, and whether numbers have exponents, from all elements that are shown.
  void measure() {
    if (!is_float()) {
      for (std::int64_t at : shown_) before_ = std::max(before_, integer(at).size());
      return;
    }
    double largest = 0, smallest = 0;
    bool special_any = false, negative_infinity = false;
    for (std::int64_t at : shown_) {
      const double v = value(at), a = std::abs(v);
      if (!std::isfinite(v)) special_any = true, negative_infinity = negative_infinity || v < 0;
      if (!std::isfinite(v) || v == 0) continue;
      largest = std::max(largest, a);
      smallest = smallest == 0 ? a : std::min(smallest, a);
    }
    scientific_ = smallest != 0 && (largest >= many() || smallest < 0.0001 || largest / smallest > 1000);
    for (std::int64_t at : shown_) {
      if (!std::isfinite(value(at))) continue;
      const number n = parts(value(at));
      before_ = std::max(before_, n.whole.size());
      after_ = std::max(after_, n.fraction.size());
      exponent_ = std::max(exponent_, n.exponent.size());
    }
    const std::size_t right = after_ + exponent_ + 1, wanted = negative_infinity ? 4 : 3;
    if (special_any && before_ + right < wanted) before_ = wanted - right;
  }
  std::string integer(std::int64_t at) const {
    if (x_.dtype() == bool_) return value(at) != 0 ? " True" : "False";
    return whole(at);
  }
  static std::string right_aligned(const std::string& s, std::size_t width) {
    return std::string(width > s.size() ? width - s.size() : 0, ' ') + s;
  }
  std::string element(std::int64_t at) const {
    if (!is_float()) return right_aligned(integer(at), before_);
    const double v = value(at);
    if (!std::isfinite(v)) return right_aligned(special(v), before_ + 1 + after_ + exponent_);
    if (scientific_) {
      std::string s = digits_of(v, std::chars_format::scientific, static_cast<int>(after_));
      if (after_ == 0) s.insert(s.find('e'), ".");
      return right_aligned(s, before_ + 1 + after_ + exponent_);
    }
    number n = parts(v);
    n.fraction.resize(after_, ' ');
    return right_aligned(n.whole, before_) + "." + n.fraction;
  }

  /// The entries along one axis in brackets. Lines after the first begin with `indent`.
  std::string brackets(int axis, std::int64_t at, const std::string& indent, std::size_t width) const {
    const bool last = axis == x_.rank() - 1;
    const std::string between = last ? " " : std::string(static_cast<std::size_t>(x_.rank() - 1 - axis), '\n');
    std::string done, line = indent;
    bool first = true;
    for_each_shown(axis, [&](std::int64_t i) {
      const std::int64_t place = at + i * strides_[axis];
      const std::string entry = i < 0  ? "..."
                                : last ? element(place)
                                       : brackets(axis + 1, place, indent + " ", width - 1);
      if (!first) line += between;
      if (!last && !first) line += indent;
      if (last && line.size() + entry.size() > width - 1 && line.size() > indent.size()) {
        while (line.back() == ' ') line.pop_back();
        done += line + "\n";
        line = indent;
      }
      line += entry;
      first = false;
    });
    return "[" + (done + line).substr(indent.size()) + "]";
  }

  const array& x_;
  const bool elided_;
  const shape strides_;
  std::vector<std::int64_t> shown_;
  std::size_t before_ = 0, after_ = 0, exponent_ = 0;
  bool scientific_ = false;
};

}  // namespace detail

TOKAMAX_COMPILED_ONCE std::string to_string(const array& x) {
  if (x.is_concrete()) return detail::array_printer(x).run();
  if (!x.exists()) return "array()";
  return std::string(message(x.type()).view()) + (x.is_traced()       ? " (traced)"
                                                  : x.is_moved_from() ? " (moved from)"
                                                                      : " (abstract)");
}

TOKAMAX_COMPILED_ONCE void print(const array& x) { std::puts(to_string(x).c_str()); }

}  // namespace tokamax
#endif
