// tokamax/backend/cuda/libraries/attention_library.hpp: attention graphs of one GPU, each with the fastest of cuDNN's engines for it.
// SPDX-License-Identifier: Apache-2.0
// umbrella: in the map only (the library of the GPU backend includes it)
// tested by tests/backend/cuda/row_kernels.cpp
#pragma once

#include <tokamax/backend/cuda/libraries/cudnn_attention.hpp>  // attention_graph
#include <tokamax/backend/cuda/run/instance.hpp>               // instance

#include <algorithm>    // find_if
#include <chrono>       // steady_clock
#include <cstdio>       // fprintf
#include <cstdlib>      // getenv
#include <limits>       // infinity
#include <map>          // map
#include <mutex>        // lock_guard
#include <string_view>  // string_view

namespace tokamax::cuda_backend {

/// The graphs of one GPU, each made at its first use and kept, and the library's handle.
///
/// The library proposes several engines for a graph, in the order of a model of their times. A graph of at least
/// `least_measured` operations takes the fastest one of the first eight, which its first run measures; that takes a second at
/// most. Engines round in different orders, so the choice must not change between runs: it is kept on disk for the graph, GPU
/// and version of the library, and the library's first proposal is taken where nothing can be kept. TOKAMAX_CUDA_TUNE=0 takes
/// the first one for all. An engine that the library says to have other bits in each run is not measured, and is taken only if
/// no other one takes the graph, unless TOKAMAX_CUDA_NONDETERMINISTIC is set.
class attention_library {
 public:
  explicit attention_library(const cudnn& functions = cudnn::loaded(),
                             std::int64_t least_measured = std::int64_t{1} << 32)
      : library_(functions), least_measured_(least_measured) {
    const char* const tune = std::getenv("TOKAMAX_CUDA_TUNE");
    measures_ = !tune || std::string_view(tune) != "0";
  }

  /// Runs a graph. False if the library is not there or has no engine for it. `make(p, functions)` makes the graph, and
  /// `arguments(graph, add)` calls add(number, address) for each array.
  template <class Make, class Arguments>
  bool run(instance& gpu, const attention_problem& p, bool backward, const Make& make, const Arguments& arguments) {
    if (gpu.is_precompiling()) return true;
    if ((&library_ == &cudnn::loaded() && !gpu.has_libraries()) || !library_.is_complete()) return false;
    if (gpu.in_body()) throw cannot_record();
    if (code_jobs* const later = gpu.jobs()) {
      later->add(p.text() + (backward ? " backward" : ""), [=, this, &gpu] {
        const std::lock_guard lock(mutex_);
        if (has_handle()) find(gpu, p, backward, make);
      });
      return true;
    }
    const std::lock_guard lock(mutex_);
    if (!has_handle() || library_.set_stream(handle_, gpu.queue()) != 0) return false;
    prepared& ready = find(gpu, p, backward, make);
    if (!ready.best.plan) return false;
    call c;
    arguments(*ready.graph, [&](int number, const void* pointer) {
      if (number == 0) return;
      c.numbers.push_back(number);
      c.pointers.push_back(const_cast<void*>(pointer));
    });
    if (!ready.others.empty() && !gpu.is_recording()) choose_by_time(gpu, key_of(gpu, p, backward), ready, c);
    last_step = backward ? "attention_vjp" : "attention";
    return run(gpu, ready, *ready.best.plan, c);
  }
  /// The name of the engine that runs a graph; empty if no run has asked for it, or the library refuses it.
  std::string engine_of(const attention_problem& p, bool backward) {
    const std::lock_guard lock(mutex_);
    const auto known = graphs_.find({backward, p});
    return known != graphs_.end() && known->second.best.plan ? known->second.best.name : std::string();
  }

 private:
  static constexpr std::size_t most_engines = 8;
  static constexpr double most_seconds = 1;  ///< for measuring one graph, with what its engines take to get ready
  struct ready_engine {
    std::string name;
    std::unique_ptr<cudnn_plan> plan;
  };
  struct prepared {
    std::unique_ptr<attention_graph> graph;
    ready_engine best;
    std::vector<cudnn_engine> others;  ///< that have not been measured
  };
  /// The arrays of a run.
  struct call {
    std::vector<std::int64_t> numbers;
    std::vector<void*> pointers;
  };

  bool has_handle() { return handle_ || library_.create(&handle_) == 0; }
  std::string key_of(const instance& gpu, const attention_problem& p, bool backward) const {
    return "cuDNN " + std::to_string(library_.version()) + " " + gpu.model() + " " + p.text() +
           (backward ? " backward" : "");
  }
  bool is_measured(const attention_problem& p) const {
    const std::int64_t operations = 4 * p.batch * p.heads * p.queries * p.keys * p.size;
    return measures_ && operations >= least_measured_;
  }

  /// The graph for a call, which the first one makes; it has no plan if the library refuses it.
  template <class Make>
  prepared& find(const instance& gpu, const attention_problem& p, bool backward, const Make& make) {
    const auto [place, is_new] = graphs_.try_emplace({backward, p});
    prepared& ready = place->second;
    if (!is_new) return ready;
    ready.graph = std::make_unique<attention_graph>(make(p, library_));
    cudnn_graph& graph = ready.graph->graph;
    if (graph.finish(handle_)) prepare(gpu, p, backward, ready);
    if (!ready.best.plan && std::getenv("TOKAMAX_CUDA_CHECK"))
      std::fprintf(stderr, "tokamax: cuDNN refuses attention: %s\n", graph.reason().c_str());
    return ready;
  }
  /// Makes the engine ready that an earlier run has chosen, or else the first one that takes the graph. The library's second
  /// list is asked for only if the first one does not do.
  void prepare(const instance& gpu, const attention_problem& p, bool backward, prepared& ready) {
    const bool measured = is_measured(p);
    const auto kept = measured ? gpu.cache().find(key_of(gpu, p, backward)) : std::optional<std::string>();
    std::vector<cudnn_engine> all;
    for (const cudnn::heuristic list : {cudnn::by_model, cudnn::fallback}) {
      ready.graph->graph.add_engines(list, all);
      const auto chosen = std::find_if(all.begin(), all.end(), [&](const auto& e) { return kept && e.name == *kept; });
      if (chosen != all.end() && take(ready, *chosen)) return;
      if (!measured && take_first(p, all, ready)) return;
    }
    if (take_first(p, all, ready) && measured)
      for (cudnn_engine& e : all)
        if ((e.deterministic || !p.deterministic) && e.name != ready.best.name &&
            ready.others.size() + 1 < most_engines)
          ready.others.push_back(std::move(e));
  }
  bool take(prepared& ready, const cudnn_engine& e) {
    ready.best = {e.name, ready.graph->graph.plan_with(handle_, e)};
    return ready.best.plan != nullptr;
  }
  bool take_first(const attention_problem& p, const std::vector<cudnn_engine>& all, prepared& ready) {
    for (const bool any : {false, true})
      for (const cudnn_engine& e : all)
        if ((any || e.deterministic || !p.deterministic) && take(ready, e)) return true;
    return false;
  }

  bool run(instance& gpu, const prepared& ready, const cudnn_plan& plan, const call& c) const {
    const handle workspace = gpu.allocate(static_cast<std::size_t>(plan.workspace));
    return ready.graph->graph.run(handle_, plan, c.numbers, c.pointers, workspace->data);
  }
  void choose_by_time(instance& gpu, const std::string& key, prepared& ready, const call& c) const {
    const std::vector<cudnn_engine> others = std::exchange(ready.others, {});
    const auto begin = std::chrono::steady_clock::now();
    const double first = seconds(gpu, ready, *ready.best.plan, c), again = seconds(gpu, ready, *ready.best.plan, c);
    double least = std::min(first, again) * 0.98;  // others must be faster by more than chance
    ready_engine fastest;
    for (const cudnn_engine& e : others) {
      if (std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() > most_seconds) break;
      std::unique_ptr<cudnn_plan> plan = ready.graph->graph.plan_with(handle_, e);
      if (!plan) continue;
      const double time = seconds(gpu, ready, *plan, c);
      if (time >= least) continue;
      least = time;
      fastest = {e.name, std::move(plan)};
    }
    gpu.cache().keep(key, fastest.plan ? fastest.name : ready.best.name);
    if (fastest.plan && gpu.cache().find(key) == fastest.name) ready.best = std::move(fastest);
  }
  /// The time of a run by the clock of the GPU; infinity if it fails.
  double seconds(instance& gpu, const prepared& ready, const cudnn_plan& plan, const call& c) const {
    constexpr int runs = 5;
    constexpr double failed = std::numeric_limits<double>::infinity();
    try {
      if (!run(gpu, ready, plan, c)) return failed;  // the first run loads its code
      gpu.synchronize();
      const std::shared_ptr<time_mark> begin = gpu.mark();
      for (int i = 0; i < runs; ++i)
        if (!run(gpu, ready, plan, c)) return failed;
      return static_cast<double>(gpu.mark()->since(*begin)) * 1e-9 / runs;
    } catch (const std::bad_alloc&) {  // there is no room for its workspace
      return failed;
    }
  }

  const cudnn& library_;
  const std::int64_t least_measured_;
  bool measures_ = true;
  std::mutex mutex_;
  cudnn::handle_type handle_ = nullptr;
  std::map<std::pair<bool, attention_problem>, prepared> graphs_;
};

/// Those of a GPU; they live as long as the process. The first call decides about the functions.
inline attention_library& attention_of(const instance& gpu, const cudnn& functions = cudnn::loaded()) {
  static std::mutex& mutex = *new std::mutex;
  static auto& all = *new std::map<const instance*, attention_library>;
  const std::lock_guard lock(mutex);
  return all.try_emplace(&gpu, functions).first->second;
}

}  // namespace tokamax::cuda_backend
