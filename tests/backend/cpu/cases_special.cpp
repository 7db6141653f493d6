// tests/backend/cpu/cases_special.cpp: special functions on special values, poles, and both sides of where their formulas change.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/lax/elementwise/cube_root.hpp>
#include <tokamax/lax/elementwise/hyperbolic.hpp>
#include <tokamax/lax/elementwise/trigonometric.hpp>
#include <tokamax/scipy/special/bessel.hpp>
#include <tokamax/scipy/special/elementary.hpp>
#include <tokamax/scipy/special/error_functions.hpp>
#include <tokamax/scipy/special/expn.hpp>
#include <tokamax/scipy/special/gamma.hpp>
#include <tokamax/scipy/special/hypergeometric.hpp>
#include <tokamax/scipy/special/incomplete_beta.hpp>
#include <tokamax/scipy/special/incomplete_gamma.hpp>
#include <tokamax/scipy/special/integrals.hpp>
#include <tokamax/scipy/special/owens_t.hpp>
#include <tokamax/scipy/special/waves.hpp>

#include "cases.hpp"

#include <limits>

namespace tokamax::test {

namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity(),
                tiny = std::numeric_limits<float>::min();

/// Operands that together have all combinations of these values.
std::vector<array> all_of(const std::vector<float>& values, int count, dtype t) {
  std::int64_t n = 1;
  for (int k = 0; k < count; ++k) n *= static_cast<std::int64_t>(values.size());
  std::vector<array> in;
  for (std::int64_t k = 0, stretch = 1; k < count; ++k, stretch *= static_cast<std::int64_t>(values.size())) {
    array a = array::uninitialized({f32, false, {n}});
    for (std::int64_t i = 0; i < n; ++i)
      a.mutable_data<float>()[i] = values[static_cast<std::size_t>(i / stretch) % values.size()];
    in.push_back(astype(a, t));
  }
  return in;
}

struct family {
  std::vector<float> values;
  double f32_tolerance;
  std::vector<const op*> unary, binary, ternary;
};

}  // namespace

std::vector<adversarial_case> special_cases() {
  const std::vector<float> line{nan,   inf,  -inf,  0,    -0.0f, tiny, -tiny, 1e-20f, 1e-3f, -1e-3f, 0.25f, -0.25f,
                                0.75f, 1.5f, -1.5f, 2.5f, -2.5f, 4.5f, -4.5f, 7,      9,     -9,     20,    -20};
  const std::vector<float> half_line{nan, inf, -1, 0, -0.0f, 1e-3f, 0.25f, 1, 1.5f, 4.5f, 11, 40};
  const std::vector<float> poles{nan, inf,  -inf, 0,  -0.0f, 1e-3f, 0.25f, 0.75f, 1,    1.5f,
                                 2,   4.5f, 9,    40, 1e4f,  -1,    -2,    -0.5f, -1.5f};
  const std::vector<float> orders{nan, inf, -1, 0, -0.0f, 0.25f, 1, 1.5f, 2, 5, 11};
  const std::vector<float> unit{nan, -1, 0, -0.0f, 1e-3f, 0.25f, 0.5f, 0.75f, 0.999f, 1, 2, inf};
  // borders of domains and of formulas, poles, and the ends of the range
  const std::vector<float> turns{nan,      inf,     -inf,  0,      -0.0f,   tiny,     -tiny,  1e-40f,  -1e-20f, 1e-4f,
                                 -0.4142f, 0.4143f, 0.5f,  -0.75f, 0.9999f, 1,        -1,     1.0001f, -1.5f,   1.5708f,
                                 2.5f,     -3,      19.9f, 20.1f,  -75,     88.8f,    89.3f,  -89.5f,  126.7f,  -148.5f,
                                 8191,     8193,    -1e5f, 1e20f,  3e38f,   -3.4e38f, -1e-45f};
  const family families[] = {
      {turns,
       2e-6,
       {&tan_p, &asin_p, &acos_p, &atan_p, &sinh_p, &cosh_p, &asinh_p, &acosh_p, &atanh_p, &cbrt_p, &exp2_p},
       {&atan2_p},
       {}},
      {line, 1e-5, {&log_ndtr_p, &erfcx_p, &dawsn_p, &bessel_i0e_p, &bessel_i1e_p}, {&xlogy_p, &xlog1py_p}, {}},
      {poles, 1e-5, {&lgamma_p, &digamma_p}, {}, {}},
      {half_line, 2e-5, {&exp1_p, &expi_p, &spence_p}, {&igamma_p, &igammac_p, &igamma_grad_a_p, &zeta_p}, {}},
      {line, 1e-5, {&sin_integral_p, &cos_integral_p, &fresnel_sin_p, &fresnel_cos_p}, {&owens_t_p}, {}},
      {orders, 2e-5, {}, {&expn_p}, {&hyp1f1_p}},
      {unit, 2e-5, {&ndtri_p}, {}, {&regularized_incomplete_beta_p}}};
  std::vector<adversarial_case> cases;
  for (const family& f : families)
    for (const dtype t : {f32, bf16}) {
      // Near their zeros, what is 1 - x or a difference of logarithms has an absolute error.
      const adversarial_options o{.tolerance = t == f32 ? f.f32_tolerance : 8e-3, .floor = 0.1};
      const auto add = [&](const std::vector<const op*>& ops, int count) {
        for (const op* p : ops)
          cases.push_back({named(p->name, t),
                           [p](const arrays& x) { return bind_all(*p, x.data(), x.count(), words{}, location{}); },
                           all_of(f.values, count, t), o});
      };
      add(f.unary, 1), add(f.binary, 2), add(f.ternary, 3);
    }
  return cases;
}

}  // namespace tokamax::test
