// tokamax/backend/systolic/fastest_blocks.hpp: ops that are cut into blocks for VMEM, and the cut that is the fastest.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/systolic/fastest_blocks.cpp
#pragma once

#include <tokamax/backend/systolic/matmul.hpp>    // matmul_program
#include <tokamax/backend/systolic/pipeline.hpp>  // run_pipeline
#include <tokamax/backend/systolic/simulate.hpp>  // simulate

#include <algorithm>  // max, min
#include <cmath>      // floor
#include <optional>   // optional
#include <utility>    // move
#include <vector>     // vector

namespace tokamax::systolic_backend {

namespace detail {

/// The fastest of several programs. Those with smaller blocks are tried later, and once one is slower by a quarter, because
/// fixed costs prevail, so are all after it.
class fastest_run {
 public:
  explicit fastest_run(const chip& c) : chip_(c) {}

  /// Is it worth to try smaller blocks?
  bool try_program(const program& p) {
    timeline t = simulate(chip_, p);
    const bool more = !best_ || t.cycles < 1.25 * best_->cycles;
    if (!best_ || t.cycles < best_->cycles) best_ = std::move(t);
    return more;
  }
  timeline best() && { return *std::move(best_); }

 private:
  const chip& chip_;
  std::optional<timeline> best_;
};

constexpr long long most_steps_tried = 1024;  // of a core; more are taken only where VMEM needs them

}  // namespace detail

/// A pipeline over blocks of the bytes that an op reads and writes, in the number of steps that is the fastest. Tried are 1, 2,
/// 3 and so on, and then a quarter more each time, from the first on whose blocks take an eighth of VMEM and 2 MiB at most, so
/// that two buffers and what is computed fit. Chips with less VMEM try some of these numbers, and thus are never faster.
///
/// `compute(program, part, parts, ready)` appends the work of a part of the op, and returns the event after which it is over.
/// Up to `cores` share the steps, which are `most` at most.
template <class Compute>
timeline fastest_stream(const chip& c, int cores, const std::vector<double>& reads, double written, double most,
                        const Compute& compute) {
  double bytes = written;
  for (const double r : reads) bytes += r;
  if (bytes < 1 << 20 || most < cores) cores = 1;  // less is not worth a second core
  const auto last = static_cast<long long>(std::max(1.0, std::floor(most / cores)));
  const double largest = std::min(2.0 * (1 << 20), c.vmem / 8);
  long long steps = 1;
  const auto more_than = [last](long long n) { return std::min(n + std::max(1LL, n / 4), last); };
  while (steps < last && bytes / cores > largest * static_cast<double>(steps)) steps = more_than(steps);
  detail::fastest_run run(c);
  for (bool more = true; more; steps = more_than(steps)) {
    const double parts = static_cast<double>(steps) * cores;
    std::vector<int> numbers(static_cast<std::size_t>(steps));
    for (std::size_t s = 0; s < numbers.size(); ++s) numbers[s] = static_cast<int>(s);
    program p;
    for (int core = 0; core < cores; ++core) {
      std::vector<operand> operands;
      for (const double r : reads)
        if (r > 0) operands.push_back({"in", r / parts, numbers, 2, false});
      operands.push_back({"out", written / parts, numbers, 2, true});
      run_pipeline(p, operands, {core, "op"}, [&](int step, event_id ready) {
        return compute(p, static_cast<double>(core * steps + step), parts, ready);
      });
    }
    more = run.try_program(p) && steps < std::min(last, detail::most_steps_tried);
  }
  return std::move(run).best();
}

/// A product in the blocks that are the fastest of those that fit: equal blocks of whole tiles (less hangs over the edges) of
/// at most 512 x 1024 x 1024, and then with the longest side halved, again and again. Up to `cores` share the rows.
inline timeline fastest_product(const chip& c, int cores, const product_shape& p, element e) {
  const auto equal = [](long long n, long long most, long long unit) {
    return round_up(divide_up(n, divide_up(n, most)), unit);
  };
  const long long lanes = count_of(c.lanes);
  matmul_options o{.block = {equal(p.m, 512, 8), equal(p.k, 1024, lanes), equal(p.n, 1024, lanes)},
                   .type = e,
                   .cores = p.m > 512 ? cores : 1};
  const auto bytes = [&] {
    const product_shape s{std::min(o.block.m, p.m), std::min(o.block.k, p.k), std::min(o.block.n, p.n)};
    const double a = detail::padded_bytes(c, s.m, s.k, e), b = detail::padded_bytes(c, s.k, s.n, e);
    return 2 * (a + b + detail::padded_bytes(c, s.m, s.n, e)) + detail::padded_bytes(c, s.m, s.n, element::f32);
  };
  const auto halve = [&] {
    product_shape& s = o.block;
    long long& longest = s.m >= s.k && s.m >= s.n ? s.m : s.k >= s.n ? s.k : s.n;
    const bool smaller = longest > 8;
    longest = std::max(8LL, longest / 2);
    return smaller;
  };
  while (bytes() > c.vmem && halve()) {}
  const auto steps = [&] {
    return divide_up(p.m, o.block.m) * divide_up(p.k, o.block.k) * divide_up(p.n, o.block.n) / o.cores;
  };
  detail::fastest_run run(c);
  while (run.try_program(matmul_program(c, p, o)) && halve() && steps() <= detail::most_steps_tried) {}
  return std::move(run).best();
}

}  // namespace tokamax::systolic_backend
