// tests/runtime/choice.cpp: implementations named by the user, or by a table, run in eager, traced and static programs alike.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/runtime/choice.hpp>

#include <tokamax/core/use_implementation.hpp>
#include <tokamax/tokamax.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/steps_of.hpp"

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
