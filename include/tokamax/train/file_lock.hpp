// tokamax/train/file_lock.hpp: a lock that one process holds, whatever ends it.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/train/run_folder.cpp
// umbrella: no (what a run prints and writes; programs that do so include this header)
#pragma once

#include <tokamax/base/file.hpp>  // file

#include <sys/file.h>  // flock

namespace tokamax::train {

/// Holds the lock of a file. The file is made if it is missing, and it stays afterwards. On a file system without locks
/// nothing is locked.
class file_lock : tokamax::detail::file {
 public:
  /// errors  tokamax::error if another process holds it, or the file cannot be made
  explicit file_lock(const std::filesystem::path& path)
      : file(path, O_RDWR | O_CREAT | O_NONBLOCK, "a file that can be locked") {
    int failed = 0;
    while ((failed = ::flock(number(), LOCK_EX | LOCK_NB)) != 0 && errno == EINTR) {}
    if (failed == 0 || errno == ENOSYS || errno == EOPNOTSUPP || errno == ENOLCK) return;
    if (errno == EWOULDBLOCK) throw error("lock", "another process at work here", "one at a time", path.string());
    tokamax::detail::throw_errno("a file that can be locked", path);
  }
};

}  // namespace tokamax::train
