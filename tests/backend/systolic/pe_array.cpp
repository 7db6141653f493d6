// tests/backend/systolic/pe_array.cpp: what the cells of an array hold in each cycle.
#include <tokamax/backend/systolic/pe_array.hpp>

#include <vector>

#include "support/catch.hpp"

namespace sys = tokamax::systolic_backend;

TEST_CASE("activations, sums and weights move as a wavefront", "[systolic]") {
  const sys::array_shape shape{4, 3};
  const sys::product_shape p{5, 8, 3};  // two tiles of weights
  std::vector<double> a(40), b(24);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<double>(i) + 1;
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = 100 + static_cast<double>(i);
  const long long spacing = 5;
  long long wrong = 0, actives = 0, weights = 0;
  const auto run = sys::pe_array<double>(shape).run(a.data(), b.data(), p, [&](long long t, const auto& array) {
    for (long long r = 0; r < 4; ++r)
      for (long long c = 0; c < 3; ++c) {
        const auto& cell = array.at(r, c);
        const long long since = t - 4 - r - c, tile = since < 0 ? -1 : since / spacing;
        const long long m = since - tile * spacing;
        const bool active = tile >= 0 && tile < 2 && m < 5;
        if (cell.active != active) ++wrong;
        if (cell.shifts) ++weights;
        if (!active) continue;
        ++actives;
        double sum = 0;
        for (long long k = 0; k <= r; ++k)
          sum +=
              a[static_cast<std::size_t>(m * 8 + tile * 4 + k)] * b[static_cast<std::size_t>((tile * 4 + k) * 3 + c)];
        if (cell.row != m || cell.tile != tile || cell.first != (m == 0)) ++wrong;
        if (cell.activation != a[static_cast<std::size_t>(m * 8 + tile * 4 + r)]) ++wrong;
        if (cell.weight != b[static_cast<std::size_t>((tile * 4 + r) * 3 + c)] || cell.sum != sum) ++wrong;
      }
  });
  CHECK(wrong == 0);
  CHECK(actives == 2 * 5 * 12);
  CHECK(weights == 2 * 3 * (4 + 3 + 2 + 1));  // row r takes the weights that pass it, and its own
  CHECK(run.a_reads == 40);
  CHECK(run.out_writes == 2 * 5 * 3);  // each tile of K gives partial sums
}
