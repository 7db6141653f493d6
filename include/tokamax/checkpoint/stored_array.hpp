// tokamax/checkpoint/stored_array.hpp: what the header of a safetensors file says of one array.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/checkpoint/json.hpp>  // natural
#include <tokamax/core/type.hpp>        // array_type

#include <iterator>  // size
#include <string>    // string

#if defined(TOKAMAX_FILES_COMPILED_ONCE)
  #include <limits>  // numeric_limits
  #include <vector>  // extents
#endif

namespace tokamax::checkpoint {

/// The dtype and shape of an array, and where its bytes are in a file.
struct stored_array {
  array_type type;                   ///< dtype::none if this library does not have the dtype or rank
  std::string text;                  ///< dtype and shape for messages: `f32[4,8]`
  std::uint64_t begin = 0, end = 0;  ///< bytes, counted from the end of the header
};

/// f32 -> F32, as the format spells it. i4 and u4, which it does not have, are I4 and U4: two to a byte, the first in the
/// low bits, as it packs F4.
inline std::string stored_name(dtype type) { return std::string(info(type).safetensors); }

/// F32 -> f32; dtype::none if there is no such dtype.
inline dtype dtype_stored_as(std::string_view text) {
  for (std::size_t i = 1; i < std::size(dtype_table); ++i) {
    if (stored_name(static_cast<dtype>(i)) == text) return static_cast<dtype>(i);
  }
  return dtype::none;
}

/// Bytes of so many elements in a file.
inline std::uint64_t stored_bytes(dtype type, std::uint64_t elements) {
  return is_packed(type) ? elements / 2 + elements % 2 : elements * static_cast<std::uint64_t>(size_of(type));
}

/// The header's entry for an array of type `type` at byte `begin`.
nlohmann::json stored_entry(const array_type& type, std::uint64_t begin);

/// Reads what `stored_entry` makes; `where` is the file.
/// errors  tokamax::error if a part is missing, there is another part, a part has another type, or the shape and the
///         offsets differ in size
stored_array parse_stored(const std::string& name, const nlohmann::json& entry, const std::string& where = {});

#if defined(TOKAMAX_FILES_COMPILED_ONCE)
namespace detail {

// A list of integers from 0 on.
inline std::vector<std::uint64_t> naturals(const nlohmann::json& list, const std::string& what,
                                           const std::string& where) {
  std::vector<std::uint64_t> result;
  for (const nlohmann::json& element : list) {
    const std::optional<std::uint64_t> number = natural(element);
    if (!number) throw error(error_kind::file, what, brief(element), "an integer from 0 to 2^64 - 1", where);
    result.push_back(*number);
  }
  return result;
}

// The number of bytes of a dense array; nothing if it, or a stride, is beyond 2^63.
inline std::optional<std::uint64_t> bytes_of(dtype type, const std::vector<std::uint64_t>& extents) {
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  auto bytes = static_cast<std::uint64_t>(size_of(type));
  bool empty = false;
  for (const std::uint64_t extent : extents) {
    empty = empty || extent == 0;
    if (extent == 0) continue;
    if (bytes > most / extent) return std::nullopt;
    bytes *= extent;
  }
  return empty ? 0 : stored_bytes(type, bytes / static_cast<std::uint64_t>(size_of(type)));
}

}  // namespace detail

TOKAMAX_FILES_COMPILED_ONCE nlohmann::json stored_entry(const array_type& type, std::uint64_t begin) {
  const std::vector<std::int64_t> extents(type.shape.begin(), type.shape.end());
  const std::uint64_t bytes = stored_bytes(type.dtype, static_cast<std::uint64_t>(size(type.shape)));
  return {{"dtype", stored_name(type.dtype)}, {"shape", extents}, {"data_offsets", {begin, begin + bytes}}};
}
TOKAMAX_FILES_COMPILED_ONCE stored_array parse_stored(const std::string& name, const nlohmann::json& entry,
                                                      const std::string& where) {
  const auto expect = [&](bool fits, const char* expected) {
    if (!fits) throw error(error_kind::file, "safetensors: entry of " + name, detail::brief(entry), expected, where);
  };
  expect(entry.is_object() && entry.size() == 3 && entry.contains("dtype") && entry.contains("shape") &&
             entry.contains("data_offsets"),
         "a record of dtype, shape and data_offsets");
  expect(entry["dtype"].is_string() && entry["shape"].is_array(), "a text as dtype, a list as shape");
  expect(entry["data_offsets"].is_array() && entry["data_offsets"].size() == 2, "two data_offsets");
  const auto spelled = entry["dtype"].get<std::string>();
  const std::vector extents = detail::naturals(entry["shape"], "safetensors: shape of " + name, where);
  const std::vector offsets = detail::naturals(entry["data_offsets"], "safetensors: data_offsets of " + name, where);
  const dtype known = dtype_stored_as(spelled);
  stored_array result;
  result.text = (known == dtype::none ? spelled : std::string(tokamax::name(known))) + detail::brief(entry["shape"]);
  result.begin = offsets[0];
  result.end = offsets[1];
  if (known == dtype::none || extents.size() > static_cast<std::size_t>(max_rank)) return result;

  const std::optional<std::uint64_t> bytes = detail::bytes_of(known, extents);
  if (!bytes || result.end < result.begin || result.end - result.begin != *bytes)
    throw error(error_kind::file, "safetensors: bytes of " + name, detail::brief(entry["data_offsets"]),
                "the size of " + result.text, where);
  result.type.dtype = known;
  for (const std::uint64_t extent : extents) result.type.shape.push_back(static_cast<std::int64_t>(extent));
  return result;
}
#endif

}  // namespace tokamax::checkpoint
