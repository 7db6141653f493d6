// tests/ops/attention/mask_operands.cpp: masks inside loops and recomputed layers, in eager, traced and static programs.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/core/tensor.hpp>
#include <tokamax/ops/attention.hpp>
#include <tokamax/runtime/jit.hpp>
#include <tokamax/transforms/control_flow/scan.hpp>
#include <tokamax/transforms/grad.hpp>
#include <tokamax/transforms/remat.hpp>

#include "support/check_op.hpp"
#include "support/contains.hpp"
#include "support/golden.hpp"
#include "support/steps_of.hpp"

namespace tk = tokamax;
using tk::array;
using tk::test::noise;

namespace {

constexpr std::int64_t length = 40, steps = 3;
using states = tk::tensor<tk::f32, 2, length, 2, 4>;  // [B, T, N, H]
using segments = tk::tensor<tk::i32, 2, length>;      // [B, T]
using shifts = tk::tensor<tk::f32, steps, 2, 4>;      // a layer's parameters [N, H]
constexpr int kinds = 7;

/// One of several masks, with arrays that the program computes.
constexpr tk::attention_mask mask_of(int kind, const array& ids) {
  const tk::attention_mask prefix{.k_end =
                                      max(ids, {{-1}, true}) + 3};  // [B, 1]: as many keys as the highest number says
  if (kind == 0) return tk::causal_mask;
  if (kind == 1) return tk::local_mask(3, 2);
  if (kind == 2) return tk::chunked_mask(8) & tk::causal_mask;
  if (kind == 3) return tk::segment_mask(ids);
  if (kind == 4) return tk::segment_mask(ids, ids) & tk::causal_mask;
  if (kind == 5) return tk::local_mask(4, 0) | tk::attention_mask{.k_end = 4};
  return tk::segment_mask(ids) | tk::attention_mask{.k_end = expand_dims(prefix.k_end, -1)};
}

/// Layers in a loop, each of which the backward pass computes again.
constexpr array layers(int kind, const array& x, const array& ids, const array& w) {
  const auto layer = [=](const array& y, const array& shift) {
    return y + tk::dot_product_attention(y + shift, y * 0.5f, y, {.mask = mask_of(kind, ids)});
  };
  const auto step = [=](const array& y, const array& shift) {
    return std::pair{tk::remat(layer)(y, shift), tk::nothing{}};
  };
  return tk::scan(step, x, w).first;
}
/// The same without the loop and with booleans of all pairs.
array plain_layers(int kind, array y, const array& ids, const array& w) {
  const array seen = mask_of(kind, ids).as_array(length, length);
  for (int i = 0; i < steps; ++i) y = y + tk::dot_product_attention(y + w[i], y * 0.5f, y, {.mask = seen});
  return y;
}

/// The loss of all kinds of masks one after the other, and its gradients.
constexpr auto all_kinds = [](const states& x, const segments& ids, const shifts& w) {
  const auto loss = [](const array& a, const array& b, const array& c) {
    array y = a;
    for (int kind = 0; kind < kinds; ++kind) y = layers(kind, y, b, c);
    return sum(tanh(y));
  };
  return tk::value_and_grad(loss)(static_cast<const array&>(x), static_cast<const array&>(ids),
                                  static_cast<const array&>(w));
};

struct inputs {
  states x{noise({2, length, 2, 4}, 1)};
  segments ids{quotient(tk::iota(tk::i32, {2, length}, 1), 7) + tk::iota(tk::i32, {2, length}, 0)};
  shifts w{noise({steps, 2, 4}, 2)};
};

}  // namespace

TEST_CASE("masks in loops of recomputed layers are booleans of all pairs") {
  const inputs in;
  for (int kind = 0; kind < kinds; ++kind) {
    CAPTURE(kind);
    const auto loss = [kind](const auto& f) {
      return [kind, f](const array& x, const array& ids, const array& w) { return sum(tanh(f(kind, x, ids, w))); };
    };
    const auto [y, g] = tk::value_and_grad(loss(layers))(in.x, in.ids, in.w);
    const auto [e, h] = tk::value_and_grad(loss(plain_layers))(in.x, in.ids, in.w);
    CHECK(tk::test::distance(y, e) < 1e-5);
    CHECK(tk::test::distance(g, h) < 1e-5);
    const auto traced = tk::jit(tk::value_and_grad(loss(layers)), tk::cpu, tk::at_run_time);
    const auto [z, d] = traced(in.x, in.ids, in.w);
    CHECK(tk::test::distance(z, y) < 1e-5);
    CHECK(tk::test::distance(d, g) < 1e-5);
  }
}

TEST_CASE("static and traced programs with masks in loops have the same bits") {
  const inputs in;
  const auto [y, g] = tk::jit(all_kinds, tk::cpu, tk::while_compiling)(in.x, in.ids, in.w);
  const auto [z, d] = tk::jit(all_kinds, tk::cpu, tk::at_run_time)(in.x, in.ids, in.w);
  CHECK(tk::test::distance(y, z) == 0);
  CHECK(tk::test::distance(g, d) == 0);
  const auto [e, h] = all_kinds(in.x, in.ids, in.w);
  CHECK(tk::test::distance(y, e) < 1e-5);
  CHECK(tk::test::distance(g, h) < 1e-5);
}

TEST_CASE("programs with ranges and segments never make the booleans of all pairs") {
  const inputs in;
  for (const int kind : {0, 1, 2, 3, 4, 5}) {
    CAPTURE(kind);
    const auto attend = [kind](const array& x, const array& ids) {
      return tk::dot_product_attention(x, x, x, {.mask = mask_of(kind, ids)});
    };
    const std::string names = tk::test::steps_of(tk::jit(attend, tk::cpu, tk::at_run_time), in.x, in.ids);
    CHECK_THAT(names, contains("attention") && !contains("40,40"));
  }
}
