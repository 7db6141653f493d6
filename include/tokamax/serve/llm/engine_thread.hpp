// tokamax/serve/llm/engine_thread.hpp: a thread that owns an engine, for programs with many callers.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (programs that serve models use it)
// needs <pcre2.h>
#pragma once

#include <tokamax/serve/llm/engine.hpp>  // engine

#include <atomic>              // atomic
#include <condition_variable>  // condition_variable
#include <mutex>               // mutex
#include <thread>              // thread
#include <unordered_set>       // unordered_set

namespace tokamax::serve {

/// Steps an engine as long as there is something to do. Any thread may call its members, callbacks included, but for `drain`, `stop` and
/// the destructor, which wait for the engine's thread.
class engine_thread {
 public:
  /// Is called on the engine's thread. What it throws ends the request.
  using listener = std::function<void(const request_output&)>;

  explicit engine_thread(engine e) : engine_(std::move(e)), stats_(engine_.stats()), thread_([this] { run(); }) {}
  ~engine_thread() { stop(); }
  engine_thread(const engine_thread&) = delete;

  /// Takes a request in, whose outputs are handed to `hear`; the last one has `request_finished`.
  /// errors  those of engine::require_possible, and "request: id", at once; "engine_thread: request" of the kind `resource` if it
  ///         drains or has stopped
  void submit(request r, listener hear) {
    engine_.require_possible(r);
    const std::scoped_lock lock(mutex_);
    if (drains_) throw error(error_kind::resource, "engine_thread: request", "an engine that ends", "one that goes on");
    if (!ids_.insert(r.id).second) throw error("request: id", r.id, "one that no unfinished request has");
    inbox_.emplace_back(std::move(r), std::move(hear));
    ++unheard_;
    wake_.notify_all();
  }
  /// Ends a request within a step; its listener hears finish_reason::abort. One that has ended already is left alone.
  void abort(const std::string& id) {
    const std::scoped_lock lock(mutex_);
    if (!ids_.contains(id)) return;
    aborts_.push_back(id);
    wake_.notify_all();
  }
  /// Refuses new requests, and returns when all others have ended, or after so many seconds. Have all ended?
  bool drain(double seconds) {
    std::unique_lock lock(mutex_);
    drains_ = true;
    return idle_.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return unheard_ == 0; });
  }
  /// Refuses new requests, aborts all others, and ends the thread.
  void stop() {
    {
      const std::scoped_lock lock(mutex_);
      drains_ = stops_ = true;
      wake_.notify_all();
    }
    if (thread_.joinable()) thread_.join();
  }

  /// Seconds since the last step began or ended; 0 while there is nothing to do.
  double step_age() const {
    const double since = busy_since_;
    return since == 0 ? 0 : steady_seconds() - since;
  }
  engine_stats stats() const {
    const std::scoped_lock lock(mutex_);
    engine_stats s = stats_;
    s.waiting += std::ssize(inbox_);
    return s;
  }
  const engine_options& options() const { return engine_.options(); }
  const models::decoder_config& config() const { return engine_.config(); }

 private:
  void run() {
    std::unordered_map<std::string, listener> listeners;
    for (bool ends = false; !ends;) {
      std::vector<std::pair<request, listener>> fresh;
      std::vector<std::string> aborts;
      {
        std::unique_lock lock(mutex_);
        if (!engine_.has_unfinished()) {
          busy_since_ = 0;
          wake_.wait(lock, [&] { return !inbox_.empty() || !aborts_.empty() || stops_; });
        }
        busy_since_ = steady_seconds();
        fresh.swap(inbox_), aborts.swap(aborts_), ends = stops_;
      }
      for (auto& [r, hear] : fresh) take_in(std::move(r), std::move(hear), listeners);
      if (ends)
        for (const auto& [id, hear] : listeners) engine_.abort(id);
      for (const std::string& id : aborts) engine_.abort(id);
      const std::vector<request_output> outputs = engine_.step();
      {
        const std::scoped_lock lock(mutex_);
        stats_ = engine_.stats();  // first, so that who hears of an end finds it counted
      }
      for (const request_output& out : outputs) tell(out, listeners);
    }
    busy_since_ = 0;
  }
  void take_in(request r, listener hear, std::unordered_map<std::string, listener>& listeners) {
    request_output out{.id = r.id, .finish = finish_reason::error, .request_finished = true};
    listeners.emplace(out.id, std::move(hear));
    try {
      engine_.add(std::move(r));
    } catch (...) {
      const failure why = failure::current();
      out.error = why.what, out.error_kind = why.kind;
      tell(out, listeners);
    }
  }
  void tell(const request_output& out, std::unordered_map<std::string, listener>& listeners) {
    const auto found = listeners.find(out.id);
    if (found == listeners.end()) return;
    if (!out.request_finished) {
      if (!heard(found->second, out)) engine_.abort(out.id);
      return;
    }
    const listener hear = std::move(found->second);
    listeners.erase(found);
    {
      const std::scoped_lock lock(mutex_);
      ids_.erase(out.id);  // the listener may use the name again
    }
    heard(hear, out);
    const std::scoped_lock lock(mutex_);
    --unheard_;
    idle_.notify_all();
  }
  static bool heard(const listener& hear, const request_output& out) {
    try {
      hear(out);
      return true;
    } catch (...) {
      return false;
    }
  }

  engine engine_;
  mutable std::mutex mutex_;
  std::condition_variable wake_, idle_;
  std::vector<std::pair<request, listener>> inbox_;
  std::vector<std::string> aborts_;
  std::unordered_set<std::string> ids_;  // of requests that have not ended
  std::int64_t unheard_ = 0;             // those whose last output was not handed over
  bool drains_ = false, stops_ = false;
  std::atomic<double> busy_since_ = 0;
  engine_stats stats_;
  std::thread thread_;
};

}  // namespace tokamax::serve
