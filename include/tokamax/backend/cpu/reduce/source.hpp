// tokamax/backend/cpu/reduce/source.hpp: gives a reduction its operand: from memory, or made piece by piece.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/compiler/joined.cpp
#pragma once

#include <tokamax/backend/cpu/reduce/plan.hpp>     // reduce_plan, reduce_strip
#include <tokamax/backend/cpu/vector/threads.hpp>  // scratch
#include <tokamax/core/kernel_arguments.hpp>       // kernel_arguments, joined_loop

#include <algorithm>  // min, max
#include <cstddef>    // byte

namespace tokamax::cpu_backend::detail {

struct reduce_room;

/// The operand of a reduction on one thread. A producer makes so few elements at a time that they stay in the caches:
/// eight rows of a strip at most.
template <class T>
class reduce_source {
 public:
  explicit reduce_source(const T* in, const joined_loop* producer = nullptr) : in_(in), producer_(producer) {
    constexpr std::int64_t bytes = 8 * reduce_strip * static_cast<std::int64_t>(sizeof(T));
    if (producer) made_ = reinterpret_cast<T*>(scratch<reduce_room>(bytes / 4));
  }
  explicit reduce_source(const kernel_arguments& a) : reduce_source(a.in[0].as<const T>(), a.producer) {}

  /// The n elements from `at` on, which are valid until the next call. The caller will read on up to `end`, so that a
  /// producer may make more elements in advance.
  const T* read(std::int64_t at, std::int64_t n, std::int64_t end) {
    if (!producer_) return in_ + at;
    if (at < first_ || at + n > first_ + count_) {
      first_ = at;
      count_ = std::min(n * std::max<std::int64_t>(1, ahead / n), end - at);
      producer_->run(first_, count_, reinterpret_cast<std::byte*>(made_));
    }
    return made_ + (at - first_);
  }

  /// Sets row[i] to the m elements from `base` on in the rows r + i, for i < n <= 8. The caller will read on up to row `end`.
  void read_rows(const reduce_plan& p, std::int64_t base, std::int64_t r, std::int64_t n, std::int64_t end,
                 std::int64_t m, const T** row) {
    const auto at = [&](std::int64_t i) { return base + p.reduced.offset(i); };
    if (!producer_) {
      for (std::int64_t i = 0; i < n; ++i) row[i] = in_ + at(r + i);
    } else if (m == p.inner && p.reduced.count == 1) {  // the rows follow each other
      const T* const all = read(at(r), n * m, at(end - 1) + m);
      for (std::int64_t i = 0; i < n; ++i) row[i] = all + i * m;
    } else {
      for (std::int64_t i = 0; i < n; ++i) {
        producer_->run(at(r + i), m, reinterpret_cast<std::byte*>(made_ + i * m));
        row[i] = made_ + i * m;
      }
    }
  }

 private:
  static constexpr std::int64_t ahead = 2048;  // so many elements are made at once if rows are short

  const T* in_;
  const joined_loop* producer_;
  std::int64_t first_ = 0, count_ = 0;
  T* made_ = nullptr;
};

}  // namespace tokamax::cpu_backend::detail
