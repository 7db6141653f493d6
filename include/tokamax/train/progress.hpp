// tokamax/train/progress.hpp: one line that says how far a run is.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (what a run prints and writes; programs that do so include this header)
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

#include <fmt/format.h>  // format

#include <unistd.h>  // isatty

#include <chrono>   // steady_clock
#include <cstdint>  // int64_t
#include <cstdio>   // fputs
#include <string>   // string

namespace tokamax::train {

/// Prints step, loss, tokens per second and the time left. On a terminal it rewrites one line; elsewhere it prints a line
/// for every tenth of the run.
class progress {
 public:
  using clock = std::chrono::steady_clock;
  progress(std::int64_t first, std::int64_t total, std::int64_t tokens_per_step)
      : first_(first), total_(total), tokens_(tokens_per_step), terminal_(isatty(1) != 0) {}

  /// Call after each step; `loss` is only asked for when a line is printed.
  template <class Loss>
  void step(std::int64_t done, const Loss& loss) {
    const auto now = clock::now();
    const bool last = done == total_, tenth = done * 10 / total_ != (done - 1) * 10 / total_;
    if (terminal_ ? !last && now - printed_ < std::chrono::milliseconds(200) : !last && !tenth && done != first_ + 1)
      return;
    printed_ = now;
    const double elapsed = std::chrono::duration<double>(now - start_).count(),
                 steps = static_cast<double>(done - first_);
    const double left = elapsed / steps * static_cast<double>(total_ - done);
    const std::string line =
        fmt::format("step {:>5}/{}  loss {:.4f}  {:>6.0f} tokens/s  {} left", done, total_, static_cast<double>(loss()),
                    steps * static_cast<double>(tokens_) / elapsed, duration(left));
    std::fputs((terminal_ ? "\r" + line + "\x1b[K" + (last ? "\n" : "") : line + "\n").c_str(), stdout);
    std::fflush(stdout);
  }
  static std::string duration(double seconds) {
    const auto s = static_cast<long>(seconds + 0.5);
    return s >= 3600 ? fmt::format("{}h{:02}m", s / 3600, s / 60 % 60)
           : s >= 60 ? fmt::format("{}m{:02}s", s / 60, s % 60)
                     : fmt::format("{}s", s);
  }
  double seconds() const { return std::chrono::duration<double>(clock::now() - start_).count(); }

 private:
  std::int64_t first_, total_, tokens_;
  bool terminal_;
  clock::time_point start_ = clock::now(), printed_{};
};

}  // namespace tokamax::train
