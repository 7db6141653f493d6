// tokamax/kernel/ops/softmax_cross_entropy.hpp: the loss of labels, from logits that are read once in blocks of classes.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/kernel/kernel_call.cpp
// umbrella: no (programs that use this kernel include it)
#pragma once

#include <tokamax/kernel/ops/matmul.hpp>  // blocks_of
#include <tokamax/lax/reduce.hpp>         // max, sum

namespace tokamax::kernel_ops {

/// How logits are cut.
struct cross_entropy_options {
  std::int64_t rows = 128, classes = 2048;  ///< of a step, at most
};

/// log(sum(exp(logits))) - logits[label] of each row, with the largest logit and the sum of exponentials so far in scratch
/// memory.
///
/// shapes  logits [M, N], labels i32 [M] -> f32 [M]; blocks may hang over
/// errors  those of kernel_call
/// see     tokamax::softmax_cross_entropy, which it computes for labels from 0 to N - 1
constexpr array softmax_cross_entropy(const array& logits, const array& labels, const cross_entropy_options& o = {},
                                      source_line l = source_line::current()) {
  const std::int64_t m = logits.extent(0), n = logits.extent(1);
  const std::int64_t rows = std::min(o.rows, m), classes = std::min(o.classes, n);
  const auto body = [=](const auto& p, const auto& x, const auto& label, const auto& out, const auto& most,
                        const auto& sums, const auto& own) {
    const reduce_options along{.axis = {1}, .keepdims = true};
    p.when(p.program_id(1) == 0, [&] {
      most.set(-1e30f);
      sums.set(0.0f);
      own.set(0.0f);
    });
    const array column = iota(i32, {rows, classes}, 1) + p.program_id(1) * static_cast<std::int32_t>(classes);
    array v = astype(x.get(), f32);
    if (n % classes != 0) v = where(column < static_cast<std::int32_t>(n), v, -1e30f);
    const array larger = maximum(most.get(), max(v, along));
    sums.set(sums.get() * exp(most.get() - larger) + sum(exp(v - larger), along));
    own.set(own.get() + sum(where(column == label.get(), v, 0.0f), along));
    most.set(larger);
    p.when(p.program_id(1) == p.num_programs(1) - 1, [&] { out.set(most.get() + log(sums.get()) - own.get()); });
  };
  block_spec one{{rows, 1}, {0, first_block}};
  kernel_scratch column{{f32, false, {rows, 1}}};
  using enum dimension_semantics;
  const array losses = kernel_call(body,
                                   {.grid = {detail::blocks_of(m, rows), detail::blocks_of(n, classes)},
                                    .in = {{{rows, classes}, {0, 1}}, one},
                                    .out = {{{f32, false, {m, 1}}, one}},
                                    .scratch = {column, column, column},
                                    .semantics = {parallel}},
                                   l)(logits, reshape(labels, {m, 1}));
  return reshape(losses, {m});
}

}  // namespace tokamax::kernel_ops
