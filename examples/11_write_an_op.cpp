// examples/11_write_an_op.cpp: three ops of your own. New here: op, elementwise, infer, compose, vjp, bind, schema.
#include <tokamax/compiler/text/parse.hpp>
#include <tokamax/compiler/text/print.hpp>
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

// An op with options binds a struct of them and reads it with `c.attrs<the_struct>()`. Its fields are numbers, enums, shapes,
// texts, lists and structs of these. With `schema`, graphs print them by name and are read back.
struct pick_options {
  tk::text_attribute label;  // for people who read the graph
  tk::vec<std::int64_t> columns;
};
inline constexpr tk::op pick_p{
    .name = "pick",
    .attributes = tk::schema<pick_options>,
    .infer = [](const tk::call& c) -> tk::array_type {  // [..., n] -> [..., columns]
      tk::array_type t = type_of_rows(c);
      const auto o = c.attrs<pick_options>();
      for (const std::int64_t k : o.columns)
        if (k < 0 || k >= c[0].extent(-1)) return c.fail("pick: column", tk::message() << k, "one of the last axis");
      t.shape.push_back(o.columns.count());
      return t;
    },
    .compose = [](const tk::call& c) -> tk::arrays {
      tk::arrays parts;
      for (const std::int64_t k : c.attrs<pick_options>().columns)
        parts.push_back(tk::slice_in_dim(c[0], k, k + 1, -1));
      return tk::concatenate(parts, -1);
    },
};
constexpr array pick(const array& x, std::string_view label, const tk::vec<std::int64_t>& columns,
                     tk::source_line l = tk::source_line::current()) {
  return tk::bind(pick_p, {x}, pick_options{label, columns}, l);
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

  // A graph is text, also with your ops and their options.
  const auto ends = [](const array& row) { return smooth_max(pick(row, "first and \"last\"", {0, 2})); };
  const std::string text = tk::to_text(tk::make_graph(ends, x));
  fmt::print("{}", text);
  tk::vec<const tk::op*> ops = tk::library_ops();
  for (const tk::op* mine : {&pick_p, &smooth_max_p}) ops.push_back(mine);
  fmt::print("read back: {}\n", tk::to_text(tk::parse_graph(text, ops)) == text ? "the same graph" : "another graph");
  print("ends", ends(x));

  try {
    smooth_max(1.0f);
  } catch (const tk::error& e) {
    fmt::print("error: {}: found {}, expected {}\n", e.subject, e.found, e.expected);
  }
}
