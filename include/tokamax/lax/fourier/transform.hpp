// tokamax/lax/fourier/transform.hpp: Fourier transforms along the last axis as ops, whose meaning is products of matrices.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/lax/fourier/transform.cpp
#pragma once

#include <tokamax/lax/dot_general.hpp>            // dot_general
#include <tokamax/lax/elementwise/division.hpp>   // rem
#include <tokamax/lax/fourier/complex_parts.hpp>  // complex_parts
#include <tokamax/lax/indexing/slice.hpp>         // pad, slice_in_dim
#include <tokamax/lax/shapes/concatenate.hpp>     // concatenate
#include <tokamax/lax/shapes/reverse.hpp>         // reverse
#include <tokamax/lax/shapes/transpose.hpp>       // swapaxes

namespace tokamax {

namespace detail {

/// e^(-2 pi i p / n) for mirrored numbers p, which are reduced before they become angles.
constexpr complex_parts roots_of_one(const array& p, std::int64_t n, dtype type) {
  const array mirrored = rem(p, array(static_cast<double>(n), {i32, false, {}}));
  const array angle = astype(mirrored, type) * (-6.283185307179586476925 / static_cast<double>(n));
  return {cos(angle), sin(angle)};
}
/// x [..., r, m] with the matrix of the transform of length r applied to the axis before the last one.
constexpr complex_parts small_transform(const complex_parts& x, std::int64_t r, source_line l) {
  const array row = iota(i32, {r, r}, 0), column = iota(i32, {r, r}, 1);
  const complex_parts w = roots_of_one(row * column, r, x.re.dtype());
  const int axis = x.re.rank() - 2;
  const auto product = [&](const array& matrix, const array& v) {  // [..., m, r]
    dot_dimensions d;
    d.lhs_contracting = {axis};
    d.rhs_contracting = {0};
    return dot_general(v, matrix, d, l);
  };
  const array re = product(w.re, x.re) - product(w.im, x.im), im = product(w.re, x.im) + product(w.im, x.re);
  return {swapaxes(re, -1, -2, l), swapaxes(im, -1, -2, l)};
}
constexpr shape with_last(const array& x, std::initializer_list<std::int64_t> last) {
  shape s = leading(x);
  for (std::int64_t e : last) s.push_back(e);
  return s;
}
constexpr complex_parts reshaped(const complex_parts& x, const shape& s, source_line l) {
  return {reshape(x.re, s, l), reshape(x.im, s, l)};
}
/// A divisor of up to 64 that leaves as much, so that two products are enough, or else the largest one up to 32; 1 if n is a
/// larger prime.
constexpr std::int64_t radix_of(std::int64_t n) {
  for (std::int64_t r = 32; r <= 64; ++r)
    if (n % r == 0 && n / r <= 64) return r;
  for (std::int64_t r = n < 32 ? n : 32; r > 1; --r)
    if (n % r == 0) return r;
  return 1;
}
/// j^2 mod n for 0 <= j < n < 2^20, without numbers beyond i32: j^2 = j (1024 a + b).
constexpr array square_modulo(const array& j, std::int64_t n) {
  const array count(static_cast<double>(n), {i32, false, {}}), high = quotient(j, array(1024)),
                                                               low = j - high * array(1024);
  const array first = rem(rem(j * high, count) * array(1024), count);
  return rem(first + rem(j * low, count), count);
}
constexpr complex_parts transform(const complex_parts& x, source_line l);

/// Bluestein's way for a prime length n: with jk = (j^2 + k^2 - (j - k)^2) / 2 the transform is a convolution, whose length
/// may be a power of two from 2 n - 1 on.
constexpr complex_parts chirp_transform(const complex_parts& x, source_line l) {
  const std::int64_t n = x.re.extent(x.re.rank() - 1);
  std::int64_t length = 1;
  while (length < 2 * n - 1) length *= 2;
  const array j = iota(i32, {n}, 0);
  // e^(-pi i j^2 / n). The square is reduced as j (j mod 2 n), in two steps, so that it fits i32.
  const complex_parts chirp = roots_of_one(square_modulo(j, 2 * n), 2 * n, x.re.dtype());
  const auto padded = [&](const array& v) {
    shape low, high;
    for (int i = 0; i < v.rank(); ++i) {
      low.push_back(0);
      high.push_back(i + 1 == v.rank() ? length - n : 0);
    }
    return pad(v, array(0.0, {v.dtype(), false, {}}), low, high, {}, l);
  };
  const complex_parts turned = x * chirp;
  const complex_parts window = conj(chirp);
  const auto around = [&](const array& v) {  // v_|k| for k from -(n - 1) on: negative places stand at the end
    const array back = reverse(slice_in_dim(v, 1, n, 0, l), {0}, l);
    return concatenate({v, zeros({length - 2 * n + 1}, v.dtype()), back}, 0, l);
  };
  const complex_parts a = transform({padded(turned.re), padded(turned.im)}, l);
  const complex_parts b = transform({around(window.re), around(window.im)}, l);
  const complex_parts both = conj(transform(conj(a * b), l));
  const double share = 1.0 / static_cast<double>(length);
  const complex_parts y{slice_in_dim(both.re, 0, n, -1, l) * share, slice_in_dim(both.im, 0, n, -1, l) * share};
  return y * chirp;
}
/// Cooley and Tukey's way for n = r m: transforms of length r, a turn of each result, then transforms of length m.
constexpr complex_parts transform(const complex_parts& x, source_line l) {
  const std::int64_t n = x.re.extent(x.re.rank() - 1), r = n <= 64 ? n : radix_of(n);
  if (n <= 1) return x;
  if (r == 1) return chirp_transform(x, l);
  const std::int64_t m = n / r;
  const shape split = with_last(x.re, {r, m});
  complex_parts y = small_transform(reshaped(x, split, l), r, l);  // [..., r, m]
  if (m == 1) return reshaped(y, x.re.shape(), l);
  y = transform(y * roots_of_one(iota(i32, {r, m}, 0) * iota(i32, {r, m}, 1), n, x.re.dtype()), l);
  return reshaped({swapaxes(y.re, -1, -2, l), swapaxes(y.im, -1, -2, l)}, x.re.shape(), l);
}
/// Can numbers of this type be transformed?
constexpr bool has_transform(const array_type& x) {
  return x.shape.rank() > 0 && (x.dtype == f32 || x.dtype == f64) && x.shape[-1] < (1 << 19);
}
/// 5 n log2 n for each complex row of n, and half of it for real ones.
constexpr op_cost transform_cost(const call& c) {
  const std::int64_t n = c[0].extent(-1);
  const int halvings = n > 1 ? static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n - 1))) : 0;
  return {.flops = 2.5 * c.count * static_cast<double>(c[0].size()) * halvings};
}
constexpr arrays bind_transform(const complex_parts& x, location where);
}  // namespace detail

/// The real and imaginary parts of the transforms of rows [..., n], from theirs. The matrix of the transform is symmetric. So
/// the transpose goes through conjugates, which exchanging the parts of operands and results gives as well.
inline constexpr op fft_p{
    .name = "fft",
    .cost = {.operations = detail::transform_cost},
    .infer_all = [](const call& c) -> types {
      const array_type x = c[0].type(), y = c[1].type();
      if (!detail::has_transform(x) || !(x.shape == y.shape) || x.dtype != y.dtype)
        c.fail("fft: operand", y, message("f32[..., n] or f64[..., n] like ") << x);
      return {{x.dtype, false, x.shape}, {x.dtype, false, x.shape}};
    },
    .compose = [](const call& c) -> arrays {
      const complex_parts y = detail::transform({c[0], c[1]}, {});
      return {y.re, y.im};
    },
    .vjp = [](const call& c) -> arrays {
      const auto ct = [&](int k) { return c.cotangents[k].exists() ? c.cotangents[k] : zeros_like(c[k]); };
      const arrays back = detail::bind_transform({ct(1), ct(0)}, c.where);
      return {back[1], back[0]};
    },
    .jvp = [](const call& c) -> arrays {
      const auto t = [&](int k) { return c.tangents[k].exists() ? c.tangents[k] : zeros_like(c[k]); };
      return detail::bind_transform({t(0), t(1)}, c.where);
    },
    .batch = [](const call& c) -> arrays {
      return detail::bind_transform({with_batch_axis(c, 0), with_batch_axis(c, 1)}, c.where);
    },
    .kernels = kernels_of<fft_p>,
};
namespace detail {
constexpr arrays bind_transform(const complex_parts& x, location where) {
  const array operands[] = {x.re, x.im};
  return bind_all(described<fft_p>(), operands, 2, {}, where);
}
}  // namespace detail

/// The parts of the first n / 2 + 1 elements of the transforms of real rows [..., n].
inline constexpr op rfft_p{
    .name = "rfft",
    .cost = {.operations = detail::transform_cost},
    .infer_all = [](const call& c) -> types {
      array_type x = c[0].type();
      if (!detail::has_transform(x) || x.shape[-1] == 0)
        c.fail("rfft: operand", x, "f32[..., n] or f64[..., n] with elements");
      if (x.shape.rank() > 0) x.shape[-1] = x.shape[-1] / 2 + 1;
      return {{x.dtype, false, x.shape}, {x.dtype, false, x.shape}};
    },
    .compose = [](const call& c) -> arrays {
      const arrays y = detail::bind_transform({c[0], zeros_like(c[0])}, c.where);
      const std::int64_t half = c[0].extent(-1) / 2 + 1;
      return {slice_in_dim(y[0], 0, half, -1), slice_in_dim(y[1], 0, half, -1)};
    },
    .batch = [](const call& c) -> arrays { return bind_all(*c.self, with_batch_axis(c).data(), 1, {}, c.where); },
    .kernels = kernels_of<rfft_p>,
};

}  // namespace tokamax
