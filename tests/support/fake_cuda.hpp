// tests/support/fake_cuda.hpp: a driver and a compiler of GPUs that are not there, for tests of the CUDA backend.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/cuda/device.hpp>        // cuda_tag
#include <tokamax/backend/cuda/run/instance.hpp>  // driver, nvrtc

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

namespace tokamax::test {

/// GPUs whose memory is the host's. Each stream has a thread that does its work in order, with a delay that changes. Any call
/// can be told to fail. Kernels are those of compiled_for_host, or do nothing; new memory has no useful values.
///
/// The functions of the tables have no object, so there is one such driver in a process.
class fake_cuda {
 public:
  /// What the next questions are answered with.
  struct facts {
    int devices = 32, version = 13000, major = 9, minor = 0, memory_pools = 1;
    std::size_t memory = std::size_t{1} << 30;  ///< of all GPUs together
    bool runs_kernels = false;
    bool reach = true;  ///< can GPUs use each other's memory?
    int delay = 0;      ///< microseconds that a piece of work waits at most
  };
  static constexpr int out_of_memory = 2, no_device = 100, illegal_address = 700, launch_failed = 719,
                       not_while_capturing = 900, capture_is_void = 901, unknown = 999;

  static fake_cuda& get() {
    static fake_cuda& one = *new fake_cuda;
    return one;
  }
  static cuda_backend::driver driver();
  static cuda_backend::nvrtc compiler();
  /// Is there a compiler of the host, so that kernels can run?
  static bool compiles_text();

  facts now;
  /// The call named `name` that comes after `others` more of them fails with `result`, once.
  void fail(const std::string& name, int result, int others = 0) {
    const std::lock_guard lock(mutex_);
    failures_[name] = {result, others};
  }
  /// The next kernel that the GPU runs fails there, and all work of this GPU with it.
  void fail_kernel(int device, int result) {
    const std::lock_guard lock(mutex_);
    failing_kernels_[device] = result;
  }
  /// How often a function was called.
  int calls(const std::string& name) const {
    const std::lock_guard lock(mutex_);
    const auto found = calls_.find(name);
    return found == calls_.end() ? 0 : found->second;
  }
  /// Forgets the failures that have not happened.
  void forget_failures() {
    const std::lock_guard lock(mutex_);
    failures_.clear();
    failing_kernels_.clear();
  }
  /// Waits until all GPUs have done their work, so that what it used is free.
  void drain();
  std::size_t used_bytes() const {
    const std::lock_guard lock(mutex_);
    return used_;
  }
  /// How many bodies of nodes with conditions were run.
  int turns() const { return turns_; }
  /// How many events exist.
  int events() const { return events_; }
  /// How often a thread has used a stream on which another one was recording: what it did is part of that graph.
  int strays() const { return strays_; }
  /// Memory of the host that GPUs read by themselves.
  std::size_t pinned_bytes() const;
  /// Bytes that went from the memory of one GPU to that of another, and those that the driver had to take through the host.
  std::size_t direct_bytes() const { return direct_; }
  std::size_t indirect_bytes() const { return indirect_; }

  /// Counts a call, and says whether it fails.
  int called(const char* name) {
    const std::lock_guard lock(mutex_);
    ++calls_[name];
    const auto found = failures_.find(name);
    if (found == failures_.end() || found->second.others-- > 0) return 0;
    const int result = found->second.result;
    failures_.erase(found);
    return result;
  }

  // What the functions of the tables do.
  struct gpu;
  int allocate(cuda_backend::device_pointer* p, std::size_t bytes, gpu& where);
  void free_now(cuda_backend::device_pointer p);
  /// Is a range of memory allocated?
  bool owns(cuda_backend::device_pointer p, std::size_t bytes) const { return owner_of(p, bytes) != nullptr; }
  /// The GPU whose memory a range is; null if it is not allocated.
  gpu* owner_of(cuda_backend::device_pointer p, std::size_t bytes) const;
  /// Lets a GPU use the memory of another one's pool.
  void allow(int user, int owner) {
    const std::lock_guard lock(mutex_);
    allowed_.insert({user, owner});
  }
  bool is_allowed(int user, int owner) const {
    const std::lock_guard lock(mutex_);
    return allowed_.contains({user, owner});
  }
  void* pin(std::size_t bytes);
  bool is_pinned(const void* p) const;

  /// A kernel of a module.
  struct kernel {
    std::string name;
    void (*run)(const unsigned* grid, const void* record) = nullptr;
    std::size_t bytes = 0;
  };
  /// Work that is recorded, and the memory that was allocated and released meanwhile. What is made of it shares it.
  struct graph {
    ~graph();
    std::shared_ptr<graph> self;  ///< until cuGraphDestroy
    std::vector<std::function<int()>> work;
    std::vector<cuda_backend::device_pointer> released;
    bool is_body = false;
    std::deque<unsigned> conditions;
    std::deque<std::vector<std::shared_ptr<graph>>> bodies;       ///< of each node with a condition
    std::deque<std::vector<cuda_backend::launch_graph>> handles;  ///< of these bodies
    std::thread::id by;
    bool is_void = false;  ///< its thread has called what has no place in a recording
    /// Does the work in order until a piece fails.
    int run() const;
  };
  /// What a process shares with one GPU. Work that fails is the end of all its streams.
  struct gpu {
    int device = 0;
    std::atomic<int> result = 0;  ///< of the first piece that failed; kernels are then left out
  };
  /// Work of a GPU in order.
  struct queue {
    gpu* of = nullptr;
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::function<int()>> waiting;
    bool busy = false;
    unsigned random = 1;
    graph* recording = nullptr;  ///< gets the work instead of the GPU

    void add(std::function<int()> work);
    /// The graph that the calling thread records here; null if it records none.
    graph* recorded_here();
    int drain();
    void work();
  };
  struct moment {
    std::mutex mutex;
    std::condition_variable changed;
    int recordings = 0, reached_recordings = 0;  ///< who waits does so for the last recording before that
    bool reached = true;
    std::chrono::steady_clock::time_point time;
    queue* in = nullptr;
    int references = 1;
  };
  /// Adds a queue to those of `drain`.
  void add(queue* q);
  kernel* find(void* module, const std::string& name);
  int launch(kernel& k, const unsigned* grid, queue& q, const void* record);
  static graph& of(cuda_backend::launch_graph g) { return *reinterpret_cast<graph*>(g); }
  static cuda_backend::launch_graph handle_of(graph& g) { return reinterpret_cast<cuda_backend::launch_graph>(&g); }
  static queue& of(cuda_backend::stream s) { return *reinterpret_cast<queue*>(s); }
  static std::shared_ptr<moment>& of(cuda_backend::driver_event e) {
    return *reinterpret_cast<std::shared_ptr<moment>*>(e);
  }
  std::atomic<int> events_ = 0, strays_ = 0;
  std::atomic<int> turns_ = 0;  ///< of bodies of nodes with conditions
  std::atomic<std::size_t> direct_ = 0, indirect_ = 0;

 private:
  struct failure {
    int result = 0, others = 0;
  };
  mutable std::mutex mutex_;
  std::map<std::string, failure> failures_;
  std::map<int, int> failing_kernels_;
  std::set<std::pair<int, int>> allowed_;
  std::map<std::string, int> calls_;
  struct block {
    std::size_t bytes = 0;
    gpu* owner = nullptr;
  };
  std::map<cuda_backend::device_pointer, block> blocks_;
  std::map<std::size_t, std::vector<cuda_backend::device_pointer>> idle_;  // by size, as pools keep memory
  std::map<const std::byte*, std::size_t> pinned_;
  std::vector<queue*> queues_;
  std::size_t used_ = 0;
};

/// A GPU of this driver as a value, such as `cuda(1)`.
struct fake_gpu {
  using tag = cuda_tag;
  cuda_backend::instance* one;
  device& get() const { return *one; }
};

}  // namespace tokamax::test
