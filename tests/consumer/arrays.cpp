// tests/consumer/arrays.cpp: arrays of every kind, for the test of what gdb shows.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/lax/convert.hpp>

#include <tokamax/core/tensor.hpp>

namespace tk = tokamax;

[[gnu::noinline]] void look(const tk::array&) { asm volatile(""); }

int main() {
  const tk::array floats = tk::array::from<float>({0, 1, 2, 3, 4, 5, 6, 7}, {2, 4});
  const tk::tensor<tk::i32, 2> tensor(tk::array::from<std::int32_t>({7, -8}));
  const tk::array half = tk::array::from<tk::bfloat16>({tk::bfloat16(0.5f)}), literal = 2.5f;
  const tk::array abstract(tk::array_type{tk::f32, false, {3}});
  tk::array moved = tk::array::from<float>({1, 2});
  const tk::array taken = std::move(moved);
  look(floats);
  return static_cast<int>(taken.size() - 2 + tensor.size() - 2 + half.size() - 1 + literal.size() - 1 +
                          abstract.size() - 3);
}
