// tokamax/compiler/passes/schedule.hpp: turns a lowered graph into steps, operands and buffers.
// SPDX-License-Identifier: Apache-2.0
//
// This is the last stage before memory is laid out. `fusion` has grouped the nodes, and `materialization` has decided which
// values lie in memory. The scheduler visits the nodes in the order of their phases and makes one step of each group (a
// fused loop), of each kernel, of each call with bodies, and of each view that must be copied.
#pragma once

#include <tokamax/compiler/passes/group.hpp>         // loop_groups
#include <tokamax/compiler/passes/loop_builder.hpp>  // loop_builder
#include <tokamax/compiler/passes/materialize.hpp>   // materialization
#include <tokamax/compiler/passes/memory.hpp>        // assign_arenas
#include <tokamax/compiler/passes/parts.hpp>         // result_parts
#include <tokamax/compiler/passes/split.hpp>         // split_order
#include <tokamax/compiler/scope_numbers.hpp>        // scope_numbers

namespace tokamax {

constexpr void plan_region_of(plan& p, const graph& g, int self, const auto& takes);

namespace detail {

/// Turns one graph into one region of a plan.
template <class KernelTakes>
class scheduler : materialization {
 public:
  constexpr scheduler(plan& p, const graph& g, const KernelTakes& takes)
      : materialization(g, takes), p_(p), takes_(takes), parts_(g, takes) {}

  constexpr plan_region run() {
    plan_region r;
    r.first_buffer = p_.buffers.count();
    make_buffers(r);
    for (int i = g_.count() - 1; i >= 0; --i) {  // makes lists of a loop's nodes and of a kernel's results
      const int owner = nodes_[i].op == &get_p ? operands_[nodes_[i].first_operand] : root_[i];
      if (owner < 0) continue;
      at_[i].next = at_[owner].head;
      at_[owner].head = i;
    }
    const int first = p_.steps.count();
    for (int i : groups_.order) emit_step(i);
    copy_outputs();
    if constexpr (requires { takes_.groups_loops; })
      if (takes_.groups_loops) group_loops(r, first);
    name_steps(first);
    r.first_step = first;
    r.step_count = p_.steps.count() - first;
    r.buffer_count = p_.buffers.count() - r.first_buffer;
    r.outputs = p_.numbers.count();
    r.output_count = g_.outputs.count();
    for (int b : output_buffer_) p_.numbers.push_back(b);
    plan_bodies();
    donations_.finish(r);
    return r;
  }

 private:
  constexpr void group_loops(const plan_region& r, int first) {
    loop_groups(p_, donations_, first, r.first_buffer);
    for (int k = 0, s = first; s < p_.steps.count(); ++s)  // calls keep their order
      if (p_.steps[s].kind == step_kind::call) calls_[k++] = s;
  }
  constexpr void name_steps(int first) {
    scope_numbers number(g_, p_.scopes);
    for (int s = first; s < p_.steps.count(); ++s) {
      const node& n = nodes_[p_.steps[s].node];
      p_.steps[s].scope = number(n.scope);
      p_.steps[s].where = n.where;
    }
  }
  constexpr int add_buffer(buffer_kind kind, int index, const array_type& t) {
    plan_buffer b;
    b.kind = kind;
    b.index = index;
    b.bytes = mul_extent(size(t.shape), size_of(t.dtype));
    p_.buffers.push_back(b);
    return p_.buffers.count() - 1;
  }
  /// Makes the buffers: of inputs, constants and outputs first, then in the arena for other values that lie in memory.
  constexpr void make_buffers(plan_region& r) {
    r.inputs = p_.numbers.count();
    r.input_count = g_.inputs.count();
    for (int k = 0; k < g_.inputs.count(); ++k) {
      const int id = g_.inputs[k];
      at_[id].buffer = add_buffer(buffer_kind::input, k, nodes_[id].type);
      p_.numbers.push_back(at_[id].buffer);
    }
    for (int i = 0; i < g_.count(); ++i) {
      if (nodes_[i].op != &dense_p) continue;
      at_[i].buffer = add_buffer(buffer_kind::constant, p_.numbers.count(), nodes_[i].type);
      append_words(p_.numbers, g_, nodes_[i]);
    }
    output_buffer_.resize(g_.outputs.size(), -1);
    for (int k = 0; k < g_.outputs.count(); ++k) {  // a computed output is written to its place at once, also reshaped
      const array_type& t = nodes_[real(g_.outputs[k])].type;
      output_buffer_[k] = add_buffer(buffer_kind::output, k, t);
      const int id = whole(g_.outputs[k]);
      if (at_[id].buffer < 0 && nodes_[id].op && (parts_.is_whole(id) || !(is_view(nodes_[id]) || is_free(nodes_[id]))))
        at_[id].buffer = output_buffer_[k];
    }
    for (int i = 0; i < g_.count(); ++i)
      if ((at_[i].needed || nodes_[i].op == &get_p) && at_[i].buffer < 0 && nodes_[i].type.dtype != dtype::none &&
          !is_handed_over(i) && !parts_.of(i))
        at_[i].buffer = add_buffer(buffer_kind::arena, -1, nodes_[i].type);
    for (int i = 0; i < g_.count(); ++i)  // a loop writes to the place of its result in another array
      if (const auto* const part = parts_.of(i); part && is_elementwise(nodes_[i]))
        at_[i].buffer = at_[part->whole].buffer;
  }
  /// The node whose memory has the elements of `id`, and no others, in their order: a value, or that of which it is a reshape.
  constexpr int whole(int id) const {
    id = real(id);
    if (dense_[id] || view_[id] < 0 || is_counting(id) || !is_dense(id)) return id;
    const strided v = memory(id);
    const array_type &from = nodes_[v.base].type, &to = nodes_[id].type;
    const std::int64_t n = size(to.shape);
    return v.offset == 0 && !is_dyn(n) && size(from.shape) == n && from.dtype == to.dtype ? v.base : id;
  }
  /// Is this node the one result of a group that a kernel runs? It then needs no buffer.
  constexpr bool is_handed_over(int i) const {
    return root_[i] >= 0 && at_[root_[i]].joined >= 0 && at_[at_[root_[i]].joined].joined == i;
  }

  // --- steps
  constexpr void emit_step(int i) {
    const node& n = nodes_[i];
    if (!n.op || n.op == &get_p || n.op == &dense_p || is_barrier(n) || parts_.is_whole(i)) return;
    if (is_elementwise(nodes_[i])) {
      if (root_[i] == i && at_[i].joined < 0) emit_group(i);
    } else if (is_view(nodes_[i]) || is_free(nodes_[i])) {
      if (at_[i].buffer >= 0) emit_copy(i, at_[i].buffer);
    } else {
      emit_kernel(i);
    }
  }

  /// The register that holds operand `id` of a loop. The operand is a value of the group, a constant, a value that is
  /// computed again, or else it is loaded from memory.
  constexpr int operand_register(int id, bool copying) {
    id = real(id);
    if (at_[id].reg >= 0) return at_[id].reg;
    if (at_[id].from >= 0) return compute(id);
    if (nodes_[id].op == &constant_p) {
      at_[id].reg = loop_.add_constant(constant_bits(g_, nodes_[id]), nodes_[id].type.dtype);
    } else {
      const strided v = copying ? source(id) : memory(id);
      at_[id].reg =
          loop_.add_load(v.counting ? -1 : at_[real(v.base)].buffer, v.offset, v.strides, nodes_[id].type.dtype);
    }
    touched_.push_back(id);
    return at_[id].reg;
  }
  constexpr void store(int id) {
    const auto* const part = parts_.of(id);
    loop_.add_store(at_[id].reg, at_[id].buffer, part ? part->offset : 0, nodes_[id].type);
  }
  constexpr void finish_loop(int id, bool produces = false) {
    loop_.finish(nodes_[id].type.shape, id, produces);
    forget_registers();
  }
  constexpr void forget_registers() {
    for (int t : touched_) at_[t].reg = -1;
    touched_.clear();
  }
  /// Appends the line of an elementwise node to the loop, after the lines of its operands.
  constexpr int compute(int id) {
    const node& n = nodes_[id];
    instruction line;
    line.function = n.op;
    line.type = n.type.dtype;
    line.operand = nodes_[operands_[n.first_operand + n.operand_count - 1]].type.dtype;
    short r[3] = {-1, -1, -1};
    for (int k = 0; k < n.operand_count; ++k)
      r[k] = static_cast<short>(operand_register(operands_[n.first_operand + k], false));
    line.a = r[0], line.b = r[1], line.c = r[2];
    touched_.push_back(id);
    return at_[id].reg = loop_.add(line);
  }
  /// Makes one loop of a group, or several if it is too large for one.
  constexpr void emit_group(int root) {
    vec<int> results;
    for (int m = at_[root].head; m >= 0; m = at_[m].next) {
      if (!at_[m].live) continue;
      if (at_[m].reg < 0) compute(m);
      if (at_[m].buffer >= 0) results.push_back(m);
    }
    if (results.empty()) {  // other loops compute its values
      loop_.abandon();
      return forget_registers();
    }
    if (!loop_.has_room(results.count(), results.count())) {
      loop_.abandon();
      forget_registers();
      return emit_in_parts(root);
    }
    for (int m : results) store(m);
    finish_loop(root);
  }
  /// Makes the loop of a group that a kernel runs for its operand. A group that is too large for one loop runs before the
  /// kernel and stores its result.
  constexpr void emit_producer(int root, int result) {
    for (int m = at_[root].head; m >= 0; m = at_[m].next)
      if (at_[m].live && at_[m].reg < 0) compute(m);
    if (!loop_.has_room(1, 1)) {
      loop_.abandon();
      forget_registers();
      at_[result].buffer = add_buffer(buffer_kind::arena, -1, nodes_[result].type);
      return emit_in_parts(root);
    }
    at_[result].buffer = plan_operand::handed_over;
    store(result);
    finish_loop(root, true);
  }
  /// Makes several loops of a group, none of them larger than the bound. A value that a later loop reads is stored, unless
  /// that loop can compute it again from a stored one. `stores` counts the stores that the loop would need if it ended here.
  constexpr void emit_in_parts(int root) {
    vec<int> members;
    for (int m = at_[root].head; m >= 0; m = at_[m].next)
      if (at_[m].live) members.push_back(m);
    const auto each_operand = [&](int m, auto&& f) {
      for (int e = nodes_[m].first_operand, end = e + nodes_[m].operand_count; e < end; ++e)
        if (const int o = real(operands_[e]); nodes_[o].op != &constant_p) f(o, in_group_with(o, m));
    };
    split_order split(g_.count(), members, each_operand);
    vec<int> part;
    int stores = 0;
    for (int m : split.order) {
      if (!loop_.has_room(stores + most_slots(), stores + most_lines())) {
        finish_part(part, split.uses);
        stores = 0;
      }
      if (at_[m].reg < 0) compute(m);
      part.push_back(m);
      const auto waits = [&](int o) { return at_[o].buffer < 0 && at_[o].from < 0; };
      stores += at_[m].buffer >= 0 || (waits(m) && split.uses[m] > 0);
      each_operand(m, [&](int o, bool member) {
        if (member && --split.uses[o] == 0 && waits(o)) --stores;
      });
    }
    finish_part(part, split.uses);
  }
  constexpr void finish_part(vec<int>& part, const vec<int>& uses) {
    for (int m : part) {
      if (at_[m].buffer < 0 && uses[m] > 0 && at_[m].from < 0)
        at_[m].buffer = add_buffer(buffer_kind::arena, -1, nodes_[m].type);
      if (at_[m].buffer >= 0) store(m);
    }
    finish_loop(part.back());
    part.clear();
  }
  constexpr void emit_copy(int id, int to) {
    loop_.add_store(operand_register(id, true), to, 0, nodes_[id].type);
    finish_loop(id);
  }
  constexpr void copy_outputs() {
    for (int k = 0; k < g_.outputs.count(); ++k) {
      const int id = real(g_.outputs[k]);
      if (at_[id].buffer == output_buffer_[k] || at_[whole(id)].buffer == output_buffer_[k]) continue;
      emit_copy(id, output_buffer_[k]);
    }
  }
  constexpr void add_operand(int buffer, std::int64_t offset, const array_type& t, const shape& strides) {
    plan_operand o;
    o.buffer = buffer;
    o.type = t.dtype;
    o.rank = t.shape.count;
    o.offset = offset;
    o.numbers = p_.numbers.count();
    for (std::int64_t e : t.shape) p_.numbers.push_back(e);
    for (std::int64_t e : strides) p_.numbers.push_back(e);
    p_.operands.push_back(o);
  }
  /// The result of a kernel that is node `id`: in memory of its own, or a part of another array.
  constexpr void add_result(int id, const array_type& t) {
    if (const auto* const part = parts_.of(id))
      add_operand(at_[part->whole].buffer, part->offset, t, part->strides);
    else
      add_operand(at_[id].buffer, 0, t, row_major(t.shape));
  }
  constexpr void emit_kernel(int i) {
    const node& n = nodes_[i];
    if (at_[i].joined >= 0) emit_producer(root_[at_[i].joined], at_[i].joined);
    plan_step st;
    st.kind = n.op->attributes.has_bodies() ? step_kind::call : step_kind::kernel;
    st.node = i;
    st.operands = p_.operands.count();
    st.in_count = n.operand_count;
    const bool strided_ok = takes_(*n.op).views;
    for (int k = 0; k < n.operand_count; ++k) {
      const int o = real(operands_[n.first_operand + k]);
      const strided v = memory(o);
      const bool direct = !v.counting && (strided_ok || is_row_major(nodes_[o].type.shape, v.strides));
      if (direct)
        add_operand(at_[real(v.base)].buffer, v.offset, nodes_[o].type, v.strides);
      else
        add_operand(at_[o].buffer, 0, nodes_[o].type, row_major(nodes_[o].type.shape));
    }
    if (n.op->infer_all) {  // its results are the get nodes; unused ones get memory too
      arrays in;
      in.reserve(static_cast<std::size_t>(n.operand_count));
      for (int k = 0; k < n.operand_count; ++k) in.push_back(array(nodes_[operands_[n.first_operand + k]].type));
      const types ts = n.op->infer_all(call_of(g_, n, in, const_cast<graph*>(&g_)));  // only read
      vec<int> result(ts.size(), -1);
      for (int j = at_[i].head; j >= 0; j = at_[j].next) result[picked_output(g_, nodes_[j])] = j;
      for (int k = 0; k < ts.count(); ++k) {
        if (result[k] >= 0)
          add_result(result[k], nodes_[result[k]].type);  // `lower` keeps the type where it rounds operands
        else
          add_operand(add_buffer(buffer_kind::arena, -1, ts[k]), 0, ts[k], row_major(ts[k].shape));
        if (k < 32 && (result[k] < 0 || !at_[result[k]].needed)) st.unread |= std::uint32_t{1} << k;
      }
      st.out_count = ts.count();
    } else {
      add_result(i, n.type);
      st.out_count = 1;
    }
    st.numbers = p_.numbers.count();
    st.number_count = n.word_count;
    append_words(p_.numbers, g_, n);
    st.function = p_.index_of(n.op);
    if (st.kind == step_kind::call) {  // the size of the scratch memory is known after the bodies
      plan_buffer scratch;
      p_.buffers.push_back(scratch);
      add_operand(p_.buffers.count() - 1, 0, {u32, false, {}}, {});
      ++st.out_count;
      st.region_count = body_count(g_, n);
      if (n.op->bodies.carries) st.carries = n.op->bodies.carries(g_.words_of(n));
      calls_.push_back(p_.steps.count());
    } else if (n.op->memory.overwrites >= 0) {
      donations_.note_update(st, n.op->memory.overwrites, 0);
    } else if (const int k = takes_(*n.op).overwrites; k >= 0) {
      donations_.note_update(st, k, 0);
    }
    p_.steps.push_back(st);
  }

  constexpr void plan_bodies() {
    for (int s : calls_) {
      const int first = p_.steps[s].region = p_.regions.count();
      const plan_step st = p_.steps[s];
      p_.regions.resize(p_.regions.size() + static_cast<std::size_t>(st.region_count));
      const auto word = [&](int b) { return p_.ops[st.function]->attributes.body_place(b); };
      for (int b = 0; b < st.region_count; ++b)
        plan_region_of(p_, g_.bodies[p_.numbers[st.numbers + word(b)]], first + b, takes_);
      for (int k = 0; k + 1 < st.out_count; ++k)
        if (const int operand = updated_by_bodies(st, k); operand >= 0) donations_.note_update(st, operand, k);
    }
  }
  /// The operand of a call that its bodies turn into result k in place, or -1 if they do not.
  constexpr int updated_by_bodies(const plan_step& st, int k) const {
    const auto donor = [&](int region) {
      const plan_region& r = p_.regions[region];
      return p_.buffers[p_.numbers[r.outputs + k]].donor;
    };
    const int last = st.region + st.region_count - 1;
    if (k < st.carries) return donor(last) == k ? k : -1;
    if (!p_.ops[st.function]->bodies.branches) return -1;
    for (int b = st.region; b < last; ++b)
      if (donor(b) != donor(last)) return -1;
    return donor(last) < 0 ? -1 : donor(last) + 1;
  }

  /// What one more member may need at most: three operands, each computed again with its constants, and a store.
  constexpr int most_slots() const { return again() ? 13 : 4; }
  constexpr int most_lines() const {
    return 3 * (2 * (again() ? most_computed_again + most_recomputed : most_recomputed) + 1) + 2;
  }
  constexpr bool again() const {
    if constexpr (requires { takes_.computes_again; })
      return takes_.computes_again;
    else
      return false;
  }
  plan& p_;
  const KernelTakes& takes_;
  const result_parts parts_;
  vec<int> output_buffer_, calls_, touched_;
  donations donations_{p_};
  loop_builder loop_{p_, donations_};
};

}  // namespace detail

constexpr void plan_region_of(plan& p, const graph& g, int self, const auto& takes) {
  p.regions[self] = detail::scheduler(p, g, takes).run();
}

/// Plans a lowered program. `takes(op)`: the kernel_takes of the device's kernel. `symbols` are the values of dynamic
/// extents for which the arena is laid out.
constexpr plan make_plan(const graph& g, const auto& takes, const std::int64_t* symbols) {
  plan p;
  p.regions.push_back({});
  plan_region_of(p, g, 0, takes);
  assign_arenas(view(p), p.buffers.data(), p.regions.data(), symbols);
  return p;
}

}  // namespace tokamax
