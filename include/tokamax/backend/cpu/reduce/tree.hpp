// tokamax/backend/cpu/reduce/tree.hpp: reductions over any axes, in a tree that the shape alone fixes.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/lax/reduce.cpp
#pragma once

#include <tokamax/backend/cpu/reduce/plan.hpp>     // sum_of, reduce_plan, combine
#include <tokamax/backend/cpu/reduce/source.hpp>   // reduce_source
#include <tokamax/backend/cpu/vector/lanes.hpp>    // lanes, dispatch
#include <tokamax/backend/cpu/vector/threads.hpp>  // parallel_for, scratch
#include <tokamax/core/kernel_arguments.hpp>       // kernel_arguments
#include <tokamax/lax/reduce.hpp>                  // reduce_attributes

#include <algorithm>    // fill_n, max, min
#include <bit>          // bit_floor, countr_zero
#include <type_traits>  // is_same_v, make_signed_t

namespace tokamax::cpu_backend::detail {

// The bits of a sum depend on the order of its terms. Here the order is a tree that depends on the shape only, never on the
// number of threads: vectors within a block, blocks within a piece, and pieces of a result, each combined by halves.

/// The result of reducing nothing, in the scalar type in which T is computed. It is a number that T has.
template <class Op, class T>
inline constexpr auto start_of = [] {
  using S = typename lanes<T>::scalar;
  return static_cast<S>(Op::template start<std::conditional_t<std::is_integral_v<T>, T, S>>);
}();

/// Combines the lanes of a vector by halves.
template <class Op, class T>
typename lanes<T>::scalar across(typename lanes<T>::vector v) noexcept {
  if constexpr (std::is_same_v<T, bool>) {
    bool lane[8];
    lanes<bool>::store(lane, v);
    combine<Op>(lane, 8, 1);
    return lane[0];
  } else {
    return fold<typename lanes<T>::scalar, static_cast<std::size_t>(lanes<T>::size)>(
        native(v), [](auto a, auto b) { return Op::apply(a, b); });
  }
}

/// Reduces n floats to their extreme as reduce_block does, if none of the first n - n % (4 width) of them is NaN; else returns
/// false. Two vectors are looked at for NaN at a time, beside one instruction for each.
template <class Op>
bool reduce_numbers_of_block(const float* p, std::int64_t n, f32v& result) noexcept {
  f32v a = f32v(Op::template start<float>), b = a, c = a, d = a;
  mask nan(false);
  for (std::int64_t i = 0; i + 4 * width <= n; i += 4 * width) {
    const f32v v = load(p + i), w = load(p + i + width), x = load(p + i + 2 * width), y = load(p + i + 3 * width);
    nan = nan | either_nan(v, w) | either_nan(x, y);
    a = Op::of_numbers(a, v), b = Op::of_numbers(b, w), c = Op::of_numbers(c, x), d = Op::of_numbers(d, y);
  }
  result = Op::of_numbers(Op::of_numbers(a, b), Op::of_numbers(c, d));
  return !xsimd::any(nan);
}

/// Reduces n contiguous elements with four vectors, so that an operation need not wait for the one before.
template <class Op, class T>
typename lanes<T>::scalar reduce_block(const T* p, std::int64_t n) noexcept {
  using L = lanes<T>;
  constexpr auto start = start_of<Op, T>;
  auto a = L::all(start);
  std::int64_t i = 0;
  if constexpr (std::is_same_v<T, float> && requires { Op::of_numbers(a, a); }) {
    if (reduce_numbers_of_block<Op>(p, n, a))
      i = n - n % (4 * width);
    else
      a = L::all(start);
  }
  if (i == 0 && n >= 4 * L::size) {
    auto b = a, c = a, d = a;
    for (; i + 4 * L::size <= n; i += 4 * L::size) {
      a = Op::apply(a, L::load(p + i));
      b = Op::apply(b, L::load(p + i + L::size));
      c = Op::apply(c, L::load(p + i + 2 * L::size));
      d = Op::apply(d, L::load(p + i + 3 * L::size));
    }
    a = Op::apply(Op::apply(a, b), Op::apply(c, d));
  }
  for (; i + L::size <= n; i += L::size) a = Op::apply(a, L::load(p + i));
  if (i < n) a = Op::apply(a, L::load(p + i, n - i, start));
  return across<Op, T>(a);
}

/// Reduces n <= reduce_grain contiguous elements: blocks of 1024, whose results are combined by halves. After a row of one block
/// those behind it are read, up to `end`.
template <class Op, class T>
typename lanes<T>::scalar reduce_row(reduce_source& in, std::int64_t at, std::int64_t n, std::int64_t end) {
  constexpr std::int64_t block = 1024;
  const auto read = [&](std::int64_t from, std::int64_t count, std::int64_t until) {
    return reinterpret_cast<const T*>(in.read(from, count, until));
  };
  if (n <= block) return reduce_block<Op>(read(at, n, end), n);
  typename lanes<T>::scalar part[reduce_grain / block];
  std::int64_t parts = 0;
  for (std::int64_t from = 0; from < n; from += block) {
    const std::int64_t now = std::min(block, n - from);
    part[parts++] = reduce_block<Op>(read(at + from, now, at + n), now);
  }
  combine<Op>(part, parts, 1);
  return part[0];
}

/// Rows of n elements: row i begins at `base` and the offset of index `first` + i among `axes`. The caller will read on up
/// to the element `end`.
struct row_range {
  const axis_groups& axes;
  std::int64_t base, first, count, n, end;
};
/// result[i] = row i.
template <class Op, class T>
void reduce_row_range(reduce_source& in, const row_range& r, typename lanes<T>::scalar* result) {
  for (std::int64_t i = 0; i < r.count; ++i) {
    const std::int64_t at = r.base + r.axes.offset(r.first + i);
    result[i] = reduce_row<Op, T>(in, at, r.n, std::max(r.end, at + r.n));
  }
}

/// acc[0, m) = the rows [from, to) of a strip of columns that begins at `base`, reduced eight rows at a time. The strip is so
/// narrow that `acc` stays in the first-level cache.
template <class Op, class T>
void reduce_strip_rows(reduce_source& in, const reduce_plan& p, std::int64_t base, std::int64_t from, std::int64_t to,
                       std::int64_t m, typename lanes<T>::scalar* acc) {
  using L = lanes<T>;
  using A = lanes<typename L::scalar>;
  constexpr auto start = start_of<Op, T>;
  for (std::int64_t j = 0; j < m; ++j) acc[j] = start;
  for (std::int64_t r = from; r < to; r += 8) {
    const std::byte* row[8];
    const std::int64_t n = std::min<std::int64_t>(8, to - r);
    in.read_rows(p, base, r, n, to, m, row);
    const auto at = [&](int i, std::int64_t j) { return reinterpret_cast<const T*>(row[i]) + j; };
    // Combines up to eight rows at one position.
    auto rows = [&](auto read) {
      if (n == 8)
        return Op::apply(Op::apply(Op::apply(read(0), read(1)), Op::apply(read(2), read(3))),
                         Op::apply(Op::apply(read(4), read(5)), Op::apply(read(6), read(7))));
      auto s = read(0);
      for (int i = 1; i < n; ++i) s = Op::apply(s, read(i));
      return s;
    };
    std::int64_t j = 0;
    for (; j + L::size <= m; j += L::size)
      A::store(acc + j, Op::apply(A::load(acc + j), rows([&](int i) { return L::load(at(i, j)); })));
    if (j < m)
      A::store(acc + j,
               Op::apply(A::load(acc + j, m - j, start), rows([&](int i) { return L::load(at(i, j), m - j, start); })),
               m - j);
  }
}

/// What depends on the dtype in a reduction. The loops around it know only S, in which elements are combined, so that they
/// are compiled once for many dtypes.
template <class S>
struct reduce_steps {
  void (*rows)(reduce_source& in, const row_range& r, S* result);
  void (*strip)(reduce_source& in, const reduce_plan& p, std::int64_t base, std::int64_t from, std::int64_t to,
                std::int64_t m, S* acc);
  void (*store)(const S* results, std::int64_t n, std::byte* out, std::int64_t at);  ///< out[at, at + n)
  widen_function widen = nullptr;

  reduce_source source(const kernel_arguments& a) const { return {a, widen, static_cast<std::int64_t>(sizeof(S))}; }
};

struct reduce_partials;

/// Combines `count` rows, in a tree that grows like a binary counter.
template <class Op, class S>
S reduce_unit(const reduce_steps<S>& steps, reduce_source& in, row_range rows) {
  constexpr std::int64_t batch = 64;
  S result[batch], part[32];  // part[b] is the result of 2^b rows
  std::int64_t done = 0;
  for (const std::int64_t to = rows.first + rows.count; rows.first < to; rows.first += rows.count) {
    rows.count = std::min(batch, to - rows.first);
    steps.rows(in, rows, result);
    for (std::int64_t i = 0, n; i < rows.count; i += n, done += n) {
      n = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(rows.count - i)));
      combine<Op>(result + i, n, 1);
      S s = result[i];
      int b = std::countr_zero(static_cast<std::uint64_t>(n));
      for (; done >> b & 1; ++b) s = Op::apply(part[b], s);
      part[b] = s;
    }
  }
  int b = std::countr_zero(static_cast<std::uint64_t>(done));
  S s = part[b];
  while (++b < 32)
    if (done >> b & 1) s = Op::apply(part[b], s);
  return s;
}

/// The case in which the innermost axis is reduced: each result comes from `reduced.total` rows of contiguous elements.
/// The rows of a result are cut into units of about reduce_grain elements. If there is one unit, threads share the results;
/// otherwise they share the units, whose partial results are combined at the end.
template <class Op, class S>
void reduce_inner(const reduce_plan& p, const kernel_arguments& a, const reduce_steps<S>& steps) {
  std::byte* const out = a.out[0].as<std::byte>();
  const std::int64_t rows = p.reduced.total;
  const std::int64_t pieces = (p.inner + reduce_grain - 1) / reduce_grain;  // into which a long row is cut
  const std::int64_t rows_a_unit = std::max<std::int64_t>(1, reduce_grain / p.inner);
  const std::int64_t units = pieces > 1 ? rows * pieces : (rows + rows_a_unit - 1) / rows_a_unit;
  if (units == 1) {
    const std::int64_t grain = std::max<std::int64_t>(1, reduce_grain / (rows * p.inner));
    parallel_for((p.kept.total + grain - 1) / grain, [&](std::int64_t chunk) {
      reduce_source in = steps.source(a);
      constexpr std::int64_t batch = 512;
      S result[batch];
      const std::int64_t to = std::min(p.kept.total, (chunk + 1) * grain);
      for (std::int64_t k = chunk * grain; k < to; k += batch) {
        const std::int64_t n = std::min(batch, to - k);
        if (rows == 1)  // one row lies behind the other
          steps.rows(in, {p.kept, 0, k, n, p.inner, to * p.inner}, result);
        else
          for (std::int64_t i = 0; i < n; ++i)
            result[i] = reduce_unit<Op>(steps, in, {p.reduced, p.kept.offset(k + i), 0, rows, p.inner, 0});
        steps.store(result, n, out, k);
      }
    });
    return;
  }
  S* partial = scratch<reduce_partials, S>(p.kept.total * units);
  parallel_for(p.kept.total * units, [&](std::int64_t t) {
    reduce_source in = steps.source(a);
    const std::int64_t base = p.kept.offset(t / units), u = t % units;
    if (pieces > 1) {
      const std::int64_t from = u % pieces * reduce_grain, n = std::min(reduce_grain, p.inner - from);
      steps.rows(in, {p.reduced, base + from, u / pieces, 1, n, 0}, partial + t);
    } else {
      const std::int64_t from = u * rows_a_unit, n = std::min(rows - from, rows_a_unit);
      partial[t] = reduce_unit<Op>(steps, in, {p.reduced, base, from, n, p.inner, 0});
    }
  });
  for (std::int64_t k = 0; k < p.kept.total; ++k) {
    combine<Op>(partial + k * units, units, 1);
    steps.store(partial + k * units, 1, out, k);
  }
}

/// The case in which the innermost axis is kept: rows are combined element by element, strip by strip. If there are many
/// rows, they are cut into units of reduce_rows rows, whose results are combined by halves at the end.
template <class Op, class S>
void reduce_outer(const reduce_plan& p, const kernel_arguments& a, const reduce_steps<S>& steps) {
  std::byte* const out = a.out[0].as<std::byte>();
  const std::int64_t rows = p.reduced.total, m = p.inner;
  const std::int64_t units = std::max<std::int64_t>(1, (rows + reduce_rows - 1) / reduce_rows);
  const std::int64_t strips = (m + reduce_strip - 1) / reduce_strip;
  if (units == 1) {
    const std::int64_t tasks = p.kept.total * strips;
    const std::int64_t grain =
        std::max<std::int64_t>(1, reduce_grain / std::max<std::int64_t>(1, rows * std::min(m, reduce_strip)));
    parallel_for((tasks + grain - 1) / grain, [&](std::int64_t chunk) {
      reduce_source in = steps.source(a);
      alignas(64) S acc[static_cast<std::size_t>(reduce_strip)];
      for (std::int64_t t = chunk * grain; t < std::min(tasks, (chunk + 1) * grain); ++t) {
        const std::int64_t k = t / strips, from = t % strips * reduce_strip, n = std::min(reduce_strip, m - from);
        steps.strip(in, p, p.kept.offset(k) + from, 0, rows, n, acc);
        steps.store(acc, n, out, k * m + from);
      }
    });
    return;
  }
  S* partial = scratch<reduce_partials, S>(p.kept.total * units * m);  // [kept, units, m]
  parallel_for(p.kept.total * units * strips, [&](std::int64_t t) {
    reduce_source in = steps.source(a);
    const std::int64_t k = t / strips / units, u = t / strips % units, from = t % strips * reduce_strip;
    steps.strip(in, p, p.kept.offset(k) + from, u * reduce_rows, std::min(rows, (u + 1) * reduce_rows),
                std::min(reduce_strip, m - from), partial + (k * units + u) * m + from);
  });
  parallel_for(p.kept.total * strips, [&](std::int64_t t) {
    using A = lanes<S>;
    const std::int64_t k = t / strips, from = t % strips * reduce_strip, n = std::min(reduce_strip, m - from);
    S* base = partial + k * units * m + from;
    for (std::int64_t apart = 1; apart < units; apart *= 2)
      for (std::int64_t u = 0; u + apart < units; u += 2 * apart) {
        S *to = base + u * m, *other = base + (u + apart) * m;
        std::int64_t j = 0;
        for (; j + A::size <= n; j += A::size) A::store(to + j, Op::apply(A::load(to + j), A::load(other + j)));
        for (; j < n; ++j) to[j] = Op::apply(to[j], other[j]);
      }
    steps.store(base, n, out, k * m + from);
  });
}

/// Do the loops of a reduction read T itself? Other dtypes, of bytes, are widened first.
template <class T>
inline constexpr bool reduced_directly = sizeof(T) > 1 || std::is_same_v<T, bool>;

template <class Op, class T, class Out = T>
void reduce_typed(const kernel_arguments& a) {
  using S = typename lanes<T>::scalar;
  using Read = std::conditional_t<reduced_directly<T>, T, S>;
  const reduce_plan p(a.in[0].extents, a.attrs<reduce_attributes>().axis);
  if (p.reduced.total == 0 || p.inner == 0) {
    std::fill_n(a.out[0].as<Out>(), a.out[0].size(), static_cast<Out>(start_of<Op, T>));
    return;
  }
  reduce_steps<S> steps{reduce_row_range<Op, Read>, reduce_strip_rows<Op, Read>,
                        [](const S* results, std::int64_t n, std::byte* out, std::int64_t at) {
                          Out* const to = reinterpret_cast<Out*>(out) + at;
                          for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<Out>(results[i]);
                        }};
  if constexpr (!reduced_directly<T>)
    steps.widen = [](const std::byte* from, std::int64_t n, std::byte* to) {
      for (std::int64_t i = 0; i < n; ++i)
        reinterpret_cast<S*>(to)[i] = static_cast<S>(reinterpret_cast<const T*>(from)[i]);
    };
  if (p.inner_reduced)
    reduce_inner<Op>(p, a, steps);
  else
    reduce_outer<Op>(p, a, steps);
}

/// The type in which numbers of T are reduced: sums of unsigned integers have the bits of signed ones.
template <class Op, class T>
struct reduced_as {
  using type = T;
};
template <class T>
  requires(std::is_unsigned_v<T> && !std::is_same_v<T, bool>)
struct reduced_as<sum_of, T> {
  using type = std::make_signed_t<T>;
};

template <class Op>
void reduce_numbers(const kernel_arguments& a) {
  dispatch(a.in[0].type, [&]<dtype Element>() {
    using T = element_t<Element>;
    if constexpr (!std::is_same_v<T, bool>)
      reduce_typed<Op, typename reduced_as<Op, T>::type>(a);
    else if constexpr (std::is_same_v<Op, min_of>)
      reduce_typed<and_of, T>(a);
    else
      reduce_typed<or_of, T>(a);
  });
}

}  // namespace tokamax::cpu_backend::detail
