// tests/backend/cpu/kernels/conv.cpp: convolutions and their gradients of all shapes, the same bits on any number of threads.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu/conv/window_gradient.hpp>
#include <tokamax/backend/cpu/kernels/conv.hpp>

#include "support/threads.hpp"

using namespace tokamax;
using namespace tokamax::test;

namespace {

/// A convolution of each of d axes in the same way.
conv_options along(int d, std::int64_t stride = 1, std::int64_t low = 0, std::int64_t high = 0, std::int64_t spread = 1,
                   std::int64_t dilation = 1) {
  conv_options o;
  for (int i = 0; i < d; ++i) {
    o.strides.push_back(stride);
    o.low.push_back(low);
    o.high.push_back(high);
    o.lhs_dilation.push_back(spread);
    o.rhs_dilation.push_back(dilation);
  }
  return o;
}

/// The result and both gradients are the reference's, on any number of threads.
void check(const conv_options& o, const shape& image, const shape& window, dtype t = f32) {
  const function f = [o](const arrays& a) -> arrays { return conv_general_dilated(a[0], a[1], o); };
  const array x = noise(image, 1, t), w = noise(window, 2, t);
  INFO(message(x.type()).view() << message(w.type()).view());
  check_threads(f, {x, w}, 1e-6);
  const array ct = noise(f({x, w})[0].shape(), 3, t);
  check_threads(vjp_of(f, 2), {x, w, ct}, 1e-6);
}

/// A window of 3 x 3 with padding of one, in groups.
conv_options grouped(int feature_groups, int batch_groups = 1) {
  conv_options o = along(2, 1, 1, 1);
  o.feature_groups = feature_groups;
  o.batch_groups = batch_groups;
  return o;
}

}  // namespace

TEST_CASE("images with many places a row") {
  check(along(2), {3, 12, 13, 5}, {3, 3, 5, 7});
  check(along(2, 1, 1, 1), {5, 7, 17, 1}, {3, 3, 1, 33});
  check(along(2, 1, 1, 2), {2, 6, 5, 16}, {2, 3, 16, 50});
  check(along(2), {2, 3, 29, 4}, {1, 1, 4, 16});
}

TEST_CASE("images with few places a row, and with one") {
  check(along(2), {7, 9, 5, 4}, {3, 3, 4, 6});
  check(along(2), {19, 3, 3, 4}, {3, 3, 4, 6});
}

TEST_CASE("sums that are longer than a block") {
  check(along(2, 1, 1, 1), {1, 4, 5, 67}, {3, 3, 67, 3});    // a few rows of the window at a time
  check(along(2, 1, 1, 1), {1, 2, 5, 260}, {3, 3, 260, 3});  // a few places
  check(along(2, 1, 1, 1), {1, 2, 5, 541}, {2, 2, 541, 3});  // parts of one
  check(along(2, 1, 1, 1), {1, 2, 3, 1030}, {3, 3, 1030, 2});
}

TEST_CASE("gradients of windows that are cut into slices of channels") {
  check(along(2, 1, 1, 1), {2, 3, 4, 37}, {3, 3, 37, 211});
}

TEST_CASE("strides, dilation and padding") {
  for (const shape& image : {shape{2, 11, 13, 3}, shape{2, 7, 6, 3}}) {
    check(along(2, 2, 1, 0), image, {3, 3, 3, 5});
    check(along(2, 1, 2, 2, 1, 2), image, {3, 3, 3, 5});
    check(along(2, 1, 2, 3, 2), image, {3, 2, 3, 5});
    check(along(2, 2, 3, 1, 3, 2), image, {2, 3, 3, 5});
    check(along(2, 1, -1, -1), image, {2, 2, 3, 5});
    check(along(2, 3, -1, 4), image, {3, 3, 3, 5});
  }
}

TEST_CASE("one and three axes of space") {
  check(along(1, 1, 1, 1), {3, 19, 6}, {3, 6, 5});
  check(along(1, 2), {3, 19, 6}, {4, 6, 5});
  check(along(3, 1, 1, 1), {2, 4, 5, 6, 3}, {3, 2, 3, 3, 4});
  check(along(3, 2, 0, 1), {2, 5, 5, 9, 3}, {2, 3, 2, 3, 4});
}

TEST_CASE("groups of channels") {
  check(grouped(3), {2, 5, 7, 6}, {3, 3, 2, 9});
  check(grouped(2), {2, 6, 2, 10}, {3, 3, 5, 4});
  check(grouped(12), {2, 9, 9, 12}, {3, 3, 1, 12});
  check(grouped(5), {17, 4, 6, 5}, {3, 3, 1, 15});
}

TEST_CASE("groups of the batch") {
  check(grouped(1, 2), {4, 5, 7, 3}, {3, 3, 3, 6});
  check(grouped(1, 3), {6, 5, 2, 3}, {3, 3, 3, 6});
}

TEST_CASE("bf16 images accumulate in f32") {
  check(along(2, 1, 1, 1), {2, 9, 9, 4}, {3, 3, 4, 8}, bf16);
  const array x = noise({2, 9, 9, 4}, 1, bf16), w = noise({3, 3, 4, 8}, 2, bf16);
  const array y = conv2d(x, w, {.padding = padding::valid});
  CHECK(y.dtype() == bf16);
  const array exact = conv2d(astype(x, f32), astype(w, f32), {.padding = padding::valid});
  CHECK(bit_difference({y}, {astype(exact, bf16)}) == "");
}

TEST_CASE("nothing to sum, and nothing to write") {
  check(along(2), {2, 4, 5, 0}, {3, 3, 0, 4});
  check(along(2), {0, 4, 5, 2}, {3, 3, 2, 4});
  check(along(2), {2, 2, 5, 2}, {3, 3, 2, 4});
}
