// tests/compiler/passes/lower.cpp: markers vanish, ops without kernels become what they are composed of.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/compiler/passes/lower.hpp>
#include <tokamax/ops/attention/attention.hpp>
#include <tokamax/ops/softmax.hpp>

#include "support/catch.hpp"
#include "support/functions.hpp"

using namespace tokamax;
using namespace tokamax::test;

namespace {
graph lowered(const function& f, bool kernels) {
  graph g;
  lower(g, trace(f, {array_type{f32, false, {2, 5}}}), [=](const op& o) { return kernels && o.kernels; });
  return g;
}
bool holds(const graph& g, const op& o) {
  for (const node& n : g.nodes)
    if (n.op == &o) return true;
  return false;
}
}  // namespace

TEST_CASE("a composite stays whole where it has a kernel and is opened where not, with the same values") {
  const function f = [](const arrays& x) -> arrays { return softmax(x[0]) * 2.0f; };
  const graph whole = lowered(f, true), opened = lowered(f, false);
  CHECK(holds(whole, softmax_p));
  CHECK(!holds(opened, softmax_p));
  CHECK(holds(opened, exp_p));
  const values in{to_value(noise({2, 5}, 1))};
  CHECK(difference(evaluate(whole, in), evaluate(opened, in), 1e-12) == "");
}

TEST_CASE("markers vanish and equal work is shared once they are gone") {
  const graph g = lowered(
      [](const arrays& x) -> arrays {
        const array a = bind(variable_p, {x[0]}, words{}, location{});
        return exp(a) + exp(stop_gradient(x[0]));
      },
      true);
  CHECK(!holds(g, variable_p));
  CHECK(!holds(g, stop_gradient_p));
  int exponentials = 0;
  for (const node& n : g.nodes) exponentials += n.op == &exp_p;
  CHECK(exponentials == 1);
}

TEST_CASE("what two products round to bfloat16 is rounded once, where it is computed, also through views") {
  const graph g = lowered(
      [](const arrays& x) -> arrays {
        const array y = tanh(x[0]), z = transpose(reshape(y, {5, 2}));
        const auto product = [](const array& a, const array& b) {
          return dot_general(a, b, {{1}, {1}, {}, {}, dtype::none, dot_algorithm::bf16_bf16_f32});
        };
        return {product(y, x[0]), product(z, y), dot_general(y, x[0], {{1}, {1}})};
      },
      true);
  int rounded = 0, narrow = 0, wide = 0;
  for (const node& n : g.nodes) {
    rounded += n.op == &convert_element_type_p;
    if (n.op != &dot_general_p) continue;
    CHECK(n.type.dtype == f32);
    for (int k = 0; k < 2; ++k) (g[g.operands[n.first_operand + k]].type.dtype == bf16 ? narrow : wide) += 1;
  }
  CHECK(rounded == 1);
  CHECK(narrow == 3);
  CHECK(wide == 3);  // the input, twice, and the operand of the product in f32
}

TEST_CASE("attention in bfloat16 and its gradient share rounded queries, keys and values, and keep their dtypes") {
  const graph g = lowered(
      [](const arrays& x) -> arrays {
        const array y = reshape(tanh(x[0]), {1, 5, 1, 2}), input = reshape(x[0], {1, 5, 1, 2});
        const attention_attributes narrow{.scale = 1, .algorithm = dot_algorithm::bf16_bf16_f32};
        const arrays out = attention({y, y, input}, narrow);
        const arrays d = attention_vjp({y, y, input, out[0], out[1], out[2], y}, narrow);
        return {d[0], d[2], attention({y, y, y}, {.scale = 1})[0]};
      },
      true);
  std::vector<dtype> operands;
  int rounded = 0;
  for (const node& n : g.nodes) {
    rounded += n.op == &convert_element_type_p;
    if (n.op == &get_p) CHECK(n.type.dtype == f32);
    if (n.op != &attention_p && n.op != &attention_vjp_p) continue;
    for (int k = 0; k < n.operand_count; ++k) operands.push_back(g[g.operands[n.first_operand + k]].type.dtype);
  }
  CHECK(rounded == 1);
  CHECK(operands == std::vector<dtype>{bf16, bf16, f32,  // the last one is an input: rounded while it is read
                                       bf16, bf16, f32, f32, f32, f32, f32,  // the cotangent is summed in f32 too
                                       f32, f32, f32});
}
