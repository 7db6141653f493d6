// tokamax/numpy/matmul.hpp: matrix products, batched and broadcast as NumPy does.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/lax/dot_general.cpp
#pragma once

#include <tokamax/lax/dot_general.hpp>  // dot_general

namespace tokamax {

/// How matmul is asked for: `matmul(a, b, {.preferred_element_type = i32})`.
struct matmul_options {
  dtype preferred_element_type = dtype::none;            ///< as dot_general has it
  dot_algorithm algorithm = dot_algorithm::unspecified;  ///< the same
};

/// The matrix product over the last axis of `a` and the one before the last of `b`; leading axes are batched and
/// broadcast as NumPy does.
///
/// shapes  a [..., M, K], b [..., K, N] -> [..., M, N]; a vector operand loses its axis
/// dtypes  as dot_general has them
/// errors  "matmul: operand" for a scalar, "matmul: inner extents", "matmul: batch extents", "dot_general: preferred type"
/// source  jax.numpy.matmul
constexpr array matmul(const array& a, const array& b, const matmul_options& o = {},
                       source_line l = source_line::current()) {
  const int ra = a.rank(), rb = b.rank();
  auto refuse = [&](const message& what, const message& found, const message& expected) {
    reject(a.trace() ? a.trace() : b.trace(), l, what, found, expected);
    return a;
  };
  if (ra == 0 || rb == 0) return refuse("matmul: operand", ra == 0 ? a.type() : b.type(), "one axis or more");
  dot_dimensions d;
  d.preferred_element_type = o.preferred_element_type;
  d.algorithm = o.algorithm;
  d.lhs_contracting = {ra - 1};
  d.rhs_contracting = {rb > 1 ? rb - 2 : 0};
  if (rb <= 2) return dot_general(a, b, d, l);  // every row of a meets one matrix
  shape sa, sb, lead;
  bool ok = true;
  for (int i = 0; i < ra - 2; ++i) sa.push_back(a.extent(i));
  for (int i = 0; i < rb - 2; ++i) sb.push_back(b.extent(i));
  lead = broadcast_shapes(sa, sb, ok);
  if (!ok) return refuse("matmul: batch extents", b.type(), message("extents of 1 or those of ") << a.type());
  auto widen = [&](const array& x, int keep) {
    shape s = lead;
    for (int i = x.rank() - keep; i < x.rank(); ++i) s.push_back(x.extent(i));
    return broadcast_to(x, s, l);
  };
  const int n = lead.rank();
  const array x = widen(a, ra > 1 ? 2 : 1), y = widen(b, 2);
  d.lhs_batch = d.rhs_batch = iota_axes(n);
  d.lhs_contracting = {x.rank() - 1};
  d.rhs_contracting = {n};
  return dot_general(x, y, d, l);
}

}  // namespace tokamax
