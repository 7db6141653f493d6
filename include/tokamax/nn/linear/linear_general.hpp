// tokamax/nn/linear/linear_general.hpp: a linear layer over several axes at once.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (linear is what most models use)
// tested by tests/nn/flax_layers.cpp
#pragma once

#include <tokamax/core/scope/layer_scope.hpp>        // layer_scope
#include <tokamax/lax/dot_general.hpp>               // dot_general
#include <tokamax/nn/initializers/initializers.hpp>  // initializer, parameter

namespace tokamax::nn {

namespace detail {
constexpr shape joined(shape a, const shape& b) {
  for (std::int64_t e : b) a.push_back(e);
  return a;
}
}  // namespace detail

/// The sum of products over some axes of x, with a kernel for each entry of its batch axes:
/// `linear_general heads{.in = {24}, .out = {3, 8}}` makes heads of features, `{.in = {3, 8}, .out = {24}, .over = {-2, -1}}` joins them.
///
/// shapes  x [batch..., ..., in...] with `in` on the axes `over`, in their order -> [batch..., ..., out...]; kernel [batch..., in...,
///         out...], bias [batch..., out...] ([0] without one)
/// dtypes  promoted from x and the kernel, or compute_dtype
/// init    kernel lecun_normal as of the matrix [product of batch and in, product of out], bias zeros
/// errors  "linear_general: axes" if there are not as many of `over` as of `in`, or x has other extents
/// source  flax.nnx.LinearGeneral
struct linear_general {
  shape in{}, out{};
  axes over{-1};
  shape batch{};  ///< the extents of the leading axes of x that have kernels of their own
  bool use_bias = true;
  initializer kernel_init = initializers::lecun_normal, bias_init = initializers::zeros;
  dtype compute_dtype = dtype::none, param_dtype = f32;
  array kernel = parameter(detail::joined(detail::joined(batch, in), out), param_dtype);
  array bias = parameter(use_bias ? detail::joined(batch, out) : shape{0}, param_dtype);

  constexpr linear_general init(const random::key& key) const {
    linear_general filled = *this;
    const array flat = parameter({size(batch) * size(in), size(out)}, param_dtype);
    filled.kernel = reshape(detail::first_value(kernel_init, random::fold_in(key, 0), flat), kernel.shape());
    const array row = parameter({bias.size()}, param_dtype);
    filled.bias = reshape(detail::first_value(bias_init, random::fold_in(key, 1), row), bias.shape());
    return filled;
  }
  constexpr array operator()(const array& x, source_line l = source_line::current()) const {
    const layer_scope scope(*this, x);
    const int batches = batch.rank();
    dot_dimensions d;
    bool fits = over.rank() == in.rank() && x.rank() >= batches + in.rank();
    for (int i = 0; fits && i < batches; ++i) {
      d.lhs_batch.push_back(i);
      d.rhs_batch.push_back(i);
      fits = x.extent(i) == batch[i];
    }
    for (int i = 0; fits && i < in.rank(); ++i) {
      const int a = checked_axis("linear_general: axes", over[i], x, l);
      d.lhs_contracting.push_back(a);
      d.rhs_contracting.push_back(batches + i);
      fits = a >= batches && x.extent(a) == in[i];
    }
    if (!fits) {
      reject(x, l, "linear_general: axes", x.type(),
             message("extents ") << batch << in << " on the first axes and on " << static_cast<const shape&>(over));
      return x;
    }
    array left = x, right = kernel, summand = bias;
    if (compute_dtype != dtype::none) {
      left = astype(x, compute_dtype, l), right = astype(kernel, compute_dtype, l);
      summand = astype(bias, compute_dtype, l);
    }
    const array y = dot_general(left, right, d, l);
    if (!use_bias) return y;
    shape between = batch;  // the axes of x that are neither batch nor summed over
    for (int i = batches + in.rank(); i < x.rank(); ++i) between.push_back(1);
    return y + located(reshape(summand, detail::joined(between, out), l), l);
  }
};

}  // namespace tokamax::nn
