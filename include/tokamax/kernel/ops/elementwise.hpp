// tokamax/kernel/ops/elementwise.hpp: a function of elements as a kernel on blocks.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/kernel/kernel_call.cpp
// umbrella: no (programs that use this kernel include it)
#pragma once

#include <tokamax/kernel/ops/matmul.hpp>  // blocks_of

#include <tuple>  // tie

namespace tokamax::kernel_ops {

/// How `elementwise` cuts its arguments.
struct elementwise_options {
  shape block;              ///< an extent for each axis
  dtype out = dtype::none;  ///< of the result; none: that of the first argument
};

/// f of the elements of arrays of one shape, in blocks: all ops of f run while a block is in fast memory. Its gradient is a
/// kernel too.
///
/// shapes  all arguments have the shape of the result; blocks may hang over
/// errors  those of kernel_call
template <class F, class... More>
constexpr array elementwise(const F& f, const elementwise_options& options, const array& x, const More&... more) {
  shape grid, extents;
  axes index;
  for (int i = 0; i < x.rank(); ++i) {
    extents.push_back(std::min(options.block[i], x.extent(i)));
    grid.push_back(detail::blocks_of(x.extent(i), extents[i]));
    index.push_back(i);
  }
  block_spec part{extents, index};
  const auto body = [&](const auto&, const auto& first, const auto&... others) {
    const auto refs = std::tie(first, others...);
    std::get<sizeof...(More) + 1>(refs).set([&]<std::size_t... Index>(std::index_sequence<Index...>) {
      return f(std::get<Index>(refs).get()...);
    }(std::make_index_sequence<sizeof...(More) + 1>{}));
  };
  array_type t = x.type();
  if (options.out != dtype::none) t.dtype = options.out;
  kernel_options o{.grid = grid, .out = {{t, part}}};
  for (std::size_t i = 0; i <= sizeof...(More); ++i) o.in.push_back(part);
  for (int i = 0; i < grid.rank(); ++i) o.semantics.push_back(dimension_semantics::parallel);
  return kernel_call(body, o)(x, array(more)...);
}

}  // namespace tokamax::kernel_ops
