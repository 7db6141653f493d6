// tokamax/data/sources/inflate.hpp: bytes that were compressed by deflate, as in zip files.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/data/sources/sources.cpp
#pragma once

#include <tokamax/base/error.hpp>  // error

#include <algorithm>    // max
#include <array>        // array
#include <cstdint>      // uint16_t
#include <span>         // span
#include <string>       // string
#include <string_view>  // string_view
#include <vector>       // vector

namespace tokamax::data::detail {

class inflater {
 public:
  inflater(std::string_view from, std::uint64_t size, const std::string& where)
      : from_(from), size_(size), where_(where) {}
  std::string run() {
    if (size_ / 1032 > from_.size())
      fail(std::to_string(size_) + " bytes promised", "at most 1032 for each that is there");
    result_.reserve(static_cast<std::size_t>(size_));
    for (bool last = false; !last;) {
      last = take(1) == 1;
      const std::uint32_t kind = take(2);
      if (kind == 0)
        stored();
      else if (kind == 1)
        codes(fixed_literals(), code(std::vector<std::uint8_t>(30, 5)));
      else if (kind == 2)
        dynamic();
      else
        fail("a block of kind 3", "0 to 2");
    }
    if (result_.size() != size_) fail(std::to_string(result_.size()) + " bytes", std::to_string(size_));
    return std::move(result_);
  }

 private:
  // A prefix code: what the next bits stand for, as symbol * 16 + the number of its bits; 0 for none.
  struct code {
    explicit code(std::span<const std::uint8_t> lengths) {
      for (const std::uint8_t length : lengths) bits = std::max<int>(bits, length);
      table.resize(std::size_t{1} << bits);
      std::uint32_t next = 0;
      for (int length = 1; length <= bits; ++length, next <<= 1) {
        for (std::size_t symbol = 0; symbol < lengths.size(); ++symbol) {
          if (lengths[symbol] != length) continue;
          if (next >> length != 0) {
            over_full = true;
            return;
          }
          std::uint32_t reversed = 0;
          for (int i = 0; i < length; ++i) reversed |= (next >> i & 1) << (length - 1 - i);
          for (std::size_t i = reversed; i < table.size(); i += std::size_t{1} << length)
            table[i] = static_cast<std::uint16_t>(symbol * 16 + static_cast<std::size_t>(length));
          ++next;
        }
      }
    }
    int bits = 0;
    bool over_full = false;
    std::vector<std::uint16_t> table;
  };

  [[noreturn]] void fail(const std::string& found, const std::string& expected) const {
    throw error(error_kind::file, "deflate", found, expected, where_);
  }
  // At least `count` bits are at hand afterwards; behind the end they are zeros.
  void fill(int count) {
    while (bits_ < count) {
      const std::uint64_t byte = at_ < from_.size() ? static_cast<unsigned char>(from_[at_]) : 0;
      if (++at_ > from_.size() + 8) fail("its end", "more bytes");
      hold_ |= byte << bits_;
      bits_ += 8;
    }
  }
  std::uint32_t take(int count) {
    fill(count);
    const auto result = static_cast<std::uint32_t>(hold_ & ((std::uint64_t{1} << count) - 1));
    hold_ >>= count;
    bits_ -= count;
    return result;
  }
  std::uint32_t symbol(const code& c) {
    fill(c.bits);
    const std::uint16_t entry = c.table[hold_ & (c.table.size() - 1)];
    if (entry == 0) fail("bits that stand for nothing", "a symbol");
    take(entry & 15);
    return entry >> 4;
  }
  void room(std::uint64_t count) const {
    if (count > size_ - result_.size()) fail("more bytes", std::to_string(size_));
  }
  void stored() {
    take(bits_ % 8);
    const std::uint32_t length = take(16);
    if ((take(16) ^ length) != 0xffff) fail("another length", "one and its complement");
    room(length);
    for (std::uint32_t i = 0; i < length; ++i) result_ += static_cast<char>(take(8));
  }
  static code fixed_literals() {
    std::vector<std::uint8_t> lengths(288, 8);
    for (std::size_t i = 144; i < 280; ++i) lengths[i] = i < 256 ? 9 : 7;
    return code(lengths);
  }
  void dynamic() {
    constexpr std::array<std::uint8_t, 19> order{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    const std::uint32_t literals = take(5) + 257, distances = take(5) + 1, count = take(4) + 4;
    std::array<std::uint8_t, 19> first{};
    for (std::uint32_t i = 0; i < count; ++i) first[order[i]] = static_cast<std::uint8_t>(take(3));
    const code lengths_code(first);
    std::vector<std::uint8_t> lengths;
    while (lengths.size() < literals + distances && !lengths_code.over_full) {
      const std::uint32_t s = symbol(lengths_code);
      if (s == 16 && lengths.empty()) fail("a length to repeat", "one before it");
      const std::uint32_t times = s < 16 ? 1 : s == 16 ? 3 + take(2) : s == 17 ? 3 + take(3) : 11 + take(7);
      lengths.insert(lengths.end(), times,
                     s < 16    ? static_cast<std::uint8_t>(s)
                     : s == 16 ? lengths.back()
                               : std::uint8_t{0});
    }
    if (lengths.size() != literals + distances) fail("other lengths of codes", std::to_string(literals + distances));
    const std::span all(lengths);
    codes(code(all.first(literals)), code(all.subspan(literals)));
  }
  void codes(const code& literals, const code& distances) {
    constexpr std::array<std::uint16_t, 29> base{3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                                 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
    if (literals.over_full || distances.over_full) fail("more codes than bits allow", "a prefix code");
    for (;;) {
      const std::uint32_t s = symbol(literals);
      if (s == 256) return;
      if (s < 256) {
        room(1);
        result_ += static_cast<char>(s);
        continue;
      }
      if (s > 285) fail("length " + std::to_string(s), "256 to 285");
      const std::uint32_t extra = s < 265 || s == 285 ? 0 : (s - 261) / 4;
      const std::uint32_t length = base[s - 257] + take(static_cast<int>(extra)), d = symbol(distances);
      if (d > 29) fail("distance " + std::to_string(d), "0 to 29");
      const std::uint32_t more = d < 4 ? 0 : d / 2 - 1;
      const std::uint64_t back = (d < 4 ? d : (2 + (d & 1)) << more) + 1 + take(static_cast<int>(more));
      if (back > result_.size()) fail("a place before the beginning", "one in what was made");
      room(length);
      for (std::uint32_t i = 0; i < length; ++i) result_ += result_[result_.size() - static_cast<std::size_t>(back)];
    }
  }

  std::string_view from_;
  std::uint64_t size_;
  const std::string& where_;
  std::string result_;
  std::size_t at_ = 0;
  std::uint64_t hold_ = 0;
  int bits_ = 0;
};

// The `size` bytes that were compressed.
// errors  tokamax::error that names the file `where` if the bytes are damaged, or would be of another number
// source  RFC 1951
inline std::string inflate(std::string_view from, std::uint64_t size, const std::string& where) {
  return inflater(from, size, where).run();
}

}  // namespace tokamax::data::detail
