// tokamax/backend/cuda/instance.hpp: one GPU: its stream, its memory, its compiled code, and events.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cuda/instance.cpp
#pragma once

#include <tokamax/backend/cuda/code_jobs.hpp>          // code_jobs
#include <tokamax/backend/cuda/connection.hpp>         // connection
#include <tokamax/backend/cuda/device_clock.hpp>       // device_clock
#include <tokamax/backend/cuda/put_memory.hpp>         // put_memory
#include <tokamax/backend/cuda/recorded_launches.hpp>  // recorded_launches
#include <tokamax/backend/cuda/staging.hpp>            // staging
#include <tokamax/runtime/program_device.hpp>          // program_device

#include <atomic>         // atomic
#include <exception>      // exception_ptr
#include <mutex>          // mutex
#include <optional>       // optional
#include <unordered_map>  // unordered_map

namespace tokamax::cuda_backend {

/// The name of the step that the calling thread has launched last, for errors of the device.
inline thread_local const char* last_step = "a copy";

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
  void write(buffer_block& to, const std::byte* from, std::size_t bytes) override {
    if (to.ready) to.ready->precede(*this);
    write_in_step(to.data, from, bytes);
  }
  void read(const buffer_block& from, std::byte* to, std::size_t bytes) override {
    if (from.ready) from.ready->precede(*this);
    read_in_step(to, from.data, bytes);
  }
  event* submit(std::unique_ptr<device_work> work) override;
  void synchronize() override {
    use();
    finish();
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
  /// second time, and lets the driver repeat the graph from then on. Work that waits for the GPU, as a `while_loop` does, is
  /// done anew each time; so is all work if TOKAMAX_CUDA_CHECK is set.
  void repeat(std::unique_ptr<kept_launches>& kept, const std::vector<std::byte*>& memory, execution& where,
              device_work& work) override;
  std::shared_ptr<time_mark> mark() override { return clock_->mark(stream_); }
  const kernel_table& kernels() const override { return table_; }

  /// Its number among the GPUs of the process.
  int number() const { return number_; }
  /// The stream for launches and memory of the calling thread.
  stream queue() const { return is_recording() && !jobs() ? recorder_ : stream_; }
  /// Does the calling thread record launches, which the GPU does later?
  bool is_recording() const { return recording_on == this; }
  /// Where the calling thread only gathers what must be compiled, and launches nothing; null if it does not.
  code_jobs* jobs() const { return is_recording() ? gathering_for : nullptr; }
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
  static inline thread_local const instance* recording_on = nullptr;
  static inline thread_local code_jobs* gathering_for = nullptr;
  device_pointer new_memory(std::size_t bytes, stream s);
  /// The work as a graph; null if it cannot be one.
  executable_graph record(device_work& work);
  /// Does the work on the stream for recordings, or only gathers jobs. False if it has no place there.
  bool run_apart(device_work& work);
  /// Compiles what the work needs by several threads.
  void compile_ahead(device_work& work);
  module_handle module_of(std::string_view text, const char* name, contraction contracts);
  void use() const { driver_.check(driver_.set_context(context_), "context"); }
  void finish() const {
    if (const int result = driver_.synchronize_stream(stream_)) fail(result, last_step);
  }
  [[noreturn]] void fail(int result, const std::string& step) const {
    throw error("cuda: work on " + std::string(name()), driver_.text_of(result),
                "success of the steps up to " + step + " (TOKAMAX_CUDA_CHECK=1 waits after each step, to find which)");
  }

  const connection to_;
  const driver& driver_;
  const kernel_table& table_;
  int number_, device_ = 0, multiprocessors_ = 0;
  bool checks_each_step_;
  context context_ = nullptr;
  stream stream_ = nullptr, copier_ = nullptr, recorder_ = nullptr;  // nothing ever runs on the last one
  staging staging_;
  put_memory put_memory_;
  std::optional<device_clock> clock_;
  std::string architecture_;
  std::mutex mutex_, recording_;
  std::unordered_map<std::string, module_handle> modules_;  // by text
  std::unordered_map<std::string, function_handle> functions_;
};

/// The end of some work: an event of the driver behind it in its stream.
class done_event final : public event {
 public:
  done_event(const instance& where, stream of, const char* step)
      : where_(where), step_(step), is_ordered_(of == where.stream_) {
    where.driver_.check(where.driver_.create_event(&event_, event_without_time), "event");
    if (const int result = where.driver_.record_event(event_, of)) {
      where.driver_.destroy_event(event_);
      where.driver_.check(result, "event");
    }
  }
  ~done_event() override { where_.driver_.destroy_event(event_); }
  void wait() override {
    where_.use();
    if (const int result = where_.driver_.synchronize_event(event_)) where_.fail(result, step_);
  }
  /// The stream of a device keeps the order of its own work, and waits for a copy once.
  void precede(device& next) override {
    if (&next != &where_) return wait();
    if (is_ordered()) return;
    where_.use();
    if (const int result = where_.driver_.wait_event(where_.stream_, event_, 0)) where_.fail(result, step_);
    is_ordered_.store(true, std::memory_order_release);
  }
  /// Does what the device's stream is given from now on come after this?
  bool is_ordered() const noexcept { return is_ordered_.load(std::memory_order_acquire); }
  bool is_done() const noexcept override { return where_.driver_.query_event(event_) != driver_not_ready; }

 private:
  const instance& where_;
  driver_event event_ = nullptr;
  std::string step_;
  std::atomic<bool> is_ordered_;
};

inline instance::instance(int number, const kernel_table& table, connection to)
    : program_device("cuda:" + std::to_string(number), false),
      to_(std::move(to)),
      driver_(to_.gpus),
      table_(table),
      number_(number),
      checks_each_step_(std::getenv("TOKAMAX_CUDA_CHECK") != nullptr),
      staging_(driver_),
      put_memory_(driver_) {
  if (const std::string missing = missing_device(number, to_); !missing.empty())
    throw error("cuda: device", missing, "cuda:" + std::to_string(number));
  int major = 0, minor = 0;
  driver_.check(driver_.device_get(&device_, number), "device");
  driver_.check(driver_.device_attribute(&major, attribute_major, device_), "device");
  driver_.check(driver_.device_attribute(&minor, attribute_minor, device_), "device");
  driver_.check(driver_.device_attribute(&multiprocessors_, attribute_multiprocessors, device_), "device");
  architecture_ = "sm_" + std::to_string(10 * major + minor) + (major >= 9 ? "a" : "");
  driver_.check(driver_.retain_context(&context_, device_), "context");
  clock_.emplace(driver_, context_);
  use();
  driver_.check(driver_.create_stream(&stream_, non_blocking_stream), "stream");
  driver_.check(driver_.create_stream(&copier_, non_blocking_stream), "stream");
  driver_.check(driver_.create_stream(&recorder_, non_blocking_stream), "stream");
  memory_pool pool = nullptr;
  driver_.check(driver_.default_pool(&pool, device_), "memory pool");
  std::uint64_t everything = ~std::uint64_t{0};  // idle memory stays with the process, so that steps repeat quickly
  driver_.check(driver_.set_pool(pool, release_threshold, &everything), "memory pool");
}

inline device_pointer instance::new_memory(std::size_t bytes, stream s) {
  device_pointer p = 0;
  const auto allocate_now = [&] { return driver_.allocate(&p, bytes + 64, s); };  // kernels may read behind the end
  int result = allocate_now();
  if (result == driver_out_of_memory && put_memory_.trim(stream_)) result = allocate_now();
  if (result == driver_out_of_memory) throw std::bad_alloc();
  if (result != driver_success) driver_.check(result, "allocation of", (std::to_string(bytes) + " bytes").c_str());
  return p;
}

inline handle instance::allocate(std::size_t bytes) {
  use();
  const device_pointer p = new_memory(bytes, queue());
  auto* const block = new buffer_block{.bytes = bytes, .data = reinterpret_cast<std::byte*>(p), .where = this};
  block->release = [](buffer_block* b) noexcept {
    auto& from = static_cast<instance&>(*b->where);
    from.driver_.set_context(from.context_);
    from.driver_.release(address(b->data), from.queue());
    delete b;
  };
  return handle(block);
}

inline event* instance::submit(std::unique_ptr<device_work> work) {
  use();
  {
    execution where(*this);
    where.queue = stream_;
    if (checks_each_step_) where.before_step = [](execution& e) { static_cast<instance&>(e.where).finish(); };
    work->run(where);
  }
  return new done_event(*this, stream_, last_step);
}

inline handle instance::put(const std::byte* from, std::size_t bytes) {
  if (bytes <= staging::few_bytes) return device::put(from, bytes);
  if (is_recording()) throw cannot_record();
  use();
  struct put_block final : buffer_block {
    ~put_block() {
      auto& home = static_cast<instance&>(*where);
      home.driver_.set_context(home.context_);
      const bool was_read = copied && copied->is_ordered();  // else the copy may be under way
      if (place.at) home.put_memory_.give(place, was_read ? home.stream_ : home.copier_);
      if (copied) copied->release();
    }
    put_memory::place place;
    done_event* copied = nullptr;
  };
  auto block = std::make_unique<put_block>();
  block->where = this;
  if (const auto again = put_memory_.take(bytes, copier_))
    block->place = *again;
  else
    block->place = {new_memory(bytes, copier_), bytes};
  staging_.copy(block->place.at, from, bytes, copier_);
  block->ready = block->copied = new done_event(*this, copier_, "a copy from the host");
  block->copied->retain();
  block->bytes = bytes;
  block->data = reinterpret_cast<std::byte*>(block->place.at);
  block->release = [](buffer_block* b) noexcept { delete static_cast<put_block*>(b); };
  return handle(block.release());
}

inline bool instance::run_apart(device_work& work) {
  struct apart {
    explicit apart(const instance* where) { recording_on = where; }
    ~apart() { recording_on = nullptr; }
  } const scope(this);
  try {
    execution where(*this);
    where.queue = queue();
    work.run(where);
    return true;
  } catch (const cannot_record&) {
    return false;
  }
}

inline executable_graph instance::record(device_work& work) {
  if (driver_.begin_capture(recorder_, capture_of_thread) != driver_success) return nullptr;
  bool whole = false;
  std::exception_ptr failure;
  try {
    whole = run_apart(work);
  } catch (...) {
    failure = std::current_exception();
  }
  launch_graph launches = nullptr;
  executable_graph made = nullptr;
  const bool ended = driver_.end_capture(recorder_, &launches) == driver_success;
  if (ended && whole && driver_.instantiate(&made, launches, 0) != driver_success) made = nullptr;
  if (launches) driver_.destroy_graph(launches);
  if (failure) std::rethrow_exception(failure);
  return made;
}

inline void instance::compile_ahead(device_work& work) {
  code_jobs jobs;
  gathering_for = &jobs;
  try {
    run_apart(work);
  } catch (...) {  // the run itself will report it
  }
  gathering_for = nullptr;
  jobs.run([this] { use(); });
}

inline void instance::repeat(std::unique_ptr<kept_launches>& kept, const std::vector<std::byte*>& memory,
                             execution& where, device_work& work) {
  if (checks_each_step_) return work.run(where);
  if (!kept) {
    kept = std::make_unique<recorded_launches>(driver_, context_);
    compile_ahead(work);
  }
  auto& launches = static_cast<recorded_launches&>(*kept);
  recorded_launches::recording* const known = launches.possible() ? launches.find(memory) : nullptr;
  if (!known) return work.run(where);
  if (!known->code) {
    const std::unique_lock one_at_a_time(recording_, std::try_to_lock);
    if (!one_at_a_time) return work.run(where);
    known->code = record(work);
  }
  if (!known->code) {
    launches.give_up();
    return work.run(where);
  }
  last_step = "a recorded program";
  driver_.check(driver_.run_graph(known->code, stream_), "launch of", last_step);
}

inline module_handle instance::module_of(std::string_view text, const char* name, contraction contracts) {
  use();
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = modules_.find(std::string(text)); known != modules_.end()) return known->second;
  }
  module_handle found = nullptr;
  if (is_precompiling()) {
    to_.precompile(text, contracts);
    driver_.check(driver_.load_module(&found, nullptr), "code of", name);
  } else {
    std::optional<std::string> code = to_.find(text, architecture_, contracts);
    if (!code || driver_.load_module(&found, code->data()) != driver_success) {
      code = to_.compile(text, architecture_, contracts);
      driver_.check(driver_.load_module(&found, code->data()), "code of", name);
    }
  }
  const std::lock_guard lock(mutex_);
  return modules_.emplace(text, found).first->second;
}

inline function_handle instance::kernel_of(std::string_view text, const char* name, contraction contracts) {
  if (code_jobs* const later = jobs()) {
    const std::lock_guard lock(mutex_);
    std::string own(text);
    if (!modules_.contains(own)) later->add(own, [=, this] { module_of(own, "a program", contracts); });
    return nullptr;
  }
  const module_handle code = module_of(text, name, contracts);
  function_handle f = nullptr;
  driver_.check(driver_.find_function(&f, code, name), "kernel", name);
  return f;
}

inline void instance::launch(const char* name, function_handle kernel, std::int64_t blocks, unsigned threads,
                             const void* record, std::int64_t rows) {
  if (blocks <= 0 || rows <= 0 || jobs()) return;
  last_step = name;
  void* parameters[] = {const_cast<void*>(record)};
  driver_.check(driver_.launch(kernel, static_cast<unsigned>(blocks), static_cast<unsigned>(rows), 1, threads, 1, 1, 0,
                               queue(), parameters, nullptr),
                "launch of", name);
}

}  // namespace tokamax::cuda_backend
