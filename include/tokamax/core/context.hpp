// tokamax/core/context.hpp: what the work of a thread has around it, such as a trace, an observer and choices.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/core/with_context.cpp
#pragma once

#include <tokamax/base/vec.hpp>  // vec

#include <cstdint>  // int64_t
#include <memory>   // shared_ptr
#include <utility>  // exchange

namespace tokamax {

struct graph;
struct location;
class array;
struct choice_layer;
namespace profile {
class observer;
}
namespace random {
class used_keys;
}

/// Is told of indices into one axis of `size` elements. Those that are not from 0 to size - 1 are mistakes, except for the
/// lowest i32, which stands for an element that a mask does not choose.
using index_observer_function = void (*)(const array& indices, int axis, std::int64_t size, location where);

/// What the work of a thread has around it. Scopes set one member each, and what they set lives in them.
struct context {
  /// The graph of the function that is traced at run time. Ops without traced operands join it, so that `zeros({3})` inside of
  /// a traced function is part of the trace.
  graph* trace = nullptr;
  /// Sees indices before they are clipped or dropped to become operands, because an op no longer tells which were outside.
  index_observer_function index_observer = nullptr;
  /// Is told of the steps that programs run. If it is null, no event is made and no clock is read.
  profile::observer* observer = nullptr;
  const std::shared_ptr<profile::observer>* shared_observer = nullptr;  ///< the observer of work on other threads
  const std::shared_ptr<const choice_layer>* choices = nullptr;         ///< of implementations, see runtime/choice.hpp
  const vec<char>* implementations =
      nullptr;  ///< that use_implementation asks eager ops to use, as decisions have them
  const std::shared_ptr<random::used_keys>* keys = nullptr;  ///< of a key_reuse_check
  int threads = 0;                                           ///< of the loops of this thread; 0: those of the process
};

/// The context of this thread.
inline constinit thread_local context current_context{};

/// Sets one member of the context of this thread, for the lifetime of this object.
template <auto Member>
class context_part {
  using value = std::remove_reference_t<decltype(current_context.*Member)>;

 public:
  explicit context_part(value now) noexcept : before_(std::exchange(current_context.*Member, now)) {}
  ~context_part() { current_context.*Member = before_; }
  context_part(const context_part&) = delete;

 private:
  value before_;
};

/// Sets the whole context of this thread, for the lifetime of this object.
class context_scope {
 public:
  explicit context_scope(const context& now) noexcept : before_(std::exchange(current_context, now)) {}
  ~context_scope() { current_context = before_; }
  context_scope(const context_scope&) = delete;

 private:
  context before_;
};

/// The context of this thread for work that other threads do while it waits. A trace is left out: one thread adds to a graph.
inline context context_of_helpers() noexcept {
  context c = current_context;
  c.trace = nullptr;
  c.index_observer = nullptr;
  c.observer = c.shared_observer ? c.shared_observer->get() : nullptr;
  c.threads = 0;
  return c;
}

/// The same for work that may go on when this thread has left its scopes.
class kept_context {
 public:
  kept_context() : now_(context_of_helpers()) {
    keep(now_.shared_observer, observer_);
    keep(now_.choices, choices_);
    keep(now_.keys, keys_);
    keep(now_.implementations, implementations_);
  }
  kept_context(const kept_context&) = delete;
  const context& get() const { return now_; }

 private:
  template <class T>
  static void keep(const T*& part, T& own) {
    if (part) part = &(own = *part);
  }
  context now_;
  std::shared_ptr<profile::observer> observer_;
  std::shared_ptr<const choice_layer> choices_;
  std::shared_ptr<random::used_keys> keys_;
  vec<char> implementations_;
};

}  // namespace tokamax
