// tokamax/kernel/grid_loop.hpp: the op that runs a kernel's body for each step of its grid.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/kernel/kernel_call.cpp
#pragma once

#include <tokamax/core/kernel_arguments.hpp>     // kernel_arguments
#include <tokamax/kernel/grid_as_scan.hpp>       // grid_as_scan
#include <tokamax/kernel/kernel_attributes.hpp>  // kernel_attributes
#include <tokamax/kernel/ref_ops.hpp>            // ref_get_p, ref_set_p
#include <tokamax/transforms/body.hpp>           // body_input

namespace tokamax {

namespace detail {
void run_grid(const kernel_arguments& a);

constexpr types types_of_outputs(const call& c) {
  const auto k = unpack<kernel_attributes>(c.attributes);
  types t;
  for (int i = 0; i < k.outputs; ++i) t.push_back(k.output(i).array);
  return t;
}
}  // namespace detail

/// A kernel that is lowered for the host, with the operands and attributes of kernel_call. Its body gets blocks that tile an
/// array as they lie there (`block_info::window`), and has no reads and writes of whole refs.
inline constexpr op grid_loop_p{
    .name = "grid_loop",
    .unique = true,
    .attributes = schema<kernel_attributes>,
    .infer_all = [](const call& c) -> types { return detail::types_of_outputs(c); },
    .compose = [](const call& c) -> arrays { return detail::grid_as_scan(c); },
    .kernels = kernels_of<grid_loop_p>,
    .run = detail::run_grid,
};

namespace detail {

/// Writes reads and writes of refs out in other ops.
struct refs_as_values {
  constexpr bool handles(const op& o) const { return &o == &ref_get_p || &o == &ref_set_p; }
  constexpr arrays operator()(const call& c) const { return c.self->compose(c); }
};

/// The block at the beginning of an array, as the value of a ref.
constexpr array first_window(const array& x, const block_info& b) {
  shape start;
  for (int i = 0; i < b.block.rank(); ++i) start.push_back(0);
  return reshape(slice(x, start, b.block), b.type().shape);
}

/// Which inputs of a body its results depend on.
constexpr vec<char> used_inputs(const graph& g) {
  const vec<char> live = live_nodes(g);
  vec<char> used;
  for (const int i : g.inputs) used.push_back(live[i]);
  return used;
}

/// The lowered body of a kernel, and what it tells about the refs.
constexpr graph body_on_windows(const graph& body, kernel_attributes& k) {
  graph b;
  arrays args;
  for (int i = 0; i < body.inputs.count(); ++i) {
    const int r = i - k.input_of(0);
    if (r >= 0 && r < k.inputs) {
      block_info& info = k.refs[r];
      info.window = info.space == memory_space::vmem && info.divides();
      if (info.window) {
        args.push_back(first_window(body_input(b, info.array), info));
        continue;
      }
    }
    args.push_back(body_input(b, body[body.inputs[i]].type));
  }
  for (const array& y : inline_graph(b, body, args.data(), refs_as_values{})) b.outputs.push_back(lift(b, y).id());
  const vec<char> used = used_inputs(b);
  for (int r = 0; r < k.refs.count(); ++r) k.refs[r].reads = used[k.input_of(r)];
  return b;
}

constexpr arrays kernel_as_grid_loop(const call& c) {
  auto k = unpack<kernel_attributes>(c.attributes);
  graph body = body_on_windows(graph(c.body(0)), k);
  graph maps(c.body(1));
  k.body = add_body(*c.trace, std::move(body));
  k.maps = add_body(*c.trace, std::move(maps));
  return bind_all(described<grid_loop_p>(), c.inputs, c.count, pack(k), c.where);
}

}  // namespace detail

}  // namespace tokamax
