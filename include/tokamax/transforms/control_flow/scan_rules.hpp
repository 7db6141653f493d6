// tokamax/transforms/control_flow/scan_rules.hpp: the scan op and its derivative and batching rules.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/transforms/control_flow/scan.cpp
#pragma once

#include <tokamax/base/linked.hpp>            // linked
#include <tokamax/core/graph/inline.hpp>      // inline_graph
#include <tokamax/core/kernel_arguments.hpp>  // kernel_arguments
#include <tokamax/lax/shapes/transpose.hpp>   // swapaxes
#include <tokamax/transforms/body.hpp>        // forward_body, batched_body

namespace tokamax {

/// Attributes of scan. The operands are [carries, sequences, closed-over values] and the results [carries, stacked]. The
/// body has the same lists, with one entry of each sequence.
struct scan_attributes {
  body_index body = {};
  int carries = 0, sequences = 0, constants = 0, stacked = 0;
  std::int64_t length = 0;
  bool reverse = false;
};

namespace detail {
constexpr arrays scan_vjp(const call& c);
constexpr arrays scan_jvp(const call& c);
constexpr arrays scan_batch(const call& c);
constexpr arrays scan_of_nothing(const call& c);
void run_scan(const kernel_arguments& a);

constexpr array_type entry_type(const array_type& t) {
  array_type s{t.dtype, false, {}};
  for (int i = 1; i < t.shape.rank(); ++i) s.shape.push_back(t.shape[i]);
  return s;
}
}  // namespace detail

inline constexpr op scan_p{
    .name = "scan",
    .unique = true,
    .bodies = {.carries = [](const std::int64_t* w) { return unpack<scan_attributes>(w).carries; },
               .repeats = [](const std::int64_t* w) { return unpack<scan_attributes>(w).length; }},
    .attributes = schema<scan_attributes>,
    .infer_all = [](const call& c) -> types {
      const auto w = c.attrs<scan_attributes>();
      const graph& body = c.body(0);
      types t;
      for (int k = 0; k < w.carries; ++k) t.push_back({c[k].dtype(), false, c[k].shape()});
      for (int k = 0; k < w.stacked; ++k)
        t.push_back(detail::stacked_type(body[body.outputs[w.carries + k]].type, w.length));
      return t;
    },
    .vjp = [](const call& c) -> arrays { return detail::scan_vjp(c); },
    .jvp = [](const call& c) -> arrays { return detail::scan_jvp(c); },
    .batch = [](const call& c) -> arrays { return detail::scan_batch(c); },
    .simplify_all = [](const call& c) -> arrays { return detail::scan_of_nothing(c); },
    .run = detail::run_scan,
};

namespace detail {

/// A loop without steps gives what it was given.
constexpr arrays scan_of_nothing(const call& c) {
  const auto w = c.attrs<scan_attributes>();
  arrays out;
  if (w.length != 0) return out;
  for (int k = 0; k < w.carries; ++k) out.push_back(as_result(*c.trace, c[k]));
  const types all = scan_p.infer_all(c);
  for (int k = w.carries; k < all.count(); ++k) out.push_back(lift(*c.trace, array(0.0, all[k])));
  return out;
}

/// The forward loop once more, with every incoming carry as a further stacked result. Effects happen in the original loop.
constexpr arrays scan_saving_carries(const call& c) {
  auto w = c.attrs<scan_attributes>();
  graph saving(c.body(0));
  drop_effects(saving, 0, c);
  for (int k = 0; k < w.carries; ++k) saving.outputs.push_back(saving.inputs[k]);
  w.stacked += w.carries;
  arrays operands;
  for (int k = 0; k < c.count; ++k) operands.push_back(c[k]);
  return bind_bodies(c, {std::move(saving)}, pack(w), operands);
}

/// The type of an operand inside the loop, where nothing is weak.
constexpr array_type strong(const array_type& t) { return {t.dtype, false, t.shape}; }

/// Has operand k a cotangent? Every floating carry has one, because any of them may depend on what is differentiated.
constexpr bool has_cotangent(const call& c, int k) {
  return is_floating(c[k].dtype()) && (k < c.attrs<scan_attributes>().carries || c.needs(k));
}

/// One step of the backward loop. It runs the forward body again from the saved carry, and pulls the cotangents back.
///   inputs   [cotangents of carries, sums of cotangents of closed-over values], [saved carries, sequences, cotangents of
///            stacked results], closed-over values; cotangents of floating values only
///   results  [cotangents of carries, sums of cotangents of closed-over values], [cotangents of sequences]; of those that
///            are differentiated
constexpr graph scan_backward_body(const call& c) {
  const auto w = c.attrs<scan_attributes>();
  const graph body(c.body(0));
  const int nc = w.carries, ns = w.sequences, nk = w.constants, ny = w.stacked;
  graph b;
  arrays carry_ct, constant_sum, args, y_ct;
  for (int k = 0; k < nc; ++k)
    if (is_floating(c[k].dtype())) carry_ct.push_back(body_input(b, strong(c[k].type())));
  for (int k = nc + ns; k < c.count; ++k)
    if (has_cotangent(c, k)) constant_sum.push_back(body_input(b, c[k].type()));
  for (int k = 0; k < nc; ++k) args.push_back(body_input(b, strong(c[k].type())));
  for (int k = 0; k < ns; ++k) args.push_back(body_input(b, entry_type(c[nc + k].type())));
  for (int k = 0; k < ny; ++k)
    if (const array_type& t = body[body.outputs[nc + k]].type; is_floating(t.dtype))
      y_ct.push_back(body_input(b, strong(t)));
  for (int k = 0; k < nk; ++k) args.push_back(body_input(b, c[nc + ns + k].type()));

  const arrays ys = inline_graph(b, body, args.data());
  drop_effects(b, 0, c);
  arrays out, cts;
  for (int k = 0, i = 0; k < nc; ++k)
    if (is_floating(c[k].dtype())) out.push_back(lift(b, ys[k])), cts.push_back(carry_ct[i++]);
  for (int k = nc, i = 0; k < nc + ny; ++k)
    if (is_floating(ys[k].dtype())) out.push_back(lift(b, ys[k])), cts.push_back(y_ct[i++]);
  const arrays pulled = backward(b, out, cts, args);
  const auto pulled_or_zero = [&](int k) {
    return lift(b, pulled[k].exists() ? pulled[k] : array(0.0, strong(args[k].type())));
  };
  for (int k = 0; k < nc; ++k)
    if (is_floating(args[k].dtype())) b.outputs.push_back(pulled_or_zero(k).id());
  for (int k = nc + ns, i = 0; k < c.count; ++k)
    if (has_cotangent(c, k)) b.outputs.push_back(lift(b, constant_sum[i++] + pulled_or_zero(k)).id());
  for (int k = nc; k < nc + ns; ++k)
    if (has_cotangent(c, k)) b.outputs.push_back(pulled_or_zero(k).id());
  return b;
}

/// The backward loop. Its carry holds the cotangents of the carries, and the sums of those of the closed-over values.
constexpr arrays scan_vjp_here(const call& c) {
  const auto w = c.attrs<scan_attributes>();
  const int nc = w.carries, ns = w.sequences, ny = w.stacked;
  const auto differentiated = [&](int first, int n) {
    int count = 0;
    for (int k = first; k < first + n; ++k) count += has_cotangent(c, k);
    return count;
  };
  const auto ct_or_zero = [&](int k) {
    return c.cotangents[k].exists() ? c.cotangents[k] : array(0.0, c.outputs[k].type());
  };
  const arrays saved = scan_saving_carries(c);
  arrays in;
  for (int k = 0; k < nc; ++k)
    if (is_floating(c[k].dtype())) in.push_back(ct_or_zero(k));
  for (int k = nc + ns; k < c.count; ++k)
    if (has_cotangent(c, k)) in.push_back(array(0.0, strong(c[k].type())));
  scan_attributes bw{.carries = in.count(), .constants = w.constants, .length = w.length, .reverse = !w.reverse};
  for (int k = 0; k < nc; ++k) in.push_back(saved[nc + ny + k]);
  for (int k = nc; k < nc + ns; ++k) in.push_back(c[k]);
  for (int k = nc; k < nc + ny; ++k)
    if (is_floating(c.outputs[k].dtype())) in.push_back(ct_or_zero(k));
  bw.sequences = in.count() - bw.carries;
  bw.stacked = differentiated(nc, ns);
  for (int k = nc + ns; k < c.count; ++k) in.push_back(c[k]);
  const arrays results = bind_bodies(c, {scan_backward_body(c)}, pack(bw), in);

  arrays grads(static_cast<std::size_t>(c.count));
  int carry_at = 0, constant_at = differentiated(0, nc), x_at = bw.carries;
  for (int k = 0; k < c.count; ++k)
    if (has_cotangent(c, k)) grads[k] = results[k < nc ? carry_at++ : k < nc + ns ? x_at++ : constant_at++];
  return grads;
}
constexpr arrays scan_vjp(const call& c) { return linked<detail::scan_vjp_here>(c); }

/// One loop that carries values and tangents together.
constexpr arrays scan_jvp_here(const call& c) {
  const auto w = c.attrs<scan_attributes>();
  const graph body(c.body(0));
  const vec<int> in{w.carries, w.sequences, w.constants}, out{w.carries, w.stacked};
  vec<char> moving;
  for (int k = 0; k < c.count; ++k) moving.push_back(is_floating(c[k].dtype()));
  const auto tangents_of = [&](int first, int n) {
    int count = 0;
    for (int k = first; k < first + n; ++k) count += moving[k];
    return count;
  };
  graph b = forward_body(c, body, in, moving, out);
  scan_attributes jw = w;
  jw.carries += tangents_of(0, w.carries);
  jw.sequences += tangents_of(w.carries, w.sequences);
  jw.constants += tangents_of(w.carries + w.sequences, w.constants);
  jw.stacked = b.outputs.count() - jw.carries;
  const arrays results = bind_bodies(c, {std::move(b)}, pack(jw), with_tangents(c, 0, in, moving));
  arrays tangents(static_cast<std::size_t>(w.carries + w.stacked));
  int at = w.carries;
  for (int k = 0; k < w.carries; ++k)
    if (moving[k]) tangents[k] = results[at++];
  at = jw.carries + w.stacked;
  for (int k = w.carries; k < w.carries + w.stacked; ++k)
    if (is_floating(c.outputs[k].dtype())) tangents[k] = results[at++];
  return tangents;
}
constexpr arrays scan_jvp(const call& c) { return linked<detail::scan_jvp_here>(c); }

/// The loop over whole batches. Carries always get the batch axis; sequences and closed-over values have it if their
/// operands do.
constexpr arrays scan_batch_here(const call& c) {
  const auto w = c.attrs<scan_attributes>();
  const graph body(c.body(0));
  arrays operands;
  vec<char> batched;
  for (int k = 0; k < c.count; ++k) {
    const bool carry = k < w.carries, sequence = !carry && k < w.carries + w.sequences;
    batched.push_back(carry || c.batched(k));
    array x = carry ? with_batch_axis(c, k) : c[k];
    if (sequence && c.batched(k)) x = swapaxes(x, 0, 1);  // [batch, length, ...] -> [length, batch, ...]
    operands.push_back(x);
  }
  graph b = batched_body(body, c, batched);
  arrays out = bind_bodies(c, {std::move(b)}, pack(w), operands);
  for (int k = w.carries; k < out.count(); ++k) out[k] = swapaxes(out[k], 0, 1);
  return out;
}
constexpr arrays scan_batch(const call& c) { return linked<detail::scan_batch_here>(c); }

}  // namespace detail

}  // namespace tokamax
