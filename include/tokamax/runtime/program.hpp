// tokamax/runtime/program.hpp: a function on trees as a plan, worked out by the compiler.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/fixed_string.hpp>   // fixed_string
#include <tokamax/compiler/freeze.hpp>     // frozen_plan
#include <tokamax/compiler/lower.hpp>      // lower
#include <tokamax/compiler/schedule.hpp>   // make_plan
#include <tokamax/core/trace.hpp>          // trace_into
#include <tokamax/runtime/executable.hpp>  // loop_function

namespace tokamax {

/// Printed by the compiler for a program that is wrong: what, found, expected, and the line of the call.
template <fixed_string What, fixed_string Found, fixed_string Expected, unsigned Line>
struct shape_error;
/// Printed for an op that has neither a kernel on the device nor a meaning in smaller ops.
template <fixed_string Op, fixed_string Device>
struct missing_kernel;

namespace detail {

/// Every op of a program, and of what these are composed of.
constexpr vec<const op*> ops_of(const graph& g) {
  vec<const op*> found, table(512, nullptr);  // the table finds them by hash: there is one look-up a node
  auto is_new = [&](const op* kind) {
    std::size_t slot = kind->name.salt % table.size();
    for (; table[slot]; slot = (slot + 1) % table.size())
      if (table[slot] == kind) return false;
    table[slot] = kind;
    return true;
  };
  auto scan = [&](const graph& some, auto& self) -> void {
    for (int i = 0; i < some.count(); ++i) {
      const op* kind = some.nodes[i].kind;
      if (!kind || !is_new(kind)) continue;
      found.push_back(kind);
      if (!kind->compose || kind->has_body) continue;
      graph inner;
      arrays in;
      for (int k = 0; k < some[i].operand_count; ++k) {
        const array_type& t = some[some.operand(some[i], k)].type;
        in.push_back(array(&inner, inner.input(t), t));
      }
      kind->compose(call{.self = kind,
                         .inputs = in.data(),
                         .count = in.count(),
                         .attributes = some.words_of(some[i]),
                         .attribute_count = some[i].word_count,
                         .type = some[i].type,
                         .trace = &inner});
      self(inner, self);
    }
    for (const graph& body : some.bodies) self(body, self);
  };
  scan(g, scan);
  return found;
}

template <class Result>
struct trace_result {
  frozen_graph<graph_capacity> program{};
  graph_size size{};
  diagnostic error{};
  Result result{};
};

template <class F, class... Args>
constexpr void trace_program_into(auto& out) {
  graph g;
  trace_into(g, F{}, out.result, Args{}...);
  out.error = g.error;
  if (g.error.failed) return;
  out.size.graphs = 1;
  freeze(out.program, out.size, g, 0);
  for (const op* o : ops_of(g)) out.program.ops[out.size.ops++] = o;
}
// A function of its own: nvcc forgets to destroy what else a function holds that returns a copy of many arrays.
template <class F, class... Args>
constexpr auto trace_program() {
  trace_result<std::remove_cvref_t<std::invoke_result_t<const F&, const Args&...>>> out;
  trace_program_into<F, Args...>(out);
  return out;
}

template <graph_size Size>
constexpr frozen_graph<Size> shrink(const auto& big) {
  frozen_graph<Size> f{};
  for (int i = 0; i < Size.nodes; ++i) f.nodes[i] = big.nodes[i];
  for (int i = 0; i < Size.operands; ++i) f.operands[i] = big.operands[i];
  for (int i = 0; i < Size.words; ++i) f.words[i] = big.words[i];
  for (int i = 0; i < Size.inputs; ++i) f.inputs[i] = big.inputs[i];
  for (int i = 0; i < Size.outputs; ++i) f.outputs[i] = big.outputs[i];
  for (int i = 0; i < Size.graphs; ++i) f.graphs[i] = big.graphs[i];
  for (int i = 0; i < Size.ops; ++i) f.ops[i] = big.ops[i];
  return f;
}

template <const auto& T>
constexpr auto fixed() {
  return fixed_string<static_cast<std::size_t>(T.length)>(T.view());
}

/// What the planner asks of the backend, for each op of one program.
struct kernel_fact {
  const op* kind = nullptr;
  bool present = false, strided = false;
};
inline constexpr bool needs_no_kernel(const op& o) {
  return o.kind != op_kind::general || &o == &constant_p || &o == &iota_p || o.has_body;
}

/// Is a node of this kind in a program or in one of its loops? A trace also holds what the program does not need.
constexpr bool uses(const graph& g, const op& o) {
  for (const node& n : g.nodes)
    if (n.kind == &o) return true;
  for (const graph& body : g.bodies)
    if (uses(body, o)) return true;
  return false;
}

struct plan_result {
  frozen_plan<plan_capacity> tables{};
  plan_size size{};
  const op* missing = nullptr;
};

}  // namespace detail

/// The program of `F` on arguments like default-made `Args`, for one kind of device, as constants.
template <class Device, class F, class... Args>
struct program {
  static constexpr auto traced = detail::trace_program<F, Args...>();
  using result_type = std::remove_cvref_t<decltype(traced.result)>;
  static constexpr result_type result = traced.result;  // apart, so that no file emits the trace
  static constexpr bool valid = !traced.error.failed;

  static constexpr frozen_graph<traced.size> trace = detail::shrink<traced.size>(traced.program);

  template <std::size_t... I>
  static constexpr auto facts_of(std::index_sequence<I...>) {
    return std::array<detail::kernel_fact, sizeof...(I)>{
        detail::kernel_fact{trace.ops[I], has_kernel<*trace.ops[I], Device>, reads_strided<*trace.ops[I], Device>}...};
  }
  static constexpr auto facts = facts_of(std::make_index_sequence<static_cast<std::size_t>(traced.size.ops)>{});

  static constexpr graph lowered() {
    graph g;
    lower(g, thaw(trace), [](const op& o) {
      for (const auto& f : facts)
        if (f.kind == &o) return f.present;
      return false;
    });
    return g;
  }
  static constexpr detail::plan_result make() {
    detail::plan_result r;
    const graph g = lowered();
    for (const auto& f : facts)
      if (!f.present && !f.kind->compose && !detail::needs_no_kernel(*f.kind) && detail::uses(g, *f.kind))
        r.missing = f.kind;
    if (r.missing) return r;
    constexpr std::int64_t symbols[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    const plan p = make_plan(
        g,
        [](const op& o) {
          for (const auto& f : facts)
            if (f.kind == &o) return f.strided;
          return false;
        },
        symbols);
    r.size = size_of(p);
    freeze(r.tables, p, r.size);
    return r;
  }
  static constexpr detail::plan_result planned = make();
  static constexpr frozen_plan<planned.size> shrunk() {
    frozen_plan<planned.size> f{};
    freeze(f, planned.tables, planned.size);
    return f;
  }
  static constexpr frozen_plan<planned.size> tables = shrunk();

  /// Bytes of all intermediate values together, as they share one arena.
  static constexpr std::int64_t peak_bytes = tables.regions[0].arena_bytes;
  /// Bytes of all intermediate values if each had its own memory.
  static constexpr std::int64_t total_bytes = tables.regions[0].total_bytes;

  /// Stops the compiler with a message if the program is wrong.
  static constexpr void check() {
    if constexpr (!valid) {
      shape_error<detail::fixed<traced.error.what>(), detail::fixed<traced.error.found>(),
                  detail::fixed<traced.error.expected>(), traced.error.where.line>
          stop;
      (void)stop;
    } else if constexpr (planned.missing != nullptr) {
      missing_kernel<fixed_string<planned.missing->name.size()>(planned.missing->name),
                     fixed_string<Device::name.size()>(Device::name)>
          stop;
      (void)stop;
    }
  }
};

}  // namespace tokamax
