// examples/11_write_an_op.cpp: two ops of your own. New here: op, elementwise, infer, compose, vjp, bind.
#include <tokamax/tokamax.hpp>

#include <fmt/core.h>

namespace tk = tokamax;
using tk::array;

// An op is one constant, its descriptor: a name and rules. Nothing is registered. A rule that is missing is derived.

// First an elementwise op, log(cosh(x)). Its meaning is a function of one element, a template: the same text is
// compiled for numbers and for SIMD vectors, and fused loops call it.
struct log_cosh_fn {
  template <class V>
  static constexpr V apply(V x) {
    using namespace tk::scalar_math;
    return abs(x) + log1p(exp(V(-2) * abs(x))) - V(0.6931471805599453);  // cosh itself overflows at x = 90
  }
};
inline constexpr tk::op log_cosh_p = tk::elementwise<log_cosh_fn, 1>({
    .name = "log_cosh",
    .dtypes = tk::accepts::floating,
    .vjp = [](const tk::call& c) -> tk::arrays { return c.ct() * tk::tanh(c[0]); },  // ct: the cotangent of the result
    .kernels = tk::kernels_of<log_cosh_p>,
});
template <>
struct tokamax::element_of<log_cosh_p> : log_cosh_fn {};

constexpr array log_cosh(const array& x, tk::source_line l = tk::source_line::current()) {
  return tk::bind(log_cosh_p, {x}, tk::words{}, l);
}

// Then an op on rows, a maximum without corners. `infer` gives the type of the result and is the only place that
// rejects arguments. `compose` gives the meaning in smaller ops; without `vjp`, the gradient would be derived from it.
// An op with options binds a struct of them and reads it with `c.attrs<the_struct>()`: see ops/layer_norm.hpp.
constexpr tk::array_type type_of_rows(const tk::call& c) {  // [..., n] -> [...]
  if (c[0].rank() == 0) return c.fail("smooth_max: x", c[0].type(), "an array with an axis");
  tk::shape rows;
  for (int i = 0; i + 1 < c[0].rank(); ++i) rows.push_back(c[0].extent(i));
  return {c[0].dtype(), false, rows};
}
inline constexpr tk::op smooth_max_p{
    .name = "smooth_max",
    .infer = type_of_rows,
    .compose = [](const tk::call& c) -> tk::arrays { return tk::logsumexp(c[0], {.axis = {-1}}); },
    .vjp = [](const tk::call& c) -> tk::arrays { return tk::expand_dims(c.ct(), {-1}) * tk::softmax(c[0]); },
};
constexpr array smooth_max(const array& x, tk::source_line l = tk::source_line::current()) {  // l: the caller's line
  return tk::bind(smooth_max_p, {x}, tk::words{}, l);
}

void print(const char* name, const array& a) {
  fmt::print("{:<12}", name);
  for (float v : a.values<float>()) fmt::print(" {:.4f}", v);
  fmt::print("\n");
}

using rows = tk::tensor<tk::f32, 2, 3>;
constexpr auto loss = [](const rows& x) { return tk::sum(smooth_max(log_cosh(x))); };

int main() {
  print("log_cosh", log_cosh(array{-100.0f, 0.0f, 1.0f}));
  print("smooth_max", smooth_max(array{1.0f, 2.0f, 4.0f}));

  // Transformations know both ops, and the C++ compiler fuses them.
  const rows x = tk::constant({{0.5f, -1.0f, 2.0f}, {1.0f, 0.0f, -0.5f}});
  const auto slope = tk::jit(tk::grad(loss), tk::cpu);
  print("gradient", slope(x));
  print("vmap", tk::vmap([](const array& row) { return smooth_max(row); })(x));  // rules for batches are derived

  // A rule that you wrote is a claim: compare it with finite differences.
  const float h = 1e-2f;
  float worst = 0;
  for (int i = 0; i < 6; ++i) {
    const array step = tk::reshape(tk::astype(tk::arange(6) == i, tk::f32), {2, 3}) * h;
    const float difference = (loss(x + step).item() - loss(x - step).item()) / (2 * h);
    worst = std::max(worst, std::abs(difference - tk::reshape(slope(x), {6})[i].item()));
  }
  fmt::print("finite differences agree: {}\n", worst < 1e-3f ? "yes" : "no");

  try {
    smooth_max(1.0f);
  } catch (const tk::error& e) {
    fmt::print("error: {}: found {}, expected {}\n", e.subject, e.found, e.expected);
  }
}
