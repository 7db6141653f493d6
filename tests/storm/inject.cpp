// tests/storm/inject.cpp: a library for LD_PRELOAD that lets the n-th system call on the files of one folder fail.
// SPDX-License-Identifier: Apache-2.0
//
// INJECT_ROOT   the folder; calls on other files pass
// INJECT_AT     n, from 1 on; 0 for none
// INJECT_MODE   fail: that call fails with INJECT_ERRNO; full: it and all later ones that write; short: it reads or writes
//               half, or fails; before, after: the process ends with status 77 before or after it
// INJECT_COUNT  a file that gets the number of calls when the process ends by itself
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

const char* text_of(const char* name) {
  const char* text = std::getenv(name);
  return text ? text : "";
}
long number_of(const char* name) { return std::atol(text_of(name)); }

std::atomic<long> calls = 0;
std::atomic<bool> ours_of[1024];
bool ours(int number) { return number >= 0 && number < 1024 && ours_of[number]; }
bool ours(const char* path) {
  static const char* root = text_of("INJECT_ROOT");
  return *root && path && std::strncmp(path, root, std::strlen(root)) == 0;
}
bool ours(int folder, const char* path) { return ours(path) || (path && *path != '/' && ours(folder)); }
void note(int number, bool mine) {
  if (number >= 0 && number < 1024) ours_of[number] = mine;
}

enum class fate { pass, fail, halve, end_after };
fate next(bool mine, bool writes) {
  static const long at = number_of("INJECT_AT");
  static const char* mode = text_of("INJECT_MODE");
  if (!mine) return fate::pass;
  const long n = ++calls;
  if (at == 0 || n < at) return fate::pass;
  if (std::strcmp(mode, "full") == 0) return writes ? fate::fail : fate::pass;
  if (n > at) return fate::pass;
  if (std::strcmp(mode, "short") == 0) return fate::halve;
  if (std::strcmp(mode, "before") == 0) _exit(77);
  return std::strcmp(mode, "after") == 0 ? fate::end_after : fate::fail;
}
int error_number() {
  static const long number = number_of("INJECT_ERRNO");
  return static_cast<int>(number ? number : EIO);
}

template <class Result, class Call>
Result guarded(bool mine, bool writes, Result failed, const Call& call) {
  const fate now = next(mine, writes);
  if (now == fate::fail || now == fate::halve) {
    errno = error_number();
    return failed;
  }
  const Result result = call();
  if (now == fate::end_after) _exit(77);
  return result;
}
template <class Move>
ssize_t moved(int number, bool writes, size_t count, const Move& move) {
  const fate now = next(ours(number), writes);
  if (now == fate::fail) {
    errno = error_number();
    return -1;
  }
  const ssize_t result = move(now == fate::halve ? (count + 1) / 2 : count);
  if (now == fate::end_after) _exit(77);
  return result;
}
template <class Function>
Function* real(Function*, const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

int open_in(int folder, const char* path, int flags, mode_t mode) {
  const bool mine = ours(folder, path);
  const int number = guarded(mine, (flags & (O_CREAT | O_TRUNC)) != 0, -1,
                             [&] { return static_cast<int>(syscall(SYS_openat, folder, path, flags, mode)); });
  note(number, mine);
  return number;
}
mode_t mode_in(int flags, va_list arguments) { return flags & O_CREAT ? va_arg(arguments, mode_t) : 0; }

struct at_exit {
  ~at_exit() {
    if (const char* path = text_of("INJECT_COUNT"); *path) {
      char text[32];
      const int length = std::snprintf(text, sizeof text, "%ld\n", calls.load());
      const long file = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
      syscall(SYS_write, file, text, length);
    }
  }
} const at_exit_;

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_in(flags, arguments);
  va_end(arguments);
  return open_in(AT_FDCWD, path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_in(flags, arguments);
  va_end(arguments);
  return open_in(AT_FDCWD, path, flags, mode);
}
int openat(int folder, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_in(flags, arguments);
  va_end(arguments);
  return open_in(folder, path, flags, mode);
}
int close(int number) {
  const bool mine = ours(number);
  note(number, false);
  const int closed = static_cast<int>(syscall(SYS_close, number));  // a close that fails has closed
  return guarded(mine, false, -1, [&] { return closed; });
}
ssize_t read(int number, void* bytes, size_t count) {
  return moved(number, false, count, [&](size_t n) { return syscall(SYS_read, number, bytes, n); });
}
ssize_t write(int number, const void* bytes, size_t count) {
  return moved(number, true, count, [&](size_t n) { return syscall(SYS_write, number, bytes, n); });
}
ssize_t pread(int number, void* bytes, size_t count, off_t at) {
  return moved(number, false, count, [&](size_t n) { return syscall(SYS_pread64, number, bytes, n, at); });
}
ssize_t pwrite(int number, const void* bytes, size_t count, off_t at) {
  return moved(number, true, count, [&](size_t n) { return syscall(SYS_pwrite64, number, bytes, n, at); });
}
int fsync(int number) {
  return guarded(ours(number), true, -1, [&] { return static_cast<int>(syscall(SYS_fsync, number)); });
}
int flock(int number, int how) noexcept {
  return guarded(ours(number), false, -1, [&] { return static_cast<int>(syscall(SYS_flock, number, how)); });
}
int fstat(int number, struct stat* about) noexcept {
  return guarded(ours(number), false, -1, [&] { return static_cast<int>(syscall(SYS_fstat, number, about)); });
}
int stat(const char* path, struct stat* about) noexcept {
  return guarded(ours(path), false, -1, [&] { return static_cast<int>(syscall(SYS_stat, path, about)); });
}
int lstat(const char* path, struct stat* about) noexcept {
  return guarded(ours(path), false, -1, [&] { return static_cast<int>(syscall(SYS_lstat, path, about)); });
}
int rename(const char* from, const char* to) noexcept {
  return guarded(ours(from), true, -1, [&] { return static_cast<int>(syscall(SYS_rename, from, to)); });
}
int mkdir(const char* path, mode_t mode) noexcept {
  return guarded(ours(path), true, -1, [&] { return static_cast<int>(syscall(SYS_mkdir, path, mode)); });
}
int unlink(const char* path) noexcept {
  return guarded(ours(path), false, -1, [&] { return static_cast<int>(syscall(SYS_unlink, path)); });
}
int unlinkat(int folder, const char* path, int flags) noexcept {
  return guarded(ours(folder, path), false, -1,
                 [&] { return static_cast<int>(syscall(SYS_unlinkat, folder, path, flags)); });
}
DIR* opendir(const char* path) {
  static const auto next_one = real(&::opendir, "opendir");
  const bool mine = ours(path);
  DIR* folder = guarded(mine, false, static_cast<DIR*>(nullptr), [&] { return next_one(path); });
  if (folder) note(dirfd(folder), mine);
  return folder;
}
int closedir(DIR* folder) {
  static const auto next_one = real(&::closedir, "closedir");
  note(dirfd(folder), false);
  return next_one(folder);
}
dirent* readdir(DIR* folder) {
  static const auto next_one = real(&::readdir, "readdir");
  return guarded(ours(dirfd(folder)), false, static_cast<dirent*>(nullptr), [&] { return next_one(folder); });
}
}
