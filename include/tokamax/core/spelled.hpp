// tokamax/core/spelled.hpp: a value type that records what an element function does, so that loops can be printed.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/compiler/text/loop_text.cpp
#pragma once

#include <tokamax/base/compiled_once.hpp>  // TOKAMAX_COMPILED_ONCE
#include <tokamax/base/vec.hpp>            // vec

#include <initializer_list>  // operands
#include <string_view>       // names of functions
#include <type_traits>       // is_arithmetic_v

namespace tokamax {

/// One operator, function or constant of an element function. Operands are indices of earlier lines.
struct spelled_line {
  std::string_view function;  ///< empty: a constant, or a parameter
  double constant = 0;
  int operands[3] = {-1, -1, -1};
};

/// A value that records operations: `F::apply(a, b)` on two of them records the lines of F. An element function that
/// works lane by lane has an overload for it, which gives the function a name: `spelled::call("rem", {a, b})`.
class spelled {
 public:
  template <class T>
    requires std::is_arithmetic_v<T>
  explicit spelled(T v) : line_(add({{}, static_cast<double>(v), {-1, -1, -1}})) {}
  static spelled call(std::string_view function, std::initializer_list<spelled> operands) {
    spelled_line l{function, 0, {-1, -1, -1}};
    int k = 0;
    for (const spelled& x : operands) l.operands[k++] = x.line_;
    return spelled(at{add(l)});
  }
  /// The lines of `function`, which is the `spell` of an op, for this number of parameters. The first lines are the
  /// parameters, and the operand of the last line is the result.
  static vec<spelled_line> write(spelled (*function)(const spelled*), int parameters);

  friend spelled operator+(spelled a, spelled b) { return call("+", {a, b}); }
  friend spelled operator-(spelled a, spelled b) { return call("-", {a, b}); }
  friend spelled operator*(spelled a, spelled b) { return call("*", {a, b}); }
  friend spelled operator/(spelled a, spelled b) { return call("/", {a, b}); }
  friend spelled operator&(spelled a, spelled b) { return call("&", {a, b}); }
  friend spelled operator|(spelled a, spelled b) { return call("|", {a, b}); }
  friend spelled operator^(spelled a, spelled b) { return call("^", {a, b}); }
  friend spelled operator<<(spelled a, spelled b) { return call("<<", {a, b}); }
  friend spelled operator>>(spelled a, spelled b) { return call(">>", {a, b}); }
  friend spelled operator==(spelled a, spelled b) { return call("==", {a, b}); }
  friend spelled operator!=(spelled a, spelled b) { return call("!=", {a, b}); }
  friend spelled operator<(spelled a, spelled b) { return call("<", {a, b}); }
  friend spelled operator<=(spelled a, spelled b) { return call("<=", {a, b}); }
  friend spelled operator>(spelled a, spelled b) { return call(">", {a, b}); }
  friend spelled operator>=(spelled a, spelled b) { return call(">=", {a, b}); }
  friend spelled operator-(spelled a) { return call("-", {a}); }
  friend spelled operator!(spelled a) { return call("!", {a}); }
  friend spelled operator~(spelled a) { return call("~", {a}); }
  friend spelled select(spelled c, spelled a, spelled b) { return call("select", {c, a, b}); }
  friend spelled fma(spelled a, spelled b, spelled c) { return call("fma", {a, b, c}); }
  friend spelled pow(spelled a, spelled b) { return call("pow", {a, b}); }
  friend spelled abs(spelled x) { return call("abs", {x}); }
  friend spelled ceil(spelled x) { return call("ceil", {x}); }
  friend spelled cos(spelled x) { return call("cos", {x}); }
  friend spelled erf(spelled x) { return call("erf", {x}); }
  friend spelled erfc(spelled x) { return call("erfc", {x}); }
  friend spelled exp(spelled x) { return call("exp", {x}); }
  friend spelled expm1(spelled x) { return call("expm1", {x}); }
  friend spelled floor(spelled x) { return call("floor", {x}); }
  friend spelled log(spelled x) { return call("log", {x}); }
  friend spelled log1p(spelled x) { return call("log1p", {x}); }
  friend spelled nearbyint(spelled x) { return call("nearbyint", {x}); }
  friend spelled sin(spelled x) { return call("sin", {x}); }
  friend spelled sqrt(spelled x) { return call("sqrt", {x}); }
  friend spelled tanh(spelled x) { return call("tanh", {x}); }

 private:
  struct at {
    int line;
  };
  explicit spelled(at l) : line_(l.line) {}
  static int add(const spelled_line& l);
  int line_;
};

#if defined(TOKAMAX_COMPILED_ONCE)
namespace detail {
inline thread_local vec<spelled_line> spelled_so_far;
}
TOKAMAX_COMPILED_ONCE int spelled::add(const spelled_line& l) {
  detail::spelled_so_far.push_back(l);
  return detail::spelled_so_far.count() - 1;
}
TOKAMAX_COMPILED_ONCE vec<spelled_line> spelled::write(spelled (*function)(const spelled*), int parameters) {
  vec<spelled_line>& lines = detail::spelled_so_far;
  lines.clear();
  const spelled given[3] = {spelled(0), spelled(0), spelled(0)};
  lines.resize(static_cast<std::size_t>(parameters));
  const int result = function(given).line_;
  lines.push_back({{}, 0, {result, -1, -1}});
  return std::move(lines);
}
#endif

}  // namespace tokamax
