// tokamax/backend/cpu/tile.hpp: run a fused group that is known at run time only, line by line over tiles in the cache.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/fused.cpp
#pragma once

#include <tokamax/backend/cpu/element.hpp>  // apply_element, read, write
#include <tokamax/backend/cpu/loop.hpp>     // run_loop

namespace tokamax::simd {

/// Elements of a tile: a register is then 2 KiB, and some tens of them stay in the first-level cache.
inline constexpr std::int64_t tile_size = 512;

namespace detail {

/// A tile register holds 4 bytes an element; bool as 0 or 1, bf16 as f32.
template <dtype T>
register_t<T> from_tile(const void* p) noexcept {
  if constexpr (T == bool_)
    return int_to_mask(load<i32v>(static_cast<const std::int32_t*>(p)));
  else
    return load<register_t<T>>(static_cast<const typename register_t<T>::value_type*>(p));
}
inline void to_tile(void* p, f32v v) noexcept { store(static_cast<float*>(p), v); }
inline void to_tile(void* p, i32v v) noexcept { store(static_cast<std::int32_t*>(p), v); }
inline void to_tile(void* p, u32v v) noexcept { store(static_cast<std::uint32_t*>(p), v); }
inline void to_tile(void* p, mask m) noexcept { to_tile(p, mask_to_int(m)); }

template <class F>
void each_vector(std::int64_t n, F f) noexcept {
  for (std::int64_t i = 0; i < n; i += width) f(i * 4);
}
constexpr const std::byte* shift(const void* p, std::int64_t bytes) noexcept {
  return static_cast<const std::byte*>(p) + bytes;
}
inline std::byte* shift(void* p, std::int64_t bytes) noexcept { return static_cast<std::byte*>(p) + bytes; }

template <const op& Op, dtype T, int Arity>
void tile_loop(void* out, const void* const* in, std::int64_t n) {
  each_vector(n, [&](std::int64_t at) {
    if constexpr (Arity == 1)
      to_tile(shift(out, at), apply_element<Op, f32>(from_tile<T>(shift(in[0], at))));
    else if constexpr (Arity == 2)
      to_tile(shift(out, at), apply_element<Op, f32>(from_tile<T>(shift(in[0], at)), from_tile<T>(shift(in[1], at))));
    else
      to_tile(shift(out, at), apply_element<Op, f32>(from_tile < &Op == &select_p ? bool_ : T > (shift(in[0], at)),
                                                     from_tile<T>(shift(in[1], at)), from_tile<T>(shift(in[2], at))));
  });
}

template <const op& Op>
constexpr int arity() {
  if constexpr (requires(double x) { element_of<Op>::apply(x); })
    return 1;
  else if constexpr (requires(double x) { element_of<Op>::apply(x, x); })
    return 2;
  else
    return 3;
}

template <dtype To, dtype From>
void convert_loop(void* out, const void* const* in, std::int64_t n) {
  each_vector(n,
              [&](std::int64_t at) { to_tile(shift(out, at), convert<To, From>(from_tile<From>(shift(in[0], at)))); });
}
template <class F>
auto with_dtype(dtype t, F f) {
  switch (t) {
    case bool_:
      return f.template operator()<bool_>();
    case i32:
      return f.template operator()<i32>();
    case u32:
      return f.template operator()<u32>();
    case bf16:
      return f.template operator()<bf16>();
    default:
      return f.template operator()<f32>();
  }
}
inline void round_tile(void* p, std::int64_t n) noexcept {
  each_vector(n, [&](std::int64_t at) { to_tile(shift(p, at), round_to_bfloat16(from_tile<f32>(shift(p, at)))); });
}

struct tile_scratch;

inline void interpret(std::int64_t n, std::byte* const* slots, const std::int64_t* strides,
                      const loop_arguments& loop) noexcept {
  const loop_kernel& k = *loop.kernel;
  auto* registers = reinterpret_cast<std::byte*>(scratch<tile_scratch>(k.count * tile_size));
  auto reg = [&](int i) { return registers + i * tile_size * 4; };
  for (std::int64_t at = 0; at < n; at += tile_size) {
    const std::int64_t m = std::min(tile_size, n - at);
    for (int i = 0; i < k.count; ++i) {
      const instruction& l = loop.instructions[i];
      switch (l.kind) {
        case instruction::what::constant:
          if (at == 0)
            with_dtype(l.type, [&]<dtype T>() {
              each_vector(tile_size, [&](std::int64_t b) { to_tile(reg(i) + b, splat<T>(loop.constants[l.a])); });
            });
          break;
        case instruction::what::load:
          with_dtype(l.type, [&]<dtype T>() {
            const std::int64_t stride = strides[l.a];
            const std::byte* p = slots[l.a] + at * stride * tokamax::size_of(T);
            if (stride == 0 && at > 0) return;
            for (std::int64_t j = 0; j < (stride == 0 ? tile_size : m); j += width) {
              const std::int64_t count = std::min(width, m - j);
              if (stride == 1)
                to_tile(reg(i) + j * 4, count == width ? read<T, true>(p + j * tokamax::size_of(T), width)
                                                       : read<T, false>(p + j * tokamax::size_of(T), count));
              else
                to_tile(reg(i) + j * 4,
                        read_strided<T>(p + j * stride * tokamax::size_of(T), stride, stride == 0 ? width : count));
            }
          });
          break;
        case instruction::what::iota:
          with_dtype(l.type, [&]<dtype T>() {
            for (std::int64_t j = 0; j < m; j += width)
              to_tile(
                  reg(i) + j * 4,
                  count_from<T>(reinterpret_cast<std::int64_t>(slots[l.a]) + (at + j) * strides[l.a], strides[l.a]));
          });
          break;
        case instruction::what::store:
          with_dtype(l.type, [&]<dtype T>() {
            std::byte* p = slots[l.b] + at * tokamax::size_of(T);
            for (std::int64_t j = 0; j < m; j += width) {
              const register_t<T> v = from_tile<T>(reg(l.a) + j * 4);
              if (m - j >= width)
                write<T, true>(p + j * tokamax::size_of(T), v, width);
              else
                write<T, false>(p + j * tokamax::size_of(T), v, m - j);
            }
          });
          break;
        case instruction::what::apply: {
          const void* in[3] = {reg(l.a), reg(l.b < 0 ? 0 : l.b), reg(l.c < 0 ? 0 : l.c)};
          if (l.function == &convert_element_type_p) {
            with_dtype(l.type, [&]<dtype To>() {
              with_dtype(l.operand, [&]<dtype From>() { convert_loop<To, From>(reg(i), in, m); });
            });
          } else {
            l.function->kernels().tile(l.operand)(reg(i), in, m);
            if (l.type == bf16) round_tile(reg(i), m);
          }
          break;
        }
      }
    }
  }
}

}  // namespace detail

/// Runs any fused loop from its instructions.
inline void run_interpreted(const loop_arguments& a) { run_loop(a, detail::interpret); }

/// The tile loop of an elementwise op for operands of a dtype; null if the op is not defined for it.
template <const op& Op>
tile_function tile_of(dtype operand) {
  if constexpr (&Op == &convert_element_type_p)
    return nullptr;
  else {
    constexpr int n = detail::arity<Op>();
    constexpr bool numbers = Op.dtypes == accepts::all || Op.dtypes == accepts::numbers;
    switch (operand) {
      case bool_:
        if constexpr (Op.dtypes == accepts::all || Op.dtypes == accepts::booleans)
          return detail::tile_loop<Op, bool_, n>;
        return nullptr;
      case i32:
        if constexpr (numbers || Op.dtypes == accepts::integers) return detail::tile_loop<Op, i32, n>;
        return nullptr;
      case u32:
        if constexpr (numbers || Op.dtypes == accepts::integers) return detail::tile_loop<Op, u32, n>;
        return nullptr;
      default:
        if constexpr (numbers || Op.dtypes == accepts::floating) return detail::tile_loop<Op, f32, n>;
        return nullptr;
    }
  }
}

}  // namespace tokamax::simd
