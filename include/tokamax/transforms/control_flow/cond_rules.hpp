// tokamax/transforms/control_flow/cond_rules.hpp: the op that runs one of several bodies, its derivatives and batches, and how it runs.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/transforms/control_flow/cond.cpp
#pragma once

#include <tokamax/base/compiled_once.hpp>       // TOKAMAX_COMPILED_ONCE
#include <tokamax/base/linked.hpp>              // linked
#include <tokamax/core/kernel_arguments.hpp>    // kernel_arguments
#include <tokamax/lax/elementwise/compare.hpp>  // select
#include <tokamax/lax/stop_gradient.hpp>        // stop_gradient
#include <tokamax/transforms/body.hpp>          // forward_body, batched_body

namespace tokamax {

/// Attributes of cond.
struct cond_attributes {
  vec<body_index> branches;
};

namespace detail {
constexpr arrays cond_vjp(const call& c);
constexpr arrays cond_jvp(const call& c);
constexpr arrays cond_batch(const call& c);
constexpr arrays known_branch(const call& c);
void run_cond(const kernel_arguments& a);
}  // namespace detail

/// The first operand is the number of a branch, an i32 in [0, branches). The others are the operands of all branches.
inline constexpr op cond_p{
    .name = "cond",
    .stablehlo = "stablehlo.case",
    .unique = true,
    .bodies = {.branches = true},
    .attributes = schema<cond_attributes>,
    .infer_all = [](const call& c) -> types { return detail::types_of_first_body(c); },
    .vjp = [](const call& c) -> arrays { return detail::cond_vjp(c); },
    .jvp = [](const call& c) -> arrays { return detail::cond_jvp(c); },
    .batch = [](const call& c) -> arrays { return detail::cond_batch(c); },
    .simplify_all = [](const call& c) -> arrays { return detail::known_branch(c); },
    .run = detail::run_cond,
};

namespace detail {

/// A cond whose branches are made by `derive` from those of c.
constexpr arrays bind_branches(const call& c, const arrays& operands, const auto& derive) {
  vec<graph> branches;
  for (int b = 0; b < body_count(c); ++b) branches.push_back(derive(graph(c.body(b))));
  return bind_bodies(c, std::move(branches), c.attribute_words(), operands);
}

/// The backward branch. It takes the operands and then the cotangents of the floating results, runs the branch again, and
/// returns the cotangents of the operands in `wanted`.
constexpr graph backward_branch(const call& c, const graph& branch, const vec<char>& wanted) {
  graph b;
  arrays args, floating, cts;
  for (int i : branch.inputs) args.push_back(body_input(b, branch[i].type));
  for (int o : branch.outputs)
    if (is_floating(branch[o].type.dtype)) cts.push_back(body_input(b, branch[o].type));
  for (const array& y : inline_graph(b, branch, args.data()))
    if (is_floating(y.dtype())) floating.push_back(lift(b, y));
  drop_effects(b, 0, c);
  const arrays pulled = backward(b, floating, cts, args);
  for (int k = 0; k < args.count(); ++k)
    if (wanted[k]) b.outputs.push_back(lift(b, pulled[k].exists() ? pulled[k] : zero_like(args[k])).id());
  return b;
}
constexpr arrays cond_vjp_here(const call& c) {
  arrays operands = c.operands();
  vec<char> wanted;
  for (int k = 1; k < c.count; ++k) wanted.push_back(is_floating(c[k].dtype()) && c.needs(k));
  for (int k = 0; k < c.body(0).outputs.count(); ++k)
    if (is_floating(c.outputs[k].dtype()))
      operands.push_back(c.cotangents[k].exists() ? c.cotangents[k] : zero_like(c.outputs[k]));
  const arrays results =
      bind_branches(c, operands, [&](const graph& branch) { return backward_branch(c, branch, wanted); });
  arrays cts(static_cast<std::size_t>(c.count));
  for (int k = 1, at = 0; k < c.count; ++k)
    if (wanted[k - 1]) cts[k] = results[at++];
  return cts;
}
constexpr arrays cond_vjp(const call& c) { return linked<detail::cond_vjp_here>(c); }

constexpr arrays cond_jvp_here(const call& c) {
  const int results = c.body(0).outputs.count();
  const vec<int> in{c.count - 1};
  vec<char> moving;
  for (int k = 1; k < c.count; ++k) moving.push_back(c.tangents[k].exists());
  arrays operands = c.operands();
  for (int k = 1; k < c.count; ++k)
    if (moving[k - 1]) operands.push_back(c.tangents[k]);
  const arrays both =
      bind_branches(c, operands, [&](const graph& branch) { return forward_body(c, branch, in, moving, {results}); });
  arrays out(static_cast<std::size_t>(results));
  for (int k = 0, at = results; k < results; ++k)
    if (is_floating(c.outputs[k].dtype())) out[k] = both[at++];
  return out;
}
constexpr arrays cond_jvp(const call& c) { return linked<detail::cond_jvp_here>(c); }

/// Runs one branch for the whole batch. If each example has its own branch, all branches run and results are selected. A
/// branch gets floating operands through a `select` of the examples that take it, whose other side has no gradient: the
/// derivative where it is not taken may be infinite, and does not reach the operands.
constexpr arrays cond_batch_here(const call& c) {
  const vec<char> results(c.body(0).outputs.size(), 1);
  vec<char> batched;
  for (int k = 1; k < c.count; ++k) batched.push_back(c.batched(k));
  const auto on_batches = [&](const graph& branch) { return batched_body(branch, c, batched, results); };
  if (!c.batched(0)) return bind_branches(c, c.operands(), on_batches);
  arrays chosen, operands, constants;  // the operands, with batches of floats
  for (int k = 1; k < c.count; ++k) {
    const bool moves = is_floating(c[k].dtype());
    operands.push_back(moves ? with_batch_axis(c, k) : c[k]);
    constants.push_back(moves ? stop_gradient(operands.back()) : array());
    if (moves) batched[k - 1] = 1;
  }
  for (int b = 0; b < body_count(c); ++b) {
    const graph branch(c.body(b));
    if (has_ordered_effect(branch)) refuse_effects(c, "a predicate that all examples share");
    const array here = equal(c[0], array(static_cast<double>(b), {i32, false, {}}));  // [n]
    const auto by_example = [&](const array& like) { return broadcast_in_dim(here, like.shape(), {0}); };
    arrays in = operands;
    for (int k = 0; k < in.count(); ++k)
      if (constants[k].exists()) in[k] = select(by_example(in[k]), in[k], constants[k]);
    arrays ys = inline_graph(*c.trace, on_batches(branch), in.data());
    for (int k = 0; k < ys.count() && b > 0; ++k) ys[k] = select(by_example(ys[k]), ys[k], chosen[k]);
    chosen = std::move(ys);
  }
  return chosen;
}
constexpr arrays cond_batch(const call& c) { return linked<detail::cond_batch_here>(c); }

/// A choice that is known when it is traced is the branch.
constexpr arrays known_branch(const call& c) {
  const node* const number = constant_operand(c, 0);
  if (!number) return {};
  const graph branch(c.body(static_cast<int>(constant_bits(*c.trace, *number).value)));
  arrays ys = inline_graph(*c.trace, branch, c.inputs + 1);
  for (array& y : ys) y = as_result(*c.trace, y);
  return ys;
}

#if defined(TOKAMAX_COMPILED_ONCE)
/// The branches on the pointers that the call has set.
class branches_of_device final : public step_bodies {
 public:
  explicit branches_of_device(const kernel_arguments& a) : a_(a) {}
  void run(int b, std::byte*) override { a_.bodies->run(b, a_.bodies->pointers, a_.bodies->pointers + a_.in_count); }

 private:
  const kernel_arguments& a_;
};

TOKAMAX_COMPILED_ONCE void run_cond(const kernel_arguments& a) {
  std::byte** const inputs = a.bodies->pointers;
  std::byte** const outputs = inputs + a.in_count;
  for (int k = 1; k < a.in_count; ++k) inputs[k - 1] = a.in[k].as<std::byte>();
  for (int k = 0; k < a.out_count; ++k) outputs[k] = a.out[k].as<std::byte>();
  device& where = a.context->where;
  if (where.decides_in_step()) {
    branches_of_device branches(a);
    return where.choose_in_step(a.in[0].as<std::byte>(), a.attrs<cond_attributes>().branches.count(), branches);
  }
  std::int32_t branch = 0;
  where.read_in_step(reinterpret_cast<std::byte*>(&branch), a.in[0].as<std::byte>(), sizeof branch);
  a.bodies->run(branch, inputs, outputs);
}
#endif

}  // namespace detail

}  // namespace tokamax
