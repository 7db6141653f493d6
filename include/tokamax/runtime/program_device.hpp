// tokamax/runtime/program_device.hpp: devices that run plans, for graphs and for eager ops.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/runtime/eager.cpp
#pragma once

#include <tokamax/core/context.hpp>                    // current_context
#include <tokamax/runtime/composed_kernel.hpp>         // how calls are chosen
#include <tokamax/runtime/program/traced_program.hpp>  // owned_program

#include <algorithm>  // for_each

namespace tokamax {

/// A device whose kernels are called by the executor. A backend adds the memory, the queue and the kernel table.
///
/// An eager op becomes a program of one op. The device keeps the 1,024 programs that were used last, and finds them by op,
/// attributes, types of the operands, and values of literal operands.
class program_device : public device {
 public:
  arrays execute(const graph& g, const arrays& inputs) override;
  arrays apply(const op& o, const array* in, int n, const std::int64_t* w, int word_count,
               const location& where) override;
  /// How many eager ops are kept.
  std::size_t eager_programs() const { return eager_.size(); }

 protected:
  program_device(std::string name, bool is_host, int threads = 0) : device(std::move(name), is_host, threads) {
    eager_.set_capacity(1024);
  }
  ~program_device() = default;

 private:
  struct eager_program;
  std::shared_ptr<eager_program> trace(const op& o, const array* in, int n, const std::int64_t* w, int word_count,
                                       const location& where);
  struct of_signature;
  detail::program_cache<eager_program> eager_;
};

#if defined(TOKAMAX_COMPILED_ONCE)
struct program_device::eager_program {
  std::vector<std::int64_t> signature;
  std::unique_ptr<detail::owned_program> program;
  std::vector<array_type> results;
  detail::idle_list<detail::program_run> idle_runs;
};
struct program_device::of_signature {
  std::vector<std::int64_t> signature;
  bool operator()(const eager_program& e) const { return e.signature == signature; }
  bool same(const of_signature& others) const { return others.signature == signature; }
};

namespace detail {
/// Calls f with each number on which an eager op depends, in a fixed order.
template <class F>
void each_number_of(const op& o, const array* in, int n, const std::int64_t* w, int word_count, F f) {
  f(reinterpret_cast<std::intptr_t>(&o));
  f(n);
  for (int k = 0; k < n; ++k) {
    const array_type& t = in[k].type();
    const bool literal = in[k].is_literal();
    f(static_cast<std::int64_t>(t.dtype) << 2 | t.weak << 1 | literal);
    f(t.shape.rank());
    for (const std::int64_t e : t.shape) f(e);
    if (literal) f(static_cast<std::int64_t>(in[k].literal_bits().value));
  }
  std::for_each(w, w + word_count, f);
  if (const vec<char>* const asked = current_context.implementations) std::for_each(asked->begin(), asked->end(), f);
}

/// Makes the arrays for the outputs of a graph, for one run of it.
inline arrays outputs_of(program_run& run, const std::vector<array_type>& types, device& where) {
  arrays results;
  results.reserve(types.size());
  for (const array_type& t : types) results.push_back(run.make_output(t, where));
  return results;
}
inline std::vector<array_type> output_types(const graph& g) {
  std::vector<array_type> types;
  for (const int id : g.outputs) types.push_back({g[id].type.dtype, g[id].type.weak, g[id].type.shape});
  return types;
}
}  // namespace detail

TOKAMAX_COMPILED_ONCE arrays program_device::execute(const graph& g, const arrays& inputs) {
  struct once {
    std::unique_ptr<detail::owned_program> program;
    detail::idle_list<detail::program_run> idle_runs;
    detail::captured_data captured;
  };
  const auto p = std::make_shared<once>();
  p->program = detail::owned_program::make(g, kernels());
  auto run = std::make_unique<detail::program_run>(p->program->code);
  run->start(inputs.size());
  for (const array& a : inputs) run->add_input(a, false, *this);
  p->captured.add_to(*run, p->program->captured, *this);
  arrays results = detail::outputs_of(*run, detail::output_types(g), *this);
  detail::launch(std::move(run), {&p->idle_runs, p, nullptr}, *this);
  return results;
}

TOKAMAX_COMPILED_ONCE arrays program_device::apply(const op& o, const array* in, int n, const std::int64_t* w,
                                                   int word_count, const location& where) {
  detail::running_hash key;
  detail::each_number_of(o, in, n, w, word_count, [&](std::int64_t v) { key.add(v); });
  const auto fits = [&](const eager_program& e) {
    std::size_t at = 0;
    bool same = true;
    detail::each_number_of(o, in, n, w, word_count, [&](std::int64_t v) {
      same = same && at < e.signature.size() && e.signature[at] == v;
      ++at;
    });
    return same && at == e.signature.size();
  };
  std::shared_ptr<eager_program> e = eager_.find(key.value(), fits);
  if (!e) {
    of_signature asked;
    detail::each_number_of(o, in, n, w, word_count, [&](std::int64_t v) { asked.signature.push_back(v); });
    e = eager_.find_or_make(key.value(), asked, [&] {
      auto made = trace(o, in, n, w, word_count, where);
      made->signature = asked.signature;
      return made;
    });
  }
  std::unique_ptr<detail::program_run> run = e->idle_runs.take();
  if (!run) run = std::make_unique<detail::program_run>(e->program->code);
  run->start(static_cast<std::size_t>(n));
  for (int k = 0; k < n; ++k)
    if (!in[k].is_literal()) run->add_input(in[k], false, *this);
  arrays results = detail::outputs_of(*run, e->results, *this);
  detail::idle_list<detail::program_run>* const idle_runs = &e->idle_runs;
  detail::launch(std::move(run), {idle_runs, std::move(e), nullptr}, *this);
  return results;
}

/// The program of one op: its operands with data are the inputs, literals are constants.
TOKAMAX_COMPILED_ONCE std::shared_ptr<program_device::eager_program> program_device::trace(const op& o, const array* in,
                                                                                           int n, const std::int64_t* w,
                                                                                           int word_count,
                                                                                           const location& where) {
  graph g;
  if (const vec<char>* const asked = current_context.implementations)
    g.scope.decisions = g.decided.find_or_add({asked->data(), asked->size()});
  vec<array> operands;
  for (int k = 0; k < n; ++k) {
    if (in[k].is_literal())
      operands.push_back(in[k]);
    else
      operands.push_back(array(&g, g.input(in[k].type()), in[k].type()));
  }

  for (const array& a :
       detail::emit_op(g, o, operands.data(), n, words(w, static_cast<std::size_t>(word_count)), where))
    g.outputs.push_back(a.id());
  auto e = std::make_shared<eager_program>();
  e->results = detail::output_types(g);
  e->program = detail::owned_program::make(g, kernels());
  return e;
}
#endif

}  // namespace tokamax
