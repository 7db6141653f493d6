// tokamax/backend/cuda/driver.hpp: the functions of the CUDA driver that the backend calls.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cuda/device.cpp
#pragma once

#include <tokamax/backend/cuda/library.hpp>  // library

#include <cstddef>  // size_t

namespace tokamax::cuda_backend {

// Facts of the driver's interface, so that programs compile without the toolkit.
// source  CUDA Driver API Reference, 12.4 and 13.0
using device_pointer = unsigned long long;
using context = struct context_record*;
using stream = struct stream_record*;
using driver_event = struct event_record*;
using module_handle = struct module_record*;
using function_handle = struct function_record*;
using memory_pool = struct pool_record*;
inline constexpr int driver_success = 0, driver_not_ready = 600;
inline constexpr int attribute_multiprocessors = 16, attribute_major = 75, attribute_minor = 76,
                     attribute_memory_pools = 115;
inline constexpr int release_threshold = 4;         ///< attribute of a memory pool
inline constexpr unsigned non_blocking_stream = 1;  ///< does not wait for the default stream
inline constexpr unsigned event_without_time = 2;

/// The driver. `loaded()` finds it once.
struct driver {
  library file{"TOKAMAX_CUDA_DRIVER", {"libcuda.so.1", "libcuda.so"}};
  std::string absent_function;  ///< of a driver that is too old

  int (*initialize)(unsigned);
  int (*version)(int*);
  int (*error_name)(int, const char**);
  int (*error_text)(int, const char**);
  int (*device_count)(int*);
  int (*device_get)(int*, int);
  int (*device_name)(char*, int, int);
  int (*device_attribute)(int*, int, int);
  int (*retain_context)(context*, int);
  int (*set_context)(context);
  int (*default_pool)(memory_pool*, int);
  int (*set_pool)(memory_pool, int, void*);
  int (*create_stream)(stream*, unsigned);
  int (*synchronize_stream)(stream);
  int (*create_event)(driver_event*, unsigned);
  int (*record_event)(driver_event, stream);
  int (*query_event)(driver_event);
  int (*synchronize_event)(driver_event);
  int (*destroy_event)(driver_event);
  int (*wait_event)(stream, driver_event, unsigned);
  int (*allocate)(device_pointer*, std::size_t, stream);
  int (*release)(device_pointer, stream);
  int (*copy_to_device)(device_pointer, const void*, std::size_t, stream);
  int (*copy_to_host)(void*, device_pointer, std::size_t, stream);
  int (*copy_on_device)(device_pointer, device_pointer, std::size_t, stream);
  int (*fill)(device_pointer, unsigned char, std::size_t, stream);
  int (*load_module)(module_handle*, const void*);
  int (*find_function)(function_handle*, module_handle, const char*);
  int (*launch)(function_handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, stream, void**,
                void**);

  static const driver& loaded() {
    static const driver& one = *new driver;
    return one;
  }
  bool is_complete() const { return file.found() && absent_function.empty(); }
  /// What a result of a function means: "CUDA_ERROR_OUT_OF_MEMORY: out of memory".
  std::string text_of(int result) const {
    const char *name = nullptr, *text = nullptr;
    if (error_name) error_name(result, &name);
    if (error_text) error_text(result, &text);
    return (name ? std::string(name) : "error " + std::to_string(result)) + (text ? std::string(": ") + text : "");
  }

 private:
  driver() {
    find(initialize, "cuInit");
    find(version, "cuDriverGetVersion");
    find(error_name, "cuGetErrorName");
    find(error_text, "cuGetErrorString");
    find(device_count, "cuDeviceGetCount");
    find(device_get, "cuDeviceGet");
    find(device_name, "cuDeviceGetName");
    find(device_attribute, "cuDeviceGetAttribute");
    find(retain_context, "cuDevicePrimaryCtxRetain");
    find(set_context, "cuCtxSetCurrent");
    find(default_pool, "cuDeviceGetDefaultMemPool");
    find(set_pool, "cuMemPoolSetAttribute");
    find(create_stream, "cuStreamCreate");
    find(synchronize_stream, "cuStreamSynchronize");
    find(create_event, "cuEventCreate");
    find(record_event, "cuEventRecord");
    find(query_event, "cuEventQuery");
    find(synchronize_event, "cuEventSynchronize");
    find(destroy_event, "cuEventDestroy_v2");
    find(wait_event, "cuStreamWaitEvent");
    find(allocate, "cuMemAllocAsync");
    find(release, "cuMemFreeAsync");
    find(copy_to_device, "cuMemcpyHtoDAsync_v2");
    find(copy_to_host, "cuMemcpyDtoHAsync_v2");
    find(copy_on_device, "cuMemcpyDtoDAsync_v2");
    find(fill, "cuMemsetD8Async");
    find(load_module, "cuModuleLoadData");
    find(find_function, "cuModuleGetFunction");
    find(launch, "cuLaunchKernel");
  }
  template <class F>
  void find(F*& function, const char* name) {
    if (!file.get(function, name) && absent_function.empty()) absent_function = name;
  }
};

/// Throws if a function of the driver has failed.
/// errors  tokamax::error "cuda: WHAT" with the driver's own text
inline void check(int result, const std::string& what) {
  if (result != driver_success) throw error("cuda: " + what, driver::loaded().text_of(result), "success");
}

}  // namespace tokamax::cuda_backend
