// tokamax/backend/systolic/device.hpp: a simulated TPU as a device: functions run with its values, and tell what they would cost.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (what only simulates instructions needs no programs)
#pragma once

#include <tokamax/backend/cpu/device.hpp>           // cpu_tag
#include <tokamax/backend/systolic/chips.hpp>       // chip
#include <tokamax/backend/systolic/graph_cost.hpp>  // cost_on
#include <tokamax/runtime/jit.hpp>                  // jit_function
#include <tokamax/transforms/eval_shape.hpp>        // make_graph
#include <tokamax/transforms/precision.hpp>         // with_precision

#include <memory>   // shared_ptr
#include <mutex>    // mutex
#include <utility>  // forward
#include <vector>   // vector

namespace tokamax {

using systolic_backend::toy8x8, systolic_backend::tpu7x, systolic_backend::v4, systolic_backend::v5e,
    systolic_backend::v5p, systolic_backend::v6e;

/// A simulated TPU: `systolic(v5e)`. Its arrays are the host's, and its values are those of the host's kernels, but products of
/// f32 multiply in bfloat16 and add in f32, as the arrays of a TPU do unless a program asks for more.
class systolic {
 public:
  using tag = cpu_tag;  ///< its programs and kernels are the CPU's
  explicit systolic(const systolic_backend::chip& c) : chip_(std::make_shared<systolic_backend::chip>(c)) {}
  device& get() const { return host_device(); }
  const systolic_backend::chip& chip() const { return *chip_; }

 private:
  std::shared_ptr<const systolic_backend::chip> chip_;
};

/// What f(args...) costs on a simulated TPU, without running it. Arguments need no data.
///
/// errors  those of f; tokamax::error for a kernel whose blocks do not fit into VMEM
template <class F, class... Args>
systolic_backend::program_report systolic_report(const systolic& where, const F& f, const Args&... args) {
  return systolic_backend::cost_on(where.chip(), make_graph(with_precision<bf16_products>(f), args...));
}

/// The function that `jit(f, systolic(chip))` returns.
template <class F, trace_time When = trace_time::earliest>
class systolic_function {
  using precise = decltype(with_precision<bf16_products>(std::declval<F>()));

 public:
  systolic_function(F f, systolic where)
      : f_(with_precision<bf16_products>(std::move(f))), where_(std::move(where)), run_(f_, cpu_tag{}) {}

  /// Runs f. Arguments that are moved in give their buffers to results of the same size.
  template <class... Args>
  auto operator()(Args&&... args) const {
    if (!trace_of(args...)) note(args...);
    return run_(std::forward<Args>(args)...);
  }
  /// What the last run costs on the chip.
  /// errors  "systolic: report" before the first run
  systolic_backend::program_report report() const {
    const std::lock_guard lock(state_->mutex);
    if (state_->known.empty()) throw error("systolic: report", "no run", "a call of the function");
    return state_->known[state_->last].second;
  }
  const systolic& device() const { return where_; }

 private:
  struct state {
    std::mutex mutex;
    std::vector<std::pair<std::vector<array_type>, systolic_backend::program_report>> known;  // by types of arguments
    std::size_t last = 0;
  };
  template <class... Args>
  void note(const Args&... args) const {
    std::vector<array_type> given;
    (for_each_leaf([&](const array& a) { given.push_back(a.type()); }, args), ...);
    const std::lock_guard lock(state_->mutex);
    auto& known = state_->known;
    for (std::size_t i = 0; i < known.size(); ++i)
      if (known[i].first == given) return void(state_->last = i);
    known.emplace_back(std::move(given), systolic_backend::cost_on(where_.chip(), make_graph(f_, args...)));
    state_->last = known.size() - 1;
  }

  precise f_;
  systolic where_;
  jit_function<precise, cpu_tag, When> run_;
  std::shared_ptr<state> state_ = std::make_shared<state>();
};

/// Compiles f for a simulated TPU. The result runs f with its values, and `report()` tells cycles, utilisation, and what the
/// cycles were lost to.
///
///   const auto step = jit(train_step, systolic(v5e));
///   auto [next, loss] = step(std::move(state), batch);
///   fmt::print("{}", step.report().text());
///
/// errors  those of jit; tokamax::error for a kernel whose blocks do not fit into VMEM
template <class F>
systolic_function<F> jit(F f, systolic where) {
  return systolic_function<F>(std::move(f), std::move(where));
}
template <class F, trace_time When>
systolic_function<F, When> jit(F f, systolic where, trace_tag<When>) {
  return systolic_function<F, When>(std::move(f), std::move(where));
}

}  // namespace tokamax
