// tokamax/ops/quantized/packed_ragged_dot.hpp: products of groups of rows with packed weights for each group, as experts need them.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few models have quantised numbers)
#pragma once

#include <tokamax/ops/quantized/packed_dot.hpp>  // packed_dot_options
#include <tokamax/ops/ragged_dot.hpp>            // ragged_dot

namespace tokamax {

/// Multiplies each row with the packed matrix of its group:
///
///   y[m, n] = sum over k of lhs[m, k] * (code[g, k, n] * scale[g, group of k, n] + offset[g, group of k, n]), g the group of m
///
/// shapes  lhs f32 [M, K], sizes i32 [G], codes, scale and maybe offset of G matrices as packed_weights has them -> f32 [M, N]
inline constexpr op packed_ragged_dot_p{
    .name = "packed_ragged_dot",
    .cost = {.operations = [](const call& c) -> op_cost {
      return {2.0 * static_cast<double>(c[0].size()) * static_cast<double>(c.type.shape[1])};
    }},
    .attributes = schema<packed_dot_options>,
    .infer = [](const call& c) -> array_type {
      const array &x = c[0], &sizes = c[1];
      if (c.count < 4 || x.rank() != 2 || sizes.rank() != 1 || sizes.dtype() != i32)
        return c.fail("packed_ragged_dot: operands", message(x.type()) << ", " << sizes.type(), "[M,K], i32[G]");
      // As G matrices of packed_dot, each times a row.
      arrays in{array(array_type{x.dtype(), false, {sizes.extent(0), 1, x.extent(1)}})};
      for (int i = 2; i < c.count; ++i) in.push_back(array(c[i].type()));
      call one = c;
      one.inputs = in.data(), one.count = in.count();
      const array_type y = packed_dot_p.infer(one);
      return {f32, false, {x.extent(0), y.shape.rank() == 3 ? y.shape[2] : 0}};
    },
    .compose = [](const call& c) -> arrays {
      const auto o = c.attrs<packed_dot_options>();
      const array offset = c.count == 5 ? c[4] : array();
      return ragged_dot(c[0], detail::unpacked(c[2], c[3], offset, o.format, c[0].extent(1), o.columns, {}), c[1]);
    },
    .kernels = kernels_of<packed_ragged_dot_p>,
};

/// The product of rows, which are sorted by their group, with the packed weights of their group, in f32. The first sizes[0] rows belong
/// to group 0, and so on; rows after the last group are zero. A row has the same bits whatever rows are beside it.
///
/// shapes  x [M, K], w of G matrices [K, N], sizes [G] -> [M, N]
/// dtypes  x f32, bf16 or f16, which the result has too; sizes i32
/// errors  "packed_ragged_dot: x", "packed_ragged_dot: operands", "packed_dot: operands"
/// gradients  of x, scales and offsets; codes have none, but those of fp8, which are floats
constexpr array packed_ragged_dot(const array& x, const packed_weights& w, const array& sizes,
                                  source_line l = source_line::current()) {
  const bool floats = x.dtype() == f32 || x.dtype() == bf16 || x.dtype() == f16;
  if (!floats || x.rank() != 2 || x.extent(1) != w.rows) {
    reject(x, l, "packed_ragged_dot: x", x.type(), message("f32, bf16 or f16 rows [M,") << w.rows << "]");
    return x;
  }
  arrays in{astype(x, f32, l), sizes, w.codes, w.scale};
  if (w.has_offset()) in.push_back(w.offset);
  const words o = pack(packed_dot_options{w.format, w.columns});
  return astype(bind_all(described<packed_ragged_dot_p>(), in.data(), in.count(), o, l)[0], x.dtype(), l);
}

}  // namespace tokamax
