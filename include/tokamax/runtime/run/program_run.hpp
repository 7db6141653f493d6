// tokamax/runtime/run/program_run.hpp: one run of a program on a device, the same for all programs.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/runtime/run/program_run.cpp
#pragma once

#include <tokamax/base/compiled_once.hpp>               // TOKAMAX_COMPILED_ONCE
#include <tokamax/core/memory/step_scratch.hpp>         // step_scratch
#include <tokamax/runtime/program/filled_literals.hpp>  // filled_literals
#include <tokamax/runtime/run/executable.hpp>           // executable
#include <tokamax/runtime/run/idle_list.hpp>            // idle

#include <memory>  // unique_ptr, shared_ptr
#include <vector>  // vector

namespace tokamax::detail {

/// The state of one run of a program, which is kept for the next run. Threads and devices that run a program at the same time
/// each have their own, so nobody waits for another.
struct program_run : idle {
  explicit program_run(const executable& like) : code(like) {}

  executable code;
  filled_literals literals;
  std::vector<std::byte*> inputs, outputs;
  std::vector<const array*> donors;         ///< one for each input; null if the input is not donated
  std::vector<handle> kept;                 ///< buffers that a queue will read and write later; unused on the host
  std::unique_ptr<kept_launches> launches;  ///< what the device keeps for the same extents

  /// Sets the values of the program's dynamic extents.
  void resize(const std::int64_t* symbols) {
    if (code.resize(symbols)) launches.reset();
  }
  /// Forgets the last run.
  void start(std::size_t leaves);
  /// errors  "jit: device of an argument" if it is on another device
  void add_input(const array& a, bool gives, device& where);
  void add_captured(const handle& h);
  /// The buffer of the next result: a new one, or that of a donated argument if the plan has found that safe.
  array make_output(const array_type& type, device& where);
};

/// Takes a run back when it has ended, and keeps alive what it needs until then.
struct run_home {
  idle_list<program_run>* idle_runs = nullptr;
  std::shared_ptr<const void> program, list;
};

/// Runs a program whose inputs and outputs are set: at once, or when the queue of the device reaches it. In the second case
/// the results get an event, and an exception of the run is thrown to whoever reads a result.
void launch(std::unique_ptr<program_run> run, run_home home, device& where);

#if defined(TOKAMAX_COMPILED_ONCE)
TOKAMAX_COMPILED_ONCE void program_run::start(std::size_t leaves) {
  literals.start(leaves);
  inputs.clear();
  outputs.clear();
  donors.clear();
  kept.clear();
}
TOKAMAX_COMPILED_ONCE void program_run::add_input(const array& a, bool gives, device& where) {
  const array& own = literals.with_data(a, where);
  const buffer_block& b = *own.storage().get();
  if (b.where != (where.is_host() ? nullptr : &where))
    throw error(error_kind::device, "jit: device of an argument", std::string(own.device().name()),
                std::string(where.name()));
  inputs.push_back(b.data);
  donors.push_back(gives ? &own : nullptr);
  if (!where.is_host()) kept.push_back(own.storage());
}
TOKAMAX_COMPILED_ONCE void program_run::add_captured(const handle& h) {
  inputs.push_back(h->data);
  if (h->where) kept.push_back(h);
}
TOKAMAX_COMPILED_ONCE array program_run::make_output(const array_type& type, device& where) {
  const plan_view& p = code.plan();
  const int donor = p.buffers[p.numbers[p.regions[0].outputs + static_cast<int>(outputs.size())]].donor;
  const auto d = static_cast<std::size_t>(donor);
  const array* const from = donor >= 0 && d < donors.size() ? donors[d] : nullptr;
  if (from && !where.is_host()) kept[d] = handle();  // the output takes over this share of the input
  const bool reused = from && from->storage().unique();
  if (from && !where.is_host() && !reused) kept[d] = from->storage();
  array out = reused ? array(from->storage(), type) : array::uninitialized(type, where);
  if (reused && !where.is_host()) forget_copy_on_host(*out.storage().get());
  outputs.push_back(out.storage()->data);
  if (!where.is_host()) kept.push_back(out.storage());
  return out;
}

/// A run in a queue.
class program_work final : public device_work {
 public:
  program_work(std::unique_ptr<program_run> run, run_home home, handle arena)
      : run_(std::move(run)), home_(std::move(home)), arena_(std::move(arena)) {
    for (const handle& h : run_->kept)
      if (h && h->ready) {
        h->ready->retain();
        before_.push_back(h->ready);
      }
  }
  ~program_work() override {
    for (event* e : before_) e->release();
  }
  void run(execution& where) override {
    const step_scratch lent;                           // of loops, which keep it from step to step
    for (event* e : before_) e->precede(where.where);  // work of the same queue: this only rethrows its exception
    const context_scope around(around_.get());
    for (std::byte*& p : run_->inputs) p = where.where.kernel_address(p);
    for (std::byte*& p : run_->outputs) p = where.where.kernel_address(p);
    std::byte* const arena = arena_ ? where.where.kernel_address(arena_->data) : nullptr;
    all_steps steps(*run_, arena);
    const bool is_short = run_->code.plan().step_count < few_steps && !run_->code.has_decisions();
    if (current_context.observer || current_context.choices || is_short || run_->code.has_effects())
      steps.run(where);
    else
      where.where.repeat(run_->launches, addresses(arena), where, steps);
    run_->start(0);
    home_.idle_runs->give(std::move(run_));
  }

 private:
  /// The steps of the run, as work that a device may repeat.
  struct all_steps final : device_work {
    all_steps(program_run& r, std::byte* a) : of(r), arena(a) {}
    void run(execution& where) override { of.code.run(of.inputs.data(), of.outputs.data(), arena, where); }
    program_run& of;
    std::byte* arena;
  };
  static constexpr int few_steps = 4;  // repeating so few launches would cost what doing them costs
  /// All memory of the run. A run has always the same numbers of inputs and outputs, and the same extents.
  std::vector<std::byte*> addresses(std::byte* arena) const {
    std::vector<std::byte*> all(run_->inputs);
    all.insert(all.end(), run_->outputs.begin(), run_->outputs.end());
    all.push_back(arena);
    return all;
  }
  std::unique_ptr<program_run> run_;
  run_home home_;
  handle arena_;
  kept_context around_;  // of the thread that asked for the run
  std::vector<event*> before_;
};

TOKAMAX_COMPILED_ONCE void launch(std::unique_ptr<program_run> run, run_home home, device& where) {
  handle arena;
  try {
    if (const std::size_t bytes = run->code.arena_bytes()) arena = where.allocate(bytes);
  } catch (const std::bad_alloc& cause) {
    throw memory_error(cause, "the intermediate values of a program", std::string(where.name()));
  }
  if (where.is_host()) {
    execution at(where);
    run->code.run(run->inputs.data(), run->outputs.data(), arena ? arena->data : nullptr, at);
    run->literals.clear();
    home.idle_runs->give(std::move(run));
    return;
  }
  const std::vector<handle> written(run->kept.end() - static_cast<std::ptrdiff_t>(run->outputs.size()),
                                    run->kept.end());
  event* const done = where.submit(std::make_unique<program_work>(std::move(run), std::move(home), arena));
  if (!done) return;
  for (const handle& h : written) {
    if (h->ready) h->ready->release();
    done->retain();
    h->ready = done;
  }
  done->release();
}
#endif

}  // namespace tokamax::detail
