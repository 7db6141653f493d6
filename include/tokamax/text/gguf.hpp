// tokamax/text/gguf.hpp: what a GGUF file says of its model before the tensors.
// SPDX-License-Identifier: Apache-2.0
// umbrella: in the map only (the library of `tokamax::text` compiles it)
// tested by tests/text/tokenizer.cpp
#pragma once

#include <tokamax/base/system/file.hpp>  // input_file
#include <tokamax/text/utf8.hpp>         // valid_utf8

#include <array>    // array
#include <bit>      // bit_cast
#include <map>      // map
#include <variant>  // variant
#include <vector>   // vector

namespace tokamax::text {

/// The names and values at the beginning of a GGUF file, of versions 2 and 3.
/// source  github.com/ggml-org/ggml, docs/gguf.md
class gguf_metadata {
 public:
  using texts = std::vector<std::string>;
  using numbers = std::vector<double>;
  using value = std::variant<double, std::string, texts, numbers>;

  /// errors  tokamax::error of the kind `file` if it is no such file, ends too soon, or has a name twice
  explicit gguf_metadata(const std::filesystem::path& path) : file_(path) {
    if (bytes(4) != "GGUF") refuse("magic", "other bytes", "GGUF");
    if (const auto version = natural(4); version < 2 || version > 3)
      refuse("version", std::to_string(version), "2 or 3");
    tensors_ = natural(8);
    const std::uint64_t count = natural(8);
    for (std::uint64_t i = 0; i < count; ++i) {
      std::string name = text();
      if (values_.count(name)) refuse("name", name + " twice", "distinct names");
      value v = any(natural(4));
      values_.emplace(std::move(name), std::move(v));
    }
  }
  bool has(const std::string& name) const { return values_.count(name) > 0; }
  /// The value of a name, which must be there and of this type.
  template <class T>
  const T& get(const std::string& name) const {
    const auto at = values_.find(name);
    if (at == values_.end()) refuse(name, "nothing", "a value");
    const T* found = std::get_if<T>(&at->second);
    if (!found)
      refuse(name, "a value of another type",
             "a " + std::string(std::is_same_v<T, double>        ? "number"
                                : std::is_same_v<T, std::string> ? "text"
                                                                 : "list"));
    return *found;
  }
  [[noreturn]] void refuse(const std::string& what, const std::string& found, const std::string& expected) const {
    throw error(error_kind::file, "gguf: " + what, found, expected, file_.path().string());
  }

 protected:
  // What follows is read from where the reader stands: behind the metadata at first. Lists are read through a buffer; no memory
  // is taken for more than the file holds.
  std::string bytes(std::uint64_t size) {
    if (size > file_.size() - offset_) refuse("bytes", "the end of the file", std::to_string(size) + " more bytes");
    std::string result;
    while (result.size() < size) {
      if (at_ == buffer_.size()) fill();
      const std::size_t part =
          std::min<std::size_t>(buffer_.size() - at_, static_cast<std::size_t>(size) - result.size());
      result.append(buffer_, at_, part);
      at_ += part;
    }
    offset_ += size;
    return result;
  }
  std::uint64_t natural(std::size_t size) {
    const std::string b = bytes(size);
    std::uint64_t result = 0;
    for (std::size_t i = size; i-- > 0;) result = result << 8 | static_cast<unsigned char>(b[i]);
    return result;
  }
  std::string text() {
    std::string result = bytes(natural(8));
    if (valid_utf8(result) != result.size()) refuse("text", "a byte that is not UTF-8", "UTF-8");
    return result;
  }
  const input_file& file() const { return file_; }
  std::uint64_t offset() const { return offset_; }
  std::uint64_t tensor_count() const { return tensors_; }

 private:
  void fill() {
    buffer_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(file_.size() - read_, 1u << 18)));
    file_.read(read_, std::as_writable_bytes(std::span(buffer_)));
    read_ += buffer_.size();
    at_ = 0;
  }
  static constexpr std::array<std::size_t, 13> sizes{1, 1, 2, 2, 4, 4, 4,
                                                     1, 0, 0, 8, 8, 8};  // of numbers, by their types
  static constexpr std::uint64_t text_type = 8, list_type = 9;
  double number(std::uint64_t type) {
    const std::size_t size = type < sizes.size() ? sizes[type] : 0;
    if (size == 0) refuse("type", std::to_string(type), "a type of numbers");
    const std::uint64_t bits = natural(size);
    if (type == 6) return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    if (type == 12) return std::bit_cast<double>(bits);
    const bool has_sign = type == 1 || type == 3 || type == 5 || type == 11;
    const auto shift = static_cast<unsigned>(64 - 8 * size);
    return has_sign ? static_cast<double>(static_cast<std::int64_t>(bits << shift) >> shift)
                    : static_cast<double>(bits);
  }
  value any(std::uint64_t type) {
    if (type == text_type) return text();
    if (type != list_type) return number(type);
    const std::uint64_t element = natural(4), count = natural(8);
    if (count > file_.size() - offset_)
      refuse("list", std::to_string(count) + " elements", "at most the bytes of the file");
    if (element == text_type) {
      texts all;
      for (std::uint64_t i = 0; i < count; ++i) all.push_back(text());
      return all;
    }
    numbers all;
    for (std::uint64_t i = 0; i < count; ++i) all.push_back(number(element));
    return all;
  }

  input_file file_;
  std::string buffer_;
  std::size_t at_ = 0;                   // in the buffer
  std::uint64_t offset_ = 0, read_ = 0;  // in the file: of the next byte, and behind the buffer
  std::uint64_t tensors_ = 0;
  std::map<std::string, value> values_;
};

}  // namespace tokamax::text
