// tokamax/backend/cuda/precompile.hpp: a program that runs without a GPU and only compiles the code that GPUs will need.
// SPDX-License-Identifier: Apache-2.0
// umbrella: in the map only (the library of the GPU backend includes it)
// tested by tests/backend/cuda/driver/code_cache.cpp
#pragma once

#include <tokamax/backend/cuda/driver/connection.hpp>  // connection

#include <sys/mman.h>  // mmap

#include <cstring>  // memmove
#include <map>      // map
#include <mutex>    // lock_guard

namespace tokamax::cuda_backend {

/// The architectures of a list such as "sm_90a,sm_100a".
/// errors  tokamax::error "TOKAMAX_CUDA_PRECOMPILE" for anything else
inline std::vector<std::string> architectures_of(std::string_view list) {
  std::vector<std::string> all;
  while (!list.empty()) {
    const std::string_view one = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), one.size() + 1));
    const std::string_view digits = one.substr(std::min<std::size_t>(one.size(), 3));
    const std::size_t count = std::min(digits.size(), digits.find_first_not_of("0123456789"));
    const bool is_known = one.starts_with("sm_") && count >= 2 && count <= 3 &&
                          (digits.size() == count || digits.substr(count) == "a" || digits.substr(count) == "f");
    if (!is_known) throw error("TOKAMAX_CUDA_PRECOMPILE", "'" + std::string(one) + "'", "names such as sm_80,sm_90a");
    all.emplace_back(one);
  }
  return all;
}

namespace detail {
/// Memory of a GPU that does nothing: pages of the host that are zero until something is copied there, so that models of any
/// size fit.
class unused_memory {
 public:
  static unused_memory& get() {
    static unused_memory& one = *new unused_memory;
    return one;
  }
  int allocate(device_pointer* p, std::size_t bytes) {
    void* const made = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED) return 2;
    *p = reinterpret_cast<device_pointer>(made);
    const std::lock_guard lock(mutex_);
    sizes_[*p] = bytes;
    return driver_success;
  }
  int release(device_pointer p) {
    const std::lock_guard lock(mutex_);
    const auto found = sizes_.extract(p);
    if (found) munmap(reinterpret_cast<void*>(p), found.mapped());
    return driver_success;
  }

 private:
  std::mutex mutex_;
  std::map<device_pointer, std::size_t> sizes_;
};

template <class... Arguments>
int does_nothing(Arguments...) {
  return driver_success;
}
template <class... Arguments>
void let_do_nothing(int (*&function)(Arguments...)) {
  function = &does_nothing<Arguments...>;
}
inline int copied(void* to, const void* from, std::size_t bytes) {
  std::memmove(to, from, bytes);
  return driver_success;
}
template <class Handle>
int some_handle(Handle* made) {
  static char place;
  *made = reinterpret_cast<Handle>(&place);
  return driver_success;
}
}  // namespace detail

/// The driver of GPUs whose kernels do nothing: memory holds zeros and what was copied there, and each step has ended when its
/// launch returns. Launches are not recorded.
inline driver precompiling_driver() {
  using detail::some_handle;
  driver d;
  driver::each_function(d, [](auto*& function, const char*) { detail::let_do_nothing(function); });
  d.version = [](int* v) { return *v = 13000, driver_success; };
  d.error_name = [](int, const char** name) { return *name = "an error of a GPU that does nothing", driver_success; };
  d.error_text = [](int, const char** text) { return *text = "", driver_success; };
  d.device_count = [](int* n) { return *n = 32, driver_success; };
  d.device_get = [](int* device, int n) { return *device = n, driver_success; };
  d.device_name = [](char* name, int size, int) { return name[0] = 0, size > 0 ? driver_success : 1; };
  d.device_attribute = [](int* value, int which, int) {
    return *value = which == attribute_multiprocessors ? 132 : which == attribute_major ? 9 : 1, driver_success;
  };
  d.retain_context = [](context* c, int) { return some_handle(c); };
  d.default_pool = [](memory_pool* p, int) { return some_handle(p); };
  d.create_stream = [](stream* s, unsigned) { return some_handle(s); };
  d.create_event = [](driver_event* e, unsigned) { return some_handle(e); };
  d.elapsed = [](float* ms, driver_event, driver_event) { return *ms = 0, driver_success; };
  d.allocate = [](device_pointer* p, std::size_t n, stream) { return detail::unused_memory::get().allocate(p, n); };
  d.release = [](device_pointer p, stream) { return detail::unused_memory::get().release(p); };
  d.copy_to_device = [](device_pointer to, const void* from, std::size_t n, stream) {
    return detail::copied(reinterpret_cast<void*>(to), from, n);
  };
  d.copy_to_host = [](void* to, device_pointer from, std::size_t n, stream) {
    return detail::copied(to, reinterpret_cast<const void*>(from), n);
  };
  d.copy_on_device = [](device_pointer to, device_pointer from, std::size_t n, stream) {
    return detail::copied(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), n);
  };
  d.load_module = [](module_handle* m, const void*) { return some_handle(m); };
  d.find_function = [](function_handle* f, module_handle, const char*) { return some_handle(f); };
  d.begin_capture = [](stream, int) { return 801; };  // not supported
  return d;
}

/// How `cuda(n)` is reached in this process: through the system's libraries, or, if TOKAMAX_CUDA_PRECOMPILE names
/// architectures, through GPUs that do nothing while NVRTC compiles for those.
/// errors  that of `architectures_of`
inline connection connection_of_process() {
  const char* const list = std::getenv("TOKAMAX_CUDA_PRECOMPILE");
  if (!list || !*list) return {};
  static const driver& unused = *new driver(precompiling_driver());
  return {.gpus = unused, .precompiles = architectures_of(list)};
}

}  // namespace tokamax::cuda_backend
