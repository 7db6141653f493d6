// tests/transforms/matrix.cpp: every transform of every transform of many functions, compared with plain loops.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/tokamax.hpp>
#include <tokamax/transforms/cumulative.hpp>

#include "support/transform_matrix.hpp"

using namespace tokamax;
using namespace tokamax::test;
using namespace tokamax::test::matrix;

namespace {

constexpr auto tripled =
    custom_jvp([](const array& x) { return 3.0f * sin(x); },
               [](const array& x, const array& dx) { return std::pair{3.0f * sin(x), 3.0f * cos(x) * dx}; });
constexpr auto squared =
    custom_vjp([](const array& x) { return x * x * x; }, [](const array& x) { return std::pair{x * x * x, x}; },
               [](const array& x, const array& ct) { return 3.0f * x * x * ct; });

const function_row functions[] = {
    {"sin * exp", [](const array& x) { return sin(x) * exp(x); }, {4}},
    {"tanh + log1p", [](const array& x) { return tanh(x) + log1p(x * x); }, {4}},
    {"rsqrt", [](const array& x) { return rsqrt(1.0f + x * x) / (2.0f + cos(x)); }, {4}},
    {"power", [](const array& x) { return power(1.5f + x * x, 1.0f + sin(x)); }, {4}},
    {"erf * logistic", [](const array& x) { return erf(x) * logistic(x) - expm1(x); }, {4}},
    {"abs * sign", [](const array& x) { return abs(x) * x + sign(x) * x * x; }, {4}},
    {"where", [](const array& x) { return where(x > 0.25f, x * x * x, sin(x)); }, {4}},
    {"clip", [](const array& x) { return clip(x, -0.5f, 0.5f) * x * x; }, {4}},
    {"maximum", [](const array& x) { return maximum(x * x, sin(x)) * minimum(x, 0.375f); }, {4}},
    {"gelu + softplus", [](const array& x) { return gelu(x) + softplus(x) * silu(x); }, {4}},
    {"sum", [](const array& x) { return sum(x * x * x, {{0}}) * sum(sin(x)); }, {2, 2}},
    {"var", [](const array& x) { return mean(x, {{1}, true}) * var(x, {{0}}); }, {2, 3}},
    {"max", [](const array& x) { return max(x * x, {{1}}) * x[0]; }, {2, 2}},
    {"prod", [](const array& x) { return prod(1.0f + x, {{1}}); }, {2, 2}},
    {"logsumexp", [](const array& x) { return logsumexp(x * x, {{1}}); }, {2, 3}},
    {"softmax", [](const array& x) { return softmax(x) * x; }, {2, 3}},
    {"log_softmax", [](const array& x) { return log_softmax(x * x, 0); }, {3, 2}},
    {"layer_norm", [](const array& x) { return layer_norm(x, sum(sin(x), {{0}}), x[0]); }, {2, 3}},
    {"rms_norm", [](const array& x) { return rms_norm(x, sum(cos(x), {{0}})); }, {2, 3}},
    {"matmul", [](const array& x) { return matmul(matmul(x, sin(x)), x); }, {2, 2}},
    {"einsum", [](const array& x) { return einsum("ij,kj->ik", x, sin(x)) * einsum("ij->ji", x); }, {2, 2}},
    {"cross entropy", [](const array& x) { return softmax_cross_entropy(x * x, iota(i32, {2}, 0)); }, {2, 3}},
    {"attention",
     [](const array& x) {
       const array q = reshape(x, {1, 2, 1, 2});
       return dot_product_attention(q, sin(q), q * q);
     },
     {4}},
    {"conv",
     [](const array& x) {
       return conv_general_dilated(reshape(x, {1, 6, 1}), reshape(sin(slice_in_dim(x, 0, 3, 0)), {3, 1, 1}),
                                   {.strides = {2}, .low = {1}, .high = {1}, .lhs_dilation = {1}, .rhs_dilation = {1}});
     },
     {6}},
    {"max_pool", [](const array& x) { return max_pool(reshape(x * x, {1, 4, 1}), {2}); }, {4}},
    {"avg_pool", [](const array& x) { return avg_pool(reshape(x * x, {1, 4, 1}), {2}); }, {4}},
    {"gather",
     [](const array& x) { return gather(x, array::from<std::int32_t>({2, 0, 2})) * gather(sin(x), iota(i32, {3}, 0)); },
     {3, 2}},
    {"take", [](const array& x) { return take(exp(x), array::from<std::int32_t>({1, 1}), 1) * x; }, {2, 2}},
    {"scatter_add",
     [](const array& x) { return scatter_add(x, array::from<std::int32_t>({1, 0, 1, 2}), sin(x)); },
     {4}},
    {"at.set", [](const array& x) { return x.at(array::from<std::int32_t>({3, 1})).set(x[0] * x[1]) * x; }, {4}},
    {"dynamic_slice",
     [](const array& x) { return dynamic_slice(x * x, {convert_element_type(sum(x) > 0.0f, i32)}, {3}); },
     {4}},
    {"dynamic_update_slice",
     [](const array& x) {
       return dynamic_update_slice(x, sin(slice_in_dim(x, 0, 2, 0)), {convert_element_type(sum(x) > 0.0f, i32)}) * x;
     },
     {4}},
    {"sort", [](const array& x) { return sort(sin(x)) * x; }, {5}},
    {"top_k", [](const array& x) { return top_k(x * x, 2).values; }, {5}},
    {"argmax", [](const array& x) { return take(x, argmax(x)) * x; }, {4}},
    {"cumsum", [](const array& x) { return cumsum(x * x, 0) * cumsum(x, 0, true); }, {4}},
    {"cumprod", [](const array& x) { return cumprod(1.0f + x, 0); }, {4}},
    {"cummax", [](const array& x) { return cummax(sin(x), 0) * x; }, {4}},
    {"cumlogsumexp", [](const array& x) { return cumlogsumexp(x, 0); }, {4}},
    {"concatenate",
     [](const array& x) { return concatenate({sin(x), x * x}, 0) * concatenate({x, reverse(x, {0})}, 0); },
     {3}},
    {"pad, transpose", [](const array& x) { return pad(transpose(x) * x, sum(x), {1, 0}, {0, 1}); }, {2, 2}},
    {"random", [](const array& x) { return random::normal(random::key(3), {4}) * x * x; }, {4}},
    {"stop_gradient", [](const array& x) { return stop_gradient(floor(1.5f * x + 0.25f)) * sin(x); }, {4}},
    {"scan in it",
     [](const array& x) {
       return scan([](const array& c, const array& v) { return std::pair{sin(c) * v, c * v}; }, x[0], x).second;
     },
     {4}},
    {"fori_loop in it",
     [](const array& x) { return fori_loop(0, 3, [](const array&, const array& v) { return sin(v) * 1.5f; }, x); },
     {3}},
    {"while in it",
     [](const array& x) {
       return while_loop([](const array& v) { return sum(abs(v)) < 4.0f; },
                         [](const array& v) { return v * 1.5f + 0.25f * v * v; }, x);
     },
     {3},
     has::no_reverse},
    {"cond in it",
     [](const array& x) {
       return cond(x[1] > 0.25f, [](const array& v) { return v * v; }, [](const array& v) { return sin(v); }, x);
     },
     {3}},
    {"switch in it",
     [](const array& x) {
       const std::tuple branches{[](const array& v) { return v * v; }, [](const array& v) { return sin(v); },
                                 [](const array& v) { return v * v * v; }};
       return switch_(convert_element_type(floor(3.0f * x[0]), i32), branches, x);
     },
     {3}},
    {"associative_scan",
     [](const array& x) { return associative_scan([](const array& a, const array& b) { return a * b; }, 1.0f + x); },
     {4}},
    {"vmap in it", [](const array& x) { return vmap([](const array& v) { return sum(v) * sin(v); })(x); }, {2, 2}},
    {"grad in it", [](const array& x) { return grad([](const array& v) { return sum(sin(v) * v * v); })(x); }, {3}},
    {"remat in it", [](const array& x) { return remat([](const array& v) { return sin(v) * exp(v); })(x) * x; }, {3}},
    {"custom_jvp", [](const array& x) { return tripled(x) * x; }, {3}},
    {"custom_vjp", [](const array& x) { return squared(x) * x; }, {3}, has::no_forward},
};

/// Two transforms of one function, known while compiling.
constexpr array short_function(const array& x) { return sin(x) * sum(x); }
template <int... Pairs>
struct static_pairs {
  constexpr std::array<array, sizeof...(Pairs)> operator()(const tensor<f32, 3>& x) const {
    return {pair_of<Pairs / 10, Pairs % 10>(x)...};
  }
  template <int Outer, int Inner>
  static constexpr array pair_of(const array& x) {
    const function_under base{short_function}, once{nullptr, transforms[Inner].traced, &base};
    return function_under{nullptr, transforms[Outer].traced, &once}(x);
  }
};

}  // namespace

TEST_CASE("each transform of each transform of many functions is the loop that it means") {
  int checked = 0;
  for (const function_row& row : functions) {
    const graph g = trace([&](const arrays& x) -> arrays { return row.f(x[0]); }, {type_of(row, f32)});
    checked += check_pairs(row, [&](const value& x) { return evaluate(g, {x})[0]; }, f32, 2e-4);
  }
  CHECK(checked == 256 * static_cast<int>(std::size(functions)));
  CHECK(std::size(functions) >= 50);
}

TEST_CASE("pairs of transforms that the compiler traces have the values of those traced at run time") {
  // jvp 0, vjp 1, vmap 2, remat 4, scan 5, cond 6, while 7: the outer one is the first digit
  using program = static_pairs<1, 10, 11, 12, 21, 14, 15, 51, 16, 61, 7, 70, 27, 52, 46, 24>;
  const tensor<f32, 3> x = array::from<float>({0.5f, -0.25f, 0.75f});
  const auto known = jit(program{}, cpu, while_compiling)(x), late = jit(program{}, cpu, at_run_time)(x);
  for (std::size_t k = 0; k < known.size(); ++k) {
    INFO("pair " << k);
    CHECK(bit_difference({known[k]}, {late[k]}) == "");
  }
}
