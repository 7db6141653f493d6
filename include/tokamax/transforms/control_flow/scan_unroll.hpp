// tokamax/transforms/control_flow/scan_unroll.hpp: a scan in which one step of the loop does several steps.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/transforms/control_flow/scan.cpp
#pragma once

#include <tokamax/base/linked.hpp>                         // linked
#include <tokamax/lax/indexing/slice.hpp>                  // slice_in_dim
#include <tokamax/lax/shapes/concatenate.hpp>              // stack, concatenate
#include <tokamax/transforms/control_flow/scan_rules.hpp>  // scan_p

namespace tokamax::detail {

/// The operands of a scan in their three groups.
struct scan_operands {
  arrays carries, sequences, constants;
  constexpr scan_operands(const arrays& all, const scan_attributes& w) {
    for (int k = 0; k < all.count(); ++k)
      (k < w.carries ? carries : k < w.carries + w.sequences ? sequences : constants).push_back(all[k]);
  }
};

/// Writes out the steps first, ..., first + count - 1. The results are the carries, and then the outputs of the steps,
/// stacked to [count, ...].
constexpr arrays steps_written_out(graph& g, const graph& body, const scan_attributes& w, const scan_operands& in,
                                   std::int64_t first, std::int64_t count) {
  arrays carries = in.carries;
  vec<arrays> rows(static_cast<std::size_t>(w.stacked), arrays(static_cast<std::size_t>(count)));
  for (std::int64_t step = 0; step < count; ++step) {
    const std::int64_t place = w.reverse ? count - 1 - step : step;
    arrays operands = carries;
    for (const array& x : in.sequences)
      operands.push_back(squeeze(slice_in_dim(x, first + place, first + place + 1, 0), 0));
    for (const array& x : in.constants) operands.push_back(x);
    const arrays out = inline_graph(g, body, operands.data());
    for (int k = 0; k < w.carries; ++k) carries[k] = as_result(g, out[k]);
    for (int k = 0; k < w.stacked; ++k) rows[k][static_cast<int>(place)] = as_result(g, out[w.carries + k]);
  }
  arrays results = carries;
  for (const arrays& r : rows) results.push_back(stack(r, 0));
  return results;
}

constexpr arrays bind_unrolled_here(graph& g, const scan_attributes& w, const arrays& operands, std::int64_t unroll,
                                    location where) {
  const graph body(g.bodies[static_cast<int>(w.body)]);
  const scan_operands all(operands, w);
  const std::int64_t n = w.length, rest = n % unroll, looped = n - rest;
  const std::int64_t first = w.reverse ? rest : 0;  // where the blocks start; they run before the rest
  if (n == 0) return bind_all(described<scan_p>(), operands.data(), operands.count(), pack(w), where);
  if (n <= unroll) return steps_written_out(g, body, w, all, 0, n);

  graph block;  // one step of the loop, which does `unroll` steps
  scan_operands inside = all;
  for (array& x : inside.carries) x = body_input(block, {x.dtype(), false, x.shape()});
  for (array& x : inside.sequences) x = body_input(block, stacked_type(entry_type(x.type()), unroll));
  for (array& x : inside.constants) x = body_input(block, x.type());
  for (const array& y : steps_written_out(block, body, w, inside, 0, unroll))
    block.outputs.push_back(lift(block, y).id());
  scan_attributes bw = w;
  bw.length = looped / unroll;
  bw.body = add_body(g, std::move(block));
  arrays in = all.carries;
  for (const array& x : all.sequences) {
    shape s{bw.length, unroll};
    for (int k = 1; k < x.rank(); ++k) s.push_back(x.extent(k));
    in.push_back(reshape(slice_in_dim(x, first, first + looped, 0), s));
  }
  for (const array& x : all.constants) in.push_back(x);
  arrays results = bind_all(described<scan_p>(), in.data(), in.count(), pack(bw), where);
  for (int k = w.carries; k < results.count(); ++k) {
    shape s{looped};
    for (int i = 2; i < results[k].rank(); ++i) s.push_back(results[k].extent(i));
    results[k] = reshape(results[k], s);
  }
  if (rest == 0) return results;
  scan_operands left = all;
  left.carries = arrays(results.data(), static_cast<std::size_t>(w.carries));
  const arrays last = steps_written_out(g, body, w, left, w.reverse ? 0 : looped, rest);
  for (int k = 0; k < results.count(); ++k) {
    if (k < w.carries)
      results[k] = last[k];
    else if (w.reverse)
      results[k] = concatenate({last[k], results[k]}, 0);
    else
      results[k] = concatenate({results[k], last[k]}, 0);
  }
  return results;
}
/// A scan whose steps each do `unroll` steps of `w`, followed by the steps that are left over.
constexpr arrays bind_unrolled(graph& g, const scan_attributes& w, const arrays& operands, std::int64_t unroll,
                               location where) {
  return linked<detail::bind_unrolled_here>(g, w, operands, unroll, where);
}

}  // namespace tokamax::detail
