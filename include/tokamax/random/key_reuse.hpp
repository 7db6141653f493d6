// tokamax/random/key_reuse.hpp: a debug mode that finds keys which are used twice.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/random/key.cpp
#pragma once

#include <tokamax/base/compiled_once.hpp>  // TOKAMAX_COMPILED_ONCE
#include <tokamax/core/array.hpp>          // array
#include <tokamax/core/context.hpp>        // context_part
#include <tokamax/core/graph.hpp>          // location

#include <memory>  // shared_ptr
#include <mutex>   // lock_guard
#include <string>  // string, to_string
#include <vector>  // vector

namespace tokamax::random {

/// The keys that were used under one check. Several threads may use keys.
class used_keys {
 public:
  /// errors  "key reuse"
  void note(const array& keys, location where);
  /// Nobody watches any more.
  void end() {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }

 private:
  struct used_key {
    std::uint64_t trace, value;  ///< the number of the trace and of the node in it; or 0 and the words
    location where;
    bool operator<(const used_key& o) const { return trace < o.trace || (trace == o.trace && value < o.value); }
  };
  void note(const used_key& key);

  std::mutex mutex_;
  bool ended_ = false;
  std::vector<used_key> used_;  // in order
};

/// While one lives, a second use of a key on its thread, or in work that it gives to others (see with_context), throws an error that names both places: samples of one key are not
/// independent, and two calls of the same sampler give the same numbers.
///
///   const random::key_reuse_check watch;
///   auto x = random::normal(k, {3});  // line 10
///   auto y = random::normal(k, {3});  // "key reuse: found a key that model.cpp:10 used, expected one of split or fold_in"
///
/// Drawing numbers and `split` use a key; fold_in does not, as in JAX, since each of its numbers gives another key. Keys with
/// data count by their value. A key in a function that is traced at run time counts within that trace, where the body of a
/// loop is traced once. Programs that are known while compiling are not watched.
///
/// errors  "key reuse"
/// source  jax.experimental.key_reuse, jax_debug_key_reuse
class key_reuse_check {
 public:
  key_reuse_check() = default;
  ~key_reuse_check() { used_->end(); }
  key_reuse_check(const key_reuse_check&) = delete;
  key_reuse_check& operator=(const key_reuse_check&) = delete;

  /// Notes that `keys` [..., 2] are used at `where`.
  static constexpr void use(const array& keys, source_line where) {
    if (std::is_constant_evaluated()) return;
    if (current_context.keys) (*current_context.keys)->note(keys, where);
  }

 private:
  std::shared_ptr<used_keys> used_ = std::make_shared<used_keys>();
  context_part<&context::keys> scope_{&used_};
};

#if defined(TOKAMAX_COMPILED_ONCE)
TOKAMAX_COMPILED_ONCE void used_keys::note(const array& keys, location where) {
  if (const graph* const g = keys.trace()) {
    if (g->life.number() != 0) note({g->life.number(), static_cast<std::uint64_t>(keys.id()), where});
  } else if (!keys.is_abstract() && keys.dtype() == u32) {
    const array dense = keys;  // a copy, because a literal gets its data here
    const auto words = dense.values<std::uint32_t>();
    for (std::size_t i = 0; i + 1 < words.size(); i += 2)
      note({0, std::uint64_t{words[i]} << 32 | words[i + 1], where});
  }
}
TOKAMAX_COMPILED_ONCE void used_keys::note(const used_key& key) {
  const std::lock_guard lock(mutex_);
  if (ended_) return;
  std::size_t at = 0;  // the first key that is not before this one
  for (std::size_t end = used_.size(); at < end;) {
    const std::size_t middle = at + (end - at) / 2;
    if (used_[middle] < key)
      at = middle + 1;
    else
      end = middle;
  }
  if (at < used_.size() && !(key < used_[at])) {
    const auto text = [](location l) { return std::string(l.file) + ":" + std::to_string(l.line); };
    throw error("key reuse", "a key that " + text(used_[at].where) + " used", "one of split or fold_in",
                text(key.where));
  }
  used_.insert(used_.begin() + static_cast<std::ptrdiff_t>(at), key);
}
#endif

}  // namespace tokamax::random
