// tokamax/data/sources/proto.hpp: the fields of a message of protocol buffers, read and written.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/data/sources/sources.cpp
#pragma once

#include <tokamax/base/error.hpp>  // error

#include <cstdint>      // uint64_t
#include <string>       // string
#include <string_view>  // string_view

namespace tokamax::data::detail {

// Reads the fields of a message in their order. Its text must stay.
class proto_reader {
 public:
  struct field {
    std::uint64_t number;
    int wire;
    std::uint64_t value = 0;      // of a number
    std::string_view bytes = {};  // of a text, a message or a list
  };
  explicit proto_reader(std::string_view bytes) : bytes_(bytes) {}
  bool empty() const { return bytes_.empty(); }
  std::string_view rest() const { return bytes_; }
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (bytes_.empty()) fail("its end", "a number");
      const auto byte = static_cast<unsigned char>(bytes_.front());
      bytes_.remove_prefix(1);
      value |= std::uint64_t{byte & 127u} << shift;
      if (byte < 128) return value;
    }
    fail("a number of more than 64 bits", "a shorter one");
  }
  std::string_view take(std::uint64_t count) {
    if (count > bytes_.size()) fail(std::to_string(bytes_.size()) + " bytes", std::to_string(count));
    const std::string_view result = bytes_.substr(0, static_cast<std::size_t>(count));
    bytes_.remove_prefix(result.size());
    return result;
  }
  field next() {
    const std::uint64_t tag = varint();
    field result{tag >> 3, static_cast<int>(tag & 7)};
    switch (result.wire) {
      case 0:
        result.value = varint();
        return result;
      case 1:
        result.bytes = take(8);
        return result;
      case 2:
        result.bytes = take(varint());
        return result;
      case 5:
        result.bytes = take(4);
        return result;
      default:
        fail("wire type " + std::to_string(result.wire), "0, 1, 2 or 5");
    }
  }
  [[noreturn]] static void fail(const std::string& found, const std::string& expected) {
    throw error(error_kind::file, "protocol buffer", found, expected);
  }

 private:
  std::string_view bytes_;
};

inline void put_varint(std::string& to, std::uint64_t value) {
  for (; value >= 128; value >>= 7) to += static_cast<char>(value | 128);
  to += static_cast<char>(value);
}
inline void put_number(std::string& to, int field, std::uint64_t value) {
  put_varint(to, static_cast<std::uint64_t>(field) << 3);
  put_varint(to, value);
}
inline void put_bytes(std::string& to, int field, std::string_view bytes) {
  put_varint(to, static_cast<std::uint64_t>(field) << 3 | 2);
  put_varint(to, bytes.size());
  to += bytes;
}

}  // namespace tokamax::data::detail
