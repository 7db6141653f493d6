// tokamax/base/system/folder.hpp: lists folders, and makes new ones that are on the disk.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/base/system/file.cpp
// umbrella: no (system headers that programs without files do not need)
#pragma once

#include <tokamax/base/system/file.hpp>  // sync_folder

#include <dirent.h>  // opendir

#include <memory>    // unique_ptr
#include <optional>  // optional
#include <vector>    // vector

namespace tokamax {

/// Whether anything has this name. A link that leads nowhere counts.
/// errors  tokamax::error if the system does not tell; the same holds for the functions below
inline bool file_exists(const std::filesystem::path& path) {
  struct stat about{};
  if (::lstat(path.c_str(), &about) == 0) return true;
  if (errno != ENOENT) detail::throw_errno("a name that can be looked up", path);
  return false;
}

inline bool folder_exists(const std::filesystem::path& path) {
  struct stat about{};
  if (::stat(path.c_str(), &about) == 0) return S_ISDIR(about.st_mode);
  if (errno != ENOENT) detail::throw_errno("a name that can be looked up", path);
  return false;
}

/// The names in a folder, and none if there is no folder of this name.
inline std::optional<std::vector<std::string>> folder_names(const std::filesystem::path& path) {
  struct close {
    void operator()(DIR* folder) const { ::closedir(folder); }
  };
  const std::unique_ptr<DIR, close> folder(::opendir(path.c_str()));
  if (!folder && errno == ENOENT) return std::nullopt;
  if (!folder) detail::throw_errno("a folder that can be read", path);
  std::vector<std::string> names;
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(folder.get());
    if (!entry && errno != 0) detail::throw_errno("a folder that can be read", path);
    if (!entry) return names;
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
}

/// Makes a folder and those above it, where they are missing. On return the new names are on the disk.
inline void make_folders(const std::filesystem::path& path) {
  if (path.empty() || folder_exists(path)) return;
  const std::filesystem::path above = path.has_filename() ? path.parent_path() : path.parent_path().parent_path();
  make_folders(above);
  if (::mkdir(path.c_str(), 0777) != 0 && (errno != EEXIST || !folder_exists(path)))
    detail::throw_errno("a place where folders can be made", path);
  sync_folder(above);
}

}  // namespace tokamax
