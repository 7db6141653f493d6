// tokamax/models/decoder_norm.hpp: the norm of a decoder, of either kind, or none.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (models that are read from files use it)
// tested by tests/models/decoder.cpp
#pragma once

#include <tokamax/core/scope/layer_scope.hpp>  // layer_scope
#include <tokamax/models/decoder_config.hpp>   // decoder_config
#include <tokamax/ops/layer_norm.hpp>          // layer_norm
#include <tokamax/ops/rms_norm.hpp>            // rms_norm

namespace tokamax::models {

/// Normalises the last axis. A width of 0 stands for no norm, which changes nothing.
/// shapes  x [..., width] -> the same; scale [width], or [0] without parameters; shift the same of layer norms, or [0]
struct decoder_norm {
  int width = 0;
  norm_kind kind = norm_kind::rms;
  double epsilon = 1e-6, scale_offset = 0;
  bool has_scale = true;
  array scale = full({has_scale ? width : 0}, 1 - scale_offset);
  array shift = zeros({has_scale && kind == norm_kind::layer ? width : 0});

  static decoder_norm of(const decoder_config& c, int width, bool exists = true, bool has_scale = true) {
    return {.width = exists ? width : 0,
            .kind = c.norm,
            .epsilon = c.epsilon,
            .scale_offset = c.scale_offset,
            .has_scale = has_scale && c.norm_scales};
  }
  array operator()(const array& x, source_line l = source_line::current()) const {
    if (width == 0) return x;
    const layer_scope scope(*this, x);
    const auto given = [](const array& a) { return a.extent(0) == 0 ? array() : a; };
    if (kind == norm_kind::rms)
      return tokamax::rms_norm(x, given(scale), {.epsilon = epsilon, .scale_offset = has_scale ? scale_offset : 0}, l);
    return tokamax::layer_norm(x, given(scale), given(shift), {.epsilon = epsilon}, l);
  }
};

}  // namespace tokamax::models
