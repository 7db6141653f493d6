// tokamax/nn/dropout.hpp: zero random elements while training.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/random/samplers.hpp>  // bernoulli

namespace tokamax::nn {

/// Zeroes each element with probability `rate` and divides the others by 1 - rate. The key is an argument, so a call
/// without one, for inference, does nothing.
///
/// shapes  x [...] -> the same
/// errors  "dropout: rate" outside [0, 1], "dropout: axis" of `shared` that x does not have
/// source  flax.nnx.Dropout; Srivastava et al. 2014
struct dropout {
  double rate = 0.5;
  axes shared{};  ///< axes along which elements are zero together

  constexpr array operator()(const array& x) const { return x; }
  constexpr array operator()(const array& x, const random::key& key, source_line l = source_line::current()) const {
    if (!(rate >= 0 && rate <= 1)) {
      reject(x, l, "dropout: rate", rate < 0 ? "below 0" : rate > 1 ? "above 1" : "nan", "a number from 0 to 1");
      return x;
    }
    if (rate <= 0) return x;
    if (rate >= 1) return zeros_like(x);
    shape drawn = x.shape();
    for (std::int64_t a : shared)
      if (const int i = checked_axis("dropout: axis", a, x, l); x.rank() > 0) drawn[i] = 1;
    const array kept = random::bernoulli(key, 1.0 - rate, drawn, l);
    return select(kept, x / located(1.0 - rate, l), zeros_like(x), l);
  }
};

}  // namespace tokamax::nn
