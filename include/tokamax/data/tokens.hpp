// tokamax/data/tokens.hpp: a text as a sequence of byte-sized tokens, from a file or from memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/system/file.hpp>  // read_file
#include <tokamax/data/dataset.hpp>      // dataset

#include <memory>       // shared_ptr
#include <string_view>  // string_view

namespace tokamax::data {

/// A sequence of tokens below 256. The bytes are shared, so copies and parts are cheap.
class tokens : public dataset<tokens> {
 public:
  /// Messages call the text `name`.
  explicit tokens(std::string bytes, std::string name = "text")
      : bytes_(std::make_shared<const std::string>(std::move(bytes))),
        name_(std::make_shared<const std::string>(std::move(name))),
        size_(static_cast<std::int64_t>(bytes_->size())) {
    if (size_ == 0) throw error(error_kind::file, "tokens: length of " + *name_, "0 bytes", "at least one");
  }
  std::int64_t size() const { return size_; }
  std::int32_t operator[](std::int64_t index) const {
    const std::int64_t within = index < size_ ? index : index % size_;
    return static_cast<unsigned char>((*bytes_)[static_cast<std::size_t>(first_ + within)]);
  }
  std::string_view bytes() const {
    return std::string_view(*bytes_).substr(static_cast<std::size_t>(first_), static_cast<std::size_t>(size_));
  }
  const std::string& name() const { return *name_; }
  /// Tokens `first` to `first + size - 1`, sharing the bytes.
  tokens part(std::int64_t first, std::int64_t size, std::string name) const {
    if (first < 0 || size < 1 || first > size_ - size)
      throw error("tokens: part of " + *name_, std::to_string(size) + " tokens from " + std::to_string(first),
                  "at least one of " + std::to_string(size_));
    tokens result = *this;
    result.name_ = std::make_shared<const std::string>(std::move(name));
    result.first_ += first;
    result.size_ = size;
    return result;
  }

 private:
  std::shared_ptr<const std::string> bytes_, name_;
  std::int64_t first_ = 0, size_;
};

/// The bytes of a file.
/// errors  tokamax::error that names the file if it is missing, not regular, unreadable or empty
inline tokens text(const std::string& path) {
  std::string bytes = read_file(path);
  if (bytes.empty()) throw error(error_kind::file, "text", "an empty file", "at least one byte", path);
  return tokens(std::move(bytes), path);
}

}  // namespace tokamax::data
