// tokamax/runtime/jit.hpp: compile a function on trees once, run it many times.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/runtime/any_device.hpp>               // any_device
#include <tokamax/runtime/program/argument_types.hpp>   // check_arguments_of
#include <tokamax/runtime/program/known_arguments.hpp>  // known_while_compiling
#include <tokamax/runtime/program/program.hpp>          // programs known while compiling
#include <tokamax/runtime/program/static_program.hpp>   // static_program
#include <tokamax/runtime/program/traced_program.hpp>   // programs traced at run time
#include <tokamax/runtime/run/interpreted_loops.hpp>    // executable_of
#include <tokamax/transforms/callable.hpp>              // callable, takes

#include <array>    // array
#include <cstdlib>  // abort
#include <memory>   // shared_ptr, addressof

namespace tokamax {

/// When `jit` traces. `earliest`: while compiling if that is possible, and else at the first call. `while_compiling`: never
/// later. `at_run_time`: at the first call with new shapes, even if they are known earlier.
enum class trace_time : std::uint8_t { earliest, while_compiling, at_run_time };
template <trace_time When>
struct trace_tag {};
inline constexpr trace_tag<trace_time::while_compiling> while_compiling{};
inline constexpr trace_tag<trace_time::at_run_time> at_run_time{};

namespace detail {

/// Can the compiler trace F on arguments of these types? g++ reuses the trace that this test makes; clang traces twice.
template <class F, class... Args>
concept traceable = requires { typename std::bool_constant<(trace_program<F, Args...>(), true)>; };

/// A table of descriptors for the running program.
template <const auto& Table, int Count>
[[gnu::cold]] const op* const* descriptors_of() {
  return []<std::size_t... Index>(std::index_sequence<Index...>) {
    static const op* const ops[] = {descriptor_of<*Table[Index]>()..., nullptr};
    return ops;
  }(std::make_index_sequence<static_cast<std::size_t>(Count)>{});
}

/// The trace of a program, for other traces that call it.
inline graph thawed(const graph_view& trace, const op* const* ops) { return linked_function<thaw>::run(trace, ops, 0); }
template <class Program>
[[gnu::cold]] const graph& thawed() {
  static const graph& g = *new graph(  // never destroyed, as the program
      thawed(view(Program::trace), descriptors_of<Program::ops.at, Program::traced.size.ops>()));
  return g;
}

/// A program with the functions of its plan, which are found while compiling.
template <class Device, class Program, class... Args>
[[gnu::cold]] static_program bind_program() {
  constexpr auto ops = std::make_index_sequence<static_cast<std::size_t>(Program::plan::planned.size.ops)>{};
  std::vector<kernel_function> kernels = [&]<std::size_t... Index>(std::index_sequence<Index...>) {
    return std::vector<kernel_function>{kernel_for<*Program::plan::code.ops[Index], Device>()...};
  }(ops);
  std::vector<implementation_list> others = [&]<std::size_t... Index>(std::index_sequence<Index...>) {
    return std::vector<implementation_list>{other_implementations<*Program::plan::code.ops[Index], Device>()...};
  }(ops);
  static constexpr auto labels = []<std::size_t... Index>(std::index_sequence<Index...>) {
    return std::array<loop_label, sizeof...(Index)>{
        label_of(view(Program::plan::tables, Program::plan::code), Index)...};
  }(std::make_index_sequence<static_cast<std::size_t>(Program::plan::planned.size.loops)>{});
  plan_view plan = view(Program::plan::tables);
  plan.ops = descriptors_of<Program::plan::code.ops, Program::plan::planned.size.ops>();
  plan.op_count = Program::plan::planned.size.ops;
  plan.labels = labels.data();
  return static_program(executable_of<Device, Program>(plan, std::move(kernels), std::move(others),
                                                       descriptors_of<Program::ops.at, Program::traced.size.ops>),
                        {{&default_of<Args>, tree_layout::of<Args>}...},
                        {&Program::result, tree_layout::of<typename Program::result_type>}, thawed<Program>);
}

}  // namespace detail

/// The compiled function that `jit(f, device)` returns.
template <class F, class Device, trace_time When = trace_time::earliest>
class jit_function {
  using tag = detail::tag_of<Device>;
  static_assert(
      !std::is_const_v<Device>,
      "tokamax: decltype(tk::cpu) is const, so it is no type of a device for jit_function; a member of a class is "
      "compiled<R(Args...)>");
  static_assert(When != trace_time::while_compiling || !std::is_same_v<Device, any_device>,
                "tokamax: the kernels of a device that is chosen at run time are not known while compiling");

 public:
  explicit jit_function(F f, Device device = {}) : f_(std::move(f)), device_(std::move(device)) {}

  /// Runs f. Arguments that are moved in give their buffers to results of the same size.
  template <class... Args>
  auto operator()(Args&&... args) const {
    static_assert(takes<F, std::remove_cvref_t<Args>...>,
                  "tokamax: jit: the function does not take these arguments, as values or const T&");
    if constexpr (takes<F, std::remove_cvref_t<Args>...>) return run(std::forward<Args>(args)...);
  }

  /// Forgets the programs that were traced at run time, and gives their memory back to the pool. Copies of this function
  /// share these programs.
  void clear() const { dynamic_->clear(); }
  /// Sets how many of the programs that were traced at run time are kept: those that were used last. The default is 256. A
  /// call with shapes whose program is not kept traces f again. A program keeps its tables, which
  /// take about 2 KiB an op, and no memory for values.
  void keep_programs(std::size_t most) const { dynamic_->set_capacity(most); }

  /// The device on which it runs.
  const Device& device() const { return device_; }
  /// The same function on another device. Both share the programs that are traced at run time, which serve all devices with the
  /// same kernels.
  jit_function<F, any_device, trace_time::at_run_time> on(any_device where) const { return {f_, where, dynamic_}; }

  /// The program for arguments of these types, as constants: `decltype(step)::for_types<model, batch>::peak_bytes`.
  template <class... Args>
  using for_types = program<tag, F, Args...>;

 private:
  template <class, class, trace_time>
  friend class jit_function;
  jit_function(F f, Device device, std::shared_ptr<traced_program<F>> programs)
      : f_(std::move(f)), device_(std::move(device)), dynamic_(std::move(programs)) {}

  template <class... Args>
  auto run(Args&&... args) const {
    constexpr bool known = detail::known_while_compiling<F, std::remove_cvref_t<Args>...>();
    if constexpr (!known && When == trace_time::while_compiling) {
      constexpr const auto& u = detail::unknown_of<F, std::remove_cvref_t<Args>...>;
      static_cast<void>(sizeof(
          unknown_while_compiling<detail::fixed<u.argument>(), detail::fixed<u.found>(), detail::fixed<u.expected>()>));
    }
    if constexpr (known && When != trace_time::at_run_time) {
      return run_known<std::remove_cvref_t<Args>...>(std::forward<Args>(args)...);
    } else {
      return run_late(std::forward<Args>(args)...);
    }
  }

  // The return type is spelled out, so that g++ instantiates this function after those around the call. It collects its
  // garbage in between, which saves memory.
  template <class... Args, class... Given>
  std::remove_cvref_t<std::invoke_result_t<const F&, const Args&...>> run_known(Given&&... given) const {
    if constexpr (When == trace_time::earliest && !detail::traceable<F, Args...>) {
      return run_late(std::forward<Given>(given)...);
    } else {
      using compiled = program<tag, F, Args...>;
      compiled::check();
      if constexpr (compiled::valid) {
        if constexpr (compiled::dynamic)
          if (trace_of(given...)) return f_(given...);  // traces f again, with the extents of that trace
        // Never destroyed, because another thread may run it while the process ends.
        static static_program& code = *new static_program(detail::bind_program<tag, compiled, Args...>());
        detail::given_tree trees[] = {
            {std::addressof(static_cast<const Args&>(given)), nullptr, detail::is_movable<Given>}..., {}};
        auto result = *static_cast<const typename compiled::result_type*>(code.result_like());
        code.run(trees, std::addressof(result), device_of(device_));
        return result;
      } else {
        std::abort();  // not compiled
      }
    }
  }
  template <class... Args>
  auto run_late(Args&&... args) const {
    using result_type = std::remove_cvref_t<std::invoke_result_t<const F&, const std::remove_cvref_t<Args>&...>>;
    detail::check_arguments_of<F>(args...);
    if (trace_of(args...)) return result_type(f_(args...));  // called in a trace, and becomes part of it
    return dynamic_->run(f_, kernel_table_for(device_), device_of(device_), std::forward<Args>(args)...);
  }

  F f_;
  [[no_unique_address]] Device device_;
  std::shared_ptr<traced_program<F>> dynamic_ = std::make_shared<traced_program<F>>();
};

/// Compiles f. If f is stateless and constexpr, and the types of its arguments tell their shapes, then the C++ compiler
/// traces, differentiates, fuses and plans it. Otherwise the same passes do so at the first call with new shapes. One
/// program serves all values of an extent that is `dyn()` in a tensor's type, or that `symbolic` marks.
/// Functions of vectors, optionals, variants, maps and unique_ptrs are traced at the first call, because the types of these do
/// not tell their content. So are functions of models whose default value has an extent of 0, because their sizes come later, and
/// all functions for a device that is chosen at run time: `jit(f, x.device())`.
///
/// An array that f captures is a constant of its programs, with the value that it had when f was traced: what changes is to be
/// an argument (captured_values.hpp finds those who forget it). `jit(&network::forward, device)` takes a member, whose object is then the first argument.
///
/// Several threads may call the result at the same time, and so may both processes after a fork(). If they need the same new
/// program, one traces it, and the others wait for it.
///
/// errors  a wrong program does not compile (shape_error<what, found, expected, file, line>), or throws tokamax::error when it
///         is traced; arguments that differ from what was compiled throw with the path of the leaf
/// source  jax.jit
template <class F, class Device>
  requires(!std::is_base_of_v<device, Device>)
jit_function<callable<F>, Device> jit(F f, Device device) {
  return jit_function<callable<F>, Device>(as_callable(std::move(f)), std::move(device));
}
template <class F>
jit_function<callable<F>, any_device, trace_time::at_run_time> jit(F f, any_device device) {
  return jit_function<callable<F>, any_device, trace_time::at_run_time>(as_callable(std::move(f)), device);
}
/// The same of a function of the library that has several forms: `jit(tk::sum, tk::cpu)`.
template <class Device>
jit_function<library_function, any_device, trace_time::at_run_time> jit(library_function f, Device&& device) {
  return jit_function<library_function, any_device, trace_time::at_run_time>(f, any_device(device));
}
/// The same, traced only `while_compiling` (else it does not compile) or only `at_run_time`.
template <class F, class Device, trace_time When>
  requires(!std::is_base_of_v<device, Device>)
jit_function<callable<F>, Device, When> jit(F f, Device device, trace_tag<When>) {
  return jit_function<callable<F>, Device, When>(as_callable(std::move(f)), std::move(device));
}
template <class F, trace_time When>
jit_function<callable<F>, any_device, When> jit(F f, any_device device, trace_tag<When>) {
  return jit_function<callable<F>, any_device, When>(as_callable(std::move(f)), device);
}

}  // namespace tokamax
