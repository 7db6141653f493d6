// tests/ops/triangle_multiplication.cpp: updates of pairs along triangles are those of JAX.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/ops/triangle_multiplication.hpp>

#include "support/check_op.hpp"
#include "support/golden.hpp"

namespace tk = tokamax;
using tk::array;
using tk::test::noise;

namespace {
constexpr tk::array_type floats(const tk::shape& s) { return {tk::f32, false, s}; }
tk::arrays updated(const tk::arrays& v, tk::triangle_kind kind) {
  return tk::triangle_multiplication(
      v[0], v[1], {.projection_in = v[2], .gate_in = v[3], .projection_out = v[4], .gate_out = v[5]}, kind);
}
}  // namespace

TEST_CASE("triangle_multiplication and its gradients are those of JAX") {
  for (const auto kind : {tk::triangle_kind::outgoing, tk::triangle_kind::incoming})
    tk::test::check_golden(
        kind == tk::triangle_kind::outgoing ? "triangle_outgoing" : "triangle_incoming",
        [=](const tk::arrays& v) { return updated(v, kind); }, 6, 2e-5, "model_ops.txt");
}

TEST_CASE("triangle_multiplication of batches, empty ones and bf16") {
  for (const tk::dtype t : {tk::f32, tk::bf16})
    for (const std::int64_t n : {0, 1, 8}) {
      const array y = updated({noise({2, n, n, 16}, 1, t), noise({2, n, n}, 2) > 0.0f, noise({16, 2, 32}, 3, t),
                               noise({16, 2, 32}, 4, t), noise({32, 64}, 5, t), noise({16, 64}, 6, t)},
                              tk::triangle_kind::outgoing)[0];
      CHECK(y.type() == tk::array_type{t, false, {2, n, n, 64}});
      CHECK(tk::all(array(abs(astype(y, tk::f32)) < 1e30f)).values<bool>()[0]);
    }
}

TEST_CASE("triangle_multiplication says what is wrong with its operands") {
  const array x(floats({4, 4, 3})), mask({tk::bool_, false, {4, 4}}), in(floats({3, 2, 5})), out(floats({5, 6}));
  const array gate(floats({3, 6}));
  const auto kind = tk::triangle_kind::incoming;
  CHECK_THROWS_WITH(updated({array(floats({4, 5, 3})), mask, in, in, out, gate}, kind),
                    contains("triangle_multiplication: x"));
  CHECK_THROWS_WITH(updated({x, x, in, in, out, gate}, kind), contains("triangle_multiplication: mask"));
  CHECK_THROWS_WITH(updated({x, mask, out, in, out, gate}, kind), contains("triangle_multiplication: projection_in"));
  CHECK_THROWS_WITH(updated({x, mask, in, in, gate, gate}, kind), contains("triangle_multiplication: projection_out"));
  CHECK_THROWS_WITH(updated({x, mask, in, in, out, out}, kind), contains("triangle_multiplication: gate_out"));
}
