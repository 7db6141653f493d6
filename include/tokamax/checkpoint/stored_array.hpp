// tokamax/checkpoint/stored_array.hpp: what the header of a safetensors file says of one array.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/error.hpp>  // error
#include <tokamax/core/type.hpp>   // array_type

#include <nlohmann/json.hpp>  // the header

#include <array>     // offsets
#include <iterator>  // size
#include <limits>    // numeric_limits
#include <string>    // string
#include <vector>    // extents

namespace tokamax::checkpoint {

/// dtype, shape and place of an array in a file.
struct stored_array {
  array_type type;                   ///< dtype::none where this library has no such dtype or rank
  std::string text;                  ///< dtype and shape for messages: `f32[4,8]`
  std::uint64_t begin = 0, end = 0;  ///< bytes, counted from the end of the header
};

/// f32 -> F32: the format spells the dtypes in capitals.
inline std::string stored_name(dtype type) {
  std::string result(name(type));
  for (char& c : result) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return result;
}

/// F32 -> f32; dtype::none if there is no such dtype.
inline dtype dtype_stored_as(std::string_view text) {
  for (std::size_t i = 1; i < std::size(dtype_table); ++i) {
    if (stored_name(static_cast<dtype>(i)) == text) return static_cast<dtype>(i);
  }
  return dtype::none;
}

/// The header's entry for an array of type `type` at byte `begin`.
inline nlohmann::json stored_entry(const array_type& type, std::uint64_t begin) {
  const std::vector<std::int64_t> extents(type.extents.begin(), type.extents.end());
  const auto bytes = static_cast<std::uint64_t>(size(type.extents)) * static_cast<std::uint64_t>(size_of(type.type));
  return {{"dtype", stored_name(type.type)}, {"shape", extents}, {"data_offsets", {begin, begin + bytes}}};
}

/// Reads what `stored_entry` makes; `where` is the file.
/// errors  tokamax::error if the shape and the offsets differ in size; nlohmann::json::exception if a part is missing or
///         has another type
inline stored_array parse_stored(const std::string& name, const nlohmann::json& entry, const std::string& where = {}) {
  const auto spelled = entry.at("dtype").get<std::string>();
  const auto extents = entry.at("shape").get<std::vector<std::uint64_t>>();
  const auto offsets = entry.at("data_offsets").get<std::array<std::uint64_t, 2>>();
  const dtype known = dtype_stored_as(spelled);
  stored_array result;
  result.text = (known == dtype::none ? spelled : std::string(tokamax::name(known))) + entry.at("shape").dump();
  result.begin = offsets[0];
  result.end = offsets[1];
  if (known == dtype::none || extents.size() > static_cast<std::size_t>(max_rank)) return result;

  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  auto bytes = static_cast<std::uint64_t>(size_of(known));
  bool fits = true;
  result.type.type = known;
  for (const std::uint64_t extent : extents) {
    fits = fits && extent <= most && (extent == 0 || bytes <= most / extent);
    bytes *= extent;
    result.type.extents.push_back(static_cast<std::int64_t>(extent));
  }
  if (!fits || result.end < result.begin || result.end - result.begin != bytes)
    throw error("safetensors: bytes of " + name, entry.at("data_offsets").dump(), "the size of " + result.text, where);
  return result;
}

}  // namespace tokamax::checkpoint
