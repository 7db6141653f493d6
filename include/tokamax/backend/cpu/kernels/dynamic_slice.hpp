// tokamax/backend/cpu/kernels/dynamic_slice.hpp: copies boxes out of arrays and into them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/cpu/device.hpp>          // cpu_tag
#include <tokamax/backend/cpu/vector/threads.hpp>  // parallel_for
#include <tokamax/lax/indexing/dynamic_slice.hpp>  // dynamic_slice_p, dynamic_update_slice_p
#include <tokamax/runtime/kernel.hpp>              // kernel_arguments

#include <algorithm>  // clamp, min, max
#include <cstring>    // memcpy

namespace tokamax {

namespace cpu_backend::detail {

/// An index, i32 or i64.
inline std::int64_t index_at(const array_view& v, std::int64_t i) noexcept {
  return v.type == i64 ? v.as<const std::int64_t>()[i] : v.as<const std::int32_t>()[i];
}

/// Calls copy(position in the array, position in the box, bytes) for each contiguous run of the box. The starts of the box
/// are the operands from `first_start` on.
template <class F>
void for_each_run(const kernel_arguments& a, int first_start, const array_view& x, const array_view& box, int batch,
                  F copy) {
  const int rank = x.rank();
  int last = rank;  // the box has all of the axes from here on, so their elements are contiguous
  while (last > batch && x.extent(last - 1) == box.extent(last - 1)) --last;
  last = std::max(last - 1, 0);
  std::int64_t run = size_of(x.type), rows = 1;
  for (int i = last; i < rank; ++i) run *= box.extent(i);
  for (int i = 0; i < last; ++i) rows *= box.extent(i);
  const shape strides = row_major(x.extents);
  const std::int64_t grain = std::max<std::int64_t>(1, 65536 / std::max<std::int64_t>(1, run));
  parallel_for((rows + grain - 1) / grain, [&](std::int64_t chunk) {
    for (std::int64_t r = chunk * grain; r < std::min(rows, (chunk + 1) * grain); ++r) {
      // The position of run r in the box, and the start of the box for its batch entry. Starts are moved so that the box fits.
      shape index = x.extents;  // of the first element of the run, in the box
      std::int64_t rest = r;
      for (int i = rank - 1; i >= 0; --i) {
        index[i] = i < last ? rest % box.extent(i) : 0;
        if (i < last) rest /= box.extent(i);
      }
      std::int64_t entry = 0, at = 0;  // the entry of the batch, and the offset of the element in the array
      for (int i = 0; i < batch; ++i) entry = entry * x.extent(i) + index[i];
      for (int i = 0; i < rank; ++i) {
        std::int64_t start = 0;
        if (i >= batch) {
          start = index_at(a.in[first_start + i - batch], entry);
          if (start < 0) start += x.extent(i);
          start = std::clamp<std::int64_t>(start, 0, x.extent(i) - box.extent(i));
        }
        at += (start + index[i]) * strides[i];
      }
      copy(at * size_of(x.type), r * run, static_cast<std::size_t>(run));
    }
  });
}

}  // namespace cpu_backend::detail

/// Copies the box out of the array, run by run.
inline void kernel(op_c<dynamic_slice_p>, cpu_tag, const kernel_arguments& a) {
  if (a.out[0].size() == 0) return;
  const auto* from = a.in[0].as<const std::byte>();
  auto* to = a.out[0].as<std::byte>();
  cpu_backend::detail::for_each_run(
      a, 1, a.in[0], a.out[0], a.attrs<dynamic_slice_options>().batch,
      [&](std::int64_t at, std::int64_t box, std::size_t n) { std::memcpy(to + box, from + at, n); });
}

/// Copies the array, unless the result is in its place, and then the box into it.
inline void kernel(op_c<dynamic_update_slice_p>, cpu_tag, const kernel_arguments& a) {
  const auto bytes = static_cast<std::size_t>(a.out[0].size() * size_of(a.out[0].type));
  const auto* update = a.in[1].as<const std::byte>();
  auto* to = a.out[0].as<std::byte>();
  if (a.in[0].data != a.out[0].data && bytes) std::memcpy(to, a.in[0].data, bytes);
  if (a.in[1].size() == 0) return;
  cpu_backend::detail::for_each_run(
      a, 2, a.out[0], a.in[1], a.attrs<dynamic_slice_options>().batch,
      [&](std::int64_t at, std::int64_t box, std::size_t n) { std::memcpy(to + at, update + box, n); });
}

}  // namespace tokamax
