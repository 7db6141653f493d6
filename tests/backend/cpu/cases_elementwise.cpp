// tests/backend/cpu/cases_elementwise.cpp: each elementwise op on all pairs of special values, in all its dtypes.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/lax/elementwise/bitwise.hpp>
#include <tokamax/lax/elementwise/division.hpp>
#include <tokamax/lax/elementwise/logaddexp.hpp>
#include <tokamax/lax/elementwise/special.hpp>
#include <tokamax/lax/iota.hpp>
#include <tokamax/lax/stop_gradient.hpp>
#include <tokamax/ops/activations.hpp>

#include "cases.hpp"

#include <cmath>
#include <limits>

namespace tokamax::test {

namespace {

constexpr std::int64_t many = 40009;  // an odd number that takes several threads
constexpr float smallest = std::numeric_limits<float>::min();

function calls(const op& o) {
  return [&o](const arrays& x) { return bind_all(o, x.data(), x.count(), words{}, location{}); };
}
/// Operands that together have all combinations of the special values, for up to two of them.
std::vector<array> combinations(dtype t, int count) {
  std::vector<array> in;
  const auto values = static_cast<std::int64_t>(is_floating(t) ? special_floats().size() : special_integers().size());
  for (std::int64_t k = 0, stretch = 1; k < count; ++k, stretch *= values) in.push_back(specials(t, many, stretch));
  return in;
}
/// Does the op say that it is defined for operands of this dtype?
bool takes(const op& o, const std::vector<array>& in) {
  try {
    trace(calls(o), types_of(in));
    return true;
  } catch (const error&) {
    return false;
  }
}

struct group {
  int operands;
  adversarial_options f32_bound, bf16_bound;
  std::vector<const op*> ops;
};
// fma's reference rounds to double first.
const adversarial_options exact, once{.tolerance = 1.2e-7, .floor = smallest},
    near{.tolerance = 1e-6, .floor = smallest * 1e6}, near_bf16{.tolerance = 4e-3, .floor = smallest * 1e3};

array powers(std::int64_t stretch) {
  std::vector<float> v{2, 3, -3, 0.1f};
  for (const float x : special_floats()) v.push_back(x);
  array a = array::uninitialized({f32, false, {many}});
  for (std::int64_t i = 0; i < many; ++i)
    a.mutable_data<float>()[i] = v[static_cast<std::size_t>(i / stretch) % v.size()];
  return a;
}
/// Halfway between neighbours of bf16, and next to it; what is left of the largest numbers; denormal numbers.
array ties() {
  array a = array::uninitialized({f32, false, {many}});
  for (std::int64_t i = 0; i < many; ++i) {
    const auto high = static_cast<std::uint32_t>(i * 27361) << 16, low = 0x7fffu + static_cast<std::uint32_t>(i % 3);
    a.mutable_data<float>()[i] = std::bit_cast<float>(high | low);
  }
  return a;
}
/// Numbers near the ends of the integers, with and without a fraction.
array edges() {
  std::vector<float> v{2147483648.f, 2147483520.f, 4294967296.f, 4294967040.f, 5e9f,   127.f, 127.9f,   128.f,
                       128.9f,       129.f,        255.5f,       0.9f,         1e-40f, NAN,   INFINITY, 0};
  array a = array::uninitialized({f32, false, {many}});
  for (std::int64_t i = 0; i < many; ++i)
    a.mutable_data<float>()[i] = (i % 2 ? -1.0f : 1.0f) * v[static_cast<std::size_t>(i / 2) % v.size()];
  return a;
}

}  // namespace

std::vector<adversarial_case> elementwise_cases() {
  const group groups[] = {{1,
                           exact,
                           exact,
                           {&neg_p, &abs_p, &sqrt_p, &floor_p, &ceil_p, &round_p, &sign_p, &relu_p, &bitwise_not_p,
                            &logical_not_p, &stop_gradient_p, &variable_p, &optimization_barrier_p}},
                          {2,
                           exact,
                           exact,
                           {&add_p,
                            &sub_p,
                            &mul_p,
                            &div_p,
                            &max_p,
                            &min_p,
                            &rem_p,
                            &quotient_p,
                            &eq_p,
                            &ne_p,
                            &lt_p,
                            &le_p,
                            &gt_p,
                            &ge_p,
                            &bitwise_and_p,
                            &bitwise_or_p,
                            &bitwise_xor_p,
                            &shift_left_p,
                            &shift_right_logical_p,
                            &shift_right_arithmetic_p,
                            &logical_and_p,
                            &logical_or_p}},
                          {1,
                           near,
                           near_bf16,
                           {&exp_p, &expm1_p, &log_p, &log1p_p, &rsqrt_p, &tanh_p, &logistic_p, &sin_p, &cos_p, &erf_p,
                            &normal_cdf_p, &gelu_p}},
                          {2, near, near_bf16, {&logaddexp_p}},
                          {3, once, exact, {&fma_p}}};
  std::vector<adversarial_case> cases;
  for (const group& g : groups)
    for (const op* o : g.ops)
      for (const dtype t : every_dtype)
        if (const std::vector<array> in = combinations(t, g.operands); takes(*o, in))
          cases.push_back({named(o->name, t), calls(*o), in, t == bf16 ? g.bf16_bound : g.f32_bound});

  for (const dtype t : every_dtype) {
    std::vector<array> in = combinations(t, 2);
    in.insert(in.begin(), specials(bool_, many, 7));
    cases.push_back({named("select", t), calls(select_p), in});
    if (t != bool_)
      cases.push_back({named("iota", t),
                       [t](const arrays& x) -> arrays {
                         const array across = iota(t, {7, 401}, 1);
                         return {across, iota(t, {7, 401}, 0), select(x[0], across, ones_like(across))};
                       },
                       {reshape(specials(bool_, 7 * 401), {7, 401})}});
    for (const dtype to : every_dtype) {
      const function convert = [to](const arrays& x) -> arrays { return astype(x[0], to); };
      const std::string name = named(named("convert_element_type", t) + " to", to);
      cases.push_back({name, convert, {specials(t, many)}});
      if (is_floating(t))
        for (const array& x : {ties(), edges()}) cases.push_back({name, convert, {astype(x, t)}});
      if (size_of(t) == size_of(to) && (t == bool_) == (to == bool_))
        cases.push_back({named(named("bitcast_convert_type", t) + " to", to),
                         [to](const arrays& x) -> arrays { return bitcast_convert_type(x[0], to); },
                         {specials(t, many)}});
    }
  }
  for (const dtype t : {f32, bf16}) {
    const bool f = t == f32;
    cases.push_back({named("pow", t),
                     calls(pow_p),
                     {astype(powers(1), t), astype(powers(23), t)},
                     f ? adversarial_options{.tolerance = 2.4e-7, .floor = smallest} : near_bf16});
    const array x = array::from<float>({0, -0.0f, 1, -1, 0.5f, -0.999999f, 1e-30f, 0.97f, 1.5f, NAN, -INFINITY});
    cases.push_back({named("erf_inv", t),
                     calls(erf_inv_p),
                     {astype(x, t)},
                     f ? adversarial_options{.tolerance = 4e-6, .floor = smallest * 1e6} : near_bf16});
  }
  return cases;
}

}  // namespace tokamax::test
