// tests/support/control_flow_cases.hpp: programs whose control flow depends on values, for devices that decide about it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/tokamax.hpp>

#include <functional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace tokamax::test {

/// A program of a count n, an i32 scalar, and x, f32.
struct control_flow_case {
  std::string name;
  std::function<array(const array&, const array&)> function;
  array n, x;
  int turns = 0;  ///< how many bodies run, those of inner loops too
};

using counted = std::pair<array, array>;

/// body(i, x) for i = 0 to n - 1.
template <class Body>
array count_to(const array& n, const array& x, const Body& body) {
  return while_loop([&](const counted& c) { return c.first < n; },
                    [&](const counted& c) { return counted{c.first + 1, body(c.first, c.second)}; },
                    counted{array(0), x})
      .second;
}
inline const auto halve = [](const array&, const array& x) { return 0.5f * x + 1.0f; };

inline std::vector<control_flow_case> control_flow_cases() {
  const auto count = [](int n) { return full({}, n, i32) + array(0); };
  const array x = sin(astype(arange(40), f32));
  std::vector<control_flow_case> all;
  const auto add = [&](std::string name, std::function<array(const array&, const array&)> f, int n, int turns,
                       const array& at) { all.push_back({std::move(name), std::move(f), count(n), at, turns}); };
  const auto simple = [](const array& n, const array& v) { return count_to(n, v, halve); };
  add("seven turns", simple, 7, 7, x);
  add(
      "a loop between steps",
      [=](const array& n, const array& v) { return tanh(cumsum(simple(n, sort(v, 0)), 0)) + simple(n, v); }, 5, 10, x);
  add("no turn", simple, 0, 0, x);
  add("one turn", simple, 1, 1, x);
  add("a thousand turns", simple, 1000, 1000, x);
  add(
      "a predicate that never holds",
      [](const array&, const array& v) {
        return while_loop([](const array& w) { return sum(w * w) < -1.0f; }, [](const array& w) { return w * 2.0f; },
                          v);
      },
      0, 0, x);
  add(
      "a carry that is not changed in place",
      [](const array& n, const array& v) {
        return count_to(n, v, [](const array&, const array& w) { return 0.5f * cumsum(sort(w, 0), 0) - w; });
      },
      6, 6, x);
  add(
      "carries that change places",
      [](const array& n, const array& v) {
        using state = std::tuple<array, array, array>;
        const auto last = while_loop([&](const state& s) { return std::get<0>(s) < n; },
                                     [](const state& s) {
                                       const auto& [i, a, b] = s;
                                       return state{i + 1, b, 0.5f * (a + b)};
                                     },
                                     state{array(0), v, v * v});
        return std::get<1>(last) - std::get<2>(last);
      },
      5, 5, x);
  add(
      "a loop in a loop",
      [](const array& n, const array& v) {
        return count_to(n, v, [](const array& i, const array& w) { return count_to(i, w, halve) + 1.0f; });
      },
      4, 4 + 6, x);
  add(
      "loops in a loop in a loop",
      [](const array& n, const array& v) {
        return count_to(n, v, [&](const array& i, const array& w) {
          return count_to(i, w, [&](const array& j, const array& u) { return count_to(j + 1, u, halve); });
        });
      },
      3, 3 + 3 + 4, x);
  const auto even_or_odd = [](const array& i, const array& v) {
    return cond(
        equal(rem(i, array(2)), 0), [](const array& w) { return w + 1.0f; },
        [](const array& w) { return 0.5f * cumsum(w, 0); }, v);
  };
  add("a choice", even_or_odd, 3, 1, x);
  add("a choice in a loop", [=](const array& n, const array& v) { return count_to(n, v, even_or_odd); }, 5, 10, x);
  add(
      "a loop in a choice",
      [=](const array& n, const array& v) {
        return cond(sum(v) > 1e9f, [](const array& w) { return w; }, [&](const array& w) { return simple(n, w); }, v);
      },
      4, 5, x);
  for (int number : {-1, 0, 1, 2, 3})
    add(
        "a choice among three: " + std::to_string(number),
        [](const array& n, const array& v) {
          const auto same = [](const array& w) { return w; };
          const auto negative = [](const array& w) { return -w; };
          const auto sorted = [](const array& w) { return sort(w, 0); };
          return 2.0f * switch_(n, std::tuple{same, negative, sorted}, v + 1.0f);
        },
        number, 1, x);
  add(
      "a loop in a scan",
      [=](const array& n, const array& v) {
        return scan([&](const array& c, const array& row) { return std::pair{simple(n, c) + row, c}; }, v[0], v).first;
      },
      3, 4 * 3, reshape(x, {4, 10}));
  add(
      "a scan in a loop",
      [](const array& n, const array& v) {
        return count_to(n, v, [](const array&, const array& w) {
          return scan([](const array& c, const array& row) { return std::pair{c + row, 0.5f * c}; }, w[0], w).second;
        });
      },
      3, 3, reshape(x, {4, 10}));
  add(
      "fori_loop with bounds that are values",
      [](const array& n, const array& v) {
        return fori_loop(n - 2, n, [](const array& i, const array& w) { return w * astype(i, f32); }, v);
      },
      5, 2, x);
  add(
      "examples that end at different turns",
      [](const array&, const array& v) {
        return vmap([](const array& e) {
          return while_loop([](const array& w) { return w < 10.0f; }, [](const array& w) { return w * 2.0f + 1.0f; },
                            e);
        })(v * v);
      },
      0, 4, x);
  add(
      "values of the outside",
      [](const array& n, const array& v) {
        const array outside = cumsum(v, 0);
        return count_to(n, v, [&](const array&, const array& w) { return w + outside; });
      },
      3, 3, x);
  add(
      "products",
      [](const array& n, const array& v) {
        return count_to(n, v, [](const array&, const array& w) { return tanh(matmul(w, w)); });
      },
      3, 3, reshape(sin(astype(arange(36), f32)), {6, 6}));
  add("no elements", simple, 3, 3, astype(arange(0), f32));
  return all;
}

}  // namespace tokamax::test
