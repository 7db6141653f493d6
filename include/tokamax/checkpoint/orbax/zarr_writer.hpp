// tokamax/checkpoint/orbax/zarr_writer.hpp: an array in chunks, as zarr keeps it.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs write for Orbax)
// tested by tests/checkpoint/orbax/save_orbax.cpp
#pragma once

#include <tokamax/checkpoint/orbax/byte_sink.hpp>  // byte_sink
#include <tokamax/checkpoint/safetensors.hpp>      // named_array

#include <numeric>  // accumulate
#include <vector>   // vector

#if defined(TOKAMAX_FILES_COMPILED_ONCE)
  #include <tokamax/base/codec.hpp>             // zstd_codec
  #include <tokamax/base/element.hpp>           // dispatch, converted
  #include <tokamax/checkpoint/orbax/zarr.hpp>  // zarr_dtypes
#endif

namespace tokamax::checkpoint {

/// How arrays are stored for Orbax.
struct orbax_options {
  bool use_ocdbt = false;             ///< all arrays in one database instead of a folder each
  bool use_zarr3 = false;             ///< version 3 of zarr instead of 2
  bool use_compression = false;       ///< zstd; needs zstd.hpp
  std::uint64_t chunk_byte_size = 0;  ///< of the chunks of an array, at most; 0 for one chunk
  dtype cast = dtype::none;           ///< floats are saved as this
};

/// The largest chunk of at most `elements` elements that Orbax's rule finds: it takes the next smaller divisor of the longest extent, again
/// and again.
/// source  orbax.checkpoint, choose_chunk_shape
inline std::vector<std::int64_t> chunk_shape(std::vector<std::int64_t> shape, std::int64_t elements) {
  for (std::int64_t& extent : shape) extent = std::max<std::int64_t>(extent, 1);
  const auto count = [&] { return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>()); };
  const std::vector<std::int64_t> whole = shape;
  while (count() > elements && count() > 1) {
    const auto longest = std::ranges::max_element(shape);
    const std::int64_t extent = whole[static_cast<std::size_t>(longest - shape.begin())];
    do --*longest;
    while (extent % *longest != 0);
  }
  return shape;
}

namespace detail {

/// Writes the metadata and the chunks of an array under keys that begin with `key`. Memory is that of a chunk that is compressed, or a few
/// MiB.
/// errors  tokamax::error for a dtype that zarr does not have, or a program without zstd
void write_zarr(byte_sink& to, const std::string& key, const named_array& leaf, const orbax_options& options);

#if defined(TOKAMAX_FILES_COMPILED_ONCE)
// Elements as another dtype, if that is another one.
inline std::span<const std::byte> cast_elements(std::span<const std::byte> from, dtype before, dtype after,
                                                std::vector<std::byte>& room) {
  if (before == after) return from;
  dispatch(before, [&]<dtype From>() {
    dispatch(after, [&]<dtype To>() {
      if constexpr (is_floating(From) && is_floating(To)) {
        const std::size_t count = from.size() / sizeof(element_t<From>);
        room.resize(count * sizeof(element_t<To>));
        for (std::size_t i = 0; i < count; ++i) {
          element_t<From> value;
          std::memcpy(&value, from.data() + i * sizeof value, sizeof value);
          const auto cast = converted<element_t<To>>(value);
          std::memcpy(room.data() + i * sizeof cast, &cast, sizeof cast);
        }
      }
    });
  });
  return room;
}

// The metadata of an array, as TensorStore writes them.
inline nlohmann::json zarr_about(const zarr_dtype& type, const std::vector<std::int64_t>& extents,
                                 const std::vector<std::int64_t>& chunk, const orbax_options& options) {
  const nlohmann::json level = {{"level", 1}, {"checksum", false}};
  if (!options.use_zarr3) {
    nlohmann::json compressor = nullptr;
    if (options.use_compression) compressor = {{"id", "zstd"}, {"level", 1}};
    return {{"chunks", chunk},  {"compressor", compressor}, {"dimension_separator", "."},
            {"dtype", type.v2}, {"fill_value", nullptr},    {"filters", nullptr},
            {"order", "C"},     {"shape", extents},         {"zarr_format", 2}};
  }
  nlohmann::json codecs = nlohmann::json::array({{{"name", "bytes"}, {"configuration", {{"endian", "little"}}}}});
  if (options.use_compression) codecs.push_back({{"name", "zstd"}, {"configuration", level}});
  nlohmann::json zero = 0;
  if (type.type == bool_) zero = false;
  return {{"chunk_grid", {{"name", "regular"}, {"configuration", {{"chunk_shape", chunk}}}}},
          {"chunk_key_encoding", {{"name", "default"}}},
          {"codecs", codecs},
          {"data_type", type.v3},
          {"fill_value", zero},
          {"node_type", "array"},
          {"shape", extents},
          {"zarr_format", 3}};
}

// The elements of a chunk that begins at `first`, from those of the array.
inline std::vector<std::byte> chunk_elements(const std::byte* from, const std::vector<std::int64_t>& extents,
                                             const std::vector<std::int64_t>& chunk,
                                             const std::vector<std::int64_t>& first, std::int64_t width) {
  std::int64_t count = 1;
  for (const std::int64_t extent : chunk) count *= extent;
  const std::int64_t row = chunk.empty() ? 1 : chunk.back();
  std::vector<std::byte> result(static_cast<std::size_t>(count * width));
  for (std::int64_t r = 0; r < count / row; ++r) {
    std::int64_t rest = r, at = 0, stride = 1;
    for (std::size_t i = chunk.size(); i-- > 0;) {
      std::int64_t x = first[i];
      if (i + 1 < chunk.size()) {
        x += rest % chunk[i];
        rest /= chunk[i];
      }
      at += x * stride;
      stride *= extents[i];
    }
    std::memcpy(result.data() + r * row * width, from + at * width, static_cast<std::size_t>(row * width));
  }
  return result;
}

TOKAMAX_FILES_COMPILED_ONCE void write_zarr(byte_sink& to, const std::string& key, const named_array& leaf,
                                            const orbax_options& options) {
  const dtype before = leaf.value.dtype();
  const dtype after = options.cast != dtype::none && is_floating(before) ? options.cast : before;
  const auto* known = std::ranges::find(zarr_dtypes, after, &zarr_dtype::type);
  if (known == std::end(zarr_dtypes) || is_floating(before) != is_floating(after))
    throw error("save_orbax: dtype of " + leaf.name, std::string(tokamax::name(after)),
                is_floating(before) ? "a float that zarr has" : "a number that zarr has");
  const std::vector<std::int64_t> extents(leaf.value.shape().begin(), leaf.value.shape().end());
  const std::int64_t most =
      options.chunk_byte_size == 0
          ? leaf.value.size()
          : std::max<std::int64_t>(1, static_cast<std::int64_t>(options.chunk_byte_size) / size_of(after));
  const std::vector<std::int64_t> chunk = chunk_shape(extents, std::max<std::int64_t>(most, 1));
  const std::string about = zarr_about(*known, extents, chunk, options).dump();
  to.put(key + (options.use_zarr3 ? "/zarr.json" : "/.zarray"),
         [&](const byte_writer& write) { write(std::as_bytes(std::span(about))); });
  if (leaf.value.size() == 0) return;

  std::vector<std::byte> room;  // for elements of another dtype
  std::vector<std::int64_t> first(extents.size(), 0);
  const auto key_of_chunk = [&] {
    std::string result = key + (options.use_zarr3 ? "/c" : "/");
    for (std::size_t i = 0; i < first.size(); ++i)
      result += (options.use_zarr3 ? "/" : i == 0 ? "" : ".") + std::to_string(first[i] / chunk[i]);
    return first.empty() && !options.use_zarr3 ? result + "0" : result;
  };
  if (chunk == extents && !options.use_compression) {
    to.put(key_of_chunk(), [&](const byte_writer& write) {
      for_each_piece(leaf.value,
                     [&](std::span<const std::byte> piece) { write(cast_elements(piece, before, after, room)); });
    });
    return;
  }
  std::vector<std::byte> all;  // of an array that is not on the host
  const bool on_host = !leaf.value.storage()->where;
  if (!on_host)
    for_each_piece(leaf.value,
                   [&](std::span<const std::byte> piece) { all.insert(all.end(), piece.begin(), piece.end()); });
  for (bool more = true; more;) {
    const std::vector<std::byte> elements =
        chunk_elements(on_host ? leaf.value.bytes() : all.data(), extents, chunk, first, size_of(before));
    const std::span bytes = cast_elements(elements, before, after, room);
    std::string small;
    if (options.use_compression)
      small = zstd_codec(leaf.name).compress({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    to.put(key_of_chunk(),
           [&](const byte_writer& write) { write(options.use_compression ? std::as_bytes(std::span(small)) : bytes); });
    more = false;
    for (std::size_t i = extents.size(); i-- > 0 && !more;) {  // the next chunk
      first[i] += chunk[i];
      more = first[i] < extents[i];
      if (!more) first[i] = 0;
    }
  }
}
#endif

}  // namespace detail

}  // namespace tokamax::checkpoint
