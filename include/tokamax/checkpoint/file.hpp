// tokamax/checkpoint/file.hpp: files that are on the disk when they are closed, and folders likewise.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/error.hpp>  // error

#include <fcntl.h>     // open
#include <sys/stat.h>  // fstat
#include <unistd.h>    // write, pread, fsync

#include <algorithm>   // min
#include <cerrno>      // errno
#include <cstddef>     // byte
#include <cstdint>     // uint64_t
#include <cstring>     // strerror
#include <filesystem>  // path
#include <span>        // span
#include <string>      // to_string
#include <utility>     // exchange

namespace tokamax::checkpoint {

namespace detail {

[[noreturn]] inline void throw_errno(const char* expected, const std::filesystem::path& path) {
  throw error("file", std::strerror(errno), expected, path.string());
}

// An open file; every function throws an error that names it.
class file {
 public:
  file(const std::filesystem::path& path, int flags, const char* expected)
      : path_(path), number_(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {
    if (number_ < 0) throw_errno(expected, path_);
  }
  file(const file&) = delete;
  ~file() {
    if (number_ >= 0) ::close(number_);
  }
  const std::filesystem::path& path() const { return path_; }

 protected:
  void sync() {
    if (::fsync(number_) != 0) throw_errno("to write it to the disk", path_);
  }
  void close() {
    const int number = std::exchange(number_, -1);
    if (::close(number) != 0) throw_errno("to close it", path_);
  }
  int number() const { return number_; }

 private:
  std::filesystem::path path_;
  int number_;
};

// What one system call may move: less than 2^31 bytes.
inline constexpr std::size_t most_at_once = std::size_t{1} << 30;

}  // namespace detail

/// A new file; what an older one of the same name held is lost.
class output_file : detail::file {
 public:
  explicit output_file(const std::filesystem::path& path)
      : file(path, O_WRONLY | O_CREAT | O_TRUNC, "a file that can be written") {}
  void write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t count = ::write(number(), bytes.data(), std::min(bytes.size(), detail::most_at_once));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) detail::throw_errno("to write to it", path());
      bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
  }
  /// Closes the file when its content is on the disk.
  void finish() {
    sync();
    close();
  }
};

/// An existing file, read at any offset.
class input_file : detail::file {
 public:
  using file::path;
  explicit input_file(const std::filesystem::path& path) : file(path, O_RDONLY, "a file that can be read") {
    struct stat about{};
    if (::fstat(number(), &about) != 0) detail::throw_errno("a file that can be read", path);
    if (!S_ISREG(about.st_mode)) throw error("file", "something else", "a file that can be read", path.string());
    size_ = static_cast<std::uint64_t>(about.st_size);
  }
  std::uint64_t size() const { return size_; }
  void read(std::uint64_t offset, std::span<std::byte> bytes) const {
    while (!bytes.empty()) {
      const ssize_t count =
          ::pread(number(), bytes.data(), std::min(bytes.size(), detail::most_at_once), static_cast<off_t>(offset));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) detail::throw_errno("to read it", path());
      if (count == 0) throw error("file", "its end at byte " + std::to_string(offset), "more bytes", path().string());
      bytes = bytes.subspan(static_cast<std::size_t>(count));
      offset += static_cast<std::uint64_t>(count);
    }
  }

 private:
  std::uint64_t size_ = 0;
};

/// Makes sure that the names in a folder are on the disk.
inline void sync_folder(const std::filesystem::path& path) {
  struct folder : detail::file {
    explicit folder(const std::filesystem::path& p) : file(p, O_RDONLY | O_DIRECTORY, "a folder") {}
    using file::sync;
  };
  folder(path.empty() ? "." : path).sync();
}

}  // namespace tokamax::checkpoint
