// tokamax/backend/cuda/kernels/reduce.hpp: sum, max, min, and, or over any axes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/cuda/device.hpp>       // cuda_tag
#include <tokamax/backend/cuda/launch.hpp>       // launch_template
#include <tokamax/backend/cuda/text/reduce.hpp>  // reduce
#include <tokamax/lax/reduce.hpp>                // reduce_sum_p and its family

namespace tokamax {

namespace cuda_backend {

/// The axes of a dense array in two lists: those that a reduction keeps and those that it reduces. Neighbours of one list are
/// joined, so that most reductions have one axis of each.
struct reduce_axes {
  shape extents[2], strides[2];  ///< kept, reduced
  bool reduces_innermost = true;

  reduce_axes(const array_view& x, const axes& reduced) {
    std::int64_t stride = 1;
    int last = -1;  // the list of the axis before
    shape backward[2], steps[2];
    for (int i = x.rank() - 1; i >= 0; stride *= x.extent(i), --i) {
      if (x.extent(i) == 1) continue;
      const int which = reduced.contains(i);
      if (last < 0) reduces_innermost = which == 1;
      if (which == last)
        backward[which][-1] *= x.extent(i);
      else
        backward[which].push_back(x.extent(i)), steps[which].push_back(stride);
      last = which;
    }
    for (int which = 0; which < 2; ++which)
      for (int i = backward[which].rank() - 1; i >= 0; --i) {
        extents[which].push_back(backward[which][i]);
        strides[which].push_back(steps[which][i]);
      }
  }
};

/// One pass: reduces chunks of the elements of each result.
inline void reduce_pass(instance& gpu, const char* op, dtype in, dtype out, const reduce_axes& x, std::int64_t results,
                        std::int64_t length, std::int64_t chunks, const void* from, void* to) {
  kernel_record r;
  r.add(results).add(length).add(chunks).add(std::max<std::int64_t>(1, ceil_div(length, chunks)));
  r.add(x.extents[0].rank()).add(x.extents[1].rank());
  r.add(x.extents[0]).add(x.strides[0]).add(x.extents[1]).add(x.strides[1]).add(from).add(to);
  if (x.reduces_innermost) {
    const unsigned threads = length / chunks > 512 ? 256 : length / chunks > 64 ? 128 : 32;
    launch_template(gpu, cuda_text::reduce, "reduce_rows", "reduce_data", {op, name(in), name(out)}, results * chunks,
                    r, threads);
  } else {
    launch_template(gpu, cuda_text::reduce, "reduce_columns", "reduce_data", {op, name(in), name(out)},
                    ceil_div(results, 32), r, 256, chunks);
  }
}

/// Rows [batches, length, columns] that are summed over their length: columns lie side by side.
struct reduced_rows {
  std::int64_t batches = 1, length = 0, columns = 0, row_stride = 0, batch_stride = 0;
  bool exists = false;

  explicit reduced_rows(const reduce_axes& x) {
    const shape &kept = x.extents[0], &steps = x.strides[0];
    if (x.reduces_innermost || x.extents[1].rank() != 1 || kept.rank() < 1 || kept.rank() > 2) return;
    exists = true;
    length = x.extents[1][0], row_stride = x.strides[1][0], columns = kept[-1];
    if (kept.rank() == 2) batches = kept[0], batch_stride = steps[0];
  }
};

/// How threads share the columns of rows: so many each, `across` threads of a block beside each other. Few of them leave more
/// for the rows. An array that is not aligned is read in smaller pieces by more threads, in the same order.
struct lane_split {
  std::int64_t lanes = 1, vectors = 0, across = 1;
  std::int64_t blocks = 0;  ///< beside each other, if the array is aligned

  lane_split(const reduced_rows& x, dtype in, const void* from, std::int64_t most_across = 32)
      : lanes(std::min(8, 16 / size_of(in))) {
    while ((x.columns | x.row_stride | x.batch_stride) % lanes != 0) lanes /= 2;
    while (across < most_across && across < x.columns / lanes) across *= 2;
    blocks = ceil_div(x.columns / lanes, across);
    while (reinterpret_cast<std::uintptr_t>(from) % static_cast<std::uintptr_t>(lanes * size_of(in)) != 0) lanes /= 2;
    vectors = x.columns / lanes;
  }
  /// The rows that a block loads at once.
  std::int64_t batch() const { return 8 * (256 / across); }
};

/// One pass over rows: from [batches, length, columns] to [batches, chunks, columns].
inline void reduce_rows_pass(instance& gpu, const char* op, dtype in, dtype out, const reduced_rows& x,
                             const lane_split& split, std::int64_t chunk, const void* from, void* to) {
  kernel_record r;
  r.add(split.vectors).add(split.across).add(x.length).add(x.row_stride).add(x.batch_stride).add(chunk);
  r.add(from).add(to);
  launch_template(
      gpu, cuda_text::reduce, "reduce_lanes", "lanes_data", {op, name(in), name(out), std::to_string(split.lanes)},
      x.batches * ceil_div(split.vectors, split.across), r, 256, std::max<std::int64_t>(1, ceil_div(x.length, chunk)));
}

/// Sums of rows run in two passes where that fills the GPU: sums of chunks, then sums of those. The number of chunks follows
/// from the extents, as if all GPUs ran 1024 blocks at once.
inline void reduce_over_rows(instance& gpu, const char* op, dtype in, dtype out, reduced_rows x, const void* from,
                             void* to) {
  const lane_split split(x, in, from);
  const std::int64_t wanted = ceil_div(1024, x.batches * split.blocks);
  const std::int64_t chunk = ceil_div(ceil_div(x.length, wanted), split.batch()) * split.batch();
  if (x.length <= std::max(chunk, 4 * split.batch()))
    return reduce_rows_pass(gpu, op, in, out, x, split, std::max<std::int64_t>(1, x.length), from, to);
  const std::int64_t chunks = ceil_div(x.length, chunk);
  const dtype sums = compute_dtype(out);
  const handle partial = gpu.allocate(static_cast<std::size_t>(x.batches * chunks * x.columns * size_of(sums)));
  reduce_rows_pass(gpu, op, in, sums, x, split, chunk, from, partial->data);
  x.length = chunks, x.row_stride = x.columns, x.batch_stride = chunks * x.columns;
  reduce_rows_pass(gpu, op, sums, out, x, lane_split(x, sums, partial->data, 4), chunks, partial->data, to);
}

/// A long reduction of few results runs in two passes: chunks first, then the results of the chunks, in the dtype of the sums.
inline void reduce(const kernel_arguments& a, const char* op) {
  instance& gpu = instance_of(a);
  const reduce_axes x(a.in[0], a.attrs<reduce_attributes>().axis);
  const std::int64_t results = a.out[0].size(), length = size(x.extents[1]);
  if (results == 0) return;
  const dtype out = a.out[0].type, sums = compute_dtype(out);
  if (const reduced_rows rows(x); rows.exists)
    return reduce_over_rows(gpu, op, a.in[0].type, out, rows, a.in[0].data, a.out[0].data);
  const std::int64_t least = x.reduces_innermost ? 4096 : 256;  // elements of a chunk: a thread adds few in order
  const std::int64_t chunks = std::clamp<std::int64_t>(length / least, 1, 1024);
  if (chunks == 1) return reduce_pass(gpu, op, a.in[0].type, out, x, results, length, 1, a.in[0].data, a.out[0].data);
  const handle partial = gpu.allocate(static_cast<std::size_t>(results * chunks * size_of(sums)));
  reduce_pass(gpu, op, a.in[0].type, sums, x, results, length, chunks, a.in[0].data, partial->data);
  const array_view rows{partial->data, sums, {results, chunks}, {chunks, 1}};
  reduce_pass(gpu, op, sums, out, reduce_axes(rows, {1}), results, chunks, 1, partial->data, a.out[0].data);
}

}  // namespace cuda_backend

/// Sums in the dtype of the result; 16-bit floats are summed in f32 and rounded once.
TOKAMAX_BODY void kernel(op_c<reduce_sum_p>, cuda_tag, const kernel_arguments& a) { cuda_backend::reduce(a, "op_add"); }
TOKAMAX_BODY void kernel(op_c<sum_in_32_bits_p>, cuda_tag, const kernel_arguments& a) {
  cuda_backend::reduce(a, "op_add");
}
/// For truth values, max is `or` and min is `and`.
TOKAMAX_BODY void kernel(op_c<reduce_max_p>, cuda_tag, const kernel_arguments& a) { cuda_backend::reduce(a, "op_max"); }
TOKAMAX_BODY void kernel(op_c<reduce_min_p>, cuda_tag, const kernel_arguments& a) { cuda_backend::reduce(a, "op_min"); }
TOKAMAX_BODY void kernel(op_c<reduce_and_p>, cuda_tag, const kernel_arguments& a) { cuda_backend::reduce(a, "op_min"); }
TOKAMAX_BODY void kernel(op_c<reduce_or_p>, cuda_tag, const kernel_arguments& a) { cuda_backend::reduce(a, "op_max"); }

}  // namespace tokamax
