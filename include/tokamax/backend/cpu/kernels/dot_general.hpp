// tokamax/backend/cpu/kernels/dot_general.hpp: dot_general as (batches of) matrix products on any strides.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/cpu/device.hpp>                  // cpu_tag
#include <tokamax/backend/cpu/gemm/choose/offered.hpp>     // offered
#include <tokamax/backend/cpu/gemm/column.hpp>             // multiply_column
#include <tokamax/backend/cpu/gemm/gemm.hpp>               // gemm
#include <tokamax/backend/cpu/gemm/typed.hpp>              // typed_gemm
#include <tokamax/backend/cpu/kernels/gemm_precision.hpp>  // gemm_precision_of
#include <tokamax/backend/cpu/vector/floats.hpp>           // convert_elements
#include <tokamax/backend/cpu/vector/lanes.hpp>            // lanes
#include <tokamax/backend/cpu/vector/threads.hpp>          // parallel_for, scratch
#include <tokamax/lax/dot_general.hpp>                     // dot_general_p
#include <tokamax/runtime/kernel.hpp>                      // kernel_arguments

#include <algorithm>    // copy_n, min
#include <string>       // string
#include <type_traits>  // is_floating_point_v
#include <vector>       // vector

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

/// An operand as matrices [batch, rows, columns], each of which is some of its axes.
struct dot_operand {
  array_view v;
  axes batch, rows, columns;

  bool regular() const { return join(v, batch).regular && join(v, rows).regular && join(v, columns).regular; }

  /// Replaces the operand by a dense copy with elements of type T, in scratch memory named by Tag.
  template <class T, class Tag>
  void copy() {
    array_view turned = v;
    int i = 0;
    for (const axes* const some : {&batch, &rows, &columns})
      for (const std::int64_t axis : *some) {
        turned.extents[i] = v.extent(static_cast<int>(axis));
        turned.strides[i++] = v.stride(static_cast<int>(axis));
      }
    T* const to = scratch<Tag, T>(v.size() + 1);
    dispatch(v.type, [&]<dtype E>() {
      constexpr bool floats = std::is_floating_point_v<T> && is_floating(E) && (E == f64) == (sizeof(T) == 8);
      if constexpr (floats || (std::is_integral_v<T> && is_integer(E) && bits_of(E) <= 8 * int{sizeof(T)}))
        convert_elements<element_t<E>>(turned, to);
    });
    v = {to, dtype_of<T>, turned.extents, row_major(turned.extents)};
    const int nb = batch.rank(), nr = rows.rank();
    batch = iota_axes(nb);
    rows = tokamax::detail::range_axes(nb, nr);
    columns = tokamax::detail::range_axes(nb + nr, columns.rank());
  }
};

inline gemm_element gemm_element_of(const array_view& v) noexcept {
  return v.type == bf16 ? gemm_element::bfloat16 : v.type == i8 ? gemm_element::int8 : gemm_element::f32;
}

/// Products of doubles, or of integers in unsigned ones of type T, of which a narrower result keeps the low bits.
template <class T>
void typed_products(dot_operand& x, dot_operand& y, const array_view& c) {
  if (size_of(x.v.type) != sizeof(T) || !x.regular()) x.copy<T, dot_scratch_a>();
  if (size_of(y.v.type) != sizeof(T) || !y.regular()) y.copy<T, dot_scratch_b>();
  const auto matrices = [](const dot_operand& o) {
    return typed_matrices<T>{o.v.as<const T>(), join(o.v, o.batch).stride, join(o.v, o.rows).stride,
                             join(o.v, o.columns).stride};
  };
  const bool narrow = size_of(c.type) < static_cast<int>(sizeof(T));
  T* const to = narrow ? scratch<dot_scratch_c, T>(c.size() + 1) : c.as<T>();
  typed_gemm<T>({join(x.v, x.batch).extent, join(x.v, x.rows).extent, join(y.v, y.columns).extent,
                 join(x.v, x.columns).extent, matrices(x), matrices(y), to});
  if (narrow)
    dispatch(c.type, [&]<dtype E>() {
      if constexpr (is_integer(E) && bits_of(E) <= 8)
        for (std::int64_t i = 0; i < c.size(); ++i) c.as<element_t<E>>()[i] = static_cast<element_t<E>>(to[i]);
    });
}

/// Stores n sums in a narrower dtype: floats are rounded, and integers keep their low bits.
template <class T>
void store_narrow(T* to, const typename lanes<T>::scalar* sums, std::int64_t n) {
  constexpr std::int64_t grain = 1 << 14;
  parallel_for(ceil_div(n, grain), [=](std::int64_t chunk) {
    using V = typename lanes<T>::vector;
    std::int64_t i = chunk * grain;
    const std::int64_t end = std::min(n, i + grain);
    for (; i + width <= end; i += width) lanes<T>::store(to + i, load<V>(sums + i));
    if (i < end) lanes<T>::store(to + i, load_partial<V>(sums + i, end - i), end - i);
  });
}
/// Stores f32 sums as a result of another floating dtype.
inline void store_sums(const array_view& result, const float* sums) {
  dispatch(result.type, [&]<dtype E>() {
    if constexpr (is_floating(E) && size_of(E) < 4)
      store_narrow(result.as<element_t<E>>(), sums, result.size());
    else if constexpr (E == f64)
      std::copy_n(sums, result.size(), result.as<double>());
  });
}

/// Products of i8, summed in i32; an i8 result keeps the low bits.
inline void int8_products(std::int64_t batches, std::int64_t m, std::int64_t n, std::int64_t k, const matrix_view& a,
                          std::int64_t a_batch_stride, const matrix_view& b, std::int64_t b_batch_stride,
                          const array_view& c, const gemm_implementation* by) {
  const bool narrow = c.type == i8;
  auto* sums = narrow ? scratch<dot_scratch_c, std::int32_t>(m * n + 1) : c.as<std::int32_t>();
  for (std::int64_t i = 0; i < batches; ++i) {
    const matrix_view ai{a.at(0, 0) + i * a_batch_stride, a.row_stride, a.column_stride, a.element},
        bi{b.at(0, 0) + i * b_batch_stride, b.row_stride, b.column_stride, b.element};
    std::int32_t* const to = narrow ? sums : sums + i * m * n;
    gemm(m, n, k, ai, bi, to, n, gemm_mode::assign, by);
    if (narrow) store_narrow(c.as<std::int8_t>() + i * m * n, to, m * n);
  }
}

/// The operands of a call as matrices, as they lie.
struct dot_operands {
  dot_operand x, y;
  bool int8;       ///< products of i8, summed in i32
  bool converted;  ///< floats that gemm does not read, such as f16, which become f32

  dot_operands(const kernel_arguments& a, const dot_dimensions& d)
      : x{a.in[0], d.lhs_batch, other_axes(a.in[0].rank(), tokamax::detail::merged(d.lhs_contracting, d.lhs_batch)),
          d.lhs_contracting},
        y{a.in[1], d.rhs_batch, d.rhs_contracting,
          other_axes(a.in[1].rank(), tokamax::detail::merged(d.rhs_contracting, d.rhs_batch))},
        int8(type() == i8 && (a.out[0].type == i8 || a.out[0].type == i32) && x.regular() && y.regular()),
        converted(is_floating(type()) && type() != f32 && type() != bf16) {}
  dtype type() const { return x.v.type; }
  bool typed() const { return type() == f64 || (is_integer(type()) && !int8); }
};

/// Finds matrices in the operands: batch, free and contracted axes are each joined into one axis. If such axes do not have
/// one stride, or the dtype is none that the products read, the operand is copied first. A matrix by a vector is summed in lanes,
/// so that it is read at the speed of memory; the bits of other products are those that gemm promises.
inline void dot_general_by(const gemm_implementation* by, const kernel_arguments& a) {
  const auto d = a.attrs<dot_dimensions>();
  const array_view& out = a.out[0];
  dot_operands both(a, d);
  auto& [x, y, int8, converted] = both;
  if (both.type() == f64) return typed_products<double>(x, y, out);
  if (both.typed()) {
    if (bits_of(out.type) == 64) return typed_products<std::uint64_t>(x, y, out);
    if (bits_of(out.type) == 32) return typed_products<std::uint32_t>(x, y, out);
    return typed_products<std::uint16_t>(x, y, out);
  }
  const auto precision = gemm_precision_of(both.type(), d.algorithm);
  if (converted || !x.regular()) x.copy<float, dot_scratch_a>();
  if (converted || !y.regular()) y.copy<float, dot_scratch_b>();
  // From here on the operands are [batch, m, k] and [batch, k, n] with one stride for each axis.
  const joint_axis bx = join(x.v, x.batch), by_stride = join(y.v, y.batch);
  const joint_axis m = join(x.v, x.rows), n = join(y.v, y.columns), kx = join(x.v, x.columns), ky = join(y.v, y.rows);
  const std::int64_t batches = bx.extent;
  // gemm writes f32. Another result is converted from scratch memory at the end.
  const bool apart = is_floating(out.type) && out.type != f32;
  float* c = apart ? scratch<dot_scratch_c>(batches * m.extent * n.extent + 1) : out.as<float>();
  const matrix_view va{x.v.data, m.stride, kx.stride, gemm_element_of(x.v)},
      vb{y.v.data, ky.stride, n.stride, gemm_element_of(y.v)};
  if (int8) return int8_products(batches, m.extent, n.extent, kx.extent, va, bx.stride, vb, by_stride.stride, out, by);
  const column_problem column{batches, m.extent, kx.extent, va, bx.stride, vb, by_stride.stride, c};
  const bool exact = precision == gemm_precision::f32 || va.element == gemm_element::bfloat16;
  if (n.extent == 1 && by == nullptr && gemm_override.load() == nullptr && exact && is_column(column))
    multiply_column(column);
  else if (batches == 1)
    gemm(m.extent, n.extent, kx.extent, va, vb, c, n.extent, gemm_mode::assign, {}, precision, by);
  else
    gemm_batched(batches, m.extent, n.extent, kx.extent, va, bx.stride, vb, by_stride.stride, c, n.extent,
                 m.extent * n.extent, gemm_mode::assign, {}, precision, by);
  if (apart) store_sums(out, c);
}

/// Why the offered implementation cannot compute the call; empty: it can. The operands have no data yet.
inline std::string dot_general_refusal(const kernel_arguments& a) {
  const auto d = a.attrs<dot_dimensions>();
  const dot_operands both(a, d);
  if (both.typed()) return "products of " + std::string(name(both.type()));
  const auto matrix = [&](const dot_operand& o) -> matrix_view {
    const std::int64_t columns = join(o.v, o.columns).extent;
    if (both.converted || !o.regular()) return {nullptr, columns, 1, gemm_element::f32};  // the copy
    return {nullptr, join(o.v, o.rows).stride, join(o.v, o.columns).stride, gemm_element_of(o.v)};
  };
  const std::int64_t m = join(both.x.v, both.x.rows).extent, n = join(both.y.v, both.y.columns).extent,
                     k = join(both.x.v, both.x.columns).extent;
  gemm_product p{m,
                 n,
                 k,
                 matrix(both.x),
                 matrix(both.y),
                 nullptr,
                 n,
                 gemm_mode::assign,
                 gemm_precision_of(both.type(), d.algorithm)};
  if (m == 0 || n == 0 || k == 0) return "an empty product";
  if (!straighten(p.a, m, k) || !straighten(p.b, k, n)) return "an operand without contiguous rows or columns";
  return offered()[static_cast<int>(a.configuration)].can(p) ? "" : "operands of these dtypes, or this precision";
}

}  // namespace cpu_backend::detail

inline void kernel(op_c<dot_general_p>, cpu_tag, const kernel_arguments& a) {
  cpu_backend::detail::dot_general_by(nullptr, a);
}

/// The products of other libraries, by their names.
template <>
inline constexpr implementation_list implementations_of<dot_general_p> = [] {
  std::vector<implementation> all;
  for (int i = 0; i < cpu_backend::offered().count(); ++i)
    all.push_back({std::string(cpu_backend::offered()[i].name),
                   [](const kernel_arguments& a) {
                     const auto number = static_cast<int>(a.configuration);
                     cpu_backend::detail::dot_general_by(&cpu_backend::offered()[number], a);
                   },
                   i, cpu_backend::detail::dot_general_refusal});
  return all;
};

}  // namespace tokamax
