// tests/support/steps_of.hpp: the names of the steps that a run takes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/profile/timeline.hpp>

#include <string>

namespace tokamax::test {

/// A line for each step of f(args...).
template <class F, class... Args>
std::string steps_of(const F& f, const Args&... args) {
  std::string names;
  const profile::timeline recording;
  f(args...);
  for (const profile::event& e : recording.events()) names += e.name + "\n";
  return names;
}

}  // namespace tokamax::test
