// tokamax/runtime/choice.hpp: which implementation of an op computes a call: named, chosen by measurement, or the kernel.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/runtime/choice.cpp
#pragma once

#include <tokamax/base/compiled_once.hpp>  // TOKAMAX_COMPILED_ONCE
#include <tokamax/core/context.hpp>        // context_part
#include <tokamax/runtime/kernel.hpp>      // implementation, kernel_arguments

#include <cstdint>  // uint64_t
#include <memory>   // shared_ptr
#include <string>   // string
#include <vector>   // vector

#if defined(TOKAMAX_COMPILED_ONCE)
  #include <atomic>  // atomic
  #include <deque>   // deque
  #include <mutex>   // mutex
#endif

namespace tokamax {

/// The implementations that compute some calls on devices of one kind.
struct choice_table {
  struct choice {
    std::string call;            ///< its `call_text`
    std::string implementation;  ///< its name
  };
  std::string device_kind;
  std::vector<choice> choices;  ///< sorted by the calls; of equal calls the first one counts
};

namespace detail {
class composed_kernel;
}

/// An implementation that is ready to compute a call.
struct chosen_implementation {
  std::string name;
  kernel_function run = nullptr;
  std::int64_t configuration = 0;
  std::shared_ptr<detail::composed_kernel> composed = nullptr;  ///< instead of `run`
  void operator()(kernel_arguments a) const;
};

/// Measures the implementations of the calls of programs that run in its scope, see benchmarking/autotune.hpp.
class kernel_tuner {
 public:
  /// Computes the call by one of its implementations at least, the first of which is the device's kernel.
  virtual void run(const op& o, const kernel_arguments& a, const std::vector<chosen_implementation>& all) = 0;

 protected:
  ~kernel_tuner() = default;
};

/// What a scope of choices says. Programs look in the innermost scope of their thread first. Work that it gives to other
/// threads takes the scopes along.
struct choice_layer {
  std::uint64_t id = 0;  ///< differs from that of all other layers of this process
  std::shared_ptr<const choice_table> table = nullptr;
  std::shared_ptr<const choice_layer> outer = nullptr;
  kernel_tuner* tuner = nullptr;  ///< runs the calls of ops that have several implementations
};

/// Adds a layer to the choices of this thread, for the lifetime of this object.
class choice_scope {
 public:
  explicit choice_scope(std::shared_ptr<const choice_table> table, kernel_tuner* tuner = nullptr);

 private:
  std::shared_ptr<const choice_layer> layer_;
  context_part<&context::choices> scope_{&layer_};
};

/// Sets the choices of all threads, outside of their scopes; null: none. Programs see it when they run again.
void choose_everywhere(std::shared_ptr<const choice_table> table);

/// A call as text: the op, the types of its operands, and the attributes that do not have their default values.
/// `layer_norm(f32[512,768], f32[768], f32[768], epsilon=1e-05)`
std::string call_text(const op& o, const kernel_arguments& a);

namespace detail {

/// All ways to compute a call, the first of which is the kernel. Reasons of those that cannot are appended to `refused`.
std::vector<chosen_implementation> implementations_for(const op& o, const kernel_arguments& a, kernel_function kernel,
                                                       implementation_list others, scope_view scope,
                                                       std::vector<std::string>& refused);

/// The innermost layer of the choices of this thread, or null.
inline const choice_layer* current_choices() {
  return current_context.choices ? current_context.choices->get() : nullptr;
}
/// A number that changes when the choices of this thread may have changed.
std::uint64_t state_of_choices();

/// How the calls of a program are computed, found for one state of the choices. Steps without an entry run their kernel.
struct step_choices {
  std::uint64_t state = ~std::uint64_t{0};  ///< see state_of_choices
  kernel_tuner* tuner = nullptr;
  struct entry {
    std::vector<chosen_implementation> all;  ///< the chosen one; with a tuner all of them
  };
  std::vector<entry> steps;  ///< none, or one for each step of the plan

  /// Chooses for the call of a step. False if its kernel is the choice.
  /// errors  "NAME: implementation" if the scope names some, and none of them can compute the call
  static bool choose(const op& o, const kernel_arguments& a, kernel_function kernel, implementation_list others,
                     scope_view scope, entry& to);
};

#if defined(TOKAMAX_COMPILED_ONCE)
inline std::atomic<const choice_layer*> choices_of_all_threads = nullptr;
inline std::uint64_t next_layer_id() {
  static std::atomic<std::uint64_t> last = 0;
  return ++last;
}
#endif
}  // namespace detail

#if defined(TOKAMAX_COMPILED_ONCE)
TOKAMAX_COMPILED_ONCE choice_scope::choice_scope(std::shared_ptr<const choice_table> table, kernel_tuner* tuner)
    : layer_(std::make_shared<const choice_layer>(
          choice_layer{detail::next_layer_id(), std::move(table),
                       current_context.choices ? *current_context.choices : nullptr, tuner})) {}
TOKAMAX_COMPILED_ONCE void choose_everywhere(std::shared_ptr<const choice_table> table) {
  static std::mutex& one_at_a_time = *new std::mutex;
  static auto& layers = *new std::deque<choice_layer>;  // a layer that is replaced stays: a program may be reading it
  const std::lock_guard lock(one_at_a_time);
  layers.push_back({detail::next_layer_id(), std::move(table)});
  detail::choices_of_all_threads.store(&layers.back());
}
TOKAMAX_COMPILED_ONCE std::uint64_t detail::state_of_choices() {
  const choice_layer* const here = current_choices();
  const choice_layer* const all = choices_of_all_threads.load(std::memory_order_acquire);
  return (here ? here->id : 0) << 32 | (all ? all->id : 0);
}
#endif

}  // namespace tokamax
