// tokamax/transforms/control_flow/cond.hpp: one of two functions, or of several, chosen when the program runs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/lax/indexing/gather.hpp>                 // integers_in_i32
#include <tokamax/transforms/control_flow/cond_rules.hpp>  // cond_p

#include <tuple>  // apply

namespace tokamax {

namespace detail {
/// The number of a branch: 0 or 1 for a truth value, and for an integer the nearest number in [0, branches).
constexpr array branch_number(const array& index, int branches) {
  if (index.dtype() == bool_) return convert_element_type(index, i32);
  return minimum(maximum(integers_in_i32(index, {}), 0), branches - 1);
}
/// Calls the branch with number `index`.
template <class Branches, class... Args>
constexpr auto branch_on(const char* what, const array& index, const Branches& branches, location where,
                         const Args&... args) {
  constexpr std::size_t count = std::tuple_size_v<Branches>;
  static_assert(count > 0, "tokamax: no branch to choose");
  using first_branch = std::tuple_element_t<0, Branches>;
  using result_type = std::remove_cvref_t<std::invoke_result_t<const first_branch&, const Args&...>>;
  return in_trace(
      [&](graph& g, const array& number, const Args&... traced) -> result_type {
        vec<graph> bodies(count);
        arrays operands{branch_number(number, static_cast<int>(count))};
        for (const array& a : leaves(traced...)) operands.push_back(a);
        result_type result;
        int at = 0;
        std::apply(
            [&](const auto&... branch) {
              const auto trace = [&](const auto& f) {
                using type = std::remove_cvref_t<std::invoke_result_t<decltype(f), const Args&...>>;
                static_assert(std::is_same_v<type, result_type>, "tokamax: branches return one type");
                auto out = trace_body_of(g, bodies[at], where, f, traced...);
                if (at++ == 0) result = std::move(out);
              };
              (trace(branch), ...);
            },
            branches);
        const auto type_of = [&](int b, int k) { return bodies[b][bodies[b].outputs[k]].type; };
        for (int b = 1; b < static_cast<int>(count); ++b) {
          const int leaves_here = bodies[b].outputs.count(), leaves_of_first = bodies[0].outputs.count();
          if (leaves_here != leaves_of_first)
            reject(&g, where, what, message() << leaves_here << " leaves", message() << leaves_of_first);
          for (int k = 0; k < leaves_here && k < leaves_of_first; ++k)
            if (!(type_of(b, k) == type_of(0, k))) reject(&g, where, what, type_of(b, k), type_of(0, k));
        }
        const words w = pack(cond_attributes{add_bodies(g, bodies, operands)});
        if (g.error.failed) return with_leaves(result, arrays(leaves(result).size(), operands[0]));
        return with_leaves(result, bind_all(described<cond_p>(), operands.data(), operands.count(), w, where));
      },
      index, args...);
}
}  // namespace detail

/// on_true(args...) if the predicate holds, and on_false(args...) otherwise. Only that function runs. If a vmap gives each
/// example its own predicate, both run and their results are selected. A predicate that is known while tracing chooses then.
///
/// shapes  the predicate is a bool scalar; both functions return the same types
/// errors  "cond: predicate", "cond: branches" if the types that they return differ
/// source  jax.lax.cond
template <class OnTrue, class OnFalse, class... Args>
constexpr auto cond(const located& predicate, const OnTrue& on_true, const OnFalse& on_false, const Args&... args) {
  const array& holds = predicate.value;
  if (holds.dtype() != bool_ || holds.rank() != 0)
    reject(holds, predicate.where, "cond: predicate", holds.type(), "a bool scalar");
  const std::tuple<const OnFalse&, const OnTrue&> branches{on_false, on_true};
  return detail::branch_on("cond: branches", holds, branches, predicate.where, args...);
}

/// branches[index](args...), for a tuple of functions. An index outside of it means the nearest one. The name has an
/// underscore because `switch` is a keyword of C++.
///
/// shapes  the index is an integer scalar; all functions return the same types
/// errors  "switch_: index", "switch_: branches" if the types that they return differ
/// source  jax.lax.switch
template <class Branches, class... Args>
constexpr auto switch_(const located& index, const Branches& branches, const Args&... args) {
  const array& number = index.value;
  if (!is_integer(number.dtype()) || number.rank() != 0)
    reject(number, index.where, "switch_: index", number.type(), "an integer scalar");
  return detail::branch_on("switch_: branches", number, branches, index.where, args...);
}

}  // namespace tokamax
