// tokamax/compiler/schedule.hpp: from a lowered graph to steps, operands and buffers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/compiler/fuse.hpp>          // fusion
#include <tokamax/compiler/loop_builder.hpp>  // loop_builder
#include <tokamax/compiler/memory.hpp>        // assign_arenas
#include <tokamax/lax/arithmetic.hpp>         // add_p, sub_p, mul_p

#include <bit>  // bit_cast

namespace tokamax {

constexpr void plan_region_of(plan& p, const graph& g, int self, const auto& strided_kernel);

namespace detail {

/// Turns one graph into one region of a plan.
template <class StridedKernel>
class scheduler {
 public:
  constexpr scheduler(plan& p, const graph& g, const StridedKernel& takes_strides)
      : p_(p), g_(g), takes_strides_(takes_strides), views_(g), groups_(g), places_(g.nodes.size()) {}

  constexpr plan_region run() {
    mark_needed();
    mark_recomputed();
    mark_live();
    plan_region r;
    r.first_buffer = p_.buffers.count();
    make_buffers(r);
    for (int i = g_.count() - 1; i >= 0; --i) {  // lists of what belongs together: a loop's nodes, a kernel's results
      const int owner = nodes_[i].kind == &get_p ? operands_[nodes_[i].first_operand] : root_[i];
      if (owner < 0) continue;
      at_[i].next = at_[owner].head;
      at_[owner].head = i;
    }
    const int first = p_.steps.count();
    for (int i : groups_.order) emit(i);
    copy_outputs();
    r.first_step = first;
    r.step_count = p_.steps.count() - first;
    r.buffer_count = p_.buffers.count() - r.first_buffer;
    r.outputs = p_.numbers.count();
    r.output_count = g_.outputs.count();
    for (int b : output_buffer_) p_.numbers.push_back(b);
    const vec<int> reuse = loop_.reuse();
    for (int b = 0; b < r.buffer_count; ++b) p_.buffers[r.first_buffer + b].reuse = reuse[b];
    find_donors(r);
    plan_bodies();
    return r;
  }

 private:
  /// A barrier is the value behind it.
  constexpr int real(int id) const {
    while (nodes_[id].kind == &optimization_barrier_p) id = operands_[nodes_[id].first_operand];
    return id;
  }
  /// The memory that `id` is read from.
  constexpr strided memory(int id) const {
    id = real(id);
    if (dense_[id]) return {id, 0, row_major(nodes_[id].type.extents)};
    strided v = view_[id];
    v.base = real(v.base);
    return v;
  }
  constexpr bool is_counting(int id) const { return !dense_[id] && view_[id].counting; }
  constexpr bool is_dense(int id) const {
    if (dense_[id] || view_[id].base == id) return !is_counting(id);
    return !is_counting(id) && is_row_major(nodes_[id].type.extents, view_[id].strides);
  }
  constexpr bool in_group_with(int p, int i) const { return root_[p] >= 0 && root_[p] == root_[i]; }
  /// `id` itself must lie in memory: a view is copied, so what it reads must too.
  constexpr void need(int id) {
    id = real(id);
    at_[id].needed = at_[id].stays = true;
    if (const strided& v = view_[id]; is_view(nodes_[id]) && !v.counting) {
      const int base = real(v.base);
      at_[base].needed = at_[base].stays = true;
    }
  }
  constexpr void need_memory(int id) {
    id = real(id);
    if (dense_[id])
      need(id);
    else if (const strided& v = view_[id]; !v.counting)
      need(v.base);
  }

  /// Which values must lie in memory. Views that must be copied come after their users, so the order is backwards.
  constexpr void mark_needed() {
    for (int i = g_.count() - 1; i >= 0; --i) {
      const node& n = nodes_[i];
      if (!n.kind || n.operand_count == 0) continue;
      const int* const operands = operands_ + n.first_operand;
      if (n.kind->kind == op_kind::elementwise) {
        for (int k = 0; k < n.operand_count; ++k) {
          const int o = real(operands[k]);
          if (in_group_with(o, i) || nodes_[o].kind == &constant_p) continue;
          if (is_elementwise(nodes_[o]) && nodes_[o].type.extents == n.type.extents)
            at_[o].needed = true;
          else
            need_memory(o);
        }
      } else if (n.kind->kind == op_kind::general) {
        const bool any_strides = takes_strides_(*n.kind);
        for (int k = 0; k < n.operand_count; ++k) {
          const int o = real(operands[k]);
          if (is_counting(o) || !(any_strides || is_dense(o)))
            need(o);
          else
            need_memory(o);
        }
      }
    }
    for (int i = 0; i < g_.count(); ++i)
      if (dense_[i] && (is_view(nodes_[i]) || is_free(nodes_[i]))) need(i);
    for (int o : g_.outputs) need_memory(o);
  }

  /// A value that only loops ask for, and that is a sum or product of constants and one value that its own loop stores
  /// anyway, is computed again by those loops: that takes no memory, and no time where loops wait for memory.
  constexpr void mark_recomputed() {
    for (int i = 0; i < g_.count(); ++i) {
      const node& n = nodes_[i];
      if (at_[i].stays || (n.kind != &add_p && n.kind != &sub_p && n.kind != &mul_p)) continue;
      int from = -1, lines = 1;
      for (int e = n.first_operand; e < n.first_operand + n.operand_count; ++e) {
        const int o = real(operands_[e]);
        if (nodes_[o].kind == &constant_p) continue;
        const int source = at_[o].from >= 0 ? at_[o].from : o;
        lines = from >= 0 && from != source ? most_recomputed + 1 : lines + at_[o].lines;
        from = source;
      }
      if (from < 0 || lines > most_recomputed || !in_group_with(from, i) || !at_[from].needed) continue;
      at_[i].needed = false;
      at_[i].from = from;
      at_[i].lines = lines;
    }
  }
  /// Which members of groups compute something for their own loop.
  constexpr void mark_live() {
    for (int i = g_.count() - 1; i >= 0; --i) {
      if (root_[i] < 0) continue;
      at_[i].live = at_[i].live || at_[i].needed;
      if (!at_[i].live) continue;
      const node& n = nodes_[i];
      for (int e = n.first_operand; e < n.first_operand + n.operand_count; ++e)
        if (const int o = real(operands_[e]); in_group_with(o, i)) at_[o].live = true;
    }
  }

  constexpr int add_buffer(plan_buffer::what kind, int index, const array_type& t) {
    plan_buffer b;
    b.kind = kind;
    b.index = index;
    b.bytes = mul_extent(size(t.extents), size_of(t.type));
    p_.buffers.push_back(b);
    return p_.buffers.count() - 1;
  }
  constexpr void make_buffers(plan_region& r) {
    r.inputs = p_.numbers.count();
    r.input_count = g_.inputs.count();
    for (int k = 0; k < g_.inputs.count(); ++k) {
      const int id = g_.inputs[k];
      at_[id].buffer = add_buffer(plan_buffer::what::input, k, nodes_[id].type);
      p_.numbers.push_back(at_[id].buffer);
    }
    output_buffer_.resize(g_.outputs.size(), -1);
    for (int k = 0; k < g_.outputs.count(); ++k) {  // an output that is computed is computed in place
      const int id = real(g_.outputs[k]);
      output_buffer_[k] = add_buffer(plan_buffer::what::output, k, nodes_[id].type);
      if (at_[id].buffer < 0 && nodes_[id].kind && !is_view(nodes_[id]) && !is_free(nodes_[id]))
        at_[id].buffer = output_buffer_[k];
    }
    for (int i = 0; i < g_.count(); ++i)
      if ((at_[i].needed || nodes_[i].kind == &get_p) && at_[i].buffer < 0 && nodes_[i].type.type != dtype::none)
        at_[i].buffer = add_buffer(plan_buffer::what::arena, -1, nodes_[i].type);
  }

  // --- steps
  constexpr void emit(int i) {
    const node& n = nodes_[i];
    if (!n.kind || n.kind == &get_p || n.kind == &optimization_barrier_p) return;
    if (is_elementwise(nodes_[i])) {
      if (root_[i] == i) emit_group(i);
    } else if (is_view(nodes_[i]) || is_free(nodes_[i])) {
      if (at_[i].buffer >= 0) emit_copy(i, at_[i].buffer);
    } else {
      emit_kernel(i);
    }
  }

  /// The register that holds operand `id` of a loop: a value of the group, a constant, one computed again, or a new slot.
  constexpr int operand_register(int id, bool copying) {
    id = real(id);
    if (at_[id].reg >= 0) return at_[id].reg;
    if (at_[id].from >= 0) return compute(id);
    if (nodes_[id].kind == &constant_p) {
      at_[id].reg = loop_.add_constant(*g_.words_of(nodes_[id]), nodes_[id].type.type);
    } else {
      const strided v = copying ? view_[id] : memory(id);
      at_[id].reg =
          loop_.add_load(v.counting ? -1 : at_[real(v.base)].buffer, v.offset, v.strides, nodes_[id].type.type);
    }
    touched_.push_back(id);
    return at_[id].reg;
  }
  constexpr void finish_loop(int id) {
    loop_.finish(nodes_[id].type.extents, id);
    for (int t : touched_) at_[t].reg = -1;
    touched_.clear();
  }
  /// Appends the line of an elementwise node to a loop.
  constexpr int compute(int id) {
    const node& n = nodes_[id];
    instruction line;
    line.function = n.kind;
    line.type = n.type.type;
    line.operand = nodes_[operands_[n.first_operand + n.operand_count - 1]].type.type;
    short r[3] = {-1, -1, -1};
    for (int k = 0; k < n.operand_count; ++k)
      r[k] = static_cast<short>(operand_register(operands_[n.first_operand + k], false));
    line.a = r[0], line.b = r[1], line.c = r[2];
    touched_.push_back(id);
    return at_[id].reg = loop_.add(line);
  }
  constexpr void emit_group(int root) {
    vec<int> results;
    for (int m = at_[root].head; m >= 0; m = at_[m].next) {
      if (!at_[m].live) continue;
      if (at_[m].reg < 0) compute(m);
      if (at_[m].buffer >= 0) results.push_back(m);
    }
    for (int m : results) loop_.add_store(at_[m].reg, at_[m].buffer, nodes_[m].type);
    finish_loop(root);
  }
  constexpr void emit_copy(int id, int to) {
    loop_.add_store(operand_register(id, true), to, nodes_[id].type);
    finish_loop(id);
  }
  constexpr void copy_outputs() {
    for (int k = 0; k < g_.outputs.count(); ++k) {
      const int id = real(g_.outputs[k]);
      if (at_[id].buffer == output_buffer_[k]) continue;
      emit_copy(id, output_buffer_[k]);
    }
  }
  constexpr void add_operand(int buffer, std::int64_t offset, const array_type& t, const shape& strides) {
    plan_operand o;
    o.buffer = buffer;
    o.type = t.type;
    o.rank = t.extents.count;
    o.offset = offset;
    o.numbers = p_.numbers.count();
    for (std::int64_t e : t.extents) p_.numbers.push_back(e);
    for (std::int64_t e : strides) p_.numbers.push_back(e);
    p_.operands.push_back(o);
  }
  constexpr void emit_kernel(int i) {
    const node& n = nodes_[i];
    plan_step st;
    st.kind = n.kind->has_body ? plan_step::what::scan : plan_step::what::kernel;
    st.node = i;
    st.operands = p_.operands.count();
    st.in_count = n.operand_count;
    const bool strided_ok = takes_strides_(*n.kind);
    for (int k = 0; k < n.operand_count; ++k) {
      const int o = real(operands_[n.first_operand + k]);
      const strided v = memory(o);
      const bool direct = !v.counting && (strided_ok || is_row_major(nodes_[o].type.extents, v.strides));
      if (direct)
        add_operand(at_[real(v.base)].buffer, v.offset, nodes_[o].type, v.strides);
      else
        add_operand(at_[o].buffer, 0, nodes_[o].type, row_major(nodes_[o].type.extents));
    }
    if (n.kind->infer_all) {  // results are the nodes that pick from it; unused ones get memory of their own
      arrays in;
      in.reserve(static_cast<std::size_t>(n.operand_count));
      for (int k = 0; k < n.operand_count; ++k) in.push_back(array(nodes_[operands_[n.first_operand + k]].type));
      const types ts = n.kind->infer_all(call{.self = n.kind,
                                              .inputs = in.data(),
                                              .count = in.count(),
                                              .attributes = g_.words_of(n),
                                              .attribute_count = n.word_count,
                                              .trace = const_cast<graph*>(&g_)});  // only read
      vec<int> result(ts.size(), -1);
      for (int j = at_[i].head; j >= 0; j = at_[j].next) result[*g_.words_of(nodes_[j])] = j;
      for (int k = 0; k < ts.count(); ++k) {
        array_type type = ts[k];
        if (result[k] >= 0) type = nodes_[result[k]].type;  // what `lower` kept, where operands are rounded
        const int buffer = result[k] >= 0 ? at_[result[k]].buffer : add_buffer(plan_buffer::what::arena, -1, type);
        add_operand(buffer, 0, type, row_major(type.extents));
      }
      st.out_count = ts.count();
    } else {
      add_operand(at_[i].buffer, 0, n.type, row_major(n.type.extents));
      st.out_count = 1;
    }
    st.numbers = p_.numbers.count();
    st.number_count = n.word_count;
    for (int k = 0; k < n.word_count; ++k) p_.numbers.push_back(g_.words_of(n)[k]);
    if (st.kind == plan_step::what::scan) {  // two copies of the carry and the body's arena, sized with the body
      plan_buffer scratch;
      p_.buffers.push_back(scratch);
      add_operand(p_.buffers.count() - 1, 0, {u32, false, {}}, {});
      ++st.out_count;
      scans_.push_back(p_.steps.count());
      st.function = static_cast<int>(*g_.words_of(n));
    } else {
      st.function = op_index(n.kind);
      if (n.kind->overwrites >= 0) loop_.note_reuse(st, n.kind->overwrites);
    }
    p_.steps.push_back(st);
  }
  constexpr int op_index(const op* kind) {
    for (int k = 0; k < p_.ops.count(); ++k)
      if (p_.ops[k] == kind) return k;
    p_.ops.push_back(kind);
    return p_.ops.count() - 1;
  }

  /// An output that could be written over an input of the caller, if the caller gives that one away.
  constexpr void find_donors(const plan_region& r) {
    vec<int> last(static_cast<std::size_t>(r.buffer_count), -1), writer(static_cast<std::size_t>(r.buffer_count), -1);
    for (int s = 0; s < r.step_count; ++s) {
      const plan_step& st = p_.steps[r.first_step + s];
      for (int k = 0; k < st.in_count + st.out_count; ++k) {
        const int b = p_.operands[st.operands + k].buffer - r.first_buffer;
        if (b < 0) continue;
        if (k < st.in_count)
          last[b] = s;
        else if (writer[b] < 0)
          writer[b] = s;
      }
    }
    for (int b = 0; b < r.buffer_count; ++b) {
      plan_buffer& out = p_.buffers[r.first_buffer + b];
      const int d = out.reuse;
      if (d < 0 || out.kind != plan_buffer::what::output) continue;
      if (p_.buffers[r.first_buffer + d].kind == plan_buffer::what::input && last[d] == writer[b])
        out.donor = p_.buffers[r.first_buffer + d].index;
    }
  }
  constexpr void plan_bodies() {
    for (int s : scans_) {
      const int body = p_.steps[s].function, self = p_.regions.count();
      p_.regions.push_back({});
      plan_region_of(p_, g_.bodies[body], self, takes_strides_);
      p_.steps[s].function = self;
    }
  }

  plan& p_;
  const graph& g_;
  const StridedKernel& takes_strides_;
  view_table views_;
  fusion groups_;
  /// What becomes of a node. In memory if needed; `head` and `next` make lists of what belongs together.
  /// Computed again from another one if `from` is set, by so many lines.
  struct place {
    bool needed = false, stays = false, live = false;
    int buffer = -1, reg = -1, head = -1, next = -1, from = -1, lines = 0;
  };
  static constexpr int most_recomputed = 3;
  vec<place> places_;
  // The tables as pointers: what an accessor costs the compiler counts here.
  const node* const nodes_ = g_.nodes.data();
  const int *const operands_ = g_.operands.data(), *const root_ = groups_.root.data();
  const char* const dense_ = views_.dense.data();
  const strided* const view_ = views_.of.data();
  place* const at_ = places_.data();
  vec<int> output_buffer_, scans_, touched_;
  loop_builder loop_{p_};
};

}  // namespace detail

constexpr void plan_region_of(plan& p, const graph& g, int self, const auto& strided_kernel) {
  p.regions[self] = detail::scheduler(p, g, strided_kernel).run();
}

/// Plans a lowered program. `strided_kernel(op)`: does the backend's kernel read operands with any strides?
/// `symbols` are the values of dynamic extents for which the arena is laid out.
constexpr plan make_plan(const graph& g, const auto& strided_kernel, const std::int64_t* symbols) {
  plan p;
  p.regions.push_back({});
  plan_region_of(p, g, 0, strided_kernel);
  assign_arenas(view(p), p.buffers.data(), p.regions.data(), symbols);
  return p;
}

}  // namespace tokamax
