// tokamax/backend/cpu/kernels/argmax.hpp: index of the first largest or smallest element along one axis.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/lax/reduce.cpp
#pragma once

#include <tokamax/backend/cpu/device.hpp>       // cpu_tag
#include <tokamax/backend/cpu/reduce/tree.hpp>  // max_of, min_of, reduce_row

namespace tokamax {

namespace cpu_backend::detail {

/// The first index of the value `v` in a row that contains it. If v is NaN, the first index of any NaN.
template <class T, class S>
std::int64_t find_first(const T* p, std::int64_t n, S v) noexcept {
  auto hit = [&](std::int64_t i) {
    const S x = static_cast<S>(p[i]);
    return x == v || x != x;
  };
  std::int64_t i = 0;
  if constexpr (std::is_same_v<T, float>) {
    const f32v wanted(v);
    for (; i + width <= n; i += width) {
      const f32v x = load(p + i);
      if (xsimd::any((x == wanted) | xsimd::isnan(x))) break;
    }
  }
  while (i + 1 < n && !hit(i)) ++i;
  return i;
}

/// The index of the extreme element for each position of the other axes. If the axis is the innermost one, a reduction finds
/// the value, and a second pass its position; otherwise one pass with a stride does both. The first NaN counts as extreme.
template <class Op, class T>
void arg_extreme(const array_view& x, int axis, std::int32_t* out) {
  using S = typename lanes<T>::scalar;
  std::int64_t outer = 1, inner = 1;
  const std::int64_t n = x.extent(axis);
  for (int i = 0; i < axis; ++i) outer *= x.extent(i);
  for (int i = axis + 1; i < x.rank(); ++i) inner *= x.extent(i);
  const T* in = x.as<T>();
  const std::int64_t results = outer * inner,
                     grain = std::max<std::int64_t>(1, reduce_grain / std::max<std::int64_t>(1, n));
  parallel_for((results + grain - 1) / grain, [&](std::int64_t chunk) {
    for (std::int64_t k = chunk * grain; k < std::min(results, (chunk + 1) * grain); ++k) {
      const T* p = in + k / inner * n * inner + k % inner;
      if constexpr (!std::is_same_v<T, bool>) {
        if (inner == 1) {
          S best = Op::template start<S>;
          reduce_source row(reinterpret_cast<const std::byte*>(p), static_cast<std::int64_t>(sizeof(T)));
          for (std::int64_t from = 0; from < n; from += reduce_grain)
            best = Op::apply(best, reduce_row<Op, T>(row, from, std::min(reduce_grain, n - from), n));
          out[k] = static_cast<std::int32_t>(find_first(p, n, best));
          continue;
        }
      }
      std::int64_t at = 0;
      S best = static_cast<S>(p[0]);
      for (std::int64_t i = 1; i < n && best == best; ++i) {
        const S v = static_cast<S>(p[i * inner]);
        if (v != v || (v != best && Op::apply(v, best) == v)) {
          best = v;
          at = i;
        }
      }
      out[k] = static_cast<std::int32_t>(at);
    }
  });
}

/// Calls arg_extreme with the type of the elements.
template <class Op>
void arg_dispatch(const kernel_arguments& a) {
  dispatch(a.in[0].type, [&]<dtype Element>() {
    using T = element_t<Element>;
    arg_extreme<Op, T>(a.in[0], a.attrs<arg_attributes>().axis, a.out[0].as<std::int32_t>());
  });
}

}  // namespace cpu_backend::detail

/// The index of the first largest element along one axis, as i32.
inline void kernel(op_c<argmax_p>, cpu_tag, const kernel_arguments& a) {
  cpu_backend::detail::arg_dispatch<cpu_backend::detail::max_of>(a);
}
/// The same for the smallest element.
inline void kernel(op_c<argmin_p>, cpu_tag, const kernel_arguments& a) {
  cpu_backend::detail::arg_dispatch<cpu_backend::detail::min_of>(a);
}

}  // namespace tokamax
