// tokamax/backend/cpu/vector/floats.hpp: operands and results of any float and stride as dense f32 for the row kernels.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/ops/softmax.cpp
#pragma once

#include <tokamax/backend/cpu/vector/lanes.hpp>    // lanes
#include <tokamax/backend/cpu/vector/threads.hpp>  // parallel_for, scratch
#include <tokamax/runtime/kernel.hpp>              // array_view

#include <algorithm>         // min
#include <initializer_list>  // initializer_list
#include <type_traits>       // is_same_v

namespace tokamax::cpu_backend {

/// Are the elements in row-major order without gaps?
inline bool is_dense(const array_view& v) noexcept {
  const shape dense = row_major(v.extents);
  for (int i = 0; i < v.rank(); ++i)
    if (v.extent(i) != 1 && v.stride(i) != dense[i]) return false;
  return true;
}

namespace detail {
/// Copies the elements of v, of type T, to `to` in row-major order. Threads share the rows, and rows without gaps are
/// read as vectors where both types are floats of at most 32 bits.
template <class T, class To>
void convert_elements(const array_view& v, To* to) {
  const int last = v.rank() - 1;
  const std::int64_t cols = last < 0 ? 1 : v.extent(last), step = last < 0 ? 1 : v.stride(last);
  const std::int64_t rows = cols ? v.size() / cols : 0;
  const std::int64_t grain = std::max<std::int64_t>(1, 16384 / std::max<std::int64_t>(1, cols));
  parallel_for((rows + grain - 1) / grain, [&](std::int64_t chunk) {
    for (std::int64_t r = chunk * grain; r < std::min(rows, (chunk + 1) * grain); ++r) {
      const T* from = v.as<T>();
      std::int64_t rest = r;
      for (int i = last - 1; i >= 0; --i) {
        from += rest % v.extent(i) * v.stride(i);
        rest /= v.extent(i);
      }
      To* const row = to + r * cols;
      std::int64_t j = 0;
      if constexpr (std::is_same_v<typename lanes<T>::scalar, float> && std::is_same_v<To, float>)
        if (step == 1)
          for (; j + lanes<T>::size <= cols; j += lanes<T>::size)
            lanes<float>::store(row + j, lanes<T>::load(from + j));
      for (; j < cols; ++j) row[j] = static_cast<To>(from[j * step]);
    }
  });
}
}  // namespace detail

/// A dense f32 copy of an operand, in scratch memory named by Tag.
template <class Tag>
const float* copied_floats(const array_view& v) {
  float* const to = scratch<Tag>(std::max<std::int64_t>(1, v.size()));
  dispatch(v.type, [&]<dtype E>() {
    if constexpr (is_floating(E)) detail::convert_elements<element_t<E>>(v, to);
  });
  return to;
}

/// An operand as dense f32: the operand itself if it is dense f32, or else a copy. f64 is rounded.
template <class Tag>
const float* dense_floats(const array_view& v) {
  return v.type == f32 && is_dense(v) ? v.as<const float>() : copied_floats<Tag>(v);
}

/// Calls f(T()) for arrays that row kernels read and write where they lie: all are dense, and all are bf16 or all are f16.
/// False if they are others, which are read by `dense_floats`.
template <class F>
bool in_narrow_rows(std::initializer_list<array_view> all, F f) {
  const dtype t = all.begin()->type;
  for (const array_view& v : all)
    if (v.type != t || !is_dense(v)) return false;
  if (t == bf16)
    f(bfloat16());
  else if (t == f16)
    f(float16());
  return t == bf16 || t == f16;
}

/// A dense result that a kernel writes in f32. The destructor rounds it to its dtype.
template <class Tag>
class float_result {
 public:
  explicit float_result(const array_view& v)
      : view_(v), data_(v.type == f32 ? v.as<float>() : scratch<Tag>(std::max<std::int64_t>(1, v.size()))) {}
  float_result(const float_result&) = delete;
  ~float_result() {
    if (view_.type == f32) return;
    dispatch(view_.type, [&]<dtype E>() {
      if constexpr (is_floating(E)) round_to<element_t<E>>();
    });
  }
  float* data() const noexcept { return data_; }

 private:
  /// Rounds the floats to T, in vectors if T is narrower than a float.
  template <class T>
  void round_to() {
    const std::int64_t n = view_.size(), grain = 16384;
    parallel_for((n + grain - 1) / grain, [this, n](std::int64_t chunk) {
      const std::int64_t begin = chunk * grain, end = std::min(n, begin + grain);
      T* const to = view_.as<T>();
      if constexpr (sizeof(T) < 4) {
        std::int64_t i = begin;
        for (; i + width <= end; i += width) lanes<T>::store(to + i, lanes<float>::load(data_ + i));
        if (i < end) lanes<T>::store(to + i, lanes<float>::load(data_ + i, end - i, 0.0f), end - i);
      } else {
        for (std::int64_t i = begin; i < end; ++i) to[i] = static_cast<T>(data_[i]);
      }
    });
  }
  array_view view_;
  float* data_;
};

}  // namespace tokamax::cpu_backend
