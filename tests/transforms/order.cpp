// tests/transforms/order.cpp: results do not depend on the order in which the nodes of a trace were made.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/tokamax.hpp>

#include "support/catch.hpp"

#include <cstring>

using namespace tokamax;

namespace {

using matrix = tensor<f32, 5, 5>;

/// Functions that use several calls in one expression, whose order C++ leaves open.
constexpr auto functions = std::tuple{
    [](const array& x) { return sin(x) * exp(x) * cos(x); },
    [](const array& x) { return sin(x) + exp(x) * cos(x) + tanh(x) * log(x); },
    [](const array& x) { return (x + sin(x)) * (x + cos(x)) * (x + exp(x)); },
    [](const array& x) { return sqrt(x) * log(x) + x / (exp(x) + sin(x)); },
    [](const array& x) { return logistic(x) * tanh(x) - erf(x) * sqrt(x) + x * x; },
    [](const array& x) { return maximum(sin(x), cos(x)) * minimum(exp(x), log(x)) + x; },
    [](const array& x) { return gelu(x) + silu(x) * softplus(x) - relu(x); },
    [](const array& x) { return elu(x - 1) * leaky_relu(x - 1) * selu(x - 1) + x; },
    [](const array& x) { return power(x, 3.0f) * power(x, 0.5f) + rsqrt(x) * x; },
    [](const array& x) { return expm1(x) * log1p(x) * abs(x) + log_sigmoid(x) * sign(x); },
    [](const array& x) { return matmul(sin(x), cos(x)) * matmul(exp(x), x) + x; },
    [](const array& x) { return matmul(x, transpose(x)) + matmul(transpose(x), x) * x; },
    [](const array& x) { return softmax(x) * log_softmax(x) + softmax(sin(x)) * x; },
    [](const array& x) { return sum(sin(x), {{0}}) * max(x, {{1}}) * mean(exp(x), {{0}}) + sum(x); },
    [](const array& x) { return var(x, {{0}}) + mean(x * x, {{1}}) * min(cos(x), {{0}}) * sum(x, {{1}}); },
    [](const array& x) { return logsumexp(x, {{1}}) * logsumexp(sin(x), {{0}}) + sum(x * cos(x), {{1}}); },
    [](const array& x) { return cumsum(x, 0) * cumsum(sin(x), 1) + x * exp(-x); },
    [](const array& x) { return concatenate({sin(x), cos(x) * x, exp(x)}, 0) * concatenate({x, x * x, sqrt(x)}, 0); },
    [](const array& x) {
      return slice_in_dim(x, 0, 3, 0) * slice_in_dim(sin(x), 2, 5, 0) + slice_in_dim(x * x, 1, 4, 0);
    },
    [](const array& x) {
      return gather(x, iota(i32, {4}, 0)) * gather(sin(x), iota(i32, {4}, 0)) + gather(x, full({4}, 2, i32));
    },
    [](const array& x) {
      return take(x, iota(i32, {3}, 0), 1) * take(exp(x), iota(i32, {3}, 0), 1) * take(x, 0 * iota(i32, {3}, 0), 1);
    },
    [](const array& x) { return select(x > 1, sin(x) * x, cos(x) + x * x) * exp(x); },
    [](const array& x) { return clip(x, 0.4f, 1.2f) * sin(x) + cos(clip(x, 0.5f, 1.0f)) * x; },
    [](const array& x) { return reverse(x, {0}) * transpose(sin(x)) + exp(reverse(x, {1})) * x; },
    [](const array& x) { return sort(x) * sort(sin(x)) + x * sort(cos(x), 0); },
    [](const array& x) { return einsum("ij,jk->ik", x, sin(x)) * einsum("ij,kj->ik", cos(x), x) + exp(x); },
    [](const array& x) { return remainder(x * 3, sin(x) + 2) * exp(x) + x * cos(x); },
    [](const array& x) { return logaddexp(x, sin(x)) * fma(x, cos(x), exp(x)) + x; },
    [](const array& x) {
      return pad(sin(x), 0.0f, {1, 0}, {0, 1}) * pad(x * x, 0.0f, {1, 0}, {0, 1}) + pad(x, 0.0f, {0, 1}, {1, 0});
    },
    [](const array& x) { return layer_norm(x, sum(sin(x), {{0}}), sum(x, {{0}})) * exp(x) + x; },
    [](const array& x) { return rms_norm(x, sum(cos(x), {{0}})) * sin(x) + x * x; },
    [](const array& x) {
      return softmax_cross_entropy(x, iota(i32, {5}, 0)) * sum(sin(x), {{1}}) +
             softmax_cross_entropy(x * x, iota(i32, {5}, 0));
    },
    [](const array& x) { return stop_gradient(x) * sin(x) + x * stop_gradient(exp(x)) * cos(x) + x; },
    [](const array& x) { return grad([](const array& v) { return sum(sin(v) * exp(v) * cos(v)); })(x) * x + cos(x); },
    [](const array& x) {
      return grad([&](const array& v) { return sum(sin(v) * x * cos(v) + exp(v) * x); })(sin(x)) + x;
    },
    [](const array& x) {
      return jvp([](const array& v) { return sin(v) * exp(v) + v * cos(v); }, x, cos(x)).second * x;
    },
    [](const array& x) { return vmap([](const array& v) { return sin(v) * sum(v) + exp(v) * v; })(x) + x * x; },
    [](const array& x) {
      return vmap(
          [&](const array& v) { return grad([&](const array& w) { return sum(sin(w) * w * exp(w)); })(v) * v; })(x);
    },
    [](const array& x) {
      return scan([&](const array& c,
                      const array& v) { return std::pair{c * cos(v) + sin(c) * v + c, sin(c) * exp(v)}; },
                  sum(x, {{0}}) * 0.1f, x)
          .second;
    },
    [](const array& x) {
      const array a = sin(x), b = cos(x);
      return scan([&](const array& c, const array& v) { return std::pair{c * sum(a) + sum(b * a) * v * c, c * v}; },
                  sum(x, {{0}}) * 0.01f, x)
          .first;
    },
    [](const array& x) { return remat([](const array& v) { return sin(v) * v * exp(v) + cos(v); })(x) * x; },
    [](const array& x) { return astype(astype(sin(x), bf16) * astype(exp(x), bf16), f32) * x + cos(x); },
    [](const array& x) { return random::normal(random::key(3), {5, 5}) * x + sin(x) * exp(x) * x; },
};
constexpr std::size_t count = std::tuple_size_v<decltype(functions)>;

/// Gradients of N of the functions, from one on.
template <std::size_t First, std::size_t N>
struct gradients {
  constexpr std::array<array, N> operator()(const matrix& x) const {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return std::array<array, N>{
          grad([](const array& v) { return sum(std::get<First + I>(functions)(v) * 0.5f); })(x)...};
    }(std::make_index_sequence<N>{});
  }
};
matrix input() {
  std::vector<float> values;
  for (int i = 0; i < 25; ++i) values.push_back(0.3f + 0.07f * static_cast<float>((i * 7) % 25));
  return array::from<float>(values, {5, 5});
}
bool same_bits(const array& a, const array& b) {
  const auto x = a.values<float>(), y = b.values<float>();
  return a.type() == b.type() && std::memcmp(x.data(), y.data(), x.size_bytes()) == 0;
}
template <std::size_t First, std::size_t N>
void check() {
  const matrix x = input();
  const auto known = jit(gradients<First, N>{}, cpu, while_compiling)(x);
  const auto late = jit(gradients<First, N>{}, cpu, at_run_time)(x);
  const auto eager = gradients<First, N>{}(x);
  for (std::size_t k = 0; k < N; ++k) {
    INFO("function " << First + k);
    CHECK(same_bits(known[k], late[k]));
    CHECK(same_bits(eager[k], late[k]));
  }
}

/// The same expression, its parts named from the first to the last, and from the last to the first.
array forwards(const array& x) {
  const array a = sin(x) * x, b = exp(x) + x, c = cos(x) / x, d = tanh(x) * x;
  const array left = a * b, right = c * d;
  return left * right + b * c;
}
array backwards(const array& x) {
  const array d = tanh(x) * x, c = cos(x) / x, b = exp(x) + x, a = sin(x) * x;
  const array last = b * c, right = c * d, left = a * b;
  return left * right + last;
}

}  // namespace

TEST_CASE("gradients of an expression do not depend on the order in which its parts are named") {
  const matrix x = input();
  const auto gradient_of = [&](const auto& f) {
    return jit(grad([&](const array& v) { return sum(f(v)); }), cpu, at_run_time)(x);
  };
  const auto second_of = [&](const auto& f) {
    const auto g = grad([&](const array& v) { return sum(f(v)); });
    return jit(grad([&](const array& v) { return sum(g(v) * v); }), cpu, at_run_time)(x);
  };
  CHECK(same_bits(gradient_of(forwards), gradient_of(backwards)));
  CHECK(same_bits(second_of(forwards), second_of(backwards)));
}

TEST_CASE("what the compiler traces, what is traced at run time and what runs at once have the same bits") {
  static_assert(count >= 40);
  check<0, 22>();
  check<22, count - 22>();
}
