// expects: tokamax: scan: the body is to be f\(carry, x\) -> pair{carry, y}
// expects: tokamax: while_loop: the body is to be f\(carry\) -> carry
// expects: tokamax: while_loop: the predicate is to be f\(carry\) -> a bool scalar
// expects: tokamax: vmap: the function does not take one example of each of these arguments
// expects: tokamax: grad: the function does not take these arguments
// expects: tokamax: jit: the function does not take these arguments
// expects: tokamax: arrays have no &&: write a & b
// expects: tokamax: arrays have no \|\|: write a \| b
// expects: has_aux = false: leave it out
// expects: overloaded function|no overload of 'overloaded'
// expects: tokamax: a class with virtual functions is no part of a tree; a field std::variant<A, B>
// expects: (pad|conv_options)
// expects: tokamax: decltype\(tk::cpu\) is const, so it is no type of a device for jit_function; a member
// tests/transforms/signatures.fail.cpp: functions of another form than a transformation takes, and operators that arrays lack.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/tokamax.hpp>

#include <memory>

namespace tk = tokamax;
using tk::array;

struct layer {
  virtual ~layer() = default;
  virtual array forward(const array& x) const = 0;
};
struct model {
#ifdef TOKAMAX_FIXED
  array weight;
#else
  std::unique_ptr<layer> first;
#endif
};
inline array overloaded(const array& x) { return x; }
inline int overloaded(const int& x) { return x; }

#ifdef TOKAMAX_FIXED
constexpr auto step = [](const array& c, const array& x) { return std::pair{c + x, c}; };
constexpr auto next = [](const array& c) { return c * 2; };
constexpr auto asked = [](const array& c) { return c < 9; };
constexpr auto one = [](const array& x) { return x; };
constexpr auto reading = [](const array& x) { return x; };
#else
constexpr auto step = [](const array& c, const array& x) { return c + x; };
constexpr auto next = [](const array& c) { return std::pair{c, c}; };
constexpr auto asked = [](const array& c, int) { return c < 9; };
constexpr auto one = [](const array& x, const array&) { return x; };
constexpr auto reading = [](array& x) { return x; };
#endif
constexpr auto twice = [](const array& c) { return c * 2; };
constexpr auto both = [](const array& a) { return std::pair{a, a}; };

void wrong(array x) {
  tk::scan(step, x, x);
  tk::while_loop([](const array& c) { return c < 9; }, next, x);
  tk::while_loop(asked, twice, x);
  tk::vmap(one)(x);
  tk::grad(one)(x);
  tk::jit(reading, tk::cpu)(x);
  tk::jit([](const model&, const array& a) { return a; }, tk::cpu)(model{}, x);
#ifdef TOKAMAX_FIXED
  x = (x > 0) & (x < 1);
  x = (x > 0) | (x < 1);
  tk::grad(both, {.has_aux = true})(x);
  tk::grad([](const array& a) { return overloaded(a); })(x);
  tk::conv_general_dilated(x, x, {.low = {1, 1}, .high = {1, 1}});
#else
  x = x > 0 && x < 1;
  x = x > 0 || x < 1;
  tk::grad(both, {.has_aux = false})(x);
  tk::grad(overloaded)(x);
  tk::conv_general_dilated(x, x, {.pad = {1, 1}});
  tk::jit_function<decltype(twice), decltype(tk::cpu)> member(twice, tk::cpu);
#endif
}
