// tokamax/benchmarking/autotune.hpp: measures the implementations of all ops of a program, on the data of the program.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/benchmarking/autotuning_result.hpp>  // autotuning_result
#include <tokamax/benchmarking/benchmark.hpp>          // device_for, standardize_function

#include <fmt/format.h>  // format

#include <chrono>     // steady_clock
#include <exception>  // exception

namespace tokamax {

/// How `autotune` measures.
struct autotune_options {
  int iterations = 5;            ///< times of each implementation of a call
  double sample_ms = 0.2;        ///< a time is the mean of as many runs as take so long
  double timeout_s = 600;        ///< calls that come later are not measured
  std::uint32_t seed = 0;        ///< of the data of abstract arrays
  autotuning_result known = {};  ///< calls that it has are not measured again
};

namespace detail {

/// Measures each call that it has not met before, then computes it by the kernel, so that the program goes on as usual.
class measuring_tuner final : public kernel_tuner {
 public:
  measuring_tuner(const autotune_options& o, autotuning_result start) : options_(o), result_(std::move(start)) {}

  void run(const op& o, const kernel_arguments& a, const std::vector<chosen_implementation>& all) override {
    const std::string call = call_text(o, a);
    if (!overwrites(a) && !result_.find(call) && !options_.known.find(call) && seconds(begin_) < options_.timeout_s)
      result_.set(measured(call, a, all));
    all[0](a);
  }
  const autotuning_result& result() const { return result_; }

 private:
  using clock = std::chrono::steady_clock;
  static double seconds(clock::time_point from) { return std::chrono::duration<double>(clock::now() - from).count(); }
  /// Can a call not be repeated, because its results take the memory of its operands?
  static bool overwrites(const kernel_arguments& a) {
    for (int r = 0; r < a.out_count; ++r)
      for (int k = 0; k < a.in_count; ++k)
        if (a.out[r].data == a.in[k].data && a.out[r].size() > 0) return true;
    return false;
  }
  /// The mean milliseconds of one run, of as many as the options ask for.
  double sample(const kernel_arguments& a, const chosen_implementation& i) const {
    const auto begin = clock::now();
    int runs = 0;
    do {
      i(a);
      ++runs;
    } while (seconds(begin) * 1e3 < options_.sample_ms);
    return seconds(begin) * 1e3 / runs;
  }
  tuned_call measured(const std::string& call, const kernel_arguments& a,
                      const std::vector<chosen_implementation>& all) const {
    tuned_call t{call};
    for (const chosen_implementation& i : all) t.implementations.push_back({i.name});
    for (int round = 0; round <= options_.iterations; ++round)  // in turns, and the first round warms up
      for (std::size_t i = 0; i < all.size(); ++i) {
        implementation_times& times = t.implementations[i];
        if (!times.failure.empty()) continue;
        try {
          const double ms = sample(a, all[i]);
          if (round > 0) times.evaluation_times_ms.push_back(ms);
        } catch (const std::exception& e) {
          times.failure = e.what();
          times.evaluation_times_ms.clear();
        }
      }
    return t;
  }

  const autotune_options& options_;
  autotuning_result result_;
  const clock::time_point begin_ = clock::now();
};

}  // namespace detail

/// Runs f once and measures, call by call, the implementations of every op that has several. Each call is measured where it
/// happens, on the data that the program gives it, in bodies of loops too. Equal calls are measured once. What f computes
/// is not returned. Arguments are those of `benchmark`: abstract arrays and types get random data. A function that is not
/// jitted is compiled at run time for the CPU.
///
///   const autotuning_result tuned = autotune(step, state, batch);                              // what step does, gradients too
///   autotune<benchmark_mode::forward_and_vjp>(loss, array_type{f32, false, {512, 512}});  // f and its backward pass
///
/// errors  "autotune: options" for fewer than one iteration or a time below 0; those of standardize_function and f. An
///         implementation that throws is noted, and is never the fastest
/// source  tokamax.autotune, which finds ops in lowered programs and measures each on random data
template <benchmark_mode Mode = benchmark_mode::forward, class F, class... Args>
autotuning_result autotune(const F& f, const autotune_options& options, const Args&... args) {
  if (options.iterations < 1 || !(options.sample_ms >= 0) || !(options.timeout_s >= 0))
    throw error("autotune: options", fmt::format("{} iterations", options.iterations),
                "1 or more, and times from 0 on");
  auto target = detail::device_for(f);
  device& where = device_of(target);
  using trees = std::tuple<std::remove_cvref_t<decltype(detail::as_tree(args))>...>;
  const trees given = device_put(random_initialize(trees(detail::as_tree(args)...), options.seed), where);
  const auto s = std::apply([&](const auto&... tree) { return standardize_function<Mode>(f, tree...); }, given);
  detail::measuring_tuner tuner(options, {where.kind()});
  const auto call = [&](const auto& g) {
    const choice_scope measuring(nullptr, &tuner);
    detail::run_and_wait([&] { return std::apply(g, s.arguments); });
  };
  if constexpr (detail::is_jitted<std::remove_cvref_t<decltype(s.function)>>)
    call(s.function);
  else
    call(jit(s.function, target, at_run_time));
  return merged(options.known, tuner.result());
}
template <benchmark_mode Mode = benchmark_mode::forward, class F, class... Args>
  requires(!std::is_same_v<std::tuple_element_t<0, std::tuple<std::remove_cvref_t<Args>..., void>>, autotune_options>)
autotuning_result autotune(const F& f, const Args&... args) {
  return autotune<Mode>(f, autotune_options{}, args...);
}

}  // namespace tokamax
