// tokamax/backend/cpu/reduce/source.hpp: gives a reduction its operand: from memory, or made or widened piece by piece.
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
struct widened_room;

/// Converts n elements of a narrow dtype to the scalars in which they are combined.
using widen_function = void (*)(const std::byte* from, std::int64_t n, std::byte* to);

/// The operand of a reduction on one thread, as bytes. A producer makes elements, and others may be widened, so few at a
/// time that they stay in the caches: eight rows of a strip at most.
class reduce_source {
 public:
  reduce_source(const std::byte* in, std::int64_t size) : in_(in), size_(size), read_size_(size) {}
  reduce_source(const kernel_arguments& a, widen_function widen, std::int64_t widened_size)
      : reduce_source(a.in[0].as<const std::byte>(), size_of(a.in[0].type)) {
    if (a.producer) {
      producer_ = a.producer;
      made_ = ready_ = scratch<reduce_room, std::byte>(most * size_);
    }
    if (widen) {
      widen_ = widen;
      read_size_ = widened_size;
      ready_ = scratch<widened_room, std::byte>(most * read_size_);
    }
  }

  /// The n elements from `at` on, which are valid until the next call. The caller will read on up to `end`, so that more
  /// elements may be made in advance.
  const std::byte* read(std::int64_t at, std::int64_t n, std::int64_t end) {
    if (!ready_) return in_ + at * size_;
    if (at < first_ || at + n > first_ + count_) {
      first_ = at;
      count_ = std::min(n * std::max<std::int64_t>(1, ahead / n), end - at);
      make(at, count_, 0);
    }
    return ready_ + (at - first_) * read_size_;
  }

  /// Sets row[i] to the m elements from `base` on in the rows r + i, for i < n <= 8. The caller will read on up to row `end`.
  void read_rows(const reduce_plan& p, std::int64_t base, std::int64_t r, std::int64_t n, std::int64_t end,
                 std::int64_t m, const std::byte** row) {
    const auto at = [&](std::int64_t i) { return base + p.reduced.offset(i); };
    if (!ready_) {
      for (std::int64_t i = 0; i < n; ++i) row[i] = in_ + at(r + i) * size_;
    } else if (m == p.inner && p.reduced.count == 1) {  // the rows follow each other
      const std::byte* const all = read(at(r), n * m, at(end - 1) + m);
      for (std::int64_t i = 0; i < n; ++i) row[i] = all + i * m * read_size_;
    } else {
      for (std::int64_t i = 0; i < n; ++i) row[i] = make(at(r + i), m, i * m);
    }
  }

 private:
  static constexpr std::int64_t ahead = 2048;  // so many elements are made at once if rows are short
  static constexpr std::int64_t most = 8 * reduce_strip;

  // Makes the n elements from `at` on, in place `to` and those behind it.
  const std::byte* make(std::int64_t at, std::int64_t n, std::int64_t to) {
    std::byte* const result = ready_ + to * read_size_;
    if (producer_) producer_->run(at, n, made_ + to * size_);
    if (widen_) widen_(producer_ ? made_ + to * size_ : in_ + at * size_, n, result);
    return result;
  }

  const std::byte* in_;
  std::int64_t size_, read_size_;
  const joined_loop* producer_ = nullptr;
  widen_function widen_ = nullptr;
  std::byte *made_ = nullptr, *ready_ = nullptr;  // what the producer made, and what is read
  std::int64_t first_ = 0, count_ = 0;            // of the elements that are ready
};

}  // namespace tokamax::cpu_backend::detail
