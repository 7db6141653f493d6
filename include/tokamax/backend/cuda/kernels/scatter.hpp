// tokamax/backend/cuda/kernels/scatter.hpp: scatter_add: sums of rows by index.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cuda/scatter.cpp
#pragma once

#include <tokamax/backend/cuda/device.hpp>        // cuda_tag
#include <tokamax/backend/cuda/launch.hpp>        // launch_template
#include <tokamax/backend/cuda/text/reduce.hpp>   // for its users: op_add
#include <tokamax/backend/cuda/text/scatter.hpp>  // scatter
#include <tokamax/lax/indexing/gather.hpp>        // scatter_add_p

#include <bit>  // bit_width

namespace tokamax {

namespace cuda_backend {

/// The updates of a scatter_add, sorted by row; equal rows keep their order. Each is a row and a number, of 8 bytes each.
inline handle sorted_updates(instance& gpu, std::string_view text, const array_view& indices, std::int64_t rows) {
  const std::int64_t count = indices.size();
  // A block takes so long for a chunk as it takes to add up the digits of all chunks.
  const std::int64_t chunk = std::max<std::int64_t>(1024, ceil_div(count, 256 * 256) * 256);
  const std::int64_t chunks = ceil_div(count, chunk);
  const std::size_t bytes = static_cast<std::size_t>(count) * 16;
  handle lists[2] = {gpu.allocate(bytes), gpu.allocate(bytes)};
  const handle counts = gpu.allocate(static_cast<std::size_t>(chunks) * 256 * 4);
  const void* from = indices.data;
  std::string_view source = name(indices.type);
  const auto bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(rows)));  // of the row behind the table
  int to = 1;
  for (int shift = 0; shift < bits; shift += 8) {
    to = 1 - to;
    kernel_record r;
    r.add(count).add(rows).add(shift).add(chunk).add(chunks).add(from).add(lists[to]->data).add(counts->data);
    launch_template(gpu, text, "count_digits", "digit_data", {source}, chunks, r, 256);
    launch_template(gpu, text, "move_by_digit", "digit_data", {source}, chunks, r, 256);
    from = lists[to]->data;
    source = "update";
  }
  return lists[to];
}

/// out[r] = onto[r] + the updates whose index is r. Without `onto` that is zero. The updates of a row are added in their order,
/// 32 of the sorted ones at a time, in the numbers in which the dtype is computed; the sum is rounded once.
inline void scatter_add(const kernel_arguments& a, const array_view* onto, const array_view& indices,
                        const array_view& updates) {
  instance& gpu = instance_of(a);
  const array_view& out = a.out[0];
  if (out.size() == 0) return;
  const auto out_bytes = static_cast<std::size_t>(out.size() * size_of(out.type));
  if (!onto)
    gpu.clear_in_step(out.as<std::byte>(), out_bytes);
  else if (onto->data != out.data)
    gpu.copy_in_step(out.as<std::byte>(), onto->as<std::byte>(), out_bytes);
  const std::int64_t count = indices.size(), rows = out.extent(0), columns = out.size() / rows;
  if (count == 0) return;

  const std::string text = joined({cuda_text::reduce, cuda_text::scatter});
  const handle sorted = sorted_updates(gpu, text, indices, rows);
  const std::int64_t pieces = ceil_div(count, 32);
  const handle partial =
      gpu.allocate(static_cast<std::size_t>(pieces * 2 * columns * size_of(compute_dtype(out.type))));
  const auto places = reinterpret_cast<std::uintptr_t>(updates.data) | reinterpret_cast<std::uintptr_t>(out.data);
  std::int64_t lanes = 16 / size_of(out.type);  // that a thread reads at once
  while (columns % lanes != 0 || places % static_cast<std::uintptr_t>(lanes * size_of(out.type)) != 0) lanes /= 2;
  const std::int64_t threads = std::min<std::int64_t>(block_threads, ceil_div(columns / lanes, 32) * 32);
  const std::int64_t parts = ceil_div(columns / lanes, threads);
  kernel_record r;
  r.add(count).add(rows).add(columns).add(sorted->data).add(updates.data).add(out.data).add(partial->data);
  for (const char* const kernel : {"add_pieces", "join_pieces"})
    launch_template(gpu, text, kernel, "scatter_data", {name(out.type), std::to_string(lanes)}, pieces, r,
                    static_cast<unsigned>(threads), parts);
}

}  // namespace cuda_backend

TOKAMAX_BODY void kernel(op_c<scatter_add_p>, cuda_tag, const kernel_arguments& a) {
  cuda_backend::scatter_add(a, nullptr, a.in[0], a.in[1]);
}
TOKAMAX_BODY void kernel(op_c<scatter_add_onto_p>, cuda_tag, const kernel_arguments& a) {
  cuda_backend::scatter_add(a, &a.in[0], a.in[1], a.in[2]);
}

}  // namespace tokamax
