// tests/backend/eigen/gemm.cpp: Eigen's products against sums in double, chosen like others.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/eigen/gemm.hpp>

#include "support/check_gemm.hpp"

TEST_CASE("eigen::gemm: products of f32") {
  check_gemm<float>(tokamax::eigen::gemm, tokamax::cpu_backend::gemm_precision::f32);
}

TEST_CASE("eigen::gemm: leaves other dtypes alone") {
  using tokamax::cpu_backend::gemm_element, tokamax::cpu_backend::gemm_precision;
  CHECK(!takes(tokamax::eigen::gemm, gemm_element::f32, gemm_element::f32, gemm_precision::bfloat16));
  CHECK(!takes(tokamax::eigen::gemm, gemm_element::bfloat16, gemm_element::f32, gemm_precision::f32));
  CHECK(!takes(tokamax::eigen::gemm, gemm_element::bfloat16, gemm_element::bfloat16, gemm_precision::bfloat16));
  CHECK(!takes(tokamax::eigen::gemm, gemm_element::int8, gemm_element::int8, gemm_precision::f32));
}
