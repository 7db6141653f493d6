// tokamax/kernel/check/checked_copies.hpp: copies that are under way in a kernel that is checked, and the semaphores that count them.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/kernel/check/check_kernel.cpp
// umbrella: no (programs that check kernels include kernel/check/check_kernel.hpp)
#pragma once

#include <tokamax/kernel/check/checked_memory.hpp>  // checked_memory

#include <map>     // map
#include <random>  // minstd_rand
#include <vector>  // vector

namespace tokamax {

/// When a copy moves its bytes. Results of a right kernel do not depend on it.
enum class copy_mode : std::uint8_t {
  eager,    ///< when it is started
  on_wait,  ///< as late as possible, in the wait
  torn,     ///< in pieces, at random times between the two
};

namespace detail {

/// A part of a memory.
struct memory_place {
  checked_memory* memory = nullptr;
  memory_range range = {};
};

/// A copy that was started, and that no wait has proved to have ended.
struct copy_under_way {
  memory_place from, to, semaphore;
  double bytes = 0;
  location where = {};  ///< of its start
  unsigned landed = 0;  ///< the pieces that have moved, as bits

  static constexpr int pieces = 4;
  static constexpr unsigned all = (1U << pieces) - 1;
};

/// The copies of one core. A wait takes bytes from a semaphore, as the machine does. It proves that a copy has ended only if it
/// takes all bytes that copies were started with: of two copies on one semaphore, the first wait proves nothing.
class checked_copies {
 public:
  checked_copies(copy_mode mode, std::uint64_t seed) : mode_(mode), random_(static_cast<unsigned>(seed) + 1) {}

  void start(copy_under_way c) {
    counter& n = counters_[key(c.semaphore)];
    n.started += c.bytes;
    flights_.push_back(std::move(c));
    if (mode_ == copy_mode::eager) land(flights_.back(), copy_under_way::all);
  }
  /// Adds to the count of a semaphore.
  void signal(const memory_place& semaphore, double count, location where) {
    counter& n = counters_[key(semaphore)];
    n.started += count;
    n.signal = where;
  }
  /// The count of a semaphore after all copies that have started.
  double count(const memory_place& semaphore) const {
    const auto n = counters_.find(key(semaphore));
    return n == counters_.end() ? 0 : n->second.started - n->second.waited;
  }
  /// False if the bytes, or signals, will never come.
  bool wait(const memory_place& semaphore, double bytes) {
    const auto k = key(semaphore);
    counter& n = counters_[k];
    if (n.waited + bytes > n.started) {
      finish(k);
      n = {};
      return false;
    }
    n.waited += bytes;
    if (n.waited == n.started) {
      finish(k);
      n = {};
      return true;
    }
    double arrived = 0;
    for (copy_under_way& c : flights_)
      if (key(c.semaphore) == k && arrived < n.waited) {
        land(c, copy_under_way::all);
        arrived += c.bytes;
      }
    return true;
  }
  /// Moves some piece of some copy, perhaps.
  void pass_time() {
    if (mode_ != copy_mode::torn || flights_.empty()) return;
    land(flights_[random_() % flights_.size()], 1U << (random_() % copy_under_way::pieces));
  }

  /// A copy that writes there, or null.
  const copy_under_way* writing(const memory_place& p) const {
    for (const copy_under_way& c : flights_)
      if (c.to.memory == p.memory && c.to.range.overlaps(p.range)) return &c;
    return nullptr;
  }
  const copy_under_way* reading(const memory_place& p) const {
    for (const copy_under_way& c : flights_)
      if (c.from.memory == p.memory && c.from.range.overlaps(p.range)) return &c;
    return nullptr;
  }
  /// Calls report(copy, was any wait on its semaphore) for the copies of a memory that ends, and left(line of a signal, count) for
  /// the signals that nothing waited for. Forgets both.
  template <class Report, class Left>
  void end(const checked_memory& m, const Report& report, const Left& left) {
    bool copies = false;
    for (std::size_t i = 0; i < flights_.size();) {
      const copy_under_way& c = flights_[i];
      if (c.from.memory != &m && c.to.memory != &m && c.semaphore.memory != &m) {
        ++i;
        continue;
      }
      copies = true;
      report(c, counters_[key(c.semaphore)].waited > 0);
      land(flights_[i], copy_under_way::all);
      flights_.erase(flights_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    std::erase_if(counters_, [&](const auto& n) {
      if (n.first.first != &m) return false;
      const counter& at = n.second;
      if (!copies && at.signal.line && at.started > at.waited) left(at.signal, at.started - at.waited);
      return true;
    });
  }

 private:
  struct counter {
    double started = 0, waited = 0;
    location signal = {};  ///< of the last one; 0: only copies count on it
  };
  using counter_key = std::pair<const checked_memory*, std::int64_t>;
  static counter_key key(const memory_place& semaphore) {
    std::int64_t at = 0;
    const shape& extents = semaphore.memory->type().shape;
    for (int i = 0; i < extents.rank(); ++i) at = at * extents[i] + semaphore.range.start[i];
    return {semaphore.memory, at};
  }
  static void land(copy_under_way& c, unsigned pieces) {
    const unsigned now = pieces & ~c.landed;
    if (now == copy_under_way::all)
      c.to.memory->copy(c.to.range, *c.from.memory, c.from.range);
    else
      for (int p = 0; p < copy_under_way::pieces; ++p)
        if (now >> p & 1) c.to.memory->copy(c.to.range, *c.from.memory, c.from.range, p, copy_under_way::pieces);
    c.landed |= now;
  }
  void finish(const counter_key& k) {
    for (copy_under_way& c : flights_)
      if (key(c.semaphore) == k) land(c, copy_under_way::all);
    std::erase_if(flights_, [&](const copy_under_way& c) { return key(c.semaphore) == k; });
  }

  copy_mode mode_;
  std::minstd_rand random_;
  std::vector<copy_under_way> flights_;
  std::map<counter_key, counter> counters_;
};

}  // namespace detail

}  // namespace tokamax
