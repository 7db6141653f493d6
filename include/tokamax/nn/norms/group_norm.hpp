// tokamax/nn/norms/group_norm.hpp: normalisation of groups of channels of one example.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (models of one family use it)
#pragma once

#include <tokamax/core/scope/layer_scope.hpp>  // layer_scope
#include <tokamax/lax/iota.hpp>                // ones, zeros
#include <tokamax/nn/norms/moments.hpp>        // moments_of, normalised

namespace tokamax::nn {

/// Normalises each group of channels of each example, over all axes but the first. `group_norm norm{width, groups}`; one group is a
/// layer norm of images, and groups of g channels are `.groups = width / g`.
///
///   y = (x - mean) / sqrt(var + epsilon) * scale + offset,  var = mean((x - mean)^2)
///
/// shapes  x [N, ..., width] -> the same; scale and offset [width] ([0] if not used); a mask broadcasts to x, and says which elements
///         count for mean and variance
/// dtypes  the result has the dtype of x, or compute_dtype, to which x is rounded; moments are computed in f32 if that is wider
/// init    scale ones, offset zeros
/// errors  "group_norm: width" if the last axis of x has another extent, "group_norm: groups" that do not divide the width,
///         "group_norm: axis", "pmean: axis name"
/// source  flax.nnx.GroupNorm; Wu, He 2018, arXiv:1803.08494
struct group_norm {
  int width = 0, groups = 32;
  double epsilon = 1e-6;
  axes over{};                 ///< the axes beside the channels of a group; if empty, all but the first and the last
  bool fast_variance = false;  ///< see moment_choice
  std::string_view axis = {};  ///< a vmap whose entries are normalised together
  bool use_scale = true, use_offset = true;
  dtype compute_dtype = dtype::none, param_dtype = f32;
  array scale = ones({use_scale ? width : 0}, param_dtype), offset = zeros({use_offset ? width : 0}, param_dtype);

  constexpr array operator()(const array& x, source_line l = source_line::current()) const {
    return (*this)(x, array(), l);
  }
  constexpr array operator()(const array& given, const array& mask, source_line l = source_line::current()) const {
    const layer_scope scope_of(*this, given);
    const array x = detail::in_dtype(given, compute_dtype, l);
    const int last = x.rank() - 1;
    if (x.rank() < 2 || x.shape()[last] != width) {
      reject(x, l, "group_norm: width", x.type(), message("[N, ..., ") << width << "]");
      return x;
    }
    if (groups < 1 || width % groups != 0) {
      reject(x, l, "group_norm: groups", message() << groups, message("a divisor of ") << width);
      return x;
    }
    shape parts = x.shape();  // the channels as groups and what is in one
    parts[last] = groups;
    parts.push_back(width / groups);
    moment_choice of{.fast_variance = fast_variance, .axis = axis};
    for (std::int64_t a : over)
      if (const int i = checked_axis("group_norm: axis", a, x, l); i != last) of.over.push_back(i);
    for (int i = 1; over.rank() == 0 && i < last; ++i) of.over.push_back(i);
    of.over.push_back(last + 1);
    if (mask.exists()) of.mask = reshape(broadcast_to(mask, x.shape(), l), parts, l);
    const auto parameter = [&](bool used, const array& p) {
      if (!used) return array();
      return reshape(p, {groups, width / groups}, l);
    };
    const array grouped = reshape(x, parts, l);
    const array y = normalised(grouped, moments_of(grouped, of, l), epsilon, parameter(use_scale, scale),
                               parameter(use_offset, offset), l);
    return reshape(y, x.shape(), l);
  }
};

}  // namespace tokamax::nn
