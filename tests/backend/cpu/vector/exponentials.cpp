// tests/backend/cpu/vector/exponentials.cpp: exponentials of blocks against double loops, with AVX2 and AVX-512.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu/vector/exponentials.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

#include "support/catch.hpp"

namespace cpu_backend = tokamax::cpu_backend;
using floats = std::vector<float>;

TEST_CASE("exponentials: sums, maxima and powers against double loops, the same bits for every instruction set") {
  for (std::size_t n = 0; n < 70; n = n < 40 ? n + 1 : n + 29) {
    floats x(n);  // exact size: a sanitizer sees a read behind the end
    for (std::size_t j = 0; j < n; ++j) x[j] = static_cast<float>(j * 37 % 101) * 0.4f - 20.0f;
    for (const float shift : {-20.0f, 0.0f, 3.0f, 90.0f}) {
      double sum = 0, most = static_cast<double>(shift);
      for (const float v : x) {
        sum += std::exp(static_cast<double>(v - shift));  // whose difference is rounded
        most = std::max(most, static_cast<double>(v));
      }
      floats kept(n + 1, 9.0f), portable(n + 1, 9.0f);
      CAPTURE(n, shift);
      const auto got =
          cpu_backend::exponentials_of_block<true>()(x.data(), static_cast<std::int64_t>(n), shift, kept.data());
      CHECK(static_cast<double>(got.sum) == Approx(sum).epsilon(1e-6).margin(1e-37));
      CHECK(static_cast<double>(got.most) == most);
      for (std::size_t j = 0; j < n; ++j)
        CHECK(kept[j] == Approx(std::exp(static_cast<double>(x[j] - shift))).epsilon(6e-7).margin(1e-37));
      CHECK(kept[n] == 9.0f);
      const auto sum_alone =
          cpu_backend::exponentials_of_block<false>()(x.data(), static_cast<std::int64_t>(n), shift, nullptr);
      CHECK(sum_alone.sum == got.sum);
      const auto again =
          cpu_backend::detail::exponentials<true>(x.data(), static_cast<std::int64_t>(n), shift, portable.data());
      CHECK(again.sum == got.sum);
      CHECK(again.most == got.most);
      CHECK(portable == kept);
    }
  }
}

TEST_CASE("exponentials: NaN passes into the sum, -infinity adds nothing") {
  for (const std::size_t at : {0u, 15u, 16u, 32u}) {
    floats x(33, -INFINITY), e(33);
    auto got = cpu_backend::exponentials_of_block<true>()(x.data(), 33, -1.0f, e.data());
    CHECK(got.sum == 0.0f);
    CHECK(got.most == -1.0f);
    CHECK(e == floats(33, 0.0f));
    x[at] = NAN;
    got = cpu_backend::exponentials_of_block<true>()(x.data(), 33, -1.0f, e.data());
    CHECK(std::isnan(got.sum));
    CHECK(got.most == -1.0f);
    CHECK(std::isnan(e[at]));
    x[at] = INFINITY;
    CHECK(cpu_backend::exponentials_of_block<true>()(x.data(), 33, -1.0f, e.data()).most == INFINITY);
  }
}
