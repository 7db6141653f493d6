// tokamax/backend/cpu/kernels/reduce.hpp: sum, max, min, and, or over any axes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/cpu/device.hpp>       // cpu_tag
#include <tokamax/backend/cpu/reduce/tree.hpp>  // reduce_numbers, reduce_typed
#include <tokamax/lax/reduce.hpp>               // reduce_sum_p and its family
#include <tokamax/runtime/kernel.hpp>           // takes_producer

namespace tokamax {

template <>
inline constexpr bool takes_producer<reduce_sum_p> = true;
template <>
inline constexpr bool takes_producer<sum_in_32_bits_p> = true;
template <>
inline constexpr bool takes_producer<reduce_max_p> = true;
template <>
inline constexpr bool takes_producer<reduce_min_p> = true;
template <>
inline constexpr bool takes_producer<reduce_and_p> = true;
template <>
inline constexpr bool takes_producer<reduce_or_p> = true;

/// Sums in the dtype of the result; 16-bit floats are summed in f32 and rounded once.
inline void kernel(op_c<reduce_sum_p>, cpu_tag, const kernel_arguments& a) {
  cpu_backend::detail::reduce_numbers<cpu_backend::detail::sum_of>(a);
}
/// Sums of narrow numbers that stay in 32 bits.
inline void kernel(op_c<sum_in_32_bits_p>, cpu_tag, const kernel_arguments& a) {
  dispatch(a.in[0].type, [&]<dtype E>() {
    using T = std::conditional_t<E == bool_, std::uint8_t, element_t<E>>;  // a truth value is a byte of 0 or 1
    if constexpr (bits_of(E) <= 32)
      cpu_backend::detail::reduce_typed<cpu_backend::detail::sum_of, T, element_t<tokamax::detail::summed_in(E)>>(a);
  });
}
/// For truth values, max is `or` and min is `and`.
inline void kernel(op_c<reduce_max_p>, cpu_tag, const kernel_arguments& a) {
  cpu_backend::detail::reduce_numbers<cpu_backend::detail::max_of>(a);
}
inline void kernel(op_c<reduce_min_p>, cpu_tag, const kernel_arguments& a) {
  cpu_backend::detail::reduce_numbers<cpu_backend::detail::min_of>(a);
}
inline void kernel(op_c<reduce_and_p>, cpu_tag, const kernel_arguments& a) {
  cpu_backend::detail::reduce_typed<cpu_backend::detail::and_of, bool>(a);
}
inline void kernel(op_c<reduce_or_p>, cpu_tag, const kernel_arguments& a) {
  cpu_backend::detail::reduce_typed<cpu_backend::detail::or_of, bool>(a);
}

}  // namespace tokamax
