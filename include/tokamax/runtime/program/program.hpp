// tokamax/runtime/program/program.hpp: a function on trees as a plan that the compiler has made.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/fixed_string.hpp>         // fixed_string
#include <tokamax/compiler/freeze.hpp>           // frozen_plan
#include <tokamax/compiler/passes/lower.hpp>     // lower
#include <tokamax/compiler/passes/schedule.hpp>  // make_plan
#include <tokamax/compiler/passes/sums.hpp>      // join_sums
#include <tokamax/core/trace.hpp>                // trace_into
#include <tokamax/runtime/run/executable.hpp>    // has_kernel, taken_by_kernel, prints_loops

namespace tokamax {

/// The compiler prints this for a wrong program: what is wrong, what was found and expected, and the file and line of the
/// call. Then follows the part of the program, such as the path of the layer, if it has a name.
template <fixed_string What, fixed_string Found, fixed_string Expected, fixed_string File, unsigned Line,
          fixed_string... Part>
struct shape_error;
/// The compiler prints this for an op that has neither a kernel on the device nor a meaning in smaller ops.
template <fixed_string Op, fixed_string Device>
struct missing_kernel;

namespace detail {

/// Numbers every op of a program, and every op of their compose rules, because lowering may need them. Of the ops with bodies
/// only those count that become another op, such as a kernel on a grid; the others run their bodies, or are one of them.
constexpr void add_ops(numbering<const op*>& ops, const graph& g) {
  for (const node& n : g.nodes) {
    const int known = ops.values.count();
    if (!n.op || ops[n.op] < known || !n.op->compose) continue;
    const bool bodies = n.op->attributes.has_bodies();
    if (bodies && (!n.op->unique || n.op->run)) continue;
    graph inner;
    arrays in;
    for (int k = 0; k < n.operand_count; ++k) {
      const array_type& t = g[g.operand(n, k)].type;
      in.push_back(array(&inner, inner.input(t), t));
    }
    if (bodies) {
      add_ops(ops, composed(call_of(g, n, in, const_cast<graph*>(&g))));
      continue;
    }
    n.op->compose(call_of(g, n, in, &inner));
    add_ops(ops, inner);
  }
  for (const graph& body : g.bodies) add_ops(ops, body);
}

template <class Result>
struct trace_result {
  frozen_graph<graph_capacity> program{};
  frozen_ops<graph_capacity> ops{};
  graph_size size{};
  diagnostic error{};
  bool dynamic = false;
  Result result{};
};

template <class T>
constexpr T make_default() {
  return {};
}
template <class T>
inline constexpr T default_of = make_default<T>();  // g++ 12 rejects {} if a default member value has temporaries

template <class F, class... Args>
constexpr void trace_program_into(auto& out) {
  graph g;
  trace_into(g, F{}, out.result, default_of<Args>...);
  out.error = g.error;
  if (g.error.failed) return;
  for (int i : g.inputs) out.dynamic = out.dynamic || is_dynamic(g[i].type.shape);
  numbering<const op*> ops;
  add_ops(ops, g);
  out.error = freezer(out.program, out.size, ops).run(g);
  if (out.error.failed) {
    out.size = {};
    return;
  }
  for (const op* o : ops.values) out.ops.at[out.size.ops++] = o;
}
// A separate function, because nvcc does not destroy the other variables of a function that returns a copy of many arrays.
template <class F, class... Args>
constexpr auto trace_program() {
  trace_result<std::remove_cvref_t<std::invoke_result_t<const F&, const Args&...>>> out;
  trace_program_into<F, Args...>(out);
  return out;
}

template <graph_size Size>
constexpr frozen_graph<Size> shrink(const frozen_graph<graph_capacity>& big) {
  frozen_graph<Size> f{};
  for (int i = 0; i < Size.nodes; ++i) f.nodes[i] = big.nodes[i];
  for (int i = 0; i < Size.operands; ++i) f.operands[i] = big.operands[i];
  for (int i = 0; i < Size.words; ++i) f.words[i] = big.words[i];
  for (int i = 0; i < Size.inputs; ++i) f.inputs[i] = big.inputs[i];
  for (int i = 0; i < Size.outputs; ++i) f.outputs[i] = big.outputs[i];
  for (int i = 0; i < Size.graphs; ++i) f.graphs[i] = big.graphs[i];
  for (int i = 0; i < Size.types; ++i) f.types[i] = big.types[i];
  for (int i = 0; i < Size.scopes; ++i) f.scopes.ranges[i] = big.scopes.ranges[i];
  for (int i = 0; i < Size.scope_chars; ++i) f.scopes.chars[i] = big.scopes.chars[i];
  return f;
}
template <graph_size Size>
constexpr frozen_ops<Size> shrink(const frozen_ops<graph_capacity>& big) {
  frozen_ops<Size> f{};
  for (int i = 0; i < Size.ops; ++i) f.at[i] = big.at[i];
  return f;
}

template <const auto& T>
constexpr auto fixed() {
  return fixed_string<static_cast<std::size_t>(T.length)>(T.view());
}

constexpr std::string_view base_name(std::string_view path) { return path.substr(path.find_last_of('/') + 1); }
template <const location& Where>
constexpr auto file_of() {
  return fixed_string<base_name(Where.file).size()>(base_name(Where.file));
}

/// What the planner needs to know about a device, for each op of one program.
struct kernel_fact {
  const op* kind = nullptr;
  bool present = false;
  kernel_takes takes = {};
};
inline constexpr bool needs_no_kernel(const op& o) {
  return o.memory.kind != op_kind::general || &o == &constant_p || &o == &dense_p;
}

/// Is a node of this kind in the live part of a program or of one of its bodies? A trace also has dead nodes.
constexpr bool uses(const graph& g, const op& o) {
  for (const node& n : g.nodes)
    if (n.op == &o) return true;
  for (const graph& body : g.bodies)
    if (uses(body, o)) return true;
  return false;
}

struct plan_result {
  frozen_code<plan_capacity> code{};
  frozen_plan<plan_capacity> tables{};
  plan_size size{};
  const op* missing = nullptr;
  diagnostic error{};
};

}  // namespace detail

/// The trace of `F` on arguments like default-made `Args`, as constants.
template <class F, class... Args>
struct program_trace {
  static constexpr auto traced = detail::trace_program<F, Args...>();  // an error here means that f is not constexpr
  using result_type = std::remove_cvref_t<decltype(traced.result)>;
  static constexpr result_type result = traced.result;  // separate, so that no file contains the whole trace
  static constexpr bool valid = !traced.error.failed;
  static constexpr bool dynamic = traced.dynamic;  ///< do arguments have extents that are known only when it runs?

  static constexpr frozen_graph<traced.size> trace = detail::shrink<traced.size>(traced.program);
  static constexpr frozen_ops<traced.size> ops = detail::shrink<traced.size>(traced.ops);
};

/// The plan of a program for one kind of device. It is not in the class of the trace, because g++ evaluates a class in one go
/// and collects its garbage only afterwards.
template <class Device, class Traced>
struct program_plan : Traced {
  using Traced::ops;
  using Traced::trace;
  using Traced::traced;

  template <std::size_t... Index>
  static constexpr auto facts_of(std::index_sequence<Index...>) {
    return std::array<detail::kernel_fact, sizeof...(Index)>{detail::kernel_fact{
        ops.at[Index], has_kernel<*ops.at[Index], Device>, taken_by_kernel<*ops.at[Index], Device>}...};
  }
  static constexpr auto facts = facts_of(std::make_index_sequence<static_cast<std::size_t>(traced.size.ops)>{});

  /// What the kernels of the device take, for the planner.
  struct taken {
    static constexpr bool computes_again = prints_loops<Device>, groups_loops = prints_loops<Device>;
    constexpr kernel_takes operator()(const op& o) const {
      for (const auto& f : facts)
        if (f.kind == &o) return f.takes;
      return {};
    }
  };
  static constexpr graph lowered() {
    graph g;
    lower(g, thaw(view(trace), ops.at), [](const op& o) {
      for (const auto& f : facts)
        if (f.kind == &o) return f.present;
      return false;
    });
    if constexpr (prints_loops<Device>) join_sums(g, taken());
    return g;
  }
  static constexpr detail::plan_result make() {
    detail::plan_result r;
    const graph g = lowered();
    for (const auto& f : facts)
      if (!f.present && !f.kind->compose && !detail::needs_no_kernel(*f.kind) && detail::uses(g, *f.kind))
        r.missing = f.kind;
    if (r.missing) return r;
    const plan p = make_plan(g, taken(), one_of_each_symbol);
    r.error = exceeded(size_of(p), plan_capacity);
    if (r.error.failed) return r;
    r.size = size_of(p);
    freeze(r.code, p, r.size);
    freeze(r.tables, p, r.size);
    return r;
  }
  static constexpr detail::plan_result planned = make();
  template <class Table>
  static constexpr Table shrunk(const auto& big) {
    Table f{};
    freeze(f, big, planned.size);
    return f;
  }
  static constexpr auto code = shrunk<frozen_code<planned.size>>(planned.code);
  static constexpr auto tables = shrunk<frozen_plan<planned.size>>(planned.tables);
};

/// The program of `F` on arguments like default-made `Args`, for one kind of device, as constants.
template <class Device, class F, class... Args>
struct program : program_trace<F, Args...> {
  using plan = program_plan<Device, program_trace<F, Args...>>;
  using program_trace<F, Args...>::traced;
  using program_trace<F, Args...>::valid;

  /// The bytes of the arena that intermediate values share. Dynamic extents count as 1. The scratch memory of a kernel, whose
  /// size depends on the processor and its threads, comes on top from the same pool, and goes back when its step ends:
  /// `buffer_pool::peak_bytes` counts both.
  static constexpr std::int64_t peak_bytes = plan::tables.regions[0].arena_bytes;
  /// The bytes that intermediate values would take if each had its own memory.
  static constexpr std::int64_t total_bytes = plan::tables.regions[0].total_bytes;

  /// Stops the compiler with a message if the program is wrong.
  static constexpr void check() {
    if constexpr (!valid && traced.error.part.view().empty()) {
      shape_error<detail::fixed<traced.error.what>(), detail::fixed<traced.error.found>(),
                  detail::fixed<traced.error.expected>(), detail::file_of<traced.error.where>(),
                  traced.error.where.line>
          stop;
      (void)stop;
    } else if constexpr (!valid) {
      shape_error<detail::fixed<traced.error.what>(), detail::fixed<traced.error.found>(),
                  detail::fixed<traced.error.expected>(), detail::file_of<traced.error.where>(),
                  traced.error.where.line, detail::fixed<traced.error.part>()>
          stop;
      (void)stop;
    } else if constexpr (plan::planned.error.failed) {
      shape_error<detail::fixed<plan::planned.error.what>(), detail::fixed<plan::planned.error.found>(),
                  detail::fixed<plan::planned.error.expected>(), fixed_string<0>(""), 0>
          stop;
      (void)stop;
    } else if constexpr (plan::planned.missing != nullptr) {
      missing_kernel<fixed_string<plan::planned.missing->name.size()>(plan::planned.missing->name),
                     fixed_string<Device::name.size()>(Device::name)>
          stop;
      (void)stop;
    }
  }
};

}  // namespace tokamax
