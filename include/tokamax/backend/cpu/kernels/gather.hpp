// tokamax/backend/cpu/kernels/gather.hpp: reads rows by index, and adds rows up by index.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/cpu/device.hpp>          // cpu_tag
#include <tokamax/backend/cpu/reduce/plan.hpp>     // sum_of
#include <tokamax/backend/cpu/vector/lanes.hpp>    // lanes, dispatch
#include <tokamax/backend/cpu/vector/threads.hpp>  // parallel_for, scratch
#include <tokamax/lax/indexing/gather.hpp>         // gather_p, scatter_add_p, scatter_add_onto_p
#include <tokamax/runtime/kernel.hpp>              // kernel_arguments

#include <algorithm>  // min, max, fill_n, copy_n
#include <limits>     // quiet_NaN

namespace tokamax {

namespace cpu_backend::detail {

/// The value of a gather outside of the table: NaN, the lowest signed integer, the highest unsigned integer, or true.
inline element_bits fill_value(dtype t) {
  return dispatch(t, []<dtype E>() {
    using T = element_t<E>;
    using limits = std::numeric_limits<T>;
    return element_bits::of(is_floating(E) ? limits::quiet_NaN() : is_signed(E) ? limits::lowest() : limits::max());
  });
}

/// The case of rows of one element. Every element is read, a valid one instead of one outside, so that reads need not wait for
/// comparisons.
template <class T, class Index>
void gather_elements(const T* table, std::int64_t rows, const Index* index, std::int64_t n, T* out, T outside) {
  constexpr std::int64_t grain = 16384;
  if (rows == 0) return void(std::fill_n(out, n, outside));
  parallel_for((n + grain - 1) / grain, [=](std::int64_t chunk) {
    const Index* const at = index + chunk * grain;
    T* const to = out + chunk * grain;
    const std::int64_t count = std::min(grain, n - chunk * grain);
    for (std::int64_t i = 0; i < count; ++i) {
      const auto r = static_cast<std::uint64_t>(static_cast<std::int64_t>(at[i]));
      const bool inside = r < static_cast<std::uint64_t>(rows);
      const T x = table[inside ? r : 0];
      to[i] = inside ? x : outside;
    }
  });
}

/// Copies the row index[i] of the table to row i of the result, for i < n. Rows have m elements. T is an unsigned
/// integer of the size of an element.
template <class T, class Index>
void gather_rows(const T* table, std::int64_t rows, std::int64_t m, const Index* index, std::int64_t n, T* out,
                 T outside) {
  if (m == 1) return gather_elements(table, rows, index, n, out, outside);
  const std::int64_t grain = std::max<std::int64_t>(1, 16384 / std::max<std::int64_t>(1, m));
  parallel_for((n + grain - 1) / grain, [&](std::int64_t chunk) {
    for (std::int64_t i = chunk * grain; i < std::min(n, (chunk + 1) * grain); ++i) {
      const std::int64_t r = index[i];
      const bool inside = r >= 0 && r < rows;
      if (inside)
        std::memcpy(out + i * m, table + r * m, static_cast<std::size_t>(m) * sizeof(T));
      else
        std::fill_n(out + i * m, m, outside);
    }
  });
}

struct scatter_order;
struct scatter_indices;

/// The indices as i32. Those outside of [0, rows) become -1.
inline const std::int32_t* scatter_places(const array_view& v, std::int64_t rows) {
  if (v.type == i32) return v.as<const std::int32_t>();
  auto* const to = scratch<scatter_indices, std::int32_t>(std::max<std::int64_t>(1, v.size()));
  for (std::int64_t i = 0; i < v.size(); ++i) {
    const std::int64_t row = v.as<const std::int64_t>()[i];
    to[i] = row >= 0 && row < rows ? static_cast<std::int32_t>(row) : -1;
  }
  return to;
}

/// The updates of each row, in their order: those of row r are order[begin(r)] to order[end(r) - 1].
struct updates_of_rows {
  const std::int32_t *ends, *order;
  std::int64_t begin(std::int64_t r) const noexcept { return r ? ends[r - 1] : 0; }
  std::int64_t end(std::int64_t r) const noexcept { return ends[r]; }
};

/// Brings the updates i < n of a row together, by a stable counting sort: count those of each row, add the counts up, and put
/// each update in its place. row_of(i) is outside of [0, rows) for an update that is dropped.
template <class RowOf>
updates_of_rows sorted_updates(std::int64_t n, std::int64_t rows, RowOf row_of) {
  auto* const first =
      scratch<scatter_order, std::int32_t>(rows + 1 + n);  // [rows + 1]: the start of each row's updates
  std::int32_t* const order = first + rows + 1;            // [n]: positions, by row
  std::fill_n(first, rows + 1, 0);
  const auto inside = [=](std::int32_t r) { return r >= 0 && r < rows; };
  for (std::int64_t i = 0; i < n; ++i)
    if (const std::int32_t r = row_of(i); inside(r)) ++first[r + 1];
  for (std::int64_t r = 0; r < rows; ++r) first[r + 1] += first[r];
  for (std::int64_t i = 0; i < n; ++i)
    if (const std::int32_t r = row_of(i); inside(r)) order[first[r]++] = static_cast<std::int32_t>(i);
  return {first, order};  // first[r] is now the end of row r
}

/// The case of rows of one element, whose sums need no other type: adds one update after the other.
template <class T>
void scatter_add_elements(const T* onto, const std::int32_t* index, std::int64_t n, const T* updates, T* out,
                          std::int64_t rows) {
  if (onto == nullptr)
    std::fill_n(out, rows, T());
  else if (onto != out)
    std::copy_n(onto, rows, out);
  for (std::int64_t i = 0; i < n; ++i)
    if (index[i] >= 0 && index[i] < rows) out[index[i]] = sum_of::apply(out[index[i]], updates[i]);
}

/// Each row of the result is the sum of a row of `onto` (if that is not null) and its updates, in the order of the updates. A
/// stable counting sort brings the updates of a row together. Then threads can work on different rows and columns without
/// knowing of each other, and the result does not depend on their number.
template <class T>
void scatter_add_rows(const T* onto, const std::int32_t* index, std::int64_t n, const T* updates, std::int64_t m,
                      T* out, std::int64_t rows) {
  using L = lanes<T>;
  using S = typename L::scalar;
  if constexpr (std::is_same_v<S, T> && !std::is_same_v<T, bool>)
    if (m == 1) return scatter_add_elements(onto, index, n, updates, out, rows);
  constexpr std::int64_t strip = 512;
  const updates_of_rows sorted = sorted_updates(n, rows, [=](std::int64_t i) { return index[i]; });
  // A task is some rows of one strip of columns. Its sums stay in the first-level cache.
  const std::int64_t strips = (m + strip - 1) / strip;
  const std::int64_t grain = std::max<std::int64_t>(1, 16384 / std::max<std::int64_t>(1, std::min(m, strip)));
  const std::int64_t chunks = (rows + grain - 1) / grain;
  parallel_for(chunks * strips, [&](std::int64_t t) {
    alignas(64) S sum[strip];
    const std::int64_t chunk = t / strips, from = t % strips * strip, w = std::min(strip, m - from);
    for (std::int64_t r = chunk * grain; r < std::min(rows, (chunk + 1) * grain); ++r) {
      T* to = out + r * m + from;
      const std::int64_t begin = sorted.begin(r), end = sorted.end(r);
      const T* old = onto == nullptr ? nullptr : onto + r * m + from;
      // Rows with no update are zero or copied, and a single update onto zeros is copied. Only the others are summed.
      if (begin == end && old == nullptr) {
        std::fill_n(to, w, T());
      } else if (begin == end) {
        if (old != to) std::memcpy(to, old, static_cast<std::size_t>(w) * sizeof(T));
      } else if (end - begin == 1 && old == nullptr) {
        std::memcpy(to, updates + sorted.order[begin] * m + from, static_cast<std::size_t>(w) * sizeof(T));
      } else {
        for (std::int64_t j = 0; j < w; ++j) sum[j] = old == nullptr ? S() : static_cast<S>(old[j]);
        for (std::int64_t k = begin; k < end; ++k) {
          const T* u = updates + sorted.order[k] * m + from;
          std::int64_t j = 0;
          if constexpr (!std::is_same_v<T, bool>)
            for (; j + L::size <= w; j += L::size) lanes<S>::store(sum + j, lanes<S>::load(sum + j) + L::load(u + j));
          for (; j < w; ++j) sum[j] = sum_of::apply(sum[j], static_cast<S>(u[j]));
        }
        for (std::int64_t j = 0; j < w; ++j) to[j] = static_cast<T>(sum[j]);
      }
    }
  });
}

}  // namespace cpu_backend::detail

/// table [R, ...], indices [...] -> indices.shape + table.shape[1:].
inline void kernel(op_c<gather_p>, cpu_tag, const kernel_arguments& a) {
  const std::int64_t rows = a.in[0].extent(0), n = a.in[1].size();
  const std::int64_t m = n ? a.out[0].size() / n : 0;
  // Elements are moved as unsigned integers of their size, and rows outside of the table are filled.
  const std::uint64_t outside = cpu_backend::detail::fill_value(a.out[0].type).value;
  cpu_backend::dispatch_size(a.out[0].type, [&]<class T>(T*) {
    const auto rows_at = [&](const auto* index) {
      cpu_backend::detail::gather_rows(a.in[0].as<const T>(), rows, m, index, n, a.out[0].as<T>(),
                                       static_cast<T>(outside));
    };
    a.in[1].type == i64 ? rows_at(a.in[1].as<const std::int64_t>()) : rows_at(a.in[1].as<const std::int32_t>());
  });
}

/// Adds rows of updates to a result of zeros.
inline void kernel(op_c<scatter_add_p>, cpu_tag, const kernel_arguments& a) {
  const std::int64_t rows = a.out[0].extent(0);
  const std::int64_t m = rows ? a.out[0].size() / rows : 0;
  dispatch(a.out[0].type, [&]<dtype Element>() {
    using T = element_t<Element>;
    cpu_backend::detail::scatter_add_rows<T>(nullptr, cpu_backend::detail::scatter_places(a.in[0], rows),
                                             a.in[0].size(), a.in[1].as<T>(), m, a.out[0].as<T>(), rows);
  });
}

/// Adds rows of updates to an operand, in place if the planner allows it.
inline void kernel(op_c<scatter_add_onto_p>, cpu_tag, const kernel_arguments& a) {
  const std::int64_t rows = a.out[0].extent(0);
  const std::int64_t m = rows ? a.out[0].size() / rows : 0;
  dispatch(a.out[0].type, [&]<dtype Element>() {
    using T = element_t<Element>;
    cpu_backend::detail::scatter_add_rows<T>(a.in[0].as<T>(), cpu_backend::detail::scatter_places(a.in[1], rows),
                                             a.in[1].size(), a.in[2].as<T>(), m, a.out[0].as<T>(), rows);
  });
}

}  // namespace tokamax
