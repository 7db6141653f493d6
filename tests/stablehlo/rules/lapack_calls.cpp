// tests/stablehlo/rules/lapack_calls.cpp: calls of LAPACK, whose factors give the matrices back.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu/device.hpp>
#include <tokamax/stablehlo.hpp>

#include <algorithm>
#include <cmath>
#include <complex>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/error_of.hpp"

namespace tk = tokamax;
using tk::array;
using tk::cpu;
using tk::test::error_of;

namespace {

using number = std::complex<double>;
/// A matrix of rows and columns.
struct matrix {
  std::size_t m, n;
  std::vector<number> at;
  matrix(std::size_t rows, std::size_t columns) : m(rows), n(columns), at(rows * columns) {}
  number& operator()(std::size_t i, std::size_t j) { return at[i * n + j]; }
  number operator()(std::size_t i, std::size_t j) const { return at[i * n + j]; }
};
matrix operator*(const matrix& a, const matrix& b) {
  matrix y(a.m, b.n);
  for (std::size_t i = 0; i < a.m; ++i)
    for (std::size_t j = 0; j < b.n; ++j)
      for (std::size_t k = 0; k < a.n; ++k) y(i, j) += a(i, k) * b(k, j);
  return y;
}
matrix adjoint(const matrix& a) {
  matrix y(a.n, a.m);
  for (std::size_t i = 0; i < a.m; ++i)
    for (std::size_t j = 0; j < a.n; ++j) y(j, i) = std::conj(a(i, j));
  return y;
}
double apart(const matrix& a, const matrix& b) {
  REQUIRE(a.at.size() == b.at.size());
  double most = 0;
  for (std::size_t k = 0; k < a.at.size(); ++k) {
    const double d = std::abs(a.at[k] - b.at[k]);
    most = d <= most ? most : d;
  }
  return most;
}
matrix identity(std::size_t n) {
  matrix y(n, n);
  for (std::size_t i = 0; i < n; ++i) y(i, i) = 1;
  return y;
}
/// Those of the numbers that lie where `keep(i, j)` holds.
template <class Keep>
matrix part(matrix a, const Keep& keep) {
  for (std::size_t i = 0; i < a.m; ++i)
    for (std::size_t j = 0; j < a.n; ++j)
      if (!keep(i, j)) a(i, j) = 0;
  return a;
}
/// The product of the reflections whose vectors stand `below` places under the diagonal of a.
matrix reflections(const matrix& a, const matrix& tau, std::size_t below) {
  matrix q = identity(a.m);
  for (std::size_t k = 0; k < tau.at.size(); ++k) {
    matrix v(a.m, 1);
    for (std::size_t i = k + below; i < a.m; ++i) v(i, 0) = i == k + below ? number(1) : a(i, k);
    const matrix outer = v * adjoint(v);
    matrix h = identity(a.m);
    for (std::size_t i = 0; i < h.at.size(); ++i) h.at[i] -= tau.at[k] * outer.at[i];
    q = q * h;
  }
  return q;
}
/// Numbers of both signs; real ones have no imaginary part.
matrix noise(std::size_t m, std::size_t n, bool complex) {
  matrix a(m, n);
  for (std::size_t k = 0; k < a.at.size(); ++k)
    a.at[k] = {std::sin(static_cast<double>(7 * k + 1)), complex ? std::cos(static_cast<double>(5 * k)) : 0.0};
  return a;
}
matrix hermitian(std::size_t n, bool complex, double diagonal = 0) {
  const matrix a = noise(n, n, complex), b = adjoint(a);
  matrix y(n, n);
  for (std::size_t k = 0; k < y.at.size(); ++k) y.at[k] = a.at[k] + b.at[k];
  for (std::size_t i = 0; i < n; ++i) y(i, i) += diagonal;
  return y;
}
array to_array(const matrix& a, bool complex) {
  tk::shape s{static_cast<std::int64_t>(a.m)};
  if (a.n > 1) s.push_back(static_cast<std::int64_t>(a.n));  // a column is a vector
  if (complex) s.push_back(2);
  array y = array::uninitialized({tk::f64, false, s});
  double* to = y.mutable_data<double>();
  for (const number& v : a.at) {
    *to++ = v.real();
    if (complex) *to++ = v.imag();
  }
  return y;
}
/// Result k of a program as a matrix; a vector is a column.
matrix from_array(const tk::stablehlo::program& p, const std::vector<array>& results, std::size_t k) {
  const bool complex = p.outputs()[k].is_complex;
  const tk::shape& s = results[k].shape();
  const int rank = s.rank() - complex;
  matrix y(static_cast<std::size_t>(s[0]), rank > 1 ? static_cast<std::size_t>(s[1]) : 1);
  const double* from = results[k].data<double>();
  for (number& v : y.at) {
    v.real(*from++);
    if (complex) v.imag(*from++);
  }
  return y;
}

/// A call of LAPACK. Types are written with z for the numbers and r for real ones.
struct lapack {
  bool complex;
  tk::stablehlo::program p;
  std::vector<array> results;

  static std::string types(std::string s, bool complex) {
    for (std::size_t at; (at = s.find("xz>")) != s.npos;) s.replace(at, 3, complex ? "xcomplex<f64>>" : "xf64>");
    return s;
  }
  lapack(bool is_complex, const std::string& name, const std::string& options, const std::string& in,
         const std::string& out, const std::vector<matrix>& operands)
      : complex(is_complex), p(tk::read_stablehlo(text(is_complex, name, options, in, out, operands.size()))) {
    std::vector<array> given;
    for (const matrix& a : operands) given.push_back(to_array(a, complex));
    results = p(cpu, given);
  }
  static std::string text(bool complex, const std::string& name, const std::string& options, const std::string& in,
                          const std::string& out, std::size_t count) {
    std::string arguments, names;
    for (std::size_t k = 0; k < count; ++k) {
      const std::string one = "%a" + std::to_string(k), type = in.substr(0, in.find(';'));
      std::string rest = in;
      for (std::size_t i = 0; i < k; ++i) rest = rest.substr(rest.find(';') + 1);
      arguments += (k ? ", " : "") + one + ": " + rest.substr(0, rest.find(';'));
      names += (k ? ", " : "") + one;
    }
    std::string of_operands = in, returned;
    for (char& c : of_operands)
      if (c == ';') c = ',';
    const auto outputs = static_cast<std::size_t>(std::count(out.begin(), out.end(), ',')) + 1;
    for (std::size_t k = 0; k < outputs; ++k) returned += (k ? ", %y#" : "%y#") + std::to_string(k);
    return types("func.func @main(" + arguments + ") -> (" + out + ") {\n  %y:" + std::to_string(outputs) +
                     " = stablehlo.custom_call @lapack_" + (complex ? "z" : "d") + name + "_ffi(" + names +
                     ") {mhlo.backend_config = {" + options + "}} : (" + of_operands + ") -> (" + out + ")\n  return " +
                     returned + " : " + out + "\n}\n",
                 complex);
  }
  matrix operator[](std::size_t k) const { return from_array(p, results, k); }
  std::int32_t info(std::size_t k) const { return results[k].item<std::int32_t>(); }
};

const char *const square = "tensor<4x4xz>", *const values = "tensor<4xf64>", *const info = "tensor<i32>";
std::string join(std::initializer_list<std::string> list) {
  std::string s;
  for (const std::string& one : list) s += (s.empty() ? "" : ", ") + one;
  return s;
}

}  // namespace

TEST_CASE("lapack: reflections, Hessenberg and tridiagonal forms give the matrix back") {
  for (const bool complex : {false, true}) {
    INFO(complex);
    const matrix a = noise(4, 3, complex), b = noise(4, 4, complex), h = hermitian(4, complex);
    const lapack qr(complex, "geqrf", "", "tensor<4x3xz>", "tensor<4x3xz>, tensor<3xz>, tensor<i32>", {a});
    const matrix r = part(qr[0], [](std::size_t i, std::size_t j) { return i <= j; });
    CHECK(apart(reflections(qr[0], qr[1], 0) * r, a) < 1e-12);
    const lapack q(complex, complex ? "ungqr" : "orgqr", "", "tensor<4x3xz>;tensor<3xz>", "tensor<4x3xz>",
                   {qr[0], qr[1]});
    CHECK(apart(adjoint(q[0]) * q[0], identity(3)) < 1e-12);
    const lapack hess(complex, "gehrd", "low = 1 : i32, high = 4 : i32", square,
                      "tensor<4x4xz>, tensor<3xz>, tensor<i32>", {b});
    const matrix upper = part(hess[0], [](std::size_t i, std::size_t j) { return i <= j + 1; });
    const matrix basis = reflections(hess[0], hess[1], 1);
    CHECK(apart(basis * upper * adjoint(basis), b) < 1e-12);
    for (const bool lower : {true, false}) {
      INFO(lower);
      const lapack t(complex, complex ? "hetrd" : "sytrd", lower ? "uplo = 76 : ui8" : "uplo = 85 : ui8", square,
                     join({square, values, "tensor<3xf64>", "tensor<3xz>", info}), {h});
      matrix three(4, 4);
      for (std::size_t i = 0; i < 4; ++i) three(i, i) = t[1](i, 0);
      for (std::size_t i = 0; i < 3; ++i) three(i + 1, i) = three(i, i + 1) = t[2](i, 0);
      // The product of eigenvalues and their sum of squares are those of the matrix.
      matrix form = t[0];
      CHECK(apart(part(form, [&](std::size_t i, std::size_t j) { return lower ? j > i : i > j; }),
                  part(h, [&](std::size_t i, std::size_t j) { return lower ? j > i : i > j; })) < 1e-12);
      if (lower) {
        const matrix u = reflections(t[0], t[3], 1);
        CHECK(apart(u * three * adjoint(u), h) < 1e-12);
      } else {
        const auto trace = [](const matrix& x) {
          number s = 0;
          for (std::size_t i = 0; i < x.n; ++i) s += x(i, i);
          return s;
        };
        CHECK(std::abs(trace(three * three * three) - trace(h * h * h)) < 1e-10);
      }
    }
  }
}

TEST_CASE("lapack: decompositions of real and complex matrices") {
  for (const bool complex : {false, true}) {
    INFO(complex);
    const matrix a = noise(4, 4, complex), h = hermitian(4, complex), positive = hermitian(4, complex, 9);
    const auto lower = [](std::size_t i, std::size_t j) { return i >= j; };
    const lapack c(complex, "potrf", "uplo = 76 : ui8", square, join({square, info}), {positive});
    const matrix l = part(c[0], lower);
    CHECK(apart(l * adjoint(l), positive) < 1e-12);
    CHECK(c.info(1) == 0);
    CHECK(lapack(complex, "potrf", "uplo = 76 : ui8", square, join({square, info}), {hermitian(4, complex, -9)})
              .info(1) == 1);
    const lapack lu(complex, "getrf", "", square, join({square, "tensor<4xi32>", info}), {a});
    matrix both = lu[0], rows = a;
    for (std::size_t i = 0; i < 4; ++i)
      for (std::size_t j = 0; j < 4; ++j)
        std::swap(rows(i, j), rows(static_cast<std::size_t>(lu.results[1].data<std::int32_t>()[i] - 1), j));
    matrix unit = part(both, [](std::size_t i, std::size_t j) { return i > j; });
    for (std::size_t i = 0; i < 4; ++i) unit(i, i) = 1;
    CHECK(apart(unit * part(both, [](std::size_t i, std::size_t j) { return i <= j; }), rows) < 1e-12);
    const lapack eigen(complex, complex ? "heevd" : "syevd", "mode = 86 : ui8, uplo = 76 : ui8", square,
                       join({square, values, info}), {h});
    matrix w(4, 4);
    for (std::size_t i = 0; i < 4; ++i) w(i, i) = eigen[1](i, 0);
    CHECK(apart(eigen[0] * w * adjoint(eigen[0]), h) < 1e-12);
    CHECK(w(0, 0).real() <= w(1, 1).real());
    for (const bool wide : {false, true}) {
      INFO(wide);
      const matrix x = wide ? noise(3, 4, complex) : noise(4, 3, complex);
      const std::string type = wide ? "tensor<3x4xz>" : "tensor<4x3xz>";
      const lapack s(complex, "gesdd", "mode = 83 : ui8", type,
                     join({type, "tensor<3xf64>", wide ? "tensor<3x3xz>" : "tensor<4x3xz>",
                           wide ? "tensor<3x4xz>" : "tensor<3x3xz>", info}),
                     {x});
      matrix d(3, 3);
      for (std::size_t i = 0; i < 3; ++i) d(i, i) = s[1](i, 0);
      CHECK(apart(s[2] * d * s[3], x) < 1e-12);
    }
    for (const char* options : {"diag = 78 : ui8, side = 76 : ui8, trans_x = 67 : ui8, uplo = 76 : ui8",
                                "diag = 78 : ui8, side = 82 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8"}) {
      const bool left = std::string(options).find("side = 76") != std::string::npos;
      const lapack x(complex, "trsm", options, "tensor<4x4xz>;tensor<4x4xz>", square, {a, h});
      const matrix t = part(a, lower);
      CHECK(apart(left ? adjoint(t) * x[0] : x[0] * t, h) < 1e-10);
    }
  }
}

TEST_CASE("lapack: Schur's form and left eigenvectors of real matrices") {
  const matrix a = noise(4, 4, false);
  const lapack s(false, "gees", "mode = 86 : ui8, sort = 78 : ui8", square,
                 join({square, square, values, values, info, info}), {a});
  CHECK(apart(s[1] * s[0] * adjoint(s[1]), a) < 1e-12);
  const lapack e(false, "geev", "compute_left = 86 : ui8, compute_right = 86 : ui8", square,
                 join({values, values, "tensor<4x4xcomplex<f64>>", "tensor<4x4xcomplex<f64>>", info}), {a});
  matrix w(4, 4);
  number sum = 0, of_form = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    w(i, i) = {e[0](i, 0).real(), e[1](i, 0).real()};
    sum += w(i, i) * w(i, i);
    const number v{s[2](i, 0).real(), s[3](i, 0).real()};
    of_form += v * v;
  }
  CHECK(apart(a * e[3], e[3] * w) < 1e-12);
  CHECK(apart(adjoint(e[2]) * a, w * adjoint(e[2])) < 1e-12);
  CHECK(std::abs(sum - of_form) < 1e-12);
  CHECK_THAT(error_of([&] {
               lapack(true, "gees", "mode = 86 : ui8, sort = 78 : ui8", square,
                      join({square, square, "tensor<4xz>", info, info}), {noise(4, 4, true)});
             }),
             contains("complex numbers"));
}
