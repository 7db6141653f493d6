// tokamax/backend/cpu/execute.hpp: ties programs and eager calls to the CPU's loops and kernels.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/cpu/features.hpp>        // features
#include <tokamax/backend/cpu/kernels_of.hpp>      // how kernels of the CPU are found
#include <tokamax/backend/cpu/processor.hpp>       // what the program needs of the processor
#include <tokamax/backend/cpu/vector/threads.hpp>  // num_threads
#include <tokamax/base/compiled_once.hpp>          // TOKAMAX_COMPILED_ONCE
#include <tokamax/runtime/program_device.hpp>      // program_device

#if defined(TOKAMAX_COMPILED_ONCE)
  #include <array>   // array
  #include <atomic>  // atomic
  #include <memory>  // make_unique
#endif

namespace tokamax::detail {

#if defined(TOKAMAX_COMPILED_ONCE)
/// The host as a device. Its memory is the buffer pool, and the calling thread does the work, with the number of threads that
/// the device has; 0: with those of the process.
class cpu_device final : public program_device {
 public:
  explicit cpu_device(int threads = 0)
      : program_device(threads == 0 ? "cpu" : "cpu(" + std::to_string(threads) + ")", true, threads) {}
  handle allocate(std::size_t bytes) override { return handle(buffer_pool::instance().allocate(bytes)); }
  void write(buffer_block& to, std::size_t at, const std::byte* from, std::size_t bytes) override {
    std::copy_n(from, bytes, to.data + at);
  }
  void read(const buffer_block& from, std::size_t at, std::byte* to, std::size_t bytes) override {
    std::copy_n(from.data + at, bytes, to);
  }
  event* submit(std::unique_ptr<device_work> work) override {
    execution where(*this);
    work->run(where);
    return nullptr;
  }
  void synchronize() override {}
  /// Its instructions and threads: "cpu avx512, 2 threads".
  std::string kind() const override {
    const int own = device::threads(), threads = own > 0 ? own : cpu_backend::num_threads();
    std::string isa = "other";
  #if defined(__x86_64__)
    isa = cpu_backend::features().avx512f ? "avx512" : cpu_backend::features().x86_64_v3 ? "avx2" : "sse4";
  #endif
    return "cpu " + isa + ", " + std::to_string(threads) + (threads == 1 ? " thread" : " threads");
  }
  const kernel_table& kernels() const override { return kernel_table_of<cpu_tag>(); }
};

  #if !defined(TOKAMAX_INSTANTIATE_KERNELS)
[[gnu::weak]]
  #endif
device& host_device_of_backend() {
  static cpu_device& one = *new cpu_device;  // never destroyed, because static arrays may use it at exit
  return one;
}
TOKAMAX_COMPILED_ONCE device& host_device_of_threads(int threads) {
  if (threads < 1 || threads > cpu_backend::most_threads)
    throw error("cpu: threads", std::to_string(threads), "1 to " + std::to_string(cpu_backend::most_threads));
  static constinit std::array<std::atomic<cpu_device*>, cpu_backend::most_threads + 1> all{};  // made when first named
  std::atomic<cpu_device*>& place = all[static_cast<std::size_t>(threads)];
  cpu_device* one = place.load(std::memory_order_acquire);
  if (one) return *one;
  auto made = std::make_unique<cpu_device>(threads);
  if (place.compare_exchange_strong(one, made.get(), std::memory_order_acq_rel)) one = made.release();
  return *one;
}
#endif

}  // namespace tokamax::detail

#include <tokamax/backend/cpu/generated/kernels.hpp>  // the kernels themselves
