// tokamax/base/system/file_lock.hpp: a lock that one process holds, whatever ends it.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/train/run_folder.cpp
// umbrella: no (system headers that programs without files do not need)
#pragma once

#include <tokamax/base/system/file.hpp>  // file

#include <sys/file.h>  // flock

namespace tokamax {

/// What file_lock does while another process holds the lock.
enum class when_locked : std::uint8_t { refuse, wait };

/// Holds the lock of a file. The file is made if it is missing, and it stays afterwards. On a file system without locks
/// nothing is locked.
class file_lock : detail::file {
 public:
  /// errors  tokamax::error if another process holds it and nobody waits, or if the file cannot be made
  explicit file_lock(const std::filesystem::path& path, when_locked then = when_locked::refuse)
      : file(path, O_RDWR | O_CREAT | O_NONBLOCK, "a file that can be locked") {
    const int how = LOCK_EX | (then == when_locked::refuse ? LOCK_NB : 0);
    int failed = 0;
    while ((failed = ::flock(number(), how)) != 0 && errno == EINTR) {}
    if (failed == 0 || errno == ENOSYS || errno == EOPNOTSUPP || errno == ENOLCK) return;
    if (errno == EWOULDBLOCK)
      throw error(error_kind::file, "lock", "another process at work here", "one at a time", path.string());
    detail::throw_errno("a file that can be locked", path);
  }
};

}  // namespace tokamax
