// tokamax/optim/microbatching.hpp: functions of batches that run on a part at a time, to save memory.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs use it)
#pragma once

#include <tokamax/lax/reduce.hpp>                    // sum
#include <tokamax/lax/shapes/transpose.hpp>          // transpose
#include <tokamax/numpy/statistics.hpp>              // mean
#include <tokamax/transforms/control_flow/scan.hpp>  // scan
#include <tokamax/transforms/eval_shape.hpp>         // eval_shape
#include <tokamax/transforms/grad.hpp>               // value_and_grad
#include <tokamax/transforms/vmap.hpp>               // vmap

#include <utility>  // pair

namespace tokamax::optim {

/// What becomes of the results of the parts: their sum, their mean, or one behind the other.
/// source  optax.microbatching.AccumulationType
enum class accumulation { sum, mean, concat };

/// Leaves [n size, ...] as [n, size, ...]. Part k has the elements k, k + n, k + 2 n and so on.
/// errors  "microbatch: batch" whose leading extent is no multiple of `size`
/// source  optax.microbatching.reshape_batch_axis
template <class Tree>
constexpr Tree reshape_batch_axis(const Tree& batch, std::int64_t size, source_line l = source_line::current()) {
  return tree_map(
      [&](const array& x) {
        if (x.rank() == 0 || size < 1 || x.extent(0) % size != 0) {
          reject(x, l, "microbatch: batch", x.type(), message("a leading multiple of ") << size);
          return x;
        }
        shape s{size, x.extent(0) / size};
        axes order{1, 0};
        for (int i = 1; i < x.rank(); ++i) s.push_back(x.extent(i)), order.push_back(i + 1);
        return transpose(reshape(x, s), order);
      },
      batch);
}

namespace detail {
/// [n, size, ...] as [n size, ...]: the reverse of reshape_batch_axis.
template <class Tree>
constexpr Tree merged_parts(const Tree& parts) {
  return tree_map(
      [](const array& x) {
        axes order{1, 0};
        shape s{x.extent(0) * x.extent(1)};
        for (int i = 2; i < x.rank(); ++i) order.push_back(i), s.push_back(x.extent(i));
        return reshape(transpose(x, order), s);
      },
      parts);
}
/// Runs f(params, part) -> pair{added, kept} over the parts: the sum of what is added, and what is kept, stacked.
template <class F, class Params, class Batch>
constexpr auto over_parts(const F& f, const Params& params, const Batch& parts) {
  const Batch first = tree_map([](const array& x) { return squeeze(slice_in_dim(x, 0, 1, 0), 0); }, parts);
  const auto types = eval_shape([&](const Params& p, const Batch& b) { return f(p, b).first; }, params, first);
  const auto none = tree_map([](const array& t) { return zeros(t.shape(), t.dtype()); }, types);
  using sums = std::remove_cvref_t<decltype(none)>;
  return scan(
      [&](const sums& total, const Batch& part) {
        auto [added, kept] = f(params, part);
        return std::pair{tree_map([](const array& t, const array& a) { return t + a; }, total, added), kept};
      },
      none, parts);
}
template <class Tree>
constexpr Tree divided_by(const Tree& t, double n) {
  return tree_map([&](const array& x) { return x / n; }, t);
}
constexpr double part_count(const auto& parts) {
  double n = 1;
  for_each_leaf([&](const array& x) { n = static_cast<double>(x.extent(0)); }, parts);
  return n;
}
struct nothing_kept {};
}  // namespace detail

/// f(params, batch), computed on `size` examples at a time: the sum or the mean of the results, or these behind one another.
/// source  optax.microbatching.microbatch
template <class F>
constexpr auto microbatch(F f, std::int64_t size, accumulation how = accumulation::sum,
                          source_line l = source_line::current()) {
  return [f, size, how, l]<class Params, class Batch>(const Params& params, const Batch& batch) {
    const Batch parts = reshape_batch_axis(batch, size, l);
    using result = std::remove_cvref_t<decltype(f(params, batch))>;
    if (how == accumulation::concat) {
      const auto keep = [&](const Params& p, const Batch& b) {
        return std::pair<detail::nothing_kept, result>{{}, f(p, b)};
      };
      return detail::merged_parts(detail::over_parts(keep, params, parts).second);
    }
    const auto add = [&](const Params& p, const Batch& b) {
      return std::pair<result, detail::nothing_kept>{f(p, b), {}};
    };
    const result total = detail::over_parts(add, params, parts).first;
    if (how == accumulation::mean) return detail::divided_by(total, detail::part_count(parts));
    return total;
  };
}
/// f(params, example) for each example of a batch, `size` of them at a time.
/// source  optax.microbatching.micro_vmap
template <class F>
constexpr auto micro_vmap(F f, std::int64_t size, accumulation how = accumulation::concat,
                          source_line l = source_line::current()) {
  const auto each = [f, how]<class Params, class Batch>(const Params& params, const Batch& batch) {
    const auto one = [&](const Params& p, const Batch& b) { return f(p, b); };
    const auto all = vmap(one, std::tuple{not_mapped, 0})(params, batch);
    return tree_map(
        [&](const array& x) {
          if (how == accumulation::sum) return sum(x, {.axis = {0}});
          if (how == accumulation::mean) return mean(x, {.axis = {0}});
          return x;
        },
        all);
  };
  return microbatch(each, size, how, l);
}

/// The sum over examples of transform(gradient of loss(params, example)), `size` examples at a time, and the losses of all
/// examples: pair{gradients, [examples]}. `transform` may clip the gradients of each example.
/// source  optax.microbatching.micro_grad
template <class Loss, class Transform>
constexpr auto micro_grad(Loss loss, std::int64_t size, Transform transform, source_line l = source_line::current()) {
  return [loss, size, transform, l]<class Params, class Batch>(const Params& params, const Batch& batch) {
    using found = std::pair<Params, array>;
    const auto one = [&](const Params& p, const Batch& b) -> found {
      const auto [value, slope] = value_and_grad([&](const Params& q) { return array(loss(q, b)); })(p);
      return {transform(slope), value};
    };
    const auto part = [&](const Params& p, const Batch& b) -> found {
      found all = vmap(one, std::tuple{not_mapped, 0})(p, b);
      return {tree_map([](const array& x) { return sum(x, {.axis = {0}}); }, all.first), all.second};
    };
    auto [total, values] = detail::over_parts(part, params, reshape_batch_axis(batch, size, l));
    return found{std::move(total), detail::merged_parts(values)};
  };
}
template <class Loss>
constexpr auto micro_grad(Loss loss, std::int64_t size, source_line l = source_line::current()) {
  return micro_grad(loss, size, [](const auto& g) { return g; }, l);
}

}  // namespace tokamax::optim
