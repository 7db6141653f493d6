// tests/core/arguments.fail.cpp: tensors made of arrays of another dtype or shape.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/core/tensor.hpp>
#include <tokamax/lax.hpp>

#include "support/wrong_program.hpp"

using namespace wrong;
using tk::array;

int main() {
  // expects: "tensor: type".*"f32\[3\]".*"bf16\[3\]"
  trace<vector>([](array a) { return tk::tensor<tk::bf16, 3>(pick(a, tk::astype(a, tk::bf16))); });
  // expects: "tensor: type".*"f32\[2,3\]".*"f32\[3,2\]"
  trace<matrix>([](array a) { return tk::tensor<tk::f32, 3, 2>(pick(a, tk::transpose(a)) + 1.0f); });
}
