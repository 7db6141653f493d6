// tokamax/backend/cuda/driver/driver.hpp: the functions of the CUDA driver that the backend calls.
// SPDX-License-Identifier: Apache-2.0
// umbrella: in the map only (the library of the GPU backend includes it)
// tested by tests/backend/cuda/run/instance.cpp
#pragma once

#include <tokamax/backend/cuda/driver/library.hpp>  // library

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
using launch_graph = struct graph_record*;
using executable_graph = struct executable_graph_record*;
using graph_node = struct graph_node_record*;
struct conditional_node_parameters;
inline constexpr int driver_success = 0, driver_out_of_memory = 2, driver_not_ready = 600;
inline constexpr int attribute_multiprocessors = 16, attribute_major = 75, attribute_minor = 76,
                     attribute_memory_pools = 115;
inline constexpr int release_threshold = 4;  ///< attribute of a memory pool
/// Which device may use the memory of a pool: CUmemAccessDesc.
struct pool_access {
  int kind = 1, device = 0;  ///< kind 1: a GPU
  int allows = 3;            ///< to read and to write
};
inline constexpr unsigned non_blocking_stream = 1;  ///< does not wait for the default stream
inline constexpr unsigned event_with_time = 0, event_without_time = 2;
inline constexpr unsigned event_with_sleep = 3;  ///< without time too; who waits for it leaves its processor to others
inline constexpr int capture_of_thread = 1;      ///< other threads may use other streams as they like

/// The functions of the driver; one that is not there is null. `loaded()` are those of the system. A GPU is told which ones it
/// is reached through, so that tests may pass others.
struct driver {
  std::string absent_library = {};  ///< what was not found, and why

  int (*initialize)(unsigned) = nullptr;
  int (*version)(int*) = nullptr;
  int (*error_name)(int, const char**) = nullptr;
  int (*error_text)(int, const char**) = nullptr;
  int (*device_count)(int*) = nullptr;
  int (*device_get)(int*, int) = nullptr;
  int (*device_name)(char*, int, int) = nullptr;
  int (*device_attribute)(int*, int, int) = nullptr;
  int (*retain_context)(context*, int) = nullptr;
  int (*set_context)(context) = nullptr;
  int (*default_pool)(memory_pool*, int) = nullptr;
  int (*set_pool)(memory_pool, int, void*) = nullptr;
  int (*can_reach)(int*, int, int) = nullptr;
  int (*allow_access)(memory_pool, const pool_access*, std::size_t) = nullptr;
  int (*create_stream)(stream*, unsigned) = nullptr;
  int (*synchronize_stream)(stream) = nullptr;
  int (*create_event)(driver_event*, unsigned) = nullptr;
  int (*record_event)(driver_event, stream) = nullptr;
  int (*elapsed)(float*, driver_event, driver_event) = nullptr;
  int (*query_event)(driver_event) = nullptr;
  int (*synchronize_event)(driver_event) = nullptr;
  int (*destroy_event)(driver_event) = nullptr;
  int (*wait_event)(stream, driver_event, unsigned) = nullptr;
  int (*allocate)(device_pointer*, std::size_t, stream) = nullptr;
  int (*release)(device_pointer, stream) = nullptr;
  int (*allocate_pinned)(void**, std::size_t, unsigned) = nullptr;
  int (*copy_to_device)(device_pointer, const void*, std::size_t, stream) = nullptr;
  int (*copy_to_host)(void*, device_pointer, std::size_t, stream) = nullptr;
  int (*copy_on_device)(device_pointer, device_pointer, std::size_t, stream) = nullptr;
  int (*copy_between)(device_pointer, context, device_pointer, context, std::size_t, stream) = nullptr;
  int (*fill)(device_pointer, unsigned char, std::size_t, stream) = nullptr;
  int (*load_module)(module_handle*, const void*) = nullptr;
  int (*find_function)(function_handle*, module_handle, const char*) = nullptr;
  int (*launch)(function_handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, stream, void**,
                void**) = nullptr;
  int (*begin_capture)(stream, int) = nullptr;
  int (*end_capture)(stream, launch_graph*) = nullptr;
  int (*instantiate)(executable_graph*, launch_graph, unsigned long long) = nullptr;
  int (*run_graph)(executable_graph, stream) = nullptr;
  int (*destroy_graph)(launch_graph) = nullptr;
  int (*destroy_executable)(executable_graph) = nullptr;
  // Only drivers for CUDA 12.4 and newer have these.
  int (*capture_of)(stream, int*, unsigned long long*, launch_graph*, const graph_node**, std::size_t*) = nullptr;
  int (*go_on_behind)(stream, graph_node*, std::size_t, unsigned) = nullptr;
  int (*begin_capture_to)(stream, launch_graph, const graph_node*, const void*, std::size_t, int) = nullptr;
  int (*create_condition)(unsigned long long*, launch_graph, context, unsigned, unsigned) = nullptr;
  int (*add_node)(graph_node*, launch_graph, const graph_node*, std::size_t, conditional_node_parameters*) = nullptr;

  static const driver& loaded() {
    static const driver& one = *new driver(found_in({"TOKAMAX_CUDA_DRIVER", {"libcuda.so.1", "libcuda.so"}}));
    return one;
  }
  /// Calls f(pointer, name in the library) for each function without which nothing runs.
  template <class Driver, class F>
  static void each_function(Driver& d, const F& f) {
    f(d.initialize, "cuInit");
    f(d.version, "cuDriverGetVersion");
    f(d.error_name, "cuGetErrorName");
    f(d.error_text, "cuGetErrorString");
    f(d.device_count, "cuDeviceGetCount");
    f(d.device_get, "cuDeviceGet");
    f(d.device_name, "cuDeviceGetName");
    f(d.device_attribute, "cuDeviceGetAttribute");
    f(d.retain_context, "cuDevicePrimaryCtxRetain");
    f(d.set_context, "cuCtxSetCurrent");
    f(d.default_pool, "cuDeviceGetDefaultMemPool");
    f(d.set_pool, "cuMemPoolSetAttribute");
    f(d.can_reach, "cuDeviceCanAccessPeer");
    f(d.allow_access, "cuMemPoolSetAccess");
    f(d.create_stream, "cuStreamCreate");
    f(d.synchronize_stream, "cuStreamSynchronize");
    f(d.create_event, "cuEventCreate");
    f(d.record_event, "cuEventRecord");
    f(d.elapsed, "cuEventElapsedTime");
    f(d.query_event, "cuEventQuery");
    f(d.synchronize_event, "cuEventSynchronize");
    f(d.destroy_event, "cuEventDestroy_v2");
    f(d.wait_event, "cuStreamWaitEvent");
    f(d.allocate, "cuMemAllocAsync");
    f(d.release, "cuMemFreeAsync");
    f(d.allocate_pinned, "cuMemHostAlloc");
    f(d.copy_to_device, "cuMemcpyHtoDAsync_v2");
    f(d.copy_to_host, "cuMemcpyDtoHAsync_v2");
    f(d.copy_on_device, "cuMemcpyDtoDAsync_v2");
    f(d.copy_between, "cuMemcpyPeerAsync");
    f(d.fill, "cuMemsetD8Async");
    f(d.load_module, "cuModuleLoadData");
    f(d.find_function, "cuModuleGetFunction");
    f(d.launch, "cuLaunchKernel");
    f(d.begin_capture, "cuStreamBeginCapture_v2");
    f(d.end_capture, "cuStreamEndCapture");
    f(d.instantiate, "cuGraphInstantiateWithFlags");
    f(d.run_graph, "cuGraphLaunch");
    f(d.destroy_graph, "cuGraphDestroy");
    f(d.destroy_executable, "cuGraphExecDestroy");
  }
  /// The same for those of nodes with a condition.
  template <class Driver, class F>
  static void each_function_of_conditions(Driver& d, const F& f) {
    f(d.capture_of, "cuStreamGetCaptureInfo_v2");
    f(d.go_on_behind, "cuStreamUpdateCaptureDependencies");
    f(d.begin_capture_to, "cuStreamBeginCaptureToGraph");
    f(d.create_condition, "cuGraphConditionalHandleCreate");
    f(d.add_node, "cuGraphAddNode");
  }
  bool has_conditions() const {
    bool all = true;
    each_function_of_conditions(*this, [&](auto* function, const char*) { all = all && function; });
    return all;
  }
  /// What is missing: the library, or a function of one that is too old. Empty if nothing is.
  std::string missing() const {
    if (!absent_library.empty()) return "no driver: " + absent_library;
    std::string absent;
    each_function(*this, [&](auto* function, const char* name) {
      if (!function && absent.empty()) absent = std::string("a driver without ") + name + ", which CUDA 12 has";
    });
    return absent;
  }
  /// What a result of a function means: "CUDA_ERROR_OUT_OF_MEMORY: out of memory".
  std::string text_of(int result) const {
    const char *name = nullptr, *text = nullptr;
    if (error_name) error_name(result, &name);
    if (error_text) error_text(result, &text);
    return (name ? std::string(name) : "error " + std::to_string(result)) + (text ? std::string(": ") + text : "");
  }
  /// Throws if a function has failed.
  /// errors  tokamax::error "cuda: WHAT NAME" with the driver's own text
  void check(int result, const char* what, const char* name = "") const {
    if (result == driver_success) return;
    throw error(error_kind::device, std::string("cuda: ") + what + (*name ? " " : "") + name, text_of(result),
                "success");
  }

 private:
  static driver found_in(const library& file) {
    driver d{.absent_library = file.missing()};
    const auto find = [&](auto*& function, const char* name) { file.get(function, name); };
    each_function(d, find);
    each_function_of_conditions(d, find);
    return d;
  }
};

}  // namespace tokamax::cuda_backend
