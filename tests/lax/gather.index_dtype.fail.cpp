// expects: shape_error<.*"gather: index dtype".*"f32\[2\]".*"i32".*, 14u?>
// tests/lax/gather.index_dtype.fail.cpp: floating indices.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/core/tensor.hpp>
#include <tokamax/runtime/jit.hpp>

namespace tk = tokamax;

constexpr auto f = [](const tk::tensor<tk::f32, 4, 3>& a, const tk::tensor<tk::f32, 2>& b) {
#ifdef TOKAMAX_FIXED
  return tk::gather(a, tk::astype(b, tk::i32));
#else
  return tk::gather(a, b);
#endif
};

int main() { (void)tk::jit(f, tk::cpu_tag{})(tk::tensor<tk::f32, 4, 3>{}, tk::tensor<tk::f32, 2>{}); }
