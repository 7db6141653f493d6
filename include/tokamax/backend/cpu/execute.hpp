// tokamax/backend/cpu/execute.hpp: ties programs and eager calls to the CPU's loops and kernels.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/cpu/features.hpp>        // features
#include <tokamax/backend/cpu/kernels_of.hpp>      // kernels_of
#include <tokamax/backend/cpu/processor.hpp>       // what the program needs of the processor
#include <tokamax/backend/cpu/vector/threads.hpp>  // num_threads
#include <tokamax/base/compiled_once.hpp>          // TOKAMAX_COMPILED_ONCE
#include <tokamax/runtime/program_device.hpp>      // program_device

namespace tokamax::detail {

#if defined(TOKAMAX_COMPILED_ONCE)
/// The host as a device. Its memory is the buffer pool, and the calling thread does the work.
class cpu_device final : public program_device {
 public:
  cpu_device() : program_device("cpu", true) {}
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
    const int threads = cpu_backend::num_threads();
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
#endif

}  // namespace tokamax::detail

#include <tokamax/backend/cpu/generated/kernels.hpp>  // the kernels themselves
