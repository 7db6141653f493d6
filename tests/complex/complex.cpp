// tests/complex/complex.cpp: the functions of complex numbers are JAX's, and so are their gradients: tests/golden/complex.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/complex.hpp>

#include <tokamax/backend/cpu.hpp>
#include <tokamax/numpy/indexing/at.hpp>
#include <tokamax/transforms/grad.hpp>

#include "support/catch.hpp"
#include "support/golden_cases.hpp"

namespace tk = tokamax;
using tk::array;
using tk::complex_parts;

namespace {
using tk::arrays;
using tk::test::case_functions;
using options = const tk::test::case_options&;
using one = complex_parts (*)(const complex_parts&);

arrays parts_of(const complex_parts& z) { return {z.re, z.im}; }
arrays parts_of(const array& x) { return x; }
complex_parts first(const arrays& x) { return {x[0], x[1]}; }
complex_parts second(const arrays& x) { return {x[2], x[3]}; }

/// f of two complex operands, and of one complex and one real operand.
template <class F>
void add_binary(case_functions& table, const std::string& name, F f) {
  table[name] = [f](const arrays& x, options) -> arrays { return parts_of(f(first(x), second(x))); };
  table[name + "_real"] = [f](const arrays& x, options) -> arrays { return parts_of(f(first(x), x[2])); };
  table["real_" + name] = [f](const arrays& x, options) -> arrays {
    return parts_of(f(x[0], complex_parts{x[1], x[2]}));
  };
}
case_functions elementwise_functions() {
  case_functions table;
  const std::pair<const char*, one> functions[] = {
      {"exp", tk::exp},
      {"expm1", tk::expm1},
      {"log", tk::log},
      {"log1p", tk::log1p},
      {"log2", tk::log2},
      {"log10", tk::log10},
      {"sqrt", tk::sqrt},
      {"rsqrt", tk::rsqrt},
      {"sin", tk::sin},
      {"cos", tk::cos},
      {"tan", tk::tan},
      {"sinh", tk::sinh},
      {"cosh", tk::cosh},
      {"tanh", tk::tanh},
      {"asin", tk::arcsin},
      {"acos", tk::arccos},
      {"atan", tk::arctan},
      {"asinh", tk::arcsinh},
      {"acosh", tk::arccosh},
      {"atanh", tk::arctanh},
      {"sign", tk::sign},
      {"square", tk::square},
      {"reciprocal", tk::reciprocal},
      {"negative", tk::negative},
      {"conj", tk::conjugate},
  };
  for (const auto& [name, f] : functions)
    table[name] = [f = f](const arrays& x, options) { return parts_of(f(first(x))); };
  const std::pair<const char*, array (*)(const complex_parts&)> tests[] = {
      {"abs", tk::abs},           {"angle", tk::angle},         {"isnan", tk::isnan},   {"isinf", tk::isinf},
      {"isfinite", tk::isfinite}, {"iscomplex", tk::iscomplex}, {"isreal", tk::isreal},
  };
  for (const auto& [name, f] : tests) table[name] = [f = f](const arrays& x, options) -> arrays { return f(first(x)); };
  add_binary(table, "add", [](const auto& a, const auto& b) { return a + b; });
  add_binary(table, "subtract", [](const auto& a, const auto& b) { return a - b; });
  add_binary(table, "multiply", [](const auto& a, const auto& b) { return a * b; });
  add_binary(table, "divide", [](const auto& a, const auto& b) { return a / b; });
  add_binary(table, "power", [](const auto& a, const auto& b) { return tk::power(a, b); });
  add_binary(table, "equal", [](const auto& a, const auto& b) { return a == b; });
  add_binary(table, "not_equal", [](const auto& a, const auto& b) { return a != b; });
  table["complex_grad"] = [](const arrays& x, options) {
    const auto f = [](const complex_parts& z) {
      const array length = tk::abs(tk::sin(z) * z);
      return tk::sum(length * length + (z * z * z).re);
    };
    return parts_of(tk::complex_grad(f)(first(x)));
  };
  table["holomorphic_grad"] = [](const arrays& x, options) {
    const auto f = [](const complex_parts& z) { return tk::exp(z) * tk::sqrt(z) + tk::tanh(z); };
    return parts_of(tk::holomorphic_grad(f)(first(x)));
  };
  return table;
}

case_functions array_functions() {
  case_functions table{
      {"sum", [](const arrays& x, options o) { return parts_of(tk::sum(first(x), {{o.axis(0)}})); }},
      {"mean", [](const arrays& x, options o) { return parts_of(tk::mean(first(x), {{o.axis(0)}})); }},
      {"prod", [](const arrays& x, options o) { return parts_of(tk::prod(first(x), o.axis(0))); }},
      {"cumsum", [](const arrays& x, options o) { return parts_of(tk::cumsum(first(x), o.axis(0))); }},
      {"cumprod", [](const arrays& x, options o) { return parts_of(tk::cumprod(first(x), o.axis(0))); }},
      {"var", [](const arrays& x, options o) -> arrays { return tk::var(first(x), {{o.axis(0)}}); }},
      {"std", [](const arrays& x, options o) -> arrays { return tk::std_(first(x), {{o.axis(0)}}); }},
      {"all", [](const arrays& x, options o) -> arrays { return tk::all(first(x), {{o.axis(0)}}); }},
      {"any", [](const arrays& x, options o) -> arrays { return tk::any(first(x), {{o.axis(0)}}); }},
      {"vdot", [](const arrays& x, options) { return parts_of(tk::vdot(first(x), second(x))); }},
      {"correlate", [](const arrays& x, options) { return parts_of(tk::correlate(first(x), second(x))); }},
  };
  add_binary(table, "matmul", [](const auto& a, const auto& b) { return tk::matmul(a, b); });
  add_binary(table, "dot", [](const auto& a, const auto& b) { return tk::dot(a, b); });
  add_binary(table, "inner", [](const auto& a, const auto& b) { return tk::inner(a, b); });
  add_binary(table, "outer", [](const auto& a, const auto& b) { return tk::outer(a, b); });
  add_binary(table, "kron", [](const auto& a, const auto& b) { return tk::kron(a, b); });
  add_binary(table, "tensordot", [](const auto& a, const auto& b) { return tk::tensordot(a, b); });
  add_binary(table, "convolve", [](const auto& a, const auto& b) { return tk::convolve(a, b); });
  table["einsum"] = [](const arrays& x, options o) {
    const std::string equation = o.text("equation");
    return parts_of(x.count() == 2 ? tk::einsum(equation, first(x)) : tk::einsum(equation, first(x), second(x)));
  };
  const auto move = [&](const char* name, auto f) {
    table[name] = [f](const arrays& x, options) { return parts_of(f(first(x))); };
  };
  move("sort_complex", [](const complex_parts& z) { return tk::sort_complex(z); });
  move("reshape", [](const complex_parts& z) { return tk::reshape(z, {4, 3}); });
  move("transpose", [](const complex_parts& z) { return tk::transpose(z); });
  move("ravel", [](const complex_parts& z) { return tk::ravel(z); });
  move("swapaxes", [](const complex_parts& z) { return tk::swapaxes(z, 0, 1); });
  move("moveaxis", [](const complex_parts& z) { return tk::moveaxis(z, 0, -1); });
  move("broadcast_to", [](const complex_parts& z) { return tk::broadcast_to(z, {2, 3, 4}); });
  move("flip", [](const complex_parts& z) { return tk::flip(z, {1}); });
  move("roll", [](const complex_parts& z) { return tk::roll(z, {1}, {0}); });
  move("take", [](const complex_parts& z) { return tk::take(z, array{2, 0}); });
  move("concatenate", [](const complex_parts& z) { return tk::concatenate({z, tk::slice_in_dim(z, 0, 1, 0)}); });
  move("stack", [](const complex_parts& z) { return tk::stack({z, -z}, 1); });
  move("where", [](const complex_parts& z) { return tk::where(z.re > 0.0f, z, z * 2.0f); });
  move("index", [](const complex_parts& z) { return z[{1}]; });
  move("part", [](const complex_parts& z) { return z(tk::whole, tk::range{1, 3}); });
  move("squeeze", [](const complex_parts& z) { return tk::squeeze(tk::expand_dims(z, 1), 1); });
  return table;
}

tk::fft_norm norm_of(options o) {
  const std::string norm = o.text("norm");
  return norm == "ortho" ? tk::fft_norm::ortho : norm == "forward" ? tk::fft_norm::forward : tk::fft_norm::backward;
}
tk::fft_options along_one(options o) { return {o.integer("n", -1), o.axis(-1), norm_of(o)}; }
tk::fftn_options along_many(options o) { return {o.list("s"), o.list("axes"), norm_of(o)}; }

case_functions fourier_functions() {
  case_functions table{
      {"fft", [](const arrays& x, options o) { return parts_of(tk::fft(first(x), along_one(o))); }},
      {"ifft", [](const arrays& x, options o) { return parts_of(tk::ifft(first(x), along_one(o))); }},
      {"rfft", [](const arrays& x, options o) { return parts_of(tk::rfft(x[0], along_one(o))); }},
      {"irfft", [](const arrays& x, options o) -> arrays { return tk::irfft(first(x), along_one(o)); }},
      {"hfft", [](const arrays& x, options o) -> arrays { return tk::hfft(first(x), along_one(o)); }},
      {"ihfft", [](const arrays& x, options o) { return parts_of(tk::ihfft(x[0], along_one(o))); }},
      {"fft2", [](const arrays& x, options o) { return parts_of(tk::fft2(first(x), along_many(o))); }},
      {"ifft2", [](const arrays& x, options o) { return parts_of(tk::ifft2(first(x), along_many(o))); }},
      {"rfft2", [](const arrays& x, options o) { return parts_of(tk::rfft2(x[0], along_many(o))); }},
      {"irfft2", [](const arrays& x, options o) -> arrays { return tk::irfft2(first(x), along_many(o)); }},
      {"fftn", [](const arrays& x, options o) { return parts_of(tk::fftn(first(x), along_many(o))); }},
      {"ifftn", [](const arrays& x, options o) { return parts_of(tk::ifftn(first(x), along_many(o))); }},
      {"rfftn", [](const arrays& x, options o) { return parts_of(tk::rfftn(x[0], along_many(o))); }},
      {"irfftn", [](const arrays& x, options o) -> arrays { return tk::irfftn(first(x), along_many(o)); }},
      {"fftfreq",
       [](const arrays&, options o) -> arrays {
         return tk::fftfreq(o.integer("n"), o.number("d", 1), o.text("dtype") == "f64" ? tk::f64 : tk::f32);
       }},
      {"rfftfreq",
       [](const arrays&, options o) -> arrays {
         return tk::rfftfreq(o.integer("n"), o.number("d", 1), o.text("dtype") == "f64" ? tk::f64 : tk::f32);
       }},
  };
  table["fftshift"] = [](const arrays& x, options o) {
    return x.count() == 1 ? arrays(tk::fftshift(x[0], o.list("axes"))) : parts_of(tk::fftshift(first(x)));
  };
  table["ifftshift"] = [](const arrays& x, options o) {
    return x.count() == 1 ? arrays(tk::ifftshift(x[0], o.list("axes"))) : parts_of(tk::ifftshift(first(x)));
  };
  return table;
}
}  // namespace

TEST_CASE("functions of complex numbers are those of jax.numpy") {
  tk::test::check_cases("complex/elementwise.txt", elementwise_functions());
}
TEST_CASE("reductions, products and moves of complex arrays are those of jax.numpy") {
  tk::test::check_cases("complex/arrays.txt", array_functions());
}
TEST_CASE("Fourier transforms are those of jax.numpy.fft") {
  tk::test::check_cases("complex/fourier.txt", fourier_functions());
}
