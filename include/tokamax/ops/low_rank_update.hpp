// tokamax/ops/low_rank_update.hpp: a matrix and a product of two narrow ones, whose products need no sum of matrices.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (adapters use it)
#pragma once

#include <tokamax/numpy/matmul.hpp>     // matmul
#include <tokamax/random/samplers.hpp>  // bernoulli

namespace tokamax {

/// The factor of a low_rank_update, and the share of what `a` reads that is dropped.
struct low_rank_attributes {
  double scale = 1, dropout = 0;
};

namespace detail {
constexpr array low_rank_sum(const array& w, const array& a, const array& b, double scale) {
  const dtype wide = carrying(w.dtype());
  return astype(astype(w, wide) + scale * matmul(astype(a, wide), astype(b, wide)), w.dtype());
}
/// x with some elements zero, and the others larger, as the key of an update says, if it has one: that of the first matrix of a stack.
constexpr array dropped(const call& update, const array& x) {
  const double rate = update.attrs<low_rank_attributes>().dropout;
  if (update.count < 4 || rate <= 0) return x;
  if (rate >= 1) return zeros_like(x);
  array k = update[3];
  while (k.rank() > 1) k = squeeze(slice_in_dim(k, 0, 1, 0), 0);
  return select(random::bernoulli(random::key(k), 1.0 - rate, x.shape()), x / (1.0 - rate), zeros_like(x));
}
/// The product of `p` with w + scale * a b as operand k, without that sum: x w + scale * (x a) b, or (x b^T) a^T if x is
/// contracted with the columns. Nothing if a and b have no fewer elements than w, or if axes of the stack are contracted.
constexpr array product_with_low_rank(const call& c, const call& p, int k) {
  const auto d = p.attrs<dot_dimensions>();
  const array &w = c[0], &a = c[1], &b = c[2], &other = p[1 - k];
  const axes &contracted = k ? d.rhs_contracting : d.lhs_contracting, &batch = k ? d.rhs_batch : d.lhs_batch;
  const axes &of_other = k ? d.lhs_contracting : d.rhs_contracting, &batch_of_other = k ? d.lhs_batch : d.rhs_batch;
  const int n = w.rank() - 2;  // axes of the stack
  if (contracted.rank() != 1 || !(batch == iota_axes(n)) || a.size() + b.size() >= w.size()) return {};
  const bool rows = contracted[0] == n;
  const array first = astype(rows ? a : b, other.dtype()), second = astype(rows ? b : a, other.dtype());
  const axes inner{rows ? n : n + 1};  // the axis of `second` that has the rank as its extent
  const auto between = [&](const array& x, const axes& xc, const axes& xb, const array& y, const axes& yc,
                           const axes& yb) {
    const dot_dimensions forward{xc, yc, xb, yb, d.preferred_element_type, d.algorithm},
        exchanged{yc, xc, yb, xb, d.preferred_element_type, d.algorithm};
    return k ? bind(*p.self, {x, y}, forward, p.where) : bind(*p.self, {y, x}, exchanged, p.where);
  };
  // [stack, free, r] or [stack, r, free]
  const array narrow = between(dropped(c, other), of_other, batch_of_other, first, contracted, batch);
  const array scaled = astype(narrow * c.attrs<low_rank_attributes>().scale, other.dtype());
  const array wide = between(scaled, {k ? narrow.rank() - 1 : n}, batch, second, inner, batch);
  return between(other, of_other, batch_of_other, w, contracted, batch) + wide;
}
}  // namespace detail

inline constexpr op low_rank_update_p{
    .name = "low_rank_update",
    .attributes = schema<low_rank_attributes>,
    .infer = [](const call& c) -> array_type {
      const array &w = c[0], &a = c[1], &b = c[2];
      if (!is_floating(w.dtype()) || w.rank() < 2) return c.fail("low_rank_update: w", w.type(), "a matrix of floats");
      bool fit = is_floating(a.dtype()) && is_floating(b.dtype()) && a.rank() == w.rank() && b.rank() == w.rank();
      for (int i = 0; fit && i < w.rank() - 1; ++i)
        fit = a.extent(i) == w.extent(i) && (b.extent(i) == w.extent(i) || i == w.rank() - 2);
      if (!fit || b.extent(-1) != w.extent(-1) || b.extent(-2) != a.extent(-1))
        return c.fail("low_rank_update: factors", message(a.type()) << " and " << b.type(),
                      message("[..., in, r] and [..., r, out] for ") << w.type());
      shape of_keys = detail::leading(w);  // [stack, in]
      of_keys[-1] = 2;
      if (c.count > 3 && !(c[3].dtype() == u32 && c[3].shape() == of_keys))
        return c.fail("low_rank_update: keys", c[3].type(), array_type{u32, false, of_keys});
      return {w.dtype(), false, w.shape()};
    },
    .compose = [](const call& c) -> arrays {
      return {detail::low_rank_sum(c[0], c[1], c[2], c.attrs<low_rank_attributes>().scale)};
    },
    .in_product = [](const call& c, const call& p, int k) -> array { return detail::product_with_low_rank(c, p, k); },
};

/// w + scale * a b. In a trace, a product with it is x w + scale * (x a) b, so neither that program nor its gradient has an
/// array of the size of w for the update, if a and b have fewer elements than w.
///
/// shapes  w [..., in, out], a [..., in, r], b [..., r, out] -> as w; leading axes are a stack of matrices
/// dtypes  floats; that of w. In x (w + scale * a b) all products have the dtype of x, and elsewhere a b is carried in f32 at least
/// errors  "low_rank_update: w", "low_rank_update: factors"
/// source  Hu et al. 2021, arXiv:2106.09685
constexpr array low_rank_update(const array& w, const array& a, const array& b, double scale = 1,
                                source_line l = source_line::current()) {
  return bind(described<low_rank_update_p>(), {w, a, b}, low_rank_attributes{scale}, l);
}
/// The same with dropout, for training: in x w + scale * (x a) b, each x that `a` reads is zero with probability `dropout` and else
/// divided by 1 - dropout. Only products drop anything.
///
/// shapes  keys [..., 2], a key for each matrix of a stack; a product with several of them draws by the first
/// errors  "low_rank_update: keys"
constexpr array low_rank_update(const array& w, const array& a, const array& b, double scale, double dropout,
                                const array& keys, source_line l = source_line::current()) {
  return bind(described<low_rank_update_p>(), {w, a, b, keys}, low_rank_attributes{scale, dropout}, l);
}

}  // namespace tokamax
