// tokamax/nn/metrics.hpp: averages over many batches, as values that a program carries.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs use it)
#pragma once

#include <tokamax/base/tree.hpp>         // for_each_record_with_path
#include <tokamax/lax/reduce.hpp>        // argmax
#include <tokamax/nn/statistic.hpp>      // statistic
#include <tokamax/numpy/statistics.hpp>  // mean

#include <string>       // string
#include <string_view>  // string_view
#include <utility>      // pair
#include <vector>       // vector

namespace tokamax::nn {

namespace detail {
/// The elements of x that count: `mask` in the shape of x, as f32.
constexpr array weights_of(const array& x, const array& mask, source_line l) {
  if (!mask.exists()) return ones(x.shape());
  return broadcast_to(astype(mask, f32, l), x.shape(), l);
}
}  // namespace detail

/// The mean of all numbers that it has seen; NaN if there were none. A metric is a value of arrays: a step takes it and returns it
/// beside its results, and several are a struct of them.
///
///   struct metrics { nn::average loss; nn::accuracy accuracy; };
///   m.loss.update(losses, mask);      // with a mask, only elements where it is true count
///   m.accuracy.update(logits, labels);
///   m.loss.compute()
///   m = {};                           // from the beginning
///
/// source  flax.nnx.metrics.Average, MultiMetric
struct average {
  statistic total = zeros({}), count = zeros({}, i32);

  /// shapes  values [...], mask broadcasts to it
  constexpr void update(const array& values, const array& mask = {}, source_line l = source_line::current()) {
    const array weights = detail::weights_of(values, mask, l);
    const array counted = select(weights > 0, astype(values, f32, l), zeros(values.shape()), l);
    total = total + sum(counted);
    count = count + astype(sum(weights), i32);
  }
  constexpr array compute() const { return total / astype(count, f32); }
};

/// The share of right answers: the largest score stands at the label, or, for two classes with one score, the score is at least
/// `threshold` where the label is above 0, and only there.
/// source  flax.nnx.metrics.Accuracy
struct accuracy {
  average right;
  double threshold = 0.5;

  /// shapes  logits [..., classes], labels [...], mask [...]
  /// dtypes  labels of integers
  /// errors  "accuracy: labels" of another shape or of floats
  constexpr void update(const array& logits, const array& labels, const array& mask = {},
                        source_line l = source_line::current()) {
    if (!fit(logits, labels, 1, l)) return;
    right.update(astype(argmax(logits, -1, l) == labels, f32), mask, l);
  }
  /// shapes  scores [...], labels [...], mask [...]
  constexpr void update_binary(const array& scores, const array& labels, const array& mask = {},
                               source_line l = source_line::current()) {
    if (!fit(scores, labels, 0, l)) return;
    right.update(astype((scores >= threshold) == (labels > 0), f32), mask, l);
  }
  constexpr array compute() const { return right.compute(); }

 private:
  static constexpr bool fit(const array& scores, const array& labels, int classes, source_line l) {
    bool ok = !is_floating(labels.dtype()) && scores.rank() == labels.rank() + classes;
    for (int i = 0; ok && i < labels.rank(); ++i) ok = scores.extent(i) == labels.extent(i);
    if (!ok) {
      const array both[] = {scores, labels};
      reject(both, 2, l, "accuracy: labels", labels.type(),
             message("integers, one for each answer of ") << scores.type());
    }
    return ok;
  }
};

/// What `welford` knows.
struct statistics {
  array mean, standard_error_of_mean, standard_deviation;
};

/// The mean and the standard deviation of all numbers that it has seen, in one pass that keeps its digits where the mean is large
/// beside the deviation; NaN if there were none.
/// source  flax.nnx.metrics.Welford; Chan, Golub, LeVeque 1983
struct welford {
  statistic count = zeros({}), mean = zeros({}), m2 = zeros({});  ///< m2: the sum of squares of distances from the mean

  /// shapes  values [...], mask broadcasts to it
  constexpr void update(const array& values, const array& mask = {}, source_line l = source_line::current()) {
    const array weights = detail::weights_of(values, mask, l);
    const array seen = astype(values, f32, l), n = sum(weights), some = maximum(n, 1.0), all = maximum(count + n, 1.0);
    // Distances from one of the numbers are small, so their sums are exact where those of the numbers are not.
    const array near = select(weights > 0, seen, full(seen.shape(), -std::numeric_limits<float>::infinity()), l);
    const array origin = values.size() == 0 ? zeros({}) : select(n > 0, max(near), zeros({}));
    const array distance = select(weights > 0, seen - origin, zeros(seen.shape()), l);
    const array inner = sum(distance) / some;
    const array squares = sum(select(weights > 0, square(distance - inner), zeros(seen.shape()), l));
    const array delta = origin - mean + inner;
    m2 = m2 + squares + (delta * (count / all)) * (delta * n);
    mean = mean + delta * n / all;
    count = count + n;
  }
  constexpr statistics compute() const {
    const array none = full({}, std::numeric_limits<float>::quiet_NaN());
    const array deviation = select(count > 0, sqrt(m2 / count), none);
    return {select(count > 0, mean, none), deviation / sqrt(count), deviation};
  }
};

/// Has T a result of what it has seen? A metric is any struct with `compute`, and `update` with arguments of its own.
/// source  flax.nnx.metrics.Metric
template <class T>
concept metric = requires(const T& m) { m.compute(); };

/// The results of all metrics of a struct with their paths: "loss", "right", and for a welford `spread` "spread.mean" and two others.
///
///   for (const auto& [name, value] : nn::results_of(m)) fmt::print("{} {}\n", name, value.item());
///
/// source  the dict of flax.nnx.metrics.MultiMetric.compute
template <class Metrics>
constexpr std::vector<std::pair<std::string, array>> results_of(const Metrics& metrics) {
  std::vector<std::pair<std::string, array>> found;
  std::string above = "";
  bool within = false;  // a metric, whose own fields may be metrics, as in `accuracy`
  for_each_record_with_path(
      [&]<class Record>(std::string_view path, const Record& record) {
        if constexpr (metric<Record>) {
          if (within && (path.starts_with(above + ".") || above.empty())) return;
          within = true;
          above = path;
          for_each_leaf_with_path(
              [&](std::string_view part, const array& value) {
                found.emplace_back(above + (above.empty() || part.empty() ? "" : ".") + std::string(part), value);
              },
              record.compute());
        }
      },
      metrics);
  return found;
}

}  // namespace tokamax::nn
