// tokamax/backend/cpu/loop/operation.hpp: the operations of interpreted loops, which pass values to one another in registers.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/loop/interpreted.cpp
#pragma once

#include <tokamax/backend/cpu/loop/tile.hpp>  // tile_function
#include <tokamax/runtime/kernel.hpp>         // interpreted_op

namespace tokamax {
namespace cpu_backend {

/// Vectors of 32-bit elements that operations pass on: the accumulator. It leaves half of the 16 registers of AVX2 free.
inline constexpr std::int64_t accumulator_vectors = 8;
/// The number of elements of a tile, for which the operations of a loop run once. A tile of f32 has 256 bytes with AVX2, so
/// those of a long loop stay in the first-level cache.
inline constexpr std::int64_t tile_size = accumulator_vectors * width;

/// Memory of a loop. Element i of a block is at base + i * step; a step of 0 is for tiles, which all elements share.
struct place {
  std::byte* base;
  std::int64_t step;  // bytes
};

/// One operation of a loop. It computes a tile, and then calls the next operation as its last act, which compilers make a
/// jump. So the accumulator stays in registers from one to the next, and only values that are needed later go to memory.
///
/// `at` is the first element of the tile in the block. Place 0 has the number of elements of the block as its step.
struct operation {
  using vector = f32v::register_type;
  /// A class, because gcc warns about vectors in types that are arguments of templates.
  struct function {
    void (*pointer)(const operation* o, const place* places, std::int64_t at, vector, vector, vector, vector, vector,
                    vector, vector, vector) = nullptr;
    constexpr explicit operator bool() const { return pointer != nullptr; }
  };
  function run;
  tile_function tile = nullptr;             ///< what an operation on memory alone calls
  std::int32_t in[3] = {0, 0, 0}, out = 0;  ///< places, as bytes from the first one

  std::byte* operand(const place* places, std::int64_t at, int k) const { return address(places, in[k], at); }
  std::byte* result(const place* places, std::int64_t at) const { return address(places, out, at); }

 private:
  static std::byte* address(const place* places, std::int32_t bytes, std::int64_t at) {
    const auto* p = reinterpret_cast<const place*>(reinterpret_cast<const std::byte*>(places) + bytes);
    return p->base + at * p->step;
  }
};

}  // namespace cpu_backend

/// What interpreted loops run for an op on operands of a dtype.
struct interpreted_op {
  cpu_backend::tile_function tile = nullptr;  ///< from memory to memory
  /// For short functions: from memory to the accumulator, and with the accumulator as operand 0, 1 or 2.
  cpu_backend::operation::function short_forms[4] = {};
};

namespace cpu_backend {
namespace detail {

/// Runs Step on each vector of the accumulator, then the next operation.
template <class Step>
void run_short(const operation* o, const place* p, std::int64_t at, operation::vector a0, operation::vector a1,
               operation::vector a2, operation::vector a3, operation::vector a4, operation::vector a5,
               operation::vector a6, operation::vector a7) {
  const Step step(*o, p, at);
  a0 = step(0, a0), a1 = step(1, a1), a2 = step(2, a2), a3 = step(3, a3);
  a4 = step(4, a4), a5 = step(5, a5), a6 = step(6, a6), a7 = step(7, a7);
  o[1].run.pointer(o + 1, p, at, a0, a1, a2, a3, a4, a5, a6, a7);
}
/// Ends the operations of a tile.
inline void run_end(const operation*, const place*, std::int64_t, operation::vector, operation::vector,
                    operation::vector, operation::vector, operation::vector, operation::vector, operation::vector,
                    operation::vector) {}

// Not inlined, because a function whose local variables are seen by others cannot end by a jump.
[[gnu::noinline]] inline void call_tile(const operation* o, const place* p, std::int64_t at) {
  const void* const in[3] = {o->operand(p, at, 0), o->operand(p, at, 1), o->operand(p, at, 2)};
  o->tile(o->result(p, at), in, std::min(tile_size, p[0].step - at));
}
/// Calls a tile function. The accumulator has no value then.
inline void run_tile(const operation* o, const place* p, std::int64_t at, operation::vector a, operation::vector,
                     operation::vector, operation::vector, operation::vector, operation::vector, operation::vector,
                     operation::vector) {
  call_tile(o, p, at);
  a = operation::vector{};
  o[1].run.pointer(o + 1, p, at, a, a, a, a, a, a, a, a);
}

/// A vector of the accumulator as a register of dtype T, and back. They have the bits that tiles have.
template <dtype T>
register_t<T> from_vector(operation::vector v) noexcept {
  if constexpr (T == bool_)
    return mask_of_bits(bitcast<i32v>(f32v(v)));
  else
    return bitcast<register_t<T>>(f32v(v));
}
inline operation::vector to_vector(mask m) noexcept { return bitcast<f32v>(bits_of_mask(m)).data; }
template <class V>
operation::vector to_vector(V v) noexcept {
  return bitcast<f32v>(v).data;
}

/// Where an operation reads: operand K in memory, or the accumulator.
template <dtype T, bool Accumulated>
struct source {
  const std::byte* from = nullptr;
  source(const operation& o, const place* p, std::int64_t at, int k) {
    if constexpr (!Accumulated) from = o.operand(p, at, k);
  }
  register_t<T> operator()(std::int64_t j, operation::vector a) const {
    if constexpr (Accumulated)
      return from_vector<T>(a);
    else
      return tile_at<T>(from, j * width);
  }
};

/// Applies an op. Operand number `Accumulated` is in the accumulator, and the others are in memory; -1: all are.
template <const op& Op, dtype T, int Arity, int Accumulated>
struct apply_step {
  source<operand_dtype<Op, T>(0), Accumulated == 0> x;
  source < T, Accumulated == 1 || Arity<2> y;
  source < T, Accumulated == 2 || Arity<3> z;
  apply_step(const operation& o, const place* p, std::int64_t at) : x(o, p, at, 0), y(o, p, at, 1), z(o, p, at, 2) {}
  operation::vector operator()(std::int64_t j, operation::vector a) const {
    if constexpr (Arity == 1)
      return to_vector(apply_element<Op, f32>(x(j, a)));
    else if constexpr (Arity == 2)
      return to_vector(apply_element<Op, f32>(x(j, a), y(j, a)));
    else
      return to_vector(apply_element<Op, f32>(x(j, a), y(j, a), z(j, a)));
  }
};
template <dtype To, dtype From, bool Accumulated>
struct convert_step {
  source<From, Accumulated> x;
  convert_step(const operation& o, const place* p, std::int64_t at) : x(o, p, at, 0) {}
  operation::vector operator()(std::int64_t j, operation::vector a) const {
    return to_vector(convert<To, From>(x(j, a)));
  }
};
template <dtype T, bool Saturates>
struct narrow_step {
  narrow_step(const operation&, const place*, std::int64_t) {}
  operation::vector operator()(std::int64_t, operation::vector a) const {
    if constexpr (Saturates)
      return to_vector(saturated<T>(from_vector<T>(a)));
    else
      return to_vector(narrowed<T>(from_vector<T>(a)));
  }
};
/// Reads elements of an array of dtype T.
template <dtype T>
struct load_step {
  const std::byte* from;
  load_step(const operation& o, const place* p, std::int64_t at) : from(o.operand(p, at, 0)) {}
  operation::vector operator()(std::int64_t j, operation::vector) const {
    return to_vector(read<T, true>(from + j * width * tokamax::size_of(T), width));
  }
};
/// Writes elements of an array of dtype T, from memory or from the accumulator, which stays as it is.
template <dtype T, bool Accumulated>
struct store_step {
  source<T, Accumulated> x;
  std::byte* to;
  store_step(const operation& o, const place* p, std::int64_t at) : x(o, p, at, 0), to(o.result(p, at)) {}
  operation::vector operator()(std::int64_t j, operation::vector a) const {
    write<T, true>(to + j * width * tokamax::size_of(T), x(j, a), width);
    return a;
  }
};

/// Is the code of an op on vectors so short that it has short forms?
template <const op& Op>
constexpr bool is_short() {
  return (Op.cost.transcendentals == 0 || &Op == &sqrt_p || &Op == &rsqrt_p) && &Op != &quotient_p && &Op != &rem_p;
}

template <const op& Op, dtype T>
constexpr interpreted_op make_interpreted_op() {
  constexpr int n = arity<Op>();
  interpreted_op f{tile_loop<Op, T, n>};
  if constexpr (is_short<Op>() && tile_bytes<T> == 4) {
    f.short_forms[0] = {run_short<apply_step<Op, T, n, -1>>};
    f.short_forms[1] = {run_short<apply_step<Op, T, n, 0>>};
    if constexpr (n > 1) f.short_forms[2] = {run_short<apply_step<Op, T, n, 1>>};
    if constexpr (n > 2) f.short_forms[3] = {run_short<apply_step<Op, T, n, 2>>};
  }
  return f;
}
template <const op& Op, dtype T>
inline constexpr interpreted_op interpreted = make_interpreted_op<Op, T>();

}  // namespace detail

/// What interpreted loops run for an elementwise op on operands of a dtype; null if the op is not defined for it.
template <const op& Op>
const interpreted_op* interpreted_op_of(dtype operand) {
  if constexpr (&Op == &convert_element_type_p)
    return nullptr;
  else
    return dispatch(compute_dtype(operand), []<dtype T>() -> const interpreted_op* {
      if constexpr (T == compute_dtype(T) && detail::takes(Op, T))
        return &detail::interpreted<Op, T>;
      else
        return nullptr;
    });
}

}  // namespace cpu_backend
}  // namespace tokamax
