// tokamax/runtime/program/program_cache.hpp: the programs that were used last, found in constant time.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/runtime/program/program_cache.cpp
#pragma once

#include <tokamax/base/compiled_once.hpp>  // TOKAMAX_COMPILED_ONCE

#include <cstddef>  // size_t
#include <cstdint>  // uint64_t
#include <memory>   // shared_ptr

#if defined(TOKAMAX_COMPILED_ONCE)
  #include <tokamax/core/memory/fork_mutexes.hpp>  // fork_mutexes

  #include <atomic>         // atomic
  #include <exception>      // exception_ptr
  #include <iterator>       // prev
  #include <list>           // list
  #include <mutex>          // lock_guard
  #include <unordered_map>  // unordered_multimap
  #include <vector>         // vector
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

  /// A predicate: does a value fit? And, where a value is made, does another question ask for the same one?
  struct question {
    bool (*ask)(const void* fits, const void* value);
    const void* fits;
    bool (*same)(const void* fits, const void* other) = nullptr;
  };
  /// Makes a value.
  struct maker {
    std::shared_ptr<void> (*make)(void* f);
    void* f;
  };

  untyped_cache();
  untyped_cache(const untyped_cache&) = delete;
  ~untyped_cache();

  std::shared_ptr<void> find(std::uint64_t key, question fits);
  std::shared_ptr<void> find_or_make(std::uint64_t key, question fits, maker make);
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
    return std::static_pointer_cast<Value>(values_.find(key, {ask<Fits>, &fits}));
  }
  /// The same, and if there is none, what make() returns. Of the threads that ask for the same new value, which is told by
  /// `fits.same(others)`, one makes it, and the rest wait for it. A thread that makes a value waits for nobody: if it needs
  /// one that is being made, perhaps by itself, it makes another.
  ///
  /// errors  those of make, which all waiting threads get; the next thread that asks tries again
  template <class Fits, class Make>
  std::shared_ptr<Value> find_or_make(std::uint64_t key, const Fits& fits, Make make) {
    const auto same = [](const void* f, const void* others) -> bool {
      return static_cast<const Fits*>(f)->same(*static_cast<const Fits*>(others));
    };
    const auto made = [](void* f) -> std::shared_ptr<void> {
      return std::shared_ptr<Value>((*static_cast<Make*>(f))());
    };
    return std::static_pointer_cast<Value>(values_.find_or_make(key, {ask<Fits>, &fits, same}, {made, &make}));
  }
  void set_capacity(std::size_t most) { values_.set_capacity(most); }
  void clear() { values_.clear(); }
  std::size_t size() const { return values_.size(); }

 private:
  template <class Fits>
  static bool ask(const void* fits, const void* value) {
    return (*static_cast<const Fits*>(fits))(*static_cast<const Value*>(value));
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
  /// A value that a thread is making.
  struct making {
    std::uint64_t key;
    question fits;  ///< of the thread that makes it, so it is valid while this is in `pending`, in the same process
    std::uint64_t forks = fork_mutexes::forks();
    std::atomic<bool> done{false};
    std::shared_ptr<void> value = nullptr;
    std::exception_ptr error = nullptr;
  };

  std::mutex& mutex() const { return fork_mutexes::of(this); }
  std::shared_ptr<void> found(std::uint64_t key, question fits) {
    for (auto [at, end] = by_key.equal_range(key); at != end; ++at)
      if (fits.ask(fits.fits, at->second->value.get())) {
        places.splice(places.begin(), places, at->second);
        return at->second->value;
      }
    return nullptr;
  }
  /// What another thread is making of what is asked for, or null. A child that was forked meanwhile forgets it.
  std::shared_ptr<making> made_elsewhere(std::uint64_t key, question fits) {
    std::erase_if(pending, [](const auto& p) { return p->forks != fork_mutexes::forks(); });
    for (const std::shared_ptr<making>& p : pending)
      if (p->key == key && fits.same(fits.fits, p->fits.fits)) return p;
    return nullptr;
  }
  /// Adds a value and returns it; if there is one that fits, that one.
  std::shared_ptr<void> add(std::uint64_t key, std::shared_ptr<void> value, question fits, place_list& out) {
    if (auto other = found(key, fits)) return other;
    places.push_front({key, value});
    try {
      by_key.emplace(key, places.begin());
    } catch (...) {
      places.pop_front();
      throw;
    }
    shrink(out);
    return value;
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
  std::vector<std::shared_ptr<making>> pending;
};

TOKAMAX_COMPILED_ONCE untyped_cache::untyped_cache() : table_(std::make_unique<table>()) {}
TOKAMAX_COMPILED_ONCE untyped_cache::~untyped_cache() = default;

TOKAMAX_COMPILED_ONCE std::shared_ptr<void> untyped_cache::find(std::uint64_t key, question fits) {
  const std::lock_guard lock(table_->mutex());
  return table_->found(key, fits);
}
TOKAMAX_COMPILED_ONCE std::shared_ptr<void> untyped_cache::find_or_make(std::uint64_t key, question fits, maker make) {
  static constinit thread_local int making_now = 0;  // by this thread, in all caches
  const auto mine = std::make_shared<table::making>(key, fits);
  std::shared_ptr<table::making> other;
  {
    const std::lock_guard lock(table_->mutex());
    if (auto known = table_->found(key, fits)) return known;
    if (making_now == 0) other = table_->made_elsewhere(key, fits);
    if (!other) table_->pending.push_back(mine);
  }
  if (other) {
    other->done.wait(false, std::memory_order_acquire);
    if (other->error) std::rethrow_exception(other->error);
    return other->value;
  }
  table::place_list out;
  ++making_now;
  try {
    mine->value = make.make(make.f);
    const std::lock_guard lock(table_->mutex());
    mine->value = table_->add(key, mine->value, fits, out);
  } catch (...) {
    mine->error = std::current_exception();
  }
  --making_now;
  {
    const std::lock_guard lock(table_->mutex());
    std::erase(table_->pending, mine);
  }
  mine->done.store(true, std::memory_order_release);
  mine->done.notify_all();
  if (mine->error) std::rethrow_exception(mine->error);
  return mine->value;
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
