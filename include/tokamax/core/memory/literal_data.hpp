// tokamax/core/memory/literal_data.hpp: the elements of arrays that are one number everywhere, for those who read them.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/core/array.cpp
#pragma once

#include <tokamax/base/compiled_once.hpp>  // TOKAMAX_COMPILED_ONCE
#include <tokamax/core/memory/buffer.hpp>  // handle
#include <tokamax/core/type.hpp>           // array_type, element_bits

#include <cstddef>  // byte

#if defined(TOKAMAX_COMPILED_ONCE)
  #include <algorithm>  // fill_n, max
  #include <map>        // map
  #include <mutex>      // lock_guard
  #include <vector>     // vector
#endif

namespace tokamax::detail {

// A literal has no elements until somebody reads them. Reading must not write into the array, because threads may share
// it and a constant may be in read-only memory. So the elements are stored elsewhere.
//
// A literal that was made at run time holds a block without data, which its copies share. The first reader attaches a
// filled buffer to the block by one atomic exchange, and the buffer is released with the last copy. A literal that the
// compiler made holds no block. There are only as many of these as the program's text contains, so their elements stay
// until the process ends, in a table by number and dtype.

/// The block of a literal that was made at run time.
handle literal_storage();

/// Writes `value` as `count` elements of dtype `type`.
void fill_elements(std::byte* to, dtype type, std::size_t count, element_bits value);

/// The elements of a literal that holds `storage`. Any number of threads may call it at once.
const std::byte* literal_data(const handle& storage, const array_type& type, element_bits value);

#if defined(TOKAMAX_COMPILED_ONCE)
TOKAMAX_COMPILED_ONCE handle literal_storage() { return handle(new buffer_block); }

TOKAMAX_COMPILED_ONCE void fill_elements(std::byte* to, dtype type, std::size_t count, element_bits value) {
  dispatch(type, [&]<dtype T>() {
    const auto v = value.as<element_t<T>>();
    std::fill_n(reinterpret_cast<element_t<T>*>(to), count, v);
  });
}

/// A buffer with `count` elements.
inline handle filled_buffer(dtype type, std::int64_t count, element_bits value) {
  const auto n = static_cast<std::size_t>(count);
  handle h(buffer_pool::instance().allocate(n * static_cast<std::size_t>(size_of(type))));
  fill_elements(h->data, type, n, value);
  return h;
}

/// The elements of a literal that the compiler made: the beginning of the longest buffer with its number. Shorter buffers
/// stay, because others may be reading them. Each new one is at least twice as long, so all of them together take at most
/// twice the memory of the longest.
inline const std::byte* constant_data(const array_type& type, element_bits value) {
  struct buffers {
    std::int64_t longest = 0;
    std::vector<handle> all;
  };
  static auto& table = *new std::map<std::pair<dtype, std::uint64_t>, buffers>;  // outlives every static array
  const std::lock_guard lock(fork_mutexes::of(&table));
  buffers& b = table[{type.dtype, value.value}];
  const std::int64_t n = tokamax::size(type.shape);
  if (b.all.empty() || b.longest < n) {
    const std::int64_t count = std::max(n, std::min(2 * b.longest, std::int64_t{1} << 24));
    b.all.push_back(filled_buffer(type.dtype, count, value));
    b.longest = count;
  }
  return b.all.back()->data;
}

TOKAMAX_COMPILED_ONCE const std::byte* literal_data(const handle& storage, const array_type& type, element_bits value) {
  if (!storage) return constant_data(type, value);
  const std::atomic_ref place(storage->next);
  buffer_block* there = place.load(std::memory_order_acquire);
  if (there) return there->data;
  handle made = filled_buffer(type.dtype, tokamax::size(type.shape), value);
  if (!place.compare_exchange_strong(there, made.get(), std::memory_order_acq_rel)) return there->data;
  return made.release()->data;
}
#endif

}  // namespace tokamax::detail
