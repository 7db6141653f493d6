// tokamax/backend/cpu/attention/bias_cotangent.hpp: the cotangent of the bias of attention, summed in a fixed order.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/cpu/attention/visible.hpp>  // pair_block
#include <tokamax/backend/cpu/vector/threads.hpp>     // parallel_for, scratch

namespace tokamax::cpu_backend::detail {

/// Which key heads of the batch a task of the backward pass takes, one after the other. If a bias is the same for all entries
/// of a batch or for all heads, those that share it form a group, because they add to the same cotangents. A group is cut
/// into chains, and a chain is a task. All of this depends on shapes only, and so does the order of the sums.
class head_chains {
 public:
  /// `pieces` tasks take a head. `joined` says whether there is a cotangent of the bias.
  head_chains(const attention_shape& s, bool joined, std::int64_t pieces, std::int64_t bias_size) noexcept
      : kv_heads_(s.kv_heads), over_heads_(joined && s.bias.head_stride == 0) {
    const bool over_batch = joined && s.bias.batch_stride == 0;
    heads_ = s.batch * s.kv_heads;
    groups_ = (over_batch ? std::min<std::int64_t>(1, s.batch) : s.batch) * (over_heads_ ? 1 : s.kv_heads);
    members_ = groups_ > 0 ? heads_ / groups_ : 0;
    // Each chain has sums of its own, so there are several only as long as they are small or threads would have nothing to do.
    constexpr std::int64_t wanted_tasks = 32, most_sums = 1 << 24;
    const std::int64_t few = std::max<std::int64_t>(1, most_sums / std::max<std::int64_t>(1, bias_size));
    chains_ = std::max<std::int64_t>(
        1, std::min({members_, few, parts_of(wanted_tasks, std::max<std::int64_t>(1, groups_ * pieces))}));
  }
  std::int64_t tasks() const noexcept { return groups_ * chains_; }
  std::int64_t chains() const noexcept { return chains_; }
  std::int64_t chain(std::int64_t task) const noexcept { return task % chains_; }
  /// f(head) for the heads b * K + k of a task, in order.
  template <class F>
  void for_heads(std::int64_t task, F f) const {
    const std::int64_t group = task / chains_, c = chain(task);
    for (std::int64_t m = c * members_ / chains_; m < (c + 1) * members_ / chains_; ++m) {
      // Members of a group differ in all that it shares: in the entry of the batch, in the key head, or in both.
      if (members_ == heads_)
        f(m);
      else
        f(over_heads_ ? group * kv_heads_ + m : m * groups_ + group);
    }
  }

 private:
  std::int64_t heads_ = 0, kv_heads_, groups_ = 0, members_ = 0, chains_ = 1;
  bool over_heads_;
};

struct bias_cotangent_scratch;

/// The sums of the cotangent of the bias. Tasks that add to the same elements without an order have parts of their own, which
/// are added at the end.
class bias_cotangent {
 public:
  /// The number of elements of the bias.
  static std::int64_t size_of(const attention_shape& s) noexcept {
    return (s.bias.batch_stride == 0 ? 1 : s.batch) * (s.bias.head_stride == 0 ? 1 : s.heads) *
           (s.bias.query_stride == 0 ? 1 : s.queries) * (s.bias.key_stride == 0 ? 1 : s.keys);
  }

  bias_cotangent(const attention_shape& s, float* to, const head_chains& chains, std::int64_t pieces)
      : chains_(chains), to_(to), by_piece_(s.bias.key_stride == 0) {
    if (to == nullptr) return;
    size_ = size_of(s);
    parts_ = chains.chains() * (by_piece_ ? pieces : 1);
    sums_ = parts_ > 1 ? scratch<bias_cotangent_scratch>(parts_ * size_) : to;
    in_chunks(parts_ * size_, [&](std::int64_t first, std::int64_t n) { std::fill_n(sums_ + first, n, 0.0f); });
  }
  /// Where a task adds, or null.
  float* of(std::int64_t task, std::int64_t piece) const noexcept {
    if (to_ == nullptr) return nullptr;
    return sums_ + (chains_.chain(task) + (by_piece_ ? piece * chains_.chains() : 0)) * size_;
  }
  void finish() const {
    if (parts_ < 2) return;
    in_chunks(size_, [&](std::int64_t first, std::int64_t n) {
      for (std::int64_t i = 0; i < parts_; ++i)
        write_row(to_ + first, false, n, sums_ + i * size_ + first, 1.0f, i > 0);
    });
  }

 private:
  template <class F>
  static void in_chunks(std::int64_t n, F f) {
    constexpr std::int64_t chunk = 1 << 14;
    parallel_for(parts_of(n, chunk), [&](std::int64_t i) { f(i * chunk, std::min(chunk, n - i * chunk)); });
  }

  const head_chains& chains_;
  float *to_, *sums_ = nullptr;
  std::int64_t size_ = 0, parts_ = 0;
  bool by_piece_;
};

/// Adds the cotangents ds of scores to those of the bias. ds has a row for each query, in panels that are `apart` floats from
/// each other.
inline void add_bias_cotangents(const attention_shape& s, float* to, const pair_block& at, const float* ds,
                                std::int64_t apart) noexcept {
  for (std::int64_t y = 0; y < at.queries; ++y) {
    float* const row = to + (s.bias.at(at.b, at.n, at.q + y, at.k) - s.bias.data);
    for (std::int64_t j = 0; j < at.keys; j += panel_lanes) {
      const float* const from = ds + j / panel_lanes * apart + y * panel_lanes;
      const std::int64_t n = std::min(panel_lanes, at.keys - j);
      if (s.bias.key_stride == 0)
        *row += sum_row(n, [=](std::int64_t i, auto lanes) { return lanes(from + i); });
      else
        write_row(row + j, false, n, from, 1.0f, true);
    }
  }
}

}  // namespace tokamax::cpu_backend::detail
