// tokamax/core/memory/buffer_pool.hpp: the pool of host memory, so that a repeated step allocates nothing and idle memory is released.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/core/memory/buffer.cpp
#pragma once

#include <tokamax/base/compiled_once.hpp>  // TOKAMAX_COMPILED_ONCE

#include <cstddef>  // byte, size_t
#include <cstdint>  // uint64_t

#if defined(TOKAMAX_COMPILED_ONCE)
  #include <tokamax/base/error.hpp>                // no_memory
  #include <tokamax/core/memory/fork_mutexes.hpp>  // fork_mutexes

  #if defined(__linux__)
    #include <sys/mman.h>  // mmap, munmap, madvise
  #endif

  #include <algorithm>  // max
  #include <atomic>     // atomic
  #include <bit>        // bit_width
  #include <cstdlib>    // aligned_alloc, free
  #include <mutex>      // lock_guard
  #include <new>        // placement new
  #include <utility>    // exchange
#endif

namespace tokamax {

struct graph;
class device;
class event;

/// The block that handles share: the bytes of an array, or the graph of a constant expression that has met no trace yet.
struct buffer_block {
  int refs = 1;
  bool read_only = false;     ///< no program may write its results here
  std::size_t bytes = 0;      ///< usable size
  std::byte* data = nullptr;  ///< 64-byte aligned; where the device's kernels find it: the host reads host memory only
  buffer_block* next = nullptr;  ///< in the pool: the one of its size class that was released before it; of a literal's
                                 ///< block, which has no data: the one with the elements (see literal_data.hpp); of a
                                 ///< block of another device: its copy in host memory, once somebody has read it
  graph* expression = nullptr;   ///< only in constant expressions
  void (*destroy)(graph*) = nullptr;
  buffer_block* previous = nullptr;                   ///< in the pool: the one that was released after it
  std::uint64_t released = 0;                         ///< in the pool: when, counted in releases
  device* where = nullptr;                            ///< whose memory it is; null: the host's
  event* ready = nullptr;                             ///< the end of the work that writes it; null: it has ended
  void (*release)(buffer_block*) noexcept = nullptr;  ///< takes the block back; null: the host's pool does
  void* owner = nullptr;                              ///< for `release`
};

/// Released blocks by size class (four classes for each power of two). They are used for later allocations, so that a
/// training step gets memory from the system only the first time.
///
/// Idle blocks may have 64 MiB in all, or half of the most that was in use at once during the last few hundred allocations
/// and 16 MiB, if that is more. Beyond that, the blocks that were released first go back to the system. If such memory is soon
/// needed again, its size is added to the limit, so that a repeated step keeps its memory. `trim` gives all idle blocks back.
///
/// Threads do not share a lock for most blocks of up to 64 KiB: 16 parts of the pool keep up to 1 MiB of these each, and a
/// thread asks one of the parts first.
class buffer_pool {
 public:
  static buffer_pool& instance();
  buffer_pool(const buffer_pool&) = delete;

  /// errors  std::bad_alloc, if giving back all idle blocks does not help
  buffer_block* allocate(std::size_t bytes);

  void release(buffer_block* b) noexcept;

  /// Gives all idle blocks back to the system.
  void trim() noexcept;

  /// How many blocks came from the system so far. A repeated step does not change it.
  std::size_t from_system() const;
  /// Bytes of blocks that are in use.
  std::size_t used_bytes() const;
  /// Bytes of blocks that wait to be used again.
  std::size_t idle_bytes() const;
  /// The most bytes that were in use at once since the last call: arrays, arenas of programs, and scratch memory of kernels.
  /// Blocks that the parts keep count as in use.
  std::size_t peak_bytes();

 private:
  static constexpr std::size_t header = 128, least_idle = std::size_t{48} << 20, most_bytes = std::size_t{1} << 56;
  static constexpr std::uint64_t window = 256;  // allocations that share a peak
  static constexpr std::size_t part_count = 16;
  static constexpr std::size_t most_of_part = std::size_t{1} << 20, most_of_block = std::size_t{64} << 10;
  static constexpr std::uint64_t together = 32;  // allocations of a part that are counted at once
  static_assert(sizeof(buffer_block) <= header);

  struct size_list {
    buffer_block *newest = nullptr, *oldest = nullptr;
  };

  /// Blocks that are idle, and that count as in use by the lists of all threads.
  struct alignas(64) part {
    std::size_t idle = 0;
    std::uint64_t allocations = 0;  // that have not been counted yet
    buffer_block* newest[40] = {};  // by size class
  };

  buffer_pool() = default;

  /// The part that the calling thread asks first.
  static std::size_t own_part() noexcept;
  buffer_block* take_from_part(std::size_t k, int c) noexcept;
  /// Puts a block into a part, and takes all blocks out of it if it has too many: these are returned.
  buffer_block* put_into_part(std::size_t k, buffer_block* b) noexcept;
  static buffer_block* empty(part& p, buffer_block* taken) noexcept;
  /// Adds blocks that a part had to the lists, and counts its allocations.
  void release_all(buffer_block* b, std::uint64_t allocations) noexcept;
  std::size_t idle_of_parts() const;
  /// Takes what is too much from the lists. The mutex of the pool is held.
  buffer_block* take_excess() noexcept;

  static int size_class(std::size_t bytes);
  static std::size_t class_bytes(int c);

  void link(buffer_block* b) noexcept;
  void unlink(buffer_block* b) noexcept;
  void count_use(std::size_t bytes, std::uint64_t allocations = 1) noexcept;
  /// Moves the block that was released first from the lists to the front of `taken`.
  buffer_block* take_oldest(buffer_block* taken) noexcept;
  static void give_back(buffer_block* b) noexcept;

  std::size_t from_system_ = 0, used_ = 0, idle_ = 0;
  std::size_t peak_ = 0, peak_before_ = 0;  // the most bytes in use at once, in this window and the one before
  std::size_t most_ = 0;                    // and since it was asked for
  std::uint64_t allocations_ = 0, releases_ = 0;
  std::size_t missed_ = 0;              // bytes that were given back too early
  std::uint64_t given_back_[256] = {};  // by size class: when the last one was, counted in allocations
  size_list free_[256];
  part parts_[part_count];
};

#if defined(TOKAMAX_COMPILED_ONCE)
namespace detail {
inline constexpr std::size_t page = 4096, huge_page = std::size_t{1} << 21;
constexpr std::size_t rounded(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

  #if defined(__linux__)
/// Blocks of at least this size are mapped one by one, so that memory goes back to the system when they are released.
inline bool is_mapped(std::size_t bytes) noexcept { return bytes >= 2 * huge_page; }
  #else
inline bool is_mapped(std::size_t) noexcept { return false; }
  #endif
/// Memory from the system, aligned to 64 bytes. Large blocks get huge pages if the system has them. Null if memory is
/// exhausted.
inline std::byte* system_memory(std::size_t bytes) noexcept {
  #if defined(__linux__)
  if (is_mapped(bytes)) {
    const std::size_t size = rounded(bytes, page), mapped = size + huge_page;
    void* const p = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return nullptr;
    auto* const begin = static_cast<std::byte*>(p);
    const std::size_t before = (huge_page - reinterpret_cast<std::uintptr_t>(begin) % huge_page) % huge_page;
    if (before > 0) munmap(begin, before);
    munmap(begin + before + size, huge_page - before);
    madvise(begin + before, size, MADV_HUGEPAGE);
    return begin + before;
  }
  #endif
  return static_cast<std::byte*>(std::aligned_alloc(64, rounded(bytes, 64)));
}
inline void free_system_memory(std::byte* p, [[maybe_unused]] std::size_t bytes) noexcept {
  #if defined(__linux__)
  if (is_mapped(bytes)) {
    munmap(p, rounded(bytes, page));
    return;
  }
  #endif
  std::free(p);
}
}  // namespace detail

TOKAMAX_COMPILED_ONCE buffer_pool& buffer_pool::instance() {
  static buffer_pool* const pool = new buffer_pool;  // never destroyed, because static arrays may use it at exit
  return *pool;
}
TOKAMAX_COMPILED_ONCE buffer_block* buffer_pool::allocate(std::size_t bytes) {
  if (bytes > most_bytes) throw no_memory(bytes);
  const int c = size_class(bytes);
  const std::size_t capacity = class_bytes(c);
  if (capacity <= most_of_block)
    if (buffer_block* const b = take_from_part(own_part(), c)) return b;
  {
    const std::lock_guard lock(fork_mutexes::of_pool());
    if (buffer_block* b = free_[c].newest) {
      unlink(b);
      count_use(b->bytes);
      b->refs = 1;
      return b;
    }
  }
  auto* raw = detail::system_memory(header + capacity);
  if (raw == nullptr) {
    trim();
    raw = detail::system_memory(header + capacity);
    if (raw == nullptr) throw no_memory(bytes);
  }
  const std::lock_guard lock(fork_mutexes::of_pool());
  ++from_system_;
  if (given_back_[c] != 0 && allocations_ - given_back_[c] < window) missed_ += capacity;
  count_use(capacity);
  return new (raw) buffer_block{.bytes = capacity, .data = raw + header};
}
TOKAMAX_COMPILED_ONCE void buffer_pool::release(buffer_block* b) noexcept {
  b->next = nullptr;
  release_all(b->bytes <= most_of_block ? put_into_part(own_part(), b) : b, 0);
}
TOKAMAX_COMPILED_ONCE void buffer_pool::release_all(buffer_block* b, std::uint64_t allocations) noexcept {
  if (!b && allocations == 0) return;
  buffer_block* excess = nullptr;
  {
    const std::lock_guard lock(fork_mutexes::of_pool());
    count_use(0, allocations);
    while (b) {
      buffer_block* const next = b->next;
      used_ -= b->bytes;
      link(b);
      b = next;
    }
    excess = take_excess();
  }
  give_back(excess);
}
TOKAMAX_COMPILED_ONCE buffer_block* buffer_pool::take_excess() noexcept {
  buffer_block* excess = nullptr;
  const std::size_t most = std::max(least_idle, std::max(peak_, peak_before_) / 2 + missed_);
  while (idle_ > most) excess = take_oldest(excess);
  return excess;
}
TOKAMAX_COMPILED_ONCE std::size_t buffer_pool::own_part() noexcept {
  static constinit std::atomic<std::size_t> threads = 0;
  static constinit thread_local std::size_t own = part_count;
  if (own == part_count) own = threads.fetch_add(1, std::memory_order_relaxed) % part_count;
  return own;
}
TOKAMAX_COMPILED_ONCE buffer_block* buffer_pool::take_from_part(std::size_t k, int c) noexcept {
  part& p = parts_[k];
  buffer_block* taken = nullptr;
  {
    const std::lock_guard lock(fork_mutexes::of_pool_part(k));
    taken = p.newest[c];
    if (!taken) return nullptr;
    p.newest[c] = std::exchange(taken->next, nullptr);
    p.idle -= taken->bytes;
    taken->refs = 1;
    if (++p.allocations < together) return taken;
    p.allocations = 0;
  }
  release_all(nullptr, together);
  return taken;
}
TOKAMAX_COMPILED_ONCE buffer_block* buffer_pool::put_into_part(std::size_t k, buffer_block* b) noexcept {
  part& p = parts_[k];
  const std::lock_guard lock(fork_mutexes::of_pool_part(k));
  if (p.idle + b->bytes > most_of_part) return empty(p, b);
  buffer_block*& newest = p.newest[size_class(b->bytes)];
  b->next = std::exchange(newest, b);
  p.idle += b->bytes;
  return nullptr;
}
TOKAMAX_COMPILED_ONCE buffer_block* buffer_pool::empty(part& p, buffer_block* taken) noexcept {
  for (buffer_block*& newest : p.newest)
    while (newest) {
      buffer_block* const b = std::exchange(newest, newest->next);
      b->next = std::exchange(taken, b);
    }
  p.idle = 0;
  return taken;
}
TOKAMAX_COMPILED_ONCE void buffer_pool::trim() noexcept {
  buffer_block* idle = nullptr;
  for (std::size_t k = 0; k < part_count; ++k) {
    const std::lock_guard lock(fork_mutexes::of_pool_part(k));
    idle = empty(parts_[k], idle);
  }
  release_all(idle, 0);
  buffer_block* excess = nullptr;
  {
    const std::lock_guard lock(fork_mutexes::of_pool());
    while (idle_ > 0) excess = take_oldest(excess);
  }
  give_back(excess);
}
TOKAMAX_COMPILED_ONCE std::size_t buffer_pool::from_system() const {
  const std::lock_guard lock(fork_mutexes::of_pool());
  return from_system_;
}
TOKAMAX_COMPILED_ONCE std::size_t buffer_pool::idle_of_parts() const {
  std::size_t bytes = 0;
  for (std::size_t k = 0; k < part_count; ++k) {
    const std::lock_guard lock(fork_mutexes::of_pool_part(k));
    bytes += parts_[k].idle;
  }
  return bytes;
}
TOKAMAX_COMPILED_ONCE std::size_t buffer_pool::used_bytes() const {
  const std::size_t of_parts = idle_of_parts();
  const std::lock_guard lock(fork_mutexes::of_pool());
  return used_ > of_parts ? used_ - of_parts : 0;
}
TOKAMAX_COMPILED_ONCE std::size_t buffer_pool::idle_bytes() const {
  const std::size_t of_parts = idle_of_parts();
  const std::lock_guard lock(fork_mutexes::of_pool());
  return idle_ + of_parts;
}
TOKAMAX_COMPILED_ONCE std::size_t buffer_pool::peak_bytes() {
  const std::lock_guard lock(fork_mutexes::of_pool());
  return std::exchange(most_, used_);
}
TOKAMAX_COMPILED_ONCE int buffer_pool::size_class(std::size_t bytes) {
  if (bytes <= 256) return 0;
  const int top = static_cast<int>(std::bit_width(bytes - 1)) - 1;  // 2^top <= bytes - 1 < 2^(top+1)
  return 4 * (top - 8) + static_cast<int>((bytes - 1) >> (top - 2) & 3) + 1;
}
TOKAMAX_COMPILED_ONCE std::size_t buffer_pool::class_bytes(int c) {
  if (c == 0) return 256;
  const int top = (c - 1) / 4 + 8, quarter = (c - 1) % 4;
  return (std::size_t{1} << top) + (std::size_t(quarter) + 1) * (std::size_t{1} << (top - 2));
}
TOKAMAX_COMPILED_ONCE void buffer_pool::link(buffer_block* b) noexcept {
  size_list& list = free_[size_class(b->bytes)];
  b->next = list.newest;
  b->previous = nullptr;
  b->released = ++releases_;
  (list.newest ? list.newest->previous : list.oldest) = b;
  list.newest = b;
  idle_ += b->bytes;
}
TOKAMAX_COMPILED_ONCE void buffer_pool::unlink(buffer_block* b) noexcept {
  size_list& list = free_[size_class(b->bytes)];
  (b->previous ? b->previous->next : list.newest) = b->next;
  (b->next ? b->next->previous : list.oldest) = b->previous;
  idle_ -= b->bytes;
}
TOKAMAX_COMPILED_ONCE void buffer_pool::count_use(std::size_t bytes, std::uint64_t allocations) noexcept {
  used_ += bytes;
  allocations_ += allocations;
  if (allocations_ % window < allocations) peak_before_ = peak_, peak_ = used_, missed_ /= 2;
  peak_ = std::max(peak_, used_);
  most_ = std::max(most_, used_);
}
TOKAMAX_COMPILED_ONCE buffer_block* buffer_pool::take_oldest(buffer_block* taken) noexcept {
  buffer_block* oldest = nullptr;
  for (const size_list& list : free_)
    if (list.oldest && (!oldest || list.oldest->released < oldest->released)) oldest = list.oldest;
  unlink(oldest);
  given_back_[size_class(oldest->bytes)] = allocations_ + 1;
  oldest->next = taken;
  return oldest;
}
TOKAMAX_COMPILED_ONCE void buffer_pool::give_back(buffer_block* b) noexcept {
  while (b) {
    buffer_block* const next = b->next;
    detail::free_system_memory(reinterpret_cast<std::byte*>(b), header + b->bytes);
    b = next;
  }
}
#endif

}  // namespace tokamax
