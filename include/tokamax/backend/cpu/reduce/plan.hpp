// tokamax/backend/cpu/reduce/plan.hpp: the operations of reductions, and the loops over their axes.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/lax/reduce.cpp
#pragma once

#include <tokamax/backend/cpu/vector/simd.hpp>  // select
#include <tokamax/base/shape.hpp>               // shape, axes

#include <algorithm>    // min, max
#include <bit>          // bit_cast
#include <limits>       // infinity
#include <type_traits>  // remove_cvref_t, is_integral_v, is_arithmetic_v

namespace tokamax::cpu_backend::detail {

/// The unsigned type of the same size as a signed integer or a compiler vector of them; void for other types.
template <class V>
struct wrapping {
  using type = void;
};
template <class T>
  requires(std::is_integral_v<T> && std::is_signed_v<T>)
struct wrapping<T> {
  using type = std::make_unsigned_t<T>;
};
template <class V>
  requires(!std::is_arithmetic_v<V> &&
           requires(V v) {
             requires std::is_integral_v<std::remove_cvref_t<decltype(v[0])>> &&
                          std::is_signed_v<std::remove_cvref_t<decltype(v[0])>>;
           })
struct wrapping<V> {
  using lane = std::remove_cvref_t<decltype(std::declval<V>()[0])>;
  using type = vector_t<std::make_unsigned_t<lane>, sizeof(V) / sizeof(lane)>;
};

// The operations of reductions. They are structs, so that the loops are compiled for each of them. `start<S>` is the
// result of reducing nothing, and `apply` combines two values or vectors. Signed integers are added as unsigned ones,
// because they must wrap around.
struct sum_of {
  template <class S>
  static constexpr S start = S(0);
  template <class V>
  static V apply(V a, V b) noexcept {
    using U = typename wrapping<V>::type;
    if constexpr (std::is_void_v<U>)
      return a + b;
    else
      return std::bit_cast<V>(std::bit_cast<U>(a) + std::bit_cast<U>(b));
  }
};
struct max_of {  // NaN if one of the values is NaN
  template <class S>
  static constexpr S start =
      std::numeric_limits<S>::has_infinity ? -std::numeric_limits<S>::infinity() : std::numeric_limits<S>::lowest();
  template <class V>  // one value, or a compiler vector
  static V apply(V a, V b) noexcept {
    return ((a > b) | (a != a)) ? a : b;
  }
  template <class T>
  static xsimd::batch<T> apply(xsimd::batch<T> a, xsimd::batch<T> b) noexcept {
    if constexpr (std::is_floating_point_v<T>)
      return xsimd::select((a > b) | xsimd::isnan(a), a, b);
    else
      return xsimd::max(a, b);
  }
  /// The same bits for numbers, in one instruction where the machine has it; the second operand if one is NaN.
  static f32v of_numbers(f32v a, f32v b) noexcept { return max_or_second(a, b); }
};
struct min_of {  // likewise
  template <class S>
  static constexpr S start =
      std::numeric_limits<S>::has_infinity ? std::numeric_limits<S>::infinity() : std::numeric_limits<S>::max();
  template <class V>  // one value, or a compiler vector
  static V apply(V a, V b) noexcept {
    return ((a < b) | (a != a)) ? a : b;
  }
  template <class T>
  static xsimd::batch<T> apply(xsimd::batch<T> a, xsimd::batch<T> b) noexcept {
    if constexpr (std::is_floating_point_v<T>)
      return xsimd::select((a < b) | xsimd::isnan(a), a, b);
    else
      return xsimd::min(a, b);
  }
  static f32v of_numbers(f32v a, f32v b) noexcept { return min_or_second(a, b); }
};
struct and_of {
  template <class S>
  static constexpr S start = S(true);
  template <class V>
  static V apply(V a, V b) noexcept {
    return static_cast<V>(a & b);
  }
};
struct or_of {
  template <class S>
  static constexpr S start = S(false);
  template <class V>
  static V apply(V a, V b) noexcept {
    return static_cast<V>(a | b);
  }
};

/// A list of axes. Neighbouring axes that are all reduced, or all kept, have been joined into one.
struct axis_groups {
  struct group {
    std::int64_t extent, stride;
  };
  group items[max_rank];
  int count = 0;
  std::int64_t total = 1;

  void add(std::int64_t extent, std::int64_t stride) {  // from the innermost axis outwards
    items[count++] = {extent, stride};
    total *= extent;
  }
  /// The offset in memory of element `index`, which counts over all axes in row-major order.
  std::int64_t offset(std::int64_t index) const noexcept {
    if (count == 1) return index * items[0].stride;
    std::int64_t o = 0;
    for (int i = 0; i < count; ++i) {
      o += index % items[i].extent * items[i].stride;
      index /= items[i].extent;
    }
    return o;
  }
};

/// A reduction as loops: `inner` contiguous elements, which are all kept or all reduced, inside of loops over other axes.
struct reduce_plan {
  axis_groups kept, reduced;  // without the inner group
  std::int64_t inner = 1;
  bool inner_reduced = false;

  reduce_plan(const shape& extents, const axes& axis) {
    std::int64_t stride = 1;
    bool first = true;
    for (int i = extents.rank() - 1; i >= 0;) {
      if (extents[i] == 1) {
        --i;
        continue;
      }
      const bool is_reduced = axis.contains(i);
      std::int64_t n = 1;
      for (; i >= 0 && (axis.contains(i) == is_reduced || extents[i] == 1); --i) n *= extents[i];
      if (first) {
        inner = n;
        inner_reduced = is_reduced;
      } else {
        (is_reduced ? reduced : kept).add(n, stride);
      }
      first = false;
      stride *= n;
    }
  }
};

// The number of elements in a task, and the sizes of units and strips. They determine the reduction trees, and hence bits.
inline constexpr std::int64_t reduce_grain = 16384;
inline constexpr std::int64_t reduce_rows = 256, reduce_strip = 2048;

/// Combines n values, `stride` apart, into the first one: neighbours first, then pairs of neighbours, and so on. Sums of
/// floats are more exact in this order than one after the other, and the order does not depend on the number of threads.
template <class Op, class S>
void combine(S* p, std::int64_t n, std::int64_t stride) noexcept {
  for (std::int64_t step = 1; step < n; step *= 2)
    for (std::int64_t i = 0; i + step < n; i += 2 * step)
      p[i * stride] = Op::apply(p[i * stride], p[(i + step) * stride]);
}

}  // namespace tokamax::cpu_backend::detail
