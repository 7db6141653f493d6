// tokamax/kernel/check/checked_memory.hpp: memory of a kernel that knows which of its elements have been written.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/kernel/check/check_kernel.cpp
// umbrella: no (programs that check kernels include kernel/check/check_kernel.hpp)
#pragma once

#include <tokamax/core/array.hpp>           // array
#include <tokamax/kernel/memory_space.hpp>  // memory_space

#include <algorithm>  // count, fill_n, min
#include <cstring>    // memchr, memcpy, memset
#include <memory>     // unique_ptr
#include <string>     // string
#include <utility>    // move
#include <vector>     // vector

namespace tokamax::detail {

/// A box of memory.
struct memory_range {
  shape start, sizes;

  bool overlaps(const memory_range& o) const {
    for (int i = 0; i < start.rank(); ++i)
      if (start[i] >= o.start[i] + o.sizes[i] || o.start[i] >= start[i] + sizes[i]) return false;
    return true;
  }
  bool inside(const shape& extents) const {
    for (int i = 0; i < start.rank(); ++i)
      if (start[i] < 0 || start[i] + sizes[i] > extents[i]) return false;
    return true;
  }
  static memory_range all_of(const shape& extents) {
    memory_range r{extents, extents};
    for (std::int64_t& s : r.start.values) s = 0;
    return r;
  }
  /// "[0:4, 8:16]"
  std::string text() const {
    std::string s = "[";
    for (int i = 0; i < start.rank(); ++i)
      s += (i ? ", " : "") + std::to_string(start[i]) + ":" + std::to_string(start[i] + sizes[i]);
    return s + "]";
  }
};

/// Calls f(first element, number of elements) for each run of a box that is contiguous in memory with these extents.
template <class F>
void for_each_run(const shape& extents, const memory_range& box, const F& f) {
  int outer = extents.rank();
  std::int64_t run = 1;
  while (outer > 0) {
    --outer;
    run *= box.sizes[outer];
    if (box.sizes[outer] != extents[outer]) break;
  }
  std::int64_t stride = 1, base = 0, count = 1;
  shape strides = extents;
  for (int i = extents.rank() - 1; i >= 0; stride *= extents[i--]) {
    strides[i] = stride;
    base += box.start[i] * stride;
  }
  for (int i = 0; i < outer; ++i) count *= box.sizes[i];
  if (run == 0) return;
  for (std::int64_t c = 0; c < count; ++c) {
    std::int64_t at = base, left = c;
    for (int i = outer - 1; i >= 0; left /= box.sizes[i--]) at += left % box.sizes[i] * strides[i];
    f(at, run);
  }
}

/// What memory holds before it is written. Results that differ between the two have read such memory.
enum class poison_pattern : std::uint8_t { quiet_nan, large_number };

/// A ref's memory: a block, an array, or scratch memory.
class checked_memory {
 public:
  checked_memory(std::string name, const array_type& type, memory_space space, location made)
      : name_(std::move(name)),
        type_(type),
        space_(space),
        made_(made),
        bytes_(static_cast<std::size_t>(size(type.shape) * size_of(type.dtype))) {}

  const array_type& type() const { return type_; }
  memory_space space() const { return space_; }
  location made() const { return made_; }  ///< the line of the kernel, or of the scope, that asked for it
  std::string text(const memory_range& r) const {
    return name_ + " " + std::string(message(type_).view()) + " " + r.text();
  }
  double bytes() const { return static_cast<double>(bytes_); }
  std::int64_t unwritten() const { return unwritten_; }
  location last_write() const { return last_write_; }  ///< the line that wrote it last; 0: none
  void wrote(location where) { last_write_ = where; }
  /// Gives it other extents, of equal size: those of the ref, which has no axis where a block has one entry.
  void view_as(const shape& extents) { type_.shape = extents; }

  /// Forgets what it holds.
  void poison(poison_pattern p) {
    const std::int64_t n = size(type_.shape);
    allocate();
    written_.assign(static_cast<std::size_t>(n), 0);
    unwritten_ = n;
    dispatch(type_.dtype, [&]<dtype T>() {
      using element = element_t<T>;
      element value{};
      if (space_ == memory_space::semaphore) {
      } else if constexpr (is_floating(T)) {
        value = static_cast<element>(p == poison_pattern::quiet_nan ? std::numeric_limits<float>::quiet_NaN() : 77.0f);
      } else if constexpr (std::is_same_v<element, bool>) {
        value = p == poison_pattern::large_number;
      } else if constexpr (is_integer(T)) {
        value = p == poison_pattern::quiet_nan ? std::numeric_limits<element>::lowest()
                                               : static_cast<element>(std::numeric_limits<element>::max() / 3);
      }
      constexpr std::int64_t most = 4096;  // what was written first is copied behind itself, out of the cache
      auto* const to = reinterpret_cast<element*>(data_);
      std::fill_n(to, std::min(n, most), value);
      for (std::int64_t i = most; i < n; i += most)
        std::memcpy(to + i, to, static_cast<std::size_t>(std::min(most, n - i)) * sizeof(element));
    });
    if (space_ == memory_space::semaphore) mark(memory_range::all_of(type_.shape));
  }
  /// Holds the elements of an array.
  void hold(const array& a) {
    allocate();
    if (bytes_ > 0) std::memcpy(data_, bytes_of(a), bytes_);
    mark_all();
  }
  /// Is the memory of an array, which nobody writes.
  void borrow(const array& a) {
    lender_ = a;
    data_ = const_cast<std::byte*>(bytes_of(lender_));
    mark_all();
  }

  /// A write to an array by one of the parallel steps.
  struct writer {
    std::int64_t chunk;
    location where;
    std::string step;
  };
  /// A write to the box by other parallel steps, or null.
  const writer* other_writer(const memory_range& r, std::int64_t chunk) const {
    const writer* found = nullptr;
    if (!writer_of_.empty())
      for_each_run(type_.shape, r, [&](std::int64_t at, std::int64_t n) {
        for (std::int64_t i = at; i < at + n && !found; ++i)
          if (const int w = writer_of_[static_cast<std::size_t>(i)];
              w && writers_[static_cast<std::size_t>(w)].chunk != chunk)
            found = &writers_[static_cast<std::size_t>(w)];
      });
    return found;
  }
  void note_writer(const memory_range& r, writer w) {
    if (writer_of_.empty()) {
      writer_of_.resize(static_cast<std::size_t>(size(type_.shape)));
      writers_.resize(1);
    }
    for_each_run(type_.shape, r, [&](std::int64_t at, std::int64_t n) {
      std::fill_n(writer_of_.begin() + at, n, static_cast<int>(writers_.size()));
    });
    writers_.push_back(std::move(w));
  }

  bool is_written(const memory_range& r) const {
    bool all = true;
    if (unwritten_ > 0)
      for_each_run(type_.shape, r, [&](std::int64_t at, std::int64_t n) {
        all = all && std::memchr(written_.data() + at, 0, static_cast<std::size_t>(n)) == nullptr;
      });
    return all;
  }
  void mark(const memory_range& r) {
    if (unwritten_ > 0) for_each_run(type_.shape, r, [&](std::int64_t at, std::int64_t n) { mark_run(at, n); });
  }
  /// Makes all of it written, because a copy to all of it follows.
  void mark_all() {
    if (data_ == nullptr) allocate();
    written_.assign(static_cast<std::size_t>(size(type_.shape)), 1);
    unwritten_ = 0;
  }

  array read(const memory_range& r, const array_type& as) const {
    array out = array::uninitialized({as.dtype, false, as.shape});
    std::byte* to = out.storage()->data;
    for_each_run(type_.shape, r, [&](std::int64_t at, std::int64_t n) {
      std::memcpy(to, data_ + at * element(), static_cast<std::size_t>(n * element()));
      to += n * element();
    });
    return out;
  }
  void write(const memory_range& r, const array& value) {
    const std::byte* from = bytes_of(value);
    for_each_run(type_.shape, r, [&](std::int64_t at, std::int64_t n) {
      std::memcpy(data_ + at * element(), from, static_cast<std::size_t>(n * element()));
      from += n * element();
    });
    mark(r);
  }
  /// Copies a box of equal size from another memory, or of `pieces` parts of its rows the one with number `piece`. Elements
  /// that nobody wrote stay so.
  void copy(const memory_range& to, const checked_memory& from, const memory_range& source, int piece = 0,
            int pieces = 1) {
    std::vector<std::int64_t> places;  // of source elements; boxes of equal size may have other runs
    for_each_run(from.type_.shape, source, [&](std::int64_t at, std::int64_t n) {
      places.push_back(at);
      places.push_back(n);
    });
    std::size_t k = 0;
    std::int64_t used = 0, row = 0;
    for_each_run(type_.shape, to, [&](std::int64_t at, std::int64_t n) {
      while (n > 0) {
        const std::int64_t part = std::min(n, places[k + 1] - used);
        if (row++ % pieces == piece) move(at, from, places[k] + used, part);
        at += part, n -= part, used += part;
        if (used == places[k + 1]) k += 2, used = 0;
      }
    });
  }

 private:
  std::int64_t element() const { return size_of(type_.dtype); }
  static const std::byte* bytes_of(const array& a) {
    return dispatch(a.dtype(), [&]<dtype T>() { return reinterpret_cast<const std::byte*>(a.data<element_t<T>>()); });
  }
  void move(std::int64_t at, const checked_memory& from, std::int64_t source, std::int64_t n) {
    std::memcpy(data_ + at * element(), from.data_ + source * element(), static_cast<std::size_t>(n * element()));
    if (from.unwritten_ == 0) {
      if (unwritten_ > 0) mark_run(at, n);
      return;
    }
    for (std::int64_t i = 0; i < n; ++i) {
      char& mine = written_[static_cast<std::size_t>(at + i)];
      const char given = from.written_[static_cast<std::size_t>(source + i)];
      unwritten_ += mine - given;
      mine = given;
    }
  }
  void mark_run(std::int64_t at, std::int64_t n) {
    char* const first = written_.data() + at;
    const auto count = static_cast<std::size_t>(n);
    unwritten_ -= std::memchr(first, 1, count) == nullptr ? n : std::count(first, first + n, 0);
    std::memset(first, 1, count);
  }
  void allocate() {
    if (!own_) own_ = std::make_unique_for_overwrite<std::byte[]>(bytes_);
    data_ = own_.get();
  }

  std::string name_;
  array_type type_;
  memory_space space_;
  location made_, last_write_ = {};
  std::size_t bytes_;
  std::unique_ptr<std::byte[]> own_;  // `hold` or `poison` fills it first
  std::byte* data_ = nullptr;
  array lender_ = {};  // whose memory it is, if it is not its own
  std::vector<char> written_;
  std::int64_t unwritten_ = 0;
  std::vector<int> writer_of_;  // of each element, its number in writers_; 0: none
  std::vector<writer> writers_;
};

}  // namespace tokamax::detail
