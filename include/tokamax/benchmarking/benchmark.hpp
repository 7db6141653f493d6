// tokamax/benchmarking/benchmark.hpp: measures the time and the memory of a function.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/cpu.hpp>                        // cpu
#include <tokamax/benchmarking/benchmark_data.hpp>        // benchmark_data
#include <tokamax/benchmarking/standardize_function.hpp>  // standardize_function
#include <tokamax/profile/timeline.hpp>                   // timeline
#include <tokamax/runtime/device_put.hpp>                 // device_put, block_until_ready
#include <tokamax/runtime/jit.hpp>                        // jit

#include <chrono>  // steady_clock

namespace tokamax {

/// How `benchmark` measures.
struct benchmark_options {
  int iterations = 5;      ///< how many runs are timed
  int warmup = 1;          ///< how many runs are not, after the call that traces
  std::uint32_t seed = 0;  ///< of the data of abstract arrays
  bool eager = false;      ///< call a function that is not jitted as it is
  bool steps = true;       ///< record the steps of one more run
};

namespace detail {

template <class F>
inline constexpr bool is_jitted = false;
template <class F, class Device, trace_time When>
inline constexpr bool is_jitted<jit_function<F, Device, When>> = true;

/// Does a jitted function run a program that the C++ compiler has made?
template <class F, class... Args>
inline constexpr bool is_static_program = false;
template <class F, class Device, trace_time When, class... Args>
inline constexpr bool is_static_program<jit_function<F, Device, When>, Args...> = [] {
  if constexpr (When == trace_time::at_run_time || !known_while_compiling<F, Args...>())
    return false;
  else if constexpr (When == trace_time::while_compiling)
    return true;
  else
    return traceable<F, Args...>;
}();

/// Can a function be traced? A result without arrays says nothing about what the function does.
template <class Result>
inline constexpr bool has_arrays = kind_of<Result> != tree_kind::constant && kind_of<Result> != tree_kind::none;
template <>
inline constexpr bool has_arrays<void> = false;

template <class F>
auto device_for(const F& f) {
  if constexpr (is_jitted<F>)
    return f.device();
  else
    return cpu;
}

inline double ms_between(std::chrono::steady_clock::time_point from, std::chrono::steady_clock::time_point to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}
inline std::int64_t bytes_of_all(const arrays& list) {
  std::int64_t bytes = 0;
  for (const array& a : list) bytes += a.size() * size_of(a.dtype());
  return bytes;
}

/// Traces and plans f as `jit` does at run time, and notes the times and sizes. The plan of a static program was made while
/// compiling, and is another one: it joins loops to kernels.
template <class F, class... Args>
void measure_program(benchmark_data& data, const F& f, const kernel_table& kernels, const Args&... args) {
  const auto start = std::chrono::steady_clock::now();
  const graph g = make_graph(f, args...);
  const auto traced = std::chrono::steady_clock::now();
  const auto program = owned_program::make(g, kernels);
  data.lower_time_ms = ms_between(start, traced);
  data.compile_time_ms = ms_between(traced, std::chrono::steady_clock::now());
  benchmark_metadata& m = data.metadata;
  m.argument_bytes = bytes_of_all(leaves(args...));
  for (const node& n : g.nodes)
    if (n.op == &captured_p) m.argument_bytes += tokamax::size(n.type.shape) * size_of(n.type.dtype);
  for (const int id : g.outputs) m.result_bytes += tokamax::size(g[id].type.shape) * size_of(g[id].type.dtype);
  const plan_region& main = program->code.plan().regions[0];
  m.arena_bytes = main.arena_bytes;
  m.intermediate_bytes = main.total_bytes;
  if constexpr (is_static_program<F, Args...>) {
    using compiled = typename F::template for_types<Args...>;
    data.lower_time_ms = data.compile_time_ms = 0;
    if constexpr (!compiled::dynamic) {  // else its sizes are those for extents of 1
      m.arena_bytes = compiled::peak_bytes;
      m.intermediate_bytes = compiled::total_bytes;
    }
  }
  data.peak_memory_mb = static_cast<double>(m.argument_bytes + m.result_bytes + m.arena_bytes) * 1e-6;
}

/// Calls `run`, and waits for its result if that is a tree.
template <class Run>
auto run_and_wait(const Run& run) {
  using result = decltype(run());
  if constexpr (has_arrays<result>) {
    result r = run();
    block_until_ready(r);
    return r;
  } else {
    run();
    return 0;
  }
}
template <class Run>
void time_runs(benchmark_data& data, const Run& run, const benchmark_options& o) {
  for (int i = 0; i < o.warmup; ++i) run_and_wait(run);
  for (int i = 0; i < o.iterations; ++i) {
    const auto start = std::chrono::steady_clock::now();
    [[maybe_unused]] const auto result = run_and_wait(run);  // released after the clock was read
    data.evaluation_times_ms.push_back(ms_between(start, std::chrono::steady_clock::now()));
  }
  if (!o.steps) return;
  const profile::timeline recording;
  run_and_wait(run);
  data.metadata.steps = steps_of(recording.events());
}

/// Measures a function of one of the modes on arguments with data.
template <class Device, class F, class... Args>
void measure(benchmark_data& data, const Device& device, const F& f, const benchmark_options& o,
             const std::tuple<Args...>& given) {
  using result = std::invoke_result_t<const F&, const Args&...>;
  const auto calling = [&](const auto& g) { return [&] { return std::apply(g, given); }; };
  const bool compiled = has_arrays<result> && (is_jitted<F> || !o.eager);
  data.metadata.program = !compiled ? "eager" : is_static_program<F, Args...> ? "static" : "traced";
  if constexpr (has_arrays<result>) {
    if (compiled) {
      std::apply([&](const Args&... args) { measure_program(data, f, kernel_table_for(device), args...); }, given);
      const auto time = [&](const auto& jitted) {
        run_and_wait(calling(jitted));  // traces
        time_runs(data, calling(jitted), o);
      };
      if constexpr (is_jitted<F>)
        return time(f);
      else
        return time(jit(f, device, at_run_time));
    }
  }
  time_runs(data, calling(f), o);
}

}  // namespace detail

/// Measures f on arguments as `standardize_function` takes them: abstract arrays and types get random data. f may be jitted;
/// any other f is compiled at run time for the CPU, unless the options say `eager` or its result has no arrays. Modes other
/// than the first one compile the derivative at run time, on the device of f. f is traced a second time to measure that.
///
///   const benchmark_data d = benchmark(f, array_type{f32, false, {512, 512}});
///   std::puts(to_text(d).c_str());
///   benchmark<benchmark_mode::forward_and_vjp>(f, {.iterations = 20}, x, w).median_evaluation_time_ms();
///
/// errors  "benchmark: iterations" (at least 1) and "benchmark: warmup" (at least 0); those of standardize_function and f
/// source  tokamax.benchmark; times are those of a clock around a call that waits for its results
template <benchmark_mode Mode = benchmark_mode::forward, class F, class... Args>
benchmark_data benchmark(const F& f, const benchmark_options& options, const Args&... args) {
  if (options.iterations < 1) throw error("benchmark: iterations", std::to_string(options.iterations), "at least 1");
  if (options.warmup < 0) throw error("benchmark: warmup", std::to_string(options.warmup), "at least 0");
  auto target = detail::device_for(f);
  device& where = device_of(target);
  using trees = std::tuple<std::remove_cvref_t<decltype(detail::as_tree(args))>...>;
  const trees given = device_put(random_initialize(trees(detail::as_tree(args)...), options.seed), where);
  benchmark_data data;
  data.metadata.device = where.name();
  data.metadata.mode = name(Mode);
  data.metadata.seed = options.seed;
  data.metadata.warmup = options.warmup;
  const auto s = std::apply([&](const auto&... tree) { return standardize_function<Mode>(f, tree...); }, given);
  detail::measure(data, target, s.function, options, s.arguments);
  return data;
}
template <benchmark_mode Mode = benchmark_mode::forward, class F, class... Args>
benchmark_data benchmark(const F& f, const Args&... args) {
  return benchmark<Mode>(f, benchmark_options{}, args...);
}

}  // namespace tokamax
