// tokamax/benchmarking/benchmark_data.hpp: what a benchmark has measured, and the same as text.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/profile/event.hpp>  // event

#include <fmt/format.h>  // format

#include <algorithm>  // sort
#include <iterator>   // back_inserter
#include <limits>     // numeric_limits
#include <vector>     // vector

namespace tokamax {

/// Equal steps of a program, in one run.
struct benchmark_step {
  std::string name{};  ///< as profile::event has it
  std::int64_t calls = 0;
  double time_ms = 0, flops = 0, bytes = 0, transcendentals = 0;  ///< of all calls together
};

/// How a function was run, and what its program takes.
struct benchmark_metadata {
  std::string device{};   ///< its name
  std::string mode{};     ///< forward, forward_res, vjp or forward_and_vjp
  std::string program{};  ///< static: made by the C++ compiler; traced: made at run time; eager: a plain call
  std::int64_t seed = 0, warmup = 0;
  std::int64_t argument_bytes = 0;  ///< arguments, and data that the function closes over
  std::int64_t result_bytes = 0;
  std::int64_t arena_bytes = 0;         ///< the arena of intermediate values
  std::int64_t intermediate_bytes = 0;  ///< all intermediate values, if none shared memory
  std::vector<benchmark_step> steps{};  ///< those of one more run; the longest come first
};

/// The order statistics of some times, in milliseconds.
struct time_spread {
  double min = 0, lower_quartile = 0, median = 0, upper_quartile = 0, max = 0;
};

/// Times and memory of a function. Of an eager function, only the evaluation times and the steps are known.
struct benchmark_data {
  double lower_time_ms = 0;    ///< the time of tracing; 0 for a static program
  double compile_time_ms = 0;  ///< the time of fusing and planning; 0 for a static program
  std::vector<double> evaluation_times_ms{};
  double peak_memory_mb = 0;  ///< arguments, results and arena, in units of 10^6 bytes
  benchmark_metadata metadata{};

  /// NaN without evaluations.
  double median_evaluation_time_ms() const { return spread().median; }
  /// Quantiles between two times are interpolated linearly, as NumPy does. NaN without evaluations.
  time_spread spread() const {
    std::vector<double> sorted = evaluation_times_ms;
    std::sort(sorted.begin(), sorted.end());
    const auto quantile = [&](double q) {
      if (sorted.empty()) return std::numeric_limits<double>::quiet_NaN();
      const double at = q * static_cast<double>(sorted.size() - 1);
      const auto below = static_cast<std::size_t>(at);
      const double next = sorted[std::min(below + 1, sorted.size() - 1)];
      return sorted[below] + (next - sorted[below]) * (at - static_cast<double>(below));
    };
    return {quantile(0), quantile(0.25), quantile(0.5), quantile(0.75), quantile(1)};
  }
};

/// A recording as a list of steps, with the sums of equal ones. Steps that contain other steps are left out.
inline std::vector<benchmark_step> steps_of(const std::vector<profile::event>& events) {
  std::vector<benchmark_step> steps;
  for (const profile::event& e : events) {
    if (e.outer) continue;
    auto at = std::find_if(steps.begin(), steps.end(), [&](const benchmark_step& s) { return s.name == e.name; });
    if (at == steps.end()) at = steps.insert(at, {.name = e.name});
    ++at->calls;
    at->time_ms += static_cast<double>(e.duration) * 1e-6;
    at->flops += e.flops + e.bfloat16_flops;
    at->bytes += e.bytes;
    at->transcendentals += e.transcendentals;
  }
  const auto longer = [](const benchmark_step& a, const benchmark_step& b) {
    return a.time_ms != b.time_ms ? a.time_ms > b.time_ms : a.name < b.name;
  };
  std::sort(steps.begin(), steps.end(), longer);
  return steps;
}

/// The measurements as a few lines, with a table of the `lines` longest steps.
inline std::string to_text(const benchmark_data& d, std::size_t lines = 24) {
  const benchmark_metadata& m = d.metadata;
  const time_spread t = d.spread();
  std::string s =
      fmt::format("{} of a{} {} program on {}: median {:.4f} ms of {} runs\n", m.mode, m.program == "eager" ? "n" : "",
                  m.program, m.device, t.median, d.evaluation_times_ms.size());
  const auto to = std::back_inserter(s);
  fmt::format_to(to, "spread: {:.4f} to {:.4f} ms, quartiles {:.4f} and {:.4f} ms\n", t.min, t.max, t.lower_quartile,
                 t.upper_quartile);
  fmt::format_to(to, "traced in {:.3f} ms, compiled in {:.3f} ms\n", d.lower_time_ms, d.compile_time_ms);
  fmt::format_to(to, "peak memory {:.3f} MB: arguments {}, results {}, arena {} bytes\n", d.peak_memory_mb,
                 m.argument_bytes, m.result_bytes, m.arena_bytes);
  if (m.steps.empty()) return s;
  double all = 0;
  for (const benchmark_step& step : m.steps) all += step.time_ms;
  fmt::format_to(to, "{:>9} {:>6} {:>6} {:>9} {:>7}  step\n", "ms", "share", "calls", "GFLOP/s", "GB/s");
  for (std::size_t i = 0; i < std::min(lines, m.steps.size()); ++i) {
    const benchmark_step& step = m.steps[i];
    const double ms = std::max(step.time_ms, 1e-6);  // the clock may not have moved
    fmt::format_to(to, "{:>9.4f} {:>5.1f}% {:>6} {:>9.1f} {:>7.1f}  {}\n", step.time_ms,
                   100 * step.time_ms / std::max(all, 1e-6), step.calls, step.flops / ms * 1e-6, step.bytes / ms * 1e-6,
                   step.name);
  }
  if (m.steps.size() > lines) fmt::format_to(to, "and {} more\n", m.steps.size() - lines);
  return s;
}

}  // namespace tokamax
