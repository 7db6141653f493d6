// tokamax/data/sources/file_bytes.hpp: the bytes of a file, mapped into memory, and numbers in them.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/data/sources/sources.cpp
#pragma once

#include <tokamax/base/system/file.hpp>            // input_file
#include <tokamax/core/memory/foreign_memory.hpp>  // map_file

#include <bit>          // endian
#include <cstring>      // memcpy
#include <string_view>  // string_view

namespace tokamax::data {

static_assert(std::endian::native == std::endian::little, "tokamax: numbers in files of data are little-endian");

/// A file that the system reads page by page when its bytes are used. Copies share it; it must not change meanwhile.
class file_bytes {
 public:
  /// errors  tokamax::error that names the file if it is missing, not regular or unreadable
  explicit file_bytes(const std::string& path)
      : bytes_(map_file(path, 0, {u8, false, {static_cast<std::int64_t>(input_file(path).size())}})), path_(path) {}
  /// Bytes that are in memory, and the name of the file that they are of.
  file_bytes(std::string_view bytes, std::string path)
      : bytes_(array::uninitialized({u8, false, {static_cast<std::int64_t>(bytes.size())}})),
        path_(std::move(path)),
        in_memory_(true) {
    if (!bytes.empty()) std::memcpy(bytes_.mutable_bytes(), bytes.data(), bytes.size());
  }
  std::string_view view() const { return {reinterpret_cast<const char*>(bytes_.bytes()), size()}; }
  std::size_t size() const { return static_cast<std::size_t>(bytes_.size()); }
  const std::string& path() const { return path_; }
  bool in_memory() const { return in_memory_; }

  /// `count` bytes from `at` on; `what` says in messages what they are.
  /// errors  tokamax::error that names the file and the place if it ends before
  std::string_view part(std::uint64_t at, std::uint64_t count, const char* what) const {
    if (at > size() || count > size() - at)
      fail(what, at, std::to_string(count) + " bytes", "at most " + std::to_string(at > size() ? 0 : size() - at));
    return view().substr(static_cast<std::size_t>(at), static_cast<std::size_t>(count));
  }
  template <class Number>
  Number number(std::uint64_t at, const char* what) const {
    Number result;
    std::memcpy(&result, part(at, sizeof result, what).data(), sizeof result);
    return result;
  }
  /// Bytes of the file that messages show may be any, so control characters become question marks.
  [[noreturn]] void fail(const std::string& what, std::uint64_t at, std::string found,
                         const std::string& expected) const {
    for (char& c : found)
      if (static_cast<unsigned char>(c) < ' ') c = '?';
    throw error(error_kind::file, what, found, expected, path_ + ", byte " + std::to_string(at));
  }

 private:
  array bytes_;
  std::string path_;
  bool in_memory_ = false;
};

}  // namespace tokamax::data
