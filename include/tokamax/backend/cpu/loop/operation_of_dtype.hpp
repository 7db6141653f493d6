// tokamax/backend/cpu/loop/operation_of_dtype.hpp: the operations of interpreted loops that read, write, convert and round elements.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/loop/interpreted.cpp
#pragma once

#include <tokamax/backend/cpu/loop/operation.hpp>  // operation

namespace tokamax::cpu_backend::detail {

/// Has a narrow dtype operations that read, write and round whole vectors? Others go element by element.
constexpr bool has_vectors(dtype t) { return t == bool_ || t == bf16 || t == i8 || t == u8; }
/// Do elements of a dtype lie in memory as in tiles?
constexpr bool lies_as_computed(dtype t) { return t != bool_ && t == compute_dtype(t); }
constexpr bool has_64_bits(dtype t) { return size_of(compute_dtype(t)) == 8; }
/// Have values of both dtypes the same bits in tiles when they are converted?
constexpr bool converts_for_free(dtype to, dtype from) {
  const auto integral = [](dtype t) { return t == i32 || t == u32; };
  return to == from || (integral(to) && integral(from));
}

inline operation::function load_operation(dtype t) {
  return dispatch(t, []<dtype T>() -> operation::function {
    if constexpr (has_vectors(T)) return {run_short<load_step<T>>};
    return {};
  });
}
inline operation::function store_operation(dtype t, bool accumulated) {
  return dispatch(lies_as_computed(t) ? f32 : t, [&]<dtype T>() -> operation::function {
    if constexpr (T == f32 || has_vectors(T))
      return {accumulated ? run_short<store_step<T, true>> : run_short<store_step<T, false>>};
    return {};
  });
}
inline operation::function narrow_operation(dtype t, bool saturates) {
  return dispatch(t, [&]<dtype T>() -> operation::function {
    if constexpr (has_vectors(T) && is_narrow<T> && is_integer(T))
      return {saturates ? run_short<narrow_step<T, true>> : run_short<narrow_step<T, false>>};
    else if constexpr (T == bf16)
      return {run_short<narrow_step<T, false>>};
    return {};
  });
}
inline tile_function narrow_function(dtype t, bool saturates) {
  return dispatch(t, [&]<dtype T>() -> tile_function {
    if constexpr (is_narrow<T> && is_integer(T))
      return saturates ? saturate_loop<T> : narrow_loop<T>;
    else if constexpr (is_narrow<T>)
      return narrow_loop<T>;
    return nullptr;
  });
}
inline tile_function load_function(dtype t) {
  return dispatch(t, []<dtype T>() -> tile_function { return load_loop<T>; });
}
inline tile_function store_function(dtype t) {
  return dispatch(t, []<dtype T>() -> tile_function { return store_loop<T>; });
}
/// Calls f for a pair of dtypes that are computed in.
template <class F>
auto dispatch_pair(dtype to, dtype from, F f) {
  using result = decltype(f.template operator()<f32, f32>());
  return dispatch(to, [&]<dtype To>() -> result {
    return dispatch(from, [&]<dtype From>() -> result {
      if constexpr (To == compute_dtype(To) && From == compute_dtype(From))
        return f.template operator()<To, From>();
      else
        return {};
    });
  });
}
inline tile_function convert_function(dtype to, dtype from) {
  return dispatch_pair(to, from, []<dtype To, dtype From>() -> tile_function { return convert_loop<To, From>; });
}
inline operation::function convert_operation(dtype to, dtype from, bool accumulated) {
  return dispatch_pair(to, from, [&]<dtype To, dtype From>() -> operation::function {
    if constexpr (tile_bytes<To> == 4 && tile_bytes<From> == 4 && !converts_for_free(To, From))
      return {accumulated ? run_short<convert_step<To, From, true>> : run_short<convert_step<To, From, false>>};
    return {};
  });
}

}  // namespace tokamax::cpu_backend::detail
