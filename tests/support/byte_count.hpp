// tests/support/byte_count.hpp: how many bytes the programs of a thread move.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/profile/step_table.hpp>  // observer, step_table

namespace tokamax::test {

/// Adds up the bytes that the steps of programs move, without those of steps that hold others.
struct byte_count : profile::observer {
  double bytes = 0;
  std::int64_t now() const override { return 0; }
  void record(const std::shared_ptr<const profile::step_table>& program, int step, std::int64_t, std::int64_t,
              std::shared_ptr<time_mark>, std::shared_ptr<time_mark>) override {
    const profile::event& e = program->steps[static_cast<std::size_t>(step)];
    bytes += e.outer ? 0 : e.bytes;
  }
};

}  // namespace tokamax::test
