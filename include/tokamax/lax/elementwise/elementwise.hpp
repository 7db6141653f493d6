// tokamax/lax/elementwise/elementwise.hpp: what all elementwise ops share: rules, promotion and broadcasting of operands.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/linked.hpp>                  // linked
#include <tokamax/core/bind.hpp>                    // constant_p, constant_bits, sharing_of
#include <tokamax/lax/convert.hpp>                  // convert_element_type
#include <tokamax/lax/shapes/broadcast_in_dim.hpp>  // broadcast_in_dim

namespace tokamax {

namespace detail {
/// The dtypes that an op requires, for a message, if it does not take operands of dtype t; null if it does.
constexpr const char* refusal(const op& o, dtype t) {
  if (o.dtypes == accepts::numbers && t == bool_) return "numbers";
  if (o.dtypes == accepts::integers && !is_integer(t)) return "an integer dtype";
  if (o.dtypes == accepts::floating && !is_floating(t)) return "a floating dtype";
  if (o.dtypes == accepts::booleans && t != bool_) return "bool";
  return nullptr;
}
constexpr array_type same_type_infer(const call& c) {
  array_type t = c[0].type();
  for (int i = 1; i < c.count; ++i) {
    if (!(c[i].type() == t)) return c.fail(message(c.self->name) << ": operand types", c[i].type(), t);
    t.weak = t.weak && c[i].type().weak;
  }
  if (const char* const wanted = refusal(*c.self, t.dtype))
    return c.fail(message(c.self->name) << ": dtype", t, wanted);
  return t;
}
constexpr array_type compare_infer(const call& c) {
  array_type t = same_type_infer(c);
  t.dtype = bool_;
  t.weak = false;
  return t;
}
/// The batch rule of elementwise ops: operands without a batch axis are repeated, then the op is applied.
constexpr arrays elementwise_batch_here(const call& c) {
  const arrays in = with_batch_axis(c);
  return bind_all(*c.self, in.data(), in.count(), c.attribute_words(), c.where);
}
constexpr arrays elementwise_batch(const call& c) { return linked<detail::elementwise_batch_here>(c); }
}  // namespace detail

/// Completes the descriptor of an elementwise op with the element function `F::apply` on `Arity` values. `Number` is
/// std::int64_t if the function takes integers or truth values only.
template <class F, int Arity, class Number = double>
constexpr op elementwise(op o) {
  o.memory.kind = op_kind::elementwise;
  if constexpr (std::is_same_v<Number, double>)
    o.algebra.fold = fold<F, Arity>;
  else
    o.algebra.fold_integers = fold<F, Arity, Number>;
  o.operands = Arity;
  o.spell = spelling_of<F, Arity>();
  if (!o.infer) o.infer = detail::same_type_infer;
  if (!o.batch) o.batch = detail::elementwise_batch;
  return o;
}

/// The NumPy broadcast of two shapes; `ok` is false where extents differ and neither is 1.
constexpr shape broadcast_shapes(const shape& a, const shape& b, bool& ok) {
  const int rank = a.rank() > b.rank() ? a.rank() : b.rank();
  shape s;
  for (int i = 0; i < rank; ++i) {
    const int ia = i - rank + a.rank(), ib = i - rank + b.rank();
    const std::int64_t x = ia < 0 ? 1 : a[ia], y = ib < 0 ? 1 : b[ib];
    ok = ok && (x == y || x == 1 || y == 1);
    s.push_back(x == 1 ? y : x);
  }
  return s;
}

constexpr array broadcast_to_here(const array& x, const shape& s, source_line l) {
  if (x.shape() == s) return x;
  bool ok = x.rank() <= s.rank() && are_extents(s);
  if (!ok || !(broadcast_shapes(x.shape(), s, ok) == s && ok)) {
    reject(x, l, "broadcast_to: shape", x.type(), message("extents of 1 or those of ") << s);
    return x;
  }
  if (x.is_literal() && !unmet({x.dtype(), false, s})) return x.reshaped(s);
  axes where;  // where[i] is the axis of s that axis i of x becomes
  for (int i = 0; i < x.rank(); ++i) where.push_back(i + s.rank() - x.rank());
  return broadcast_in_dim(x, s, where, l);
}
/// `x` with the shape `s`, by NumPy's rule: missing leading axes and extents of 1 are repeated.
/// errors  "broadcast_to: shape" if an extent is neither 1 nor that of `s`
constexpr array broadcast_to(const array& x, const shape& s, source_line l = source_line::current()) {
  return linked<broadcast_to_here>(x, s, l);
}

namespace detail {
/// Rejects operands whose dtypes do not promote to a common one: 8-bit floats must be converted by the user.
constexpr void refuse_promotion(const op& o, const array* x, int n, dtype a, dtype b, location where) {
  reject(x, n, where, message(o.name) << ": dtypes", message(name(a)) << " with " << name(b),
         "dtypes that promote, or astype");
}
/// Gives the operands one dtype (JAX's promotion) and one shape (NumPy's broadcasting).
template <std::size_t Count>
constexpr void unify(const op& o, array (&x)[Count], location where, int first_value = 0) {
  constexpr int N = static_cast<int>(Count);
  promoted p{x[first_value].dtype(), x[first_value].type().weak};
  for (int i = first_value + 1; i < N; ++i) {
    const promoted both = promote(p, {x[i].dtype(), x[i].type().weak});
    if (both.type == dtype::none && p.type != dtype::none && x[i].exists())
      return refuse_promotion(o, x, N, p.type, x[i].dtype(), where);
    p = both;
  }
  shape s = x[0].shape();
  bool ok = true;
  for (int i = 1; i < N; ++i) {
    if (x[i].shape() == s) continue;
    s = broadcast_shapes(s, x[i].shape(), ok);
    if (!ok) {
      reject(x, N, where, message(o.name) << ": shapes", x[i].type(),
             message("extents of 1 or those of ") << x[0].type());
      return;
    }
  }
  std::source_location l{};
  for (int i = 0; i < N; ++i) {
    if (i >= first_value && !(promoted{x[i].dtype(), x[i].type().weak} == p))
      x[i] = convert_element_type(x[i], p.type, p.weak, l);
    if (!(x[i].shape() == s)) x[i] = broadcast_to(x[i], s, l);
  }
}
/// The same for functions of real numbers: integers and truth values are converted to the floating dtype that all operands
/// promote to, so that an i32 beside a bf16 becomes a bf16.
template <std::size_t N>
constexpr void unify_in_floats(const op& o, array (&x)[N], location where) {
  promoted p{x[0].dtype(), x[0].type().weak};
  for (std::size_t i = 1; i < N; ++i) p = promote(p, {x[i].dtype(), x[i].type().weak});
  if (p.type != dtype::none)
    for (array& v : x)
      if (!is_floating(v.dtype())) v = convert_element_type(v, floating_for(p.type), p.weak, std::source_location{});
  unify(o, x, where);
}
/// A fast path for most of a trace: an op on one or two nodes of the same type, which is also that of the result. It
/// returns -1, so that the general path is taken, if all operands are constants, if the op has rules of its own, or after
/// a mistake.
constexpr int try_add_same_type(graph& g, const op& o, const array_type& type, int a, int b, location where) {
  if (g.error.failed) return -1;
  const node* const nodes = g.nodes.data();
  const bool constant_a = nodes[a].op == &constant_p, constant_b = b >= 0 && nodes[b].op == &constant_p;
  if ((constant_a && (b < 0 || constant_b)) || o.infer != same_type_infer || o.simplify || refusal(o, type.dtype))
    return -1;
  int ids[2] = {a, b};
  if (constant_a || constant_b) {
    if (const int kept = fold_neutral(g, o, ids); kept >= 0) return ids[kept];
  }
  if (o.algebra.commutative) order_operands(g, ids);
  return g.find_or_add(&o, sharing_of(o), ids, b < 0 ? 1 : 2, nullptr, 0, type, where);
}
/// The constant that `unify` makes of a weak literal beside a node, or -1 if the general path is needed.
constexpr int constant_beside(const array& node, const array& literal, location where) {
  const array_type &t = literal.type(), &type = node.type();
  if (!literal.is_literal() || !t.weak || t.shape.count != 0 || t.dtype != type.dtype || type.weak) return -1;
  return add_constant(*node.trace(), literal.literal_bits(), type, where);
}
constexpr array binary_here(const op& o, const array& a, const array& b, location where) {
  if (std::is_constant_evaluated()) {
    const array& traced = a.trace() ? a : b;
    if (graph* const g = traced.trace(); g && !g->floating) {
      const array_type& type = traced.type();
      int first = -1, second = -1;
      if (a.trace() == b.trace()) {
        if (type == b.type() && type.weak == b.type().weak) first = a.id(), second = b.id();
      } else if (a.trace()) {
        first = a.id(), second = constant_beside(a, b, where);
      } else {
        first = constant_beside(b, a, where), second = b.id();
      }
      if (first >= 0 && second >= 0) {
        if (const int id = try_add_same_type(*g, o, type, first, second, where); id >= 0) return array(g, id, type);
        const array x[2] = {array(g, first, type), array(g, second, type)};
        return emit_one(*g, o, x, 2, words{}, where);
      }
    }
  }
  array x[2] = {a, b};
  unify(o, x, where);
  return bind_one(o, x, 2, words{}, where);
}
constexpr array binary(const op& o, const array& a, const array& b, location where) {
  return linked<detail::binary_here>(o, a, b, where);
}
constexpr array unary(const op& o, const array& a, location where) {
  if (__builtin_is_constant_evaluated() && a.trace() && !a.trace()->floating) {
    const int id = try_add_same_type(*a.trace(), o, a.type(), a.id(), -1, where);
    if (id >= 0) return array(a.trace(), id, a.type());
  }
  return bind_one(o, &a, 1, words{}, where);
}
/// Converts integers and booleans to f32, and those of 64 bits to f64, as jax.numpy's functions of real numbers do.
constexpr array in_floats(const array& a) {
  if (is_floating(a.dtype())) return a;
  return convert_element_type(a, floating_for(a.dtype()), a.type().weak);
}
constexpr array float_unary_here(const op& o, const array& a, location where) { return unary(o, in_floats(a), where); }
constexpr array float_unary(const op& o, const array& a, location where) {
  return linked<detail::float_unary_here>(o, a, where);
}
/// Is `a` the constant `v` in every element?
constexpr bool is_constant(const array& a, double v) {
  if (a.is_literal()) return a.literal() == v;
  if (!a.trace()) return false;
  const graph& g = *a.trace();
  const node& n = g.nodes[a.id()];
  return n.op == &constant_p && as_double(constant_bits(g, n), n.type.dtype) == v;
}
}  // namespace detail

}  // namespace tokamax
