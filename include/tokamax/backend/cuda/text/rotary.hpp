// tokamax/backend/cuda/text/rotary.hpp: device text: pairs of features that turn by angles of their positions.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cuda/text.cpp
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

#include <string_view>  // string_view

namespace tokamax::cuda_text {

/// x [rows..., heads, features], positions that fit the rows -> [rows..., heads, features]. A thread turns one pair of all
/// heads. Its angle is made in f64, because an angle of a far position loses its digits in f32; whole turns are dropped
/// there, and the sine and cosine of what is left have the dtype of the results.
inline constexpr std::string_view rotary = R"text(
struct rotary_data {
  i64 count, heads, half, rank;  // count: of threads; half: of the features; rank: of the rows
  i64 interleaved, inverse, base;
  i64 extents[16], strides[16];  // of the rows, and of their positions
  const void *x, *positions;
  void* out;
};
template <class T>
void rotary_embedding(const rotary_data& d) {
  typedef number<T> S;
  const i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= d.count) return;
  const i64 row = i / d.half, pair = i - row * d.half;
  const i32 position = ((const i32*)d.positions)[offset_of(row, d.rank, d.extents, d.strides)];
  const f64 angle = (f64)position * ::pow(__longlong_as_double(d.base), -(f64)pair / (f64)d.half);
  S cosine, sine;
  if constexpr (same<S, f64>) {
    cosine = ::cos(angle), sine = ::sin(angle);
  } else {
    const f64 half_turns = angle * 0.31830988618379067154;
    const f32 rest = (f32)(half_turns - 2.0 * ::rint(0.5 * half_turns));  // -1 to 1
    cosine = ::cospif(rest), sine = ::sinpif(rest);
  }
  if (d.inverse) sine = -sine;
  for (i64 h = 0; h < d.heads; ++h) {
    const i64 first = (row * d.heads + h) * 2 * d.half + (d.interleaved ? 2 * pair : pair);
    const i64 second = first + (d.interleaved ? 1 : d.half);
    const S a = widen<T>(((const T*)d.x)[first]), b = widen<T>(((const T*)d.x)[second]);
    ((T*)d.out)[first] = narrow<T>(a * cosine - b * sine);
    ((T*)d.out)[second] = narrow<T>(b * cosine + a * sine);
  }
}
)text";

}  // namespace tokamax::cuda_text
