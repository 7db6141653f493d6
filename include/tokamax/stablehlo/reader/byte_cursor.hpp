// tokamax/stablehlo/reader/byte_cursor.hpp: goes through the bytes of MLIR's bytecode, and says at which one something is wrong.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (part of read_bytecode)
// tested by tests/stablehlo/reader/read_bytecode.cpp
#pragma once

#include <tokamax/base/error.hpp>  // error

#include <bit>          // countr_zero
#include <cstddef>      // byte
#include <cstdint>      // uint64_t
#include <span>         // span
#include <string>       // string
#include <string_view>  // string_view

namespace tokamax::stablehlo::detail {

/// A part of a file. Numbers have a variable length: the zeros below the lowest one of the first byte count further bytes.
class byte_cursor {
 public:
  byte_cursor() = default;
  byte_cursor(std::span<const std::byte> file, std::size_t begin, std::size_t end, const char* section)
      : file_(file), at_(begin), end_(end), section_(section) {}

  std::size_t at() const { return at_; }
  std::size_t left() const { return end_ - at_; }
  bool done() const { return at_ == end_; }
  const char* section() const { return section_; }
  std::span<const std::byte> file() const { return file_; }

  /// Reports what was found at the next byte.
  [[noreturn]] void fail(const std::string& found, const std::string& expected) const {
    throw error(error_kind::file, "stablehlo bytecode", found, expected,
                "byte " + std::to_string(at_) + ", section " + section_);
  }
  /// One byte.
  std::uint8_t byte() {
    if (done()) fail("the end of the section", "more bytes");
    return static_cast<std::uint8_t>(file_[at_++]);
  }
  /// Bytes as they are.
  std::span<const std::byte> raw(std::uint64_t count) {
    if (count > left()) fail("the end of the section", std::to_string(count) + " more bytes");
    at_ += static_cast<std::size_t>(count);
    return file_.subspan(at_ - static_cast<std::size_t>(count), static_cast<std::size_t>(count));
  }
  /// A number without a sign.
  std::uint64_t number() {
    const std::uint8_t first = byte();
    if (first & 1) return first >> 1;
    const int more = first ? std::countr_zero(first) : 8;
    std::uint64_t v = 0;
    const std::span<const std::byte> rest = raw(static_cast<std::uint64_t>(more));
    for (int i = 0; i < more; ++i) v |= std::uint64_t(rest[static_cast<std::size_t>(i)]) << 8 * i;
    return first ? (v << 8 | first) >> (more + 1) : v;
  }
  /// A number whose sign is its lowest bit.
  std::int64_t signed_number() {
    const std::uint64_t v = number();
    return static_cast<std::int64_t>(v >> 1) ^ -static_cast<std::int64_t>(v & 1);
  }
  /// A number with a truth value below it.
  std::uint64_t number_and(bool& flag) {
    const std::uint64_t v = number();
    flag = v & 1;
    return v >> 1;
  }
  /// A number of things of which each takes a byte at least.
  std::uint64_t count() {
    const std::uint64_t n = number();
    if (n > left()) fail(std::to_string(n) + " parts", "at most " + std::to_string(left()));
    return n;
  }
  /// A text that ends with a zero.
  std::string_view text() {
    const std::size_t begin = at_;
    while (byte() != 0) {}
    return {reinterpret_cast<const char*>(file_.data()) + begin, at_ - begin - 1};
  }

 private:
  std::span<const std::byte> file_;
  std::size_t at_ = 0, end_ = 0;
  const char* section_ = "";
};

}  // namespace tokamax::stablehlo::detail
