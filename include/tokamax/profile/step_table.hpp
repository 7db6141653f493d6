// tokamax/profile/step_table.hpp: what the steps of a program do, which recordings name by numbers.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/profile/session.cpp
#pragma once

#include <tokamax/profile/event.hpp>  // event

#include <atomic>   // atomic
#include <cstdint>  // uint32_t
#include <string>   // string
#include <utility>  // move
#include <vector>   // vector

namespace tokamax::profile {

/// What each step of a program, or of a body in it, does, without times. It is made once for the program and its extents, and a recording that has a
/// share of it can name the steps when the program is gone.
struct step_table {
  std::vector<event> steps;                   ///< in their order
  std::vector<std::string> places;            ///< "file.cpp:12" of each, the line that asked for it
  mutable std::atomic<std::uint32_t> number;  ///< by which records name this table; 0: none yet

  step_table(std::vector<event> all, std::vector<std::string> lines)
      : steps(std::move(all)), places(std::move(lines)), number(0) {}
};

}  // namespace tokamax::profile
