// tokamax/runtime/run/runner_pool.hpp: idle runs of a program, each laid out for the dynamic extents that it had last.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/runtime/symbolic.cpp
#pragma once

#include <tokamax/runtime/program/program_cache.hpp>  // program_cache, running_hash
#include <tokamax/runtime/run/program_run.hpp>        // program_run

#include <algorithm>  // copy_n, equal
#include <memory>     // shared_ptr, unique_ptr

namespace tokamax::detail {

/// The idle runs of a program, found by the values of its dynamic extents. Runs for the last `most_layouts` values stay laid
/// out. Threads may share the pool.
class runner_pool {
 public:
  static constexpr std::size_t most_layouts = 64;
  using layout = idle_list<program_run>;

  /// `like` never runs itself, and must live as long as the pool.
  runner_pool(const executable& like, bool dynamic);

  /// A run, and the list to which it returns.
  struct loan {
    std::shared_ptr<layout> home;  ///< null for `only`
    layout* idle_runs = nullptr;
    std::unique_ptr<program_run> run;
  };
  loan take(const std::int64_t* symbols);
  /// For how many different values of the extents runs are kept.
  std::size_t layouts() const { return by_symbols_ ? by_symbols_->size() : 1; }

 private:
  struct known_layout : layout {
    std::int64_t symbols[max_symbols];
  };
  struct of_symbols {
    const std::int64_t* values;
    bool operator()(const known_layout& known) const { return std::equal(values, values + max_symbols, known.symbols); }
    bool same(const of_symbols& others) const { return std::equal(values, values + max_symbols, others.values); }
  };
  const executable& like_;
  layout only_;                                              ///< for a program without dynamic extents
  std::unique_ptr<program_cache<known_layout>> by_symbols_;  ///< for a program with dynamic extents
};

#if defined(TOKAMAX_COMPILED_ONCE)
TOKAMAX_COMPILED_ONCE runner_pool::runner_pool(const executable& like, bool dynamic) : like_(like) {
  if (!dynamic) return;
  by_symbols_ = std::make_unique<program_cache<known_layout>>();
  by_symbols_->set_capacity(most_layouts);
}
TOKAMAX_COMPILED_ONCE runner_pool::loan runner_pool::take(const std::int64_t* symbols) {
  loan l{nullptr, &only_, nullptr};
  if (by_symbols_) {
    running_hash key;
    for (int s = 0; s < max_symbols; ++s) key.add(symbols[s]);
    std::shared_ptr<known_layout> known = by_symbols_->find_or_make(key.value(), of_symbols{symbols}, [&] {
      auto made = std::make_shared<known_layout>();
      std::copy_n(symbols, max_symbols, made->symbols);
      return made;
    });
    l.idle_runs = known.get();
    l.home = std::move(known);
  }
  l.run = l.idle_runs->take();
  if (!l.run) l.run = std::make_unique<program_run>(like_);
  if (by_symbols_) l.run->resize(symbols);
  return l;
}
#endif

}  // namespace tokamax::detail
