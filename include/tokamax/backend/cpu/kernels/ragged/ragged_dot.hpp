// tokamax/backend/cpu/kernels/ragged/ragged_dot.hpp: ragged_dot and ragged_scaled_dot as one matrix product for each group.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/ops/ragged_dot.cpp
#pragma once

#include <tokamax/backend/cpu/device.hpp>                  // cpu_tag
#include <tokamax/backend/cpu/gemm/gemm.hpp>               // gemm
#include <tokamax/backend/cpu/gemm/scaled_int8.hpp>        // scaled_int8_gemm
#include <tokamax/backend/cpu/kernels/gemm_precision.hpp>  // gemm_precision_of
#include <tokamax/backend/cpu/vector/floats.hpp>           // float_result
#include <tokamax/ops/quantized/ragged_scaled_dot.hpp>     // ragged_scaled_dot_p
#include <tokamax/ops/ragged_dot.hpp>                      // ragged_dot_p

#include <vector>  // vector

namespace tokamax {

template <>
inline constexpr bool takes_views<ragged_dot_p> = true;
template <>
inline constexpr bool takes_views<ragged_scaled_dot_p> = true;

namespace cpu_backend::detail {

/// The rows [first, first + count) of problem `batch`, which belong to `group`.
struct ragged_group {
  std::int64_t batch, group, first, count;
};

/// The rows of each group. Rows that no group has are given to group -1 if `rest` is set.
inline std::vector<ragged_group> ragged_groups(const array_view& sizes, const array_view& first_row, std::int64_t rows,
                                               bool rest) {
  std::vector<ragged_group> all;
  all.reserve(static_cast<std::size_t>(sizes.extent(0) * (sizes.extent(1) + (rest ? 2 : 0))));
  const auto within = [=](std::int64_t n, std::int64_t most) { return std::min(std::max<std::int64_t>(n, 0), most); };
  for (std::int64_t b = 0; b < sizes.extent(0); ++b) {
    std::int64_t at = within(first_row.as<const std::int32_t>()[b * first_row.stride(0)], rows);
    if (rest) all.push_back({b, -1, 0, at});
    for (std::int64_t g = 0; g < sizes.extent(1); ++g) {
      const std::int64_t size = sizes.as<const std::int32_t>()[b * sizes.stride(0) + g * sizes.stride(1)];
      const std::int64_t count = within(size, rows - at);
      if (count > 0 || !rest) all.push_back({b, g, at, count});
      at += count;
    }
    if (rest) all.push_back({b, -1, at, rows - at});
  }
  return all;
}

/// Calls f for all groups. Small products are distributed over the threads, and large ones are computed one after the other by
/// all threads. The bits of a product do not depend on that.
template <class F>
void for_groups(const std::vector<ragged_group>& groups, std::int64_t work_of_row, F f) {
  const std::int64_t large = 9'000'000 * std::int64_t{num_threads()};
  const auto is_large = [=](const ragged_group& g) { return g.count * work_of_row >= large; };
  for (const ragged_group& g : groups)
    if (is_large(g)) f(g);
  parallel_for(static_cast<std::int64_t>(groups.size()), [&](std::int64_t i) {
    const ragged_group& g = groups[static_cast<std::size_t>(i)];
    if (!is_large(g)) f(g);
  });
}

/// The matrix of an operand that begins at its element `at`. Products read bf16 as it is.
inline matrix_view ragged_matrix(const array_view& v, std::int64_t at, int row_axis, int column_axis) {
  const gemm_element element = v.type == bf16 ? gemm_element::bfloat16 : gemm_element::f32;
  const std::int64_t bytes = v.type == bf16 ? 2 : 4;
  return {static_cast<const std::byte*>(v.data) + at * bytes, v.stride(row_axis), v.stride(column_axis), element};
}

}  // namespace cpu_backend::detail

/// One product for each group. Rows of no group are zero; where rows are contracted, the result has a matrix for each group,
/// which is zero for a group without rows.
inline void kernel(op_c<ragged_dot_p>, cpu_tag, const kernel_arguments& a) {
  using namespace cpu_backend::detail;
  const auto o = a.attrs<ragged_dot_attributes>();
  const array_view &lhs = a.in[0], &rhs = a.in[1];
  const bool sums = o.form == ragged_dot_form::ragged_contracting;
  const std::int64_t rows = lhs.extent(1), k = lhs.extent(2), n = a.out[0].extent(-1), groups = a.in[2].extent(1);
  const int inner = o.form == ragged_dot_form::transposed_rhs ? 3 : 2;
  const auto precision = cpu_backend::gemm_precision_of(lhs.type, o.algorithm);
  const cpu_backend::float_result<struct ragged_dot_y> y(a.out[0]);
  for_groups(ragged_groups(a.in[2], a.in[3], rows, !sums), k * n, [&](const ragged_group& g) {
    const std::int64_t left = g.batch * lhs.stride(0) + g.first * lhs.stride(1);
    using cpu_backend::gemm, cpu_backend::gemm_mode;
    if (sums)
      return gemm(k, n, g.count, ragged_matrix(lhs, left, 2, 1),
                  ragged_matrix(rhs, g.batch * rhs.stride(0) + g.first * rhs.stride(1), 1, 2),
                  y.data() + (g.batch * groups + g.group) * k * n, n, gemm_mode::assign, {}, precision);
    float* const to = y.data() + (g.batch * rows + g.first) * n;
    if (g.group < 0) {
      std::fill_n(to, g.count * n, 0.0f);
      return;
    }
    gemm(g.count, n, k, ragged_matrix(lhs, left, 1, 2),
         ragged_matrix(rhs, g.batch * rhs.stride(0) + g.group * rhs.stride(1), inner, 5 - inner), to, n,
         gemm_mode::assign, {}, precision);
  });
}

/// One product of int8 for each group, whose sums are scaled.
inline void kernel(op_c<ragged_scaled_dot_p>, cpu_tag, const kernel_arguments& a) {
  using namespace cpu_backend::detail;
  using cpu_backend::gemm_element, cpu_backend::matrix_view;
  const array_view &lhs = a.in[0], &rhs = a.in[1], &row = a.in[4], &column = a.in[5];
  const std::int64_t m = lhs.extent(1), k = lhs.extent(2), n = rhs.extent(3);
  for_groups(ragged_groups(a.in[2], a.in[3], m, true), k * n, [&](const ragged_group& g) {
    float* const to = a.out[0].as<float>() + (g.batch * m + g.first) * n;
    if (g.group < 0) return void(std::fill_n(to, g.count * n, 0.0f));
    const matrix_view rows{lhs.as<const std::int8_t>() + g.batch * lhs.stride(0) + g.first * lhs.stride(1),
                           lhs.stride(1), lhs.stride(2), gemm_element::int8};
    const matrix_view columns{rhs.as<const std::int8_t>() + g.batch * rhs.stride(0) + g.group * rhs.stride(1),
                              rhs.stride(2), rhs.stride(3), gemm_element::int8};
    cpu_backend::scaled_int8_gemm({g.count, n, k, row.extent(2), rows, columns,
                                   row.as<const float>() + g.batch * row.stride(0) + g.first * row.stride(1),
                                   row.stride(1), row.stride(2),
                                   column.as<const float>() + g.batch * column.stride(0) + g.group * column.stride(1),
                                   column.stride(2), column.stride(3), to});
  });
}

}  // namespace tokamax
