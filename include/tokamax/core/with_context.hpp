// tokamax/core/with_context.hpp: functions that other threads run as if they were on this one.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (programs with threads of their own use it)
// tested by tests/core/with_context.cpp
#pragma once

#include <tokamax/base/error.hpp>    // error
#include <tokamax/core/context.hpp>  // kept_context
#include <tokamax/core/graph.hpp>    // graph

#include <memory>   // make_shared
#include <utility>  // forward, move

namespace tokamax {

namespace detail {
/// The context of a thread with its trace, as long as that lasts.
class context_with_trace {
 public:
  /// errors  "with_context: trace" if the trace has ended
  context get() const {
    if (trace_life::has_ended(life_))
      throw error("with_context: trace", "one that has ended", "a call before the traced function returns");
    context c = kept_.get();
    c.trace = trace_;
    c.index_observer = index_observer_;
    return c;
  }

 private:
  kept_context kept_;
  graph* trace_ = current_context.trace;
  std::uint64_t life_ = trace_ ? trace_->life.number() : 0;
  index_observer_function index_observer_ = current_context.index_observer;
};
}  // namespace detail

/// A function that calls f in the context of the thread that made it, on whichever thread it runs: with its choices of
/// implementations, its recording, and its key_reuse_check, while these last.
///
///   std::thread worker(with_context([&] { y = step(x); }));
///
/// In a function that is traced, f joins the trace. The tracing thread waits meanwhile, because a trace grows by one thread at
/// a time.
///
/// errors  those of f; "with_context: trace" if the trace has ended
template <class F>
auto with_context(F f) {
  return [around = std::make_shared<const detail::context_with_trace>(),
          f = std::move(f)]<class... Args>(Args&&... args) mutable -> decltype(auto) {
    const context_scope scope(around->get());
    return f(std::forward<Args>(args)...);
  };
}

}  // namespace tokamax
