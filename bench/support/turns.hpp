// bench/support/turns.hpp: functions that peers measure too: their data, how they run, and answers in turns with the peers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/tokamax.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

namespace bench {

namespace tk = tokamax;
using array_list = std::vector<tk::array>;
/// Its type is the same for all functions, so that a program compiles once what runs them.
using function = std::function<array_list(const array_list&)>;

/// What stands for chance in element i of operand k: 32 bits, of which bench/peers/ops_data.py makes the same.
inline std::uint32_t hash(std::uint32_t i, std::uint32_t k) {
  std::uint32_t h = i * 0x9E3779B9u + (k + 1) * 0x85EBCA6Bu;
  h = (h ^ (h >> 16)) * 0x7FEB352Du;
  h = (h ^ (h >> 15)) * 0x846CA68Bu;
  return h ^ (h >> 16);
}
/// Element i of operand k: a number between -sqrt(0.75) and sqrt(0.75), so that the standard deviation is a half.
inline float uniform(std::uint32_t i, std::uint32_t k) {
  return (static_cast<float>(hash(i, k) >> 8) / 16777216.0f - 0.5f) * 1.7320508f;
}
template <class T = float, class Value>
tk::array filled(const tk::shape& s, tk::dtype type, Value value) {
  tk::array x = tk::zeros(s, type);
  T* const data = x.mutable_data<T>();
  for (std::int64_t i = 0; i < x.size(); ++i) data[i] = static_cast<T>(value(static_cast<std::uint32_t>(i)));
  return x;
}
inline tk::array uniform_array(const tk::shape& s, std::uint32_t k) {
  return filled(s, tk::f32, [&](std::uint32_t i) { return uniform(i, k); });
}
inline tk::array numbers_below(std::int64_t end, std::int64_t count) {
  return filled<std::int32_t>({count}, tk::i32, [&](std::int64_t i) { return i * 7919 % end; });
}
/// Numbers below `end` in no order.
inline tk::array mixed_numbers_below(std::int64_t end, const tk::shape& s, std::uint32_t k) {
  return filled<std::int32_t>(s, tk::i32, [&](std::uint32_t i) { return (hash(i, k) >> 8) % end; });
}

/// A function that is ready to run on its operands.
class ready_function {
 public:
  ready_function(const function& f, const array_list& in, std::int64_t arena_bytes = 0, bool checks_integers = false)
      : arena_bytes_(arena_bytes), checks_integers_(checks_integers) {
    run_ = [g = tk::jit([f](const array_list& x) { return f(x); }, tk::cpu, tk::at_run_time), in] {
      array_list y = g(in);
      tk::block_until_ready(y);
      return y;
    };
  }
  void run() const { run_(); }
  /// The bytes of intermediate values.
  std::int64_t arena_bytes() const { return arena_bytes_; }
  /// The mean magnitude of each result, summed; of results of floats alone, unless `checks_integers`.
  double mean() const {
    double total = 0;
    for (const tk::array& y : run_())
      if (checks_integers_ || tk::is_floating(y.dtype()))
        total += tk::mean(tk::abs(tk::astype(y, tk::f32))).item<float>();
    return total;
  }
  double median_seconds_of(int runs) const {
    std::vector<double> seconds;
    for (int i = 0; i < runs; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      run();
      seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    std::sort(seconds.begin(), seconds.end());
    return seconds[seconds.size() / 2];
  }

 private:
  std::function<array_list()> run_;
  std::int64_t arena_bytes_;
  bool checks_integers_;
};

/// Reads lines "RUNS CASE" and answers "MEDIAN_SECONDS MEAN ARENA_BYTES"; `make` makes the function of a case.
template <class Make>
void serve(Make make) {
  std::string last, line;
  std::optional<ready_function> f;
  double mean = 0;
  for (int runs = 0; std::cin >> runs && std::getline(std::cin >> std::ws, line);) {
    if (line != last) {
      f.reset(), f.emplace(make(last = line));
      mean = f->mean();
    }
    const double seconds = f->median_seconds_of(runs);
    std::cout << seconds << ' ' << mean << ' ' << f->arena_bytes() << std::endl;
  }
}

}  // namespace bench
