// tokamax/checkpoint/safetensors.hpp: arrays by name in one file, in the format of Hugging Face.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/checkpoint/file.hpp>  // input_file, output_file
#include <tokamax/core/array.hpp>       // array

#include <nlohmann/json.hpp>  // the header of the file

#include <algorithm>  // stable_sort
#include <bit>        // endian
#include <limits>     // numeric_limits
#include <map>        // map
#include <string>     // string
#include <vector>     // vector

namespace tokamax::checkpoint {

static_assert(std::endian::native == std::endian::little, "tokamax: safetensors files are little-endian");

struct named_array {
  std::string name;
  array value;
};

/// What the header says of one array.
struct stored_array {
  array_type type;                   ///< dtype::none where this library has no such dtype or rank
  std::string text;                  ///< dtype and shape for messages: `f32[4,8]`
  std::uint64_t begin = 0, end = 0;  ///< bytes, counted from the end of the header
};

namespace detail {

// f32 <-> F32: the format spells the dtypes in capitals.
inline std::string stored_name(dtype type) {
  std::string result(name(type));
  for (char& c : result) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return result;
}
inline dtype dtype_stored_as(std::string_view text) {
  for (std::size_t i = 1; i < std::size(dtype_table); ++i) {
    if (stored_name(static_cast<dtype>(i)) == text) return static_cast<dtype>(i);
  }
  return dtype::none;
}

inline std::span<const std::byte> bytes_of(const array& a) {
  return {a.storage()->data, static_cast<std::size_t>(a.size()) * static_cast<std::size_t>(size_of(a.dtype()))};
}

// errors  nlohmann::json::exception where the header is not made as the format says
inline stored_array parse_stored(const nlohmann::json& entry) {
  const auto spelled = entry.at("dtype").get<std::string>();
  const auto extents = entry.at("shape").get<std::vector<std::uint64_t>>();
  const auto offsets = entry.at("data_offsets").get<std::array<std::uint64_t, 2>>();
  stored_array result;
  const dtype known = dtype_stored_as(spelled);
  result.text = known == dtype::none ? spelled : std::string(name(known));
  result.text += entry.at("shape").dump();
  result.begin = offsets[0];
  result.end = offsets[1];
  if (known == dtype::none || extents.size() > static_cast<std::size_t>(max_rank)) return result;
  // A product that does not fit becomes the largest number, which no file has as its size.
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  std::uint64_t bytes = static_cast<std::uint64_t>(size_of(known));
  result.type.type = known;
  for (const std::uint64_t extent : extents) {
    if (extent > most || (extent != 0 && bytes > most / extent)) throw std::overflow_error("extents");
    bytes *= extent;
    result.type.extents.push_back(static_cast<std::int64_t>(extent));
  }
  if (result.end - result.begin != bytes) throw std::out_of_range("offsets");
  return result;
}

}  // namespace detail
