// tokamax/backend/cpu/kernels/ragged/ragged_gather_reduce.hpp: sums of weighted rows by index, and their gradients, without a table.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/ops/ragged_gather_reduce.cpp
#pragma once

#include <tokamax/backend/cpu/kernels/gather.hpp>  // sorted_updates
#include <tokamax/backend/cpu/vector/floats.hpp>   // dense_floats, float_result, in_narrow_rows
#include <tokamax/backend/cpu/vector/rows.hpp>     // for_rows, for_vectors, sum_row
#include <tokamax/ops/ragged_gather_reduce.hpp>    // ragged_gather_reduce_p

#include <limits>  // quiet_NaN

namespace tokamax {

namespace cpu_backend::detail {

/// What both kernels read: rows of m elements, and a row number, a weight and a truth value for each of n terms.
struct ragged_terms {
  std::int64_t rows, m, n, group;
  const std::int32_t* index;
  const float* weight;
  const bool* valid;
  explicit ragged_terms(const kernel_arguments& a)
      : rows(a.in[0].extent(0)),
        m(1),
        n(a.in[1].size()),
        group(a.attrs<ragged_gather_reduce_attributes>().group),
        index(a.in[1].as<const std::int32_t>()),
        weight(a.in[2].as<const float>()),
        valid(a.in[3].as<const bool>()) {
    for (int i = 1; i < a.in[0].rank(); ++i) m *= a.in[0].extent(i);
  }
  /// Does the row of term i exist? Indices come from the caller and may be anything.
  bool inside(std::int64_t i) const noexcept { return index[i] >= 0 && index[i] < rows; }
};

/// Adds `count` weighted rows to a row of sums, which begins at zero if `fresh`. Sums stay in registers.
template <class T>
void add_weighted_rows(std::int64_t m, const T* const* row, const float* weight, int count, bool fresh,
                       const float* sum, auto put) noexcept {
  const auto one = [&](std::int64_t j, auto lanes) {
    f32v s = fresh ? f32v(0.0f) : lanes(sum + j);
    for (int k = 0; k < count; ++k) s = fma(f32v(weight[k]), lanes(row[k] + j), s);
    put(j, lanes, s);
  };
  // Four vectors at a time: their sums do not wait for one another, and a weight is spread over a vector once for all.
  std::int64_t j = 0;
  for (; j + 4 * width <= m; j += 4 * width) {
    f32v s[4];
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) s[v] = fresh ? f32v(0.0f) : load(sum + j + v * width);
    for (int k = 0; k < count; ++k) {
      const f32v w(weight[k]);
      const T* const from = row[k] + j;
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) s[v] = fma(w, whole_vector{}(from + v * width), s[v]);
    }
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) put(j + v * width, whole_vector{}, s[v]);
  }
  for (; j + width <= m; j += width) one(j, whole_vector{});
  if (j < m) one(j, partial_vector{m - j});
}

struct ragged_row_sums;

/// y[t] for all groups of terms. A few terms at a time are added in registers; sums of longer groups wait in a row of floats.
template <class T>
void sum_ragged_rows(const ragged_terms& t, const T* x, T* y) {
  constexpr int together = 8;
  for_rows(t.n / t.group, t.m * t.group, [&](std::int64_t g) {
    float* const sums = t.group > together ? scratch<ragged_row_sums>(std::max<std::int64_t>(1, t.m)) : nullptr;
    const T* row[together];
    float weight[together];
    bool fresh = true, outside = false;
    int count = 0;
    T* const to = y + g * t.m;
    for (std::int64_t i = g * t.group; i < (g + 1) * t.group; ++i) {
      if (!t.valid[i]) continue;
      if (!t.inside(i)) {
        outside = true;
        break;
      }
      // Full batches go to floats, so that narrow results round once.
      if (count == together) {
        add_weighted_rows(t.m, row, weight, count, fresh, sums,
                          [=](std::int64_t j, auto lanes, f32v s) { lanes.keep(sums + j, s); });
        fresh = false;
        count = 0;
      }
      row[count] = x + t.index[i] * t.m;
      weight[count++] = t.weight[i];
    }
    if (outside)  // a row that is not there is NaN, and so is the sum
      std::fill_n(to, t.m, std::numeric_limits<T>::quiet_NaN());
    else
      add_weighted_rows(t.m, row, weight, count, fresh, sums,
                        [=](std::int64_t j, auto lanes, f32v s) { lanes.put(to + j, s); });
  });
}

/// dx and dweights. The terms of a row are brought together, so that one thread reads and writes the row for all of them.
template <class T>
void ragged_gradients(const ragged_terms& t, const T* x, const T* ct, T* dx, float* dweight) {
  // A row of x has its terms in one place, so its gradient is summed in their order and written once.
  const updates_of_rows terms =
      sorted_updates(t.n, t.rows, [&](std::int64_t i) { return t.valid[i] ? t.index[i] : -1; });
  for (std::int64_t i = 0; i < t.n; ++i)  // terms of no row; the others are written with their rows
    dweight[i] = t.valid[i] && !t.inside(i) && t.m ? std::numeric_limits<float>::quiet_NaN() : 0.0f;
  for_written_rows(t.rows, t.m, passes_caches(t.rows, t.m, dx, x, ct), [&](std::int64_t r, auto whole) {
    T* const to = dx + r * t.m;
    const T* const from = x + r * t.m;
    const std::int64_t begin = terms.begin(r), end = terms.end(r);
    // Sums of one term need no row of floats: it is the first and the last.
    if (begin == end) std::fill_n(to, t.m, T());
    // Sums of more than one term stay in floats until the last one, whatever the dtype of dx.
    float* const sums = end - begin > 1 ? scratch<ragged_row_sums>(std::max<std::int64_t>(1, t.m)) : nullptr;
    for (std::int64_t k = begin; k < end; ++k) {
      const std::int64_t i = terms.order[k];
      const T* const d = ct + i / t.group * t.m;
      const f32v w(t.weight[i]);
      const bool first = k == begin, last = k + 1 == end;
      dweight[i] = sum_row(t.m, [=](std::int64_t j, auto lanes) { return lanes(d + j) * lanes(from + j); });
      for_vectors<decltype(whole)>(t.m, [=](std::int64_t j, auto lanes) {
        const f32v s = first ? w * lanes(d + j) : fma(w, lanes(d + j), lanes(sums + j));
        if (last)
          lanes.put(to + j, s);
        else
          lanes.keep(sums + j, s);
      });
    }
  });
}

}  // namespace cpu_backend::detail

/// x [R, ...], indices, weights, valid [n] -> [n / group, ...].
inline void kernel(op_c<ragged_gather_reduce_p>, cpu_tag, const kernel_arguments& a) {
  const cpu_backend::detail::ragged_terms t(a);
  const auto narrow = [&]<class T>(T) {
    cpu_backend::detail::sum_ragged_rows(t, a.in[0].as<const T>(), a.out[0].as<T>());
  };
  if (cpu_backend::in_narrow_rows({a.in[0], a.out[0]}, narrow)) return;
  const cpu_backend::float_result<struct ragged_reduce_y> y(a.out[0]);
  cpu_backend::detail::sum_ragged_rows(t, cpu_backend::dense_floats<struct ragged_reduce_x>(a.in[0]), y.data());
}

/// {dx, dweights} from the same and the cotangent [n / group, ...].
inline void kernel(op_c<ragged_gather_reduce_vjp_p>, cpu_tag, const kernel_arguments& a) {
  const cpu_backend::detail::ragged_terms t(a);
  auto* const dweight = a.out[1].as<float>();
  const auto narrow = [&]<class T>(T) {
    cpu_backend::detail::ragged_gradients(t, a.in[0].as<const T>(), a.in[4].as<const T>(), a.out[0].as<T>(), dweight);
  };
  if (cpu_backend::in_narrow_rows({a.in[0], a.in[4], a.out[0]}, narrow)) return;
  const cpu_backend::float_result<struct ragged_reduce_dx> dx(a.out[0]);
  cpu_backend::detail::ragged_gradients(t, cpu_backend::dense_floats<struct ragged_reduce_x>(a.in[0]),
                                        cpu_backend::dense_floats<struct ragged_reduce_ct>(a.in[4]), dx.data(),
                                        dweight);
}

}  // namespace tokamax
