// tokamax/ops/quantized/mixed_dot.hpp: the op that multiplies floats with numbers of 8 bits, which it does not convert in memory.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few models have quantised numbers)
// tested by tests/ops/quantized/mixed_dot.cpp
#pragma once

#include <tokamax/lax/dot_general.hpp>  // dot_general

namespace tokamax {

namespace detail {
/// May a product with this many rows be a mixed_dot? With more of them, converting the numbers once costs less than multiplying.
constexpr bool has_rows_of_mixed_dot(const array& lhs) {
  constexpr std::int64_t most = 16;
  return is_dyn(lhs.extent(1)) || lhs.extent(1) <= most;
}
constexpr array converted_dot(const array& lhs, const array& rhs, dot_algorithm algorithm,
                              source_line l = source_line::current()) {
  return dot_general(lhs, astype(rhs, lhs.dtype(), l), {{2}, {1}, {0}, {0}, f32, algorithm}, l);
}
constexpr array mixed_dot(const array& lhs, const array& rhs, dot_algorithm algorithm,
                          source_line l = source_line::current());
}  // namespace detail

/// Products of floats with numbers of at most 8 bits, which the dtype of the floats holds exactly:
///
///   y[b, m, n] = sum over k of lhs[b, m, k] * rhs[b, k, n]
///
/// A product of few rows waits for the memory of rhs. It reads 8 bits of a number, and none is written back as a float.
///
/// shapes  lhs [B, M, K], rhs [B, K, N] -> f32 [B, M, N]
/// dtypes  lhs f32, bf16 or f16; rhs an integer or a float of at most 8 bits; sums in f32
inline constexpr op mixed_dot_p{
    .name = "mixed_dot",
    .cost = {.operations = [](const call& c) -> op_cost {
      return {2.0 * static_cast<double>(c[0].size()) * static_cast<double>(c[1].extent(2))};
    }},
    .infer = [](const call& c) -> array_type {
      const array &a = c[0], &b = c[1];
      const bool floats = a.dtype() == f32 || a.dtype() == bf16 || a.dtype() == f16;
      const bool bytes = (is_integer(b.dtype()) || is_floating(b.dtype())) && bits_of(b.dtype()) <= 8;
      const bool fit =
          floats && bytes && a.rank() == 3 && b.rank() == 3 && a.extent(0) == b.extent(0) && a.extent(2) == b.extent(1);
      if (!fit)
        return c.fail("mixed_dot: operands", message(a.type()) << ", " << b.type(),
                      "f32, bf16 or f16 [B,M,K], 8 bits [B,K,N]");
      return {f32, false, {a.extent(0), a.extent(1), b.extent(2)}};
    },
    .compose = [](const call& c) -> arrays { return detail::converted_dot(c[0], c[1], dot_algorithm::unspecified); },
    .batch = [](const call& c) -> arrays {
      const std::int64_t v = c.batch_size;
      if (c.batched(1)) {  // two axes of batches become one
        arrays in;
        for (const array& x : with_batch_axis(c))
          in.push_back(reshape(x, {mul_extent(x.extent(0), x.extent(1)), x.extent(2), x.extent(3)}));
        const array y = detail::mixed_dot(in[0], in[1], dot_algorithm::unspecified);
        return reshape(y, {v, div_extent(y.extent(0), v), y.extent(1), y.extent(2)});
      }
      // Rows that share a matrix are rows of one product.
      const std::int64_t b = c[1].extent(0), m = c[0].extent(2), k = c[0].extent(3), n = c[1].extent(2);
      const array rows = reshape(transpose(c[0], axes{1, 0, 2, 3}), {b, mul_extent(v, m), k});
      const array y = detail::mixed_dot(rows, c[1], dot_algorithm::unspecified);
      return transpose(reshape(y, {b, v, m, n}), axes{1, 0, 2, 3});
    },
    .kernels = kernels_of<mixed_dot_p>,
};

namespace detail {
/// The product by the op, or of converted numbers where that is faster, or where an algorithm rounds the floats.
constexpr array mixed_dot(const array& lhs, const array& rhs, dot_algorithm algorithm, source_line l) {
  const dtype t = lhs.dtype();
  const bool exact = algorithm == dot_algorithm::unspecified || algorithm == dot_algorithm::f32_f32_f32;
  if (exact && (t == f32 || t == bf16 || t == f16) && has_rows_of_mixed_dot(lhs))
    return bind(described<mixed_dot_p>(), {lhs, rhs}, words{}, l);
  return converted_dot(lhs, rhs, algorithm, l);
}
}  // namespace detail

}  // namespace tokamax
