// tokamax/checkpoint/orbax/zarr.hpp: what the metadata of an array in chunks say, in zarr's versions 2 and 3.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs read what Orbax wrote)
// tested by tests/checkpoint/orbax/zarr.cpp
#pragma once

#include <tokamax/checkpoint/stored_array.hpp>  // stored_array

#include <array>   // array
#include <vector>  // vector

#if defined(TOKAMAX_FILES_COMPILED_ONCE)
  #include <tokamax/base/element.hpp>  // dispatch, converted

  #include <cstring>  // memcpy
  #include <limits>   // quiet_NaN
#endif

namespace tokamax::checkpoint::detail {

/// A dtype as the two versions spell it.
struct zarr_dtype {
  dtype type;
  std::string_view v2, v3;
};
inline constexpr zarr_dtype zarr_dtypes[] = {
    {bool_, "|b1", "bool"},
    {i8, "|i1", "int8"},
    {i16, "<i2", "int16"},
    {i32, "<i4", "int32"},
    {i64, "<i8", "int64"},
    {u8, "|u1", "uint8"},
    {u16, "<u2", "uint16"},
    {u32, "<u4", "uint32"},
    {u64, "<u8", "uint64"},
    {f8e4m3fn, "float8_e4m3fn", "float8_e4m3fn"},
    {f8e5m2, "float8_e5m2", "float8_e5m2"},
    {f16, "<f2", "float16"},
    {bf16, "bfloat16", "bfloat16"},
    {f32, "<f4", "float32"},
    {f64, "<f8", "float64"},
};

/// What the metadata of an array say: its type, and how its elements lie in the values of keys.
struct zarr_layout {
  stored_array stored;              // its dtype is none if it is not known here
  std::vector<std::int64_t> chunk;  // of one key
  std::vector<std::int64_t> cell;   // the part of a chunk that is compressed by itself; the chunk if it is not sharded
  std::vector<std::string> codecs;  // of cells: zstd, crc32c, in the order of writing
  bool sharded = false, index_first = false;
  std::vector<std::string> index_codecs;  // of the index of a chunk that is sharded
  std::string prefix, separator;          // keys are prefix, and numbers with separators between them
  std::array<std::byte, 8> fill{};        // the element where there is no chunk
};

/// Reads the metadata `.zarray` (version 2) or `zarr.json` (version 3) of the array `name`.
/// errors  tokamax::error that names the array and the file if they are not in the format, or it is compressed, ordered or encoded
///         as none of Orbax's arrays are
zarr_layout parse_zarr(const std::string& name, std::string_view text, int version, const std::string& where);

#if defined(TOKAMAX_FILES_COMPILED_ONCE)
// A record of metadata, whose fields are looked up by their names.
struct zarr_metadata {
  const nlohmann::json& json;
  const std::string &name, &where;
  [[noreturn]] void fail(const std::string& what, const nlohmann::json& found, const std::string& expected) const {
    throw error(error_kind::file, "zarr: " + what + " of " + name, brief(found), expected, where);
  }
  nlohmann::json get(const char* field) const {
    if (!json.is_object() || !json.contains(field)) fail(field, json, "a record with this field");
    return json[field];
  }
  zarr_metadata inner(const nlohmann::json& other) const { return {other, name, where}; }
  std::vector<std::int64_t> extents(const char* field, std::uint64_t least) const {
    const nlohmann::json list = get(field);
    if (!list.is_array()) fail(field, list, "a list of numbers");
    std::vector<std::int64_t> result;
    for (const std::uint64_t extent : naturals(list, "zarr: " + std::string(field) + " of " + name, where)) {
      if (extent < least || extent > std::uint64_t{1} << 62) fail(field, list, "numbers from " + std::to_string(least));
      result.push_back(static_cast<std::int64_t>(extent));
    }
    return result;
  }
};

// The bytes of elements of a known dtype; 2^62 for more.
inline std::uint64_t zarr_bytes(dtype type, const std::vector<std::int64_t>& extents) {
  const std::vector<std::uint64_t> all(extents.begin(), extents.end());
  return bytes_of(type, all).value_or(std::uint64_t{1} << 62);
}

// A number, or one of the texts for floats that JSON does not have, as an element.
inline void set_fill(zarr_layout& layout, const zarr_metadata& from) {
  const nlohmann::json fill = from.get("fill_value");
  if (fill.is_null() || layout.stored.type.dtype == dtype::none) return;
  double number = 0;
  if (fill == "NaN")
    number = std::numeric_limits<double>::quiet_NaN();
  else if (fill == "Infinity" || fill == "-Infinity")
    number = (fill == "Infinity" ? 1 : -1) * std::numeric_limits<double>::infinity();
  else if (fill.is_number())
    number = fill.get<double>();
  else if (fill.is_boolean())
    number = fill.get<bool>() ? 1 : 0;
  else
    from.fail("fill_value", fill, "a number");
  dispatch(layout.stored.type.dtype, [&]<dtype Type>() {
    using element = element_t<Type>;
    element value{};
    if constexpr (is_floating(Type))
      value = converted<element>(number);
    else if constexpr (Type == bool_)
      value = number != 0;
    else if (fill.is_number_integer())
      value = static_cast<element>(fill.is_number_unsigned() ? fill.get<std::uint64_t>()
                                                             : static_cast<std::uint64_t>(fill.get<std::int64_t>()));
    std::memcpy(layout.fill.data(), &value, sizeof value);
  });
}

// The names of codecs in the order of writing, without `bytes`, which does nothing to little-endian numbers.
inline std::vector<std::string> parse_codecs(const zarr_metadata& from, const nlohmann::json& list) {
  if (!list.is_array()) from.fail("codecs", list, "a list");
  std::vector<std::string> result;
  for (const nlohmann::json& one : list) {
    const nlohmann::json name = from.inner(one).get("name");
    if (name == "bytes") {
      if (one.contains("configuration") && one["configuration"].is_object() &&
          one["configuration"].value("endian", nlohmann::json("little")) != "little")
        from.fail("codecs", one, "bytes of little-endian numbers");
    } else if (name == "zstd" || name == "crc32c") {
      result.push_back(name.get<std::string>());
    } else {
      from.fail("codecs", one, "bytes, zstd, crc32c or sharding_indexed");
    }
  }
  return result;
}

// Fields of version 2: a record with one compressor for all chunks.
inline void parse_zarr2(zarr_layout& layout, const zarr_metadata& from) {
  layout.chunk = layout.cell = from.extents("chunks", 1);
  if (const auto order = from.get("order"); order != "C" && layout.chunk.size() > 1) from.fail("order", order, "C");
  if (const auto filters = from.get("filters"); !filters.is_null() && !filters.empty())
    from.fail("filters", filters, "none");
  layout.separator = ".";
  if (from.json.contains("dimension_separator")) {
    const nlohmann::json separator = from.json["dimension_separator"];
    if (separator != "." && separator != "/") from.fail("dimension_separator", separator, "a point or a slash");
    layout.separator = separator.get<std::string>();
  }
  const nlohmann::json compressor = from.get("compressor");
  if (compressor.is_null()) return;
  if (from.inner(compressor).get("id") != "zstd") from.fail("compressor", compressor, "none or zstd");
  layout.codecs = {"zstd"};
}

// Fields of version 3: a list of codecs, of which `sharding_indexed` is the only one, if it is there.
inline void parse_zarr3(zarr_layout& layout, const zarr_metadata& from) {
  const nlohmann::json grid = from.get("chunk_grid"), encoding = from.get("chunk_key_encoding");
  if (from.inner(grid).get("name") != "regular") from.fail("chunk_grid", grid, "a regular one");
  layout.chunk = layout.cell = from.inner(from.inner(grid).get("configuration")).extents("chunk_shape", 1);
  const bool as_before = from.inner(encoding).get("name") == "v2";
  layout.separator = as_before ? "." : "/";
  if (encoding.contains("configuration") && encoding["configuration"].is_object() &&
      encoding["configuration"].contains("separator")) {
    const nlohmann::json separator = encoding["configuration"]["separator"];
    if (separator != "." && separator != "/") from.fail("separator", separator, "a point or a slash");
    layout.separator = separator.get<std::string>();
  }
  if (!as_before) layout.prefix = "c";
  const nlohmann::json codecs = from.get("codecs");
  layout.sharded = codecs.is_array() && codecs.size() == 1 && codecs[0].is_object() &&
                   codecs[0].value("name", nlohmann::json()) == "sharding_indexed";
  if (!layout.sharded) {
    layout.codecs = parse_codecs(from, codecs);
    return;
  }
  const nlohmann::json configuration = from.inner(codecs[0]).get("configuration");
  const zarr_metadata inner = from.inner(configuration);
  layout.cell = inner.extents("chunk_shape", 1);
  layout.codecs = parse_codecs(from, inner.get("codecs"));
  layout.index_codecs = parse_codecs(from, inner.get("index_codecs"));
  layout.index_first = configuration.value("index_location", nlohmann::json("end")) == "start";
  for (std::size_t i = 0; i < layout.chunk.size(); ++i)
    if (layout.cell.size() != layout.chunk.size() || layout.chunk[i] % layout.cell[i] != 0)
      from.fail("chunk_shape", configuration, "one that divides " + brief(grid));
}

TOKAMAX_FILES_COMPILED_ONCE zarr_layout parse_zarr(const std::string& name, std::string_view text, int version,
                                                   const std::string& where) {
  const nlohmann::json json = parse_json(text, where);
  const zarr_metadata from{json, name, where};
  if (const auto found = from.get("zarr_format"); found != version)
    from.fail("zarr_format", found, std::to_string(version));
  zarr_layout result;
  const std::vector<std::int64_t> extents = from.extents("shape", 0);
  const nlohmann::json spelled = from.get(version == 2 ? "dtype" : "data_type");
  result.stored.text = brief(spelled) + brief(extents);
  for (const zarr_dtype& known : zarr_dtypes) {
    if (spelled != (version == 2 ? known.v2 : known.v3) || extents.size() > static_cast<std::size_t>(max_rank))
      continue;
    if (zarr_bytes(known.type, extents) == std::uint64_t{1} << 62) from.fail("shape", extents, "one of memory");
    result.stored.type.dtype = known.type;
    for (const std::int64_t extent : extents) result.stored.type.shape.push_back(extent);
    result.stored.text = std::string(message{result.stored.type}.view());
  }
  version == 2 ? parse_zarr2(result, from) : parse_zarr3(result, from);
  if (result.chunk.size() != extents.size()) from.fail("chunks", result.chunk, "as many axes as " + brief(extents));
  set_fill(result, from);
  return result;
}

#endif

}  // namespace tokamax::checkpoint::detail
