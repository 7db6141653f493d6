// tokamax/checkpoint/orbax/zarr_chunks.hpp: the elements of an array that lies in chunks.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs read what Orbax wrote)
// tested by tests/checkpoint/orbax/zarr.cpp
#pragma once

#include <tokamax/checkpoint/orbax/byte_store.hpp>  // byte_store
#include <tokamax/checkpoint/orbax/zarr.hpp>        // zarr_layout
#include <tokamax/core/array.hpp>                   // array

#if defined(TOKAMAX_FILES_COMPILED_ONCE)
  #include <tokamax/base/codec.hpp>         // zstd_codec
  #include <tokamax/base/system/file.hpp>   // input_file
  #include <tokamax/checkpoint/crc32c.hpp>  // crc32c

  #include <algorithm>  // any_of
  #include <charconv>   // from_chars
#endif

namespace tokamax::checkpoint::detail {

/// The array whose chunks have keys that begin with `key` and a slash. Memory beside the array is that of one chunk, which has at most
/// the size of the array, or 16 MiB.
/// errors  tokamax::error that names the array and the file where a chunk is damaged
array read_zarr(const zarr_layout& layout, const byte_store& store, const std::string& key, const std::string& name,
                const std::string& where);

#if defined(TOKAMAX_FILES_COMPILED_ONCE)
// Takes off compression and checksums. `bytes` is what is left.
inline std::string decoded(std::string_view from, const std::vector<std::string>& codecs, std::uint64_t bytes,
                           const std::string& where) {
  std::string result(from);
  for (std::size_t i = codecs.size(); i-- > 0;) {
    if (codecs[i] == "zstd") {
      result = zstd_codec(where).decompress(result, bytes + 4 * i, where);
      continue;
    }
    const std::size_t end = result.size() < 4 ? 0 : result.size() - 4;
    std::uint32_t checksum = 0;
    if (result.size() >= 4) std::memcpy(&checksum, result.data() + end, 4);
    if (result.size() < 4 || checksum != crc32c(std::as_bytes(std::span(result)).first(end)))
      throw error(error_kind::file, "zarr: chunk", "another checksum", "that of its bytes", where);
    result.resize(end);
  }
  if (result.size() != bytes)
    throw error(error_kind::file, "zarr: chunk", std::to_string(result.size()) + " bytes", std::to_string(bytes),
                where);
  return result;
}

// Puts the elements of a cell, which begins at `first`, into the array. Those beyond its extents are left out.
inline void place_cell(array& to, std::string_view from, const std::vector<std::int64_t>& cell,
                       const std::vector<std::int64_t>& first) {
  const std::int64_t width = size_of(to.dtype());
  const int rank = to.rank();
  const std::int64_t row = rank == 0 ? 1 : cell.back(), rows = std::ssize(from) / (width * row);
  for (std::int64_t r = 0; r < rows; ++r) {
    std::int64_t rest = r, at = 0, stride = 1;
    bool inside = true;
    for (int axis = rank - 1; axis >= 0; --axis) {
      const auto i = static_cast<std::size_t>(axis);
      std::int64_t x = first[i];
      if (axis + 1 < rank) {
        x += rest % cell[i];
        rest /= cell[i];
      }
      inside = inside && x < to.extent(axis);
      at += x * stride;
      stride *= to.extent(axis);
    }
    if (!inside) continue;
    const std::int64_t count = rank == 0 ? 1 : std::min(row, to.extent(rank - 1) - first.back());
    std::memcpy(to.mutable_bytes() + at * width, from.data() + r * row * width,
                static_cast<std::size_t>(count * width));
  }
}

// The place of a chunk in the grid, from the part of its key behind the name of the array; nothing if it is no chunk's.
inline std::optional<std::vector<std::int64_t>> chunk_place(const zarr_layout& layout, std::string_view key) {
  if (!key.starts_with(layout.prefix)) return std::nullopt;
  key.remove_prefix(layout.prefix.size());
  const int rank = layout.stored.type.shape.rank();
  std::vector<std::int64_t> result;
  for (int axis = 0; axis < rank; ++axis) {
    if (axis > 0 || !layout.prefix.empty()) {
      if (!key.starts_with(layout.separator)) return std::nullopt;
      key.remove_prefix(1);
    }
    std::int64_t at = -1;
    const auto [end, failure] = std::from_chars(key.data(), key.data() + key.size(), at);
    const auto i = static_cast<std::size_t>(axis);
    if (failure != std::errc() || at < 0 || at > (layout.stored.type.shape[axis] - 1) / layout.chunk[i] ||
        layout.stored.type.shape[axis] == 0)
      return std::nullopt;
    key.remove_prefix(static_cast<std::size_t>(end - key.data()));
    result.push_back(at * layout.chunk[i]);
  }
  if (rank == 0 && layout.prefix.empty() && key == "0") key = {};
  if (!key.empty()) return std::nullopt;
  return result;
}

// Puts the cells of a chunk that begins at `first` into the array.
inline void place_shard(const zarr_layout& layout, array& to, std::string_view bytes,
                        const std::vector<std::int64_t>& first, const std::string& where) {
  std::uint64_t cells = 1;
  for (std::size_t i = 0; i < first.size(); ++i)
    cells *= static_cast<std::uint64_t>(layout.chunk[i] / layout.cell[i]);  // at most the elements of a chunk
  const std::uint64_t size =
      cells * 16 + 4 * static_cast<std::uint64_t>(std::ranges::count(layout.index_codecs, "crc32c"));
  if (std::ranges::count(layout.index_codecs, "zstd") != 0 || bytes.size() < size)
    throw error(error_kind::file, "zarr: index", std::to_string(bytes.size()) + " bytes",
                std::to_string(size) + " that are not compressed", where);
  const std::string index =
      decoded(bytes.substr(layout.index_first ? 0 : bytes.size() - size, size), layout.index_codecs, cells * 16, where);
  const std::uint64_t cell_bytes = zarr_bytes(to.dtype(), layout.cell);
  for (std::uint64_t k = 0; k < cells; ++k) {
    std::uint64_t part[2];
    std::memcpy(part, index.data() + k * 16, 16);
    if (part[0] == ~std::uint64_t{0} && part[1] == ~std::uint64_t{0}) continue;
    if (part[0] > bytes.size() || part[1] > bytes.size() - part[0])
      throw error(error_kind::file, "zarr: index", std::to_string(part[1]) + " from byte " + std::to_string(part[0]),
                  "at most " + std::to_string(bytes.size()), where);
    std::vector<std::int64_t> at = first;
    for (std::size_t i = first.size(), rest = k; i-- > 0;) {
      const auto along = static_cast<std::size_t>(layout.chunk[i] / layout.cell[i]);
      at[i] += static_cast<std::int64_t>(rest % along) * layout.cell[i];
      rest /= along;
    }
    place_cell(to, decoded(bytes.substr(part[0], part[1]), layout.codecs, cell_bytes, where), layout.cell, at);
  }
}

TOKAMAX_FILES_COMPILED_ONCE array read_zarr(const zarr_layout& layout, const byte_store& store, const std::string& key,
                                            const std::string& name, const std::string& where) {
  array result = array::uninitialized(layout.stored.type);
  const auto bytes = static_cast<std::uint64_t>(result.size() * size_of(result.dtype()));
  const std::uint64_t chunk_bytes = zarr_bytes(result.dtype(), layout.chunk),
                      most = std::max(bytes, std::uint64_t{1} << 24);
  if (chunk_bytes > most)
    throw error(error_kind::file, "zarr: chunks of " + name, std::to_string(chunk_bytes) + " bytes",
                "at most " + std::to_string(most) + " for " + layout.stored.text, where);
  // A directory of chunks may lack some of the grid, and may have other files too.
  struct found_chunk {
    const std::string& key;
    const byte_place& place;
    std::vector<std::int64_t> first;
  };
  std::vector<found_chunk> chunks;
  for (auto at = store.lower_bound(key + "/"); at != store.end() && at->first.starts_with(key + "/"); ++at)
    if (auto first = chunk_place(layout, std::string_view(at->first).substr(key.size() + 1)))
      chunks.push_back({at->first, at->second, std::move(*first)});
  // The only chunk may be the whole array: then it is read to its place, and nothing else is in memory.
  const bool whole = !layout.sharded && chunks.size() == 1 && std::ranges::equal(layout.chunk, result.shape());
  if (!whole) {
    const auto width = static_cast<std::size_t>(size_of(result.dtype()));
    for (std::uint64_t at = 0; at < bytes; at += width)
      std::memcpy(result.mutable_bytes() + at, layout.fill.data(), width);
  }
  for (const found_chunk& chunk : chunks) {
    const byte_place& place = chunk.place;
    if (whole && layout.codecs.empty() && !place.file.empty() && place.length == bytes) {
      input_file(place.file).read(place.offset, {result.mutable_bytes(), static_cast<std::size_t>(bytes)});
      break;
    }
    const std::string content = place.read(),
                      here = (place.file.empty() ? where : place.file.string()) + ", " + chunk.key;
    if (layout.sharded)
      place_shard(layout, result, content, chunk.first, here);
    else
      place_cell(result, decoded(content, layout.codecs, chunk_bytes, here), layout.chunk, chunk.first);
  }
  const std::span all(result.bytes(), static_cast<std::size_t>(bytes));
  if (result.dtype() == bool_ && std::ranges::any_of(all, [](std::byte b) { return b > std::byte{1}; }))
    throw error(error_kind::file, "zarr: values of " + name, "a byte above 1", "0 and 1", where);
  return result;
}
#endif

}  // namespace tokamax::checkpoint::detail
