// tokamax/kernel/check/check_kernel.hpp: finds races, wrong waits, reads of nothing and wrong bounds in kernels, by running them.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/kernel/check/check_kernel.cpp
// umbrella: no (programs that check kernels include it)
#pragma once

#include <tokamax/kernel/check/check_grid.hpp>  // check_run
#include <tokamax/transforms/eval_shape.hpp>    // make_graph

#include <string>  // string
#include <vector>  // vector

namespace tokamax {

/// What a check has found, and the results of the function.
struct kernel_report {
  std::vector<kernel_problem> problems;
  std::vector<array> results;

  bool clean() const { return problems.empty(); }
  /// A line for each problem.
  std::string text() const {
    std::string s;
    for (const kernel_problem& p : problems) s += p.message() + "\n";
    return s;
  }
};

namespace detail {

inline std::vector<array> arrays_of(const checked_values& values) {
  std::vector<array> all;
  for (const checked_value& v : values) all.push_back(v.data);
  return all;
}
inline bool same_bytes(const array& a, const array& b) {
  const auto bytes = static_cast<std::size_t>(size(a.shape()) * size_of(a.dtype()));
  return std::memcmp(a.storage()->data, b.storage()->data, bytes) == 0;
}

/// Runs the graph. If it reads what nobody wrote, it runs again with other values there, which must change nothing.
inline kernel_report check_graph(const kernel_check_options& o, const graph& g, const arrays& inputs) {
  const auto run = [&](check_state& s) {
    check_run r(s);
    checked_values in;
    for (const array& a : inputs) in.push_back({a});
    return arrays_of(r.run(g, in));
  };
  check_state first(o, poison_pattern::quiet_nan);
  kernel_report report{{}, run(first)};
  report.problems = std::move(first.problems);
  if (first.suspected.empty()) return report;
  check_state second(o, poison_pattern::large_number);
  const std::vector<array> again = run(second);
  bool same = true;
  for (std::size_t k = 0; k < again.size(); ++k) same = same && same_bytes(report.results[k], again[k]);
  if (!same) report.problems.insert(report.problems.end(), first.suspected.begin(), first.suspected.end());
  return report;
}

}  // namespace detail

/// Runs f on the arguments as the host does, but op by op, and its kernels on memory that notices mistakes (see
/// kernel_mistake). Parallel steps run in a random order, copies move their bytes as `options.copies` says, and memory that
/// was not written holds values that are seen in results. Each problem names two lines of the program.
///
/// Whether a mistake is found does not depend on when copies happen to move: a read before its wait is one in every mode.
/// A race of a read with a later write of another parallel step is found with those seeds that run the write first.
/// What a program drops, it does not check: a copy in a loop into memory that the loop makes and never reads.
///
/// shapes  those of f; arguments are arrays with data
/// errors  those of f. What is wrong with the kernel is in the report, and nothing throws for it
/// source  jax.experimental.pallas.tpu.InterpretParams(detect_races=True, dma_execution_mode, random_seed), which reports races
///         only, and no semaphores, overflows or lines
template <class F, class... Args>
kernel_report check_kernel(const kernel_check_options& options, const F& f, const Args&... args) {
  return detail::check_graph(options, make_graph(f, args...), leaves(args...));
}
template <class F, class... Args>
  requires(!std::is_same_v<F, kernel_check_options>)
kernel_report check_kernel(const F& f, const Args&... args) {
  return check_kernel(kernel_check_options{}, f, args...);
}

}  // namespace tokamax
