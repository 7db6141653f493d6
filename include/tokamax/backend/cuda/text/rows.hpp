// tokamax/backend/cuda/text/rows.hpp: device text: what needs all elements along one axis: argmax, running sums, sorting.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cuda/text.cpp
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

#include <string_view>  // string_view

namespace tokamax::cuda_text {

/// An array is [outer, length, inner], and a row is one place of outer and inner. Elements of a row are `inner` apart.
inline constexpr std::string_view rows = R"text(
struct row_data {
  i64 count, length, inner, reverse;  // count: of threads
  const void* in;
  void* out;
};
// Where a row begins.
inline i64 row_begin(i64 row, i64 length, i64 inner) {
  const i64 outer = row / inner;
  return outer * length * inner + (row - outer * inner);
}

// The index of the first largest element, or of the smallest. The first NaN counts as both.
template <class T, bool Largest>
void arg_extreme(const row_data& d) {
  const i64 row = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= d.count) return;
  const T* const p = (const T*)d.in + row_begin(row, d.length, d.inner);
  i64 at = 0;
  number<T> best = widen<T>(p[0]);
  for (i64 i = 1; i < d.length && best == best; ++i) {
    const number<T> v = widen<T>(p[i * d.inner]);
    if (v != v || (Largest ? v > best : v < best)) best = v, at = i;
  }
  ((i32*)d.out)[row] = (i32)at;
}
template <class T> void argmax(const row_data& d) { arg_extreme<T, true>(d); }
template <class T> void argmin(const row_data& d) { arg_extreme<T, false>(d); }

// Running sums, carried in double for floats.
template <class N> struct carried { typedef N type; };
template <> struct carried<f32> { typedef f64 type; };
template <class T>
void cumsum(const row_data& d) {
  typedef typename carried<number<T>>::type S;
  const i64 row = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= d.count) return;
  const i64 first = row_begin(row, d.length, d.inner);
  S sum = S(0);
  for (i64 k = 0; k < d.length; ++k) {
    const i64 i = first + (d.reverse ? d.length - 1 - k : k) * d.inner;
    sum = op_add::apply(sum, (S)widen<T>(((const T*)d.in)[i]));
    ((T*)d.out)[i] = narrow<T>((number<T>)sum);
  }
}

// The place of each element in its sorted row: the number of elements that come before it. NaN is the largest value, and
// equal elements keep their order.
template <class T>
void sorted_places(const row_data& d) {
  const i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= d.count) return;
  const i64 along = i / d.inner % d.length, first = i - along * d.inner;
  const T* const p = (const T*)d.in + first;
  const number<T> mine = widen<T>(p[along * d.inner]);
  const auto less = [](number<T> a, number<T> b) { return a < b || (b != b && a == a); };
  i32 place = 0;
  for (i64 k = 0; k < d.length; ++k) {
    const number<T> other = widen<T>(p[k * d.inner]);
    const bool before = d.reverse ? less(mine, other) : less(other, mine);
    const bool after = d.reverse ? less(other, mine) : less(mine, other);
    place += before || (!after && k < along);
  }
  ((i32*)d.out)[i] = place;
}
struct move_data {
  i64 count, length, inner;
  const void *in, *places;
  void* out;
};
template <class W>
void move_to_places(const move_data& d) {
  const i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= d.count) return;
  const i64 along = i / d.inner % d.length;
  ((W*)d.out)[i + (((const i32*)d.places)[i] - along) * d.inner] = ((const W*)d.in)[i];
}
)text";

}  // namespace tokamax::cuda_text
