// tests/lax/fourier/transform.cpp: the ops of Fourier transforms have the values of the products that are their meaning.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/lax/fourier/fft.hpp>
#include <tokamax/lax/fourier/transform.hpp>

#include "support/adversarial.hpp"
#include "support/check_op.hpp"

using namespace tokamax;
using namespace tokamax::test;

TEST_CASE("the ops of transforms keep their contract") {
  for (const std::int64_t n : {1, 5, 12}) {
    check_op(fft_p, {{{noise({2, n}, 1), noise({2, n}, 2)}}}, {.order = 1});
    check_op(rfft_p, {{{noise({2, n}, 1)}}}, {.order = 1});
  }
  for (const std::int64_t n : {128, 134}) {  // a row by itself, and a convolution
    check_op(fft_p, {{{noise({3, n}, 1), noise({3, n}, 2)}}}, {.differentiate = false});
    check_op(rfft_p, {{{noise({3, n}, 1)}}}, {.differentiate = false});
  }
}

TEST_CASE("transforms are the meaning of their ops for any number of rows, layout and threads") {
  const function f = [](const arrays& x) -> arrays {
    const complex_parts y = fft({x[0], x[1]}), back = ifft({x[0], x[1]});
    return {y.re, y.im, back.re, back.im};
  };
  const function real = [](const arrays& x) -> arrays {
    const complex_parts y = rfft(x[0]);
    return {y.re, y.im};
  };
  const adversarial_options near{.tolerance = 1e-5, .floor = 40};
  for (const dtype t : {f32, f64})
    for (const shape& s :
         {shape{0, 12}, shape{1, 1}, shape{1, 2}, shape{7, 3}, shape{8, 20}, shape{9, 49}, shape{3, 61}, shape{2, 67},
          shape{17, 64}, shape{5, 128}, shape{2, 3, 192}, shape{40, 256}, shape{3, 2048}}) {
      CAPTURE(name(t), s);
      check_adversarial(f, {noise(s, 1, t), noise(s, 2, t)}, near);
      check_adversarial(real, {noise(s, 3, t)}, near);
    }
  check_adversarial(f, {zeros({3, 0}), zeros({3, 0})}, near);
}
