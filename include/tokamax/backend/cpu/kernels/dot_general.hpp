// tokamax/backend/cpu/kernels/dot_general.hpp: dot_general as (batches of) matrix products on any strides.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/cpu/device.hpp>                  // cpu_tag
#include <tokamax/backend/cpu/gemm/gemm.hpp>               // gemm
#include <tokamax/backend/cpu/kernels/gemm_precision.hpp>  // gemm_precision_of
#include <tokamax/backend/cpu/vector/element.hpp>          // conversions of other dtypes
#include <tokamax/backend/cpu/vector/lanes.hpp>            // dispatch_size
#include <tokamax/backend/cpu/vector/threads.hpp>          // parallel_for
#include <tokamax/lax/dot_general.hpp>                     // dot_general_p
#include <tokamax/runtime/kernel.hpp>                      // kernel_arguments

#include <vector>  // vector

namespace tokamax {

template <>
inline constexpr bool takes_views<dot_general_p> = true;

namespace cpu_backend::detail {

/// Several axes of an operand as one: its extent, and its stride if the axes are `regular`, which means that one stride
/// reaches all their elements.
struct joint_axis {
  std::int64_t extent = 1, stride = 0;
  bool regular = true;
};
/// Joins the axes `which` of v, from the innermost outwards. Axes of extent 1 do not matter.
inline joint_axis join(const array_view& v, const axes& which) {
  joint_axis j;
  for (int i = which.rank() - 1; i >= 0; --i) {
    const auto a = static_cast<int>(which[i]);
    if (v.extent(a) == 1) continue;
    if (j.extent == 1)
      j.stride = v.stride(a);
    else
      j.regular = j.regular && v.stride(a) == j.stride * j.extent;
    j.extent *= v.extent(a);
  }
  return j;
}

struct dot_scratch_a;
struct dot_scratch_b;
struct dot_scratch_c;

/// An element of a floating dtype with at most 32 bits, as a float.
inline float float_at(const array_view& v, std::int64_t at) {
  return dispatch(v.type, [&]<dtype E>() -> float {
    if constexpr (is_floating(E))
      return static_cast<float>(v.as<element_t<E>>()[at]);
    else
      return 0;
  });
}

/// A dense copy of an operand in f32, with its axes in the given order, for layouts that gemm cannot read.
template <class Tag>
array_view dense_copy(const array_view& v, const axes& order) {
  array_view d;
  d.type = f32;
  for (std::int64_t a : order) d.extents.push_back(v.extent(static_cast<int>(a)));
  d.strides = row_major(d.extents);
  float* to = scratch<Tag>(d.size() + 1);
  d.data = to;
  shape index = d.extents;
  for (int i = 0; i < index.rank(); ++i) index[i] = 0;
  for (std::int64_t n = 0, total = d.size(); n < total; ++n) {
    std::int64_t at = 0;
    for (int i = 0; i < order.rank(); ++i) at += index[i] * v.stride(static_cast<int>(order[i]));
    to[n] = v.type == f32 ? v.as<float>()[at] : float_at(v, at);
    for (int i = index.rank() - 1; i >= 0 && ++index[i] == d.extents[i]; --i) index[i] = 0;
  }
  return d;
}

inline gemm_element gemm_element_of(const array_view& v) noexcept {
  return v.type == bf16 ? gemm_element::bfloat16 : v.type == i8 ? gemm_element::int8 : gemm_element::f32;
}

/// Products of numbers of type T in plain loops. Integers are computed modulo 2^64, and the result keeps its low bits.
template <class T>
void plain_dot(const array_view& a, const array_view& b, const array_view& c, const dot_dimensions& d) {
  using S = std::conditional_t<is_integer(dtype_of<T>), std::uint64_t, T>;
  // fa and fb are the free axes: those that are neither contracted nor batched.
  const axes fa = other_axes(a.rank(), tokamax::detail::merged(d.lhs_contracting, d.lhs_batch));
  const axes fb = other_axes(b.rank(), tokamax::detail::merged(d.rhs_contracting, d.rhs_batch));
  // The offset in memory of the n-th element along the axes `which`.
  auto offset = [](const array_view& v, const axes& which, std::int64_t n) {
    std::int64_t at = 0;
    for (int i = which.rank() - 1; i >= 0; --i) {
      const auto axis = static_cast<int>(which[i]);
      at += n % v.extent(axis) * v.stride(axis);
      n /= v.extent(axis);
    }
    return at;
  };
  // The number of elements along the axes `which`.
  auto count = [](const array_view& v, const axes& which) {
    std::int64_t n = 1;
    for (std::int64_t i : which) n *= v.extent(static_cast<int>(i));
    return n;
  };
  const std::int64_t batches = count(a, d.lhs_batch), m = count(a, fa), n = count(b, fb),
                     k = count(a, d.lhs_contracting);
  const auto places = [&](const array_view& v, const axes& which) {
    std::vector<std::int64_t> at(static_cast<std::size_t>(k));
    for (std::int64_t x = 0; x < k; ++x) at[static_cast<std::size_t>(x)] = offset(v, which, x);
    return at;
  };
  // The offsets of the terms of a sum, which are the same for all elements of the result.
  const std::vector<std::int64_t> along_a = places(a, d.lhs_contracting), along_b = places(b, d.rhs_contracting);
  parallel_for(batches * m, [&](std::int64_t row) {
    const std::int64_t s = row / m, i = row % m;
    const T* const from_a = a.as<const T>() + offset(a, d.lhs_batch, s) + offset(a, fa, i);
    for (std::int64_t j = 0; j < n; ++j) {
      const T* const from_b = b.as<const T>() + offset(b, d.rhs_batch, s) + offset(b, fb, j);
      S sum = 0;
      for (std::size_t x = 0; x < along_a.size(); ++x)
        sum += static_cast<S>(from_a[along_a[x]]) * static_cast<S>(from_b[along_b[x]]);
      const std::int64_t at = row * n + j;
      if constexpr (is_integer(dtype_of<T>))
        dispatch(c.type, [&]<dtype R>() { c.as<element_t<R>>()[at] = static_cast<element_t<R>>(sum); });
      else
        c.as<T>()[at] = sum;
    }
  });
}

/// Products of i8, summed in i32; an i8 result keeps the low bits.
inline void int8_products(std::int64_t batches, std::int64_t m, std::int64_t n, std::int64_t k, const matrix_view& a,
                          std::int64_t a_batch_stride, const matrix_view& b, std::int64_t b_batch_stride,
                          const array_view& c) {
  const bool narrow = c.type == i8;
  auto* sums = narrow ? reinterpret_cast<std::int32_t*>(scratch<dot_scratch_c>(m * n + 1)) : c.as<std::int32_t>();
  for (std::int64_t i = 0; i < batches; ++i) {
    const matrix_view ai{a.at(0, 0) + i * a_batch_stride, a.row_stride, a.column_stride, a.element},
        bi{b.at(0, 0) + i * b_batch_stride, b.row_stride, b.column_stride, b.element};
    std::int32_t* const to = narrow ? sums : sums + i * m * n;
    gemm(m, n, k, ai, bi, to, n);
    if (narrow)
      for (std::int64_t j = 0; j < m * n; ++j) c.as<std::int8_t>()[i * m * n + j] = static_cast<std::int8_t>(to[j]);
  }
}

}  // namespace cpu_backend::detail

/// Finds matrices in the operands: batch, free and contracted axes are each joined into one axis. If such axes do not have
/// one stride, or the dtype is none that gemm reads, the operand is copied first. f64 and most integers take plain loops.
inline void kernel(op_c<dot_general_p>, cpu_tag, const kernel_arguments& a) {
  using namespace cpu_backend::detail;
  dot_dimensions d = a.attrs<dot_dimensions>();
  array_view x = a.in[0], y = a.in[1];
  axes fx = other_axes(x.rank(), tokamax::detail::merged(d.lhs_contracting, d.lhs_batch));
  axes fy = other_axes(y.rank(), tokamax::detail::merged(d.rhs_contracting, d.rhs_batch));
  auto regular = [](const array_view& v, const axes& p, const axes& q, const axes& r) {
    return join(v, p).regular && join(v, q).regular && join(v, r).regular;
  };
  // Replaces an operand by a dense copy [batch, rows, columns] and renumbers its axes.
  auto straighten = [&]<class Tag>(array_view& v, axes& batch, axes& rows, axes& columns) {
    v = dense_copy<Tag>(v, tokamax::detail::merged(tokamax::detail::merged(batch, rows), columns));
    const int nb = batch.rank(), nr = rows.rank();
    batch = iota_axes(nb);
    rows = tokamax::detail::range_axes(nb, nr);
    columns = tokamax::detail::range_axes(nb + nr, columns.rank());
  };
  // Integers wider than i8 and f64 have no fast kernel. Products of i8 have one, but only for regular operands.
  const bool straight =
      regular(x, d.lhs_batch, fx, d.lhs_contracting) && regular(y, d.rhs_batch, d.rhs_contracting, fy);
  if (x.type == f64 ||
      (is_integer(x.type) && (x.type != i8 || (a.out[0].type != i8 && a.out[0].type != i32) || !straight)))
    return dispatch(x.type, [&]<dtype E>() {
      if constexpr (E == f64 || is_integer(E)) plain_dot<element_t<E>>(x, y, a.out[0], d);
    });
  // Floats that gemm does not read, such as f16, become f32 on the way.
  const auto converted = [](const array_view& v) { return is_floating(v.type) && v.type != f32 && v.type != bf16; };
  if (converted(x) || !regular(x, d.lhs_batch, fx, d.lhs_contracting))
    straighten.template operator()<dot_scratch_a>(x, d.lhs_batch, fx, d.lhs_contracting);
  if (converted(y) || !regular(y, d.rhs_batch, d.rhs_contracting, fy))
    straighten.template operator()<dot_scratch_b>(y, d.rhs_batch, d.rhs_contracting, fy);
  // From here on the operands are [batch, m, k] and [batch, k, n] with one stride for each axis.
  const joint_axis bx = join(x, d.lhs_batch), by = join(y, d.rhs_batch);
  const joint_axis m = join(x, fx), n = join(y, fy), kx = join(x, d.lhs_contracting), ky = join(y, d.rhs_contracting);
  const std::int64_t batches = bx.extent;
  // gemm writes f32. A narrower result is rounded from scratch memory at the end.
  const bool narrow = is_floating(a.out[0].type) && a.out[0].type != f32;
  float* c = narrow ? cpu_backend::scratch<dot_scratch_c>(batches * m.extent * n.extent + 1) : a.out[0].as<float>();
  const cpu_backend::matrix_view va{x.data, m.stride, kx.stride, gemm_element_of(x)},
      vb{y.data, ky.stride, n.stride, gemm_element_of(y)};
  if (x.type == i8)
    return int8_products(batches, m.extent, n.extent, kx.extent, va, bx.stride, vb, by.stride, a.out[0]);
  const auto precision = cpu_backend::gemm_precision_of(a.in[0].type, d.algorithm);
  if (batches == 1)
    cpu_backend::gemm(m.extent, n.extent, kx.extent, va, vb, c, n.extent, cpu_backend::gemm_mode::assign, {},
                      precision);
  else
    cpu_backend::gemm_batched(batches, m.extent, n.extent, kx.extent, va, bx.stride, vb, by.stride, c, n.extent,
                              m.extent * n.extent, cpu_backend::gemm_mode::assign, {}, precision);
  if (narrow)
    dispatch(a.out[0].type, [&]<dtype E>() {
      if constexpr (is_floating(E))
        for (std::int64_t i = 0; i < batches * m.extent * n.extent; ++i)
          a.out[0].as<element_t<E>>()[i] = static_cast<element_t<E>>(c[i]);
    });
}

}  // namespace tokamax
