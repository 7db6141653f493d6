// tokamax/backend/cuda/text/copy.hpp: device text: copies between strided arrays, and filling.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cuda/text.cpp
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

#include <string_view>  // string_view

namespace tokamax::cuda_text {

/// Elements are moved as unsigned integers W of their size, or of several of them, one by a thread.
inline constexpr std::string_view copy = R"text(
struct copy_data {
  i64 count, rank;
  i64 extents[16], from_strides[16], to_strides[16];
  const void* from;
  void* to;
};
struct alignas(16) u128 { u64 low, high; };
// Where element i of some axes lies in two arrays. Index is u32 if it can be, because its division is much faster.
template <class Index> void places(const copy_data& d, Index i, i64& from, i64& to) {
  for (i64 a = d.rank - 1; a >= 0; --a) {
    const Index n = (Index)d.extents[a], next = a ? i / n : 0;
    const i64 at = (i64)(i - next * n);
    from += at * d.from_strides[a];
    to += at * d.to_strides[a];
    i = next;
  }
}
template <class W>
void copy_elements(const copy_data& d) {
  const i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= d.count) return;
  i64 from = 0, to = 0;
  if (d.count < 4294967296ll) places<u32>(d, (u32)i, from, to);
  else places<i64>(d, i, from, to);
  ((W*)d.to)[to] = ((const W*)d.from)[from];
}

// The same from one dtype to another, as convert_element_type does.
template <class From, class To>
void convert_elements(const copy_data& d) {
  const i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= d.count) return;
  i64 from = 0, to = 0;
  if (d.count < 4294967296ll) places<u32>(d, (u32)i, from, to);
  else places<i64>(d, i, from, to);
  ((To*)d.to)[to] = narrow<To>(converted<To>(widen<From>(((const From*)d.from)[from])));
}

// Every element becomes the one at `value`, which is on the device.
struct fill_data {
  i64 count;
  const void* value;
  void* to;
};
template <class W>
void fill_elements(const fill_data& d) {
  const i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < d.count) ((W*)d.to)[i] = *(const W*)d.value;
}
// Every element becomes a number that the host knows.
struct fill_with_data {
  i64 count;
  u64 value;
  void* to;
};
template <class W>
void fill_with(const fill_with_data& d) {
  const i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < d.count) ((W*)d.to)[i] = (W)d.value;
}
)text";

}  // namespace tokamax::cuda_text
