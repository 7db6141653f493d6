// tests/lax/fourier/complex_parts.cpp: complex numbers as two arrays are those of the C++ standard library in double.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/lax/fourier/complex_parts.hpp>

#include <tokamax/backend/cpu.hpp>
#include <tokamax/runtime/jit.hpp>
#include <tokamax/transforms/grad.hpp>

#include <cmath>
#include <complex>
#include <limits>

#include "support/catch.hpp"
#include "support/contains.hpp"

namespace tk = tokamax;
using tk::array;
using tk::complex_parts;

namespace {

constexpr float inf = std::numeric_limits<float>::infinity();
// ordinary numbers, axes, and parts whose squares overflow or vanish
const std::vector<float> re{1, -2, 0.5f, 0, 3, -1e30f, 2e-30f, 4e-38f, 0, 1e20f};
const std::vector<float> im{2, 1, -0.25f, -4, 0, 2e30f, -1e-30f, 1e-38f, 0, 1e-20f};

array of(const std::vector<float>& v) { return array::from<float>(v, {static_cast<std::int64_t>(v.size())}); }
std::complex<double> number(std::size_t i) { return {re[i], im[i]}; }
bool near(float found, double expected) {
  return std::fabs(found - expected) <= 4e-7 * std::fabs(expected) + 1e-44 ||
         (std::isnan(found) && std::isnan(expected));
}

}  // namespace

TEST_CASE("lengths and angles of complex numbers are those of the standard library") {
  const complex_parts x = tk::complex(of(re), of(im));
  const array length = tk::abs(x), angle = tk::angle(x);
  for (std::size_t i = 0; i < re.size(); ++i) {
    CAPTURE(re[i], im[i]);
    CHECK(near(length.values<float>()[i], std::abs(number(i))));
    CHECK(near(angle.values<float>()[i], std::arg(number(i))));
  }
  CHECK(tk::abs(tk::complex(array(inf), array(-inf))).item() == inf);
  CHECK(tk::abs(tk::complex(array(inf), array(1.0f))).item() == inf);
  CHECK(std::isnan(tk::abs(tk::complex(array(1.0f), array(std::nanf("")))).item()));
}

TEST_CASE("sums, products and quotients of complex numbers are those of the standard library") {
  const auto all = [](const array& a, const array& b) {
    const complex_parts x = tk::complex(a, b), y = tk::complex(b, 1.5f - a);
    return std::vector<complex_parts>{x + y, x - y, x / y, tk::conj(x) * y};
  };
  const std::vector<float> ordinary_re{1, -2, 0.5f, 3, 1e-10f}, ordinary_im{2, 1, -0.25f, 0.125f, -4};
  for (const auto& found : {all(of(ordinary_re), of(ordinary_im)),
                            tk::jit(all, tk::cpu, tk::at_run_time)(of(ordinary_re), of(ordinary_im))})
    for (std::size_t i = 0; i < ordinary_re.size(); ++i) {
      const std::complex<double> x{ordinary_re[i], ordinary_im[i]}, y{ordinary_im[i], 1.5 - ordinary_re[i]};
      const std::complex<double> expected[] = {x + y, x - y, x / y, std::conj(x) * y};
      for (std::size_t k = 0; k < 4; ++k) {
        CAPTURE(i, k);
        const std::complex<double> f{tk::real(found[k]).values<float>()[i], tk::imag(found[k]).values<float>()[i]};
        CHECK(std::abs(f - expected[k]) < 1e-6 * (1 + std::abs(expected[k])));
      }
    }
  // a quotient whose squares overflow
  const complex_parts q = tk::complex(array(3e30f), array(-1e30f)) / tk::complex(array(2e30f), array(1e30f));
  CHECK(near(q.re.item(), 1.0));
  CHECK(near(q.im.item(), -1.0));
}

TEST_CASE("parts of two dtypes and shapes become those of both, and others are refused") {
  const complex_parts x = tk::complex(tk::zeros({2, 1}), tk::ones({3}, tk::f64));
  CHECK(x.re.shape() == tk::shape{2, 3});
  CHECK(x.re.dtype() == tk::f64);
  CHECK_THROWS_WITH(tk::complex(tk::zeros({2}), tk::zeros({2}, tk::i32)), contains("complex: parts"));
  CHECK_THROWS_WITH(tk::complex(tk::zeros({2}), tk::zeros({3})), contains("complex: parts"));
}

TEST_CASE("lengths of complex numbers have gradients") {
  const auto [da, db] = tk::grad<0, 1>([](const array& a, const array& b) { return tk::abs(tk::complex(a, b)); })(
      array(3.0f), array(-4.0f));
  CHECK(near(da.item(), 0.6));
  CHECK(near(db.item(), -0.8));
}
