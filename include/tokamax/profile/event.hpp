// tokamax/profile/event.hpp: one piece of work that a program did, and who wants to hear of it.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/profile/timeline.cpp
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

#include <cstdint>  // int64_t
#include <string>   // string

namespace tokamax::profile {

/// A step of a program.
struct event {
  std::string name;                      ///< such as "dot_general f32[512,768] f32[768,3072]"
  std::int64_t begin = 0, duration = 0;  ///< nanoseconds of the observer's clock
  double flops = 0;                      ///< operations on numbers, without the following
  double bfloat16_flops = 0;             ///< those of products of bfloat16
  double bytes = 0;                      ///< read and written, each element once
  bool outer = false;                    ///< its time is that of other events, which it holds
  std::string scope{};                   ///< the part of the program that it belongs to: `blocks[3].attend`
};

/// Is told of every step that programs run on the thread that it listens on.
class observer {
 public:
  virtual ~observer() = default;
  virtual std::int64_t now() const = 0;  ///< nanoseconds
  virtual void happened(event e) = 0;
};

/// The observer of this thread; null: nobody looks, and no clock is read.
inline thread_local observer* listening = nullptr;

}  // namespace tokamax::profile
