// tokamax/kernel/ops/norms.hpp: layer norm and root mean square norm of rows in blocks: each row is read once.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/kernel/kernel_call.cpp
// umbrella: no (programs that use this kernel include it)
#pragma once

#include <tokamax/kernel/ops/matmul.hpp>  // blocks_of
#include <tokamax/numpy/statistics.hpp>   // mean

namespace tokamax::kernel_ops {

/// How rows are normalised.
struct norm_options {
  std::int64_t rows = 256;  ///< of a step
  double epsilon = 1e-6;
};

/// Rows less their mean, over their deviation, times scale, plus offset. The statistics are those of f32.
///
/// shapes  x [M, N], scale [N], offset [N] -> [M, N]
/// errors  those of kernel_call
/// see     tokamax::layer_norm, which it computes
constexpr array layer_norm(const array& x, const array& scale, const array& offset, const norm_options& o = {},
                           source_line l = source_line::current()) {
  const auto body = [e = static_cast<float>(o.epsilon)](const auto&, const auto& in, const auto& s, const auto& t,
                                                        const auto& out) {
    const array c = tokamax::detail::less_mean(astype(in.get(), f32), {.axis = {1}, .keepdims = true});
    const array rstd = rsqrt(mean(square(c), {.axis = {1}, .keepdims = true}) + e);
    out.set(astype(c * rstd * astype(s.get(), f32) + astype(t.get(), f32), out.dtype()));
  };
  const std::int64_t rows = std::min(o.rows, x.extent(0));
  block_spec some{{rows, x.extent(1)}, {0, first_block}};
  return kernel_call(body,
                     {.grid = {detail::blocks_of(x.extent(0), rows)},
                      .in = {some, {}, {}},
                      .out = {{x.type(), some}},
                      .semantics = {dimension_semantics::parallel}},
                     l)(x, scale, offset);
}

/// Rows over their root mean square, times scale. The statistics are those of f32.
///
/// shapes  x [M, N], scale [N] -> [M, N]
/// errors  those of kernel_call
/// see     tokamax::rms_norm, which it computes
constexpr array rms_norm(const array& x, const array& scale, const norm_options& o = {},
                         source_line l = source_line::current()) {
  const auto body = [e = static_cast<float>(o.epsilon)](const auto&, const auto& in, const auto& s, const auto& out) {
    const array v = astype(in.get(), f32), rstd = rsqrt(mean(square(v), {.axis = {1}, .keepdims = true}) + e);
    out.set(astype(v * rstd * astype(s.get(), f32), out.dtype()));
  };
  const std::int64_t rows = std::min(o.rows, x.extent(0));
  block_spec some{{rows, x.extent(1)}, {0, first_block}};
  return kernel_call(body,
                     {.grid = {detail::blocks_of(x.extent(0), rows)},
                      .in = {some, {}},
                      .out = {{x.type(), some}},
                      .semantics = {dimension_semantics::parallel}},
                     l)(x, scale);
}

}  // namespace tokamax::kernel_ops
