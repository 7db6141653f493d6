// tokamax/compiler/schedule.hpp: from a lowered graph to steps, operands and buffers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/compiler/fuse.hpp>          // fusion
#include <tokamax/compiler/loop_builder.hpp>  // loop_builder
#include <tokamax/compiler/memory.hpp>        // assign_arenas

#include <bit>  // bit_cast

namespace tokamax {

constexpr void plan_region_of(plan& p, const graph& g, int self, const auto& strided_kernel);

namespace detail {

/// Turns one graph into one region of a plan.
template <class StridedKernel>
class scheduler {
 public:
  constexpr scheduler(plan& p, const graph& g, const StridedKernel& takes_strides)
      : p_(p),
        g_(g),
        takes_strides_(takes_strides),
        views_(g),
        groups_(g),
        needed_(g.nodes.size(), 0),
        buffer_(g.nodes.size(), -1),
        reg_(g.nodes.size(), -1),
        head_(g.nodes.size(), -1),
        next_(g.nodes.size(), -1) {}

  constexpr plan_region run() {
    mark_needed();
    plan_region r;
    r.first_buffer = p_.buffers.count();
    make_buffers(r);
    for (int i = g_.count() - 1; i >= 0; --i) {  // lists of what belongs together: a loop's nodes, a kernel's results
      int owner = groups_.root[i];
      if (g_.nodes[i].kind == &get_p) owner = g_.operand(g_.nodes[i], 0);
      if (owner < 0) continue;
      next_[i] = head_[owner];
      head_[owner] = i;
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
    while (g_.nodes[id].kind == &optimization_barrier_p) id = g_.operands[g_.nodes[id].first_operand];
    return id;
  }
  /// The memory that `id` is read from.
  constexpr strided memory(int id) const {
    id = real(id);
    if (views_.dense[id]) return {id, 0, row_major(g_[id].type.extents)};
    strided v = views_.of[id];
    v.base = real(v.base);
    return v;
  }
  constexpr bool is_counting(int id) const { return !views_.dense[id] && views_.of[id].counting; }
  constexpr bool is_dense(int id) const {
    if (views_.dense[id] || views_.of[id].base == id) return !is_counting(id);
    return !is_counting(id) && is_row_major(g_.nodes[id].type.extents, views_.of[id].strides);
  }
  constexpr bool in_group_with(int p, int i) const {
    return groups_.root[p] >= 0 && groups_.root[p] == groups_.root[i];
  }
  /// `id` itself must lie in memory: a view is copied, so what it reads must too.
  constexpr void need(int id) {
    id = real(id);
    needed_[id] = 1;
    if (const strided& v = views_.of[id]; is_view(g_, id) && !v.counting) needed_[real(v.base)] = 1;
  }
  constexpr void need_memory(int id) {
    id = real(id);
    if (views_.dense[id])
      need(id);
    else if (const strided& v = views_.of[id]; !v.counting)
      need(v.base);
  }

  /// Which values must lie in memory. Views that must be copied come after their users, so the order is backwards.
  constexpr void mark_needed() {
    for (int i = g_.count() - 1; i >= 0; --i) {
      const node& n = g_.nodes[i];
      if (!n.kind || n.operand_count == 0) continue;
      const int* const operands = g_.operands.data() + n.first_operand;
      if (n.kind->kind == op_kind::elementwise) {
        for (int k = 0; k < n.operand_count; ++k) {
          const int o = real(operands[k]);
          if (!in_group_with(o, i) && g_.nodes[o].kind != &constant_p) need_memory(o);
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
      if (views_.dense[i] && (is_view(g_, i) || is_free(g_, i))) need(i);
    for (int o : g_.outputs) need_memory(o);
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
      buffer_[id] = add_buffer(plan_buffer::what::input, k, g_[id].type);
      p_.numbers.push_back(buffer_[id]);
    }
    output_buffer_.resize(g_.outputs.size(), -1);
    for (int k = 0; k < g_.outputs.count(); ++k) {  // an output that is computed is computed in place
      const int id = real(g_.outputs[k]);
      output_buffer_[k] = add_buffer(plan_buffer::what::output, k, g_[id].type);
      if (buffer_[id] < 0 && g_[id].kind && !is_view(g_, id) && !is_free(g_, id)) buffer_[id] = output_buffer_[k];
    }
    for (int i = 0; i < g_.count(); ++i)
      if ((needed_[i] || g_[i].kind == &get_p) && buffer_[i] < 0 && g_[i].type.type != dtype::none)
        buffer_[i] = add_buffer(plan_buffer::what::arena, -1, g_[i].type);
  }

  // --- steps
  constexpr void emit(int i) {
    const node& n = g_[i];
    if (!n.kind || n.kind == &get_p || n.kind == &optimization_barrier_p) return;
    if (is_elementwise(g_, i)) {
      if (groups_.root[i] == i) emit_group(i);
    } else if (is_view(g_, i) || is_free(g_, i)) {
      if (buffer_[i] >= 0) emit_copy(i, buffer_[i]);
    } else {
      emit_kernel(i);
    }
  }

  /// The register that holds operand `id` of a loop: a value of the group, a constant, or a new slot.
  constexpr int operand_register(int id, bool copying) {
    id = real(id);
    if (reg_[id] >= 0) return reg_[id];
    if (g_[id].kind == &constant_p) {
      reg_[id] = loop_.add_constant(*g_.words_of(g_[id]), g_[id].type.type);
    } else {
      const strided v = copying ? views_.of[id] : memory(id);
      reg_[id] = loop_.add_load(v.counting ? -1 : buffer_[real(v.base)], v.offset, v.strides, g_[id].type.type);
    }
    touched_.push_back(id);
    return reg_[id];
  }
  constexpr void finish_loop(int id) {
    loop_.finish(g_[id].type.extents, id);
    for (int t : touched_) reg_[t] = -1;
    touched_.clear();
  }
  constexpr void emit_group(int root) {
    vec<int> results;
    for (int m = head_[root]; m >= 0; m = next_[m]) {
      const node& n = g_[m];
      instruction line;
      line.function = n.kind;
      line.type = n.type.type;
      line.operand = g_[g_.operand(n, n.operand_count - 1)].type.type;
      short r[3] = {-1, -1, -1};
      for (int k = 0; k < n.operand_count; ++k) r[k] = static_cast<short>(operand_register(g_.operand(n, k), false));
      line.a = r[0], line.b = r[1], line.c = r[2];
      reg_[m] = loop_.add(line);
      touched_.push_back(m);
      if (buffer_[m] >= 0) results.push_back(m);
    }
    for (int m : results) loop_.add_store(reg_[m], buffer_[m], g_[m].type);
    finish_loop(root);
  }
  constexpr void emit_copy(int id, int to) {
    loop_.add_store(operand_register(id, true), to, g_[id].type);
    finish_loop(id);
  }
  constexpr void copy_outputs() {
    for (int k = 0; k < g_.outputs.count(); ++k) {
      const int id = real(g_.outputs[k]);
      if (buffer_[id] == output_buffer_[k]) continue;
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
    const node& n = g_[i];
    plan_step st;
    st.kind = n.kind->has_body ? plan_step::what::scan : plan_step::what::kernel;
    st.node = i;
    st.operands = p_.operands.count();
    st.in_count = n.operand_count;
    const bool strided_ok = takes_strides_(*n.kind);
    for (int k = 0; k < n.operand_count; ++k) {
      const int o = real(g_.operand(n, k));
      const strided v = memory(o);
      const bool direct = !v.counting && (strided_ok || is_row_major(g_[o].type.extents, v.strides));
      if (direct)
        add_operand(buffer_[real(v.base)], v.offset, g_[o].type, v.strides);
      else
        add_operand(buffer_[o], 0, g_[o].type, row_major(g_[o].type.extents));
    }
    if (n.kind->infer_all) {  // results are the nodes that pick from it; unused ones get memory of their own
      arrays in;
      in.reserve(static_cast<std::size_t>(n.operand_count));
      for (int k = 0; k < n.operand_count; ++k) in.push_back(array(g_.nodes[g_.operand(n, k)].type));
      const types ts = n.kind->infer_all(call{.self = n.kind,
                                              .inputs = in.data(),
                                              .count = in.count(),
                                              .attributes = g_.words_of(n),
                                              .attribute_count = n.word_count,
                                              .trace = const_cast<graph*>(&g_)});  // only read
      vec<int> result(ts.size(), -1);
      for (int j = head_[i]; j >= 0; j = next_[j]) result[*g_.words_of(g_.nodes[j])] = j;
      for (int k = 0; k < ts.count(); ++k)
        add_operand(result[k] >= 0 ? buffer_[result[k]] : add_buffer(plan_buffer::what::arena, -1, ts[k]), 0, ts[k],
                    row_major(ts[k].extents));
      st.out_count = ts.count();
    } else {
      add_operand(buffer_[i], 0, n.type, row_major(n.type.extents));
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
  vec<char> needed_;
  vec<int> buffer_, reg_, head_, next_;
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
