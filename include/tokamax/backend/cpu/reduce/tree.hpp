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

/// Reduces n contiguous elements with four vectors, so that an operation need not wait for the one before.
template <class Op, class T>
typename lanes<T>::scalar reduce_block(const T* p, std::int64_t n) noexcept {
  using L = lanes<T>;
  constexpr auto start = start_of<Op, T>;
  auto a = L::all(start);
  std::int64_t i = 0;
  if (n >= 4 * L::size) {
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
typename lanes<T>::scalar reduce_row(reduce_source<T>& in, std::int64_t at, std::int64_t n, std::int64_t end) {
  constexpr std::int64_t block = 1024;
  if (n <= block) return reduce_block<Op>(in.read(at, n, end), n);
  typename lanes<T>::scalar part[reduce_grain / block];
  std::int64_t parts = 0;
  for (std::int64_t from = 0; from < n; from += block) {
    const std::int64_t now = std::min(block, n - from);
    part[parts++] = reduce_block<Op>(in.read(at + from, now, at + n), now);
  }
  combine<Op>(part, parts, 1);
  return part[0];
}

struct reduce_partials;

/// The case in which the innermost axis is reduced: each result comes from `reduced.total` rows of contiguous elements.
/// The rows of a result are cut into units of about reduce_grain elements. If there is one unit, threads share the results;
/// otherwise they share the units, whose partial results are combined at the end.
template <class Op, class T, class Out>
void reduce_inner(const reduce_plan& p, const kernel_arguments& a, Out* out) {
  using S = typename lanes<T>::scalar;
  const std::int64_t rows = p.reduced.total;
  const std::int64_t pieces = (p.inner + reduce_grain - 1) / reduce_grain;  // into which a long row is cut
  const std::int64_t rows_a_unit = std::max<std::int64_t>(1, reduce_grain / std::max<std::int64_t>(p.inner, 1));
  const std::int64_t units = pieces > 1 ? rows * pieces : (rows + rows_a_unit - 1) / rows_a_unit;
  // Unit u of result k: a piece of a long row, or several short rows.
  const auto unit = [&](reduce_source<T>& in, std::int64_t k, std::int64_t u, std::int64_t end) -> S {
    const std::int64_t base = p.kept.offset(k);
    if (pieces > 1) {
      const std::int64_t from = u % pieces * reduce_grain, n = std::min(reduce_grain, p.inner - from),
                         at = base + p.reduced.offset(u / pieces) + from;
      return reduce_row<Op>(in, at, n, at + n);
    }
    const auto row = [&](std::int64_t r) {
      const std::int64_t at = base + p.reduced.offset(r);
      return reduce_row<Op>(in, at, p.inner, std::max(end, at + p.inner));
    };
    S part[32];  // part[b] is the result of 2^b rows, so that the rows form a tree that grows like a binary counter
    const std::int64_t from = u * rows_a_unit, to = std::min(rows, from + rows_a_unit);
    if (to - from == 1) return row(from);
    std::int64_t done = 0;
    for (std::int64_t r = from; r < to; ++r) {
      S s = row(r);
      int b = 0;
      for (std::int64_t d = done; d & 1; d >>= 1) s = Op::apply(part[b++], s);
      part[b] = s;
      ++done;
    }
    S s = start_of<Op, T>;
    bool first = true;
    for (int b = 0; b < 32; ++b)
      if (done >> b & 1) s = first ? part[b] : Op::apply(part[b], s), first = false;
    return s;
  };
  if (units <= 1) {
    const std::int64_t grain = std::max<std::int64_t>(1, reduce_grain / std::max<std::int64_t>(1, rows * p.inner));
    parallel_for((p.kept.total + grain - 1) / grain, [&](std::int64_t chunk) {
      reduce_source<T> in(a);
      const std::int64_t to = std::min(p.kept.total, (chunk + 1) * grain);
      const std::int64_t end = rows == 1 ? to * p.inner : 0;  // one row lies behind the other
      for (std::int64_t k = chunk * grain; k < to; ++k) out[k] = static_cast<Out>(unit(in, k, 0, end));
    });
    return;
  }
  S* partial = reinterpret_cast<S*>(scratch<reduce_partials>(p.kept.total * units));
  parallel_for(p.kept.total * units, [&](std::int64_t t) {
    reduce_source<T> in(a);
    partial[t] = unit(in, t / units, t % units, 0);
  });
  for (std::int64_t k = 0; k < p.kept.total; ++k) {
    combine<Op>(partial + k * units, units, 1);
    out[k] = static_cast<Out>(partial[k * units]);
  }
}

/// acc[0, m) = the rows [from, to) of a strip of columns that begins at `base`, reduced eight rows at a time. The strip is so
/// narrow that `acc` stays in the first-level cache.
template <class Op, class T>
void reduce_strip_rows(const reduce_plan& p, const kernel_arguments& a, std::int64_t base, std::int64_t from,
                       std::int64_t to, std::int64_t m, typename lanes<T>::scalar* acc) {
  using L = lanes<T>;
  using A = lanes<typename L::scalar>;
  constexpr auto start = start_of<Op, T>;
  reduce_source<T> in(a);
  for (std::int64_t j = 0; j < m; ++j) acc[j] = start;
  for (std::int64_t r = from; r < to; r += 8) {
    const T* row[8];
    const std::int64_t n = std::min<std::int64_t>(8, to - r);
    in.read_rows(p, base, r, n, to, m, row);
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
      A::store(acc + j, Op::apply(A::load(acc + j), rows([&](int i) { return L::load(row[i] + j); })));
    if (j < m)
      A::store(
          acc + j,
          Op::apply(A::load(acc + j, m - j, start), rows([&](int i) { return L::load(row[i] + j, m - j, start); })),
          m - j);
  }
}

/// The case in which the innermost axis is kept: rows are combined element by element, strip by strip. If there are many
/// rows, they are cut into units of reduce_rows rows, whose results are combined by halves at the end.
template <class Op, class T, class Out>
void reduce_outer(const reduce_plan& p, const kernel_arguments& arguments, Out* out) {
  using L = lanes<T>;
  using S = typename L::scalar;
  const std::int64_t rows = p.reduced.total, m = p.inner;
  const std::int64_t units = std::max<std::int64_t>(1, (rows + reduce_rows - 1) / reduce_rows);
  const std::int64_t strips = (m + reduce_strip - 1) / reduce_strip;
  auto finish = [&](std::int64_t k, std::int64_t from, std::int64_t n, const S* acc) {
    for (std::int64_t j = 0; j < n; ++j) out[k * m + from + j] = static_cast<Out>(acc[j]);
  };
  if (units == 1) {
    const std::int64_t tasks = p.kept.total * strips;
    const std::int64_t grain =
        std::max<std::int64_t>(1, reduce_grain / std::max<std::int64_t>(1, rows * std::min(m, reduce_strip)));
    parallel_for((tasks + grain - 1) / grain, [&](std::int64_t chunk) {
      alignas(64) S acc[static_cast<std::size_t>(reduce_strip)];
      for (std::int64_t t = chunk * grain; t < std::min(tasks, (chunk + 1) * grain); ++t) {
        const std::int64_t k = t / strips, from = t % strips * reduce_strip, n = std::min(reduce_strip, m - from);
        reduce_strip_rows<Op, T>(p, arguments, p.kept.offset(k) + from, 0, rows, n, acc);
        finish(k, from, n, acc);
      }
    });
    return;
  }
  S* partial = reinterpret_cast<S*>(scratch<reduce_partials>(p.kept.total * units * m));  // [kept, units, m]
  parallel_for(p.kept.total * units * strips, [&](std::int64_t t) {
    const std::int64_t k = t / strips / units, u = t / strips % units, from = t % strips * reduce_strip;
    reduce_strip_rows<Op, T>(p, arguments, p.kept.offset(k) + from, u * reduce_rows,
                             std::min(rows, (u + 1) * reduce_rows), std::min(reduce_strip, m - from),
                             partial + (k * units + u) * m + from);
  });
  parallel_for(p.kept.total * strips, [&](std::int64_t t) {
    using A = lanes<S>;
    const std::int64_t k = t / strips, from = t % strips * reduce_strip, n = std::min(reduce_strip, m - from);
    S* base = partial + k * units * m + from;
    for (std::int64_t apart = 1; apart < units; apart *= 2)
      for (std::int64_t u = 0; u + apart < units; u += 2 * apart) {
        S *a = base + u * m, *b = base + (u + apart) * m;
        std::int64_t j = 0;
        for (; j + A::size <= n; j += A::size) A::store(a + j, Op::apply(A::load(a + j), A::load(b + j)));
        for (; j < n; ++j) a[j] = Op::apply(a[j], b[j]);
      }
    finish(k, from, n, base);
  });
}

template <class Op, class T, class Out = T>
void reduce_typed(const kernel_arguments& a) {
  const reduce_plan p(a.in[0].extents, a.attrs<reduce_attributes>().axis);
  Out* out = a.out[0].as<Out>();
  if (p.inner_reduced)
    reduce_inner<Op, T>(p, a, out);
  else
    reduce_outer<Op, T>(p, a, out);
}

template <class Op>
void reduce_numbers(const kernel_arguments& a) {
  dispatch(a.in[0].type, [&]<dtype Element>() {
    using T = element_t<Element>;
    if constexpr (!std::is_same_v<T, bool>)
      reduce_typed<Op, T>(a);
    else if constexpr (std::is_same_v<Op, min_of>)
      reduce_typed<and_of, T>(a);
    else
      reduce_typed<or_of, T>(a);
  });
}

}  // namespace tokamax::cpu_backend::detail
