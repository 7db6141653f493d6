// tests/transforms/arguments.fail.cpp: arguments that transforms refuse while compiling.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/lax.hpp>
#include <tokamax/transforms.hpp>

#include "support/wrong_program.hpp"

using namespace wrong;
using tk::array;

constexpr auto twice = [](const array& x) { return x * 2.0f; };
constexpr auto add = [](const array& a, const array& b) { return a + b; };
constexpr auto total = [](const array& x) { return tk::sum(tk::astype(x, tk::f32)); };
constexpr auto step = [](const array& c, const tk::nothing&) { return std::pair{c * 2.0f, c}; };

int main() {
  // expects: "vmap: in_axes".*"\[0\]".*"one entry for each of 2 arguments"
  trace<matrix>([](array x) { return tk::vmap(add, {pick(tk::axes{0}, {0, 0})})(x, x); });
  // expects: "vmap: in_axes".*"no argument that is mapped"
  trace<vector>([](array x) { return tk::vmap(twice, {{pick(tk::not_mapped, std::int64_t{0})}})(x); });
  // expects: "vmap: in_axes".*"2".*"an axis of f32\[2,3\]"
  trace<matrix>([](array x) { return tk::vmap(twice, {{pick(2, 1)}})(x); });
  // expects: "vmap: out_axis".*"2".*"an axis of f32\[2,3\]"
  trace<matrix>([](array x) { return tk::vmap(twice, {.out_axis = pick(2, 1)})(x); });
  // expects: "scan: length".*"-1".*"0 or more, or something to scan"
  trace<scalar>([](array x) { return tk::scan(step, x, tk::nothing{}, {.length = pick(-1, 3)}).first; });
  // expects: "scan: length".*"-3".*"0 or more, or something to scan"
  trace<scalar>([](array x) { return tk::scan(step, x, tk::nothing{}, {.length = pick(-3, 3)}).first; });
  // expects: "grad: argument".*"i32\[3\]".*"at least one floating leaf"
  trace<ids, vector>([](array i, array x) { return tk::grad(total)(pick(0, 1) ? x : i); });
  // expects: "jvp: tangent".*"f32\[3\]".*"the type of its leaf, f32\[2,3\]"
  trace<matrix, vector>([](array x, array v) { return tk::jvp(twice, x, pick(0, 1) ? x : v).second; });
  // expects: "vjp: cotangents".*"f32\[3\]".*"the type of its leaf, f32\[2,3\]"
  trace<matrix, vector>([](array x, array v) { return tk::vjp(twice, x).second(pick(0, 1) ? x : v); });
}
