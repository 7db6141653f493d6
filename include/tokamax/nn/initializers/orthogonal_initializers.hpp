// tokamax/nn/initializers/orthogonal_initializers.hpp: parameters that are matrices with orthonormal columns or rows.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/scipy/random/gamma.cpp
// umbrella: no (its programs link tokamax::linalg)
#pragma once

#include <tokamax/lax/indexing/slice.hpp>       // pad
#include <tokamax/linalg/random.hpp>            // orthogonal
#include <tokamax/numpy/manipulation/axes.hpp>  // moveaxis

namespace tokamax::nn::initializers {

/// Scale times a matrix with orthonormal columns, or rows if there are less: `orthogonal<>`, `orthogonal<1.41>`. Its columns
/// run along ColumnAxis, and its rows along all other axes together.
///
/// shapes  two axes or more
/// errors  "orthogonal: shape" of less axes
/// source  jax.nn.initializers.orthogonal; Saxe, McClelland, Ganguli 2014, arXiv:1312.6120
template <double Scale = 1.0, int ColumnAxis = -1>
constexpr array orthogonal(const random::key& k, const shape& s) {
  const int axis = ColumnAxis < 0 ? ColumnAxis + s.rank() : ColumnAxis;
  if (s.rank() < 2 || axis < 0 || axis >= s.rank()) {
    reject(k, {}, "orthogonal: shape", message() << s, "two axes or more, one of them that of the columns");
    return k;
  }
  const std::int64_t columns = s[axis], all = size(s);
  if (all == 0) return tokamax::zeros(s);
  shape last;  // s with the columns at its end
  for (int i = 0; i < s.rank(); ++i)
    if (i != axis) last.push_back(s[i]);
  last.push_back(columns);
  const array q = random::orthogonal(k, all / columns, {}, f32, columns);
  return random::detail::times(moveaxis(reshape(q, last), -1, axis), Scale);
}

/// A convolution that keeps the length of what it reads: zero but in the middle of its window, where it is `orthogonal`.
///
/// shapes  [window..., in, out] with a window of one to three axes, and in <= out
/// errors  "delta_orthogonal: shape" otherwise
/// source  jax.nn.initializers.delta_orthogonal; Xiao and others 2018, arXiv:1806.05393
template <double Scale = 1.0, int ColumnAxis = -1>
constexpr array delta_orthogonal(const random::key& k, const shape& s) {
  if (s.rank() < 3 || s.rank() > 5 || s[-1] < s[-2] || !are_extents(s)) {
    reject(k, {}, "delta_orthogonal: shape", message() << s, "[window..., in, out] with one to three axes, in <= out");
    return k;
  }
  if (size(s) == 0) return tokamax::zeros(s);
  array middle = orthogonal<Scale, ColumnAxis>(k, {s[-2], s[-1]});
  shape ones, before, after;
  for (int i = 0; i < s.rank(); ++i) {
    const bool window = i + 2 < s.rank();
    ones.push_back(window ? 1 : s[i]);
    before.push_back(window ? (s[i] - 1) / 2 : 0);
    after.push_back(window ? s[i] - 1 - (s[i] - 1) / 2 : 0);
  }
  return pad(reshape(middle, ones), array(0.0f), before, after);
}

}  // namespace tokamax::nn::initializers
