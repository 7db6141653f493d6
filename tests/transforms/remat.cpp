// tests/transforms/remat.cpp: recomputation leaves every bit as it is.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/compiler/passes/lower.hpp>
#include <tokamax/core/scope/named_scope.hpp>
#include <tokamax/lax/dot_general.hpp>
#include <tokamax/lax/reduce.hpp>
#include <tokamax/numpy/matmul.hpp>
#include <tokamax/transforms/control_flow/scan.hpp>
#include <tokamax/transforms/eval_shape.hpp>
#include <tokamax/transforms/grad.hpp>
#include <tokamax/transforms/jvp.hpp>
#include <tokamax/transforms/remat.hpp>
#include <tokamax/transforms/vmap.hpp>

#include "support/check_op.hpp"
#include "support/random_program.hpp"

using namespace tokamax;
using namespace tokamax::test;

namespace {
constexpr auto layer = [](const array& x, const array& w) { return tanh(matmul(x, w)) * x; };
constexpr auto plain = [](const array& w, const array& x) { return sum(layer(layer(x, w), w)); };
constexpr auto saved = [](const array& w, const array& x) {
  const auto again = remat(layer);
  return sum(again(again(x, w), w));
};
}  // namespace

TEST_CASE("remat keeps the contract") {
  check_function([](const arrays& a) -> arrays { return remat(layer)(a[0], a[1]); },
                 {noise({2, 3}, 1), noise({3, 3}, 2)});
}

TEST_CASE("values and gradients have the same bits with and without remat") {
  const array w = noise({4, 4}, 1), x = noise({3, 4}, 2);
  CHECK(bit_difference({saved(w, x)}, {plain(w, x)}) == "");
  CHECK(bit_difference({grad(saved)(w, x)}, {grad(plain)(w, x)}) == "");
}

TEST_CASE("what a block has computed is not kept, and is computed again when the backward pass gets there") {
  const auto arena = [](bool again) {
    const auto block = [](const array& w, array x) {
      for (int i = 0; i < 4; ++i) x = tanh(matmul(x, w));
      return x;
    };
    const auto loss = [&](const array& w, array x) {
      for (int i = 0; i < 6; ++i) x = again ? remat(block)(w, x) : block(w, x);
      return sum(x);
    };
    const array_type w{f32, false, {16, 16}}, x{f32, false, {64, 16}};
    graph g;
    lower(g, trace([&](const arrays& a) -> arrays { return {grad(loss)(a[0], a[1])}; }, {w, x}),
          [](const op& o) { return o.kernels != nullptr; });
    return planned_program(g).regions[0].arena_bytes;
  };
  constexpr std::int64_t value = 64 * 16 * 4, matrix = 16 * 16 * 4;
  CHECK(arena(false) >= 24 * value);  // the results of all layers
  CHECK(arena(true) <=
        (6 + 4 + 4) * value + 24 * matrix);  // of all blocks, of the layers of one, and what they take meanwhile
}

TEST_CASE("remat composes with scan, vmap, jvp and itself") {
  const array w = noise({3, 3}, 1), x = noise({4, 3}, 2), t = noise({3, 3}, 3);
  const auto loop = [&](auto body) {
    return [=](const array& v) {
      return sum(scan([=](const array& c, const array& row) { return std::pair{body(c + row, v), nothing{}}; },
                      array(zeros({3})), x)
                     .first);
    };
  };
  CHECK(difference({to_value(grad(loop(remat(layer)))(w))}, {to_value(grad(loop(layer))(w))}, 1e-6) == "");
  CHECK(difference({to_value(jvp(loop(remat(layer)), w, t).second)}, {to_value(jvp(loop(layer), w, t).second)}, 1e-6) ==
        "");
  const auto per_row = [&](auto f) {
    return vmap([&, f](const array& row) { return grad([&](const array& v) { return sum(f(row, v)); })(w); })(x);
  };
  CHECK(difference({to_value(per_row(remat(remat(layer))))}, {to_value(per_row(layer))}, 1e-6) == "");
}

TEST_CASE("remat passes on what its function closes over") {
  const array w = noise({3, 3}, 1), x = noise({2, 3}, 2);
  const auto f = [&](const array& v) { return sum(remat([&](const array& a) { return layer(a, v); })(x)); };
  const auto g = [&](const array& v) { return sum(layer(x, v)); };
  CHECK(bit_difference({grad(f)(w)}, {grad(g)(w)}) == "");
}

TEST_CASE("a policy keeps what it says: fewer products, the same bits") {
  const array w = noise({4, 4}, 1), x = noise({3, 4}, 2);
  const auto gradient = [&](const auto& policy) {
    return grad([policy](const array& v, const array& in) {
      const auto again = remat(layer, policy);
      return sum(again(again(in, v), v));
    });
  };
  const auto count = [&](const auto& policy, std::string_view name) {
    int found = 0;
    graph program;
    lower(program, make_graph(gradient(policy), w, x), [](const op& o) { return o.kernels != nullptr; });
    for (const node& n : program.nodes) found += n.op && n.op->name == name;
    return found;
  };
  const int without = count(everything_saveable, "dot_general");  // forward and the two of the backward pass
  CHECK(count(nothing_saveable, "dot_general") > without);
  CHECK(count(dots_saveable, "dot_general") == without);
  CHECK(count(dots_saveable, "tanh") > count(everything_saveable, "tanh"));
  const array expected = grad(plain)(w, x);
  CHECK(bit_difference({gradient(dots_saveable)(w, x)}, {expected}) == "");
  CHECK(bit_difference({gradient(everything_saveable)(w, x)}, {expected}) == "");
  constexpr auto named = [](const graph& g, const node& n) { return g.name_of(n).view().ends_with("kept"); };
  const auto scoped = [](const array& v, const array& in) {
    const auto f = [](const array& a, const array& b) {
      const named_scope scope("kept", a);
      return layer(a, b);
    };
    return sum(remat(f, named)(in, v));
  };
  CHECK(bit_difference({grad(scoped)(w, x)},
                       {grad([](const array& v, const array& in) { return sum(layer(in, v)); })(w, x)}) == "");
  const auto second = [&](const auto& f) {  // the derivative of the derivative computes again too
    return grad([&](const array& v) { return sum(square(grad(f)(v, x))); })(w);
  };
  const auto kept = [](const array& v, const array& in) { return sum(remat(layer, dots_saveable)(in, v)); };
  const auto once = [](const array& v, const array& in) { return sum(layer(in, v)); };
  CHECK(difference({to_value(second(kept))}, {to_value(second(once))}, 1e-6) == "");
}
