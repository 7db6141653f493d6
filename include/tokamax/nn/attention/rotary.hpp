// tokamax/nn/attention/rotary.hpp: rotary position embedding, with the frequencies of models that were stretched to longer contexts.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (models that are read from files use it)
#pragma once

#include <tokamax/lax/elementwise/unary.hpp>   // cos, sin
#include <tokamax/lax/indexing/slice.hpp>      // slice_in_dim
#include <tokamax/lax/iota.hpp>                // iota
#include <tokamax/lax/shapes/concatenate.hpp>  // concatenate
#include <tokamax/lax/shapes/reverse.hpp>      // reverse

#include <algorithm>  // clamp
#include <cmath>      // pow
#include <numbers>    // pi
#include <vector>     // vector

namespace tokamax::nn {

/// How frequencies are changed for contexts longer than those of the first training.
enum class rope_kind : std::uint8_t {
  plain,
  linear,    ///< all are divided by the factor
  ntk,       ///< the base grows, so that the lowest is divided by the factor and the highest stays
  yarn,      ///< those that turn often in the old context stay, those that turn seldom are divided (arXiv:2309.00071)
  llama3,    ///< the same with wavelengths as bounds
  by_factor  ///< each is divided by its own number
};

struct rope_scaling {
  rope_kind kind = rope_kind::plain;
  double factor = 1;
  double old_context = 0;                                      ///< yarn, llama3: the context of the first training
  double low_frequency_factor = 1, high_frequency_factor = 4;  ///< llama3
  double beta_fast = 32, beta_slow = 1;                        ///< yarn: turns in the old context
  bool truncate = true;                                        ///< yarn: are the bounds whole pairs?
  double attention_factor = 0;       ///< of sines and cosines; 0: of yarn 0.1 ln(factor) + 1, else 1
  std::vector<double> factors = {};  ///< by_factor: of each pair
};

/// Sines and cosines of the angles of some positions.
struct rotary_angles {
  array cosine, sine;  ///< [..., 1, size / 2], f32
};

/// Turns pairs (i, i + size / 2), or (2 i, 2 i + 1), of the first `size` features of each head. Frequencies and angles are computed in f64.
///
///   angle = position * base^(-2i / size), changed as `scaling` says
///
/// shapes  positions i32 [...], x [..., N, H] -> the same
/// source  transformers, modeling_rope_utils.py
/// see     rotary_embedding, which is one op
struct rotary {
  int size = 0;  ///< even, at most H
  double base = 10000;
  rope_scaling scaling;
  bool side_by_side = false;  ///< are 2 i and 2 i + 1 a pair?

  /// The angles of one position, [size / 2].
  std::vector<double> frequencies() const {
    const auto pairs = static_cast<std::size_t>(size / 2);
    const double d = size, theta = scaling.kind == rope_kind::ntk ? base * std::pow(scaling.factor, d / (d - 2)) : base;
    std::vector<double> f(pairs);
    for (std::size_t i = 0; i < pairs; ++i) f[i] = stretched(std::pow(theta, -2.0 * static_cast<double>(i) / d), i);
    return f;
  }
  double attention_factor() const {
    if (scaling.attention_factor != 0) return scaling.attention_factor;
    return scaling.kind == rope_kind::yarn && scaling.factor > 1 ? 0.1 * std::log(scaling.factor) + 1 : 1.0;
  }

  rotary_angles angles(const array& positions, source_line l = source_line::current()) const {
    const array f = array::from(frequencies());
    const array a = expand_dims(expand_dims(astype(positions, f64, l), -1, l), -1, l) * located(f, l);
    const double factor = attention_factor();
    const auto scaled = [&](const array& x) { return astype(factor == 1 ? x : x * located(factor, l), f32, l); };
    return {scaled(cos(a, l)), scaled(sin(a, l))};
  }
  array operator()(const array& x, const rotary_angles& by, source_line l = source_line::current()) const {
    const int last = x.rank() - 1;
    if (size == x.extent(last)) return turned(x, by, l);
    return concatenate(
        {turned(slice_in_dim(x, 0, size, last, l), by, l), slice_in_dim(x, size, x.extent(last), last, l)}, last, l);
  }

 private:
  double stretched(double f, std::size_t i) const {
    const rope_scaling& s = scaling;
    const double turns = s.old_context * f / (2 * std::numbers::pi);  // in the old context
    switch (s.kind) {
      case rope_kind::linear:
        return f / s.factor;
      case rope_kind::by_factor:
        return f / s.factors.at(i);
      case rope_kind::llama3: {
        const double kept = (turns - s.low_frequency_factor) / (s.high_frequency_factor - s.low_frequency_factor);
        return blend(f, std::clamp(kept, 0.0, 1.0));
      }
      case rope_kind::yarn: {
        double low = pair_that_turns(s.beta_fast), high = pair_that_turns(s.beta_slow);
        if (s.truncate) low = std::floor(low), high = std::ceil(high);
        low = std::max(low, 0.0), high = std::min(high, static_cast<double>(size - 1));
        if (low == high) high += 0.001;
        return blend(f, 1 - std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0));
      }
      default:
        return f;
    }
  }
  double blend(double f, double kept) const { return f * kept + f / scaling.factor * (1 - kept); }
  // The pair, as a real number, that turns so often in the old context.
  double pair_that_turns(double times) const {
    return size * std::log(scaling.old_context / (times * 2 * std::numbers::pi)) / (2 * std::log(base));
  }
  // With the two of a pair along an axis of their own, so that it is one loop.
  array turned(const array& x, const rotary_angles& by, source_line l) const {
    shape pairs = x.shape();
    pairs[-1] = side_by_side ? size / 2 : 2;
    pairs.push_back(side_by_side ? 2 : size / 2);  // [..., N, 2, size / 2], or the last two in the other order
    const int axis = side_by_side ? -1 : -2, two = pairs.rank() + axis;
    const array sign = (side_by_side ? iota(f32, {1, 2}, 1, l) : iota(f32, {2, 1}, 0, l)) * 2.0f - 1.0f;
    const array v = astype(reshape(x, pairs, l), f32, l);
    const array y = v * expand_dims(by.cosine, axis, l) + reverse(v, {two}, l) * (sign * expand_dims(by.sine, axis, l));
    return astype(reshape(y, x.shape(), l), x.dtype(), l);
  }
};

}  // namespace tokamax::nn
