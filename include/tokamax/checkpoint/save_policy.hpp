// tokamax/checkpoint/save_policy.hpp: at which steps a run is saved.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/checkpoint/policies.cpp
#pragma once

#include <tokamax/base/error.hpp>  // error

#include <algorithm>   // find
#include <csignal>     // sigaction
#include <cstdint>     // int64_t
#include <functional>  // function
#include <optional>    // optional
#include <string>      // to_string
#include <vector>      // vector

namespace tokamax::checkpoint {

/// What a policy sees before each step that might be saved.
struct save_moment {
  std::int64_t step;
  std::function<std::optional<std::int64_t>()> last;  ///< the last saved step, if there is one
  double seconds;                                     ///< since the last save, or since the run began
};

/// Says whether a step is saved. Any function of this form is a policy.
using save_policy = std::function<bool(const save_moment&)>;

/// Steps that are multiples of `steps`, but for step 0.
inline save_policy save_every(std::int64_t steps) {
  if (steps < 1) throw error("save_every: steps", std::to_string(steps), "1 or more");
  return [=](const save_moment& now) { return now.step > 0 && now.step % steps == 0; };
}
inline save_policy save_at(std::vector<std::int64_t> steps) {
  return [=](const save_moment& now) { return std::ranges::find(steps, now.step) != steps.end(); };
}
/// The first step after so many seconds without a save.
inline save_policy save_after(double seconds) {
  if (!(seconds >= 0)) throw error("save_after: seconds", std::to_string(seconds), "0 or more");
  return [=](const save_moment& now) { return now.seconds >= seconds; };
}
/// The first step of a run that has no checkpoint yet.
inline save_policy save_first() {
  return [](const save_moment& now) { return !now.last(); };
}

namespace detail {
inline volatile std::sig_atomic_t last_signal = 0;
}  // namespace detail

/// Has the process got this signal, for which there is a policy? A training loop then ends after its save.
inline bool got_signal(int number) { return detail::last_signal == number; }

/// The first step after the process has got this signal, such as SIGTERM before a machine is taken away. The signal no longer
/// ends the process. Each policy saves once.
inline save_policy save_on_signal(int number) {
  struct sigaction action{};
  action.sa_handler = [](int n) { detail::last_signal = n; };
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  if (::sigaction(number, &action, nullptr) != 0)
    throw error("save_on_signal: signal", std::to_string(number), "one that can be caught");
  return [=, done = false](const save_moment&) mutable {
    const bool now = !done && got_signal(number);
    done = done || now;
    return now;
  };
}
/// Steps at which one of the policies saves.
inline save_policy save_any(std::vector<save_policy> policies) {
  return [=](const save_moment& now) mutable {
    bool any = false;
    for (save_policy& policy : policies) any = policy(now) || any;
    return any;
  };
}

}  // namespace tokamax::checkpoint
