// tokamax/backend/cuda/kernels/rows.hpp: argmax, argmin, cumsum and sort along one axis.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cuda/device.cpp
#pragma once

#include <tokamax/backend/cuda/device.hpp>       // cuda_tag
#include <tokamax/backend/cuda/launch.hpp>       // launch_template
#include <tokamax/backend/cuda/text/reduce.hpp>  // reduce
#include <tokamax/backend/cuda/text/rows.hpp>    // rows
#include <tokamax/lax/cumulative.hpp>            // cumsum_p
#include <tokamax/lax/reduce.hpp>                // argmax_p
#include <tokamax/lax/sort.hpp>                  // sort_p

namespace tokamax {

namespace cuda_backend {

/// The elements behind an axis: [outer, length, inner].
inline std::int64_t inner_of(const array_view& x, int axis) {
  std::int64_t inner = 1;
  for (int i = axis + 1; i < x.rank(); ++i) inner *= x.extent(i);
  return inner;
}
/// Launches a kernel on the rows along one axis, with one thread for each of `count`.
inline void on_rows(const kernel_arguments& a, const char* name, int axis, bool reverse, std::int64_t count,
                    const void* out) {
  const array_view& x = a.in[0];
  kernel_record r;
  r.add(count).add(x.extent(axis)).add(inner_of(x, axis)).add(reverse).add(x.data).add(out);
  launch_template(instance_of(a), joined({cuda_text::reduce, cuda_text::rows}), name, "row_data",
                  {tokamax::name(x.type)}, ceil_div(count, block_threads), r);
}

}  // namespace cuda_backend

TOKAMAX_BODY void kernel(op_c<argmax_p>, cuda_tag, const kernel_arguments& a) {
  cuda_backend::on_rows(a, "argmax", a.attrs<arg_attributes>().axis, false, a.out[0].size(), a.out[0].data);
}
TOKAMAX_BODY void kernel(op_c<argmin_p>, cuda_tag, const kernel_arguments& a) {
  cuda_backend::on_rows(a, "argmin", a.attrs<arg_attributes>().axis, false, a.out[0].size(), a.out[0].data);
}
TOKAMAX_BODY void kernel(op_c<cumsum_p>, cuda_tag, const kernel_arguments& a) {
  const auto [axis, reverse] = a.attrs<cumulative_options>();
  const std::int64_t length = a.in[0].extent(axis);
  if (length > 0) cuda_backend::on_rows(a, "cumsum", axis, reverse, a.in[0].size() / length, a.out[0].data);
}

/// Finds the place of each key, by comparing it with all others of its row, and then moves all operands.
TOKAMAX_BODY void kernel(op_c<sort_p>, cuda_tag, const kernel_arguments& a) {
  using namespace cuda_backend;
  const auto [axis, descending] = a.attrs<sort_options>();
  const std::int64_t count = a.in[0].size();
  if (count == 0) return;
  instance& gpu = instance_of(a);
  const handle places = gpu.allocate(static_cast<std::size_t>(count) * sizeof(std::int32_t));
  on_rows(a, "sorted_places", axis, descending, count, places->data);
  for (int k = 0; k < a.in_count; ++k) {
    kernel_record r;
    r.add(count).add(a.in[k].extent(axis)).add(inner_of(a.in[k], axis));
    r.add(a.in[k].data).add(places->data).add(a.out[k].data);
    launch_template(gpu, joined({cuda_text::reduce, cuda_text::rows}), "move_to_places", "move_data",
                    {word_of(a.in[k].type)}, ceil_div(count, block_threads), r);
  }
}

}  // namespace tokamax
