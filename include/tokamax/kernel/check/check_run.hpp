// tokamax/kernel/check/check_run.hpp: runs a program op by op, and its kernels on memory that notices mistakes.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/kernel/check/check_kernel.cpp
// umbrella: no (programs that check kernels include kernel/check/check_kernel.hpp)
#pragma once

#include <tokamax/core/graph/composed.hpp>          // composed
#include <tokamax/kernel/async_copy.hpp>            // copy_start_p, copy_wait_p
#include <tokamax/kernel/check/checked_copies.hpp>  // checked_copies
#include <tokamax/kernel/check/kernel_problem.hpp>  // kernel_problem
#include <tokamax/kernel/kernel_rules.hpp>          // kernel_call_p
#include <tokamax/kernel/semaphore.hpp>             // semaphore_signal_p, semaphore_wait_p

#include <memory>  // unique_ptr
#include <string>  // string
#include <vector>  // vector

namespace tokamax {

/// How check_kernel runs kernels.
struct kernel_check_options {
  copy_mode copies = copy_mode::torn;
  std::uint64_t seed = 0;        ///< of the order of parallel steps, and of torn copies
  double vmem_bytes = 16 << 20;  ///< of a core; the least of the TPUs
  double smem_bytes = 1 << 20;
};

namespace detail {

/// A value of a program that is checked: an array, or the memory that a ref names.
struct checked_value {
  array data = {};
  checked_memory* memory = nullptr;
};
using checked_values = std::vector<checked_value>;

/// What all kernels of a check share.
class check_state {
 public:
  check_state(const kernel_check_options& given, poison_pattern p)
      : options(given), poison(p), copies(given.copies, given.seed) {}

  /// Each pair of lines is reported once.
  void report(kernel_mistake m, location first, location second, const std::string& text) {
    for (const kernel_problem& p : problems)
      if (p.mistake == m && same(p.first, first) && same(p.second, second)) return;
    problems.push_back({m, text + in_step(), first, second});
  }
  /// A read of memory that was never written: a mistake only if results depend on it.
  void suspect(location first, const checked_memory& m, const memory_range& r) {
    for (const kernel_problem& p : suspected)
      if (same(p.first, first) && same(p.second, m.made())) return;
    suspected.push_back({kernel_mistake::uninitialized, "reads " + m.text(r) + in_step(), first, m.made()});
  }
  /// A semaphore that is not zero when its memory ends.
  void report_left(const checked_memory& m, location signal, location end, double count) {
    report(kernel_mistake::semaphore_left, signal, end,
           "leaves " + std::to_string(static_cast<std::int64_t>(count)) + " on " +
               m.text(memory_range::all_of(m.type().shape)));
  }
  /// An array that parallel steps share, and that one of them reads or writes.
  void share(const memory_place& p, location where, bool writes) {
    if (p.memory->space() != memory_space::any) return;
    if (const checked_memory::writer* w = p.memory->other_writer(p.range, chunk))
      report(kernel_mistake::parallel_race, where, w->where,
             (writes ? "writes " : "reads ") + p.memory->text(p.range) + ", which step " + w->step + " wrote");
    if (writes) p.memory->note_writer(p.range, {chunk, where, step});
  }
  std::string in_step() const { return step.empty() ? "" : " in step " + step; }

  const kernel_check_options options;
  const poison_pattern poison;
  checked_copies copies;
  std::vector<kernel_problem> problems, suspected;
  std::string step;         ///< the step of the grid, such as "(0, 3)"
  std::int64_t chunk = 0;   ///< the number of the steps that run one after the other
  double scoped_bytes = 0;  ///< of VMEM, beside the blocks

 private:
  static bool same(location a, location b) { return a.line == b.line && std::string_view(a.file) == b.file; }
};

/// Runs graphs on values. Ops without memory run on the host's device, one by one.
class check_run {
 public:
  explicit check_run(check_state& s) : state_(s) {}
  checked_values run(const graph& g, const checked_values& in, location around = {});

 private:
  using results = std::map<int, checked_values>;
  /// One run of a graph.
  struct frame {
    const graph& g;
    checked_values values;                                ///< by node
    results tuples;                                       ///< of ops with several results, by node
    std::vector<std::unique_ptr<checked_memory>> scoped;  ///< memory that ends with the run
  };
  static const checked_value& operand(const frame& f, const node& n, int k) {
    return f.values[static_cast<std::size_t>(f.g.operand(n, k))];
  }
  const vec<char>& needed(const graph& g);
  void node_of(frame& f, int i);
  checked_values call(frame& f, const node& n);
  checked_values bodies(frame& f, const node& n);
  checked_values plain(frame& f, const node& n);
  checked_values get(frame& f, const node& n);
  checked_values set(frame& f, const node& n);
  checked_values start(frame& f, const node& n);
  checked_values wait(frame& f, const node& n);
  checked_values count(frame& f, const node& n);
  checked_value scoped(frame& f, const node& n);
  memory_place place(frame& f, const node& n, int ref, const shape& sizes, int first, int starts);
  array counts_of(const memory_place& p, const array_type& t) const;
  array data_of(const checked_value& v) const {
    return v.memory ? v.memory->read(memory_range::all_of(v.memory->type().shape), v.memory->type()) : v.data;
  }
  void end_scope(frame& f, location end);

  check_state& state_;
  std::map<const graph*, vec<char>> needed_;
  std::map<const node*, graph> composed_;
};

/// Defined in kernel/check/check_grid.hpp.
checked_values check_grid(check_run& run, check_state& state, const graph& g, const node& n, const arrays& operands);

/// The nodes to run: what results depend on, and all that changes memory.
inline const vec<char>& check_run::needed(const graph& g) {
  const auto known = needed_.find(&g);
  if (known != needed_.end()) return known->second;
  vec<char> live = live_nodes(g);
  for (int i = g.count() - 1; i >= 0; --i) {
    const op* o = g[i].op;
    for (const op* changes : {&copy_start_p, &copy_wait_p, &ref_set_p, &semaphore_signal_p, &semaphore_wait_p})
      if (o == changes) live[i] = 1;
    for (int k = 0; live[i] && k < g[i].operand_count; ++k) live[g.operand(g[i], k)] = 1;
  }
  return needed_.emplace(&g, std::move(live)).first->second;
}

/// Runs the needed nodes in their order. `around` is the line that the graph's memory ends at, if there is one.
inline checked_values check_run::run(const graph& g, const checked_values& in, location around) {
  frame f{g, checked_values(static_cast<std::size_t>(g.count())), {}, {}};
  for (int k = 0; k < g.inputs.count(); ++k)
    f.values[static_cast<std::size_t>(g.inputs[k])] = in[static_cast<std::size_t>(k)];
  const vec<char>& live = needed(g);
  for (int i = 0; i < g.count(); ++i)
    if (live[i] && g[i].op) node_of(f, i);
  checked_values out;
  for (const int o : g.outputs) out.push_back(f.values[static_cast<std::size_t>(o)]);
  end_scope(f, around);
  return out;
}

/// Sets the value of node i: constants and parts of tuples are there already, memory is made, and all else is called.
inline void check_run::node_of(frame& f, int i) {
  const node& n = f.g[i];
  checked_value& to = f.values[static_cast<std::size_t>(i)];
  if (n.op == &constant_p) {
    to.data = array(constant_bits(f.g, n), n.type);
  } else if (n.op == &dense_p) {
    to.data = array::uninitialized({n.type.dtype, false, n.type.shape});
    std::memcpy(to.data.storage()->data, f.g.words_of(n),
                static_cast<std::size_t>(size(n.type.shape) * size_of(n.type.dtype)));
  } else if (n.op == &captured_p) {
    to.data = array(captured_data_of(f.g, n), n.type);
  } else if (n.op == &get_p) {
    to = f.tuples.at(f.g.operand(n, 0))[static_cast<std::size_t>(picked_output(f.g, n))];
  } else if (n.op == &ref_empty_p) {
    to = scoped(f, n);
  } else {
    checked_values out = call(f, n);
    if (n.op->infer_all)
      f.tuples[i] = std::move(out);
    else
      to = out[0];
  }
}

inline checked_values check_run::call(frame& f, const node& n) {
  // Derivatives keep what a ref holds as a value. Then these are ops as others.
  const bool copies = n.op == &copy_start_p || n.op == &copy_wait_p;
  const bool on_memory = n.operand_count > 0 && operand(f, n, 0).memory && (!copies || operand(f, n, 1).memory);
  if (n.op == &ref_get_p && on_memory) return get(f, n);
  if (n.op == &ref_set_p && on_memory) return set(f, n);
  if (n.op == &copy_start_p && on_memory) return start(f, n);
  if (n.op == &copy_wait_p && on_memory) return wait(f, n);
  if ((n.op == &semaphore_signal_p || n.op == &semaphore_wait_p) && on_memory) return count(f, n);
  if (n.op == &kernel_call_p) {
    arrays in;
    for (int k = 0; k < n.operand_count; ++k) in.push_back(data_of(operand(f, n, k)));
    return check_grid(*this, state_, f.g, n, in);
  }
  return n.op->attributes.has_bodies() ? bodies(f, n) : plain(f, n);
}

/// An op on values, by the host's kernel.
inline checked_values check_run::plain(frame& f, const node& n) {
  arrays in;
  for (int k = 0; k < n.operand_count; ++k) in.push_back(data_of(operand(f, n, k)));
  checked_values out;
  for (const array& a :
       bind_all(*n.op, in.data(), in.count(), words(f.g.words_of(n), static_cast<std::size_t>(n.word_count)), n.where))
    out.push_back({a});
  return out;
}

/// Branches and loops run their bodies on the same memory. Other ops with bodies mean smaller ops.
inline checked_values check_run::bodies(frame& f, const node& n) {
  const std::int64_t* const w = f.g.words_of(n);
  const body_facts& facts = n.op->bodies;
  checked_values in;
  for (int k = 0; k < n.operand_count; ++k) in.push_back(operand(f, n, k));
  const auto body = [&](int b) -> const graph& { return body_of(f.g, n, b); };
  if (facts.branches) {
    const auto chosen = static_cast<int>(in[0].data.item<std::int32_t>());
    return run(body(chosen), checked_values(in.begin() + 1, in.end()), n.where);
  }
  if (facts.carries) {
    const auto carries = facts.carries(w);
    const int last = body_count(f.g, n) - 1;
    const bool counted = facts.repeats != nullptr;
    const bool entries = counted && (unpack<scan_attributes>(w).sequences || unpack<scan_attributes>(w).stacked);
    if (!entries) {
      for (std::int64_t i = 0; counted ? i < facts.repeats(w) : run(body(0), in)[0].data.item<bool>(); ++i) {
        const checked_values next = run(body(last), in, n.where);
        for (int k = 0; k < carries; ++k) in[static_cast<std::size_t>(k)] = next[static_cast<std::size_t>(k)];
      }
      return checked_values(in.begin(), in.begin() + carries);
    }
  }
  graph alone;
  arrays given, operands;
  for (const checked_value& v : in) {
    given.push_back(data_of(v));
    operands.push_back(body_input(alone, given.back().type()));
  }
  if (!facts.carries && n.op->compose) {
    const auto known = composed_.find(&n);
    tokamax::call c =
        call_of(*n.op, operands.data(), operands.count(), w, n.word_count, const_cast<graph*>(&f.g), n.where);
    c.type = n.type;
    const graph& meaning = known != composed_.end() ? known->second : composed_.emplace(&n, composed(c)).first->second;
    return run(meaning, in, n.where);
  }
  for (const array& y : emit_op(alone, *n.op, operands.data(), operands.count(), carry_words(f.g, n, alone), n.where))
    alone.outputs.push_back(y.id());
  checked_values out;
  for (const array& a : execute_graph(alone, given)) out.push_back({a});
  return out;
}

/// The box of a ref that a node names. One that is not inside is reported, and moved inside as dynamic_slice does.
inline memory_place check_run::place(frame& f, const node& n, int ref, const shape& sizes, int first, int starts) {
  checked_memory& m = *operand(f, n, ref).memory;
  memory_range r{sizes, sizes};
  for (int i = 0; i < sizes.rank(); ++i)
    r.start[i] = starts == 0 ? 0 : data_of(operand(f, n, first + i)).item<std::int32_t>();
  if (!r.inside(m.type().shape)) {
    state_.report(kernel_mistake::out_of_bounds, n.where, m.made(), "takes " + m.text(r));
    for (int i = 0; i < sizes.rank(); ++i)
      r.start[i] = std::max<std::int64_t>(0, std::min(r.start[i], m.type().shape[i] - sizes[i]));
  }
  return {&m, r};
}

/// Reads a box: it must not be under a copy, and what nobody wrote there is suspected.
inline checked_values check_run::get(frame& f, const node& n) {
  const auto o = unpack<box_options>(f.g.words_of(n));
  const memory_place p = place(f, n, 0, o.sizes, 1, n.operand_count - 1);
  state_.copies.pass_time();
  if (p.memory->space() == memory_space::semaphore) return {{counts_of(p, n.type)}};
  state_.share(p, n.where, false);
  if (const copy_under_way* c = state_.copies.writing(p))
    state_.report(kernel_mistake::read_before_wait, n.where, c->where, "reads " + p.memory->text(p.range));
  else if (!p.memory->is_written(p.range))
    state_.suspect(n.where, *p.memory, p.range);
  return {{p.memory->read(p.range, n.type)}};
}

/// What semaphores count, which their memory does not hold.
inline array check_run::counts_of(const memory_place& p, const array_type& t) const {
  array out = array::uninitialized({t.dtype, false, t.shape});
  memory_place one = p;
  for (std::int64_t& s : one.range.sizes.values) s = 1;
  for (std::int64_t k = 0, n = size(p.range.sizes); k < n; ++k) {
    std::int64_t left = k;
    for (int i = p.range.sizes.rank() - 1; i >= 0; left /= p.range.sizes[i--])
      one.range.start[i] = p.range.start[i] + left % p.range.sizes[i];
    reinterpret_cast<std::int32_t*>(out.storage()->data)[k] = static_cast<std::int32_t>(state_.copies.count(one));
  }
  return out;
}

/// Writes a box, which no copy may read or write meanwhile.
inline checked_values check_run::set(frame& f, const node& n) {
  const auto o = unpack<box_options>(f.g.words_of(n));
  const memory_place p = place(f, n, 0, o.sizes, 2, n.operand_count - 2);
  state_.copies.pass_time();
  for (const copy_under_way* c : {state_.copies.writing(p), state_.copies.reading(p)})
    if (c) state_.report(kernel_mistake::write_under_copy, n.where, c->where, "writes " + p.memory->text(p.range));
  p.memory->write(p.range, data_of(operand(f, n, 1)));
  p.memory->wrote(n.where);
  state_.share(p, n.where, true);
  return {{{}, p.memory}};
}

/// Starts a copy. It reads its source and writes its target at once, as far as the rules are concerned, since it may move at any
/// time until its wait.
inline checked_values check_run::start(frame& f, const node& n) {
  const auto o = unpack<copy_options>(f.g.words_of(n));
  const int to = 3 + o.from_starts, semaphore = to + o.to_starts;
  copy_under_way c{place(f, n, 0, o.from_sizes, 3, o.from_starts), place(f, n, 1, o.to_sizes, to, o.to_starts),
                   place(f, n, 2, o.semaphore_sizes, semaphore, n.operand_count - semaphore), 0, n.where};
  c.bytes = tokamax::bytes_of(array_type{c.to.memory->type().dtype, false, o.to_sizes});
  state_.copies.pass_time();
  if (const copy_under_way* w = state_.copies.writing(c.from))
    state_.report(kernel_mistake::read_before_wait, n.where, w->where, "copies " + c.from.memory->text(c.from.range));
  else if (!c.from.memory->is_written(c.from.range))
    state_.suspect(n.where, *c.from.memory, c.from.range);
  for (const copy_under_way* w : {state_.copies.writing(c.to), state_.copies.reading(c.to)})
    if (w)
      state_.report(kernel_mistake::write_under_copy, n.where, w->where, "copies to " + c.to.memory->text(c.to.range));
  checked_values out{{{}, c.to.memory}, {{}, c.semaphore.memory}};
  c.to.memory->wrote(n.where);
  state_.share(c.from, n.where, false);
  state_.share(c.to, n.where, true);
  state_.copies.start(std::move(c));
  return out;
}

/// Waits until a semaphore has counted the bytes of the target.
inline checked_values check_run::wait(frame& f, const node& n) {
  const auto o = unpack<copy_options>(f.g.words_of(n));
  const memory_place to = place(f, n, 0, o.to_sizes, 2, o.to_starts);
  const memory_place s = place(f, n, 1, o.semaphore_sizes, 2 + o.to_starts, n.operand_count - 2 - o.to_starts);
  state_.copies.pass_time();
  if (!state_.copies.wait(s, tokamax::bytes_of(array_type{to.memory->type().dtype, false, o.to_sizes})))
    state_.report(kernel_mistake::wait_without_start, n.where, s.memory->made(),
                  "waits on " + s.memory->text(s.range) + " for bytes that no copy brings");
  return {{{}, to.memory}, {{}, s.memory}};
}

/// Adds to the count of a semaphore, or takes from it what is there. Nothing else runs, so what is missing never comes.
inline checked_values check_run::count(frame& f, const node& n) {
  const auto o = unpack<box_options>(f.g.words_of(n));
  const memory_place s = place(f, n, 0, o.sizes, 2, n.operand_count - 2);
  const auto amount = data_of(operand(f, n, 1)).item<std::int32_t>();
  state_.copies.pass_time();
  if (n.op == &semaphore_signal_p)
    state_.copies.signal(s, amount, n.where);
  else if (const double held = state_.copies.count(s); !state_.copies.wait(s, amount))
    state_.report(kernel_mistake::wait_without_start, n.where, s.memory->made(),
                  "waits on " + s.memory->text(s.range) + " for " + std::to_string(amount) + ", and nothing adds to " +
                      std::to_string(static_cast<std::int64_t>(held)));
  return {{{}, s.memory}};
}

/// Memory of run_scoped, which lies beside the blocks in VMEM.
inline checked_value check_run::scoped(frame& f, const node& n) {
  const auto space = unpack<ref_empty_attributes>(f.g.words_of(n)).space;
  f.scoped.push_back(std::make_unique<checked_memory>("scoped memory", n.type, space, n.where));
  checked_memory& m = *f.scoped.back();
  m.poison(state_.poison);
  if (space == memory_space::vmem) state_.scoped_bytes += m.bytes();
  if (state_.scoped_bytes > state_.options.vmem_bytes)
    state_.report(
        kernel_mistake::memory_overflow, n.where, n.where,
        "asks for " + std::to_string(static_cast<std::int64_t>(state_.scoped_bytes)) + " bytes of VMEM in all");
  return {{}, &m};
}

/// Semaphores end first, so that a wait for too few bytes is told from one that is missing.
inline void check_run::end_scope(frame& f, location end) {
  for (const bool semaphores : {true, false})
    for (const auto& m : f.scoped) {
      if ((m->space() == memory_space::semaphore) != semaphores) continue;
      state_.copies.end(
          *m,
          [&](const copy_under_way& c, bool waited) {
            state_.report(
                waited ? kernel_mistake::semaphore_left : kernel_mistake::missing_wait, c.where,
                end.line ? end : m->made(),
                "starts a copy to " + c.to.memory->text(c.to.range) + " that is under way at the end of its memory");
          },
          [&](location signal, double count) { state_.report_left(*m, signal, end.line ? end : m->made(), count); });
      if (m->space() == memory_space::vmem) state_.scoped_bytes -= m->bytes();
    }
}

}  // namespace detail

}  // namespace tokamax
