// tokamax/runtime/program_cache.hpp: the programs that were used last, found in constant time.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/runtime/traced_program.cpp
#pragma once

#include <tokamax/base/compiled_once.hpp>  // TOKAMAX_COMPILED_ONCE

#include <cstddef>  // size_t
#include <cstdint>  // uint64_t
#include <memory>   // shared_ptr
#include <utility>  // move

#if defined(TOKAMAX_COMPILED_ONCE)
  #include <tokamax/core/memory/fork_mutexes.hpp>  // fork_mutexes

  #include <iterator>       // prev
  #include <list>           // list
  #include <mutex>          // lock_guard
  #include <unordered_map>  // unordered_multimap
#endif

namespace tokamax::detail {

/// A hash of a sequence of numbers.
class running_hash {
 public:
  void add(std::int64_t n) {
    value_ = (value_ ^ static_cast<std::uint64_t>(n)) * 0x9e3779b97f4a7c15u;
    value_ ^= value_ >> 29;
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0x243f6a8885a308d3u;
};

/// A map with at most `capacity` values. A further value replaces the one that was looked up longest ago. A value that is in
/// use stays until its user releases it. Threads may share a cache. The types of the values are known to its user only.
class untyped_cache {
 public:
  static constexpr std::size_t default_capacity = 256;

  /// A predicate: does a value fit?
  struct question {
    bool (*ask)(const void* fits, const void* value);
    const void* fits;
  };

  untyped_cache();
  untyped_cache(const untyped_cache&) = delete;
  ~untyped_cache();

  std::shared_ptr<void> find(std::uint64_t key, question fits);
  std::shared_ptr<void> add(std::uint64_t key, std::shared_ptr<void> value, question fits);
  void set_capacity(std::size_t most);
  void clear();
  std::size_t size() const;

 private:
  struct table;
  std::unique_ptr<table> table_;
};

/// The same, for values of one type.
template <class Value>
class program_cache {
 public:
  /// The value of this key for which fits(value), or null.
  template <class Fits>
  std::shared_ptr<Value> find(std::uint64_t key, const Fits& fits) {
    return std::static_pointer_cast<Value>(values_.find(key, question(fits)));
  }
  /// Adds a value and returns it. If another thread has added one that fits meanwhile, that one is returned.
  template <class Fits>
  std::shared_ptr<Value> add(std::uint64_t key, std::shared_ptr<Value> value, const Fits& fits) {
    return std::static_pointer_cast<Value>(values_.add(key, std::move(value), question(fits)));
  }
  void set_capacity(std::size_t most) { values_.set_capacity(most); }
  void clear() { values_.clear(); }
  std::size_t size() const { return values_.size(); }

 private:
  template <class Fits>
  static untyped_cache::question question(const Fits& fits) {
    return {[](const void* f, const void* value) -> bool {
              return (*static_cast<const Fits*>(f))(*static_cast<const Value*>(value));
            },
            &fits};
  }
  untyped_cache values_;
};

#if defined(TOKAMAX_COMPILED_ONCE)
struct untyped_cache::table {
  struct place {
    std::uint64_t key;
    std::shared_ptr<void> value;
  };
  using place_list = std::list<place>;

  std::mutex& mutex() const { return fork_mutexes::of(this); }
  std::shared_ptr<void> found(std::uint64_t key, question fits) {
    for (auto [at, end] = by_key.equal_range(key); at != end; ++at)
      if (fits.ask(fits.fits, at->second->value.get())) {
        places.splice(places.begin(), places, at->second);
        return at->second->value;
      }
    return nullptr;
  }
  /// Moves surplus values to `out`, so that they are destroyed after the mutex is released.
  void shrink(place_list& out) noexcept {
    while (places.size() > capacity) {
      const auto last = std::prev(places.end());
      for (auto [at, end] = by_key.equal_range(last->key); at != end; ++at)
        if (at->second == last) {
          by_key.erase(at);
          break;
        }
      out.splice(out.end(), places, last);
    }
  }

  std::size_t capacity = default_capacity;
  place_list places;  // the one that was used last comes first
  std::unordered_multimap<std::uint64_t, place_list::iterator> by_key;
};

TOKAMAX_COMPILED_ONCE untyped_cache::untyped_cache() : table_(std::make_unique<table>()) {}
TOKAMAX_COMPILED_ONCE untyped_cache::~untyped_cache() = default;

TOKAMAX_COMPILED_ONCE std::shared_ptr<void> untyped_cache::find(std::uint64_t key, question fits) {
  const std::lock_guard lock(table_->mutex());
  return table_->found(key, fits);
}
TOKAMAX_COMPILED_ONCE std::shared_ptr<void> untyped_cache::add(std::uint64_t key, std::shared_ptr<void> value,
                                                               question fits) {
  table::place_list out;
  const std::lock_guard lock(table_->mutex());
  if (auto other = table_->found(key, fits)) return other;
  table_->places.push_front({key, value});
  try {
    table_->by_key.emplace(key, table_->places.begin());
  } catch (...) {
    table_->places.pop_front();
    throw;
  }
  table_->shrink(out);
  return value;
}
TOKAMAX_COMPILED_ONCE void untyped_cache::set_capacity(std::size_t most) {
  table::place_list out;
  const std::lock_guard lock(table_->mutex());
  table_->capacity = most > 0 ? most : 1;
  table_->shrink(out);
}
TOKAMAX_COMPILED_ONCE void untyped_cache::clear() {
  table::place_list out;
  const std::lock_guard lock(table_->mutex());
  table_->by_key.clear();
  out.swap(table_->places);
}
TOKAMAX_COMPILED_ONCE std::size_t untyped_cache::size() const {
  const std::lock_guard lock(table_->mutex());
  return table_->places.size();
}
#endif

}  // namespace tokamax::detail
