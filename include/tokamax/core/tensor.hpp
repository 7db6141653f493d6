// tokamax/core/tensor.hpp: an array whose dtype and shape are part of its type, for the boundaries of a program.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/core/array.hpp>  // array

namespace tokamax {

namespace detail {
/// Throws if an array does not have the type of a tensor.
void require_tensor(const array_type& type, const array& a, source_line l);
/// The same in a constant expression, where the trace records the mistake.
constexpr void note_wrong_tensor(const array_type& type, const array& a, source_line l) {
  if (!a.trace()) return require_tensor(type, a, l);
  if (!a.trace()->error.failed) a.trace()->error = {true, "tensor: type", a.type(), type, l};
}
#if defined(TOKAMAX_COMPILED_ONCE)
TOKAMAX_COMPILED_ONCE void require_tensor(const array_type& type, const array& a, source_line l) {
  if (!a.exists() || fits(type, a.type())) return;
  throw error(error_kind::shape, "tensor: type", std::string(message(a.type()).view()),
              std::string(message(type).view()), std::string(l.file_name()) + ":" + std::to_string(l.line()));
}
#endif
}  // namespace detail

/// An array of dtype T and extents D. A default-made one is abstract, and tells `jit` the shape. One that is made from an
/// array checks its type. An extent `dyn()` (or `dyn(1)` and so on for further symbols) stands for any extent:
/// `tensor<f32, dyn(), 784>`.
///
/// errors  "tensor: type" if the array has another dtype or shape
template <dtype T, std::int64_t... D>
struct tensor : array {
  static_assert(sizeof...(D) <= max_rank, "tensor: at most 16 axes");
  static_assert((is_extent(D) && ...), "tensor: extents from 0 on, or dyn()");
  static constexpr array_type static_type{T, false, {D...}};
  constexpr tensor() : array(static_type) {}
  constexpr tensor(const array& a, source_line l = source_line::current()) : array(a) {  // NOLINT: a tensor is an array
    if (!std::is_constant_evaluated())
      detail::require_tensor(static_type, a, l);
    else if (a.exists() && !fits(static_type, a.type()))
      detail::note_wrong_tensor(static_type, a, l);
    if (a.is_literal() && a.type().weak) static_cast<array&>(*this) = array(a.literal_bits(), {T, false, a.shape()});
  }
};

}  // namespace tokamax
