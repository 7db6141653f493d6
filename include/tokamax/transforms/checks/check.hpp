// tokamax/transforms/checks/check.hpp: conditions that a program states of its values.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/transforms/checks/checkify.cpp
// umbrella: no (part of checkify)
#pragma once

#include <tokamax/lax/elementwise/compare.hpp>        // select, ==
#include <tokamax/lax/indexing/dynamic_slice.hpp>     // dynamic_index_in_dim
#include <tokamax/lax/reduce.hpp>                     // all, max
#include <tokamax/transforms/checks/check_error.hpp>  // checkify_error
#include <tokamax/transforms/debug_print.hpp>         // print_format

namespace tokamax {

namespace detail {

/// What a node of check_p is: a check, one that is for checkify only, an error value that may hold an error, or indices that
/// checkify asked for.
enum class check_kind : std::uint8_t { always, under_checkify, error_value, index };

/// The attributes of check_p.
struct check_attributes {
  check_kind kind = check_kind::always;
  text_attribute text = {};
};

constexpr arrays check_batch(const call& c);
inline void run_check(const kernel_arguments& a) {
  const auto [kind, text] = a.attrs<check_attributes>();
  if (kind == check_kind::under_checkify || kind == check_kind::index) return;
  const arrays in = operands_of(a);
  if (in[0].item<bool>()) return;
  if (kind == check_kind::error_value) checkify_error{in[1], in[2]}.throw_();
  throw error("check", filled_in(std::string(text.view()), arrays(in.data() + 1, in.size() - 1)),
              "a predicate that holds");
}

}  // namespace detail

/// A condition of a program. The operands are the predicate, and the values that the text names or the parts of an error
/// value.
inline constexpr op check_p{
    .name = "check",
    .effect = effect_kind::ordered,
    .attributes = schema<detail::check_attributes>,
    .infer_all = [](const call& c) -> types {
      if (c[0].dtype() != bool_ || c[0].rank() != 0) c.fail("check: predicate", c[0].type(), "a bool scalar");
      return types();
    },
    .vjp = [](const call& c) -> arrays { return arrays(static_cast<std::size_t>(c.count)); },
    .jvp = [](const call&) -> arrays { return arrays(); },
    .batch = [](const call& c) -> arrays { return detail::check_batch(c); },
    .run = detail::run_check,
};

namespace detail {

/// One check for the whole batch: that the predicate holds for all examples. As in JAX, the values are those of the last
/// example for which it does not.
constexpr arrays check_batch(const call& c) {
  if (c.batch_size == 0) return arrays();
  const array holds = with_batch_axis(c, 0);  // [n]
  const array number = iota(i32, {c.batch_size}, 0), failed = max(select(holds, zeros_like(number), number));
  arrays in{all(holds)};
  for (int k = 1; k < c.count; ++k) in.push_back(c.batched(k) ? dynamic_index_in_dim(c[k], failed, 0, false) : c[k]);
  return bind_all(*c.self, in.data(), in.count(), c.attribute_words(), c.where);
}

template <class... Args>
constexpr void bind_check(check_kind kind, const array& holds, const print_format& text, const Args&... args) {
  const arrays in{holds, array(args)...};
  int braces = 0;
  for (std::size_t k = 0; k < text.text.size(); ++k) braces += text.text.substr(k, 2) == "{}";
  if (braces != in.count() - 1)
    reject(in.data(), in.count(), text.where, "check: arguments", message() << in.count() - 1, message() << braces);
  bind_all(check_p, in.data(), in.count(), pack(check_attributes{kind, text.text}), text.where);
}

}  // namespace detail

/// States that a predicate holds. Under checkify a predicate that does not hold is an error value. Without it the program
/// throws when it comes to the check, which `jit` does too: JAX refuses to compile such a program. The braces `{}` of the
/// text stand for the values of `args`.
///
///   check(all(x > 0.0f), "{} must be positive", x);
///
/// Under vmap the predicate is to hold for all examples, and the values are those of the last one for which it does not.
/// Vmap is refused where examples take different branches or leave a loop at different steps, unless checkify is inside.
/// A derivative checks where values are computed first, not where remat and loops compute them again.
///
/// errors  "check: predicate" if it is no bool scalar, "check: arguments" if there are not as many as braces; "check" when
///         the program runs
/// source  jax.experimental.checkify.check
template <class... Args>
constexpr void check(const array& predicate, const print_format& text, const Args&... args) {
  detail::bind_check(detail::check_kind::always, predicate, text, args...);
}
/// The same, but without checkify nothing is checked.
/// source  jax.experimental.checkify.debug_check
template <class... Args>
constexpr void debug_check(const array& predicate, const print_format& text, const Args&... args) {
  detail::bind_check(detail::check_kind::under_checkify, predicate, text, args...);
}
/// Turns an error value back into an error: it is thrown when the program comes here, or joins the error value of a checkify
/// around. Of a batch of errors it is the last one.
///
/// source  jax.experimental.checkify.check_error
constexpr void check_error(const checkify_error& e, source_line l = source_line::current()) {
  if (e.code.size() == 0) return;
  const array codes = reshape(e.code, {e.code.size()}, l), number = iota(i32, codes.shape(), 0);
  const array last = max(select(codes == array(0), zeros_like(number), number));
  const array code = dynamic_index_in_dim(codes, last, 0, false);
  const array payload = dynamic_index_in_dim(
      reshape(e.payload, {e.code.size(), e.payload.extent(e.payload.rank() - 1)}, l), last, 0, false);
  const arrays in{code == array(0), code, payload};
  bind_all(check_p, in.data(), in.count(), pack(detail::check_attributes{detail::check_kind::error_value, {}}), l);
}

}  // namespace tokamax
