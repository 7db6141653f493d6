// tokamax/profile/event.hpp: one piece of work that a program did, and the observer that is told of it.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/profile/timeline.cpp
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

#include <cstdint>  // int64_t
#include <string>   // string

namespace tokamax::profile {

/// One step of a program that has run.
struct event {
  std::string name;                      ///< such as "dot_general f32[512,768] f32[768,3072]"
  std::int64_t begin = 0, duration = 0;  ///< nanoseconds of the observer's clock
  double flops = 0;                      ///< operations on numbers, without those of the next field
  double bfloat16_flops = 0;             ///< operations of bfloat16 products
  double bytes = 0;                      ///< read and written, each element counted once
  bool outer = false;                    ///< contains other events, whose time is counted in its own
  std::string scope{};                   ///< the part of the program that it belongs to: `blocks[3].attend`
  std::string device{};                  ///< the name of the device that did it
  double transcendentals = 0;            ///< exp, log, tanh and the like, which are not among the flops
};

/// Receives an event for every step that programs run on its thread.
class observer {
 public:
  virtual ~observer() = default;
  virtual std::int64_t now() const = 0;  ///< nanoseconds
  virtual void record(event e) = 0;
};

/// The observer of this thread. If it is null, no event is made and no clock is read.
inline thread_local observer* current_observer = nullptr;

}  // namespace tokamax::profile
