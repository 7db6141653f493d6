// tokamax/serve/llm/engine_thread.hpp: a thread that owns an engine, for programs with many callers.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (programs that serve models use it)
// needs <pcre2.h>
#pragma once

#include <tokamax/serve/llm/engine.hpp>  // engine

namespace tokamax::serve {

/// Steps an engine as long as there is something to do. All members may be called by any thread, also by callbacks, but for the
/// destructor, which stops.
class engine_thread {
 public:
  using listener = std::function<void(const request_output&)>;  ///< is called on the engine's thread, and does not throw

  explicit engine_thread(engine e);

  /// Takes a request in, whose outputs are handed to `hear`; the last one has `request_finished`.
  /// errors  those of engine::require_possible and "request: id", at once; "engine_thread: request" of the kind `resource` while it drains
  void submit(request r, listener hear);
  /// Ends a request within a step; its listener hears finish_reason::abort. One that has ended is left alone.
  void abort(const std::string& id);
  /// Refuses new requests, and returns when all others have ended, or after so many seconds. Are all at their end?
  bool drain(double seconds);
  /// The same without waiting: what runs is aborted, and the thread ends.
  void stop();

  /// Seconds since the thread last did something: a step, or a wait with nothing to do, which counts as now.
  double step_age() const;
  engine_stats stats() const;
  const engine& get() const;  ///< for members that any thread may call
};

}  // namespace tokamax::serve
