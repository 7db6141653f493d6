// tokamax/base/codec.hpp: compression that a program has only if it includes the header of a library.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/zstd/codec.cpp
// umbrella: no (readers of files use it)
#pragma once

#include <tokamax/base/error.hpp>  // error

#include <atomic>       // atomic
#include <cstdint>      // uint64_t
#include <string>       // string
#include <string_view>  // string_view

namespace tokamax {

/// Functions that compress bytes and make them again.
struct codec {
  std::string (*compress)(std::string_view bytes);
  /// errors  tokamax::error that names the file `where` if the bytes are damaged, or more than `most` would be made of them
  std::string (*decompress)(std::string_view bytes, std::uint64_t most, const std::string& where);
};

namespace detail {
inline std::atomic<const codec*> zstd = nullptr;         // zstd/codec.hpp sets it
inline std::atomic<const codec*> zip_deflate = nullptr;  // zlib/codec.hpp sets it

inline const codec& codec_of_program(const codec* found, const char* format, const char* library,
                                     const std::string& where) {
  if (!found)
    throw error(error_kind::file, format, "a compressed file",
                "a program that includes tokamax/" + std::string(library) + ".hpp and links tokamax::" + library,
                where);
  return *found;
}
}  // namespace detail

/// The codec of Zstandard, for a file.
/// errors  tokamax::error that names the file if the program does not have it
inline const codec& zstd_codec(const std::string& where) {
  return detail::codec_of_program(detail::zstd, "zstd", "zstd", where);
}
/// The codec of deflate without a frame, as zip files have it, for a file.
/// errors  tokamax::error that names the file if the program does not have it
inline const codec& deflate_codec(const std::string& where) {
  return detail::codec_of_program(detail::zip_deflate, "deflate", "zlib", where);
}

}  // namespace tokamax
