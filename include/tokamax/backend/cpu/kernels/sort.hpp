// tokamax/backend/cpu/kernels/sort.hpp: sorting as integers, with the order of a key in the high bits and its position below.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/cpu/device.hpp>            // cpu_tag
#include <tokamax/backend/cpu/vector/lanes.hpp>      // dispatch
#include <tokamax/backend/cpu/vector/network.hpp>    // sort_columns
#include <tokamax/backend/cpu/vector/threads.hpp>    // parallel_for, scratch
#include <tokamax/backend/cpu/vector/transpose.hpp>  // transpose_square
#include <tokamax/lax/sort.hpp>                      // sort_p
#include <tokamax/runtime/kernel.hpp>                // kernel_arguments

#include <algorithm>  // sort, min, max, clamp
#include <array>      // array
#include <bit>        // bit_cast
#include <limits>     // numeric_limits
#include <utility>    // exchange, swap

namespace tokamax {

namespace cpu_backend::detail {

/// An unsigned integer that is ordered like x. Both zeros give the same number, and every NaN gives the largest one. For a
/// float this is its bits, with the sign flipped for positive numbers and all bits flipped for negative ones.
template <class T>
auto order_of(T x) noexcept {
  if constexpr (std::is_integral_v<T>) {
    using bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
    return static_cast<bits>(x) ^ (std::is_signed_v<T> ? bits{1} << (8 * sizeof(bits) - 1) : bits{});
  } else if constexpr (!std::is_floating_point_v<T>) {
    return order_of(static_cast<float>(x));
  } else {
    using bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
    constexpr bits sign = bits{1} << (8 * sizeof(bits) - 1);
    if (x != x) return ~bits{};
    const auto b = std::bit_cast<bits>(x + T(0));  // -0 becomes 0
    return b & sign ? ~b : b | sign;
  }
}

/// Sorts by the upper 32 bits, by counting 8 bits at a time. The order of equal ones stays. Returns the array with the
/// result, which is `a` or `spare`.
inline std::uint64_t* radix_sort(std::uint64_t* a, std::uint64_t* spare, std::int64_t n) noexcept {
  for (int shift = 32; shift < 64; shift += 8) {
    std::array<std::int64_t, 257> start{};
    for (std::int64_t i = 0; i < n; ++i) ++start[(a[i] >> shift & 255) + 1];
    if (start[(a[0] >> shift & 255) + 1] == n) continue;  // all have the same digit
    for (std::size_t b = 0; b < 256; ++b) start[b + 1] += start[b];
    for (std::int64_t i = 0; i < n; ++i) spare[start[a[i] >> shift & 255]++] = a[i];
    std::swap(a, spare);
  }
  return a;
}

struct sort_items;

/// Sorts one line of keys. The low half of items[i] is the position of the element that comes i-th. Positions are part of
/// the numbers that are sorted, so every method is stable.
template <class T>
const std::uint64_t* sorted_positions(const T* key, std::int64_t n, std::int64_t stride, bool descending) {
  auto* items = scratch<sort_items, std::uint64_t>(2 * n);  // two arrays of 64-bit items
  using bits = decltype(order_of(T{}));
  // Descending order flips the bits of keys, so that equal keys still keep their order.
  const bits turn = descending ? ~bits{} : bits{};
  if constexpr (sizeof(bits) == 8) {
    // 64-bit keys do not fit beside positions, so positions are sorted by keys that are stored apart.
    std::uint64_t* const order = items + n;
    for (std::int64_t i = 0; i < n; ++i) {
      items[i] = static_cast<std::uint64_t>(i);
      order[i] = order_of(key[i * stride]) ^ turn;
    }
    std::sort(items, items + n, [order](std::uint64_t a, std::uint64_t b) {
      return order[a] < order[b] || (order[a] == order[b] && a < b);
    });
  } else {
    for (std::int64_t i = 0; i < n; ++i)
      items[i] = static_cast<std::uint64_t>(order_of(key[i * stride]) ^ turn) << 32 | static_cast<std::uint64_t>(i);
    if (n >= 512) return radix_sort(items, items + n, n);
    std::sort(items, items + n);
  }
  return items;
}

/// Sorts numbers by counting 8 bits at a time, of all digits at once. Returns the array with the result, which is `a` or `spare`.
inline std::uint32_t* radix_sort(std::uint32_t* a, std::uint32_t* spare, std::int64_t n) noexcept {
  std::array<std::array<std::uint32_t, 256>, 4> places{};
  for (std::int64_t i = 0; i < n; ++i)
    for (std::size_t d = 0; d < 4; ++d) ++places[d][a[i] >> 8 * d & 255];
  for (std::size_t d = 0; d < 4; ++d) {
    auto& place = places[d];
    if (place[a[0] >> 8 * d & 255] == n) continue;  // all have the same digit
    for (std::uint32_t before = 0; auto& p : place) before += std::exchange(p, before);
    for (std::int64_t i = 0; i < n; ++i) spare[place[a[i] >> 8 * d & 255]++] = a[i];
    std::swap(a, spare);
  }
  return a;
}

/// The number of 32 bits with this order; 0 for both zeros, and some NaN for all of them.
template <class T>
T of_order(std::uint32_t order) noexcept {
  constexpr std::uint32_t sign = 0x80000000u;
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(std::is_signed_v<T> ? order ^ sign : order);
  else
    return std::bit_cast<T>(order & sign ? order ^ sign : ~order);
}

struct sort_words;
struct sort_counts;

/// What a line has besides numbers that one order tells apart: zeros of both signs have one order, and so do all NaN.
struct equal_orders {
  bool nan = false, negative_zero = false;

  template <class T>
  void add(T x) noexcept {
    if constexpr (std::is_floating_point_v<T>) {
      nan |= x != x;
      negative_zero |= std::bit_cast<std::uint32_t>(x) == 0x80000000u;
    }
  }
};
/// Writes those elements of a sorted line again, in the order in which they stand in the line.
template <class T>
void restore_equal(const T* line, T* out, std::int64_t n, std::int64_t stride, equal_orders which) noexcept {
  const auto in_order_of_line = [&](auto is) {
    std::int64_t to = 0;
    while (!is(out[to * stride])) ++to;
    for (std::int64_t i = 0; i < n; ++i)
      if (const T x = line[i * stride]; is(x)) out[to++ * stride] = x;
  };
  if (which.nan) in_order_of_line([](T x) { return x != x; });
  if (which.negative_zero) in_order_of_line([](T x) { return x == T(0); });
}

/// Where the numbers of a chunk with each digit go, or how many there are.
template <std::int64_t Digits>
using digit_places = std::array<std::uint32_t, static_cast<std::size_t>(Digits)>;

template <std::int64_t Digits>
void count_digits(const std::uint32_t* from, std::int64_t n, int shift, digit_places<Digits>& counts) noexcept {
  digit_places<Digits> own{};  // a local array, which no other memory is in the way of
  for (std::int64_t i = 0; i < n; ++i) ++own[from[i] >> shift & (Digits - 1)];
  counts = own;
}
template <std::int64_t Digits>
void move_by_digits(const std::uint32_t* from, std::uint32_t* to, std::int64_t n, int shift,
                    digit_places<Digits> next) noexcept {
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint32_t v = from[i];
    to[next[v >> shift & (Digits - 1)]++] = v;
  }
}

/// Sorts one line of fewer than 2^32 numbers of 32 bits that move nothing else by counting 11 bits at a time. Threads share it
/// in chunks: each chunk counts its own digits, and knows from the counts of all of them where its numbers go.
template <class T>
void sort_long_line(const T* line, T* out, std::int64_t n, std::int64_t stride, bool descending) {
  constexpr std::int64_t digits = 2048, most = 16;
  const std::int64_t chunks = std::clamp<std::int64_t>(n / 32768, 1, most), step = (n + chunks - 1) / chunks;
  std::uint32_t *words = scratch<sort_words, std::uint32_t>(2 * n), *spare = words + n;
  using counts = digit_places<digits>;
  counts* const places = reinterpret_cast<counts*>(scratch<sort_counts, std::uint32_t>(chunks * digits));
  std::array<equal_orders, static_cast<std::size_t>(most)> found;
  equal_orders* const found_by = found.data();
  const std::uint32_t turn = descending ? ~0u : 0u;
  const auto in_chunks = [=](auto f) {
    parallel_for(chunks,
                 [=](std::int64_t c) { f(c, c * step, std::max<std::int64_t>(0, std::min(step, n - c * step))); });
  };
  in_chunks([=](std::int64_t c, std::int64_t begin, std::int64_t count) {
    equal_orders own;
    for (std::int64_t i = begin; i < begin + count; ++i) {
      const T x = line[i * stride];
      words[i] = order_of(x) ^ turn;
      own.add(x);
    }
    found_by[c] = own;
  });
  for (int shift = 0; shift < 32; shift += 11) {
    in_chunks([=](std::int64_t c, std::int64_t begin, std::int64_t count) {
      count_digits<digits>(words + begin, count, shift, places[c]);
    });
    std::uint32_t before = 0;
    for (std::size_t b = 0; b < static_cast<std::size_t>(digits); ++b)
      for (std::int64_t c = 0; c < chunks; ++c) before += std::exchange(places[c][b], before);
    in_chunks([=](std::int64_t c, std::int64_t begin, std::int64_t count) {
      move_by_digits<digits>(words + begin, spare, count, shift, places[c]);
    });
    std::swap(words, spare);
  }
  in_chunks([=](std::int64_t, std::int64_t begin, std::int64_t count) {
    for (std::int64_t i = begin; i < begin + count; ++i) out[i * stride] = of_order<T>(words[i] ^ turn);
  });
  equal_orders all;
  for (const equal_orders& f : found) all.nan |= f.nan, all.negative_zero |= f.negative_zero;
  restore_equal(line, out, n, stride, all);
}

/// Sorts one line of numbers of 32 bits that move nothing else, without their positions.
template <class T>
void sort_line(const T* line, T* out, std::int64_t n, std::int64_t stride, bool descending) {
  if (n >= 65536 && n <= std::numeric_limits<std::uint32_t>::max())
    return sort_long_line(line, out, n, stride, descending);
  auto* const words = scratch<sort_words, std::uint32_t>(2 * n);
  const std::uint32_t turn = descending ? ~0u : 0u;
  equal_orders found;
  for (std::int64_t i = 0; i < n; ++i) {
    words[i] = order_of(line[i * stride]) ^ turn;
    found.add(line[i * stride]);
  }
  const std::uint32_t* sorted = words;
  if (n < 256)
    std::sort(words, words + n);
  else
    sorted = radix_sort(words, words + n, n);
  for (std::int64_t i = 0; i < n; ++i) out[i * stride] = of_order<T>(sorted[i] ^ turn);
  restore_equal(line, out, n, stride, found);
}

/// Is there any NaN or -0 in `width` registers with the bits of numbers?
template <class T>
bool has_equal_orders(const i32v* v) noexcept {
  if constexpr (!std::is_floating_point_v<T>) return false;
  mask any(false);
  for (std::int64_t i = 0; i < width; ++i) {
    const f32v x = bitcast<f32v>(v[i]);  // comparisons of registers with != may be false for NaN
    any = any | ~(x == x) | to_mask(v[i] == i32v(std::numeric_limits<std::int32_t>::min()));
  }
  return xsimd::any(any);
}

struct sort_table;

/// Sorts as many rows of n <= 2048 numbers of 32 bits as there are lanes. Orders become signed, because vectors compare these.
template <class T>
void sort_rows_in_lanes(const T* rows, T* out, std::int64_t n, bool descending) {
  std::int64_t padded = std::max<std::int64_t>(8, width);
  while (padded < n) padded *= 2;
  std::int32_t* const table = scratch<sort_table, std::int32_t>(padded * width);
  const i32v turn(descending ? -1 : 0), most(std::numeric_limits<std::int32_t>::max());
  const i32v top(std::is_unsigned_v<T> ? std::numeric_limits<std::int32_t>::min() : 0);
  const auto bits_at = [](const T* p) { return load<i32v>(reinterpret_cast<const std::int32_t*>(p)); };
  std::array<equal_orders, static_cast<std::size_t>(width)> found;
  // The order of the bits of floats turns around for negative ones.
  const auto turned = [&](i32v b) { return std::is_floating_point_v<T> ? b ^ ((b >> 31) & most) : b ^ top; };
  const auto order = [&](i32v b) {
    if constexpr (std::is_floating_point_v<T>) {
      const f32v x = bitcast<f32v>(b);
      b = select_bits(x == x, turned(bitcast<i32v>(x + f32v(0))), most);
    } else {
      b = turned(b);
    }
    return b ^ turn;
  };
  i32v v[width];
  std::int64_t j = 0;
  for (; j + width <= n; j += width) {
    for (std::int64_t i = 0; i < width; ++i) v[i] = bits_at(rows + i * n + j);
    if (has_equal_orders<T>(v))
      for (std::int64_t i = 0; i < width * width; ++i)
        found[static_cast<std::size_t>(i / width)].add(rows[i / width * n + j + i % width]);
    transpose_square(v);
    for (std::int64_t i = 0; i < width; ++i) store_aligned(table + (j + i) * width, order(v[i]));
  }
  for (; j < n; ++j) {
    alignas(64) T column[width];
    for (std::int64_t i = 0; i < width; ++i) {
      column[i] = rows[i * n + j];
      found[static_cast<std::size_t>(i)].add(column[i]);
    }
    store_aligned(table + j * width, order(bits_at(column)));
  }
  for (; j < padded; ++j) store_aligned(table + j * width, most);
  sorting::sort_columns(table, padded);
  for (j = 0; j < n; j += width) {
    const std::int64_t count = std::min<std::int64_t>(width, n - j);
    for (std::int64_t i = 0; i < width; ++i) v[i] = turned(load_aligned<i32v>(table + (j + i) * width) ^ turn);
    transpose_square(v);
    for (std::int64_t i = 0; i < width; ++i) {
      auto* const to = reinterpret_cast<std::int32_t*>(out + i * n + j);
      if (count == width)
        store(to, v[i]);
      else
        store_partial(to, v[i], count);
    }
  }
  for (std::int64_t i = 0; i < width; ++i)
    restore_equal(rows + i * n, out + i * n, n, 1, found[static_cast<std::size_t>(i)]);
}

/// Sorts rows of a dense operand, which move nothing else.
inline void sort_rows(const kernel_arguments& a, std::int64_t rows, std::int64_t n, bool descending) {
  dispatch(a.in[0].type, [&]<dtype K>() {
    using T = element_t<K>;
    if constexpr (sizeof(T) == 4) {
      const T* const from = a.in[0].as<const T>();
      T* const to = a.out[0].as<T>();
      const std::int64_t blocks = rows / width;
      parallel_for(blocks, [&](std::int64_t b) {
        sort_rows_in_lanes(from + b * width * n, to + b * width * n, n, descending);
        if (b + 1 == blocks)
          for (std::int64_t r = blocks * width; r < rows; ++r) sort_line(from + r * n, to + r * n, n, 1, descending);
      });
    }
  });
}

}  // namespace cpu_backend::detail

/// Sorts each line of the first operand, and then moves the elements of all operands to their new positions.
inline void kernel(op_c<sort_p>, cpu_tag, const kernel_arguments& a) {
  const auto [axis, descending] = a.attrs<sort_options>();
  const array_view& key = a.in[0];
  std::int64_t inner = 1;
  for (int i = axis + 1; i < key.rank(); ++i) inner *= key.extent(i);
  const std::int64_t n = key.extent(axis), lines = n ? key.size() / n : 0;
  const std::int64_t m = inner, grain = std::max<std::int64_t>(1, 2048 / std::max<std::int64_t>(1, n));
  const bool turned = descending;
  if (a.in_count == 1 && bits_of(key.type) == 32 && m == 1 && n > 1 && n <= 2048 && lines >= cpu_backend::width)
    return cpu_backend::detail::sort_rows(a, lines, n, turned);
  cpu_backend::parallel_for((lines + grain - 1) / grain, [&](std::int64_t chunk) {
    for (std::int64_t line = chunk * grain; line < std::min(lines, (chunk + 1) * grain); ++line) {
      const std::int64_t base = line / m * n * m + line % m;
      if (a.in_count == 1 && bits_of(key.type) == 32) {
        dispatch(key.type, [&]<dtype K>() {
          using T = element_t<K>;
          if constexpr (sizeof(T) == 4)
            cpu_backend::detail::sort_line(key.as<const T>() + base, a.out[0].as<T>() + base, n, m, turned);
        });
        continue;
      }
      const std::uint64_t* const items = dispatch(key.type, [&]<dtype K>() {
        return cpu_backend::detail::sorted_positions(key.as<element_t<K>>() + base, n, m, turned);
      });
      for (int k = 0; k < a.in_count; ++k)
        cpu_backend::dispatch_size(a.in[k].type, [&]<class T>(T*) {
          const T* from = a.in[k].as<T>() + base;
          T* to = a.out[k].as<T>() + base;
          for (std::int64_t i = 0; i < n; ++i) to[i * m] = from[static_cast<std::int64_t>(items[i] & 0xffffffffu) * m];
        });
    }
  });
}

}  // namespace tokamax
