// tokamax/profile/event.hpp: one piece of work that a program did, and the observer that is told of it.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/profile/timeline.cpp
#pragma once

#include <tokamax/base/time_mark.hpp>  // time_mark
#include <tokamax/core/context.hpp>    // context_part

#include <atomic>   // atomic
#include <cstdint>  // int64_t
#include <memory>   // shared_ptr
#include <string>   // string

namespace tokamax::profile {

/// One step of a program that has run.
struct event {
  std::string name;                            ///< such as "dot_general f32[512,768] f32[768,3072]"
  std::int64_t begin = 0, duration = 0;        ///< nanoseconds of the observer's clock
  double flops = 0;                            ///< operations on numbers, without those of the next field
  double bfloat16_flops = 0;                   ///< operations of bfloat16 products
  double bytes = 0;                            ///< read and written, each element counted once
  bool outer = false;                          ///< contains other events, whose time is counted in its own
  std::string scope{};                         ///< the part of the program that it belongs to: `blocks[3].attend`
  std::string device{};                        ///< the name of the device that did it
  double transcendentals = 0;                  ///< exp, log, tanh and the like, which are not among the flops
  std::shared_ptr<time_mark> from{}, until{};  ///< of a device with a clock of its own, until `settle`

  /// Waits until the device has done the work, and takes the times from its clock.
  void settle() {
    if (!from || !until) return;
    begin = from->time();
    duration = until->since(*from);
    from = until = nullptr;
  }
};

struct step_table;

/// Is told of every step that programs run on its thread, or that other threads run for it.
class observer {
 public:
  virtual ~observer() = default;
  virtual std::int64_t now() const = 0;  ///< nanoseconds
  /// Step `step` of a program ran from `begin` to `end`; `from` and `until` are marks of a device with a clock of its own, or null.
  virtual void record(const std::shared_ptr<const step_table>& program, int step, std::int64_t begin, std::int64_t end,
                      std::shared_ptr<time_mark> from, std::shared_ptr<time_mark> until) = 0;
  /// The observer of work that this thread gives to others, such as the queue of a device. Several threads may call it at the
  /// same time, perhaps when this one has ended. Null: such work is not observed.
  virtual std::shared_ptr<observer> of_other_threads() const { return nullptr; }
};

/// The observer of threads that have none of their own, while a session records all of them.
inline std::atomic<observer*> observer_of_all{nullptr};

/// Makes an observer that of this thread for the time of a scope.
class observed_scope {
 public:
  explicit observed_scope(observer* o) : shared_(o ? o->of_other_threads() : nullptr), here_(o) {}

 private:
  std::shared_ptr<observer> shared_;
  context_part<&context::observer> here_;
  context_part<&context::shared_observer> elsewhere_{&shared_};
};

}  // namespace tokamax::profile
