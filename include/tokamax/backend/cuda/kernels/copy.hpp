// tokamax/backend/cuda/kernels/copy.hpp: ops that only move elements: concatenate, pad, reverse.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cuda/device.cpp
#pragma once

#include <tokamax/backend/cuda/device.hpp>     // cuda_tag
#include <tokamax/backend/cuda/launch.hpp>     // launch_template
#include <tokamax/backend/cuda/text/copy.hpp>  // copy
#include <tokamax/lax/indexing/slice.hpp>      // pad_p
#include <tokamax/lax/shapes/concatenate.hpp>  // concatenate_p
#include <tokamax/lax/shapes/reverse.hpp>      // reverse_p

#include <bit>  // countr_zero

namespace tokamax {

namespace cuda_backend {

/// Two arrays of the same extents whose elements a copy pairs. Axes that follow one another in both arrays are joined, and
/// neighbouring elements become words of up to 16 bytes, so that a thread moves as much as it can.
struct paired_axes {
  shape extents, from, to;  // strides count elements, and words in the end
  int bytes = 1;            // of a word

  paired_axes(int element_bytes, const shape& e, const shape& f, const shape& t, const void* source, const void* target)
      : bytes(element_bytes) {
    for (int i = 0; i < e.rank(); ++i) {
      if (e[i] == 1) continue;
      const bool joins = extents.rank() > 0 && from[-1] == f[i] * e[i] && to[-1] == t[i] * e[i];
      if (joins) {
        extents[-1] *= e[i];
        from[-1] = f[i], to[-1] = t[i];
      } else {
        extents.push_back(e[i]), from.push_back(f[i]), to.push_back(t[i]);
      }
    }
    const auto both = reinterpret_cast<std::uintptr_t>(source) | reinterpret_cast<std::uintptr_t>(target);
    while (bytes < 16 && doubles(both)) {
      bytes *= 2;
      extents[-1] /= 2;
      for (int i = 0; i + 1 < extents.rank(); ++i) from[i] /= 2, to[i] /= 2;
    }
  }

 private:
  /// May words of twice the size be moved?
  bool doubles(std::uintptr_t addresses) const {
    if (extents.rank() == 0 || from[-1] != 1 || to[-1] != 1 || extents[-1] % 2 != 0) return false;
    for (int i = 0; i + 1 < extents.rank(); ++i)
      if (from[i] % 2 != 0 || to[i] % 2 != 0) return false;
    return addresses % (2 * static_cast<unsigned>(bytes)) == 0;
  }
};

/// Copies elements of dtype t between two strided arrays of the same extents.
inline void copy(instance& gpu, dtype t, const shape& extents, const std::byte* from, const shape& from_strides,
                 std::byte* to, const shape& to_strides) {
  const paired_axes p(size_of(t), extents, from_strides, to_strides, from, to);
  const std::int64_t count = size(extents) == 0 ? 0 : size(p.extents);
  kernel_record r;
  r.add(count).add(p.extents.rank()).add(p.extents).add(p.from).add(p.to).add(from).add(to);
  const std::string_view words[] = {"u8", "u16", "u32", "u64", "u128"};
  launch_template(gpu, cuda_text::copy, "copy_elements", "copy_data",
                  {words[std::countr_zero(static_cast<unsigned>(p.bytes))]}, ceil_div(count, block_threads), r);
}
/// A dense copy of a strided array as dtype `to`, in memory that lives as long as the result.
inline handle dense_copy(instance& gpu, const array_view& v, dtype to) {
  handle made = gpu.allocate(static_cast<std::size_t>(v.size() * size_of(to)));
  if (v.type == to) {
    copy(gpu, to, v.extents, v.as<std::byte>(), v.strides, made->data, row_major(v.extents));
    return made;
  }
  kernel_record r;
  r.add(v.size()).add(v.rank()).add(v.extents).add(v.strides).add(row_major(v.extents)).add(v.data).add(made->data);
  launch_template(gpu, cuda_text::copy, "convert_elements", "copy_data", {name(v.type), name(to)},
                  ceil_div(v.size(), block_threads), r);
  return made;
}

}  // namespace cuda_backend

TOKAMAX_BODY void kernel(op_c<concatenate_p>, cuda_tag, const kernel_arguments& a) {
  const int axis = a.attrs<concatenate_options>().axis;
  const shape strides = row_major(a.out[0].extents);
  std::int64_t at = 0;
  for (int k = 0; k < a.in_count; ++k) {
    const array_view& x = a.in[k];
    cuda_backend::copy(cuda_backend::instance_of(a), x.type, x.extents, x.as<std::byte>(), row_major(x.extents),
                       a.out[0].as<std::byte>() + at * strides[axis] * size_of(x.type), strides);
    at += x.extent(axis);
  }
}

TOKAMAX_BODY void kernel(op_c<reverse_p>, cuda_tag, const kernel_arguments& a) {
  const array_view& x = a.in[0];
  shape strides = row_major(x.extents);
  std::int64_t first = 0;
  for (const std::int64_t axis : a.attrs<reverse_options>().dimensions) {
    std::int64_t& stride = strides[static_cast<int>(axis)];
    first += (x.extent(static_cast<int>(axis)) - 1) * stride;
    stride = -stride;
  }
  cuda_backend::copy(cuda_backend::instance_of(a), x.type, x.extents, x.as<std::byte>() + first * size_of(x.type),
                     strides, a.out[0].as<std::byte>(), row_major(x.extents));
}

/// Fills the result with the value, then copies the part of the operand that is inside of it.
TOKAMAX_BODY void kernel(op_c<pad_p>, cuda_tag, const kernel_arguments& a) {
  using namespace cuda_backend;
  const auto [low, high, interior] = a.attrs<pad_options>();
  const array_view &x = a.in[0], &y = a.out[0];
  kernel_record r;
  r.add(y.size()).add(a.in[1].data).add(y.data);
  launch_template(instance_of(a), cuda_text::copy, "fill_elements", "fill_data", {word_of(y.type)},
                  ceil_div(y.size(), block_threads), r);
  shape extents, from_strides = row_major(x.extents), to_strides = row_major(y.extents);
  std::int64_t from = 0, to = 0;
  for (int i = 0; i < x.rank(); ++i) {
    const std::int64_t step = interior[i] + 1;
    const std::int64_t first = low[i] >= 0 ? 0 : ceil_div(-low[i], step);
    const std::int64_t end = std::min(x.extent(i), y.extent(i) > low[i] ? ceil_div(y.extent(i) - low[i], step) : 0);
    extents.push_back(std::max<std::int64_t>(0, end - first));
    from += first * from_strides[i];
    to += (low[i] + first * step) * to_strides[i];
    to_strides[i] *= step;
  }
  copy(instance_of(a), x.type, extents, x.as<std::byte>() + from * size_of(x.type), from_strides,
       y.as<std::byte>() + to * size_of(x.type), to_strides);
}

}  // namespace tokamax
