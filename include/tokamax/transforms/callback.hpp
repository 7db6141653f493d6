// tokamax/transforms/callback.hpp: lets a program call functions on the host while it runs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/fixed_string.hpp>       // fixed_string
#include <tokamax/core/kernel_arguments.hpp>   // kernel_arguments
#include <tokamax/lax/indexing/index.hpp>      // x[i]
#include <tokamax/lax/shapes/concatenate.hpp>  // stack
#include <tokamax/transforms/body.hpp>         // for its users: stacked_type

#include <string_view>  // string_view

namespace tokamax {

/// The attributes of a callback.
struct callback_attributes {
  bool ordered = false;
  vec<array_type> results;
};

namespace detail {

/// The name of a function object: its member `name`, or else that of its class. A lambda has neither.
template <class F>
constexpr std::string_view name_of_function() {
  if constexpr (requires { std::string_view(F::name); }) {
    return F::name;
  } else {
    std::string_view s = __PRETTY_FUNCTION__;  // "... [with F = app::scale; std::string_view = ...]"
    s = s.substr(s.find("F = ") + 4);
    s = s.substr(0, s.find_first_of(";]"));
    return s.find("lambda") == std::string_view::npos ? s : "lambda";
  }
}
/// Calls the function for each example of a batch, one after the other.
constexpr arrays call_one_by_one(const call& c) {
  vec<arrays> results;
  for (std::int64_t i = 0; i < c.batch_size; ++i) {
    arrays in;
    for (int k = 0; k < c.count; ++k) in.push_back(c.batched(k) ? squeeze(slice_in_dim(c[k], i, i + 1, 0), 0) : c[k]);
    arrays out = bind_all(*c.self, in.data(), in.count(), c.attribute_words(), c.where);
    results.resize(out.size());
    for (int k = 0; k < out.count(); ++k) results[k].push_back(std::move(out[k]));
  }
  arrays stacked;
  for (const arrays& one : results) stacked.push_back(stack(one, 0));
  return stacked;
}

/// Copies the operands of a running call into arrays.
inline arrays operands_of(const kernel_arguments& a) {
  arrays in;
  for (int k = 0; k < a.in_count; ++k) {
    const array_view& v = a.in[k];
    in.push_back(array::uninitialized({v.type, false, v.extents}));
    a.context->where.read_in_step(in.back().mutable_bytes(), v.as<std::byte>(),
                                  static_cast<std::size_t>(v.size() * size_of(v.type)));
  }
  return in;
}
template <class F>
void run_callback(const kernel_arguments& a) {
  const arrays out = F{}(operands_of(a));
  if (out.count() != a.out_count)
    throw error("callback: results", std::to_string(out.count()), std::to_string(a.out_count));
  for (int k = 0; k < out.count(); ++k) {
    const array_view& v = a.out[k];
    const array_type wanted{v.type, false, v.extents};
    if (!out[k].is_concrete() || !(out[k].type() == wanted))
      throw error(error_kind::shape, "callback: result", std::string(message(out[k].type()).view()),
                  std::string(message(wanted).view()));
    a.context->where.write_in_step(v.as<std::byte>(), out[k].bytes(),
                                   static_cast<std::size_t>(v.size() * size_of(v.type)));
  }
}
}  // namespace detail

/// A call of the function object F on the host. Texts of graphs have the name of the function, so that they can be read
/// back: `parse_graph(text, ops)` takes `callback_p<F, effect_kind::none>` among the ops.
template <class F, effect_kind Effect>
inline constexpr op callback_p{
    .name = Effect == effect_kind::none ? "pure_callback" : "io_callback",
    .variant = detail::name_of_function<F>(),
    .effect = Effect,
    .attributes = schema<callback_attributes>,
    .infer_all = [](const call& c) -> types { return c.attrs<callback_attributes>().results; },
    .batch = [](const call& c) -> arrays {
      if (c.attrs<callback_attributes>().ordered)
        c.fail("io_callback: vmap", "an ordered one", "io_callback without .ordered");
      return detail::call_one_by_one(c);
    },
    .run = detail::run_callback<F>,
};

namespace detail {
template <effect_kind Effect, class F>
constexpr arrays call_back(const F&, const types& results, const arrays& args, bool ordered, source_line l) {
  static_assert(std::is_empty_v<F> && std::is_default_constructible_v<F>,
                "tokamax: a callback is a function without state: what it needs are its arguments");
  return bind_all(callback_p<F, Effect>, args.data(), args.count(), pack(callback_attributes{ordered, results}), l);
}
}  // namespace detail

/// Calls f(args) on the host when the program runs; f gets `arrays` with data. f must have no effect, because it may be
/// called more than once or not at all. Under vmap it is called for each example. It has no derivative, except inside of
/// custom_jvp or custom_vjp.
///
/// shapes  f returns arrays of the types `results`
/// errors  "callback: result" when the program runs, if a result has another type. An exception of f reaches the caller as a
///         tokamax::error that says where in the program it happened; std::rethrow_if_nested throws that of f
/// source  jax.pure_callback with vmap_method="sequential"
template <class F>
constexpr arrays pure_callback(const F& f, const types& results, const arrays& args,
                               source_line l = source_line::current()) {
  return detail::call_back<effect_kind::none>(f, results, args, false, l);
}

/// A function object like f with a name, by which graphs as text tell its callbacks from others. Classes have theirs, or a
/// static member `name`; lambdas have none.
///
///   pure_callback(named_callback<"scale">(f), {x.type()}, {x})
template <fixed_string<63> Name, class F>
struct named_function : F {
  static constexpr std::string_view name = Name.view();
};
template <fixed_string<63> Name, class F>
constexpr named_function<Name, F> named_callback(const F& f) {
  return {f};
}

/// How io_callback behaves.
struct io_callback_options {
  bool ordered = false;  ///< then vmap is refused, because examples have no order
};

/// The same for a function with an effect. It is called each time the program reaches the call, and all effects happen in
/// the order of the program. Under vmap it is called for each example. Vmap is refused where examples take different
/// branches or leave a loop at different steps. A derivative is refused if it would call the function a second time. While
/// compiling, one of the arguments must belong to the trace; if none does, `jit` traces the program at run time.
///
/// errors  those of pure_callback; "io_callback: vmap", "cond: vmap", "while_loop: vmap", "io_callback: derivative"
/// source  jax.experimental.io_callback, whose calls have no order unless `ordered` is set
template <class F>
constexpr arrays io_callback(const F& f, const types& results, const arrays& args, io_callback_options options = {},
                             source_line l = source_line::current()) {
  return detail::call_back<effect_kind::ordered>(f, results, args, options.ordered, l);
}

}  // namespace tokamax
