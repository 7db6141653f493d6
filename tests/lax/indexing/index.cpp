// tests/lax/indexing/index.cpp: parts of arrays by brackets.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/core/print.hpp>
#include <tokamax/core/tensor.hpp>
#include <tokamax/lax/indexing/index.hpp>
#include <tokamax/numpy/arange.hpp>
#include <tokamax/runtime/jit.hpp>
#include <tokamax/transforms/grad.hpp>

#include "support/contains.hpp"

using namespace tokamax;

TEST_CASE("brackets take parts of arrays") {
  const array x = reshape(arange(24), {2, 3, 4});
  CHECK(to_string(x[1][2][3]) == "23");
  CHECK(to_string(x[-1][0]) == "[12 13 14 15]");
  CHECK(to_string(x[{0, 1}]) == "[4 5 6 7]");
  CHECK(to_string(x[{0, whole, 2}]) == "[ 2  6 10]");
  CHECK(to_string(x[{whole, -1, range{1, 3}}]) == "[[ 9 10]\n [21 22]]");
  CHECK(to_string(x[{0, range{1}, range{0, range::end, 2}}]) == "[[ 4  6]\n [ 8 10]]");
  CHECK(to_string(x[range{-1}][0][0]) == "[12 13 14 15]");
  CHECK(x[range{}].shape() == x.shape());
  CHECK(x[range{1, 100}].shape() == shape{1, 3, 4});
  CHECK(x[range{-100, 1}].shape() == shape{1, 3, 4});
  CHECK(x[range{2, 1}].shape() == shape{0, 3, 4});
  CHECK(x[range{7, 9}].shape() == shape{0, 3, 4});
  CHECK(to_string(array(0.5, {f32, false, {3}})[1]) == "0.5");
}

TEST_CASE("positions that are not there are refused") {
  const array x = arange(3);
  CHECK_THROWS_WITH(x[3],
                    contains("index: position: found 3, expected one of axis 0 of i32[3]") && contains("index.cpp"));
  CHECK_THROWS_WITH(x[-4], contains("index: position: found -4"));
  CHECK_THROWS_WITH((x[{0, 0}]), contains("index: number of indices: found 2"));
  CHECK_THROWS_WITH((x[range{0, 3, 0}]), contains("index: step: found 0, expected a positive step"));
  CHECK_THROWS_WITH(array(1.0f)[0], contains("index: number of indices"));
}

TEST_CASE("parts in compiled functions, and their gradients") {
  using row = tensor<f32, 4>;
  constexpr auto f = [](const row& x) { return grad([](const array& v) { return v[1] * v[-1]; })(x); };
  const row x(array{1.0f, 2.0f, 3.0f, 4.0f});
  CHECK(to_string(jit(f, cpu, while_compiling)(x)) == "[0. 4. 0. 2.]");
  CHECK(to_string(f(x)) == "[0. 4. 0. 2.]");
}
