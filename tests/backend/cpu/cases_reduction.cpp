// tests/backend/cpu/cases_reduction.cpp: reductions of every dtype, and loops.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/lax/reduce.hpp>
#include <tokamax/transforms/control_flow/cond.hpp>
#include <tokamax/transforms/control_flow/scan.hpp>
#include <tokamax/transforms/control_flow/while_loop.hpp>
#include <tokamax/transforms/custom/custom_jvp.hpp>
#include <tokamax/transforms/custom/custom_vjp.hpp>
#include <tokamax/transforms/remat.hpp>

#include "cases.hpp"

namespace tokamax::test {

namespace {
function along(const op& o, const axes& axis) {
  return [&o, axis](const arrays& x) -> arrays { return bind(o, {x[0]}, reduce_attributes{axis}, location{}); };
}

constexpr auto twice = [](const array& x) { return x + x; };
/// Ops that run functions: a branch, a loop that doubles, and functions with derivatives of their own.
void add_calls(std::vector<adversarial_case>& cases, dtype t, const array& x, const adversarial_options& options) {
  const auto branch = [](const arrays& v) -> arrays {
    return cond(v[1], twice, [](const array& y) { return maximum(y, 1); }, v[0]);
  };
  const auto doubled = [](const arrays& v) -> arrays {
    const auto [y, n] =
        while_loop([](const auto& c) { return c.second < 3; },
                   [](const auto& c) { return std::pair{twice(c.first), c.second + 1}; }, std::pair{v[0], v[1]});
    return {y, n};
  };
  const auto jvp_rule = [](const array& y, const array& dy) { return std::pair{twice(y), twice(dy)}; };
  const auto forward = [](const array& y) { return std::pair{twice(y), nothing{}}; };
  const auto backward = [](nothing, const array& ct) { return twice(ct); };
  const auto with_rules = [=](const arrays& v) -> arrays {
    return {custom_jvp(twice, jvp_rule)(v[0]), custom_vjp(twice, forward, backward)(v[0])};
  };
  adversarial_options scalars = options;
  scalars.views = false;
  for (const std::int32_t start : {0, 3}) {
    const array number = reshape(array::from<std::int32_t>({start}), {});
    cases.push_back({named("cond", t), branch, {x, number == 0}, scalars});
    cases.push_back({named("while_loop", t), doubled, {x, number}, scalars});
  }
  cases.push_back({named("custom_jvp, custom_vjp", t), with_rules, {x}, options});
}
}  // namespace

std::vector<adversarial_case> reduction_cases() {
  std::vector<adversarial_case> cases;
  for (const dtype t : every_dtype) {
    const adversarial_options sums{.tolerance = t == bf16 ? 8e-3 : t == f32 ? 3e-6 : 0, .floor = 1};
    for (const shape& s : {shape{83, 37}, {5, 1, 13}, {1009}, {0, 5}, {5, 0}, {3, 20011}, {521, 3}}) {
      const array x = adversarial(s, 3, t);
      std::vector<axes> lists{axes{0}};
      if (s.rank() > 1) lists.insert(lists.end(), {axes{1}, axes{0, 1}});
      for (const axes& axis : lists) {
        if (t != bool_) cases.push_back({named("reduce_sum", t), along(reduce_sum_p, axis), {x}, sums});
        cases.push_back({named("sum_in_32_bits", t), along(sum_in_32_bits_p, axis), {x}, sums});
        cases.push_back({named("reduce_max", t), along(reduce_max_p, axis), {x}});
        cases.push_back({named("reduce_min", t), along(reduce_min_p, axis), {x}});
        if (t != bool_) continue;
        cases.push_back({named("reduce_and", t), along(reduce_and_p, axis), {x}});
        cases.push_back({named("reduce_or", t), along(reduce_or_p, axis), {x}});
      }
      for (int axis = 0; axis < s.rank(); ++axis) {
        if (s[axis] != 0)
          cases.push_back({named("argmax", t),
                           [=](const arrays& v) -> arrays { return {argmax(v[0], axis), argmin(v[0], axis)}; },
                           {x}});
      }
    }
    if (t == bool_) continue;
    const auto scanned = [](const arrays& v) -> arrays {
      const auto [last, each] =
          scan([](const array& c, const array& x) { return std::pair{maximum(c, x), c + x}; }, v[0], v[1]);
      return {last, each};
    };
    const auto again = [](const arrays& v) -> arrays { return remat([](const array& x) { return x * x + x; })(v[0]); };
    const array x = is_floating(t) ? sprinkled({9, 37}, 3, t, 1e30) : adversarial({9, 37}, 3, t);
    cases.push_back({named("scan", t), scanned, {adversarial({37}, 3, t), x}, sums});
    cases.push_back({named("remat", t), again, {x}, sums});
    add_calls(cases, t, x, sums);
  }
  return cases;
}

}  // namespace tokamax::test
