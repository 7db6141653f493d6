// tokamax/nn/linear/einsum.hpp: a layer that multiplies by a kernel as an equation says.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (linear is what most models use)
// tested by tests/nn/flax_layers.cpp
#pragma once

#include <tokamax/core/scope/layer_scope.hpp>        // layer_scope
#include <tokamax/lax/shapes/reshape.hpp>            // reshape
#include <tokamax/nn/initializers/initializers.hpp>  // initializer, parameter
#include <tokamax/numpy/einsum.hpp>                  // einsum

#include <string_view>  // string_view

namespace tokamax::nn {

/// einsum(equation, x, kernel) + bias: `einsum heads{.equation = "btd,dnh->btnh", .kernel_shape = {24, 3, 8}, .bias_shape = {3, 8}}`.
/// A bias goes along the axes of the result that are axes of the kernel.
///
/// shapes  by the equation; a bias of no axes is none ([0])
/// dtypes  promoted from x and the kernel, or compute_dtype
/// init    kernel lecun_normal, bias zeros
/// errors  "nn::einsum: equation" without an arrow or a second operand, and those of einsum
/// source  flax.nnx.Einsum
struct einsum {
  std::string_view equation = {};
  shape kernel_shape{}, bias_shape{};
  initializer kernel_init = initializers::lecun_normal, bias_init = initializers::zeros;
  dtype compute_dtype = dtype::none, param_dtype = f32;
  array kernel = parameter(kernel_shape, param_dtype);
  array bias = parameter(bias_shape.rank() ? bias_shape : shape{0}, param_dtype);

  constexpr einsum init(const random::key& key) const {
    einsum filled = *this;
    filled.kernel = detail::first_value(kernel_init, random::fold_in(key, 0), kernel);
    filled.bias = detail::first_value(bias_init, random::fold_in(key, 1), bias);
    return filled;
  }
  constexpr array operator()(const array& x, source_line l = source_line::current()) const {
    const layer_scope scope(*this, x);
    const std::size_t comma = equation.find(','), arrow = equation.find("->");
    if (comma == std::string_view::npos || arrow == std::string_view::npos || arrow < comma) {
      reject(x, l, "nn::einsum: equation", equation, "x, the kernel and an arrow, as in \"ab,bc->ac\"");
      return x;
    }
    array left = x, right = kernel, summand = bias;
    if (compute_dtype != dtype::none) {
      left = astype(x, compute_dtype, l), right = astype(kernel, compute_dtype, l);
      summand = astype(bias, compute_dtype, l);
    }
    const array y = tokamax::einsum(equation, left, right, l);
    if (bias_shape.rank() == 0) return y;
    return y + located(reshape(summand,
                               along_kernel(equation.substr(comma + 1, arrow - comma - 1), equation.substr(arrow + 2),
                                            y.rank()),
                               l),
                       l);
  }

 private:
  /// The shape of a bias that broadcasts to the result: extents of the kernel where they have a letter in common, counted from the end.
  constexpr shape along_kernel(std::string_view of_kernel, std::string_view of_result, int rank) const {
    shape s;
    for (int i = 0; i < rank; ++i) s.push_back(1);
    int at = rank;
    for (std::size_t i = of_result.size(); i-- > 0 && at > 0;) {
      const char c = of_result[i];
      if (c == ' ') continue;
      if (c == '.') break;  // the axes of an ellipsis are those of x
      --at;
      int k = 0;
      for (const char name : of_kernel) {
        if (name == c) s[at] = kernel_shape[k];
        k += name != ' ';
      }
    }
    return s;
  }
};

}  // namespace tokamax::nn
