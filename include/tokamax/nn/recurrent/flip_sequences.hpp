// tokamax/nn/recurrent/flip_sequences.hpp: sequences from their last entry to their first, with what pads them kept behind.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (models of one family use it)
// tested by tests/nn/flax_layers.cpp
#pragma once

#include <tokamax/lax/iota.hpp>               // iota
#include <tokamax/lax/shapes/reverse.hpp>     // reverse
#include <tokamax/numpy/take_along_axis.hpp>  // take_along_axis

namespace tokamax::nn {

/// x with the first `lengths` entries of each sequence in reverse order, in front of the others.
/// [1 0 0], [2 3 0] -> [1 0 0], [3 2 0] for lengths 1 and 2.
///
/// shapes  x [batch..., time, ...] with time on axis `time`, lengths [batch...], with the axes in front of time, or those behind it if
///         time is the first axis; without lengths all of x is reversed
/// errors  "flip_sequences: lengths" if their axes are no axes of x, "flip_sequences: time"
/// source  flax.nnx.nn.recurrent.flip_sequences
constexpr array flip_sequences(const array& x, const array& lengths, int time, source_line l = source_line::current()) {
  time = checked_axis("flip_sequences: time", time, x, l);
  if (x.rank() == 0) return x;
  if (!lengths.exists()) return reverse(x, {time}, l);
  shape batch, at;  // of the lengths among the axes of x, and of time
  for (int i = 0; i < x.rank(); ++i) {
    const bool is_batch = i != time && (time > 0 ? i < time : i <= lengths.rank());
    batch.push_back(is_batch ? x.extent(i) : 1);
    at.push_back(i == time ? x.extent(i) : 1);
  }
  if (lengths.rank() != (time > 0 ? time : lengths.rank()) || lengths.rank() >= x.rank() ||
      size(batch) != lengths.size()) {
    reject(x, l, "flip_sequences: lengths", lengths.type(), message("one for each sequence of ") << x.type());
    return x;
  }
  const std::int64_t steps = x.extent(time);
  if (steps == 0) return x;
  const int count = static_cast<int>(steps);
  array from = count - 1 - iota(i32, at, time, l) + reshape(astype(lengths, i32, l), batch, l);
  from = select(from >= count, from - count, from, l);
  return take_along_axis(x, broadcast_to(from, x.shape(), l), time, l);
}

}  // namespace tokamax::nn
