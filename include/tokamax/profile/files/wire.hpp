// tokamax/profile/files/wire.hpp: messages of Protocol Buffers, written and read field by field.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/error.hpp>  // error

#include <bit>          // bit_cast
#include <cstdint>      // uint64_t
#include <string>       // string
#include <string_view>  // string_view
#include <utility>      // move

namespace tokamax::profile {

/// Writes the fields of a message, in the order of the calls.
/// source  protobuf.dev/programming-guides/encoding
class wire_writer {
 public:
  void number(std::uint32_t field, std::uint64_t value) {
    varint(std::uint64_t{field} << 3);
    varint(value);
  }
  void real(std::uint32_t field, double value) {
    varint(std::uint64_t{field} << 3 | 1);
    const auto bits = std::bit_cast<std::uint64_t>(value);
    for (int i = 0; i < 8; ++i) bytes_ += static_cast<char>(bits >> 8 * i & 0xFF);
  }
  void text(std::uint32_t field, std::string_view value) {
    varint(std::uint64_t{field} << 3 | 2);
    varint(value.size());
    bytes_ += value;
  }
  void message(std::uint32_t field, const wire_writer& m) { text(field, m.bytes_); }
  const std::string& bytes() const& { return bytes_; }
  std::string bytes() && { return std::move(bytes_); }
  void clear() { bytes_.clear(); }

 private:
  void varint(std::uint64_t v) {
    for (; v >= 128; v >>= 7) bytes_ += static_cast<char>((v & 127) | 128);
    bytes_ += static_cast<char>(v);
  }
  std::string bytes_;
};

/// A field of a message: a number in `value`, or a text or message in `bytes`, which are those of the whole file.
struct wire_field {
  std::uint32_t number = 0;
  std::uint64_t value = 0;
  std::string_view bytes{};
  bool is_text = false;

  std::int64_t integer() const { return static_cast<std::int64_t>(value); }
  double real() const { return std::bit_cast<double>(value); }
};

/// Reads the fields of a message. Lengths are checked against the bytes that there are, so nothing is allocated for them.
///
/// errors  tokamax::error of kind file for a message that ends within a field, for groups and for the field number 0
class wire_reader {
 public:
  wire_reader(std::string_view message, std::string_view where) : rest_(message), where_(where) {}

  /// The next field; false at the end.
  bool next(wire_field& f) {
    if (rest_.empty()) return false;
    const std::uint64_t key = varint();
    f = {static_cast<std::uint32_t>(key >> 3), 0, {}, (key & 7) == 2};
    if (key >> 3 == 0 || key >> 3 > 0x1FFFFFFF) fail("the field number " + std::to_string(key >> 3), "1 to 536870911");
    switch (key & 7) {
      case 0:
        f.value = varint();
        break;
      case 1:
        f.value = fixed(8);
        break;
      case 2:
        f.bytes = taken(varint());
        break;
      case 5:
        f.value = fixed(4);
        break;
      default:
        fail("a field of wire type " + std::to_string(key & 7), "0, 1, 2 or 5");
    }
    return true;
  }

 private:
  [[noreturn]] void fail(std::string found, std::string expected) const {
    throw error(error_kind::file, "a message of a profile", std::move(found), std::move(expected), std::string(where_));
  }
  std::string_view taken(std::uint64_t count) {
    if (count > rest_.size())
      fail("a field of " + std::to_string(count) + " bytes",
           "at most the " + std::to_string(rest_.size()) + " that are left");
    const std::string_view bytes = rest_.substr(0, static_cast<std::size_t>(count));
    rest_.remove_prefix(bytes.size());
    return bytes;
  }
  std::uint64_t fixed(std::uint64_t count) {
    std::uint64_t v = 0;
    int shift = 0;
    for (const char c : taken(count)) v |= std::uint64_t{static_cast<unsigned char>(c)} << shift, shift += 8;
    return v;
  }
  std::uint64_t varint() {
    std::uint64_t v = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      const auto c = static_cast<unsigned char>(taken(1).front());
      if (shift < 64) v |= std::uint64_t{c & 127u} << shift;
      if (c < 128) return v;
    }
    fail("a number of more than 10 bytes", "at most 10");
  }
  std::string_view rest_, where_;
};

}  // namespace tokamax::profile
