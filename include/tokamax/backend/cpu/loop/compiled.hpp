// tokamax/backend/cpu/loop/compiled.hpp: a fused group of elementwise ops as an expression type, compiled to one SIMD loop.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/cpu/loop/loop.hpp>             // run_loop
#include <tokamax/backend/cpu/loop/transposed_copy.hpp>  // copy_transposed
#include <tokamax/backend/cpu/vector/element.hpp>        // apply_element, read, write

#include <utility>  // index_sequence

namespace tokamax::cpu_backend {

/// One line of an expression, as a type. The result of line i is register i, and A, B and C are the registers that it reads
/// (see `instruction`).
template <instruction_kind Kind, const op* Function, dtype Type, dtype Operand, instruction::step Inner, int A, int B,
          int C>
struct line {
  static constexpr auto kind = Kind;
  static constexpr const op* function = Function;
  static constexpr dtype type = Type, operand = Operand;
  static constexpr auto inner = Inner;
  static constexpr int a = A, b = B, c = C;
  /// Is the value the same for all elements of a row? Then it is computed once for each row.
  static constexpr bool invariant =
      Kind == instruction_kind::constant || (Kind == instruction_kind::load && Inner == instruction::step::none);
};

namespace detail {
// The registers of a row: a tuple whose elements are bases. It compiles much faster than std::tuple, and every loop has one.
template <std::size_t Index, class V>
struct cell {
  V value;
};
template <class Indices, class... V>
struct cells;
template <std::size_t... Index, class... V>
struct cells<std::index_sequence<Index...>, V...> : cell<Index, V>... {};
template <std::size_t Index, class V>
V& at(cell<Index, V>& c) noexcept {
  return c.value;
}

/// The slots of a loop that only copies one whose elements do not lie side by side.
struct copy_slots {
  bool any = false;
  int from = 0, to = 0;
};
template <class... Lines>
inline constexpr copy_slots copied_slots{};
template <class Load, class Store>
inline constexpr copy_slots copied_slots<Load, Store>{Load::kind == instruction_kind::load &&
                                                          Load::inner == instruction::step::any &&
                                                          Store::kind == instruction_kind::store,
                                                      Load::a, Store::b};
}  // namespace detail

/// An expression template: the lines of one loop, in order. All steps with this structure share one instance, in all
/// programs, because extents, strides and constants are arguments.
template <class... Lines>
struct expression {
  using indices = std::index_sequence_for<Lines...>;
  using registers = detail::cells<indices, register_t<Lines::type>...>;

  // The part of a row that one evaluation works on.
  struct row {
    std::byte* const* bases;
    const std::int64_t* strides;
    const element_bits* constants;
    std::int64_t at = 0, count = 0;  // the first element, and the number of elements: `width`, or less at the end
  };

  /// Evaluates line L, which is number I. `Full` promises that all `width` elements exist.
  template <class L, std::size_t Index, bool Full>
  [[gnu::always_inline]] static void evaluate(registers& r, const row& w) noexcept {
    using enum instruction_kind;
    if constexpr (L::kind == constant) {
      detail::at<Index>(r) = splat<L::type>(w.constants[L::a]);
    } else if constexpr (L::kind == load) {
      const std::byte* p = w.bases[L::a];
      constexpr std::int64_t bytes = tokamax::size_of(L::type);
      if constexpr (L::inner == instruction::step::none)
        detail::at<Index>(r) = read_strided<L::type>(p, 0, width);
      else if constexpr (L::inner == instruction::step::unit)
        detail::at<Index>(r) = read<L::type, Full>(p + w.at * bytes, w.count);
      else
        detail::at<Index>(r) = read_strided<L::type>(p + w.at * w.strides[L::a] * bytes, w.strides[L::a], w.count);
    } else if constexpr (L::kind == iota) {
      const std::int64_t step = L::inner == instruction::step::none   ? 0
                                : L::inner == instruction::step::unit ? 1
                                                                      : w.strides[L::a];
      detail::at<Index>(r) = count_from<L::type>(reinterpret_cast<std::int64_t>(w.bases[L::a]) + w.at * step, step);
    } else if constexpr (L::kind == store) {
      write<L::type, Full>(w.bases[L::b] + w.at * tokamax::size_of(L::type), detail::at<L::a>(r), w.count);
    } else if constexpr (L::function == &convert_element_type_p) {
      detail::at<Index>(r) = convert<L::type, L::operand>(detail::at<L::a>(r));
    } else if constexpr (L::c >= 0) {
      detail::at<Index>(r) =
          apply_element<*L::function, L::type>(detail::at<L::a>(r), detail::at<L::b>(r), detail::at<L::c>(r));
    } else if constexpr (L::b >= 0) {
      detail::at<Index>(r) = apply_element<*L::function, L::type>(detail::at<L::a>(r), detail::at<L::b>(r));
    } else {
      detail::at<Index>(r) = apply_element<*L::function, L::type>(detail::at<L::a>(r));
    }
  }
  /// Evaluates all lines that are invariant, or all that are not. The lambdas are inlined, so that values stay in registers
  /// from line to line.
  template <bool Full, bool Invariant, std::size_t... Index>
  [[gnu::always_inline]] static void evaluate_all(registers& r, const row& w, std::index_sequence<Index...>) noexcept {
    (
        [&]() __attribute__((always_inline)) {
          if constexpr (Lines::invariant == Invariant) evaluate<Lines, Index, Full>(r, w);
        }(),
        ...);
  }

  /// One row of n elements: first the invariant lines, then whole vectors, then the rest.
  static void inner(std::int64_t n, std::byte* const* bases, const std::int64_t* strides,
                    const loop_arguments& loop) noexcept {
    registers r;
    row w{bases, strides, loop.constants, 0, width};
    evaluate_all<true, true>(r, w, indices{});
    for (; w.at + width <= n; w.at += width) evaluate_all<true, false>(r, w, indices{});
    if (w.at < n) {
      w.count = n - w.at;
      evaluate_all<false, false>(r, w, indices{});
    }
  }
  static void run(const loop_arguments& a) {
    if constexpr (detail::copied_slots<Lines...>.any)
      if (copy_transposed(a, detail::copied_slots<Lines...>.from, detail::copied_slots<Lines...>.to)) return;
    run_loop(a, inner);
  }
};

namespace detail {
// Here constant tables become types: the instructions of a frozen plan are the template arguments of lines.
template <const auto& Plan, int First, std::size_t... Index>
auto expression_of(std::index_sequence<Index...>) {
  return expression<line<Plan.instructions[First + Index].kind, Plan.instructions[First + Index].function,
                         Plan.instructions[First + Index].type, Plan.instructions[First + Index].operand,
                         Plan.instructions[First + Index].inner, Plan.instructions[First + Index].a,
                         Plan.instructions[First + Index].b, Plan.instructions[First + Index].c>...>{};
}
}  // namespace detail

/// The expression type of loop `K` of a frozen plan.
template <const auto& Plan, int K>
using expression_t = decltype(detail::expression_of<Plan, Plan.loops[K].first>(
    std::make_index_sequence<static_cast<std::size_t>(Plan.loops[K].count)>{}));

}  // namespace tokamax::cpu_backend
