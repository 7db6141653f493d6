// tests/fuzz/orbax.cpp: any bytes as the metadata of a checkpoint of Orbax, its manifest, a node, or an array's metadata and chunk. Parts
// of the input are files, each behind its length.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/checkpoint.hpp>
#include <tokamax/zstd.hpp>

#include "fuzz/fuzz.hpp"

namespace tk = tokamax;

void fuzz(std::string_view bytes) {
  if (bytes.empty()) return;
  const std::size_t kind = static_cast<unsigned char>(bytes.front()) % 3;
  bytes.remove_prefix(1);
  const auto next = [&] {
    std::size_t size = bytes.size();
    if (bytes.size() >= 2) {
      size = static_cast<unsigned char>(bytes[0]) + 256u * static_cast<unsigned char>(bytes[1]);
      bytes.remove_prefix(2);
    }
    const std::string_view part = bytes.substr(0, size);
    bytes.remove_prefix(part.size());
    return std::string(part);
  };
  // Manifests and nodes get the length and the checksum that a reader asks for.
  const auto framed = [](std::string body) {
    if (body.size() < 18) return body;
    const std::uint64_t size = body.size();
    std::memcpy(body.data() + 4, &size, 8);
    const std::uint32_t crc = tk::checkpoint::crc32c(std::as_bytes(std::span(body)).first(body.size() - 4));
    std::memcpy(body.data() + body.size() - 4, &crc, 4);
    return body;
  };
  const auto read_small = [](const tk::checkpoint::orbax_folder& folder) {
    for (const auto& [name, stored] : folder.arrays())
      only_errors([&] {
        if (stored.type.dtype == tk::dtype::none || tk::size(stored.type.shape) < (std::int64_t{1} << 22))
          folder.read(name);
      });
  };
  if (kind == 0) {  // a database
    const std::filesystem::path folder = file_with(framed(next()), "manifest.ocdbt").parent_path();
    file_with(framed(next()), "x");
    file_with(framed(next()), "y");
    file_with(R"({"tree_metadata":{"a":{"key_metadata":[{"key":"a"}]}}})", "_METADATA");
    only_errors([&] { read_small(tk::checkpoint::orbax_folder(folder)); });
    std::filesystem::remove(folder / "manifest.ocdbt");
    return;
  }
  if (kind == 1) {  // names
    file_with("{}", "x");
    file_with(next(), "_METADATA");
    only_errors([&] { read_small(tk::checkpoint::orbax_folder(file_with("", "y").parent_path())); });
    return;
  }
  const int version = bytes.empty() || bytes.front() % 2 == 0 ? 2 : 3;  // an array
  tk::checkpoint::detail::byte_store store;
  const std::string about = next();
  for (const char* key : {"k/0.0", "k/c/0/0", "k/0", "k/c", "k/1.0", "k/c/1/0"}) {
    const std::string value = next();
    store[key] = {{}, 0, value.size(), value};
  }
  only_errors([&] {
    const tk::checkpoint::detail::zarr_layout layout = tk::checkpoint::detail::parse_zarr("a", about, version, "f");
    if (layout.stored.type.dtype != tk::dtype::none && tk::size(layout.stored.type.shape) < (std::int64_t{1} << 22))
      tk::checkpoint::detail::read_zarr(layout, store, "k", "a", "f");
  });
}
