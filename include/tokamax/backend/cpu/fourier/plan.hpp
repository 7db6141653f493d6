// tokamax/backend/cpu/fourier/plan.hpp: how a Fourier transform of some length is computed, and the roots of one that it needs.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/lax/fourier/fft.cpp
#pragma once

#include <tokamax/backend/cpu/fourier/passes.hpp>  // largest_factor

#include <cmath>    // cos, sin
#include <complex>  // complex
#include <cstdint>  // int64_t
#include <map>      // map
#include <memory>   // shared_ptr
#include <mutex>    // mutex
#include <utility>  // pair
#include <vector>   // vector

namespace tokamax::cpu_backend::fourier {

/// e^(-2 pi i j / n) for 0 <= j < n, to the last digit: the angles are at most a quarter of pi.
inline std::complex<double> root_of_one(std::int64_t j, std::int64_t n) {
  // The eighth of the circle that the angle is in, and the angle from the nearest axis.
  const std::int64_t eighth = 8 * j / n, axis = (eighth + 1) / 2;
  const double angle = 2 * 3.14159265358979323846 * static_cast<double>(4 * j - axis * n) / static_cast<double>(4 * n);
  const double c = std::cos(angle), s = std::sin(angle);
  constexpr double cosine[] = {1, 0, -1, 0}, sine[] = {0, 1, 0, -1};
  return {cosine[axis % 4] * c - sine[axis % 4] * s, -(sine[axis % 4] * c + cosine[axis % 4] * s)};
}

/// One pass: x [radix, m, s] -> y [m, radix, s].
struct step {
  std::int64_t radix, m, s;
  std::size_t turns, roots = 0;  ///< where its numbers begin in the table
};

/// Radixes whose product is n, or none if n has a large prime factor. An 8 is the last one, which has no turns.
inline std::vector<std::int64_t> radixes_of(std::int64_t n) {
  std::vector<std::int64_t> found;
  for (std::int64_t r = 3; r <= largest_factor; r += 2)
    for (; n % r == 0; n /= r) found.push_back(r);
  for (; n % 4 == 0 && n != 8; n /= 4) found.push_back(4);
  if (n == 2 || n == 8) found.push_back(n), n = 1;
  return n == 1 ? found : std::vector<std::int64_t>{};
}

/// How transforms of length n are computed.
///
/// If n is a multiple of the square of the lanes, each row is transformed by itself, from a first pass that leaves
/// [n / lanes, lanes] on. Otherwise each lane has a row. Lengths with a large prime factor go Bluestein's way: a
/// convolution of a power of two, with rows by themselves.
template <class T>
struct plan {
  static constexpr auto lanes_of_a_row = static_cast<std::int64_t>(xsimd::batch<T>::size);

  std::int64_t n;
  bool by_itself = false;  ///< has it a first pass?
  std::vector<step> steps;
  std::vector<T> table;               ///< turns and roots
  std::shared_ptr<const plan> inner;  ///< the transform of the convolution
  std::vector<T> chirp, filter;       ///< [n, 2] e^(-pi i j^2 / n), [2, inner->n]
  std::vector<T> real_turns;          ///< [2, n / 2] e^(-pi i k / n) for k from 1 on: what 2 n real numbers need

  /// With `alone` false, each lane has a row, whatever the length is.
  explicit plan(std::int64_t length, bool alone = true)
      : n(length), by_itself(alone && length % (lanes_of_a_row * lanes_of_a_row) == 0) {
    std::int64_t rest = n, s = lanes_of_a_row;
    if (by_itself) add_first(), add_real_turns(), rest /= lanes_of_a_row;
    const auto radixes = radixes_of(rest);
    if (radixes.empty() && rest > 1) {
      by_itself = true;
      table.clear(), real_turns.clear();
      add_convolution();
      return;
    }
    for (const std::int64_t r : radixes) {
      rest /= r;
      steps.push_back({r, rest, s, table.size()});
      for (std::int64_t p = 0; p < rest; ++p)
        for (std::int64_t k = 1; k < r; ++k) add(root_of_one(p * k, r * rest));
      if (r > 5 && r != 8) {
        steps.back().roots = table.size();
        for (std::int64_t j = 0; j < r; ++j) add(root_of_one(j, r));
      }
      s *= r;
    }
  }

 private:
  void add(std::complex<double> v) {
    table.push_back(static_cast<T>(v.real())), table.push_back(static_cast<T>(v.imag()));
  }
  void add_first() {
    const std::int64_t w = lanes_of_a_row;
    for (std::int64_t p = 0; p < n / w; p += w)
      for (std::int64_t k = 1; k < w; ++k)
        for (const bool imaginary : {false, true})
          for (std::int64_t i = 0; i < w; ++i) {
            const auto v = root_of_one((p + i) * k, n);
            table.push_back(static_cast<T>(imaginary ? v.imag() : v.real()));
          }
  }
  void add_real_turns() {
    for (const bool imaginary : {false, true})
      for (std::int64_t k = 1; k <= n / 2; ++k) {
        const auto v = root_of_one(k, 2 * n);
        real_turns.push_back(static_cast<T>(imaginary ? v.imag() : v.real()));
      }
  }
  void add_convolution();
};

/// The plan of a length, which is made once. Plans of more than 2^22 numbers in all are dropped and made again.
template <class T>
std::shared_ptr<const plan<T>> plan_of(std::int64_t n, bool alone = true) {
  struct cache {
    std::mutex mutex;
    std::map<std::pair<std::int64_t, bool>, std::shared_ptr<const plan<T>>> plans;
    std::int64_t numbers = 0;
  };
  static cache& all = *new cache;  // programs that end may still run
  {
    const std::lock_guard lock(all.mutex);
    if (const auto found = all.plans.find({n, alone}); found != all.plans.end()) return found->second;
  }
  auto made = std::make_shared<const plan<T>>(n, alone);
  const std::lock_guard lock(all.mutex);
  if (all.numbers > std::int64_t{1} << 22) all.plans.clear(), all.numbers = 0;
  all.numbers += static_cast<std::int64_t>(made->table.size() + made->chirp.size() + made->filter.size() +
                                           made->real_turns.size());
  return all.plans.emplace(std::pair(n, alone), std::move(made)).first->second;
}

}  // namespace tokamax::cpu_backend::fourier
