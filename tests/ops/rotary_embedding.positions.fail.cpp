// expects: shape_error<.*"rotary_embedding: positions".*"i32\[4\]".*"i32 that fits \[2,5\]".*, 14u?>
// tests/ops/rotary_embedding.positions.fail.cpp: positions of another length.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/core/tensor.hpp>
#include <tokamax/runtime/jit.hpp>

namespace tk = tokamax;

constexpr auto f = [](const tk::tensor<tk::f32, 2, 5, 3, 8>& x, const tk::tensor<tk::i32, 4>& p) {
#ifdef TOKAMAX_FIXED
  return tk::rotary_embedding(x, tk::concatenate({p, tk::slice_in_dim(p, 0, 1, 0)}));
#else
  return tk::rotary_embedding(x, p);
#endif
};

int main() { (void)tk::jit(f, tk::cpu_tag{})(tk::tensor<tk::f32, 2, 5, 3, 8>{}, tk::tensor<tk::i32, 4>{}); }
