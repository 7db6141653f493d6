// tokamax/stablehlo/writer/dynamic_slice_writer.hpp: writes boxes at places that are values, also one for each entry of a batch.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (part of program)
// tested by tests/stablehlo/write.cpp
#pragma once

#include <tokamax/lax/indexing/dynamic_slice.hpp>   // dynamic_slice_options
#include <tokamax/stablehlo/writer/write_call.hpp>  // write_call

namespace tokamax::stablehlo::detail {

/// The starts of a box, behind the first operands. A negative one counts from the end.
inline std::vector<written> starts_of(const write_call& w, int first, int batch) {
  std::vector<written> starts;
  for (std::size_t k = static_cast<std::size_t>(first); k < w.in.size(); ++k) {
    const written& s = w.in[k];
    const std::int64_t extent = w[0].type.shape[batch + static_cast<int>(k) - first];
    const written zero = w.to.constant(0, s.type), end = w.to.constant(static_cast<double>(extent), s.type);
    starts.push_back(w.to.select(w.to.compare(s, zero, "LT"), w.to.add("stablehlo.add", {s, end}, s.type), s));
  }
  return starts;
}
/// An operation of an array, a box or none, and starts.
inline std::vector<written> with_starts(const write_call& w, int first) {
  std::vector<written> in(w.in.begin(), w.in.begin() + first);
  for (const written& s : starts_of(w, first, 0)) in.push_back(s);
  return in;
}
/// The places of boxes, one for each entry of a batch, as one array [batch..., axes].
inline written joined_starts(const write_call& w, int first, int batch) {
  std::vector<written> starts;
  for (const written& start : starts_of(w, first, batch)) {
    shape s = start.type.shape;
    s.push_back(1);
    starts.push_back(w.to.reshape(start, s));
  }
  shape all = starts[0].type.shape;
  all[batch] = static_cast<std::int64_t>(starts.size());
  return w.to.add("stablehlo.concatenate", starts, with_shape(starts[0].type, all), {{"dimension", whole(batch)}});
}
inline axes axes_from(int first, int end) {
  axes a;
  for (int i = first; i < end; ++i) a.push_back(i);
  return a;
}
/// A box, or with `batch` one for each entry of the leading axes: a gather whose windows are the boxes.
inline written written_dynamic_slice(const write_call& w) {
  const auto o = w.attrs<dynamic_slice_options>();
  if (o.sizes.rank() == 0) return w[0];
  if (o.batch == 0)
    return w.to.add("stablehlo.dynamic_slice", with_starts(w, 1), w.type(), {{"slice_sizes", list_of(o.sizes)}});
  const int rank = w.type().shape.rank();
  shape window = w.type().shape;
  for (int i = 0; i < o.batch; ++i) window[i] = 1;
  return w.to.add("stablehlo.gather", {w[0], joined_starts(w, 1, o.batch)}, w.type(),
                  {{"offset_dims", list_of(axes_from(o.batch, rank))},
                   {"operand_batching_dims", list_of(axes_from(0, o.batch))},
                   {"start_indices_batching_dims", list_of(axes_from(0, o.batch))},
                   {"start_index_map", list_of(axes_from(o.batch, rank))},
                   {"index_vector_dim", whole(o.batch)},
                   {"slice_sizes", list_of(window)}});
}
/// The same for a box that is replaced. A scatter leaves out what does not fit, so places are moved inside before it.
inline written written_dynamic_update(const write_call& w) {
  const auto o = w.attrs<dynamic_slice_options>();
  const shape &all = w[0].type.shape, &box = w[1].type.shape;
  const int rank = all.rank(), batch = o.batch;
  if (batch == rank) return w[1];
  if (batch == 0) return w.to.add("stablehlo.dynamic_update_slice", with_starts(w, 2), w.type());
  written starts = joined_starts(w, 2, batch);
  std::vector<element_bits> most;
  for (int i = batch; i < rank; ++i) most.push_back({static_cast<std::uint64_t>(all[i] - box[i])});
  value limits;
  const array_type row{starts.type.dtype, false, {rank - batch}};
  elements_of_numbers(value_of(row), most, false, limits);
  const written highest = w.to.broadcast(w.to.elements(limits, row), starts.type.shape, {batch});
  starts = w.to.add("stablehlo.clamp", {w.to.constant(0, with_shape(starts.type, {})), starts, highest}, starts.type);
  region last = w.to.scalars({w[0].type, w[0].type}, [](operation_builder&, const std::vector<written>& in) {
    return std::vector<written>{in[1]};
  });
  std::vector<region> regions;
  regions.push_back(std::move(last));
  return w.to.add("stablehlo.scatter", {w[0], starts, w[1]}, w.type(),
                  {{"update_window_dims", list_of(axes_from(batch, rank))},
                   {"input_batching_dims", list_of(axes_from(0, batch))},
                   {"scatter_indices_batching_dims", list_of(axes_from(0, batch))},
                   {"scatter_dims_to_operand_dims", list_of(axes_from(batch, rank))},
                   {"index_vector_dim", whole(batch)}},
                  std::move(regions));
}

}  // namespace tokamax::stablehlo::detail
