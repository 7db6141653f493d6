// tokamax/data/token_file.hpp: tokens of 1, 2 or 4 bytes that stay in their file.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/data/sources/sources.cpp
#pragma once

#include <tokamax/data/dataset.hpp>             // dataset
#include <tokamax/data/sources/file_bytes.hpp>  // file_bytes

namespace tokamax::data {

struct token_file_options {
  tokamax::dtype dtype = u16;  ///< u8, u16 or u32
  std::int64_t skip = 0;       ///< bytes of a header before the tokens
};

/// The tokens of a file that another program wrote, such as the .bin of nanoGPT: `token_file("train.bin") | windows(1025)`.
/// They are read where they lie, so that a file may be larger than memory.
class token_file : public dataset<token_file> {
 public:
  /// errors  tokamax::error that names the file if it is missing, has no tokens, or does not end with a whole one
  explicit token_file(const std::string& path, token_file_options options = {})
      : file_(path), width_(static_cast<std::int64_t>(size_of(options.dtype))), skip_(options.skip) {
    if (options.dtype != u8 && options.dtype != u16 && options.dtype != u32)
      throw error("token_file: dtype", std::string(tokamax::name(options.dtype)), "u8, u16 or u32", path);
    const std::int64_t bytes = static_cast<std::int64_t>(file_.size()) - skip_;
    if (skip_ < 0 || bytes < width_ || bytes % width_ != 0)
      throw error(error_kind::file, "token_file: bytes behind " + std::to_string(skip_), std::to_string(bytes),
                  "a multiple of " + std::to_string(width_) + ", and not 0", path);
    size_ = bytes / width_;
    bytes_ = file_.view().data() + skip_;
  }
  std::int64_t size() const { return size_; }
  std::int32_t operator[](std::int64_t index) const {
    const char* const at = bytes_ + (index < size_ ? index : index % size_) * width_;
    if (width_ == 1) return static_cast<unsigned char>(*at);
    if (width_ == 2) return read<std::uint16_t>(at);
    const auto token = read<std::uint32_t>(at);
    if (token > static_cast<std::uint32_t>(std::numeric_limits<std::int32_t>::max()))
      throw error(error_kind::file, "token_file: token " + std::to_string(index % size_), std::to_string(token),
                  "less than 2^31", file_.path());
    return static_cast<std::int32_t>(token);
  }
  const std::string& name() const { return file_.path(); }

 private:
  template <class Number>
  static Number read(const char* at) {
    Number number;
    std::memcpy(&number, at, sizeof number);
    return number;
  }

  file_bytes file_;
  std::int64_t width_, skip_, size_ = 0;
  const char* bytes_ = nullptr;
};

}  // namespace tokamax::data
