// tokamax/profile/ring.hpp: the last records of one thread.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/profile/recording.hpp>  // record

#include <algorithm>  // max
#include <atomic>     // atomic
#include <bit>        // bit_cast, bit_floor
#include <cstddef>    // size_t
#include <vector>     // vector

namespace tokamax::profile {

/// The last records of one thread, which alone adds to them, while any thread may read them. It has a fixed size: a new record takes
/// the place of the oldest one.
class ring {
 public:
  /// Room for as many records as fit into these bytes, at least for one.
  explicit ring(std::size_t bytes) : cells_(std::bit_floor(std::max<std::size_t>(1, bytes / sizeof(cell)))) {}

  std::size_t capacity() const { return cells_.size(); }

  void add(const record& r) {
    const std::uint64_t n = added_.load(std::memory_order_relaxed);
    cell& c = cells_[n & (cells_.size() - 1)];
    started_.store(n + 1, std::memory_order_relaxed);
    c.begin.store(r.begin, std::memory_order_release);  // who reads any of these knows that it has started
    c.end.store(r.end, std::memory_order_release);
    c.what.store(std::uint64_t{r.table} << 32 | r.step, std::memory_order_release);
    c.value.store(std::bit_cast<std::uint64_t>(r.value), std::memory_order_release);
    added_.store(n + 1, std::memory_order_release);
  }

  /// Appends the records from number `from` on to `all`, in their order. Returns how many of them are lost, because there was no
  /// room for them or because the thread has overwritten them meanwhile.
  std::int64_t read(std::uint64_t from, std::vector<record>& all) const {
    const std::uint64_t end = added_.load(std::memory_order_acquire), size = cells_.size();
    const std::uint64_t first = std::max(std::min(from, end), end > size ? end - size : 0);
    std::vector<record> copies;
    for (std::uint64_t i = first; i < end; ++i) {
      const cell& c = cells_[i & (size - 1)];
      const std::uint64_t what = c.what.load(std::memory_order_acquire);
      copies.push_back({c.begin.load(std::memory_order_acquire), c.end.load(std::memory_order_acquire),
                        static_cast<std::uint32_t>(what >> 32), static_cast<std::uint32_t>(what),
                        std::bit_cast<double>(c.value.load(std::memory_order_acquire))});
    }
    const std::uint64_t started = started_.load(std::memory_order_relaxed);
    const std::uint64_t whole = std::min(end, std::max(first, started > size ? started - size : 0));
    all.insert(all.end(), copies.begin() + static_cast<std::ptrdiff_t>(whole - first), copies.end());
    return static_cast<std::int64_t>(whole - std::min(from, end));
  }

 private:
  struct cell {
    std::atomic<std::int64_t> begin{0}, end{0};
    std::atomic<std::uint64_t> what{0}, value{0};
  };
  std::vector<cell> cells_;
  std::atomic<std::uint64_t> added_{0}, started_{0};
};

}  // namespace tokamax::profile
