// tokamax/runtime/run/executable_type.hpp: the class of a plan that is bound to kernels and memory.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/runtime/run/executable.cpp
#pragma once

#include <tokamax/compiler/passes/memory.hpp>  // for its users: assign_arenas
#include <tokamax/runtime/choice.hpp>          // step_choices
#include <tokamax/runtime/kernel.hpp>          // array_view, kernel_function
#include <tokamax/runtime/run/work.hpp>        // label_of

#include <algorithm>  // any_of, equal
#include <memory>     // unique_ptr
#include <vector>     // vector

namespace tokamax {

/// Runs plans. Everything that can be computed once, such as strides and operands, is computed in advance, so that a run
/// only walks over a table of function pointers and allocates nothing. An executable makes one run at a time. Threads that
/// share a program run copies of an executable that has never run.
class executable {
 public:
  executable();
  executable(const executable&);
  executable(executable&&) noexcept;
  executable& operator=(const executable&);
  executable& operator=(executable&&) noexcept;
  ~executable();
  /// `loops` has a function for each loop of the plan, `kernels` for each op; `others` are further implementations of ops.
  executable(plan_view p, std::vector<loop_function> loops, std::vector<kernel_function> kernels,
             std::vector<implementation_list> others);

  /// Runs the program on the buffers of its inputs and outputs. `arena` is memory of the device for intermediate values, of
  /// `arena_bytes()` bytes.
  void run(std::byte* const* inputs, std::byte* const* outputs, std::byte* arena, execution& where);
  /// The same on the host, in an arena of the pool.
  void run(std::byte* const* inputs, std::byte* const* outputs);
  /// The bytes of the arena for the current values of dynamic extents. Kernels may read one vector behind the used part.
  std::size_t arena_bytes() const {
    const std::int64_t bytes = plan_.regions[0].arena_bytes;
    return bytes > 0 ? static_cast<std::size_t>(bytes) + 64 : 0;
  }
  const plan_view& plan() const { return plan_; }
  /// Does a step more than computing its results? Then a run cannot stand for another one.
  bool has_effects() const {
    return std::any_of(plan_.ops, plan_.ops + plan_.op_count,
                       [](const op* o) { return o->effect != effect_kind::none; });
  }
  /// Does a step find by a value which of its bodies run, or how often?
  bool has_decisions() const {
    return std::any_of(plan_.ops, plan_.ops + plan_.op_count,
                       [](const op* o) { return o->bodies.branches || (o->bodies.carries && !o->bodies.repeats); });
  }
  /// Lays the program out for these values of its dynamic extents; false if the last run had the same values.
  bool resize(const std::int64_t* symbols) {
    if (laid_out_ && std::equal(symbols_, symbols_ + max_symbols, symbols)) return false;
    lay_out(symbols);
    return true;
  }
  /// The tile loop of each instruction, for loops that are interpreted.
  void interpret_with(std::vector<const interpreted_op*> ops);
  /// What the device has made of the program.
  void run_with(std::shared_ptr<const device_code> code) { code_ = std::move(code), described_.clear(); }

 private:
  void lay_out(const std::int64_t* symbols);
  void own_tables();
  void prepare(const plan_step& s, const std::int64_t* symbols);
  void append_strides(const plan_step& s, const std::int64_t* symbols);
  void patch(int region, std::byte* arena, std::byte* const* inputs, std::byte* const* outputs);
  void run_region(int region);
  void run_step(int s);
  /// Runs a loop and those that may run at the same time.
  void run_together(int s);
  void run_kernel(int s);
  void choose();
  bool has_choice(int s) const {
    return !choices_.steps.empty() && !choices_.steps[static_cast<std::size_t>(s)].all.empty();
  }
  void run_call(int s);
  /// Can a copy be skipped, because its result is its operand? This happens in bodies.
  bool is_done(const plan_step& st) const {
    const auto at = static_cast<std::size_t>(st.operands);
    return st.copies && pointers_[at] == pointers_[at + 1];
  }
  void run_observed(profile::observer& observer, int region, int& s);
  std::shared_ptr<const profile::step_table> describe(const plan_region& r) const;
  profile::event work_at(int s) const;
  loop_arguments loop_at(int s) const;
  loop_label label_of(const plan_step& st) const {
    return plan_.labels ? plan_.labels[st.function] : detail::label_of(plan_, st.function);
  }
  kernel_arguments kernel_at(const plan_step& st) const;

  struct step_data {
    std::int64_t extents[max_rank] = {};
    std::size_t strides = 0, constants = 0, pointers = 0;
  };
  /// Does step s take what the loop before it makes?
  bool has_producer(int s) const { return s > 0 && plan_.steps[s - 1].produces; }
  /// The part of the executable that the kernel of a call sees.
  class running_bodies final : public body_runs {
   public:
    running_bodies(executable& code, int step);
    void run(int b, std::byte* const* inputs, std::byte* const* outputs) override;
    std::byte* spare(int k) const override { return spare_[k]; }
    int donor(int b, int k) const override;
    body_runs& worker(int number) override;
    std::int64_t extent(std::int64_t attribute) const override { return resolve(attribute, code_.symbols_); }

   private:
    executable& code_;
    const plan_step& step_;
    std::byte** spare_;
    std::byte* arena_;
  };
  /// A copy of the executable that runs bodies on another thread.
  struct helper;
  /// The helpers of an executable; copies of it have none.
  struct helper_list {
    std::vector<std::unique_ptr<helper>> all;
    helper_list();
    helper_list(const helper_list&);
    helper_list(helper_list&&) noexcept;
    helper_list& operator=(const helper_list&);
    helper_list& operator=(helper_list&&) noexcept;
    ~helper_list();
  };
  plan_view plan_;
  bool laid_out_ = false;  // for the values in symbols_; false after an exception
  std::int64_t symbols_[max_symbols] = {};
  execution* where_ = nullptr;        // the context of the current run
  std::vector<plan_buffer> buffers_;  // a copy of the plan's buffers, if the layout differs from the compiled one
  std::vector<plan_region> regions_;
  std::vector<loop_function> loops_;
  std::vector<kernel_function> kernels_;
  std::vector<implementation_list> others_;
  detail::step_choices choices_;  // of the last run
  std::vector<const interpreted_op*> ops_;
  mutable std::vector<kept_loop> kept_;  // of each step, if loops are interpreted
  std::shared_ptr<const device_code> code_;
  std::vector<std::shared_ptr<const profile::step_table>> described_;  // of each region that was observed
  std::vector<array_view> views_;
  std::vector<std::byte*> pointers_, base_;
  std::vector<std::int64_t> bytes_, strides_;
  std::vector<element_bits> constants_;
  std::vector<step_data> data_;
  std::vector<loop_arguments> together_;  // of the loops that are launched at once
  helper_list helpers_;
  std::vector<std::byte*> body_pointers_;  // for calls: room for the inputs, outputs and spare carries of their bodies
};

}  // namespace tokamax
