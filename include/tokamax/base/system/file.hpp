// tokamax/base/system/file.hpp: regular files, read and written with every error named, and on the disk when that is asked for.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (system headers that programs without files do not need)
#pragma once

#include <tokamax/base/error.hpp>  // error

#include <fcntl.h>     // open
#include <sys/stat.h>  // fstat
#include <unistd.h>    // pwrite, pread, fsync

#include <algorithm>   // min
#include <cerrno>      // errno
#include <cstddef>     // byte
#include <cstdint>     // uint64_t
#include <cstring>     // strerror
#include <filesystem>  // path
#include <new>         // bad_alloc
#include <span>        // span
#include <string>      // to_string
#include <utility>     // exchange

namespace tokamax {

namespace detail {

[[noreturn]] inline void throw_errno(const char* expected, const std::filesystem::path& path) {
  throw error(error_kind::file, "file", std::strerror(errno), expected, path.string());
}

// An open file. Each function throws an error that names the file.
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
  // The size of a regular file. Other files are refused, because they may have no end or make a reader wait.
  std::uint64_t regular_size() const {
    struct stat about{};
    if (::fstat(number_, &about) != 0) throw_errno("a regular file", path_);
    if (S_ISDIR(about.st_mode)) errno = EISDIR, throw_errno("a regular file", path_);
    if (!S_ISREG(about.st_mode))
      throw error(error_kind::file, "file", S_ISFIFO(about.st_mode) ? "a pipe" : "a device", "a regular file",
                  path_.string());
    return static_cast<std::uint64_t>(about.st_size);
  }
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

// The most bytes that one system call is asked to move. Linux moves less than 2^31 at once.
inline constexpr std::size_t most_at_once = std::size_t{1} << 30;

}  // namespace detail

/// A file that is written from a given length on.
class output_file : detail::file {
 public:
  enum class start { empty, at_the_end };
  /// With `empty`, the content of an older file of the same name is lost.
  explicit output_file(const std::filesystem::path& path, start from = start::empty)
      : file(path, O_WRONLY | O_CREAT | (from == start::empty ? O_TRUNC : 0), "a file that can be written"),
        size_(from == start::empty ? 0 : regular_size()) {}

  /// Appends `bytes`. After an error, the next call overwrites what this one has written.
  void write(std::span<const std::byte> bytes) {
    std::uint64_t at = size_;
    while (!bytes.empty()) {
      const ssize_t count =
          ::pwrite(number(), bytes.data(), std::min(bytes.size(), detail::most_at_once), static_cast<off_t>(at));
      if (count < 0 && errno == EINTR) continue;
      if (count == 0) errno = EIO;
      if (count <= 0) detail::throw_errno("to write to it", path());
      bytes = bytes.subspan(static_cast<std::size_t>(count));
      at += static_cast<std::uint64_t>(count);
    }
    size_ = at;
  }
  /// Returns when everything is on the disk.
  using file::sync;
  /// Closes the file when its content is on the disk.
  void finish() {
    sync();
    close();
  }

 private:
  std::uint64_t size_;
};

/// An existing regular file, read at any offset.
class input_file : detail::file {
 public:
  using file::path;
  explicit input_file(const std::filesystem::path& path)
      : file(path, O_RDONLY | O_NONBLOCK | O_NOCTTY, "a file that can be read"), size_(regular_size()) {}
  std::uint64_t size() const { return size_; }
  void read(std::uint64_t offset, std::span<std::byte> bytes) const {
    while (!bytes.empty()) {
      const ssize_t count =
          ::pread(number(), bytes.data(), std::min(bytes.size(), detail::most_at_once), static_cast<off_t>(offset));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) detail::throw_errno("to read it", path());
      if (count == 0)
        throw error(error_kind::file, "file", "its end at byte " + std::to_string(offset), "more bytes",
                    path().string());
      bytes = bytes.subspan(static_cast<std::size_t>(count));
      offset += static_cast<std::uint64_t>(count);
    }
  }

 private:
  std::uint64_t size_;
};

/// All of a file.
/// errors  tokamax::error that names the file if it is missing, unreadable, not regular, or larger than `most` bytes
inline std::string read_file(const std::filesystem::path& path, std::uint64_t most = ~std::uint64_t{0}) {
  const input_file file(path);
  const std::string found = std::to_string(file.size()) + " bytes";
  if (file.size() > most)
    throw error(error_kind::file, "file", found, "at most " + std::to_string(most), path.string());
  try {
    std::string bytes(static_cast<std::size_t>(file.size()), '\0');
    file.read(0, std::as_writable_bytes(std::span(bytes)));
    return bytes;
  } catch (const std::bad_alloc&) {
    throw error(error_kind::resource, "file", found, "at most what memory holds", path.string());
  } catch (const std::length_error&) {
    throw error(error_kind::resource, "file", found, "at most what memory holds", path.string());
  }
}

/// Makes sure that the list of names in a folder is on the disk. Syncing a file does not do that for a new name.
inline void sync_folder(const std::filesystem::path& path) {
  struct folder : detail::file {
    explicit folder(const std::filesystem::path& p) : file(p, O_RDONLY | O_DIRECTORY, "a folder") {}
    using file::sync;
  };
  folder(path.empty() ? "." : path).sync();
}

/// Renames a file or folder. What had the new name before is lost, unless it is a folder with content.
inline void rename_file(const std::filesystem::path& from, const std::filesystem::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) detail::throw_errno("to give it its name", to);
}

/// Replaces the content of a file. Whenever the program ends, the file holds all of the old bytes or all of the new ones.
inline void replace_file(const std::filesystem::path& path, std::string_view bytes) {
  std::filesystem::path beside = path;
  beside += ".tokamax-tmp";
  try {
    output_file file(beside);
    file.write(std::as_bytes(std::span(bytes)));
    file.finish();
    rename_file(beside, path);
  } catch (...) {
    ::unlink(beside.c_str());
    throw;
  }
  sync_folder(path.parent_path());
}

}  // namespace tokamax
