// tokamax/transforms/map.hpp: calls a function for each entry of a sequence, one after the other or a few at a time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/lax/shapes/concatenate.hpp>        // concatenate
#include <tokamax/transforms/control_flow/scan.hpp>  // scan
#include <tokamax/transforms/vmap.hpp>               // vmap

namespace tokamax {

/// Options of map.
struct map_options {
  std::int64_t batch_size = 1;  ///< so many entries run as one batch
};

/// Computes f(x) for x = xs[0], xs[1], ... and stacks the results. It returns what vmap(f) returns, but needs the memory of
/// only one entry at a time, or of `batch_size` entries.
///
/// shapes  leaves of xs [length, ...]; leaves of the result [length, ...]
/// errors  "scan: length" if leading extents differ; "map: batch_size" below 1, or above with a dynamic length
/// source  jax.lax.map
template <class F, class Xs>
constexpr auto map(const F& f, const Xs& xs, map_options options = {}, source_line l = source_line::current()) {
  using result_type = std::remove_cvref_t<std::invoke_result_t<const F&, const Xs&>>;
  const auto loop = [&](const auto& function, const Xs& sequence) {
    return scan([&](const nothing& none, const Xs& x) { return std::pair{none, function(x)}; }, nothing{}, sequence, {},
                l)
        .second;
  };
  if (options.batch_size == 1) return result_type(loop(f, xs));
  return in_trace(
      [&](graph& g, const Xs& given) -> result_type {
        const arrays all = leaves(given);
        const std::int64_t size = options.batch_size;
        const bool sequence = !all.empty() && all[0].rank() > 0;
        const std::int64_t n = sequence ? all[0].extent(0) : 0;
        if (size < 1 || is_dyn(n)) {
          reject(&g, l, "map: batch_size", message() << size, "1 or more, of a length that is known");
          return loop(f, given);
        }
        const auto batches = vmap(f, {}, l);
        const std::int64_t looped = n / size * size;
        const auto part = [&](std::int64_t first, std::int64_t last) {
          return tree_map([&](const array& x) { return slice_in_dim(x, first, last, 0, l); }, given);
        };
        if (looped == 0) return batches(given);
        const result_type blocks = loop(batches, tree_map(
                                                     [&](const array& x) {
                                                       shape s{n / size, size};
                                                       for (int k = 1; k < x.rank(); ++k) s.push_back(x.extent(k));
                                                       return reshape(x, s, l);
                                                     },
                                                     part(0, looped)));
        const auto joined = [&](const array& y) {  // [blocks, size, ...] -> [looped, ...]
          shape s{looped};
          for (int k = 2; k < y.rank(); ++k) s.push_back(y.extent(k));
          return reshape(y, s, l);
        };
        if (looped == n) return tree_map(joined, blocks);
        return tree_map([&](const array& y, const array& rest) { return concatenate({joined(y), rest}, 0, l); }, blocks,
                        batches(part(looped, n)));
      },
      xs);
}

}  // namespace tokamax
