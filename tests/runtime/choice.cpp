// tests/runtime/choice.cpp: implementations named by the user, or by a table, run in eager, traced and static programs alike.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/runtime/choice.hpp>

#include <tokamax/core/scope/use_implementation.hpp>
#include <tokamax/ops/gated_delta_rule.hpp>
#include <tokamax/tokamax.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/steps_of.hpp"

#include <algorithm>
#include <vector>

namespace tk = tokamax;
using tk::array;
using tk::test::steps_of;

namespace {

using queries = tk::tensor<tk::f32, 2, 8, 2, 4>;
array noise(const tk::shape& s, std::uint32_t seed) { return tk::random::normal(tk::random::key(seed), s); }

constexpr auto attend = [](const queries& q) { return tk::dot_product_attention(q, q, q, {.is_causal = true}); };
constexpr auto attend_composed = [](const queries& q) {
  return tk::dot_product_attention(q, q, q, {.is_causal = true, .implementation = "compose"});
};
constexpr auto gradient = [](const queries& q) {
  return tk::grad([](const queries& x) { return tk::sum(tk::square(attend_composed(x))); })(q);
};

array ints(std::initializer_list<std::int32_t> list) { return array::from<std::int32_t>(list); }

/// The elements in the other order. What its meaning names cannot be done in the memory of the operand; its kernel can.
inline constexpr tk::op turned_p{
    .name = "turned",
    .memory = {.overwrites = 0},
    .infer = [](const tk::call& c) -> tk::array_type { return c[0].type(); },
    .compose = [](const tk::call& c) -> tk::arrays { return tk::reverse(c[0], {0}); },
    .run =
        [](const tk::kernel_arguments& a) {
          const float* const x = a.in[0].as<const float>();
          const std::vector<float> read(x, x + a.in[0].size());
          std::copy(read.rbegin(), read.rend(), a.out[0].as<float>());
        },
};

double furthest(const array& a, const array& b) {
  double most = 0;
  for (std::int64_t i = 0; i < a.size(); ++i)
    most = std::max(most, std::abs(static_cast<double>(a.data<float>()[i]) - static_cast<double>(b.data<float>()[i])));
  return most;
}

}  // namespace

TEST_CASE("an implementation that the user names runs in eager, traced and static programs") {
  const queries q = noise({2, 8, 2, 4}, 1);
  const array expected = attend(q);
  const auto traced = tk::jit(attend_composed, tk::cpu, tk::at_run_time);
  const auto fixed = tk::jit(attend_composed, tk::cpu, tk::while_compiling);
  const auto plain = tk::jit(attend, tk::cpu, tk::while_compiling);
  for (int run = 0; run < 2; ++run) {
    CHECK_THAT(steps_of(attend, q), contains("attention f32") && !contains("exp"));
    CHECK_THAT(steps_of(plain, q), contains("attention f32") && !contains("exp"));
    CHECK_THAT(steps_of(attend_composed, q), contains("exp"));
    CHECK_THAT(steps_of(traced, q), contains("exp"));
    CHECK_THAT(steps_of(fixed, q), contains("exp"));
    CHECK(furthest(attend_composed(q), expected) < 1e-6);
    CHECK(furthest(traced(q), expected) < 1e-6);
    CHECK(furthest(fixed(q), expected) < 1e-6);
  }
}

TEST_CASE("gradients use what the user names for their op, in each kind of program") {
  const queries q = noise({2, 8, 2, 4}, 2);
  const auto plain = [](const queries& x) {
    return tk::grad([](const queries& y) { return tk::sum(tk::square(attend(y))); })(x);
  };
  const array expected = plain(q);
  const auto traced = tk::jit(gradient, tk::cpu, tk::at_run_time);
  const auto fixed = tk::jit(gradient, tk::cpu, tk::while_compiling);
  CHECK_THAT(steps_of(traced, q), contains("attention_vjp") && contains("by compose"));
  CHECK_THAT(steps_of(fixed, q), contains("attention_vjp") && contains("by compose"));
  CHECK(furthest(traced(q), expected) < 1e-5);
  CHECK(furthest(fixed(q), expected) < 1e-5);
}

TEST_CASE("the first name of a list that can compute the call is taken, and all reasons are given if none can") {
  const array x = noise({4, 8}, 3);
  const auto by = [&](const tk::implementation_names& names) {
    return [names](const array& a) { return tk::layer_norm(a, {}, {}, {.implementation = names}); };
  };
  CHECK_THAT(steps_of(by({"onednn", "compose", "kernel"}), x), contains("by compose"));
  CHECK_THAT(steps_of(by({"onednn", "kernel", "compose"}), x), !contains("by compose"));
  CHECK_THAT(steps_of(by({}), x), !contains("by compose"));
  CHECK_THROWS_WITH(by({"onednn", "cudnn"})(x), contains("layer_norm: implementation") &&
                                                    contains("onednn: not known; cudnn: not known") &&
                                                    contains("one of kernel compose") && contains("f32[4,8]"));
  CHECK_THROWS_WITH(tk::jit(by("onednn"), tk::cpu)(x), contains("onednn: not known"));
  CHECK_THROWS_WITH(by("not a word")(x), contains("implementation: name"));
  CHECK_THROWS_WITH(by({"a", "b", "c", "d", "e"})(x), contains("implementation: name"));
  CHECK_THROWS_WITH(tk::dot_product_attention(x, x, x, {.logits_dtype = tk::f32, .implementation = "kernel"}),
                    contains("attention"));
}

TEST_CASE("the innermost scope of names wins, and ends with its lifetime") {
  const array x = noise({4, 8}, 4);
  const auto norm = [](const array& a) { return tk::layer_norm(a); };
  const tk::use_implementation outer("layer_norm", "compose");
  CHECK_THAT(steps_of(norm, x), contains("by compose"));
  {
    const tk::use_implementation inner("layer_norm", "kernel"), other("softmax", "compose");
    CHECK_THAT(steps_of(norm, x), !contains("by compose"));
    CHECK_THAT(steps_of([](const array& a) { return tk::softmax(a); }, x), contains("by compose"));
  }
  CHECK_THAT(steps_of(norm, x), contains("by compose"));
}

TEST_CASE("compose reads operands with any strides, and empty ones") {
  const auto both = [](const auto& f, const array& x) {
    const array expected = tk::jit(f, tk::cpu, tk::at_run_time)(x);
    const auto composed = [&](const array& a) {
      const tk::use_implementation by_meaning("attention", "compose", a);
      return f(a);
    };
    const auto run = tk::jit(composed, tk::cpu, tk::at_run_time);
    if (x.size() > 0) CHECK_THAT(steps_of(run, x), contains("by compose"));
    const array found = run(x);
    REQUIRE(found.shape() == expected.shape());
    CHECK(furthest(found, expected) < 1e-5);
  };
  const auto part = [](const array& x, int i) { return tk::squeeze(tk::slice_in_dim(x, i, i + 1, 2), 2); };
  const auto packed = [&](const array& x) { return tk::dot_product_attention(part(x, 0), part(x, 1), part(x, 2)); };
  both(packed, noise({2, 5, 3, 2, 4}, 5));
  both([&](const array& x) { return packed(tk::swapaxes(x, 0, 1)); }, noise({5, 2, 3, 2, 4}, 6));
  both([&](const array& x) { return packed(tk::swapaxes(x, -1, -2)); }, noise({2, 5, 3, 4, 2}, 7));
  both([&](const array& x) { return packed(tk::slice(x, {0, 0, 0, 0, 0}, {2, 5, 3, 2, 8}, {1, 2, 1, 1, 2})); },
       noise({2, 5, 3, 2, 8}, 8));
  both([&](const array& x) { return packed(tk::broadcast_to(x, {2, 5, 3, 2, 4})); }, noise({1, 5, 3, 1, 4}, 9));
  both(packed, tk::zeros({0, 5, 3, 2, 4}));
}

TEST_CASE("compose computes ops that write over an operand, in the memory of that operand too") {
  const auto same = [](std::string_view op, const auto& f, const array& x) {
    CAPTURE(op);
    const array expected = tk::jit(f, tk::cpu, tk::at_run_time)(x);
    const auto composed = [&](const array& a) {
      const tk::use_implementation by_meaning(op, "compose", a);
      return f(a);
    };
    const auto run = tk::jit(composed, tk::cpu, tk::at_run_time);
    CHECK_THAT(steps_of(run, x), contains("by compose"));
    CHECK(furthest(composed(x), expected) < 1e-5);  // eager
    CHECK(furthest(run(x), expected) < 1e-5);       // x is still needed
    array given = x * 1.0f;
    const float* const memory = given.data<float>();
    const array over = run(std::move(given));
    CHECK(over.data<float>() == memory);
    CHECK(furthest(over, expected) < 1e-5);
  };
  const array at = ints({3, 0, 3, -1, 9}), rows = noise({5, 4}, 11);
  same(
      "turned",
      [](const array& x) { return tk::bind(tk::described<turned_p>(), {x}, tk::words{}, tk::source_line::current()); },
      noise({100}, 9));
  same("scatter", [&](const array& x) { return tk::scatter(x, at, rows); }, noise({6, 4}, 10));
  same("scatter", [&](const array& x) { return tk::scatter(x, at, rows); }, noise({0, 4}, 10));
  same("scatter_add_onto", [&](const array& x) { return tk::scatter_add(x, at, rows); }, noise({6, 4}, 12));
  // One sequence goes on from slot 1, a new one gets slot 0, and slot 2 stays as it is.
  const array q = noise({5, 2, 4}, 13), v = noise({5, 2, 3}, 14), decay = tk::full({5, 2}, -0.1f);
  const tk::packed_sequences sequences{ints({0, 2, 5}), ints({1, 0}), ints({1, 0}) > 0};
  const auto states = [&](const array& pool) {
    return tk::gated_delta_rule(q, q, v, decay, tk::exp(decay), pool, sequences, {.normalize_qk = true}).state;
  };
  same("gated_delta_rule", states, noise({3, 2, 4, 3}, 15));
  const array x = noise({6, 4}, 16);
  const tk::use_implementation named("dynamic_update_slice", "compose");
  CHECK_THROWS_WITH(tk::dynamic_update_slice(x, tk::slice(x, {0, 0}, {2, 4}), {array(1), array(0)}),
                    contains("compose: dynamic_update_slice has no such rule"));
}
