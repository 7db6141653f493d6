// tokamax/transforms/custom/custom_vmap.hpp: functions with a batch rule of their own.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/lax/shapes/broadcast_in_dim.hpp>     // with_leading_axis
#include <tokamax/transforms/custom/custom_rules.hpp>  // trace_rule

#include <array>    // array
#include <utility>  // pair

namespace tokamax {

/// Attributes of custom_vmap: the function, which is a body.
struct custom_vmap_attributes {
  body_index function = {};
};

namespace detail {
/// Calls the rule. It is traced when the size of the batch is known, so it is made anew from its type.
template <class Rule, std::size_t Count>
constexpr arrays custom_vmap_batch(const call& c) {
  std::array<bool, Count> batched{};
  for (std::size_t k = 0; k < Count; ++k) batched[k] = c.batched(static_cast<int>(k));
  const std::pair<array, bool> result = [&]<std::size_t... Index>(std::index_sequence<Index...>) {
    return Rule{}(c.batch_size, batched, c[static_cast<int>(Index)]...);
  }(std::make_index_sequence<Count>{});
  const array_type wanted = types_of_first_body(c)[0];
  const array y = result.second ? result.first : with_leading_axis(result.first, c.batch_size);
  if (y.type() != stacked_type(wanted, c.batch_size))
    c.fail("custom_vmap: result of the rule", result.first.type(),
           result.second ? message(stacked_type(wanted, c.batch_size)) : message(wanted));
  return y;
}
}  // namespace detail

/// A call of a function with its own batch rule. It stays a call until it is batched, differentiated or lowered.
template <class Rule, std::size_t Count>
inline constexpr op custom_vmap_p{
    .name = "custom_vmap",
    .attributes = schema<custom_vmap_attributes>,
    .infer_all = [](const call& c) -> types { return detail::types_of_first_body(c); },
    .compose = [](const call& c) -> arrays { return detail::call_first_body(c); },
    .batch = [](const call& c) -> arrays { return detail::custom_vmap_batch<Rule, Count>(c); },
};

/// What `custom_vmap(f, rule)` returns.
template <class F, class Rule>
struct custom_vmap_function {
  [[no_unique_address]] F f;
  [[no_unique_address]] Rule rule;
  source_line where{};  ///< the line of the call of custom_vmap

  template <class... Args>
  constexpr array operator()(const Args&... args) const {
    static_assert((std::is_convertible_v<const Args&, array> && ...) && sizeof...(Args) > 0,
                  "tokamax: custom_vmap: the arguments are arrays");
    return run(array(args)...);
  }

 private:
  template <class... Arrays>
  constexpr array run(const Arrays&... args) const {
    return in_trace(
        [this](graph& g, const Arrays&... traced) -> array {
          detail::rule_body function;
          const array y = detail::trace_rule(g, function, f, traced...);
          const arrays operands{traced...};
          const words w = pack(custom_vmap_attributes{detail::add_body(g, std::move(function.body))});
          if (g.error.failed) return y;
          return bind_all(custom_vmap_p<Rule, sizeof...(Arrays)>, operands.data(), operands.count(), w, where)[0];
        },
        args...);
  }
};

/// The function f, of arrays and with an array as its result, with a batch rule of its own. vmap calls
/// `rule(axis_size, in_batched, args...)`: arguments for which in_batched holds have the batch as their first axis. It returns
/// the pair of the result and of whether that has the axis. Rules may call the function that custom_vmap returns, or vmap(f).
///
///   constexpr auto product = custom_vmap(
///       [](const array& a, const array& x) { return matmul(a, x); },
///       [](std::int64_t, const std::array<bool, 2>& in, const array& a, const array& x) {
///         if (!in[0]) return std::pair{matmul(x, transpose(a)), true};  // one large product
///         return std::pair{einsum("nij,nj->ni", a, in[1] ? x : broadcast_to(x, {a.extent(0), x.extent(0)})), true};
///       });
///
/// A derivative is that of f, and has the batch rules of the ops in it. Neither f nor the rule has state.
///
/// errors  "custom_vmap: result of the rule" if it has not the type of f's result, with or without the axis
/// source  jax.custom_batching.custom_vmap
template <class F, class Rule>
constexpr custom_vmap_function<F, Rule> custom_vmap(F f, Rule rule, source_line l = source_line::current()) {
  static_assert(std::is_empty_v<F> && std::is_empty_v<Rule> && std::is_default_constructible_v<Rule>,
                "tokamax: custom_vmap: the function and the rule have no state: what they need are their arguments");
  return {f, rule, l};
}
template <class F, class Rule>
inline constexpr bool is_stateless<custom_vmap_function<F, Rule>> = true;

}  // namespace tokamax
