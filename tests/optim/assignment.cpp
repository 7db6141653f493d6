// tests/optim/assignment.cpp: assignments against all permutations.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/optim/assignment.hpp>

#include <tokamax/tokamax.hpp>

#include <algorithm>
#include <numeric>

#include "support/catch.hpp"
#include "support/contains.hpp"

namespace tk = tokamax;
using tk::array;

namespace {
double best_of_all(const array& costs) {
  const auto rows = static_cast<std::size_t>(costs.extent(0)), columns = static_cast<std::size_t>(costs.extent(1));
  std::vector<std::size_t> order(std::max(rows, columns));
  std::iota(order.begin(), order.end(), std::size_t{0});
  double best = 1e30;
  do {
    double total = 0;
    for (std::size_t i = 0; i < std::min(rows, columns); ++i) {
      const std::size_t r = rows <= columns ? i : order[i], c = rows <= columns ? order[i] : i;
      total += static_cast<double>(costs.values<float>()[r * columns + c]);
    }
    best = std::min(best, total);
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}
}  // namespace

TEST_CASE("assignments are the cheapest of all") {
  const auto run = tk::jit([](const array& c) { return tk::optim::hungarian_algorithm(c); }, tk::cpu);
  std::uint32_t seed = 0;
  for (const tk::shape& s : {tk::shape{1, 1}, tk::shape{2, 2}, tk::shape{4, 4}, tk::shape{6, 6}, tk::shape{2, 5},
                             tk::shape{5, 2}, tk::shape{7, 3}})
    for (int trial = 0; trial < 4; ++trial) {
      const array costs = tk::floor(tk::random::normal(tk::random::key(++seed), s) * 8.0);  // with ties
      const auto [i, j] = run(costs);
      CAPTURE(s[0]);
      CAPTURE(s[1]);
      double total = 0;
      std::vector<int> used_rows, used_columns;
      for (std::size_t n = 0; n < static_cast<std::size_t>(i.size()); ++n) {
        used_rows.push_back(i.values<std::int32_t>()[n]);
        used_columns.push_back(j.values<std::int32_t>()[n]);
        total +=
            static_cast<double>(costs.values<float>()[static_cast<std::size_t>(used_rows[n] * s[1] + used_columns[n])]);
      }
      for (auto* used : {&used_rows, &used_columns}) {
        std::sort(used->begin(), used->end());
        CHECK(std::adjacent_find(used->begin(), used->end()) == used->end());
      }
      CHECK(i.size() == std::min(s[0], s[1]));
      CHECK(total == best_of_all(costs));
    }
}

TEST_CASE("nothing is assigned to nothing") {
  CHECK(tk::optim::hungarian_algorithm(tk::zeros({0, 3})).first.size() == 0);
  CHECK(tk::optim::hungarian_algorithm(tk::zeros({3, 0})).second.size() == 0);
  CHECK_THROWS_WITH(tk::optim::hungarian_algorithm(tk::zeros({3})), contains("hungarian_algorithm: costs"));
}
