// tokamax/transforms/control_flow/while_rules.hpp: the while_loop op, its forward mode and batches, and how it runs.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/transforms/control_flow/while_loop.cpp
#pragma once

#include <tokamax/base/compiled_once.hpp>       // TOKAMAX_COMPILED_ONCE
#include <tokamax/base/linked.hpp>              // linked
#include <tokamax/core/kernel_arguments.hpp>    // kernel_arguments
#include <tokamax/lax/elementwise/compare.hpp>  // select
#include <tokamax/lax/reduce.hpp>               // any
#include <tokamax/transforms/body.hpp>          // forward_body, batched_body

#include <utility>  // exchange

namespace tokamax {

/// Attributes of while_loop. The operands are [carries, closed-over values], and both bodies take them. The results are the
/// carries.
struct while_attributes {
  body_index predicate = {}, body = {};
  int carries = 0;
};

namespace detail {
constexpr arrays while_jvp(const call& c);
constexpr arrays while_batch(const call& c);
constexpr arrays never_entered(const call& c);
void run_while(const kernel_arguments& a);
}  // namespace detail

inline constexpr op while_loop_p{
    .name = "while_loop",
    .stablehlo = "stablehlo.while",
    .unique = true,
    .bodies = {.carries = [](const std::int64_t* w) { return unpack<while_attributes>(w).carries; }},
    .attributes = schema<while_attributes>,
    .infer_all = [](const call& c) -> types {
      types t;
      for (int k = 0; k < c.attrs<while_attributes>().carries; ++k) t.push_back({c[k].dtype(), false, c[k].shape()});
      return t;
    },
    .vjp = [](const call& c) -> arrays {
      c.fail("while_loop: reverse mode", "an unknown number of steps", "scan, or fori_loop with known bounds");
      return arrays(static_cast<std::size_t>(c.count));
    },
    .jvp = [](const call& c) -> arrays { return detail::while_jvp(c); },
    .batch = [](const call& c) -> arrays { return detail::while_batch(c); },
    .simplify_all = [](const call& c) -> arrays { return detail::never_entered(c); },
    .run = detail::run_while,
};

namespace detail {

/// One loop that carries values and tangents together.
constexpr arrays while_jvp_here(const call& c) {
  const int carries = c.attrs<while_attributes>().carries;
  const vec<int> in{carries, c.count - carries};
  vec<char> moving;
  int all = carries;
  for (int k = 0; k < c.count; ++k) {
    moving.push_back(k < carries ? is_floating(c[k].dtype()) : c.tangents[k].exists());
    all += k < carries && moving[k];
  }
  graph predicate = forward_body(c, graph(c.body(0)), in, moving, {1});
  graph body = forward_body(c, graph(c.body(1)), in, moving, {carries});
  const arrays operands = with_tangents(c, 0, in, moving);
  const arrays results =
      bind_bodies(c, {std::move(predicate), std::move(body)}, pack(while_attributes{.carries = all}), operands);
  arrays out(static_cast<std::size_t>(carries));
  for (int k = 0, at = carries; k < carries; ++k)
    if (moving[k]) out[k] = results[at++];
  return out;
}
constexpr arrays while_jvp(const call& c) { return linked<detail::while_jvp_here>(c); }

/// The body of a loop whose examples end at different steps. It keeps the carries of examples that have ended.
constexpr graph body_while_any(const graph& predicate, const graph& body) {
  graph b;
  arrays args;
  for (int i : body.inputs) args.push_back(body_input(b, body[i].type));
  const array running = lift(b, inline_graph(b, predicate, args.data())[0]);  // [n]
  b.effects.clear();  // they happen where the loop asks whether it goes on
  const arrays next = inline_graph(b, body, args.data());
  for (int k = 0; k < next.count(); ++k) {
    const array there = broadcast_in_dim(running, next[k].shape(), {0});
    b.outputs.push_back(lift(b, select(there, next[k], args[k])).id());
  }
  return b;
}
constexpr graph any_of(graph predicate) {
  const array each = array(&predicate, predicate.outputs[0], predicate[predicate.outputs[0]].type);  // [n]
  predicate.outputs[0] = lift(predicate, any(each)).id();
  return predicate;
}

/// The loop over whole batches. A carry gets the batch axis if it depends on a value with the axis. If the predicate does,
/// the loop goes on until it has ended for all examples, and all carries get the axis.
constexpr arrays while_batch_here(const call& c) {
  const int carries = c.attrs<while_attributes>().carries;
  const graph predicate(c.body(0)), body(c.body(1));
  vec<char> batched;
  for (int k = 0; k < c.count; ++k) batched.push_back(c.batched(k));
  bool each_ends = false;
  for (bool changed = true; changed;) {
    changed = false;
    each_ends = dependent_outputs(predicate, batched, c.axis)[0];
    const vec<char> next = dependent_outputs(body, batched, c.axis);
    for (int k = 0; k < carries; ++k)
      if (!batched[k] && (next[k] || each_ends)) batched[k] = changed = true;
  }
  if (each_ends && (has_ordered_effect(predicate) || has_ordered_effect(body)))
    refuse_effects(c, "a predicate that all examples share");
  vec<char> results(batched.data(), static_cast<std::size_t>(carries));
  graph until = batched_body(predicate, c, batched, {char(each_ends)});
  graph step = batched_body(body, c, batched, results);
  if (each_ends) {
    step = body_while_any(until, step);
    until = any_of(std::move(until));
  }
  arrays operands;
  for (int k = 0; k < c.count; ++k) operands.push_back(batched[k] ? with_batch_axis(c, k) : c[k]);
  arrays out = bind_bodies(c, {std::move(until), std::move(step)}, c.attribute_words(), operands);
  for (int k = 0; k < carries; ++k)
    if (!batched[k]) out[k] = with_leading_axis(out[k], c.batch_size);
  return out;
}
constexpr arrays while_batch(const call& c) { return linked<detail::while_batch_here>(c); }

/// A loop whose predicate is known to be false at the start gives what it was given.
constexpr arrays never_entered_here(const call& c) {
  const graph& predicate = c.body(0);
  if (!predicate.effects.empty()) return {};
  graph g;
  arrays in, carries;
  for (int k = 0; k < c.count; ++k) {
    const node* const known = constant_operand(c, k);
    in.push_back(body_input(g, c[k].type()));
    if (known) in.back() = array(&g, add_constant(g, constant_bits(*c.trace, *known), known->type, {}), known->type);
  }
  const array goes_on = lift(g, inline_graph(g, predicate, in.data())[0]);
  const node& verdict = g[goes_on.id()];
  if (verdict.op != &constant_p || constant_bits(g, verdict).value != 0) return {};
  for (int k = 0; k < c.attrs<while_attributes>().carries; ++k) carries.push_back(as_result(*c.trace, c[k]));
  return carries;
}
constexpr arrays never_entered(const call& c) { return linked<detail::never_entered_here>(c); }

#if defined(TOKAMAX_COMPILED_ONCE)
inline std::size_t bytes_of_carry(const kernel_arguments& a, int k) {
  return static_cast<std::size_t>(a.out[k].size() * size_of(a.out[k].type));
}

/// A loop for a device that decides by itself whether there is one more turn. All turns are the same launches: each reads the
/// carries in the results, and leaves the next ones there.
class turns_of_device final : public step_bodies {
 public:
  explicit turns_of_device(const kernel_arguments& a)
      : a_(a), carries_(a.attrs<while_attributes>().carries), inputs_(a.bodies->pointers) {
    for (int k = 0; k < a.in_count; ++k) inputs_[k] = a.in[k].as<std::byte>();
    for (int k = 0; k < carries_; ++k) copy_carry(k, std::exchange(inputs_[k], a.out[k].as<std::byte>()));
  }
  void run(int b, std::byte* answer) override {
    if (b == 0) return a_.bodies->run(0, inputs_, &answer);
    std::byte** const outputs = inputs_ + a_.in_count;
    for (int k = 0; k < carries_; ++k) {
      std::byte* const spare = a_.bodies->spare(k);
      outputs[k] = spare ? spare : inputs_[k];
    }
    a_.bodies->run(1, inputs_, outputs);
    for (int k = 0; k < carries_; ++k) copy_carry(k, outputs[k]);
  }

 private:
  void copy_carry(int k, const std::byte* from) {
    if (from != inputs_[k]) a_.context->where.copy_in_step(inputs_[k], from, bytes_of_carry(a_, k));
  }
  const kernel_arguments& a_;
  int carries_;
  std::byte** inputs_;
};

/// Runs the body while the predicate holds. A step writes its carries over those that it reads. Where the plan does not
/// allow that, it writes into the result and a second buffer alternately.
TOKAMAX_COMPILED_ONCE void run_while(const kernel_arguments& a) {
  device& where = a.context->where;
  if (where.decides_in_step()) {
    turns_of_device turns(a);
    return where.loop_in_step(turns);
  }
  const int carries = a.attrs<while_attributes>().carries;
  std::byte** const inputs = a.bodies->pointers;
  std::byte** const outputs = inputs + a.in_count;
  for (int k = 0; k < a.in_count; ++k) inputs[k] = a.in[k].as<std::byte>();
  const handle answer = where.allocate(64);
  std::byte* const verdict = where.kernel_address(answer->data);
  for (bool even = true;; even = !even) {
    a.bodies->run(0, inputs, &verdict);
    std::byte goes_on{};
    where.read_in_step(&goes_on, verdict, 1);
    if (goes_on == std::byte{}) break;
    for (int k = 0; k < carries; ++k) {
      std::byte* const spare = a.bodies->spare(k);
      outputs[k] = spare && !even ? spare : a.out[k].as<std::byte>();
    }
    a.bodies->run(1, inputs, outputs);
    for (int k = 0; k < carries; ++k) inputs[k] = outputs[k];
  }
  for (int k = 0; k < carries; ++k)
    if (a.out[k].data != inputs[k]) where.copy_in_step(a.out[k].as<std::byte>(), inputs[k], bytes_of_carry(a, k));
}
#endif

}  // namespace detail

}  // namespace tokamax
