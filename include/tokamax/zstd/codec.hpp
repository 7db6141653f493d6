// tokamax/zstd/codec.hpp: Zstandard for readers and writers of files, by libzstd.
// SPDX-License-Identifier: Apache-2.0
// needs <zstd.h>
#pragma once

#include <tokamax/base/codec.hpp>  // codec

#include <zstd.h>  // ZSTD_decompressStream

#include <algorithm>  // min, clamp
#include <bit>        // bit_width
#include <memory>     // unique_ptr

namespace tokamax {

namespace detail {

inline std::string zstd_compress(std::string_view bytes) {
  std::string result(ZSTD_compressBound(bytes.size()), '\0');
  const std::size_t size = ZSTD_compress(result.data(), result.size(), bytes.data(), bytes.size(), ZSTD_CLEVEL_DEFAULT);
  if (ZSTD_isError(size)) throw error(error_kind::resource, "zstd", ZSTD_getErrorName(size), "compressed bytes");
  result.resize(size);
  return result;
}

// Memory grows with what is made, whatever the bytes promise.
inline std::string zstd_decompress(std::string_view bytes, std::uint64_t most, const std::string& where) {
  const auto fail = [&](const std::string& found) {
    throw error(error_kind::file, "zstd", found, "frames of at most " + std::to_string(most) + " bytes", where);
  };
  const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(), &ZSTD_freeDCtx);
  if (!context) throw error(error_kind::resource, "zstd", "no memory", "a context");
  // The window of a frame is memory too. Level 19 has one of 2^23 bytes, and a larger one is for more bytes only.
  ZSTD_DCtx_setParameter(context.get(), ZSTD_d_windowLogMax,
                         std::clamp(static_cast<int>(std::bit_width(most)), 23, 27));
  const std::uint64_t promised = ZSTD_getFrameContentSize(bytes.data(), bytes.size());
  const std::uint64_t first = std::min<std::uint64_t>({promised, most, 64 * std::uint64_t{bytes.size()} + 65536});
  std::string result(static_cast<std::size_t>(first + 1), '\0');
  ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
  std::size_t size = 0;
  for (std::size_t left = 1; left != 0 || in.pos < in.size;) {
    if (size == result.size())
      result.resize(static_cast<std::size_t>(std::min<std::uint64_t>(2 * std::uint64_t{size}, most + 1)));
    ZSTD_outBuffer out{result.data(), result.size(), size};
    left = ZSTD_decompressStream(context.get(), &out, &in);
    size = out.pos;
    if (ZSTD_isError(left)) fail(ZSTD_getErrorName(left));
    if (size > most) fail("more");
    if (left != 0 && in.pos == in.size && size < result.size()) fail("bytes that are cut off");
  }
  result.resize(size);
  return result;
}

inline constexpr codec zstd_functions{zstd_compress, zstd_decompress};
inline const bool zstd_is_here = (zstd = &zstd_functions, true);

}  // namespace detail

}  // namespace tokamax
