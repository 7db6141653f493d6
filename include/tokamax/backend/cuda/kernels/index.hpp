// tokamax/backend/cuda/kernels/index.hpp: gather, dynamic_slice, dynamic_update_slice and search_sorted.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/cuda/device.hpp>         // cuda_tag
#include <tokamax/backend/cuda/launch.hpp>         // launch_template
#include <tokamax/backend/cuda/text/index.hpp>     // index
#include <tokamax/lax/indexing/dynamic_slice.hpp>  // dynamic_slice_p
#include <tokamax/lax/indexing/gather.hpp>         // gather_p
#include <tokamax/lax/indexing/search_sorted.hpp>  // search_sorted_p

#include <bit>     // countr_zero
#include <limits>  // quiet_NaN

namespace tokamax {

namespace cuda_backend {

/// The value of a gather outside of the table: NaN, the lowest signed integer, the highest unsigned integer, or true.
inline element_bits outside_value(dtype t) {
  return dispatch(t, []<dtype E>() {
    using limits = std::numeric_limits<element_t<E>>;
    return element_bits::of(is_floating(E) ? limits::quiet_NaN() : is_signed(E) ? limits::lowest() : limits::max());
  });
}

/// Copies a box out of an array or into it. The starts are the operands from `first_start` on.
inline void copy_box(const kernel_arguments& a, const array_view& array, const array_view& part, int first_start,
                     bool to_box) {
  kernel_record r;
  r.add(part.size()).add(array.rank()).add(a.attrs<dynamic_slice_options>().batch).add(to_box);
  r.add(array.extents).add(part.extents);
  for (int k = 0; k < max_rank; ++k) r.add(first_start + k < a.in_count ? a.in[first_start + k].data : nullptr);
  for (int k = 0; k < max_rank; ++k) r.add(first_start + k < a.in_count && a.in[first_start + k].type == i64);
  r.add(array.data).add(part.data);
  launch_template(instance_of(a), cuda_text::index, "copy_box", "box_data", {word_of(array.type)},
                  ceil_div(part.size(), block_threads), r);
}

}  // namespace cuda_backend

/// table [R, ...], indices [...] -> indices.shape + table.shape[1:].
TOKAMAX_BODY void kernel(op_c<gather_p>, cuda_tag, const kernel_arguments& a) {
  using namespace cuda_backend;
  const array_view &table = a.in[0], &indices = a.in[1], &out = a.out[0];
  if (out.size() == 0) return;
  const std::int64_t row = out.size() / indices.size() * size_of(out.type);  // bytes
  const auto places = reinterpret_cast<std::uintptr_t>(table.data) | reinterpret_cast<std::uintptr_t>(out.data);
  std::int64_t word = size_of(out.type);
  while (word < 16 && row % (2 * word) == 0 && places % static_cast<std::uintptr_t>(2 * word) == 0) word *= 2;
  const std::string_view kinds[] = {"u8", "u16", "u32", "u64", "wide_word"};
  kernel_record r;
  r.add(indices.size() * (row / word)).add(row / word).add(table.extent(0));
  r.add(static_cast<std::int64_t>(outside_value(out.type).value)).add(table.data).add(indices.data).add(out.data);
  launch_template(instance_of(a), cuda_text::index, "gather", "gather_data",
                  {kinds[std::countr_zero(static_cast<std::uint64_t>(word))], word_of(out.type), name(indices.type)},
                  ceil_div(indices.size() * (row / word), block_threads), r);
}

TOKAMAX_BODY void kernel(op_c<dynamic_slice_p>, cuda_tag, const kernel_arguments& a) {
  cuda_backend::copy_box(a, a.in[0], a.out[0], 1, true);
}
/// Copies the array, unless the result is in its place, and then the box into it.
TOKAMAX_BODY void kernel(op_c<dynamic_update_slice_p>, cuda_tag, const kernel_arguments& a) {
  if (a.in[0].data != a.out[0].data)
    a.context->where.copy_in_step(a.out[0].as<std::byte>(), a.in[0].as<std::byte>(),
                                  static_cast<std::size_t>(a.out[0].size() * size_of(a.out[0].type)));
  cuda_backend::copy_box(a, a.out[0], a.in[1], 2, false);
}

/// sorted [n], numbers [...] -> places [...]
TOKAMAX_BODY void kernel(op_c<search_sorted_p>, cuda_tag, const kernel_arguments& a) {
  using namespace cuda_backend;
  const array_view &sorted = a.in[0], &numbers = a.in[1];
  const std::int64_t n = sorted.size();
  kernel_record r;
  r.add(numbers.size())
      .add(n)
      .add(n == 0 ? 0 : tokamax::detail::first_search_step(n))
      .add(a.attrs<search_sorted_options>().right);
  r.add(sorted.data).add(numbers.data).add(a.out[0].data);
  launch_template(instance_of(a), cuda_text::index, "search", "search_data", {name(sorted.type)},
                  ceil_div(numbers.size(), block_threads), r);
}

}  // namespace tokamax
