// tests/lax/windows/conv_transpose.cpp: transposed convolutions are the cotangents of convolutions with strides.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/lax/windows/conv_transpose.hpp>

#include <tokamax/transforms/vjp.hpp>

#include "support/check_op.hpp"

#include <cmath>

using namespace tokamax;
using namespace tokamax::test;

TEST_CASE("the exact transpose is the cotangent of a convolution with strides") {
  for (const std::int64_t stride : {1, 2, 3})
    for (const std::int64_t k : {1, 2, 3, 4}) {
      const array image = noise({2, 7, 3}, 1), w = noise({k, 3, 4}, 2);
      const conv_options o{.strides = {stride}, .low = {0}, .high = {0}, .lhs_dilation = {1}, .rhs_dilation = {1}};
      // The image whose windows fit without rest.
      const std::int64_t places = (7 - k) / stride + 1, used = (places - 1) * stride + k;
      const array part = slice_in_dim(image, 0, used, 1), ct = noise({2, places, 4}, 3);
      const auto [y, pull] = vjp([&](const array& x) { return conv_general_dilated(x, w, o); }, part);
      const array wanted = pull(ct);
      const array found = conv_transpose(ct, w, {.strides = {stride}, .valid = true, .transpose_kernel = true});
      INFO("stride " << stride << ", window " << k);
      const std::int64_t rows = found.extent(1);
      REQUIRE(rows >= used);
      const value a = to_value(slice_in_dim(found, 0, used, 1)), b = to_value(wanted);
      for (std::size_t i = 0; i < b.data.size(); ++i) CHECK(std::fabs(a.data[i] - b.data[i]) < 1e-5);
    }
}

TEST_CASE("padding as of equal sizes multiplies extents by the strides") {
  const array x = noise({1, 5, 6, 2}, 1), w = noise({3, 2, 2, 4}, 2);
  CHECK(conv_transpose(x, w).shape() == shape{1, 5, 6, 4});
  CHECK(conv_transpose(x, w, {.strides = {2, 3}}).shape() == shape{1, 10, 18, 4});
  CHECK(conv_transpose(x, w, {.strides = {2, 1}, .rhs_dilation = {1, 2}, .valid = true}).shape() == shape{1, 11, 8, 4});
  check_function([](const arrays& v) -> arrays { return conv_transpose(v[0], v[1], {.strides = {2}}); },
                 {noise({1, 3, 2}, 1), noise({3, 2, 1}, 2)}, {.order = 1});
  CHECK_THROWS_WITH(conv_transpose(x, w, {.strides = {2}}), contains("conv_transpose: options"));
}
