// bench/support/loops.hpp: fused loops that programs have, each as a function of the same operands. Tests run them too.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/tokamax.hpp>

#include <array>
#include <string_view>
#include <tuple>
#include <utility>

namespace bench {

namespace tk = tokamax;

/// What the loops read: matrices [R, C] of f32, random bits of the same shape, a row [1, C] and a column [R, 1].
template <std::int64_t R, std::int64_t C>
struct loop_operands {
  tk::tensor<tk::f32, R, C> x, y, z, w;
  tk::tensor<tk::u32, R, C> bits;
  tk::tensor<tk::f32, 1, C> row;
  tk::tensor<tk::f32, R, 1> column;
};

/// A loop with its name.
template <class F>
struct named_loop {
  std::string_view name;
  F of;
};
template <class F>
named_loop(const char*, F) -> named_loop<F>;

/// The update of an optimiser: x are the parameters, y their gradients, z and w its state.
inline constexpr std::tuple optimiser_loops{
    named_loop{"sgd", [](const auto& o) { return o.x - 0.1f * o.y; }},
    named_loop{"sgd, weight decay", [](const auto& o) { return o.x - 0.1f * (o.y + 1e-2f * o.x); }},
    named_loop{"momentum",
               [](const auto& o) {
                 const tk::array m = 0.9f * o.z + o.y;
                 return std::pair{o.x - 0.1f * m, m};
               }},
    named_loop{"nesterov",
               [](const auto& o) {
                 const tk::array m = 0.9f * o.z + o.y;
                 return std::pair{o.x - 0.1f * (0.9f * m + o.y), m};
               }},
    named_loop{"adam",
               [](const auto& o) {
                 const tk::array m = 0.9f * o.z + 0.1f * o.y, v = 0.999f * o.w + 0.001f * (o.y * o.y);
                 return std::array{o.x - 1e-3f * ((m / 0.19f) / (tk::sqrt(v / 0.002f) + 1e-8f)), m, v};
               }},
    named_loop{"adamw",
               [](const auto& o) {
                 const tk::array m = 0.9f * o.z + 0.1f * o.y, v = 0.999f * o.w + 0.001f * (o.y * o.y);
                 const tk::array u = (m / 0.19f) / (tk::sqrt(v / 0.002f) + 1e-8f) + 0.1f * o.x;
                 return std::array{o.x - 1e-3f * u, m, v};
               }},
    named_loop{"lion",
               [](const auto& o) {
                 const tk::array u = tk::sign(0.9f * o.z + 0.1f * o.y) + 0.1f * o.x;
                 return std::pair{o.x - 1e-4f * u, 0.99f * o.z + 0.01f * o.y};
               }},
    named_loop{"rmsprop",
               [](const auto& o) {
                 const tk::array v = 0.9f * o.w + 0.1f * (o.y * o.y);
                 return std::pair{o.x - 1e-3f * (o.y * tk::rsqrt(v + 1e-8f)), v};
               }},
    named_loop{"adagrad",
               [](const auto& o) {
                 const tk::array v = o.w + o.y * o.y;
                 return std::pair{o.x - 1e-2f * tk::select(v > 0, tk::rsqrt(v + 1e-7f), tk::zeros_like(v)) * o.y, v};
               }},
    named_loop{"clip by value", [](const auto& o) { return tk::minimum(tk::maximum(o.y, -0.1f), 0.1f); }},
    named_loop{"average of parameters", [](const auto& o) { return 0.999f * o.z + 0.001f * o.x; }},
};

/// Activations of x, and products of x and y with one.
inline constexpr std::tuple activation_loops{
    named_loop{"relu", [](const auto& o) { return tk::relu(o.x); }},
    named_loop{"relu6", [](const auto& o) { return tk::relu6(o.x); }},
    named_loop{"leaky_relu", [](const auto& o) { return tk::leaky_relu(o.x); }},
    named_loop{"elu", [](const auto& o) { return tk::elu(o.x); }},
    named_loop{"silu", [](const auto& o) { return tk::silu(o.x); }},
    named_loop{"gelu by tanh", [](const auto& o) { return tk::gelu(o.x); }},
    named_loop{"gelu by erf", [](const auto& o) { return tk::gelu(o.x, {.approximate = false}); }},
    named_loop{"softplus", [](const auto& o) { return tk::softplus(o.x); }},
    named_loop{"sigmoid", [](const auto& o) { return tk::sigmoid(o.x); }},
    named_loop{"tanh", [](const auto& o) { return tk::tanh(o.x); }},
    named_loop{"hard swish", [](const auto& o) { return o.x * tk::relu6(o.x + 3.0f) * (1.0f / 6); }},
    named_loop{"mish", [](const auto& o) { return o.x * tk::tanh(tk::softplus(o.x)); }},
    named_loop{"squared relu", [](const auto& o) { return tk::relu(o.x) * tk::relu(o.x); }},
    named_loop{"swiglu", [](const auto& o) { return tk::silu(o.x) * o.y; }},
    named_loop{"geglu", [](const auto& o) { return tk::gelu(o.x) * o.y; }},
    named_loop{"bias and gelu", [](const auto& o) { return tk::gelu(o.x + o.row); }},
};

/// The gradient of a function of x, times y.
template <class F>
constexpr tk::array gradient(const auto& o, F f) {
  return tk::grad([&](const tk::array& x) { return tk::sum(f(x) * o.y); })(tk::array(o.x));
}
inline constexpr std::tuple gradient_loops{
    named_loop{"relu, gradient",
               [](const auto& o) { return gradient(o, [](const tk::array& x) { return tk::relu(x); }); }},
    named_loop{"silu, gradient",
               [](const auto& o) { return gradient(o, [](const tk::array& x) { return tk::silu(x); }); }},
    named_loop{"gelu by tanh, gradient",
               [](const auto& o) { return gradient(o, [](const tk::array& x) { return tk::gelu(x); }); }},
    named_loop{"gelu by erf, gradient",
               [](const auto& o) {
                 return gradient(o, [](const tk::array& x) { return tk::gelu(x, {.approximate = false}); });
               }},
    named_loop{"tanh, gradient",
               [](const auto& o) { return gradient(o, [](const tk::array& x) { return tk::tanh(x); }); }},
    named_loop{"softplus, gradient",
               [](const auto& o) { return gradient(o, [](const tk::array& x) { return tk::softplus(x); }); }},
    named_loop{"elu, gradient",
               [](const auto& o) { return gradient(o, [](const tk::array& x) { return tk::elu(x); }); }},
    named_loop{"swiglu, gradients",
               [](const auto& o) {
                 const tk::array s = tk::sigmoid(o.x), f = o.x * s;
                 return std::pair{o.z * o.y * (s + f * (1.0f - s)), o.z * f};
               }},
};

/// What is elementwise in norms, positions, dropout, losses and number formats.
inline constexpr std::tuple other_loops{
    named_loop{"bias", [](const auto& o) { return o.x + o.row; }},
    named_loop{"residual and scale", [](const auto& o) { return o.x + o.y * o.row; }},
    named_loop{"layer norm", [](const auto& o) { return (o.x - o.column) * tk::rsqrt(o.y + 1e-5f) * o.row + 0.5f; }},
    named_loop{"rms norm", [](const auto& o) { return o.x * o.column * (1.0f + o.row); }},
    named_loop{"layer norm, gradient",
               [](const auto& o) { return o.column * (o.y * o.row - 0.01f - o.x * 0.02f) + o.z; }},
    named_loop{"rotary", [](const auto& o) { return std::pair{o.x * o.z - o.y * o.w, o.y * o.z + o.x * o.w}; }},
    named_loop{"dropout",
               [](const auto& o) { return tk::select(o.bits < 3865470566u, o.x * (1 / 0.9f), tk::zeros_like(o.x)); }},
    named_loop{"uniform numbers",
               [](const auto& o) { return tk::astype(tk::shift_right_logical(o.bits, 8u), tk::f32) * 0x1p-24f; }},
    named_loop{"mixed bits",
               [](const auto& o) {
                 const tk::array a = tk::bitwise_xor(o.bits, tk::shift_right_logical(o.bits, 16u)) * 0x7feb352du;
                 return tk::bitwise_xor(a, tk::shift_right_logical(a, 15u)) * 0x846ca68bu;
               }},
    named_loop{"causal mask",
               [](const auto& o) {
                 const tk::array i = tk::iota(tk::i32, o.x.shape(), 0), j = tk::iota(tk::i32, o.x.shape(), 1);
                 return tk::select(i >= j, o.x * 0.125f, tk::full_like(o.x, -1e30));
               }},
    named_loop{"softmax", [](const auto& o) { return tk::exp(o.x - o.column) * o.z; }},
    named_loop{"softmax, gradient", [](const auto& o) { return o.x * (o.y - o.column); }},
    named_loop{"squared error, gradient", [](const auto& o) { return (o.x - o.y) * 1e-3f; }},
    named_loop{"huber",
               [](const auto& o) {
                 const tk::array d = tk::abs(o.x - o.y);
                 return tk::select(d < 0.2f, 0.5f * d * d, 0.2f * (d - 0.1f));
               }},
    named_loop{"binary cross entropy",
               [](const auto& o) { return tk::relu(o.x) - o.x * o.y + tk::log1p(tk::exp(-tk::abs(o.x))); }},
    named_loop{"cross entropy, gradient", [](const auto& o) { return (tk::exp(o.x - o.column) - o.y) * 1e-3f; }},
    named_loop{"hinge", [](const auto& o) { return tk::maximum(1.0f - o.x * o.y, 0.0f); }},
    named_loop{"to bf16", [](const auto& o) { return tk::astype(o.x * 0.5f, tk::bf16); }},
    named_loop{"bf16 gate",
               [](const auto& o) {
                 return tk::astype(tk::silu(tk::astype(o.x, tk::bf16)) * tk::astype(o.y, tk::bf16), tk::f32);
               }},
    named_loop{"to i8",
               [](const auto& o) {
                 return tk::astype(tk::minimum(tk::maximum(tk::round(o.x * 100.0f), -127.0f), 127.0f), tk::i8);
               }},
    named_loop{"chain of 8 ops",
               [](const auto& o) { return (o.x * 2.0f + o.y) * (o.x - o.y) + tk::maximum(o.x, 0.1f) * o.y; }},
};

/// Loop K of a list as a function that a program can be made of.
template <const auto& List, std::size_t K, std::int64_t R, std::int64_t C>
inline constexpr auto loop_function = [](const loop_operands<R, C>& o) { return std::get<K>(List).of(o); };

/// Calls f(name, function) for all loops of a list.
template <const auto& List, std::int64_t R, std::int64_t C, class F>
void for_loops(F f) {
  [&]<std::size_t... K>(std::index_sequence<K...>) {
    (f(std::get<K>(List).name, loop_function<List, K, R, C>), ...);
  }(std::make_index_sequence<std::tuple_size_v<std::remove_cvref_t<decltype(List)>>>{});
}

}  // namespace bench
