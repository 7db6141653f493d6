// tests/backend/cpu/kernels/conv.cpp: blocks, groups and channels apart, the same bits on any number of threads.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu/kernels/conv.hpp>

#include "support/threads.hpp"

using namespace tokamax;
using namespace tokamax::test;

namespace {
/// The same sums, one product of slices a place of the window.
array by_slices(const array& x, const array& w) {
  array y;
  for (int a = 0; a < 3; ++a)
    for (int b = 0; b < 3; ++b) {
      const array part = slice(x, {0, a, b, 0}, {x.extent(0), x.extent(1) - 2 + a, x.extent(2) - 2 + b, x.extent(3)});
      const array tap =
          reshape(slice(w, {a, b, 0, 0}, {a + 1, b + 1, w.extent(2), w.extent(3)}), {w.extent(2), w.extent(3)});
      const array product = dot_general(part, tap, {{3}, {0}, {}, {}});
      if (y.exists())
        y = y + product;
      else
        y = product;
    }
  return y;
}
std::string bits_on_threads(const function& f, const std::vector<array>& inputs) {
  simd::set_num_threads(1);
  const auto one = listed(f(listed(inputs)));
  simd::set_num_threads(3);
  const auto three = listed(f(listed(inputs)));
  simd::set_num_threads(0);
  return bit_difference(three, one);
}
}  // namespace

TEST_CASE("large convolutions are the sum of products of slices") {
  const array x = noise({3, 30, 31, 5}, 1), w = noise({3, 3, 5, 7}, 2);
  const function f = [](const arrays& a) -> arrays { return conv2d(a[0], a[1], {.padding = padding::valid}); };
  CHECK(difference(to_values(f({x, w})), to_values(arrays{by_slices(x, w)}), 1e-6) == "");
  CHECK(bits_on_threads(f, {x, w}) == "");
}

TEST_CASE("deep convolutions add up over parts of the window") {
  const array x = noise({1, 6, 6, 1500}, 1), w = noise({3, 3, 1500, 4}, 2);
  const function f = [](const arrays& a) -> arrays { return conv2d(a[0], a[1], {.padding = padding::valid}); };
  CHECK(difference(to_values(f({x, w})), to_values(arrays{by_slices(x, w)}), 2e-6) == "");
  CHECK(bits_on_threads(f, {x, w}) == "");
}

TEST_CASE("bf16 images accumulate in f32") {
  const array x = noise({2, 9, 9, 4}, 1, bf16), w = noise({3, 3, 4, 8}, 2, bf16);
  const array y = conv2d(x, w, {.padding = padding::valid});
  CHECK(y.dtype() == bf16);
  const array exact = conv2d(astype(x, f32), astype(w, f32), {.padding = padding::valid});
  CHECK(bit_difference({y}, {astype(exact, bf16)}) == "");
}

TEST_CASE("channels apart") {
  const array x = noise({2, 9, 9, 12}, 1), w = noise({3, 3, 1, 12}, 2);
  const function f = [](const arrays& a) -> arrays { return conv2d(a[0], a[1], {.groups = 12}); };
  const array y = f({x, w})[0], one = conv2d(slice_in_dim(x, 5, 6, 3), slice_in_dim(w, 5, 6, 3));
  CHECK(difference(to_values(arrays{slice_in_dim(y, 5, 6, 3)}), to_values(arrays{one}), 1e-6) == "");
  CHECK(bits_on_threads(f, {x, w}) == "");
}
