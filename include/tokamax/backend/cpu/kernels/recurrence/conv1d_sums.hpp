// tokamax/backend/cpu/kernels/recurrence/conv1d_sums.hpp: sums over windows of tokens, some columns and tokens at a time.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/ops/causal_conv1d_sums.cpp
#pragma once

#include <tokamax/backend/cpu/device.hpp>         // cpu_tag
#include <tokamax/backend/cpu/vector/floats.hpp>  // dense_floats, in_narrow_rows
#include <tokamax/backend/cpu/vector/rows.hpp>    // for_vectors
#include <tokamax/ops/causal_conv1d_sums.hpp>     // causal_conv1d_sums_p

namespace tokamax {

namespace cpu_backend::detail {

/// The operands of all windows: K - 1 tokens of the state and T others in each of `entries`, C columns in a row.
template <class T>
struct conv1d_windows {
  std::int64_t entries, tokens, kept, columns;
  const T *state, *x;
  const float* places;  // [K, C]
  float *head, *tail;

  /// Token t, counted from the first one of the state.
  const T* token(std::int64_t entry, std::int64_t t) const {
    return t < kept ? state + (entry * kept + t) * columns : x + (entry * tokens + t - kept) * columns;
  }
  float* sum(std::int64_t entry, std::int64_t t) const {
    return t < kept ? head + (entry * kept + t) * columns : tail + (entry * (tokens - kept) + t - kept) * columns;
  }
  /// The sums of some tokens for columns from `first` on. The terms are added from the first place of the window on.
  void operator()(std::int64_t entry, std::int64_t begin, std::int64_t end, std::int64_t first,
                  std::int64_t count) const noexcept {
    for (std::int64_t t = begin; t < end; ++t) {
      float* const y = sum(entry, t) + first;
      const float* const w = places + first;
      if (t >= kept) {  // all of the window lies in x
        const T* const from = token(entry, t) + first;
        for_vectors(count, [=, this](std::int64_t j, auto lanes) {
          f32v s = lanes(w + j) * lanes(from + j);
          for (std::int64_t m = 1; m <= kept; ++m) s = s + lanes(w + m * columns + j) * lanes(from + m * columns + j);
          lanes.keep(y + j, s);
        });
        continue;
      }
      for (std::int64_t m = 0; m <= kept; ++m) {
        const T* const from = token(entry, t + m) + first;
        for_vectors(count, [=, this](std::int64_t j, auto lanes) {
          const f32v term = lanes(w + m * columns + j) * lanes(from + j);
          lanes.keep(y + j, m == 0 ? term : lanes(y + j) + term);
        });
      }
    }
  }
  void run() const {
    // With 512 columns, the tokens of a window and their weights stay in the first-level cache: each is read K times.
    constexpr std::int64_t rows = 64, width_of_task = 512;
    const std::int64_t parts = (tokens + rows - 1) / rows, blocks = (columns + width_of_task - 1) / width_of_task;
    parallel_for(entries * parts * blocks, [&](std::int64_t task) {
      const std::int64_t first = task % blocks * width_of_task, begin = task / blocks % parts * rows;
      (*this)(task / blocks / parts, begin, std::min(tokens, begin + rows), first,
              std::min(width_of_task, columns - first));
    });
  }
};

}  // namespace cpu_backend::detail

/// state [..., K - 1, C], x [..., T, C], weights [C, K] -> f32 [..., K - 1, C], [..., T - K + 1, C]. Dense bf16 and f16 are read
/// as they are.
inline void kernel(op_c<causal_conv1d_sums_p>, cpu_tag, const kernel_arguments& a) {
  const shape& s = a.in[1].extents;
  const std::int64_t columns = s[-1], tokens = s[-2], places = a.in[2].extents[1];
  if (a.in[1].size() == 0) return;
  const float* const weights = cpu_backend::dense_floats<struct conv1d_weights>(a.in[2]);
  // a row for each place, so that a loop over channels reads weights side by side
  float* const turned = cpu_backend::scratch<struct conv1d_places>(places * columns);
  for (std::int64_t c = 0; c < columns; ++c)
    for (std::int64_t m = 0; m < places; ++m) turned[m * columns + c] = weights[c * places + m];
  const auto run = [&]<class T>(const T* state, const T* x) {
    cpu_backend::detail::conv1d_windows<T>{a.in[1].size() / (tokens * columns),
                                           tokens,
                                           places - 1,
                                           columns,
                                           state,
                                           x,
                                           turned,
                                           a.out[0].as<float>(),
                                           a.out[1].as<float>()}
        .run();
  };
  const auto narrow = [&]<class T>(T) { run(a.in[0].as<const T>(), a.in[1].as<const T>()); };
  if (!cpu_backend::in_narrow_rows({a.in[0], a.in[1]}, narrow))
    run(cpu_backend::dense_floats<struct conv1d_state>(a.in[0]), cpu_backend::dense_floats<struct conv1d_x>(a.in[1]));
}

}  // namespace tokamax
