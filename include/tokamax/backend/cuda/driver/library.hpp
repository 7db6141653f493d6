// tokamax/backend/cuda/driver/library.hpp: libraries that are found when the program runs, so that it also starts without them.
// SPDX-License-Identifier: Apache-2.0
// umbrella: in the map only (the library of the GPU backend includes it)
// tested by tests/backend/cuda/device.cpp
#pragma once

#include <tokamax/base/error.hpp>  // for its users: error

#include <dlfcn.h>  // dlopen, dlsym

#include <cstdlib>           // getenv
#include <initializer_list>  // names
#include <string>            // string

namespace tokamax::cuda_backend {

/// A shared library under one of several names. A variable of the environment may name the file instead. Libraries of a
/// toolkit are also looked for in its folder: CUDA_HOME, CUDA_PATH, or /usr/local/cuda.
class library {
 public:
  library(const char* variable, std::initializer_list<const char*> names) {
    wanted_ = *names.begin();
    if (const char* const file = std::getenv(variable)) {
      wanted_ = file;
      open(file);
      return;
    }
    for (const char* name : names)
      if (open(name)) return;
    const char* const roots[] = {std::getenv("CUDA_HOME"), std::getenv("CUDA_PATH"), "/usr/local/cuda"};
    for (const char* root : roots)
      for (const char* name : names)
        if (root && (open(std::string(root) + "/lib64/" + name) || open(std::string(root) + "/lib/" + name))) return;
  }
  bool found() const { return handle_ != nullptr; }
  /// What is missing, for messages: the name of the library and the reason of the system.
  std::string missing() const { return found() ? std::string() : wanted_ + " (" + reason_ + ")"; }

  /// Sets a pointer to a function of the library. Without the library or the function it is null.
  template <class F>
  bool get(F*& function, const char* name) const {
    function = found() ? reinterpret_cast<F*>(dlsym(handle_, name)) : nullptr;
    return function != nullptr;
  }

 private:
  bool open(const std::string& file) {
    handle_ = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle_ && reason_.empty())
      if (const char* const why = dlerror()) reason_ = why;
    return handle_ != nullptr;
  }
  void* handle_ = nullptr;  // never closed: code of the library may run until the process ends
  std::string wanted_, reason_;
};

/// A table of a library's functions, which has `absent_library` and `each_function`, with those that are found.
template <class Functions>
Functions found_in(const library& file) {
  Functions all{.absent_library = file.missing()};
  Functions::each_function(all, [&](auto*& function, const char* name) { file.get(function, name); });
  return all;
}
/// What is missing of such a table: the library, or a function of one that is too old. Empty if nothing is.
template <class Functions>
std::string missing_of(const Functions& all, const char* library_name) {
  if (!all.absent_library.empty()) return "no " + all.absent_library;
  std::string absent;
  Functions::each_function(all, [&](auto* function, const char* name) {
    if (!function && absent.empty()) absent = std::string("a ") + library_name + " without " + name;
  });
  return absent;
}
template <class Functions>
bool has_all_functions(const Functions& all) {
  bool complete = true;
  Functions::each_function(all, [&](auto* function, const char*) { complete = complete && function; });
  return complete;
}

}  // namespace tokamax::cuda_backend
