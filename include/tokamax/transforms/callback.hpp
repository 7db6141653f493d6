// tokamax/transforms/callback.hpp: lets a program call functions on the host while it runs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/core/kernel_arguments.hpp>  // kernel_arguments
#include <tokamax/core/trace.hpp>             // in_trace, leaves
#include <tokamax/lax/concatenate.hpp>        // stack
#include <tokamax/lax/index.hpp>              // x[i]
#include <tokamax/transforms/body.hpp>        // stacked_type

namespace tokamax {

namespace detail {

/// The attributes of a callback as words: whether it is ordered, the number of its results, and the dtype and shape of
/// each.
constexpr words pack_types(const types& list, bool ordered) {
  words w{ordered, list.count()};
  for (const array_type& t : list) {
    pack_value(w, t.dtype);
    pack_value(w, t.shape);
  }
  return w;
}
constexpr types unpack_types(const std::int64_t* w) {
  ++w;
  types list(static_cast<std::size_t>(*w++));
  for (array_type& t : list) {
    unpack_value(w, t.dtype);
    unpack_value(w, t.shape);
  }
  return list;
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

/// A call of the function object F on the host.
template <class F, effect_kind Effect>
inline constexpr op callback_p{
    .name = Effect == effect_kind::none ? "pure_callback" : "io_callback",
    .effect = Effect,
    .infer_all = [](const call& c) -> types { return detail::unpack_types(c.attributes); },
    .batch = [](const call& c) -> arrays {
      if (c.attributes[0]) c.fail("io_callback: vmap", "an ordered one", "io_callback without .ordered");
      return detail::call_one_by_one(c);
    },
    .run = detail::run_callback<F>,
};

namespace detail {
template <effect_kind Effect, class F>
constexpr arrays call_back(const F&, const types& results, const arrays& args, bool ordered, source_line l) {
  static_assert(std::is_empty_v<F> && std::is_default_constructible_v<F>,
                "tokamax: a callback is a function without state: what it needs are its arguments");
  return bind_all(callback_p<F, Effect>, args.data(), args.count(), pack_types(results, ordered), l);
}
}  // namespace detail

/// Calls f(args) on the host when the program runs; f gets `arrays` with data. f must have no effect, because it may be
/// called more than once or not at all. Under vmap it is called for each example. It has no derivative, except inside of
/// custom_jvp or custom_vjp.
///
/// shapes  f returns arrays of the types `results`
/// errors  "callback: result" when the program runs, if a result has another type
/// source  jax.pure_callback with vmap_method="sequential"
template <class F>
constexpr arrays pure_callback(const F& f, const types& results, const arrays& args,
                               source_line l = source_line::current()) {
  return detail::call_back<effect_kind::none>(f, results, args, false, l);
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
