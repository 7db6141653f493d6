// tests/backend/onednn/gemm.cpp: oneDNN's products against sums in double, and the lines of bench/README.md that choose between libraries.
// SPDX-License-Identifier: Apache-2.0
#if __has_include(<dnnl.hpp>)
  #include <tokamax/backend/cpu/gemm/choose/choice.hpp>
  #include <tokamax/backend/cpu/gemm/gemm.hpp>
  #include <tokamax/backend/eigen/gemm.hpp>
  #include <tokamax/backend/onednn/gemm.hpp>
  #include <tokamax/base/bfloat16.hpp>

  #include <cstdint>
  #include <string>
  #include <vector>

  #include "support/check_gemm.hpp"

namespace tk = tokamax;
using tk::cpu_backend::gemm_element, tk::cpu_backend::gemm_precision;

TEST_CASE("onednn::gemm: products of f32, bf16 and int8") {
  if (takes(tk::onednn::gemm, gemm_element::f32, gemm_element::f32, gemm_precision::f32))
    check_gemm<float>(tk::onednn::gemm, gemm_precision::f32);
  if (takes(tk::onednn::gemm, gemm_element::bfloat16, gemm_element::bfloat16, gemm_precision::bfloat16))
    check_gemm<tk::bfloat16>(tk::onednn::gemm, gemm_precision::bfloat16);
  if (takes(tk::onednn::gemm, gemm_element::int8, gemm_element::int8, gemm_precision::f32))
    check_gemm<std::int8_t>(tk::onednn::gemm, gemm_precision::f32);
}

TEST_CASE("onednn::gemm: large sums of int8 are exact") {
  if (!takes(tk::onednn::gemm, gemm_element::int8, gemm_element::int8, gemm_precision::f32)) return;
  constexpr std::int64_t k = 70001;  // sums beyond the whole numbers of f32
  for (const int left : {127, -128}) {
    const std::vector<std::int8_t> a(3 * k, static_cast<std::int8_t>(left)), b(5 * k, -127);
    for (const auto mode : {tk::cpu_backend::gemm_mode::assign, tk::cpu_backend::gemm_mode::accumulate}) {
      std::vector<std::int32_t> c(15, 1);
      tk::onednn::gemm.run({3,
                            5,
                            k,
                            {a.data(), k, 1, gemm_element::int8},
                            {b.data(), 5, 1, gemm_element::int8},
                            reinterpret_cast<float*>(c.data()),
                            5,
                            mode,
                            gemm_precision::f32});
      const std::int64_t sum = left * -127 * k + (mode == tk::cpu_backend::gemm_mode::accumulate);
      for (const std::int32_t x : c) CHECK(x == sum);
    }
  }
}

TEST_CASE("onednn::gemm: leaves other dtypes alone") {
  CHECK(!takes(tk::onednn::gemm, gemm_element::f32, gemm_element::f32, gemm_precision::bfloat16));
  CHECK(!takes(tk::onednn::gemm, gemm_element::bfloat16, gemm_element::bfloat16, gemm_precision::f32));
  CHECK(!takes(tk::onednn::gemm, gemm_element::bfloat16, gemm_element::f32, gemm_precision::bfloat16));
}

TEST_CASE("onednn::gemm: chosen among three") {
  tk::blas::choices().clear();
  const std::vector<float> a(64 * 48, 0.5f), b(48 * 32, 0.25f);
  std::vector<float> c(64 * 32);
  const auto multiply = [&] { tk::cpu_backend::gemm(64, 32, 48, {a.data(), 48, 1}, {b.data(), 32, 1}, c.data(), 32); };
  auto& choices = tk::blas::choices();
  choices.add(tk::eigen::gemm);
  choices.add(tk::onednn::gemm);               // with the CMake target tokamax::onednn
  multiply();                                  // the first product of a shape measures all, later ones take the fastest
  const std::string kept = choices.to_text();  // a line for each shape
  choices.from_text(kept, "products.txt");     // in another run: the same choices, without measuring
  for (const float x : c) CHECK(x == 6.0f);
  CHECK(kept.find("\n64 32 48 f32 f32 f32 assign ") != kept.npos);
  CHECK(kept.find(" tokamax=") != kept.npos);
  CHECK(kept.find(" eigen=") != kept.npos);
  CHECK(choices.to_text() == kept);
  choices.clear();
}
#endif
