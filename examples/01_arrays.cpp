// examples/01_arrays.cpp: arrays, broadcasting, reductions. New here: array, operators, sum, matmul.
#include <tokamax/tokamax.hpp>

#include <fmt/core.h>

namespace tk = tokamax;

void print(const char* name, const tk::array& a) {
  fmt::print("{} {} = [", name, tk::message(a.type()).view());
  const tk::array numbers = tk::astype(a, tk::f32);
  for (float v : numbers.values<float>()) fmt::print(" {:.4g}", v);
  fmt::print(" ]\n");
}

int main() {
  const tk::array x = tk::array::from<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  print("x", x);
  print("x * 10 + row", x * 10 + tk::arange(3));                      // [2, 3] and [3] broadcast; i32 is promoted
  print("row means", tk::mean(x, {.axis = {-1}, .keepdims = true}));  // [2, 1]
  print("x x^T", tk::matmul(x, tk::transpose(x)));                    // [2, 3] x [3, 2]
  print("exp(-x) > 0.1", tk::exp(-x) > 0.1);                          // bool
  const auto [key, unused] = tk::random::split(tk::random::key(0));   // keys are values: same key, same numbers
  print("uniform", tk::random::uniform(key, {4}));
  try {
    print("wrong", tk::matmul(x, x));
  } catch (const tk::error& e) {
    fmt::print("error: {}: found {}, expected {}\n", e.subject, e.found, e.expected);
  }
}
