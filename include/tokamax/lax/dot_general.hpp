// tokamax/lax/dot_general.hpp: the contraction of two arrays over any axes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/core/attributes/dot_algorithm.hpp>  // dot_algorithm
#include <tokamax/lax/elementwise/arithmetic.hpp>     // +
#include <tokamax/lax/shapes/transpose.hpp>           // transpose

namespace tokamax {

/// Which axes of the two operands are contracted, and which are batched together.
struct dot_dimensions {
  axes lhs_contracting{}, rhs_contracting{}, lhs_batch{}, rhs_batch{};
  dtype preferred_element_type = dtype::none;  ///< the dtype of the result and of the sums; none: that of the operands
  dot_algorithm algorithm = dot_algorithm::unspecified;
};

constexpr array dot_general(const array& lhs, const array& rhs, const dot_dimensions& dimensions,
                            source_line l = source_line::current());

namespace detail {
constexpr axes merged(const axes& a, const axes& b) {
  axes m = a;
  for (std::int64_t v : b) m.push_back(v);
  return m;
}
constexpr axes range_axes(int from, int n) {
  axes a;
  for (int i = 0; i < n; ++i) a.push_back(from + i);
  return a;
}
/// The cotangent of one operand, `mine`, from the other operand and the cotangent of the result. It is a product with the
/// axes [batch, free axes of mine, contracted axes of mine], or, with its operands exchanged, [batch, contracted, free].
/// If one of these orders needs no transpose, that one is used.
constexpr array dot_transpose(const array& mine, const array& other, const array& ct, const axes& contract,
                              const axes& batch, const axes& other_contract, const axes& other_batch, bool mine_is_lhs,
                              dot_algorithm algorithm) {
  const axes free = other_axes(mine.rank(), merged(contract, batch));
  const axes other_free = other_axes(other.rank(), merged(other_contract, other_batch));
  const int nb = batch.rank(), nf = free.rank(), no = other_free.rank();
  const axes ct_batch = range_axes(0, nb), ct_other = range_axes(mine_is_lhs ? nb + nf : nb, no);
  // The contracted axes of `other` become free ones here, in increasing order. These are the axes of `mine` in that order.
  axes contract_order;
  for (std::int64_t a : other_axes(other.rank(), merged(other_free, other_batch)))
    for (int i = 0; i < other_contract.rank(); ++i)
      if (other_contract[i] == a) contract_order.push_back(contract[i]);
  const axes ct_first = merged(merged(batch, free), contract_order),
             other_first = merged(merged(batch, contract_order), free);
  const bool exchange = other_first == iota_axes(mine.rank());
  const axes produced = exchange ? other_first : ct_first;
  const array g = exchange
                      ? dot_general(other, ct, {other_free, ct_other, other_batch, ct_batch, dtype::none, algorithm})
                      : dot_general(ct, other, {ct_other, other_free, ct_batch, other_batch, dtype::none, algorithm});
  axes back = produced;  // back[i] is the axis of g that is axis i of `mine`
  for (int i = 0; i < produced.rank(); ++i) back[static_cast<int>(produced[i])] = i;
  const array y = transpose(g, back);
  return convert_element_type(y, mine.dtype(), y.type().weak);  // y may have a preferred dtype
}
/// Do ops of several products take this dtype without converting it first?
constexpr bool has_products(dtype t) { return t == f32 || t == bf16 || t == f64; }
/// The format in which arrays of this dtype are multiplied. bf16 stays bf16, unless f32 is requested.
constexpr dot_algorithm algorithm_of(dtype type, dot_algorithm asked) {
  return type == bf16 && asked != dot_algorithm::f32_f32_f32 ? dot_algorithm::bf16_bf16_f32 : asked;
}
/// The cost of products with this many operations.
constexpr op_cost product_cost(double flops, dtype operands, dot_algorithm asked) {
  return {flops, algorithm_of(operands, asked) == dot_algorithm::bf16_bf16_f32 ? flops : 0};
}
/// A product of which an operand is the result of an op with `in_product`, by the rule of that op.
constexpr array product_without_operand(const call& c) {
  for (int k = 0; k < 2 && c.trace; ++k) {
    const node n = (*c.trace)[c[k].id()];
    if (!n.op || !n.op->in_product) continue;
    arrays in;
    for (int i = 0; i < n.operand_count; ++i) {
      const int id = c.trace->operand(n, i);
      in.push_back(array(c.trace, id, (*c.trace)[id].type));
    }
    const words w(c.trace->words_of(n), static_cast<std::size_t>(n.word_count));
    const array y = n.op->in_product(call_of(*n.op, in, w, c.trace, n.where), c, k);
    if (y.exists()) return y;
  }
  return {};
}
/// May products of `operand` be summed in `sum`? It must be of the same kind and at least as wide.
constexpr bool sums_in(dtype operand, dtype sum) {
  return info(operand).kind == info(sum).kind && bits_of(operand) <= bits_of(sum);
}
/// Does the operand have all its contracting and batch axes, each of them once, and as many as the other operand?
constexpr bool paired(int rank, const axes& contracting, const axes& batch, const axes& of_other,
                      const axes& batch_of_other) {
  const axes all = merged(contracting, batch);
  bool ok = contracting.rank() == of_other.rank() && batch.rank() == batch_of_other.rank();
  ok = ok && all.rank() <= rank && other_axes(rank, all).rank() + all.rank() == rank;
  for (int i = 0; ok && i < all.rank(); ++i) ok = all[i] >= 0 && all[i] < rank;
  return ok;
}
/// The requirement of a message, such as "inner extents equal: [.., 3] x [3, ..]".
constexpr message equal_extents(const char* which, const array& a, std::int64_t on_a, const array& b,
                                std::int64_t on_b) {
  auto place = [](message& t, std::int64_t extent, std::int64_t axis, int rank) {
    t << (axis > 0 ? "[.., " : "[");
    t.extent(extent) << (axis + 1 < rank ? ", ..]" : "]");
  };
  message t(which);
  t << " extents equal: ";
  const std::int64_t n = a.extent(static_cast<int>(on_a));
  place(t, n, on_a, a.rank());
  t << " x ";
  place(t, n, on_b, b.rank());
  return t;
}
}  // namespace detail

inline constexpr op dot_general_p{
    .name = "dot_general",
    .stablehlo = "stablehlo.dot_general",
    .precision = {.product_operands = 2},
    .cost = {.operations = [](const call& c) -> op_cost {
      const auto d = c.attrs<dot_dimensions>();
      double shared = 1;  // extents that both operands have
      for (std::int64_t i : detail::merged(d.lhs_contracting, d.lhs_batch))
        shared *= static_cast<double>(c[0].extent(static_cast<int>(i)));
      const double flops =
          shared > 0 ? 2.0 * static_cast<double>(c[0].size()) * static_cast<double>(c[1].size()) / shared : 0;
      return detail::product_cost(flops, c[0].dtype(), d.algorithm);
    }},
    .attributes = schema<dot_dimensions>,
    .infer = [](const call& c) -> array_type {
      const auto d = c.attrs<dot_dimensions>();
      const array &a = c[0], &b = c[1];
      if (a.dtype() != b.dtype()) return c.fail("dot_general: dtypes", b.type(), message("the dtype of ") << a.type());
      if (a.dtype() == bool_) return c.fail("dot_general: dtypes", a.type(), "numbers");
      if (!detail::paired(a.rank(), d.lhs_contracting, d.lhs_batch, d.rhs_contracting, d.rhs_batch))
        return c.fail("dot_general: axes", message() << d.lhs_contracting << d.lhs_batch,
                      message("axes of ") << a.type());
      if (!detail::paired(b.rank(), d.rhs_contracting, d.rhs_batch, d.lhs_contracting, d.lhs_batch))
        return c.fail("dot_general: axes", message() << d.rhs_contracting << d.rhs_batch,
                      message("axes of ") << b.type());
      for (int i = 0; i < d.lhs_contracting.rank(); ++i)
        if (a.extent(static_cast<int>(d.lhs_contracting[i])) != b.extent(static_cast<int>(d.rhs_contracting[i])))
          return c.fail("matmul: inner extents", b.type(),
                        detail::equal_extents("inner", a, d.lhs_contracting[i], b, d.rhs_contracting[i]));
      for (int i = 0; i < d.lhs_batch.rank(); ++i)
        if (a.extent(static_cast<int>(d.lhs_batch[i])) != b.extent(static_cast<int>(d.rhs_batch[i])))
          return c.fail("dot_general: batch extents", b.type(),
                        detail::equal_extents("batch", a, d.lhs_batch[i], b, d.rhs_batch[i]));
      array_type t{a.dtype(), a.type().weak && b.type().weak, {}};
      if (d.preferred_element_type != dtype::none) {
        t = {d.preferred_element_type, false, {}};
        if (!detail::sums_in(a.dtype(), t.dtype))
          return c.fail("dot_general: preferred type", name(t.dtype),
                        message(name(a.dtype())) << ", or wider of its kind");
      }
      for (std::int64_t i : d.lhs_batch) t.shape.push_back(a.extent(static_cast<int>(i)));
      for (std::int64_t i : other_axes(a.rank(), detail::merged(d.lhs_contracting, d.lhs_batch)))
        t.shape.push_back(a.extent(static_cast<int>(i)));
      for (std::int64_t i : other_axes(b.rank(), detail::merged(d.rhs_contracting, d.rhs_batch)))
        t.shape.push_back(b.extent(static_cast<int>(i)));
      return t;
    },
    .vjp = [](const call& c) -> arrays {
      const auto d = c.attrs<dot_dimensions>();
      return {c.needs(0) ? detail::dot_transpose(c[0], c[1], c.ct(), d.lhs_contracting, d.lhs_batch, d.rhs_contracting,
                                                 d.rhs_batch, true, d.algorithm)
                         : array(),
              c.needs(1) ? detail::dot_transpose(c[1], c[0], c.ct(), d.rhs_contracting, d.rhs_batch, d.lhs_contracting,
                                                 d.lhs_batch, false, d.algorithm)
                         : array()};
    },
    .jvp = [](const call& c) -> arrays {
      const auto d = c.attrs<dot_dimensions>();
      const array &ta = c.tangents[0], &tb = c.tangents[1];
      if (!tb.exists()) return dot_general(ta, c[1], d);
      if (!ta.exists()) return dot_general(c[0], tb, d);
      return dot_general(ta, c[1], d) + dot_general(c[0], tb, d);
    },
    .batch = [](const call& c) -> arrays {
      auto d = c.attrs<dot_dimensions>();
      auto shift = [](axes& a) { a = detail::shifted(a); };
      if (c.batched(0)) shift(d.lhs_contracting), shift(d.lhs_batch);
      if (c.batched(1)) shift(d.rhs_contracting), shift(d.rhs_batch);
      if (c.batched(0) && c.batched(1)) {
        d.lhs_batch = detail::merged({0}, d.lhs_batch);
        d.rhs_batch = detail::merged({0}, d.rhs_batch);
        return dot_general(c[0], c[1], d);
      }
      // One operand carries the axis: it stays a free axis and is then moved to the front.
      const array y = dot_general(c[0], c[1], d);
      const int free_lhs = c[0].rank() - d.lhs_contracting.rank() - d.lhs_batch.rank();
      const int from = c.batched(0) ? d.lhs_batch.rank() : d.lhs_batch.rank() + free_lhs;
      axes p{from};
      for (int i = 0; i < y.rank(); ++i)
        if (i != from) p.push_back(i);
      return transpose(y, p);
    },
    .simplify = [](const call& c) -> array { return detail::product_without_operand(c); },
    .kernels = kernels_of<dot_general_p>,
};

/// Contracts two arrays: result axes are [batch, lhs free, rhs free].
///
/// shapes  contracted and batched extents agree pairwise
/// dtypes  operands are promoted to one dtype. The result has that dtype, or a wider one of its kind that
///         `preferred_element_type` names, such as i32 for i8. bf16 is always summed in f32, and so are f32 operands that
///         `algorithm` rounds to bf16. Other 16- and 8-bit floats are multiplied in f32. Integers wrap around. Of truth
///         values, a product is `and` and a sum is `or`
/// errors  "dot_general: axes" that an operand does not have or has twice, "matmul: inner extents",
///         "dot_general: batch extents", "dot_general: preferred type"
/// source  jax.lax.dot_general, which also takes a preferred type of another kind
constexpr array dot_general(const array& lhs, const array& rhs, const dot_dimensions& dimensions, source_line l) {
  const promoted p = promote({lhs.dtype(), lhs.type().weak}, {rhs.dtype(), rhs.type().weak});
  if (p.type == dtype::none) {
    const array both[2] = {lhs, rhs};
    detail::refuse_promotion(described<dot_general_p>(), both, 2, lhs.dtype(), rhs.dtype(), l);
    return lhs;
  }
  if (p.type == bool_) {  // a product of truth values is `and`, and a sum is `or`
    dot_dimensions d = dimensions;
    const bool truth = d.preferred_element_type == dtype::none || d.preferred_element_type == bool_;
    const dtype counted = truth ? i32 : d.preferred_element_type;
    d.preferred_element_type = dtype::none;
    const array y = dot_general(convert_element_type(lhs, counted), convert_element_type(rhs, counted), d, l);
    return truth ? convert_element_type(y, bool_) : y;
  }
  return bind(described<dot_general_p>(),
              {convert_element_type(lhs, p.type, p.weak), convert_element_type(rhs, p.type, p.weak)}, dimensions, l);
}

}  // namespace tokamax
