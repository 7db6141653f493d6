// tests/lax/elementwise/precision_bits.cpp: neighbours of numbers, and numbers with fewer bits.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/lax/elementwise/precision_bits.hpp>

#include "support/adversarial.hpp"
#include "support/check_op.hpp"

#include <cmath>

using namespace tokamax;
using namespace tokamax::test;

namespace {
/// A number with `mantissa` bits behind the first one, half to even. The exponents are 1 - most to most, where most is
/// 2^(bits - 1) - 1; larger numbers are infinite, and smaller ones zero. The dtype's own exponents are not cut. Without a bit
/// behind the first one, that is even whose exponent is, as the dtype stores it.
double with_bits(double x, dtype t, const reduce_precision_options& o) {
  if (!std::isfinite(x) || x == 0) return x;
  const int own = t == f64   ? 11
                  : t == f16 ? 5
                             : 8,
            first = 2 - (1 << (own - 1));  // the least exponent of normal numbers
  const int fraction = t == f64 ? 52 : t == f16 ? 10 : t == bf16 ? 7 : 23;
  const int cut = fraction - std::min(fraction, o.mantissa_bits);
  const int last = std::max(std::ilogb(x), first) - fraction + cut;  // of the bits that stay
  double in_units = std::nearbyint(std::ldexp(x, -last));
  if (o.mantissa_bits == 0 && std::fabs(std::ldexp(x, -last)) == 1.5)
    in_units = std::copysign((last - first) % 2 == 0 ? 2 : 1, x);
  const double rounded = std::ldexp(in_units, last);
  const int most = (1 << (std::min(own, o.exponent_bits) - 1)) - 1;
  if (std::ilogb(rounded) > most) return std::copysign(std::numeric_limits<double>::infinity(), x);
  if (o.exponent_bits < own && (rounded == 0 || std::ilogb(rounded) < 1 - most)) return std::copysign(0.0, x);
  return std::copysign(rounded, x);
}
const bool known = (reference_rules()[&reduce_precision_p] = [](const asked& a) -> values {
  value y{a.n.type, a.in[0].data};
  for (double& x : y.data) x = with_bits(x, y.type.dtype, a.attrs<reduce_precision_options>());
  return {y};
}, true);
}  // namespace

TEST_CASE("nextafter has the neighbours that the C library has") {
  const std::vector<float> all = special_floats();
  std::vector<float> x, y;
  for (const float a : all)
    for (const float b : all) x.push_back(a), y.push_back(b);
  const auto n = static_cast<std::int64_t>(x.size());
  const array next = nextafter(array::from<float>(x, {n}), array::from<float>(y, {n}));
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float wanted = std::nextafter(x[i], y[i]), found = next.data<float>()[i];
    INFO(x[i] << " to " << y[i]);
    CHECK((std::isnan(wanted) ? std::isnan(found) : std::memcmp(&wanted, &found, 4) == 0));
  }
  const array one = array::from<double>({1.0}, {1});
  CHECK(nextafter(one, one * 2.0).item<double>() == 1 + 0x1p-52);
  CHECK(to_value(nextafter(ones({1}, bf16), zeros({1}, bf16))).data[0] == 1 - 0x1p-8);
  CHECK_THROWS_WITH(nextafter(zeros({2}), zeros({3})), contains("shapes"));
}

TEST_CASE("reduce_precision rounds as conversions do") {
  array x = array::from<float>(special_floats(), {static_cast<std::int64_t>(special_floats().size())});
  const array many = concatenate({x, noise({500}, 1) * 1e4f, noise({500}, 2)});
  const value as_bf16 = to_value(astype(astype(many, bf16), f32)), bf = to_value(reduce_precision(many, 8, 7));
  const value as_f16 = to_value(astype(astype(many, f16), f32)), half = to_value(reduce_precision(many, 5, 10));
  for (std::size_t i = 0; i < bf.data.size(); ++i) {
    INFO(to_value(many).data[i]);
    const bool tiny = std::fabs(as_bf16.data[i]) < 0x1p-126;  // such numbers stay as they are: the exponent is not cut
    if (!tiny) CHECK((std::isnan(as_bf16.data[i]) ? std::isnan(bf.data[i]) : bf.data[i] == as_bf16.data[i]));
    if (std::fabs(as_f16.data[i]) < 0x1p-14)
      CHECK(half.data[i] == 0);  // denormal numbers of f16 are zeros
    else
      CHECK((std::isnan(as_f16.data[i]) ? std::isnan(half.data[i]) : half.data[i] == as_f16.data[i]));
  }
  CHECK(reduce_precision(array::from<double>({1 + 0x1p-30}, {1}), 11, 20).item<double>() == 1);
}

TEST_CASE("reduce_precision rounds cotangents and tangents, too") {
  const auto f = [](const array& v) { return sum(reduce_precision(v, 8, 2) * array{1.1f, 3.0f}); };
  const array slope = grad(f)(array{1.0f, 2.0f});
  CHECK(slope.data<float>()[0] == 1.0f);
  CHECK(slope.data<float>()[1] == 3.0f);
  CHECK_THROWS_WITH(reduce_precision(zeros({2}), 0, 3), contains("reduce_precision: bits"));
  CHECK_THROWS_WITH(reduce_precision(zeros({2}, i32), 5, 3), contains("reduce_precision: dtype"));
}

TEST_CASE("reduce_precision of special values, of numbers between, and of those next to the ends") {
  for (const dtype t : {f16, bf16, f32, f64})
    for (const auto& [exponent, mantissa] :
         {std::pair{8, 23}, {8, 7}, {5, 10}, {5, 2}, {4, 3}, {1, 0}, {2, 1}, {11, 52}, {11, 20}, {8, 0}, {30, 60}}) {
      CAPTURE(exponent, mantissa);
      const function f = [e = exponent, m = mantissa](const arrays& x) -> arrays {
        return reduce_precision(x[0], e, m);
      };
      check_adversarial(f, {specials(t, 1009)});
      const array many =
          concatenate({noise({500}, 1), noise({500}, 2) * 0.01f, noise({500}, 3) * 3e4f,
                       array::from<float>({65504, 65519, 65520, 6e-5f, 6.2e-5f, 3e38f, 448, 464, 480}, {9})});
      check_adversarial(f, {astype(many, t)});
      check_adversarial(f, {adversarial({3, 0}, 1, t)});
    }
}
