// tokamax/backend/cpu/gemm/choose/choice.hpp: several implementations of matrix products, the fastest chosen for each shape.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/cpu/gemm/choose/implementation.hpp>  // gemm_implementation
#include <tokamax/backend/cpu/gemm/choose/key.hpp>             // gemm_key
#include <tokamax/backend/cpu/gemm/choose/openmp_threads.hpp>  // openmp_threads
#include <tokamax/backend/cpu/vector/threads.hpp>              // num_threads
#include <tokamax/base/error.hpp>                              // error
#include <tokamax/core/memory/step_scratch.hpp>                // scratch_memory

#include <fmt/format.h>

#include <algorithm>    // clamp, fill_n, min, none_of, sort
#include <array>        // array
#include <atomic>       // atomic
#include <chrono>       // steady_clock
#include <cstddef>      // ptrdiff_t, size_t
#include <cstdint>      // uintptr_t
#include <deque>        // deque
#include <mutex>        // mutex, lock_guard
#include <string>       // string
#include <string_view>  // string_view
#include <utility>      // move
#include <vector>       // vector

namespace tokamax::cpu_backend {

namespace detail {

/// The shortest seconds in which each of `runs` computes p. They run in turns, on a copy of C with the same alignment.
inline std::vector<double> seconds_of(const gemm_product& p, const std::vector<gemm_fn>& runs) {
  scratch_memory memory;
  gemm_product mine = p;
  const auto floats = (p.m - 1) * p.ldc + p.n;
  mine.c = reinterpret_cast<float*>(memory.grow(static_cast<std::size_t>(floats + 16) * sizeof(float))) +
           reinterpret_cast<std::uintptr_t>(p.c) / sizeof(float) % 16;
  std::fill_n(mine.c, floats, 0.0f);
  constexpr double sample = 2e-4, enough = 0.1, never = 1e30;
  std::vector<double> best(runs.size(), never);
  double spent = 0;
  for (int round = 0; round < 2 || (round < 16 && spent < enough); ++round)
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const int repeats = static_cast<int>(std::clamp(sample / best[i], 1.0, 1000.0));
      const auto begin = std::chrono::steady_clock::now();
      for (int r = 0; r < repeats; ++r) runs[i](mine);
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      spent += seconds;
      if (round > 0) best[i] = std::min(best[i], seconds / repeats);  // the first round warms up
    }
  return best;
}

}  // namespace detail

/// Chooses the implementation of matrix products for each shape: the one that was the fastest when it was measured.
///
/// A process has one such object, `gemm_choices()`. While nothing is added to it, our own code computes all products, and
/// the choice costs one load. With other implementations, the first product of a shape (extents, layouts, dtypes, precision,
/// mode, threads) measures all that can compute it. That takes some 10 ms, and up to 0.1 s or two runs of each for large
/// products. Our code wins ties within 3 %. It always computes products with an epilogue, with a packed matrix, or of an
/// operand without contiguous rows or columns. It also computes products inside of parallel_for whose shape has no choice
/// yet, and shapes beyond the first `most`.
///
/// The price is reproducibility. The bits are those of the chosen implementation. They may depend on the number of threads,
/// and on the run, because measurements do. To get the same bits again, keep the choices: `to_text` in one run, `from_text`
/// and `measure(false)` in the other. To get the last 10 % of speed, register other libraries.
///
/// errors  add, from_text: tokamax::error
class gemm_choice {
 public:
  static constexpr std::size_t most = 2048;           ///< shapes
  static constexpr std::size_t implementations = 8;   ///< others than ours
  static constexpr std::string_view own = "tokamax";  ///< the name of ours in texts

  /// Adds an implementation. Shapes that have a choice keep it.
  void add(const gemm_implementation& other) {
    const std::lock_guard lock(mutex_);
    const std::size_t n = count_.load();
    if (other.name.empty() || other.name.find_first_of(" \t\r\n=#") != other.name.npos)
      throw error("gemm_choice: name", "'" + std::string(other.name) + "'", "a word without = and #");
    if (other.name == own || find_name(other.name) != nullptr)
      throw error("gemm_choice: name", std::string(other.name), "a name that is not taken");
    if (n == implementations)
      throw error(error_kind::resource, "gemm_choice: implementations", std::to_string(n + 1),
                  "at most " + std::to_string(n));
    others_[n] = other;
    count_.store(n + 1);
    detail::gemm_override.store(chosen);
  }

  /// Sets whether shapes without a choice are measured, which is the default, or computed by our code.
  void measure(bool on) noexcept { measures_.store(on); }

  /// Removes all implementations and choices. No product may run at the same time.
  void clear() {
    const std::lock_guard lock(mutex_);
    detail::gemm_override.store(nullptr);
    for (place& s : table_) s.store(nullptr);
    choices_.clear();
    used_.store(0);
    count_.store(0);
    measures_.store(true);
  }

  /// A line for each shape: its key, the implementation chosen, and the GFLOP/s of all that were measured.
  std::string to_text() const {
    const std::lock_guard lock(mutex_);
    std::vector<const choice*> all;
    for (const place& s : table_)
      if (const choice* c = s.load()) all.push_back(c);
    std::sort(all.begin(), all.end(), [](const choice* x, const choice* y) { return x->key < y->key; });
    std::string lines = fmt::format("# {} fastest GFLOP/s\n", detail::gemm_key_columns);
    for (const choice* c : all)
      lines += fmt::format("{} {}{}\n", detail::text(c->key), c->other == nullptr ? own : c->other->name, c->rates);
    return lines;
  }

  /// Reads the choices of a text from `to_text`. They replace those for the same shapes. Implementations must have been added
  /// before. A text with an error changes nothing. `where` is the name of its file, for the message.
  void from_text(std::string_view text, std::string_view where = "text") {
    const std::lock_guard lock(mutex_);
    std::vector<choice> read;
    for (int number = 1; !text.empty(); ++number) {
      const std::string_view line = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(line.size() + 1, text.size()));
      const std::size_t first = line.find_first_not_of(" \t\r");
      if (first != line.npos && line[first] != '#')
        read.push_back(read_choice(detail::line_reader(line, fmt::format("{}, line {}", where, number))));
    }
    std::size_t shapes = used_.load();
    for (const choice& c : read) shapes += place_of(c.key).load() == nullptr;
    if (shapes > most)
      throw error(error_kind::file, "gemm_choice: shapes", std::to_string(shapes), "at most " + std::to_string(most),
                  std::string(where));
    for (choice& c : read) keep(std::move(c));
  }

  friend gemm_choice& gemm_choices() noexcept;

 private:
  struct choice {
    gemm_key key;
    const gemm_implementation* other;  // null for our code
    std::string rates;                 // " name=GFLOP/s" for each implementation that was measured
  };
  using place = std::atomic<const choice*>;

  gemm_choice() = default;

  static bool chosen(const gemm_product& p, detail::gemm_fn own_run);

  bool run(gemm_product p, detail::gemm_fn own_run) {
    if (p.m <= 0 || p.n <= 0 || p.k <= 0) return false;
    if (!detail::straighten(p.a, p.m, p.k) || !detail::straighten(p.b, p.k, p.n)) return false;
    const int threads = num_threads();
    const gemm_key key = detail::key_of(p, threads);
    const choice* c = place_of(key).load();
    if (c == nullptr && measures_.load() && used_.load() < most && !detail::within_loop())
      c = measured(key, p, own_run, threads);
    if (c == nullptr || c->other == nullptr || !c->other->can(p)) return false;
    const detail::openmp_threads limit(threads);
    c->other->run(p);
    return true;
  }

  // Null if no other implementation can compute the product, or if the table is full.
  const choice* measured(const gemm_key& key, const gemm_product& p, detail::gemm_fn own_run, int threads) {
    const auto begin = others_.begin(), end = begin + static_cast<std::ptrdiff_t>(count_.load());
    const auto can = [&](const gemm_implementation& other) { return other.can(p); };
    if (std::none_of(begin, end, can)) return nullptr;
    const std::lock_guard lock(mutex_);  // one measurement at a time
    if (const choice* c = place_of(key).load()) return c;
    if (used_.load() == most) return nullptr;
    std::vector<const gemm_implementation*> who{nullptr};
    std::vector<detail::gemm_fn> runs{own_run};
    for (auto other = begin; other != end; ++other)
      if (can(*other)) {
        who.push_back(&*other);
        runs.push_back(other->run);
      }
    const detail::openmp_threads limit(threads);
    const std::vector<double> seconds = detail::seconds_of(p, runs);
    const double operations = 2.0 * static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k);
    choice c{key, nullptr, {}};
    double best = seconds[0] * 0.97;
    for (std::size_t i = 0; i < who.size(); ++i) {
      c.rates += fmt::format(" {}={:.2f}", i == 0 ? own : who[i]->name, operations / seconds[i] * 1e-9);
      if (i > 0 && seconds[i] < best) best = seconds[i], c.other = who[i];
    }
    return keep(std::move(c));
  }

  choice read_choice(detail::line_reader line) const {
    choice c{detail::read_key(line), nullptr, {}};
    std::string expected = fmt::format("one of {}", own);
    for (std::size_t i = 0, n = count_.load(); i < n; ++i) expected += fmt::format(", {}", others_[i].name);
    const std::string_view name = line.word("fastest", expected);
    c.other = find_name(name);
    if (name != own && c.other == nullptr) line.refuse("fastest", name, expected);
    while (const auto rate = line.word()) {
      const std::size_t equals = rate->find('=');
      if (equals == 0 || equals >= rate->size() - 1 || rate->find_first_not_of("0123456789.", equals + 1) != rate->npos)
        line.refuse("GFLOP/s", *rate, "name=number");
      c.rates += fmt::format(" {}", *rate);
    }
    return c;
  }

  const gemm_implementation* find_name(std::string_view name) const noexcept {
    for (std::size_t i = 0, n = count_.load(); i < n; ++i)
      if (others_[i].name == name) return &others_[i];
    return nullptr;
  }

  // The place of the choice for the key, which may be empty. Half of the table stays empty, so there always is a place.
  place& place_of(const gemm_key& key) noexcept {
    for (std::size_t i = key.hash();; ++i) {
      place& s = table_[i % table_.size()];
      const choice* c = s.load();
      if (c == nullptr || c->key == key) return s;
    }
  }

  // A choice that is replaced stays in the list, because another thread may be reading it.
  const choice* keep(choice c) {
    place& s = place_of(c.key);
    if (s.load() == nullptr) used_.fetch_add(1);
    choices_.push_back(std::move(c));
    s.store(&choices_.back());
    return &choices_.back();
  }

  mutable std::mutex mutex_;  // for writers only; a product with a choice just loads it
  std::array<place, 2 * most> table_{};
  std::deque<choice> choices_;
  std::atomic<std::size_t> used_{0};  // places
  std::array<gemm_implementation, implementations> others_{};
  std::atomic<std::size_t> count_{0};
  std::atomic<bool> measures_{true};
};

/// The choices of this process.
inline gemm_choice& gemm_choices() noexcept {
  static gemm_choice& all = *new gemm_choice;  // never destroyed, because products may run until the program ends
  return all;
}

inline bool gemm_choice::chosen(const gemm_product& p, detail::gemm_fn own_run) {
  return gemm_choices().run(p, own_run);
}

}  // namespace tokamax::cpu_backend

namespace tokamax::blas {
/// The implementations of products of this process, the fastest of which each product gets.
inline cpu_backend::gemm_choice& choices() noexcept { return cpu_backend::gemm_choices(); }
}  // namespace tokamax::blas
