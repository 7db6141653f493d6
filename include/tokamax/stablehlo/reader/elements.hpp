// tokamax/stablehlo/reader/elements.hpp: dense elements as arrays, from bytes or from a list of numbers.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (part of read_text)
// tested by tests/stablehlo/reader/read_text.cpp
#pragma once

#include <tokamax/base/element.hpp>                // dispatch, element_bits
#include <tokamax/core/memory/foreign_memory.hpp>  // array_over
#include <tokamax/stablehlo/module.hpp>            // value, value_type

#include <cstdint>  // uintptr_t
#include <cstring>  // memcpy
#include <span>     // span
#include <string>   // string

namespace tokamax::stablehlo::detail {

/// The type of an array of a value, or of one of its parts.
inline array_type part_type(const value_type& t) { return {t.dtype, false, t.extents}; }

/// The element that stands at `from`, as a file has it.
inline element_bits element_at(dtype type, const std::byte* from) {
  std::uint64_t v = 0;
  std::memcpy(&v, from, static_cast<std::size_t>(size_of(type)));
  if (is_integer(type)) return tokamax::detail::low_bits(type, v);
  return {type == bool_ ? v != 0 : v};
}

/// Elements that are all equal: a literal, which takes no memory.
inline value equal_elements(const value_type& type, element_bits re, element_bits im) {
  const array_type t = part_type(type);
  if (size(t.shape) == 0) return {array::uninitialized(t), type.complex ? array::uninitialized(t) : array()};
  return {array(re, t), type.complex ? array(im, t) : array()};
}
/// Elements of fewer bytes are copied, so that few of them do not keep a whole file.
inline constexpr std::size_t least_shared_bytes = 4096;

/// Data of `type` from the bytes of a text or file: those of all elements, or of one that all are equal to. Truth values take
/// a bit each, or a byte. What has no elements needs no bytes. Many elements that lie as in memory stay where they are, if
/// `owner` exists, which keeps them there. Returns what is wrong, or nothing.
inline std::string elements_of_bytes(const value_type& type, std::span<const std::byte> bytes, value& result,
                                     const array& owner = {}) {
  const array_type t = part_type(type);
  // A complex number has two parts of `each` bytes.
  const auto each = static_cast<std::size_t>(size_of(t.dtype)), parts = std::size_t{type.complex ? 2u : 1u};
  const auto count = static_cast<std::uint64_t>(size(t.shape));
  const bool some_bits = t.dtype == bool_ && count <= 8 && bytes.size() == 1 && bytes[0] != std::byte{0xff};
  if (bytes.size() == each * parts && (count == 1 || !some_bits))
    return result = equal_elements(type, element_at(t.dtype, bytes.data()),
                                   element_at(t.dtype, bytes.data() + (parts - 1) * each)),
           "";
  const bool bits = t.dtype == bool_ && (bytes.size() != count || some_bits);
  const std::uint64_t expected = bits ? count / 8 + (count % 8 != 0) : count * each * parts;
  if (count > bytes.size() * 8 || bytes.size() != expected)
    return std::to_string(bytes.size()) + " bytes where " + std::to_string(expected) + " are needed";
  const bool as_in_memory = !bits && parts == 1 && !is_packed(t.dtype) && t.dtype != bool_;
  if (as_in_memory && owner.exists() && bytes.size() >= least_shared_bytes &&
      reinterpret_cast<std::uintptr_t>(bytes.data()) % each == 0)
    return result.re = array_over(bytes.data(), t, [owner] {}), "";
  result.re = array::uninitialized(t);
  std::byte* const re = result.re.mutable_bytes();
  // Bits, parts, bytes of numbers that take fewer than 8 bits, or elements as they lie in memory.
  if (bits) {
    for (std::size_t i = 0; i < count; ++i) re[i] = (bytes[i / 8] >> (i % 8)) & std::byte{1};
  } else if (parts == 2) {
    result.im = array::uninitialized(t);
    std::byte* const im = result.im.mutable_bytes();
    for (std::size_t i = 0; i < count; ++i) {
      std::memcpy(re + i * each, bytes.data() + 2 * i * each, each);
      std::memcpy(im + i * each, bytes.data() + (2 * i + 1) * each, each);
    }
  } else if (!as_in_memory) {
    dispatch(t.dtype, [&]<dtype T>() {
      auto* const out = result.re.mutable_data<element_t<T>>();
      for (std::size_t i = 0; i < count; ++i)
        out[i] = element_at(T, bytes.data() + i * each).template as<element_t<T>>();
    });
  } else if (count > 0) {
    std::memcpy(re, bytes.data(), count * each);
  }
  return "";
}

/// The same of numbers, one or two (the parts of a complex one) for each element.
inline std::string elements_of_numbers(const value_type& type, const std::vector<element_bits>& numbers, bool splat,
                                       value& result) {
  const array_type t = part_type(type);
  const std::size_t parts = type.complex ? 2 : 1;
  const auto count = static_cast<std::uint64_t>(size(t.shape));
  if ((splat || count == 1) && numbers.size() == parts)
    return result = equal_elements(type, numbers[0], numbers[parts - 1]), "";
  if (numbers.size() / parts != count || numbers.size() % parts)
    return std::to_string(numbers.size() / parts) + " elements where " + std::to_string(count) + " are needed";
  // The parts come one after the other.
  array* const to[] = {&result.re, &result.im};
  for (std::size_t p = 0; p < parts; ++p) {
    *to[p] = array::uninitialized(t);
    dispatch(t.dtype, [&]<dtype T>() {
      auto* out = to[p]->mutable_data<element_t<T>>();
      for (std::size_t i = p; i < numbers.size(); i += parts) *out++ = numbers[i].as<element_t<T>>();
    });
  }
  return "";
}

}  // namespace tokamax::stablehlo::detail
