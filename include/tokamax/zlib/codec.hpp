// tokamax/zlib/codec.hpp: deflate for readers and writers of files, by zlib.
// SPDX-License-Identifier: Apache-2.0
// needs <zlib.h>
#pragma once

#include <tokamax/base/codec.hpp>  // codec

#include <zlib.h>  // z_stream

#include <algorithm>  // min
#include <limits>     // numeric_limits
#include <memory>     // unique_ptr

namespace tokamax {

namespace detail {

// Runs `step`, which is zlib's inflate or deflate, on `bytes` until it says that the end is reached. `grow` makes the result
// larger when it is full, and `check` looks at what a step says. zlib counts in 32 bits, so long texts go in parts.
std::string run_zlib(z_stream& stream, std::string_view bytes, std::string result, const auto& step, const auto& grow,
                     const auto& check) {
  constexpr std::size_t part = std::numeric_limits<uInt>::max() / 2;
  std::size_t read = 0, size = 0;
  for (int state = Z_OK; state != Z_STREAM_END;) {
    if (size == result.size()) result.resize(grow(size));
    const auto in = static_cast<uInt>(std::min(bytes.size() - read, part));
    const auto out = static_cast<uInt>(std::min(result.size() - size, part));
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data() + read));  // it only reads there
    stream.avail_in = in;
    stream.next_out = reinterpret_cast<Bytef*>(result.data() + size);
    stream.avail_out = out;
    state = step(read + in == bytes.size());
    read += in - stream.avail_in;
    size += out - stream.avail_out;
    check(state, size);
  }
  result.resize(size);
  return result;
}

inline constexpr int zip_window = -MAX_WBITS;  // below 0: no frame around the blocks, as in zip files

inline std::string zip_compress(std::string_view bytes) {
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, zip_window, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw error(error_kind::resource, "deflate", "no memory", "a compressor");
  const std::unique_ptr<z_stream, int (*)(z_stream*)> ended(&stream, &deflateEnd);
  return run_zlib(
      stream, bytes, std::string(bytes.size() / 4 + 64, '\0'),
      [&](bool last) { return ::deflate(&stream, last ? Z_FINISH : Z_NO_FLUSH); },
      [](std::size_t size) { return 2 * size; }, [](int, std::size_t) {});
}

// Memory grows with what is made, whatever the bytes promise.
inline std::string zip_decompress(std::string_view bytes, std::uint64_t most, const std::string& where) {
  z_stream stream{};
  if (inflateInit2(&stream, zip_window) != Z_OK)
    throw error(error_kind::resource, "deflate", "no memory", "a decompressor");
  const std::unique_ptr<z_stream, int (*)(z_stream*)> ended(&stream, &inflateEnd);
  const auto fail = [&](const std::string& found) {
    throw error(error_kind::file, "deflate", found, "blocks of at most " + std::to_string(most) + " bytes", where);
  };
  const std::uint64_t first = std::min<std::uint64_t>(most, 4 * std::uint64_t{bytes.size()});
  return run_zlib(
      stream, bytes, std::string(static_cast<std::size_t>(first + 1), '\0'),
      [&](bool) { return ::inflate(&stream, Z_NO_FLUSH); },
      [&](std::size_t size) {
        return static_cast<std::size_t>(std::min<std::uint64_t>(2 * std::uint64_t{size}, most + 1));
      },
      [&](int state, std::size_t size) {
        if (size > most) fail("more");
        if (state == Z_BUF_ERROR) fail("bytes that are cut off");  // a step that could do nothing
        if (state != Z_OK && state != Z_STREAM_END) fail(stream.msg ? stream.msg : "bytes of another format");
      });
}

inline constexpr codec zip_functions{zip_compress, zip_decompress};
inline const bool zip_deflate_is_here = (zip_deflate = &zip_functions, true);

}  // namespace detail

}  // namespace tokamax
