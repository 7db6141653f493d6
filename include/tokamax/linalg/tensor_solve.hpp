// tokamax/linalg/tensor_solve.hpp: linear equations between tensors: tensorsolve and tensorinv.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/linalg/functions.cpp
#pragma once

#include <tokamax/linalg/solve.hpp>  // solve

namespace tokamax::linalg {

namespace detail {
constexpr shape part_of(const shape& s, int from, int to) {
  shape part;
  for (int i = from; i < to; ++i) part.push_back(s[i]);
  return part;
}
}  // namespace detail

/// x of tensordot(a, x, x.rank()) = b.
///
/// shapes  a is [extents of b..., extents of x...], with as many elements of b as of x
/// errors  "tensorsolve: a", and those of solve
/// source  jax.numpy.linalg.tensorsolve, with the axes of a in order
constexpr array tensorsolve(const array& a, const array& b, source_line l = source_line::current()) {
  const int rank = b.rank();
  const shape extents = a.rank() >= rank ? detail::part_of(a.shape(), rank, a.rank()) : shape{};
  if (a.rank() < rank || !(detail::part_of(a.shape(), 0, rank) == b.shape()) || size(extents) != b.size()) {
    reject(a, l, "tensorsolve: a", a.type(), message("the extents of ") << b.type() << " and as many elements again");
    return b;
  }
  return reshape(solve(reshape(a, {b.size(), b.size()}, l), reshape(b, {b.size()}, l), l), extents, l);
}

/// The tensor whose product with a, over `ind` axes, is the identity of tensordot.
///
/// shapes  a [first..., others...] with `ind` first axes and as many elements along them as along the others -> [others...,
///         first...]
/// errors  "tensorinv: ind", "tensorinv: a"
/// source  jax.numpy.linalg.tensorinv
constexpr array tensorinv(const array& a, int ind = 2, source_line l = source_line::current()) {
  if (ind <= 0 || ind > a.rank()) {
    reject(a, l, "tensorinv: ind", message() << ind, message("1 to the rank of ") << a.type());
    return a;
  }
  const shape first = detail::part_of(a.shape(), 0, ind), others = detail::part_of(a.shape(), ind, a.rank());
  if (size(first) != size(others)) {
    reject(a, l, "tensorinv: a", a.type(),
           message("as many elements along the first ") << ind << " axes as along the others");
    return a;
  }
  shape s = others;
  for (std::int64_t e : first) s.push_back(e);
  return reshape(inv(reshape(a, {size(first), size(others)}, l), l), s, l);
}

}  // namespace tokamax::linalg
