// tokamax/transforms/checks/checkify.hpp: a function that returns the first error that it meets, as a value.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/transforms/checks/checkify.cpp
// umbrella: no (a tool to look for mistakes)
#pragma once

#include <tokamax/core/context.hpp>                  // context_part
#include <tokamax/transforms/arguments.hpp>          // as_argument
#include <tokamax/transforms/checks/check_pass.hpp>  // check_pass

#include <utility>  // pair

namespace tokamax {

namespace detail {
/// While it exists, functions that are traced on this thread note the indices that they are given.
class noted_indices {
 public:
  explicit noted_indices(bool wanted) : scope_(wanted ? note : nullptr) {}

 private:
  static void note(const array& indices, int axis, std::int64_t size, location where) {
    if (indices.size() == 0) return;
    const op_check c = index_check(indices, size - 1, axis, size);
    arrays in{logical_not(c.failed)};
    for (const array& v : c.values) in.push_back(v);
    bind_all(check_p, in.data(), in.count(), pack(check_attributes{check_kind::index, "index"}), where);
  }
  context_part<&context::index_observer> scope_;
};
}  // namespace detail

/// What `checkify(f, errors)` returns.
template <class F>
struct checkify_function {
  F f;
  check_set errors;

  template <class... Args>
  auto operator()(const Args&... args) const {
    return run(detail::as_argument<true>(args)...);
  }

 private:
  template <class... Args>
  auto run(const Args&... args) const {
    using result_type = std::remove_cvref_t<std::invoke_result_t<const F&, const Args&...>>;
    return in_trace(
        [this](graph& g, const Args&... traced) -> std::pair<checkify_error, result_type> {
          graph body;
          arrays operands;
          const detail::noted_indices scope(errors.has(index_checks));
          const result_type out = trace_body(g, body, operands, f, traced...);
          detail::error_state e;
          const arrays results = detail::check_pass(g, body, errors, false).run(operands.data(), e);
          if (!e.exists()) e = detail::no_error(0);
          return {checkify_error{lift(g, e.code), lift(g, e.payload)}, with_leaves(out, results)};
        },
        args...);
  }
};

/// The function f, which returns the pair of an error value and its result, and which is never stopped by an error. The
/// error is the first one that the program comes to, of the kinds in `errors`: a `check` that does not hold, an op whose
/// result has a NaN, a division by zero, an index outside of an axis.
///
///   const auto step = jit(checkify([](const array& x) {
///     check(all(x > 0.0f), "{} must be positive", x);
///     return log(x);
///   }, user_checks | float_checks), cpu);
///   const auto [error, y] = step(x);
///   error.throw_();  // or error.get(), which is a message or nothing
///
/// It can be compiled, batched and differentiated, and so can what it is made of: loops carry the error, a branch gives that
/// of the one that was taken, a predicate of a loop is checked each time it is asked. `vmap(checkify(f))` has an error for
/// each example. `checkify(vmap(f))` has one for all, and what examples compute in branches and steps that are not theirs
/// counts. `checkify(grad(f))` checks the derivative too; `grad` of a checkified function does not. Rules of custom_jvp and
/// custom_vjp stay, and only the function that they belong to is checked.
///
/// Of ops with several parts, such as softmax, the result is looked at. The program is traced when it runs.
///
/// errors  those of f
/// source  jax.experimental.checkify.checkify
template <class F>
checkify_function<F> checkify(F f, check_set errors = user_checks) {
  return {f, errors};
}

}  // namespace tokamax
