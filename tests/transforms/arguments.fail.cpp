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
constexpr auto product = [](const array& a, const array& b) { return tk::sum(a * tk::astype(b, tk::f32)); };
constexpr auto step = [](const array& c, const tk::nothing&) { return std::pair{c * 2.0f, c}; };
constexpr auto negative = [](const array& x) { return tk::any(x < 0.0f); };
constexpr auto below_zero = [](const array& x) {
  if (pick(0, 1)) return negative(x);
  return x < 0.0f;
};
constexpr auto summed = [](const array& x) {
  if (pick(0, 1)) return x;
  return tk::sum(x);
};
constexpr auto number = [](const array& x) {
  if (pick(0, 1)) return tk::astype(tk::sum(x), tk::i32);
  return x;
};
constexpr auto spread = [](const array& s, const array& x) { return std::pair{s + pick(tk::expand_dims(x, 1), x), s}; };
constexpr auto narrow = [](const array& s, const array& x) {
  return std::pair{tk::astype(s + x, pick(tk::bf16, tk::f32)), s};
};
constexpr auto along = [](const array& s, const std::pair<array, array>& x) {
  return std::pair{s + x.first * x.second, s};
};
constexpr auto largest = [](const array& x) { return pick(tk::argmax(x), tk::max(x)); };

int main() {
  // expects: "vmap: in_axes".*"\[0\]".*"one entry for each of 2 arguments"
  trace<matrix>([](array x) { return tk::vmap(add, {pick(tk::axes{0}, {0, 0})})(x, x); });
  // expects: "vmap: in_axes".*"no argument that is mapped"
  trace<vector>([](array x) { return tk::vmap(twice, {{pick(tk::not_mapped, std::int64_t{0})}})(x); });
  // expects: "vmap: in_axes".*"2".*"an axis of f32\[2,3\]"
  trace<matrix>([](array x) { return tk::vmap(twice, {{pick(2, 1)}})(x); });
  // expects: "vmap: out_axes".*"2".*"an axis of f32\[2,3\]"
  trace<matrix>([](array x) { return tk::vmap(twice, {.out_axes = {pick(2, 1)}})(x); });
  // expects: "scan: length".*"-1".*"0 or more, or something to scan"
  trace<scalar>([](array x) { return tk::scan(step, x, tk::nothing{}, {.length = pick(-1, 3)}).first; });
  // expects: "scan: length".*"-3".*"0 or more, or something to scan"
  trace<scalar>([](array x) { return tk::scan(step, x, tk::nothing{}, {.length = pick(-3, 3)}).first; });
  // expects: "while_loop: carry".*"f32\[\]".*"f32\[3\]"
  trace<vector>([](array x) { return tk::while_loop(negative, summed, x); });
  // expects: "while_loop: predicate".*"bool\[3\]".*"a bool scalar"
  trace<vector>([](array x) { return tk::while_loop(below_zero, twice, x); });
  // expects: "while_loop: reverse mode"
  trace<vector>([](array x) {
    return tk::grad([](const array& v) { return tk::sum(pick(tk::while_loop(negative, twice, v), v)); })(x);
  });
  // expects: "cond: branches".*"f32\[3\]".*"f32\[\]"
  trace<vector>([](array x) { return tk::cond(negative(x), twice, summed, x); });
  // expects: "cond: predicate".*"bool\[3\]".*"a bool scalar"
  trace<vector>([](array x) { return tk::cond(below_zero(x), twice, twice, x); });
  // expects: "switch_: index".*"f32\[3\]".*"an integer scalar"
  trace<vector>([](array x) { return tk::switch_(number(x), std::tuple{twice, twice}, x); });
  // expects: "grad: argument".*"i32\[3\]".*"at least one floating leaf"
  trace<ids, vector>([](array i, array x) { return tk::grad(total)(pick(0, 1) ? x : i); });
  // expects: "jvp: tangent".*"f32\[3\]".*"the type of its leaf, f32\[2,3\]"
  trace<matrix, vector>([](array x, array v) { return tk::jvp(twice, x, pick(0, 1) ? x : v).second; });
  // expects: "vjp: cotangents".*"f32\[3\]".*"the type of its leaf, f32\[2,3\]"
  trace<matrix, vector>([](array x, array v) { return tk::vjp(twice, x).second(pick(0, 1) ? x : v); });
  // expects: "vmap: batch extent".*"f32\[4\]".*"a leading extent of 3"
  trace<vector>([](array v) { return tk::vmap(add)(v, tk::ones({pick(4, 3)})); });
  // expects: "scan: carry".*"f32\[3,3\]".*"f32\[3\]"
  trace<vector, square>([](array v, array x) { return tk::scan(spread, v, x).first; });
  // expects: "scan: carry".*"bf16\[3\]".*"f32\[3\]"
  trace<vector, square>([](array v, array x) { return tk::scan(narrow, v, x).first; });
  // expects: "scan: length".*"f32\[5\]".*"a leading extent of 3"
  trace<vector>(
      [](array v) { return tk::scan(along, array(0.0f), std::pair<array, array>(v, tk::ones({pick(5, 3)}))).first; });
  // expects: "grad: value of the function".*"i32\[\]".*"a floating scalar"
  trace<vector>([](array v) { return tk::grad(largest)(v); });
  // expects: "grad: value of the function".*"f32\[3\]".*"a floating scalar"
  trace<vector>([](array v) { return tk::grad(twice)(pick(v, tk::sum(v))); });  // here, not in twice
  // expects: "grad: argument".*"i32\[3\]".*"at least one floating leaf"
  trace<ids, vector>([](array i, array x) { return tk::grad<1>(product)(x, pick(0, 1) ? x : i); });
  // expects: "linearize: tangents".*"f32\[3\]".*"the type of its leaf, f32\[2,3\]"
  trace<matrix, vector>([](array x, array v) { return tk::linearize(twice, x).second(pick(0, 1) ? x : v); });
  // expects: "jacrev: value of the function".*"i32\[3\]".*"floats"
  trace<vector>(
      [](array x) { return tk::jacrev([](const array& a) { return tk::astype(a, pick(tk::i32, tk::f32)); })(x); });
  // expects: "custom_jvp: tangent of the rule".*"f32\[\]".*"f32\[3\]"
  trace<vector>([](array x) {
    return tk::custom_jvp(
        twice, [](const array& a, const array& d) { return std::pair{a * 2.0f, pick(0, 1) ? d : tk::sum(d)}; })(x);
  });
  // expects: "custom_vjp: cotangents of backward".*"f32\[\]".*"f32\[3\]"
  trace<vector>([](array x) {
    return tk::custom_vjp(
        twice, [](const array& a) { return std::pair{a * 2.0f, a}; },
        [](const array&, const array& ct) { return pick(0, 1) ? ct : tk::sum(ct); })(x);
  });
  // expects: "custom_vjp: derivative".*"jvp".*"vjp or grad
  trace<vector>([](array x) {
    const auto f = tk::custom_vjp(
        twice, [](const array& a) { return std::pair{a * 2.0f, a}; }, [](const array&, const array& ct) { return ct; });
    return tk::jvp([&](const array& a) { return pick(0, 1) ? twice(a) : f(a); }, x, x).second;
  });
  // expects: "custom_jvp: derivative".*"with respect to a value
  trace<vector>([](array x) {
    const auto scaled = [&](const array& w) {
      return tk::custom_jvp([&](const array& a) { return a * w; },
                            [&](const array& a, const array& d) { return std::pair{a * w, d * w}; })(x);
    };
    return tk::grad([&](const array& s) { return tk::sum(scaled(pick(0, 1) ? tk::stop_gradient(s) : s)); })(x);
  });
  // expects: "psum: axis name".*"rows".*"the axis_name of a vmap around it"
  trace<matrix>([](array x) {
    return tk::vmap([](const array& a) { return tk::psum(a, pick<std::string_view>("rows", "columns")); },
                    {.axis_name = "columns"})(x);
  });
  // expects: "vmap: axis_name".*"rows".*"a name that no vmap around it has"
  trace<matrix>([](array x) {
    return tk::vmap(
        [](const array& a) { return tk::vmap(twice, {.axis_name = pick<std::string_view>("rows", "columns")})(a); },
        {.axis_name = "rows"})(x);
  });
  // expects: "vmap: out_axes".*"f32\[2,3\]".*"for not_mapped, a result that
  trace<matrix>([](array x) { return tk::vmap(twice, {.out_axes = {pick(tk::not_mapped, std::int64_t{0})}})(x); });
}
