// tests/support/gguf_writer.hpp: GGUF files with any content, for tests of their readers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/core/array.hpp>

#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

namespace tokamax::test {

class gguf_writer {
 public:
  void text(const std::string& name, const std::string& value) {
    head(name, 8);
    put_text(metadata_, value);
  }
  void number(const std::string& name, std::int64_t value) {
    head(name, 4);
    put(metadata_, static_cast<std::uint64_t>(value), 4);
  }
  void real(const std::string& name, double value) {
    head(name, 12);
    put(metadata_, std::bit_cast<std::uint64_t>(value), 8);
  }
  /// Any bytes as a tensor of the format of this number.
  void tensor(const std::string& name, const shape& s, std::uint32_t format, const std::string& bytes) {
    ++tensors_;
    put_text(entries_, name);
    put(entries_, static_cast<std::uint64_t>(s.rank()), 4);
    for (int i = s.rank(); i-- > 0;) put(entries_, static_cast<std::uint64_t>(s[i]), 8);
    put(entries_, format, 4);
    put(entries_, data_.size(), 8);
    data_ += bytes;
    data_.resize((data_.size() + 31) / 32 * 32);
  }
  void tensor(const std::string& name, array x) {
    x.materialize();
    std::string bytes(static_cast<std::size_t>(x.size()) * 4, '\0');
    std::memcpy(bytes.data(), x.data<float>(), bytes.size());
    tensor(name, x.shape(), 0, bytes);
  }
  std::string bytes() const {
    std::string all = "GGUF";
    put(all, 3, 4);
    put(all, tensors_, 8);
    put(all, values_, 8);
    all += metadata_ + entries_;
    all.resize((all.size() + 31) / 32 * 32);
    return all + data_;
  }
  void write(const std::filesystem::path& path) const { std::ofstream(path, std::ios::binary) << bytes(); }

 private:
  static void put(std::string& to, std::uint64_t value, int size) {
    for (int i = 0; i < size; ++i) to += static_cast<char>(value >> 8 * i & 255);
  }
  static void put_text(std::string& to, const std::string& value) {
    put(to, value.size(), 8);
    to += value;
  }
  void head(const std::string& name, std::uint64_t type) {
    ++values_;
    put_text(metadata_, name);
    put(metadata_, type, 4);
  }
  std::string metadata_, entries_, data_;
  std::uint64_t tensors_ = 0, values_ = 0;
};

}  // namespace tokamax::test
