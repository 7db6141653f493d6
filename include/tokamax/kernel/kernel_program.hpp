// tokamax/kernel/kernel_program.hpp: one step of a kernel: its place in the grid, branches and loops on refs.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/kernel/kernel_call.cpp
#pragma once

#include <tokamax/kernel/block_spec.hpp>                   // kernel_scratch
#include <tokamax/kernel/ref.hpp>                          // ref
#include <tokamax/lax/elementwise/division.hpp>            // quotient
#include <tokamax/transforms/control_flow/cond.hpp>        // cond_p, branch_number
#include <tokamax/transforms/control_flow/scan.hpp>        // scan_p
#include <tokamax/transforms/control_flow/while_loop.hpp>  // while_loop_p

#include <string_view>  // string_view
#include <utility>      // index_sequence

namespace tokamax {

namespace detail {

/// A branch or loop in a kernel, whose body sees what all refs hold as inputs of its own.
class kernel_region {
 public:
  constexpr explicit kernel_region(kernel_trace& t) : trace_(t), around_(*t.now), before_(t.states) {}

  /// Traces f(inner values of `values`), which returns arrays, into `body`. The inputs are the values, then the refs.
  template <class F>
  constexpr void trace(graph& body, const arrays& values, location where, const F& f) {
    body.become_body_of(around_);
    trace_.now = &body;
    arrays out;
    {
      const ambient_trace scope(body);
      arrays inside;
      for (const array& v : values) inside.push_back(body_input(body, v.type()));
      for (array& s : trace_.states) s = body_input(body, s.type());
      out = f(inside);
      for (const array& a : out) body.outputs.push_back(lift(body, a, where).id());
      for (int r = 0; r < before_.count(); ++r)
        if (is_changed(body, values.count(), r)) changed_.push_back(r);
      for (const int r : changed_) body.outputs.push_back(lift(body, trace_.states[r], where).id());
    }
    order_captures(body);
    trace_.now = &around_;
    trace_.states = before_;
  }
  /// The refs that the body writes.
  constexpr const vec<int>& changed() const { return changed_; }
  /// Of the inputs that are refs, keeps those that the body writes, first, and those that it reads. They follow the `values`.
  /// The others would be copied for each call where they are parts of larger arrays. Returns the refs that are kept.
  constexpr vec<int> keep_refs(graph& body, int values) const {
    const vec<char> live = live_nodes(body);
    vec<int> refs = changed_;
    for (int r = 0; r < before_.count(); ++r)
      if (!contains(r) && live[body.inputs[values + r]]) refs.push_back(r);
    graph kept;
    kept.become_body_of(around_);
    arrays args(body.inputs.size());  // what does not exist is not read
    const auto keep = [&](int k) {
      args[k] = array(&kept, kept.input(body[body.inputs[k]].type), body[body.inputs[k]].type);
    };
    for (int k = 0; k < values; ++k) keep(k);
    for (const int r : refs) keep(values + r);
    for (int k = values + before_.count(); k < body.inputs.count(); ++k) keep(k);
    for (const array& y : inline_graph(kept, body, args.data())) kept.outputs.push_back(lift(kept, y).id());
    kept.captures = body.captures;
    kept.guests = body.guests;
    if (body.error.failed) kept.error = body.error;
    body = std::move(kept);
    return refs;
  }
  /// The values that the refs hold before.
  constexpr const arrays& before() const { return before_; }
  constexpr void set_changed(const arrays& results, int first) {
    for (int k = 0; k < changed_.count(); ++k) trace_.states[changed_[k]] = results[first + k];
  }

 private:
  constexpr bool contains(int r) const {
    for (const int c : changed_)
      if (c == r) return true;
    return false;
  }
  constexpr bool is_changed(const graph& body, int values, int r) const {
    const array& s = trace_.states[r];
    return !(s.trace() == &body && s.id() == body.inputs[values + r]);
  }

  kernel_trace& trace_;
  graph& around_;
  arrays before_;
  vec<int> changed_;
};

}  // namespace detail

class kernel_program;
namespace detail {
/// The number of refs that f takes behind `others` refs and, where `Program` says so, a kernel_program; -1: it cannot be
/// called.
template <class F, int Others, bool Program, int More = 0>
consteval int scratch_refs() {
  constexpr bool takes = []<std::size_t... Index>(std::index_sequence<Index...>) {
    if constexpr (Program)
      return requires(const F& f, const kernel_program& p, const ref& r) { f(p, ((void)Index, r)...); };
    else
      return requires(const F& f, const ref& r) { f(((void)Index, r)...); };
  }(std::make_index_sequence<static_cast<std::size_t>(Others + More)>{});
  if constexpr (takes)
    return More;
  else if constexpr (More == 16)
    return -1;
  else
    return scratch_refs<F, Others, Program, More + 1>();
}
}  // namespace detail

/// One step of a kernel, the first argument of its body.
class kernel_program {
 public:
  constexpr explicit kernel_program(detail::kernel_trace& t) : trace_(&t) {}

  /// The index of the step along a grid axis, an i32 scalar.
  constexpr array program_id(int axis, source_line l = source_line::current()) const {
    if (!has(axis, l)) return array(0);
    return trace_->ids[axis];
  }
  constexpr array program_id(std::string_view name, source_line l = source_line::current()) const {
    return program_id(axis_of(name, l), l);
  }
  /// The extent of a grid axis.
  ///
  /// errors  "num_programs: axis" for one of `up_to`, whose extent only a run knows: see `program_count`
  constexpr std::int64_t num_programs(int axis, source_line l = source_line::current()) const {
    if (!has(axis, l)) return 1;
    const grid_axis& a = trace_->grid[axis];
    if (a.counted_by >= 0)
      reject(trace_->now, l, "num_programs: axis", message("up to ") << a.extent << " steps along axis " << axis,
             "program_count, because only a run knows their number");
    return a.extent;
  }
  constexpr std::int64_t num_programs(std::string_view name, source_line l = source_line::current()) const {
    return num_programs(axis_of(name, l), l);
  }
  /// The number of steps along a grid axis, an i32 scalar. It may be one that only a run knows.
  constexpr array program_count(int axis, source_line l = source_line::current()) const {
    if (!has(axis, l)) return array(1);
    return trace_->counts[axis];
  }
  constexpr array program_count(std::string_view name, source_line l = source_line::current()) const {
    return program_count(axis_of(name, l), l);
  }

  /// Runs f() if the predicate holds. What f writes to refs counts only then.
  ///
  /// shapes  the predicate is a bool scalar
  /// errors  "when: predicate"
  /// source  jax.experimental.pallas.when
  template <class F>
  constexpr void when(const located& predicate, const F& f) const {
    when(predicate.value, predicate.where, f);
  }
  template <class F>
  constexpr void when(const array& holds, location where, const F& f) const {
    if (holds.dtype() != bool_ || holds.rank() != 0)
      return reject(trace_->now, where, "when: predicate", holds.type(), "a bool scalar");
    graph& g = *trace_->now;
    detail::kernel_region region(*trace_);
    vec<graph> bodies(2);
    region.trace(bodies[1], {}, where, [&](const arrays&) {
      f();
      return arrays();
    });
    if (region.changed().empty() && bodies[1].effects.empty()) return;
    bodies[0].become_body_of(g);
    arrays operands{lift(g, detail::branch_number(holds, 2))};
    for (const int r : region.keep_refs(bodies[1], 0)) {
      const array& held = region.before()[r];
      operands.push_back(held);
      bodies[0].input({held.dtype(), false, held.shape()});
    }
    for (int k = 0; k < region.changed().count(); ++k) bodies[0].outputs.push_back(bodies[0].inputs[k]);
    const words w = pack(cond_attributes{detail::add_bodies(g, bodies, operands)});
    if (g.error.failed) return;
    region.set_changed(bind_all(described<cond_p>(), operands.data(), operands.count(), w, where), 0);
  }

  /// Runs f(i) for i from `lower` to `upper` - 1, an i32.
  /// source  jax.lax.fori_loop
  template <class F>
  constexpr void fori_loop(const array& lower, const array& upper, const F& f,
                           source_line l = source_line::current()) const {
    fori_loop(
        lower, upper, arrays(),
        [&](const array& i, const arrays&) {
          f(i);
          return arrays();
        },
        l);
  }
  /// The same with values that steps pass on: f(i, values) returns the values for the next step. Returns the last ones.
  ///
  /// shapes  bounds are scalars; the values keep their types
  /// errors  "fori_loop: carry" if f changes a type
  template <class F>
  constexpr arrays fori_loop(const array& lower, const array& upper, const arrays& init, const F& f,
                             source_line l = source_line::current()) const {
    graph& g = *trace_->now;
    detail::kernel_region region(*trace_);
    vec<graph> bodies(1);
    arrays carried{lift(g, convert_element_type(lower, i32)), lift(g, convert_element_type(upper, i32))};
    for (const array& v : init) carried.push_back(lift(g, convert_element_type(v, v.dtype())));
    region.trace(bodies[0], carried, l, [&](const arrays& now) {
      arrays next{now[0] + 1, now[1]};
      arrays values;
      for (int k = 2; k < now.count(); ++k) values.push_back(now[k]);
      for (const array& v : f(now[0], values)) next.push_back(v);
      return next;
    });
    const int given = carried.count();
    check_carry(g, bodies[0], carried, given + region.changed().count(), l);
    if (g.error.failed) return init;
    arrays operands = carried;
    for (const int r : region.keep_refs(bodies[0], given)) operands.push_back(region.before()[r]);
    const arrays results = bind_loop(g, bodies, operands, given + region.changed().count(), l);
    region.set_changed(results, given);
    arrays out;
    for (int k = 2; k < given; ++k) out.push_back(results[k]);
    return out;
  }

  /// Runs f(i) for i = lower, lower + step, ... below `upper`.
  ///
  /// errors  "loop: step" below 1
  /// source  jax.experimental.pallas.loop
  template <class F>
  constexpr void loop(const array& lower, const array& upper, std::int32_t step, const F& f,
                      source_line l = source_line::current()) const {
    if (step < 1) return reject(trace_->now, l, "loop: step", message() << step, "at least 1");
    fori_loop(0, quotient(upper - lower + (step - 1), step), [&](const array& i) { f(lower + i * step); }, l);
  }

  /// Calls f on refs of memory that lasts as long as the call.
  ///
  /// errors  "run_scoped: refs" if f takes another number of them
  /// source  jax.experimental.pallas.run_scoped
  template <class F>
  constexpr void run_scoped(const vec<kernel_scratch>& scratch, const F& f,
                            source_line l = source_line::current()) const {
    constexpr int count = detail::scratch_refs<F, 0, false>();
    static_assert(count >= 0, "tokamax: run_scoped: the function takes a ref for each scratch memory");
    if (scratch.count() != count)
      return reject(trace_->now, l, "run_scoped: refs", message() << count, message() << scratch.count());
    const int first = allocate(scratch, l);
    [&]<std::size_t... Index>(std::index_sequence<Index...>) {
      const ref refs[]{ref(*trace_, first + static_cast<int>(Index))...};
      f(refs[Index]...);
    }(std::make_index_sequence<static_cast<std::size_t>(count)>{});
    release(first);
  }

  /// The two halves of run_scoped, for any number of refs: `allocate` gives the number of the first new ref.
  constexpr int allocate(const vec<kernel_scratch>& scratch, source_line l = source_line::current()) const {
    detail::kernel_trace& t = *trace_;
    const int first = t.states.count();
    for (const kernel_scratch& s : scratch) {
      const words w = pack(ref_empty_attributes{{s.type.dtype, false, s.type.shape}, s.space});
      t.states.push_back(detail::emit_op(*t.now, ref_empty_p, nullptr, 0, w, l)[0]);
      t.spaces.push_back(s.space);
      t.writable.push_back(1);
    }
    return first;
  }
  constexpr void release(int first) const {
    trace_->states.resize(static_cast<std::size_t>(first));
    trace_->spaces.resize(static_cast<std::size_t>(first));
    trace_->writable.resize(static_cast<std::size_t>(first));
  }
  constexpr detail::kernel_trace& trace() const { return *trace_; }

 private:
  constexpr bool has(int axis, location where) const {
    if (axis >= 0 && axis < trace_->grid.rank()) return true;
    reject(trace_->now, where, "program_id: axis", message() << axis,
           message("an axis of the grid ") << trace_->grid.extents());
    return false;
  }
  constexpr int axis_of(std::string_view name, location where) const {
    const int axis = trace_->grid.axis_of(name);
    if (axis >= 0) return axis;
    message names;
    for (int i = 0; i < trace_->grid.rank(); ++i)
      if (const std::string_view n = trace_->grid[i].name; !n.empty()) names << (names.length ? ", " : "one of ") << n;
    reject(trace_->now, where, "program_id: axis", message() << name,
           names.length ? names : message("a number, because no axis has a name"));
    return 0;
  }
  static constexpr void check_carry(graph& g, const graph& body, const arrays& carried, int wanted, location where) {
    if (body.outputs.count() != wanted)
      return reject(&g, where, "fori_loop: carry", message() << body.outputs.count() << " values", message() << wanted);
    for (int k = 0; k < carried.count(); ++k)
      if (const array_type& t = body[body.outputs[k]].type; !(t == carried[k].type()))
        reject(&g, where, "fori_loop: carry", t, carried[k].type());
  }
  /// A scan if the number of steps is known, else a while_loop.
  static constexpr arrays bind_loop(graph& g, vec<graph>& bodies, arrays& operands, int carries, location where) {
    const node &lower = g[operands[0].id()], &upper = g[operands[1].id()];
    if (lower.op == &constant_p && upper.op == &constant_p) {
      const auto value = [&](const node& n) { return static_cast<std::int32_t>(constant_bits(g, n).value); };
      const std::int64_t steps = std::int64_t{value(upper)} - value(lower);
      const vec<body_index> body = detail::add_bodies(g, bodies, operands);
      const scan_attributes a{body[0], carries, 0, operands.count() - carries, 0, steps > 0 ? steps : 0, false};
      return bind_all(described<scan_p>(), operands.data(), operands.count(), pack(a), where);
    }
    vec<graph> both(2);
    both[0].become_body_of(g);
    arrays in;
    for (const array& o : operands) in.push_back(detail::body_input(both[0], o.type()));
    both[0].outputs.push_back(lift(both[0], in[0] < in[1]).id());
    both[1] = std::move(bodies[0]);
    const vec<body_index> indices = detail::add_bodies(g, both, operands);
    const words w = pack(while_attributes{indices[0], indices[1], carries});
    return bind_all(described<while_loop_p>(), operands.data(), operands.count(), w, where);
  }

  detail::kernel_trace* trace_;
};

}  // namespace tokamax
