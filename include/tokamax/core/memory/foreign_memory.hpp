// tokamax/core/memory/foreign_memory.hpp: arrays over memory that tokamax did not allocate: another library's, or a file's.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (it includes <filesystem>, and few programs need it)
// tested by tests/core/memory/foreign_memory.cpp
#pragma once

#include <tokamax/core/array.hpp>  // array

#include <fcntl.h>     // open
#include <sys/mman.h>  // mmap, munmap
#include <sys/stat.h>  // fstat
#include <unistd.h>    // close, sysconf

#include <cerrno>      // errno
#include <cstdint>     // uintptr_t
#include <cstring>     // strerror
#include <filesystem>  // path
#include <functional>  // function
#include <string>      // to_string

namespace tokamax {

/// An array whose elements lie at `data`. Programs read them where they are and never write there. `release` is called
/// when the last array that uses the memory is destroyed; until then the memory must stay valid.
///
/// shapes  any whose extents are known
/// errors  tokamax::error if the address is not a multiple of the size of an element
/// source  jax.dlpack.from_dlpack
inline array array_over(const std::byte* data, const array_type& type, std::function<void()> release = {}) {
  const std::string text(message{type}.view());
  if (is_dynamic(type.shape)) throw error(error_kind::shape, "array_over: shape", text, "known extents");
  const auto element = static_cast<std::size_t>(size_of(type.dtype));
  const std::size_t bytes = static_cast<std::size_t>(size(type.shape)) * element;
  if (const std::size_t beyond = reinterpret_cast<std::uintptr_t>(data) % element; beyond != 0 && bytes != 0)
    throw error("array_over: address",
                std::to_string(beyond) + " bytes beyond a multiple of " + std::to_string(element),
                "one that is aligned for " + text);
  auto* const owner = new std::function<void()>(std::move(release));
  const auto end = [](buffer_block* b) noexcept {
    auto* const last = static_cast<std::function<void()>*>(b->owner);
    if (*last) (*last)();
    delete last;
    delete b;
  };
  return array(handle(new buffer_block{.read_only = true,
                                       .bytes = bytes,
                                       .data = const_cast<std::byte*>(data),  // read_only: nobody writes
                                       .release = end,
                                       .owner = owner}),
               type);
}

/// An array whose elements lie in a file, from byte `offset` on. The operating system reads each page of the file when a
/// program first uses it. The file must not change as long as an array uses it.
///
/// errors  tokamax::error "file: ..." if it cannot be read or ends before the elements do, or if the offset is not a multiple
///         of the size of an element
inline array map_file(const std::filesystem::path& path, std::size_t offset, const array_type& type) {
  const auto fail = [&](std::string found, std::string expected) {
    throw error(error_kind::file, "file: mapped array", std::move(found), std::move(expected), path.string());
  };
  if (is_dynamic(type.shape)) fail(std::string(message{type}.view()), "known extents");
  const auto element = static_cast<std::size_t>(size_of(type.dtype));
  const std::size_t bytes = static_cast<std::size_t>(size(type.shape)) * element;
  if (bytes == 0) return array::uninitialized(type);
  if (offset % element != 0)
    fail("offset " + std::to_string(offset),
         "a multiple of " + std::to_string(element) + " for " + std::string(message{type}.view()));
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) fail(std::strerror(errno), "a file that can be read");
  struct stat facts = {};
  const bool known = ::fstat(file, &facts) == 0;
  const std::size_t length = known ? static_cast<std::size_t>(facts.st_size) : 0;
  const std::size_t before = offset % static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* memory = MAP_FAILED;
  if (offset <= length && bytes <= length - offset)
    memory = ::mmap(nullptr, before + bytes, PROT_READ, MAP_PRIVATE, file, static_cast<off_t>(offset - before));
  ::close(file);
  if (memory == MAP_FAILED)
    fail(std::to_string(length) + " bytes", std::to_string(offset) + " + " + std::to_string(bytes));
  return array_over(static_cast<const std::byte*>(memory) + before, type,
                    [memory, mapped = before + bytes] { ::munmap(memory, mapped); });
}
}  // namespace tokamax
