// tokamax/runtime/runner_pool.hpp: copies of an executable, each for one run at a time, laid out for the extents it ran with.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/runtime/symbolic.cpp
#pragma once

#include <tokamax/runtime/executable.hpp>     // executable
#include <tokamax/runtime/idle_list.hpp>      // idle_list
#include <tokamax/runtime/program_cache.hpp>  // program_cache, running_hash

#include <memory>  // shared_ptr, unique_ptr

namespace tokamax::detail {

/// The copies of a program that its runs use, found by the values of its dynamic extents: those of the last
/// `most_layouts` values stay laid out. Threads may share it.
class runner_pool {
 public:
  static constexpr std::size_t most_layouts = 64;

  /// `like` is not run itself, and lives as long.
  runner_pool(const executable& like, bool dynamic);

  struct runner : idle {
    explicit runner(const executable& like) : code(like) {}
    executable code;
  };
  struct layout {
    std::int64_t symbols[max_symbols];
    idle_list<runner> idle_runners;
  };
  /// A copy to run, until it is given back.
  struct loan {
    std::shared_ptr<layout> home;
    std::unique_ptr<runner> one;
  };
  loan take(const std::int64_t* symbols);
  static void give(loan l) { l.home->idle_runners.give(std::move(l.one)); }
  /// For how many values of the extents copies are kept.
  std::size_t layouts() const { return by_symbols_ ? by_symbols_->size() : 1; }

 private:
  const executable& like_;
  std::shared_ptr<layout> only_;                       ///< of a program without dynamic extents
  std::unique_ptr<program_cache<layout>> by_symbols_;  ///< of the others
};

#if defined(TOKAMAX_COMPILED_ONCE)
TOKAMAX_COMPILED_ONCE runner_pool::runner_pool(const executable& like, bool dynamic) : like_(like) {
  if (dynamic) {
    by_symbols_ = std::make_unique<program_cache<layout>>();
    by_symbols_->set_capacity(most_layouts);
  } else {
    only_ = std::make_shared<layout>();
  }
}
TOKAMAX_COMPILED_ONCE runner_pool::loan runner_pool::take(const std::int64_t* symbols) {
  loan l{only_, nullptr};
  if (by_symbols_) {
    running_hash key;
    for (int s = 0; s < max_symbols; ++s) key.add(symbols[s]);
    const auto fits = [&](const layout& known) { return std::equal(symbols, symbols + max_symbols, known.symbols); };
    l.home = by_symbols_->find(key.value(), fits);
    if (!l.home) {
      auto made = std::make_shared<layout>();
      std::copy_n(symbols, max_symbols, made->symbols);
      l.home = by_symbols_->add(key.value(), std::move(made), fits);
    }
  }
  l.one = l.home->idle_runners.take();
  if (!l.one) l.one = std::make_unique<runner>(like_);
  if (by_symbols_) l.one->code.resize(symbols);
  return l;
}
#endif

}  // namespace tokamax::detail
