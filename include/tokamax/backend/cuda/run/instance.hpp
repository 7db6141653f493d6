// tokamax/backend/cuda/run/instance.hpp: one GPU: its stream, its memory, its compiled code, and events.
// SPDX-License-Identifier: Apache-2.0
// umbrella: in the map only (the library of the GPU backend includes it)
// tested by tests/backend/cuda/run/instance.cpp
#pragma once

#include <tokamax/backend/cuda/run/done_event.hpp>  // done_event
#include <tokamax/backend/cuda/text/condition.hpp>  // condition
#include <tokamax/backend/cuda/text/numbers.hpp>    // numbers

#include <exception>  // exception_ptr
#include <optional>   // optional
#include <utility>    // exchange

namespace tokamax::cuda_backend {

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
    throw error(error_kind::device, "cuda: device", missing, "cuda:" + std::to_string(number));
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
  driver_.check(driver_.default_pool(&pool_, device_), "memory pool");
  std::uint64_t everything = ~std::uint64_t{0};  // idle memory stays with the process, so that steps repeat quickly
  driver_.check(driver_.set_pool(pool_, release_threshold, &everything), "memory pool");
}

inline device_pointer instance::new_memory(std::size_t bytes, stream s) {
  device_pointer p = 0;
  const auto allocate_now = [&] { return driver_.allocate(&p, bytes + 64, s); };  // kernels may read behind the end
  int result = allocate_now();
  if (result == driver_out_of_memory && put_memory_.trim(stream_)) result = allocate_now();
  if (result == driver_out_of_memory && !is_recording() && lent_.wait()) {
    use();
    result = allocate_now();
  }
  if (result == driver_out_of_memory) throw no_memory(bytes);
  if (result != driver_success) driver_.check(result, "allocation of", (std::to_string(bytes) + " bytes").c_str());
  return p;
}

inline handle instance::allocate(std::size_t bytes) {
  use();
  device_pointer p = in_body() ? now_->of_bodies->take(bytes + 64) : 0;
  if (in_body() && !p) throw cannot_record();
  if (!p) p = new_memory(bytes, queue());
  auto* const block = new buffer_block{.bytes = bytes, .data = reinterpret_cast<std::byte*>(p), .where = this};
  if (in_body())
    block->release = [](buffer_block* b) noexcept { delete b; };
  else
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
  if (!is_recording()) lent_.collect();
  {
    execution where(*this);
    if (checks_each_step_) where.before_step = [](execution& e) { static_cast<instance&>(e.where).finish(); };
    work->run(where);
  }
  return new done_event(*this, stream_, last_step);
}

template <class F>
handle instance::put_by(std::size_t bytes, const char* step, const F& copy) {
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
  copy(block->place.at);
  block->ready = block->copied = new done_event(*this, copier_, step);
  block->copied->retain();
  block->bytes = bytes;
  block->data = reinterpret_cast<std::byte*>(block->place.at);
  block->release = [](buffer_block* b) noexcept { delete static_cast<put_block*>(b); };
  return handle(block.release());
}
inline handle instance::put(const std::byte* from, std::size_t bytes) {
  if (bytes <= staging::few_bytes) return device::put(from, bytes);
  return put_by(bytes, "a copy from the host", [&](device_pointer to) { staging_.copy(to, from, bytes, copier_); });
}
inline handle instance::put(const handle& from, std::size_t bytes) {
  if (!from->where) return put(from->data, bytes);
  if (!peer(*from) || bytes == 0) return device::put(from, bytes);
  return put_by(bytes, "a copy between GPUs", [&](device_pointer to) { copy_from_peer(to, from, 0, bytes); });
}

inline bool instance::reach(instance& other) {
  if (&other == this) return true;
  const std::lock_guard lock(mutex_);
  if (const auto known = reached_.find(other.number_); known != reached_.end()) return known->second;
  const auto allow = [](const instance& user, const instance& owner) {
    int can = 0;
    const driver& d = user.driver_;
    if (d.can_reach(&can, user.device_, owner.device_) != driver_success || !can) return false;
    const pool_access access{.device = user.device_};
    return d.allow_access(owner.pool_, &access, 1) == driver_success;
  };
  return reached_[other.number_] = allow(*this, other) && allow(other, *this);
}
inline void instance::copy_from_peer(device_pointer to, const handle& from, std::size_t at, std::size_t bytes) {
  instance& source = *peer(*from);
  const bool direct = reach(source);
  if (from->ready) {
    static_cast<done_event*>(from->ready)->precede(*this, copier_);
  } else {  // it is written in the order of its stream
    source.use();
    done_event(source, source.stream_, last_step).precede(*this, copier_);
  }
  use();
  const device_pointer begin = address(from->data) + at;
  driver_.check(direct ? driver_.copy_on_device(to, begin, bytes, copier_)
                       : driver_.copy_between(to, context_, begin, source.context_, bytes, copier_),
                "copy between GPUs");
  try {
    source.lent_.add(from, event_share(new done_event(*this, copier_, "a copy between GPUs")));
  } catch (...) {  // nothing else tells when the block may be released
    driver_.synchronize_stream(copier_);
    throw;
  }
}
inline void instance::copy_from(const handle& to, const handle& from, const copy_range& part) {
  if (!peer(*from) || part.bytes == 0) return device::copy_from(to, from, part);
  if (is_recording()) throw cannot_record();
  prepare_copy(*to, *from, part);
  use();
  done_event(*this, stream_, last_step).precede(*this, copier_);
  copy_from_peer(address(to->data) + part.to, from, part.from, part.bytes);
  event_share end(new done_event(*this, copier_, "a copy between GPUs"));
  lent_.add(to, share_of(end.get()));
  event_share(std::exchange(to->ready, end.release()));
}

inline bool instance::run_apart(device_work& work, apart& how) {
  struct scope {
    explicit scope(apart* how) { now_ = how; }
    ~scope() { now_ = nullptr; }
  } const inside(&how);
  try {
    execution where(*this);
    work.run(where);
    return true;
  } catch (const cannot_record&) {
    return false;
  }
}

inline bool instance::rehearse(device_work& work, body_memory& of_bodies) {
  code_jobs none;
  apart how{.on = this, .to = stream_, .jobs = &none, .of_bodies = &of_bodies};
  try {
    use();
    if (!answer_) driver_.check(driver_.allocate(&answer_, 256, stream_), "allocation");
    return run_apart(work, how);
  } catch (...) {  // the run itself will report it
    return false;
  }
}

inline void instance::record(device_work& work, recorded_launches::recording& made, bool has_conditions) {
  std::unique_ptr<body_memory> of_bodies;
  if (has_conditions) {
    of_bodies = std::make_unique<body_memory>(driver_, context_, stream_);
    if (!rehearse(work, *of_bodies)) return;
    of_bodies->end_rehearsal();
  }
  if (driver_.begin_capture(recorder_, capture_of_thread) != driver_success) return;
  bool whole = false;
  std::exception_ptr failure;
  apart how{.on = this, .to = recorder_, .of_bodies = of_bodies.get()};
  try {
    whole = run_apart(work, how);
  } catch (...) {
    failure = std::current_exception();
  }
  launch_graph launches = nullptr;
  const bool ended = driver_.end_capture(recorder_, &launches) == driver_success;
  if (ended && whole && driver_.instantiate(&made.code, launches, 0) != driver_success) made.code = nullptr;
  if (made.code && has_conditions) {
    made.graph = std::exchange(launches, nullptr);
    made.of_bodies = std::move(of_bodies);
  }
  if (launches) driver_.destroy_graph(launches);
  if (failure && !has_conditions) std::rethrow_exception(failure);  // host code reports what happens in bodies that run
}

inline bool instance::compile_ahead(device_work& work) {
  code_jobs jobs;
  apart how{.on = this, .to = stream_, .jobs = &jobs};
  try {
    run_apart(work, how);
  } catch (...) {  // the run itself will report it
  }
  jobs.run([this] { use(); });
  return how.met_conditions;
}

inline void instance::repeat(std::unique_ptr<kept_launches>& kept, const std::vector<std::byte*>& memory,
                             execution& where, device_work& work) {
  if (checks_each_step_) return work.run(where);
  if (!kept) {
    auto made = std::make_unique<recorded_launches>(driver_, context_);
    made->has_conditions = compile_ahead(work);
    kept = std::move(made);
  }
  auto& launches = static_cast<recorded_launches&>(*kept);
  recorded_launches::recording* const known = launches.possible() ? launches.find(memory) : nullptr;
  if (!known) return work.run(where);
  if (!known->code) {
    const std::unique_lock one_at_a_time(recording_, std::try_to_lock);
    if (!one_at_a_time) return work.run(where);
    record(work, *known, launches.has_conditions);
  }
  if (!known->code) {
    launches.give_up();
    return work.run(where);
  }
  last_step = "a recorded program";
  driver_.check(driver_.run_graph(known->code, stream_), "launch of", last_step);
}

template <class F>
void instance::in_body_of(const conditional_node* node, int b, const F& launch) {
  const auto level = static_cast<std::size_t>(now_->depth);
  if (!now_->of_bodies) return launch();  // only compiles
  if (rehearses() && level == body_recorders_.size()) {
    stream made = nullptr;
    driver_.check(driver_.create_stream(&made, non_blocking_stream), "stream");
    body_recorders_.push_back(made);
  }
  if (level >= body_recorders_.size()) throw cannot_record();
  struct scope {
    explicit scope(stream to) : outer(std::exchange(now_->to, to)) { ++now_->depth; }
    ~scope() {
      now_->to = outer;
      --now_->depth;
    }
    const stream outer;
  } const inside(body_recorders_[level]);
  node ? node->record_body(b, now_->to, launch) : launch();
}

template <class F>
void instance::decide(condition_kind kind, const std::byte* value, std::uint64_t bytes, int bodies,
                      const F& launch_body) {
  now_->met_conditions = driver_.has_conditions();
  std::optional<conditional_node> node;
  if (!jobs()) node.emplace(driver_, context_, now_->to);
  const struct {
    std::uint64_t condition;
    const std::byte* value;
    std::uint64_t bytes;
  } record{node ? node->condition() : 0, value, bytes};
  const auto set = [&] {
    const char* const name = "set_condition";
    const function_handle f = kernel_named(name, [] {
      return std::string(cuda_text::numbers).append(cuda_text::condition).append(cuda_text::numbers_end);
    });
    launch(name, f, 1, 1, &record);
  };
  if (now_->met_conditions || is_precompiling()) set();
  if (node) node->add(kind, bodies);
  for (int b = 0; b < bodies; ++b)
    in_body_of(node ? &*node : nullptr, b, [&] {
      launch_body(b);
      if (kind == condition_kind::repeats) set();
    });
}

inline void instance::loop_in_step(step_bodies& loop) {
  const auto answer = now_->of_bodies ? reinterpret_cast<std::byte*>(answer_) : nullptr;
  loop.run(0, answer);
  decide(condition_kind::repeats, answer, 1, 1, [&](int) {
    loop.run(1, nullptr);
    loop.run(0, answer);
  });
}
inline void instance::choose_in_step(const std::byte* number, int count, step_bodies& branches) {
  decide(condition_kind::chooses, number, 4, count, [&](int b) { branches.run(b, nullptr); });
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
  if (code_jobs* const later = jobs(); later && !rehearses()) {
    const std::lock_guard lock(mutex_);
    std::string own(text);
    if (!modules_.contains(own)) later->add(own, [=, this] { module_of(own, "a program", contracts); });
    return nullptr;
  }
  if (in_body() && !jobs() && !is_loaded(text)) throw cannot_record();
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
