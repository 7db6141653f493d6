// tokamax/runtime/run/executable.hpp: a plan bound to kernels and memory, ready to run.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/core/memory/step_scratch.hpp>     // step_scratch
#include <tokamax/runtime/run/executable_type.hpp>  // executable
#include <tokamax/runtime/run/running_loop.hpp>     // running_loop
#include <tokamax/runtime/run/step_error.hpp>       // rethrow_from_step
#include <tokamax/runtime/run/work.hpp>             // work_of

#include <algorithm>  // copy_n, equal
#include <memory>     // unique_ptr

#if defined(TOKAMAX_COMPILED_ONCE)
  #include <tokamax/profile/step_table.hpp>  // step_table
#endif

namespace tokamax {

#if defined(TOKAMAX_COMPILED_ONCE)
struct executable::helper {
  helper(const executable& of, device& d) : code(of), where(d) {}
  executable code;
  execution where;
  handle arena;
  std::unique_ptr<running_bodies> bodies;
};
TOKAMAX_COMPILED_ONCE executable::helper_list::helper_list() = default;
TOKAMAX_COMPILED_ONCE executable::helper_list::helper_list(const helper_list&) {}
TOKAMAX_COMPILED_ONCE executable::helper_list::helper_list(helper_list&&) noexcept = default;
TOKAMAX_COMPILED_ONCE executable::helper_list& executable::helper_list::operator=(const helper_list&) {
  all.clear();
  return *this;
}
TOKAMAX_COMPILED_ONCE executable::helper_list& executable::helper_list::operator=(helper_list&&) noexcept = default;
TOKAMAX_COMPILED_ONCE executable::helper_list::~helper_list() = default;
TOKAMAX_COMPILED_ONCE executable::executable() = default;
TOKAMAX_COMPILED_ONCE executable::executable(const executable&) = default;
TOKAMAX_COMPILED_ONCE executable::executable(executable&&) noexcept = default;
TOKAMAX_COMPILED_ONCE executable& executable::operator=(const executable&) = default;
TOKAMAX_COMPILED_ONCE executable& executable::operator=(executable&&) noexcept = default;
TOKAMAX_COMPILED_ONCE executable::~executable() = default;
TOKAMAX_COMPILED_ONCE executable::executable(plan_view p, std::vector<loop_function> loops,
                                             std::vector<kernel_function> kernels,
                                             std::vector<implementation_list> others)
    : plan_(p), loops_(std::move(loops)), kernels_(std::move(kernels)), others_(std::move(others)) {}
TOKAMAX_COMPILED_ONCE void executable::interpret_with(std::vector<const interpreted_op*> ops) {
  ops_ = std::move(ops);
  kept_ = std::vector<kept_loop>(static_cast<std::size_t>(plan_.step_count));
}

TOKAMAX_COMPILED_ONCE void executable::run(std::byte* const* inputs, std::byte* const* outputs, std::byte* arena,
                                           execution& where) {
  const context_part<&context::threads> team(where.where.threads());
  if (!laid_out_) lay_out(one_of_each_symbol);
  where_ = &where;
  if (choices_.state != detail::state_of_choices()) choose();
  patch(0, arena, inputs, outputs);
  run_region(0);
}
TOKAMAX_COMPILED_ONCE void executable::run(std::byte* const* inputs, std::byte* const* outputs) {
  if (!laid_out_) lay_out(one_of_each_symbol);
  const handle arena(buffer_pool::instance().allocate(arena_bytes()));
  execution where(host_device());
  run(inputs, outputs, arena->data, where);
}

/// Replaces tables by copies that differ from the compiled ones.
TOKAMAX_COMPILED_ONCE void executable::own_tables() {
  if (!regions_.empty() && plan_.regions == regions_.data()) return;
  buffers_.assign(plan_.buffers, plan_.buffers + plan_.buffer_count);
  regions_.assign(plan_.regions, plan_.regions + plan_.region_count);
  plan_.buffers = buffers_.data();
  plan_.regions = regions_.data();
}

TOKAMAX_COMPILED_ONCE void executable::lay_out(const std::int64_t* symbols) {
  const bool as_compiled = regions_.empty() && std::equal(symbols, symbols + max_symbols, one_of_each_symbol);
  laid_out_ = false;
  described_.clear();
  helpers_ = {};
  if (!as_compiled) {
    own_tables();
    assign_arenas(plan_, buffers_.data(), regions_.data(), symbols);
  }
  const plan_view& p = plan_;
  views_.assign(static_cast<std::size_t>(p.operand_count), array_view());
  pointers_.resize(views_.size());
  bytes_.resize(views_.size());
  base_.resize(static_cast<std::size_t>(p.buffer_count));
  body_pointers_.clear();
  strides_.clear();
  constants_.clear();
  data_.clear();
  for (int s = 0; s < p.step_count; ++s) {
    const plan_step& st = p.steps[s];
    prepare(st, symbols);
    append_strides(st, symbols);
    if (st.kind != step_kind::call) continue;
    data_.back().pointers = body_pointers_.size();
    body_pointers_.resize(body_pointers_.size() +
                          static_cast<std::size_t>(2 * (st.in_count + st.out_count) + st.carries));
  }
  std::copy_n(symbols, max_symbols, symbols_);
  choices_ = {};  // the calls have other extents
  laid_out_ = true;
}

TOKAMAX_COMPILED_ONCE void executable::prepare(const plan_step& s, const std::int64_t* symbols) {
  for (int k = 0; k < s.in_count + s.out_count; ++k) {
    const plan_operand& o = plan_.operands[s.operands + k];
    const auto at = static_cast<std::size_t>(s.operands + k);
    bytes_[at] = o.buffer == plan_operand::count ? 1 : tokamax::size_of(o.type);
    if (s.kind == step_kind::loop) continue;
    array_view& v = views_[at];
    v.type = o.type;
    for (int a = 0; a < o.rank; ++a) {
      v.extents.push_back(resolve(plan_.numbers[o.numbers + a], symbols));
      v.strides.push_back(resolve(plan_.numbers[o.numbers + o.rank + a], symbols));
    }
  }
}

TOKAMAX_COMPILED_ONCE void executable::append_strides(const plan_step& s, const std::int64_t* symbols) {
  step_data d;
  d.strides = strides_.size();
  if (s.kind == step_kind::loop) {
    for (int k = 0; k < s.in_count + s.out_count; ++k)
      for (int a = 0; a < s.rank; ++a)
        strides_.push_back(resolve(plan_.numbers[plan_.operands[s.operands + k].numbers + a], symbols));
    for (int a = 0; a < s.rank; ++a) d.extents[a] = resolve(plan_.numbers[s.numbers + a], symbols);
    d.constants = constants_.size();
    for (int k = s.rank; k < s.number_count; ++k)
      constants_.push_back({static_cast<std::uint64_t>(plan_.numbers[s.numbers + k])});
  }
  data_.push_back(d);
}

/// Sets the pointers of a region's operands.
TOKAMAX_COMPILED_ONCE void executable::patch(int region, std::byte* arena, std::byte* const* inputs,
                                             std::byte* const* outputs) {
  const plan_region& r = plan_.regions[region];
  for (int b = r.first_buffer; b < r.first_buffer + r.buffer_count; ++b) {
    const plan_buffer& p = plan_.buffers[b];
    std::byte*& base = base_[static_cast<std::size_t>(b)];
    switch (p.kind) {
      case buffer_kind::arena:
        base = arena + p.offset;
        break;
      case buffer_kind::input:
        base = inputs ? inputs[p.index] : nullptr;
        break;
      case buffer_kind::output:
        base = outputs ? outputs[p.index] : nullptr;
        break;
      case buffer_kind::constant:  // never written, because the planner gives its memory to no result
        base = code_ ? code_->constant(b, where_->where)
                     : reinterpret_cast<std::byte*>(const_cast<std::int64_t*>(plan_.numbers + p.index));
        break;
    }
  }
  if (r.step_count == 0) return;
  for (int s = r.first_step; s < r.first_step + r.step_count; ++s) {
    const plan_step& st = plan_.steps[s];
    for (int k = st.operands; k < st.operands + st.in_count + st.out_count; ++k) {
      const plan_operand& o = plan_.operands[k];
      const auto at = static_cast<std::size_t>(k);
      const std::int64_t offset = resolve(o.offset, symbols_);
      pointers_[at] = o.buffer < 0 ? reinterpret_cast<std::byte*>(offset)
                                   : base_[static_cast<std::size_t>(o.buffer)] + offset * bytes_[at];
      views_[at].data = pointers_[at];
    }
  }
}

TOKAMAX_COMPILED_ONCE void executable::run_region(int region) {
  const plan_region& r = plan_.regions[region];
  int s = r.first_step;
  profile::observer* observer = current_context.observer;
  if (!observer) observer = profile::observer_of_all.load(std::memory_order_relaxed);
  try {
    if (observer) [[unlikely]] {
      run_observed(*observer, region, s);
      return;
    }
    for (; s < r.first_step + r.step_count; ++s) {
      if (plan_.steps[s].produces) continue;
      run_step(s);
      if (code_) s += plan_.steps[s].together;
    }
  } catch (...) {
    detail::rethrow_from_step(plan_.scope_of(plan_.steps[s]).name, plan_.steps[s].where, work_at(s).name);
  }
}

TOKAMAX_COMPILED_ONCE void executable::run_step(int s) {
  const plan_step& st = plan_.steps[s];
  if (is_done(st)) return;
  if (where_->before_step) [[unlikely]]
    where_->before_step(*where_);
  if (st.together > 0 && code_)
    run_together(s);
  else if (st.kind == step_kind::loop)
    loops_[static_cast<std::size_t>(st.function)](loop_at(s));
  else {
    const step_scratch lent;
    st.kind == step_kind::kernel ? run_kernel(s) : run_call(s);
  }
}

TOKAMAX_COMPILED_ONCE void executable::run_together(int s) {
  together_.clear();
  for (int k = s; k <= s + plan_.steps[s].together; ++k) together_.push_back(loop_at(k));
  code_->run_together(together_.data(), static_cast<int>(together_.size()));
}

TOKAMAX_COMPILED_ONCE void executable::run_kernel(int s) {
  const plan_step& st = plan_.steps[s];
  const kernel_function kernel = kernels_[static_cast<std::size_t>(st.function)];
  kernel_arguments a = kernel_at(st);
  if (has_choice(s)) [[unlikely]] {
    const auto& all = choices_.steps[static_cast<std::size_t>(s)].all;
    return choices_.tuner ? choices_.tuner->run(*plan_.ops[st.function], a, all) : all[0](a);
  }
  if (!has_producer(s)) return kernel(a);
  const detail::running_loop producer(loops_[static_cast<std::size_t>(plan_.steps[s - 1].function)], loop_at(s - 1));
  a.producer = &producer;
  kernel(a);
}

/// Finds how each call is computed, once for each state of the choices.
TOKAMAX_COMPILED_ONCE void executable::choose() {
  choices_ = {};
  for (const choice_layer* layer = detail::current_choices(); layer && !choices_.tuner; layer = layer->outer.get())
    choices_.tuner = layer->tuner;
  for (int s = 0; s < plan_.step_count; ++s) {
    const plan_step& st = plan_.steps[s];
    if (st.kind != step_kind::kernel || has_producer(s)) continue;
    const kernel_arguments a = kernel_at(st);
    const auto function = static_cast<std::size_t>(st.function);
    const op& o = *plan_.ops[st.function];
    const implementation_list others = function < others_.size() ? others_[function] : nullptr;
    detail::step_choices::entry found;
    if (choices_.tuner) {
      std::vector<std::string> refused;
      found.all = detail::implementations_for(o, a, kernels_[function], others, plan_.scope_of(st), refused);
      if (found.all.size() < 2) continue;
    } else if (!detail::step_choices::choose(o, a, kernels_[function], others, plan_.scope_of(st), found)) {
      continue;
    }
    bool dense = true;  // a program that computes the op writes dense results
    for (int k = 0; k < st.out_count; ++k) dense = dense && is_row_major(a.out[k].extents, a.out[k].strides);
    if (!dense) std::erase_if(found.all, [](const chosen_implementation& i) { return i.composed != nullptr; });
    if (found.all.empty()) continue;
    choices_.steps.resize(static_cast<std::size_t>(plan_.step_count));
    choices_.steps[static_cast<std::size_t>(s)] = std::move(found);
  }
  choices_.state = detail::state_of_choices();
  described_.clear();
}

TOKAMAX_COMPILED_ONCE void executable::run_call(int s) {
  const plan_step& st = plan_.steps[s];
  running_bodies bodies(*this, s);
  kernel_arguments a = kernel_at(st);
  --a.out_count;  // the last result is the scratch buffer
  a.bodies = &bodies;
  kernels_[static_cast<std::size_t>(st.function)](a);
}

TOKAMAX_COMPILED_ONCE loop_arguments executable::loop_at(int s) const {
  const plan_step& st = plan_.steps[s];
  const step_data& d = data_[static_cast<std::size_t>(s)];
  const auto at = static_cast<std::size_t>(st.operands);
  loop_arguments a{st.rank,     st.in_count + st.out_count,     d.extents, &pointers_[at], strides_.data() + d.strides,
                   &bytes_[at], constants_.data() + d.constants};
  a.context = where_;
  a.code = code_.get();
  a.number = st.function;
  if (!ops_.empty()) {
    a.kernel = &plan_.loops[st.function];
    a.instructions = plan_.instructions + a.kernel->first;
    a.ops = ops_.data() + a.kernel->first;
    a.kept = &kept_[static_cast<std::size_t>(s)];
  }
  return a;
}

TOKAMAX_COMPILED_ONCE kernel_arguments executable::kernel_at(const plan_step& st) const {
  const array_view* in = &views_[static_cast<std::size_t>(st.operands)];
  kernel_arguments a{
      in, in + st.in_count, st.in_count, st.out_count, plan_.numbers + st.numbers, st.number_count, nullptr, where_};
  a.unread = st.unread;
  return a;
}

/// Each step begins where the one before it ended: a clock is read once a step.
TOKAMAX_COMPILED_ONCE void executable::run_observed(profile::observer& observer, int region, int& s) {
  const plan_region& r = plan_.regions[region];
  described_.resize(static_cast<std::size_t>(plan_.region_count));
  std::shared_ptr<const profile::step_table>& described = described_[static_cast<std::size_t>(region)];
  if (!described) described = describe(r);
  device& where = where_->where;
  std::shared_ptr<time_mark> from = where.mark();
  for (std::int64_t begin = observer.now(); s < r.first_step + r.step_count; ++s) {
    const int step = s;
    if (plan_.steps[s].produces || is_done(plan_.steps[s])) continue;
    run_step(s);
    if (code_) s += plan_.steps[s].together;
    const std::int64_t end = observer.now();
    std::shared_ptr<time_mark> until = where.mark();
    observer.record(described, step - r.first_step, begin, end, std::move(from), until);
    begin = end;
    from = std::move(until);
  }
}

/// The table of what the steps of a region do, whose pointers are those of a run.
TOKAMAX_COMPILED_ONCE std::shared_ptr<const profile::step_table> executable::describe(const plan_region& r) const {
  std::vector<profile::event> steps;
  std::vector<std::string> places;
  for (int s = r.first_step; s < r.first_step + r.step_count; ++s) {
    const plan_step& st = plan_.steps[s];
    steps.push_back(work_at(s));
    steps.back().scope = plan_.scope_of(st).name;
    steps.back().device = where_->where.name();
    places.push_back(detail::place_text({}, st.where));
  }
  return std::make_shared<const profile::step_table>(std::move(steps), std::move(places));
}

/// What a step does, without the times.
TOKAMAX_COMPILED_ONCE profile::event executable::work_at(int s) const {
  const plan_step& st = plan_.steps[s];
  profile::event e;
  if (st.kind == step_kind::loop) {
    e = detail::work_of(label_of(st), loop_at(s));
    for (int k = s + 1; code_ && k <= s + st.together; ++k) detail::add(e, detail::work_of(label_of(st), loop_at(k)));
  } else if (st.kind == step_kind::kernel && has_producer(s))
    e = detail::work_of(*plan_.ops[st.function], kernel_at(st), label_of(plan_.steps[s - 1]), loop_at(s - 1));
  else if (st.kind == step_kind::kernel)
    e = detail::work_of(*plan_.ops[st.function], kernel_at(st));
  else
    e = {.name = std::string(plan_.ops[st.function]->name), .outer = true};
  if (st.kind == step_kind::kernel && has_choice(s) && !choices_.tuner) {
    const chosen_implementation& by = choices_.steps[static_cast<std::size_t>(s)].all[0];
    e.name += " by " + by.name;
    e.outer = by.composed != nullptr;
  }
  return e;
}

/// Sets the memory of the bodies of a call, once in each run: buffers of carries that are not updated in place, then the
/// arena of the bodies.
TOKAMAX_COMPILED_ONCE executable::running_bodies::running_bodies(executable& code, int step)
    : code_(code), step_(code.plan_.steps[step]) {
  const plan_step& st = step_;
  pointers = code.body_pointers_.data() + code.data_[static_cast<std::size_t>(step)].pointers;
  spare_ = pointers + 2 * (st.in_count + st.out_count);
  const array_view* const results = &code.views_[static_cast<std::size_t>(st.operands + st.in_count)];
  arena_ = results[st.out_count - 1].as<std::byte>();
  for (int k = 0; k < st.carries; ++k) {
    const plan_region& body = code.plan_.regions[st.region + st.region_count - 1];
    const bool in_place = carries_in_place(code.plan_.buffers, code.plan_.numbers, body, k);
    spare_[k] = in_place ? nullptr : arena_;
    if (!in_place) arena_ += (results[k].size() * tokamax::size_of(results[k].type) + 63) / 64 * 64;
  }
}
TOKAMAX_COMPILED_ONCE int executable::running_bodies::donor(int b, int k) const {
  const plan_view& p = code_.plan_;
  return p.buffers[p.numbers[p.regions[step_.region + b].outputs + k]].donor;
}
TOKAMAX_COMPILED_ONCE body_runs& executable::running_bodies::worker(int number) {
  if (number == 0) return *this;
  auto& all = code_.helpers_.all;
  const auto at = static_cast<std::size_t>(number - 1);
  if (all.size() <= at) all.resize(at + 1);
  device& where = code_.where_->where;
  if (!all[at] || &all[at]->where.where != &where) all[at] = std::make_unique<helper>(code_, where);
  helper& h = *all[at];
  h.code.where_ = &h.where;
  h.code.choices_ = code_.choices_;
  h.bodies = std::make_unique<running_bodies>(h.code, static_cast<int>(&step_ - code_.plan_.steps));
  const plan_operand& scratch = code_.plan_.operands[step_.operands + step_.in_count + step_.out_count - 1];
  const std::int64_t bytes = resolve(code_.plan_.buffers[scratch.buffer].bytes, code_.symbols_);
  if (!h.arena || h.arena->bytes < static_cast<std::size_t>(bytes + 64))
    h.arena = where.allocate(static_cast<std::size_t>(bytes + 64));
  h.bodies->arena_ = where.kernel_address(h.arena->data);
  return *h.bodies;
}
TOKAMAX_COMPILED_ONCE void executable::running_bodies::run(int b, std::byte* const* inputs, std::byte* const* outputs) {
  code_.patch(step_.region + b, arena_, inputs, outputs);
  code_.run_region(step_.region + b);
}
#endif

}  // namespace tokamax
