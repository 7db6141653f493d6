// tokamax/runtime/run/work.hpp: the operations and bytes of a step of a program, for profiles.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/profile/timeline.cpp
#pragma once

#include <tokamax/core/graph/cost.hpp>  // operations_of
#include <tokamax/profile/event.hpp>    // event
#include <tokamax/runtime/kernel.hpp>   // kernel_arguments, loop_arguments

namespace tokamax::detail {

/// The bytes of the elements in memory, at `data`, which is null for what is handed over. An axis of stride 0 repeats
/// elements, so it does not count.
inline double touched_bytes(const void* data, int rank, const std::int64_t* extents, const std::int64_t* strides,
                            std::int64_t element_bytes) {
  double bytes = data ? static_cast<double>(element_bytes) : 0;
  for (int i = 0; i < rank; ++i)
    if (strides[i] != 0) bytes *= static_cast<double>(extents[i]);
  return bytes;
}

/// The event of a kernel: "dot_general f32[512,768] f32[768,3072]".
inline profile::event work_of(const op& o, const kernel_arguments& a) {
  profile::event e;
  e.name = o.name;
  arrays in;
  const bool in_place = o.memory.overwrites >= 0 && a.out_count > 0 && a.in[o.memory.overwrites].data == a.out[0].data;
  for (int k = 0; k < a.in_count + a.out_count; ++k) {
    const array_view& v = a.in[k];  // results follow the operands
    e.bytes += touched_bytes(v.data, v.rank(), v.extents.begin(), v.strides.begin(), size_of(v.type));
    if (k >= a.in_count) continue;
    in.push_back(array(array_type{v.type, false, v.extents}));
    e.name.append(" ").append(message(in.back().type()).view());
  }
  if (a.out_count == 0) return e;
  const array_view& first = *a.out;
  call c = call_of(o, in.data(), in.count(), a.attributes, a.attribute_count);
  c.type = {first.type, false, first.extents};
  if (o.cost.bytes && (o.memory.overwrites < 0 || in_place)) e.bytes = o.cost.bytes(c);
  const op_cost cost = operations_of(c);
  e.flops = cost.flops - cost.bfloat16_flops;
  e.bfloat16_flops = cost.bfloat16_flops;
  e.transcendentals = cost.transcendentals;
  if (e.bfloat16_flops > 0) e.name += ", products in bf16";
  return e;
}

/// The operations of loop `k` of a plan.
constexpr loop_label label_of(const plan_view& p, int k) {
  loop_label label;
  for (int i = p.loops[k].first; i < p.loops[k].first + p.loops[k].count; ++i) {
    const instruction& line = p.instructions[i];
    if (line.kind != instruction_kind::apply) continue;
    ++label.count;
    label.flops += line.function->cost.flops;
    label.transcendentals += line.function->cost.transcendentals;
    if (label.names.length + static_cast<int>(line.function->name.size()) >= message::capacity) continue;
    label.names << ' ' << line.function->name;
    ++label.named;
  }
  return label;
}

/// The event of a fused loop: "loop [512,768] mul add tanh".
inline profile::event work_of(const loop_label& label, const loop_arguments& a) {
  profile::event e;
  shape extents;
  for (int i = 0; i < a.rank; ++i) extents.push_back(a.extents[i]);
  e.name.append("loop ").append((message() << extents).view()).append(label.names.view());
  if (label.named < label.count) e.name.append(" +").append(std::to_string(label.count - label.named));
  for (int k = 0; k < a.slot_count; ++k)
    e.bytes += touched_bytes(a.pointers[k], a.rank, a.extents, a.strides + k * a.rank, a.element_bytes[k]);
  const auto elements = static_cast<double>(size(extents));
  e.flops = label.flops * elements;
  e.transcendentals = label.transcendentals * elements;
  return e;
}

/// Adds the work of another loop to an event.
inline void add(profile::event& e, const profile::event& other) {
  e.bytes += other.bytes;
  e.flops += other.flops;
  e.transcendentals += other.transcendentals;
}

/// A kernel and the loop that makes its first operand: "reduce_sum f32[512,768] of mul sub".
inline profile::event work_of(const op& o, const kernel_arguments& a, const loop_label& label,
                              const loop_arguments& producer) {
  profile::event e = work_of(o, a);
  e.name.append(" of").append(label.names.view());
  add(e, work_of(label, producer));
  return e;
}

}  // namespace tokamax::detail
