// expects: shape_error<.*"matmul: inner extents".*"linear\.inner\.fail\.cpp".*, 17u?, .*"out".*>
// tests/nn/linear/linear.inner.fail.cpp: a mistake inside a layer is reported with the file and line that called it, and its path.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/core/tensor.hpp>
#include <tokamax/nn/linear/linear.hpp>
#include <tokamax/runtime/jit.hpp>

namespace tk = tokamax;

struct network {
#ifdef TOKAMAX_FIXED
  tk::nn::linear hidden{2, 32}, out{32, 1};
#else
  tk::nn::linear hidden{2, 32}, out{30, 1};
#endif
  constexpr tk::array operator()(const tk::array& x) const { return out(tk::tanh(hidden(x))); }
};

constexpr auto apply = [](const network& f, const tk::tensor<tk::f32, 4, 2>& x) { return f(x); };

int main() { (void)tk::jit(apply, tk::cpu)(network{}, tk::tensor<tk::f32, 4, 2>{}); }
