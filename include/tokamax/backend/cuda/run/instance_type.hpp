// tokamax/backend/cuda/run/instance_type.hpp: the class of one GPU.
// SPDX-License-Identifier: Apache-2.0
// umbrella: in the map only (the library of the GPU backend includes it)
// tested by tests/backend/cuda/run/instance.cpp
#pragma once

#include <tokamax/backend/cuda/driver/code_jobs.hpp>       // code_jobs
#include <tokamax/backend/cuda/driver/connection.hpp>      // connection
#include <tokamax/backend/cuda/run/conditional_node.hpp>   // conditional_node
#include <tokamax/backend/cuda/run/device_clock.hpp>       // device_clock
#include <tokamax/backend/cuda/run/put_memory.hpp>         // put_memory
#include <tokamax/backend/cuda/run/recorded_launches.hpp>  // recorded_launches
#include <tokamax/backend/cuda/run/staging.hpp>            // staging
#include <tokamax/runtime/program_device.hpp>              // program_device

#include <algorithm>      // partition
#include <atomic>         // atomic
#include <iterator>       // move_iterator
#include <map>            // map
#include <mutex>          // mutex
#include <optional>       // optional
#include <unordered_map>  // unordered_map
#include <utility>        // exchange
#include <vector>         // vector

namespace tokamax::cuda_backend {

/// The name of the step that the calling thread has launched last, for errors of the device.
inline thread_local const char* last_step = "a copy";

/// Blocks of a GPU that copies between GPUs use. They are kept as long, whatever their arrays do.
class lent_blocks {
 public:
  void add(handle block, event_share end) {
    const std::lock_guard lock(mutex_);
    all_.emplace_back(std::move(block), std::move(end));
    any_ = true;
  }
  /// Lets go of those whose copies have ended. Recordings have no place for it.
  void collect() {
    if (!any_) return;
    std::vector<loan> ended;  // is released behind the lock
    const std::lock_guard lock(mutex_);
    const auto waits = [](const loan& l) { return !l.second->is_done(); };
    const auto first = std::partition(all_.begin(), all_.end(), waits);
    ended.assign(std::move_iterator(first), std::move_iterator(all_.end()));
    all_.erase(first, all_.end());
    any_ = !all_.empty();
  }
  /// Waits for the copies, and lets go of all. False if there are none.
  bool wait() {
    if (!any_) return false;
    {
      const std::lock_guard lock(mutex_);
      for (const loan& l : all_) try {
          l.second->wait();
        } catch (const error&) {  // who reads the copy will see it
        }
    }
    collect();
    return true;
  }

 private:
  using loan = std::pair<handle, event_share>;
  std::mutex mutex_;
  std::vector<loan> all_;
  std::atomic<bool> any_ = false;
};

/// The device behind `cuda(n)`. Work is launched on its stream by the thread that submits it, and the stream runs it in
/// order. Memory is allocated and released in the order of the stream too, so a buffer may be released while work that reads
/// it is still waiting.
class instance final : public program_device {
 public:
  /// errors  tokamax::error "cuda: device" that says what is missing
  explicit instance(int number, const kernel_table& table, connection to = {});

  handle allocate(std::size_t bytes) override;
  /// The copy goes on beside the GPU's work. What reads it waits for it; `synchronize` waits for no copy that nothing has read.
  handle put(const std::byte* from, std::size_t bytes) override;
  /// Copies from other GPUs of the same driver go by the second stream, and from one memory to the other where the two GPUs
  /// reach each other; the driver takes them through the host where they do not.
  handle put(const handle& from, std::size_t bytes) override;
  void copy_from(const handle& to, const handle& from, const copy_range& part) override;
  void write(buffer_block& to, std::size_t at, const std::byte* from, std::size_t bytes) override {
    if (to.ready) to.ready->precede(*this);
    event_share(std::exchange(to.ready, nullptr));  // from now on the order of the stream is all that counts
    write_in_step(to.data + at, from, bytes);
  }
  void read(const buffer_block& from, std::size_t at, std::byte* to, std::size_t bytes) override {
    if (from.ready) from.ready->precede(*this);
    read_in_step(to, from.data + at, bytes);
  }
  event* submit(std::unique_ptr<device_work> work) override;
  void synchronize() override {
    use();
    finish();
    if (!is_recording()) lent_.collect();
  }
  void copy_in_step(std::byte* to, const std::byte* from, std::size_t bytes) override {
    use();
    if (bytes > 0 && !jobs()) driver_.check(driver_.copy_on_device(address(to), address(from), bytes, queue()), "copy");
  }
  /// Sets all bytes to zero.
  void clear_in_step(std::byte* to, std::size_t bytes) {
    use();
    if (bytes > 0 && !jobs()) driver_.check(driver_.fill(address(to), 0, bytes, queue()), "filling");
  }
  void read_in_step(std::byte* host, const std::byte* from, std::size_t bytes) override {
    if (is_recording()) throw cannot_record();
    use();
    if (bytes > 0) driver_.check(driver_.copy_to_host(host, address(from), bytes, stream_), "copy to the host");
    finish();
  }
  void write_in_step(std::byte* to, const std::byte* host, std::size_t bytes) override {
    if (is_recording()) throw cannot_record();
    use();
    if (bytes > 0) driver_.check(driver_.copy_to_device(address(to), host, bytes, stream_), "copy from the host");
  }
  /// Compiles all that the work needs before its first run. Records the work as a CUDA graph when its addresses come for the
  /// second time, and lets the driver repeat the graph from then on. Conditions of `while_loop` and `cond` are read by the GPU
  /// there, if its driver can do that. Work that waits for the GPU is done anew each time; so is all work if TOKAMAX_CUDA_CHECK
  /// is set.
  void repeat(std::unique_ptr<kept_launches>& kept, const std::vector<std::byte*>& memory, execution& where,
              device_work& work) override;
  bool decides_in_step() const override { return is_recording() && (jobs() || now_->of_bodies); }
  void loop_in_step(step_bodies& loop) override;
  void choose_in_step(const std::byte* number, int count, step_bodies& branches) override;
  std::shared_ptr<time_mark> mark() override { return clock_->mark(stream_); }
  const kernel_table& kernels() const override { return table_; }

  /// Its number among the GPUs of the process.
  int number() const { return number_; }
  /// The stream for launches and memory of the calling thread.
  stream queue() const { return is_recording() ? now_->to : stream_; }
  /// Does the calling thread record launches, which the GPU does later?
  bool is_recording() const { return now_ && now_->on == this; }
  /// Where the calling thread only gathers what must be compiled, and launches nothing; null if it does not.
  code_jobs* jobs() const { return is_recording() ? now_->jobs : nullptr; }
  /// Does it then load what it meets at once, because a recording is next?
  bool rehearses() const { return jobs() && now_->of_bodies; }
  /// Does it record the body of a step whose condition the GPU reads? No call may be made there that could end the recording,
  /// as NVIDIA's libraries might.
  bool in_body() const { return is_recording() && now_->depth > 0; }
  /// May NVIDIA's libraries of kernels be used? They reach the GPU through the driver of the system.
  bool has_libraries() const { return &driver_ == &driver::loaded(); }
  /// What NVRTC compiles for, such as "sm_90a".
  const std::string& architecture() const { return architecture_; }
  int multiprocessors() const { return multiprocessors_; }
  /// Its model, such as "NVIDIA H200".
  std::string model() const {
    char text[256] = {};
    driver_.check(driver_.device_name(text, sizeof text - 1, device_), "device");
    return text;
  }
  /// What is kept on disk for GPUs.
  const code_cache& cache() const { return to_.cache; }
  /// Is code only compiled, for GPUs that are elsewhere? They have NVIDIA's libraries of kernels.
  bool is_precompiling() const { return !to_.precompiles.empty(); }

  /// The kernel `name` of a text, which is compiled at its first use on this device, or found in the cache on disk.
  /// While jobs are gathered it becomes one of them, and the result is null.
  function_handle kernel_of(std::string_view text, const char* name, contraction contracts = contraction::off);
  /// A kernel that is known by its name alone; `make_text` makes the text that has it.
  template <class F>
  function_handle kernel_named(const std::string& name, const F& make_text) {
    {
      const std::lock_guard lock(mutex_);
      if (const auto known = functions_.find(name); known != functions_.end()) return known->second;
    }
    const function_handle made = kernel_of(make_text(), name.c_str());
    if (!made) return nullptr;
    const std::lock_guard lock(mutex_);
    return functions_.emplace(name, made).first->second;
  }
  /// Launches a kernel with one record as its parameter. It does nothing if there are no blocks.
  void launch(const char* name, function_handle kernel, std::int64_t blocks, unsigned threads, const void* record,
              std::int64_t rows = 1);

  static device_pointer address(const std::byte* p) { return reinterpret_cast<device_pointer>(p); }

 private:
  friend class done_event;
  /// How the calling thread does work that is not launched now.
  struct apart {
    const instance* on = nullptr;
    stream to = nullptr;               ///< records the launches; with jobs: has the memory
    code_jobs* jobs = nullptr;         ///< nothing is launched
    body_memory* of_bodies = nullptr;  ///< with jobs: this is a rehearsal; without: steps may have conditions
    int depth = 0;                     ///< of the bodies around
    bool met_conditions = false;
  };
  static inline thread_local apart* now_ = nullptr;
  device_pointer new_memory(std::size_t bytes, stream s);
  /// Memory for an array that comes from elsewhere. `copy(address)` gives the copy to the second stream.
  template <class F>
  handle put_by(std::size_t bytes, const char* step, const F& copy);
  /// The GPU whose memory a block is; null if the block is of another kind of device, or reached through another driver.
  instance* peer(const buffer_block& b) const {
    auto* const found = dynamic_cast<instance*>(b.where);
    return found && &found->driver_ == &driver_ ? found : nullptr;
  }
  /// Lets this GPU and another one use each other's memory. False if they cannot.
  bool reach(instance& other);
  /// Gives the second stream a copy from a GPU, after the work that writes the block, which is kept until it has been read.
  void copy_from_peer(device_pointer to, const handle& from, std::size_t at, std::size_t bytes);
  /// Makes the work a graph, if it can be one.
  void record(device_work& work, recorded_launches::recording& made, bool has_conditions);
  /// Does the work on the stream for recordings, or only gathers jobs. False if it has no place there.
  bool run_apart(device_work& work, apart& how);
  /// Compiles what the work needs by several threads. Does it have steps that the GPU could decide about?
  bool compile_ahead(device_work& work);
  /// Loads what the recording of the work will need, so that no call fails there. False if it would.
  bool rehearse(device_work& work, body_memory& of_bodies);
  /// Launches `launch(b)` for each body of a node whose condition is the value in memory.
  template <class F>
  void decide(condition_kind kind, const std::byte* value, std::uint64_t bytes, int bodies, const F& launch);
  template <class F>
  void in_body_of(const conditional_node* node, int b, const F& launch);
  bool is_loaded(std::string_view text) {
    const std::lock_guard lock(mutex_);
    return modules_.contains(std::string(text));
  }
  module_handle module_of(std::string_view text, const char* name, contraction contracts);
  void use() const { driver_.check(driver_.set_context(context_), "context"); }
  void finish() const {
    if (const int result = driver_.synchronize_stream(stream_)) fail(result, last_step);
  }
  [[noreturn]] void fail(int result, const std::string& step) const {
    throw error(error_kind::device, "cuda: work on " + std::string(name()), driver_.text_of(result),
                "success of the steps up to " + step + " (TOKAMAX_CUDA_CHECK=1 waits after each step, to find which)");
  }

  const connection to_;
  const driver& driver_;
  const kernel_table& table_;
  int number_, device_ = 0, multiprocessors_ = 0;
  memory_pool pool_ = nullptr;
  bool checks_each_step_;
  context context_ = nullptr;
  stream stream_ = nullptr, copier_ = nullptr, recorder_ = nullptr;  // nothing ever runs on the last one
  std::vector<stream> body_recorders_;                               // nor on these, one for each level of bodies
  device_pointer answer_ = 0;  // of the loop in a graph that asks next: they ask one after the other
  staging staging_;
  put_memory put_memory_;
  lent_blocks lent_;
  std::map<int, bool> reached_;  // can it and the GPU of this number use each other's memory? Guarded by the mutex
  std::optional<device_clock> clock_;
  std::string architecture_;
  std::mutex mutex_, recording_;
  std::unordered_map<std::string, module_handle> modules_;  // by text
  std::unordered_map<std::string, function_handle> functions_;
};

}  // namespace tokamax::cuda_backend
