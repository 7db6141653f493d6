// tokamax/runtime/program_cache.hpp: the programs that were used last, found in constant time.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/runtime/dynamic_program.cpp
#pragma once

#include <tokamax/core/fork_mutexes.hpp>  // fork_mutexes

#include <cstdint>        // uint64_t
#include <iterator>       // prev
#include <list>           // list
#include <memory>         // shared_ptr
#include <mutex>          // lock_guard
#include <unordered_map>  // unordered_multimap
#include <utility>        // move

namespace tokamax::detail {

/// Values by key, at most `capacity` of them: another one takes the place of the one that was found longest ago. A value
/// that is in use stays until its user lets go of it. Threads may share a cache.
template <class Value>
class program_cache {
 public:
  static constexpr std::size_t default_capacity = 256;

  program_cache() = default;
  program_cache(const program_cache&) = delete;

  /// The value of this key for which fits(value), or null.
  template <class Fits>
  std::shared_ptr<Value> find(std::uint64_t key, Fits fits) {
    const std::lock_guard lock(mutex());
    return found(key, fits);
  }
  /// Adds a value, unless another thread has added one that fits meanwhile: that is returned then.
  template <class Fits>
  std::shared_ptr<Value> add(std::uint64_t key, std::shared_ptr<Value> value, Fits fits) {
    std::list<place> out;
    const std::lock_guard lock(mutex());
    if (auto other = found(key, fits)) return other;
    places_.push_front({key, value});
    try {
      by_key_.emplace(key, places_.begin());
    } catch (...) {
      places_.pop_front();
      throw;
    }
    shrink(out);
    return value;
  }
  void set_capacity(std::size_t most) {
    std::list<place> out;
    const std::lock_guard lock(mutex());
    capacity_ = most > 0 ? most : 1;
    shrink(out);
  }
  void clear() { std::list<place> out = taken(); }
  std::size_t size() const {
    const std::lock_guard lock(mutex());
    return places_.size();
  }

 private:
  struct place {
    std::uint64_t key;
    std::shared_ptr<Value> value;
  };
  using place_of = typename std::list<place>::iterator;

  std::mutex& mutex() const { return fork_mutexes::of(this); }
  template <class Fits>
  std::shared_ptr<Value> found(std::uint64_t key, Fits fits) {
    for (auto [at, end] = by_key_.equal_range(key); at != end; ++at)
      if (fits(*at->second->value)) {
        places_.splice(places_.begin(), places_, at->second);
        return at->second->value;
      }
    return nullptr;
  }
  /// Moves what is too much to `out`, whose owner destroys it when the mutex is free again.
  void shrink(std::list<place>& out) noexcept {
    while (places_.size() > capacity_) {
      const place_of last = std::prev(places_.end());
      for (auto [at, end] = by_key_.equal_range(last->key); at != end; ++at)
        if (at->second == last) {
          by_key_.erase(at);
          break;
        }
      out.splice(out.end(), places_, last);
    }
  }
  std::list<place> taken() {
    const std::lock_guard lock(mutex());
    by_key_.clear();
    return std::move(places_);
  }

  std::size_t capacity_ = default_capacity;
  std::list<place> places_;  // the one that was used last comes first
  std::unordered_multimap<std::uint64_t, place_of> by_key_;
};

}  // namespace tokamax::detail
