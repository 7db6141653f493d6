// tokamax/ops/quantized/attention.hpp: dot_product_attention of quantised queries, keys and values.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few models have quantised numbers)
#pragma once

#include <tokamax/ops/attention.hpp>                  // dot_product_attention
#include <tokamax/ops/quantized/quantized_array.hpp>  // dequantize

#include <type_traits>  // is_convertible_v

namespace tokamax {

namespace detail {
template <class T>
inline constexpr bool is_quantized_array = std::is_same_v<T, quantized_array>;
template <class T>
concept attention_operand = is_quantized_array<T> || std::is_convertible_v<const T&, const array&>;

constexpr array attention_floats(const array& x, source_line) { return x; }
constexpr array attention_floats(const quantized_array& x, source_line l) { return dequantize(x, l); }
}  // namespace detail

/// dot_product_attention of arrays of which at least one is quantised. Those are dequantised on entry, because no kernel reads
/// them: they save memory between calls and not during one.
///
/// shapes  those of dot_product_attention; scales of any tiles, as [B, S, K, 1], or [B, S, K, H / 128] for tiles of heads
/// dtypes  a quantised array counts as one of the dtype of its scales
/// errors  those of dequantize and of dot_product_attention; "quantize: gradient" where a derivative would pass to what was
///         quantised
/// gradients  of floats and of scales; quantised values have none
/// source  tokamax.dot_product_attention of QArray
template <detail::attention_operand Q, detail::attention_operand K, detail::attention_operand V>
  requires(detail::is_quantized_array<Q> || detail::is_quantized_array<K> || detail::is_quantized_array<V>)
constexpr array dot_product_attention(const Q& q, const K& k, const V& v, const attention_options& options = {},
                                      source_line l = source_line::current()) {
  return dot_product_attention(detail::attention_floats(q, l), detail::attention_floats(k, l),
                               detail::attention_floats(v, l), options, l);
}

}  // namespace tokamax
