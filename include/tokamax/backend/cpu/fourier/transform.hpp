// tokamax/backend/cpu/fourier/transform.hpp: Fourier transforms of rows, shared by threads.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/lax/fourier/fft.cpp
#pragma once

#include <tokamax/backend/cpu/fourier/plan.hpp>    // plan_of
#include <tokamax/backend/cpu/vector/threads.hpp>  // parallel_for, scratch

#include <algorithm>  // fill_n, min, max
#include <array>      // array
#include <utility>    // swap

namespace tokamax::cpu_backend::fourier {

namespace detail {
/// Names of scratch memory.
template <class T>
struct of_steps;
template <class T>
struct of_convolution;
template <class T>
struct of_block;
template <class T>
struct of_real;

template <class T>
pair_of<const T> constant(pair_of<T> x) noexcept {
  return {x.re, x.im};
}
template <class T>
pair_of<T> offset(pair_of<T> x, std::int64_t by) noexcept {
  return {x.re + by, x.im + by};
}
/// Arrays of n complex numbers of the calling thread. The distance of two arrays of parts is no multiple of a page, because
/// caches keep few lines of equal places in pages, and passes read and write all arrays at once.
template <class Name, class T, std::size_t Count = 1>
std::array<pair_of<T>, Count> scratch_pairs(std::int64_t n) {
  constexpr std::int64_t apart = 1088 / sizeof(T);
  T* const memory = scratch<Name, T>(2 * Count * (n + apart));
  std::array<pair_of<T>, Count> all;
  for (std::size_t i = 0; i < Count; ++i) {
    T* const re = memory + 2 * static_cast<std::int64_t>(i) * (n + apart);
    all[i] = {re, re + n + apart};
  }
  return all;
}

template <class T>
void run_step(const plan<T>& of, const step& at, pair_of<const T> x, pair_of<T> y) noexcept {
  const T* const turns = of.table.data() + at.turns;
  const auto run = [&]<int R>(std::integral_constant<int, R>) {
    if (at.m > 1)
      pass<R, true>(x, y, at.m, at.s, turns);
    else
      pass<R, false>(x, y, 1, at.s, turns);
  };
  switch (at.radix) {
    case 2:
      return run(std::integral_constant<int, 2>{});
    case 3:
      return run(std::integral_constant<int, 3>{});
    case 4:
      return run(std::integral_constant<int, 4>{});
    case 5:
      return run(std::integral_constant<int, 5>{});
    case 8:
      return run(std::integral_constant<int, 8>{});
    default:
      return pass_of_prime(x, y, at.radix, at.m, at.s, turns, of.table.data() + at.roots);
  }
}
/// All steps from x to y, through two arrays of as many elements.
template <class T>
void run_steps(const plan<T>& of, pair_of<const T> x, pair_of<T> a, pair_of<T> b, pair_of<T> y) noexcept {
  for (std::size_t i = 0; i < of.steps.size(); ++i) {
    const pair_of<T> to = i + 1 == of.steps.size() ? y : a;
    run_step(of, of.steps[i], x, to);
    x = constant(to);
    std::swap(a, b);
  }
}

/// A row by itself, which has a first pass. With Pairs, x.re has the parts of a number beside each other.
template <bool Pairs = false, class T>
void transform_row(const plan<T>& of, pair_of<const T> x, pair_of<T> y) {
  const auto [a, b] = scratch_pairs<of_steps<T>, T, 2>(of.n);
  first_pass<Pairs>(x, a, of.n / of.lanes_of_a_row, of.table.data());
  run_steps(of, constant(a), b, a, y);
}

/// A row as a convolution. A row without imaginary parts has none.
template <class T>
void convolve_row(const plan<T>& of, pair_of<const T> x, pair_of<T> y, std::int64_t kept) {
  const std::int64_t n = of.n, length = of.inner->n;
  const auto [a, b] = scratch_pairs<of_convolution<T>, T, 2>(length);
  for (std::int64_t j = 0; j < n; ++j) {
    const T re = of.chirp[2 * j], im = of.chirp[2 * j + 1], v = x.im ? x.im[j] : T(0);
    a.re[j] = x.re[j] * re - v * im;
    a.im[j] = x.re[j] * im + v * re;
  }
  std::fill_n(a.re + n, length - n, T(0)), std::fill_n(a.im + n, length - n, T(0));
  transform_row(*of.inner, constant(a), b);
  const T *const re = of.filter.data(), *const im = re + length;
  for (std::int64_t j = 0; j < length; ++j) {
    a.re[j] = b.re[j] * re[j] - b.im[j] * im[j];
    a.im[j] = b.re[j] * im[j] + b.im[j] * re[j];
  }
  transform_row(*of.inner, {a.im, a.re}, {b.im, b.re});  // the inverse, but for the scale, which the filter has
  for (std::int64_t j = 0; j < kept; ++j) {
    const T c = of.chirp[2 * j], s = of.chirp[2 * j + 1];
    y.re[j] = b.re[j] * c - b.im[j] * s;
    y.im[j] = b.re[j] * s + b.im[j] * c;
  }
}

/// y[j * y_row + i] = x[i * x_row + j] for a square of registers.
template <class T>
void turn_square(const T* x, std::int64_t x_row, T* y, std::int64_t y_row) noexcept {
  using V = xsimd::batch<T>;
  constexpr auto width = static_cast<std::int64_t>(V::size);
  V v[width];
#pragma GCC unroll 16
  for (std::int64_t i = 0; i < width; ++i) v[i] = V::load_unaligned(x + i * x_row);
  transpose_square(v);
#pragma GCC unroll 16
  for (std::int64_t i = 0; i < width; ++i) v[i].store_unaligned(y + i * y_row);
}
/// x [rows, n] -> y [n, lanes], where lanes without a row are zero.
template <class T>
void rows_to_lanes(const T* x, T* y, std::int64_t rows, std::int64_t n) noexcept {
  constexpr auto width = plan<T>::lanes_of_a_row;
  std::int64_t j = 0;
  if (rows == width)
    for (; j + width <= n; j += width) turn_square(x + j, n, y + j * width, width);
  for (; j < n; ++j)
    for (std::int64_t i = 0; i < width; ++i) y[j * width + i] = i < rows ? x[i * n + j] : T(0);
}
/// x [n, lanes] -> y [rows, n]
template <class T>
void lanes_to_rows(const T* x, T* y, std::int64_t rows, std::int64_t n) noexcept {
  constexpr auto width = plan<T>::lanes_of_a_row;
  std::int64_t j = 0;
  if (rows == width)
    for (; j + width <= n; j += width) turn_square(x + j * width, width, y + j, n);
  for (; j < n; ++j)
    for (std::int64_t i = 0; i < rows; ++i) y[i * n + j] = x[j * width + i];
}
/// As many rows as there are lanes, or fewer. The first `kept` elements of each result are written.
template <class T>
void transform_block(const plan<T>& of, pair_of<const T> x, pair_of<T> y, std::int64_t rows, std::int64_t kept) {
  const std::int64_t n = of.n, elements = n * of.lanes_of_a_row;
  const auto [a, b, c] = scratch_pairs<of_block<T>, T, 3>(elements);
  rows_to_lanes(x.re, a.re, rows, n);
  if (x.im)
    rows_to_lanes(x.im, a.im, rows, n);
  else
    std::fill_n(a.im, elements, T(0));
  run_steps(of, constant(a), b, a, c);
  const pair_of<T> found = of.steps.empty() ? a : c;
  lanes_to_rows(found.re, y.re, rows, kept), lanes_to_rows(found.im, y.im, rows, kept);
}

/// The transform of real numbers x [n] from that of half the length, whose numbers have the even elements as real parts and
/// the odd ones as imaginary parts. With their transforms E and O
///
///   Z = E + i O,  X_k = E_k + w^k O_k,  X_(h - k) = conj(E_k - w^k O_k),  w = e^(-2 pi i / n),  h = n / 2
template <class T>
void transform_real_row(const plan<T>& of, const T* x, pair_of<T> y) {
  using V = xsimd::batch<T>;
  constexpr auto width = static_cast<std::int64_t>(V::size);
  const std::int64_t h = of.n;
  const T* const turns = of.real_turns.data();
  const pair_of<T> z = scratch_pairs<of_real<T>, T>(h)[0];
  transform_row<true>(of, pair_of<const T>{x, nullptr}, z);
  const auto reversed = [](V v) { return shuffled(v, v, [](std::size_t i, std::size_t n) { return n - 1 - i; }); };
  for (std::int64_t k = 1; k <= h / 2; k += width) {
    const std::int64_t back = h - k - width + 1;
    const auto a = load_pair<V>(z, k), c = load_pair<V>(z, back);
    const lanes<V> b{reversed(c.re), -reversed(c.im)};  // conj(Z_(h - k))
    const V half(T(0.5));
    const auto e = scaled(a + b, half), o = scaled(turned_back(a - b), half);
    const auto side = o * load_pair<V>(pair_of<const T>{turns, turns + h / 2}, k - 1);
    const auto low = e + side, high = e - side;
    store_pair(y, back, lanes<V>{reversed(high.re), -reversed(high.im)});
    store_pair(y, k, low);
  }
  y.re[0] = z.re[0] + z.im[0], y.im[0] = T(0);
  y.re[h] = z.re[0] - z.im[0], y.im[h] = T(0);
}
}  // namespace detail

template <class T>
void plan<T>::add_convolution() {
  std::int64_t length = lanes_of_a_row * lanes_of_a_row;
  while (length < 2 * n - 1) length *= 2;
  inner = std::make_shared<const plan>(length);
  std::vector<double> window(static_cast<std::size_t>(4 * length));  // as two arrays, and their transforms
  double *const re = window.data(), *const im = re + length;
  const double share = 1 / static_cast<double>(length);
  for (std::int64_t j = 0; j < n; ++j) {
    const std::complex<double> v = root_of_one(j * j % (2 * n), 2 * n);
    chirp.push_back(static_cast<T>(v.real())), chirp.push_back(static_cast<T>(v.imag()));
    re[j] = v.real() * share, im[j] = -v.imag() * share;
    if (j > 0) re[length - j] = re[j], im[length - j] = im[j];
  }
  detail::transform_row(plan<double>(length), {re, im}, pair_of<double>{im + length, im + 2 * length});
  for (std::int64_t j = 0; j < 2 * length; ++j) filter.push_back(static_cast<T>(im[length + j]));
}

/// The first `kept` elements of the transforms of `rows` rows of n. x.im may be missing, for real numbers.
template <class T>
void transform_rows(pair_of<const T> x, pair_of<T> y, std::int64_t rows, std::int64_t n, std::int64_t kept) {
  const auto of = plan_of<T>(n, x.im != nullptr);
  const std::int64_t together = of->by_itself ? 1 : of->lanes_of_a_row;
  const std::int64_t units = (rows + together - 1) / together, grain = std::max<std::int64_t>(1, 8192 / (n * together));
  parallel_for((units + grain - 1) / grain, [&](std::int64_t chunk) {
    for (std::int64_t u = chunk * grain; u < std::min(units, (chunk + 1) * grain); ++u) {
      const std::int64_t r = u * together;
      const pair_of<const T> from{x.re + r * n, x.im ? x.im + r * n : nullptr};
      const pair_of<T> to = detail::offset(y, r * kept);
      if (of->inner)
        detail::convolve_row(*of, from, to, kept);
      else if (of->by_itself)
        detail::transform_row(*of, from, to);
      else
        detail::transform_block(*of, from, to, std::min(together, rows - r), kept);
    }
  });
}

/// x [rows, n] -> y [rows, n / 2 + 1], the transforms of real numbers.
template <class T>
void transform_real_rows(const T* x, pair_of<T> y, std::int64_t rows, std::int64_t n) {
  const std::int64_t h = n / 2, kept = h + 1;
  const auto of = n % 2 == 0 && h > 0 ? plan_of<T>(h) : nullptr;
  if (!of || !of->by_itself || of->inner) return transform_rows<T>({x, nullptr}, y, rows, n, kept);
  const std::int64_t grain = std::max<std::int64_t>(1, 8192 / n);
  parallel_for((rows + grain - 1) / grain, [&](std::int64_t chunk) {
    for (std::int64_t r = chunk * grain; r < std::min(rows, (chunk + 1) * grain); ++r)
      detail::transform_real_row(*of, x + r * n, detail::offset(y, r * kept));
  });
}

}  // namespace tokamax::cpu_backend::fourier
