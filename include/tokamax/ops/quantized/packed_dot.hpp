// tokamax/ops/quantized/packed_dot.hpp: products of floats with packed weights.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few models have quantised numbers)
#pragma once

#include <tokamax/lax/dot_general.hpp>               // dot_general
#include <tokamax/ops/quantized/packed_weights.hpp>  // packed_weights, unpacked

namespace tokamax {

/// Attributes of packed_dot.
struct packed_dot_options {
  packed_format format = packed_format::int_8;
  std::int64_t columns = 0;  ///< N, of which the last panel may have fewer than 64
};

/// Products of floats with the numbers of packed weights:
///
///   y[b, m, n] = sum over k of lhs[b, m, k] * (code[b, k, n] * scale[b, g(k), n] + offset[b, g(k), n])
///
/// shapes  lhs f32 [B, M, K], codes, scale and maybe offset as packed_weights has them -> f32 [B, M, N]
inline constexpr op packed_dot_p{
    .name = "packed_dot",
    .cost = {.operations = [](const call& c) -> op_cost {
      return {2.0 * static_cast<double>(c[0].size()) * static_cast<double>(c.type.shape[2])};
    }},
    .attributes = schema<packed_dot_options>,
    .infer = [](const call& c) -> array_type {
      const auto o = c.attrs<packed_dot_options>();
      const array &x = c[0], &codes = c[1], &scale = c[2];
      const bool offset = o.format == packed_format::int_8 || o.format == packed_format::uint_4;
      bool fit = (c.count == 3 || (c.count == 4 && offset)) && x.rank() == 3 && codes.rank() == 4 && scale.rank() == 4;
      fit = fit && codes.dtype() == detail::code_dtype(o.format) && (scale.dtype() == f32 || scale.dtype() == f16);
      fit = fit && x.dtype() == f32 && !is_dyn(x.extent(2)) && o.columns >= 0 && codes.extent(0) == x.extent(0);
      const std::int64_t k = fit ? x.extent(2) : 0, p = detail::packed_panels(o.columns), g = fit ? scale.extent(2) : 0;
      fit = fit && codes.shape() == shape{x.extent(0), p, detail::packed_steps(o.format, k), detail::packed_columns};
      fit = fit && scale.shape() == shape{x.extent(0), p, g, detail::packed_columns};
      fit = fit && (g == 1 || (g > 0 && k % g == 0 && k / g % detail::packed_nibbles == 0));
      fit = fit && (c.count == 3 || (c[3].dtype() == scale.dtype() && c[3].shape() == scale.shape()));
      if (!fit)
        return c.fail("packed_dot: operands", message(x.type()) << ", " << codes.type() << ", " << scale.type(),
                      "f32[B,M,K] and codes, scales and offsets of packed weights of K rows");
      return {f32, false, {x.extent(0), x.extent(1), o.columns}};
    },
    .compose = [](const call& c) -> arrays {
      const auto o = c.attrs<packed_dot_options>();
      const array offset = c.count == 4 ? c[3] : array();
      const array w = detail::unpacked(c[1], c[2], offset, o.format, c[0].extent(2), o.columns, {});
      return dot_general(c[0], w, {{2}, {1}, {0}, {0}, f32});
    },
    .batch = [](const call& c) -> arrays {
      const std::int64_t v = c.batch_size;
      bool one = true;  // do all entries share the weights?
      for (int i = 1; i < c.count; ++i) one = one && !c.batched(i);
      if (one) {  // then their rows are rows of one product
        const std::int64_t b = c[1].extent(0), m = c[0].extent(2);
        arrays in = c.operands();
        in[0] = reshape(transpose(c[0], axes{1, 0, 2, 3}), {b, mul_extent(v, m), c[0].extent(3)});
        const array y = bind_all(*c.self, in.data(), in.count(), c.attribute_words(), c.where)[0];
        return transpose(reshape(y, {b, v, m, y.extent(2)}), axes{1, 0, 2, 3});
      }
      arrays in;
      for (const array& x : with_batch_axis(c)) {  // two axes of batches become one
        shape s{mul_extent(x.extent(0), x.extent(1))};
        for (int i = 2; i < x.rank(); ++i) s.push_back(x.extent(i));
        in.push_back(reshape(x, s));
      }
      const array y = bind_all(*c.self, in.data(), in.count(), c.attribute_words(), c.where)[0];
      return reshape(y, {v, div_extent(y.extent(0), v), y.extent(1), y.extent(2)});
    },
    .kernels = kernels_of<packed_dot_p>,
};

/// The product of rows with packed weights, in f32. A row has the same bits whatever rows are beside it; on CPUs, and without
/// offsets, they are those of its product with `unpack(w)`.
///
/// shapes  x [..., K] for one matrix -> [..., N]; x [B, ..., K] for B of them -> [B, ..., N]
/// dtypes  x f32, bf16 or f16, which the result has too
/// errors  "packed_dot: x", "packed_dot: operands"
/// gradients  of x, scales and offsets; codes have none, but those of fp8, which are floats
constexpr array packed_dot(const array& x, const packed_weights& w, source_line l = source_line::current()) {
  const std::int64_t batch = w.codes.rank() == 4 ? w.codes.extent(0) : 0;
  const int lead = batch == 1 ? 0 : 1, last = x.rank() - 1;
  const bool floats = x.dtype() == f32 || x.dtype() == bf16 || x.dtype() == f16;
  if (!floats || last < lead || x.extent(last) != w.rows || (lead == 1 && x.extent(0) != batch)) {
    reject(x, l, "packed_dot: x", x.type(), message("f32, bf16 or f16 rows of ") << w.rows << " for each matrix");
    return x;
  }
  std::int64_t m = 1;
  shape s = x.shape();
  for (int i = lead; i < last; ++i) m = mul_extent(m, s[i]);
  s[last] = w.columns;
  arrays in{reshape(astype(x, f32, l), {batch, m, w.rows}, l), w.codes, w.scale};
  if (w.has_offset()) in.push_back(w.offset);
  const array y =
      bind_all(described<packed_dot_p>(), in.data(), in.count(), pack(packed_dot_options{w.format, w.columns}), l)[0];
  return astype(reshape(y, s, l), x.dtype(), l);
}

}  // namespace tokamax
