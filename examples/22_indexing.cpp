// examples/22_indexing.cpp: read and write parts of arrays. New here: x(...), masks, x.at(...).set, gradients of lookups.
#include <tokamax/tokamax.hpp>

#include <fmt/core.h>

namespace tk = tokamax;
using tk::array;

void print(const char* name, const array& a) {
  fmt::print("{:<33} {:<9}", name, std::string(tk::message(a.type()).view()));
  const array numbers = tk::astype(a, tk::f32);
  for (float v : numbers.values<float>()) fmt::print(" {:g}", v);
  fmt::print("\n");
}

// A table of vectors, looked up by number, is what a model knows of its words. Number 9 is not in the table.
constexpr auto lookups = [](const array& table) {  // [4, 2]
  return tk::sum(table(array{2, 0, 2, 9}));
};
// An element that is overwritten has no say in the result.
constexpr auto overwritten = [](const array& v) { return tk::sum(tk::square(v.at(tk::range{1, 3}).set(0.5f))); };
// In a program shapes are fixed, so a mask comes with the number of elements that it may find.
constexpr auto first_three_above = [](const array& v, const array& limit) {
  return v.at(tk::masked(v > limit, 3)).get({.mode = tk::index_mode::fill, .fill_value = 0});
};

int main() {
  const array x = tk::reshape(tk::arange(12), {3, 4});  // 0 1 2 3 / 4 5 6 7 / 8 9 10 11

  // Brackets take numbers and ranges, for each axis one. A number that is not there is an error.
  print("x[1]", x[1]);
  print("x[{whole, -1}]", x[{tk::whole, -1}]);
  print("x[{range{0, 3, 2}, range{1, 3}}]", x[{tk::range{0, 3, 2}, tk::range{1, 3}}]);
  try {
    print("x[3]", x[3]);
  } catch (const tk::error& e) {
    fmt::print("x[3]: {}: found {}, expected {}\n", e.subject, e.found, e.expected);
  }

  // Parentheses take what NumPy's brackets take: steps back, new axes, an ellipsis, and arrays of indices.
  const array rows{2, 0, -1}, columns{3, 1, 0};
  print("x(whole, every(-1))", x(tk::whole, tk::every(-1)));
  print("x(ellipsis, 0, newaxis)", x(tk::ellipsis, 0, tk::newaxis));
  print("x(rows)", x(rows));
  print("x(rows, columns)", x(rows, columns));                                   // pairs
  print("x(rows[:, None], columns)", x(rows(tk::whole, tk::newaxis), columns));  // all rows with all columns
  print("x(x > 8)", x(x > 8));

  // Arrays do not change. `at` makes a new one, for which a program reuses the memory of one that it no longer needs.
  const array v{5.0f, 1.0f, 4.0f, 2.0f, 3.0f};
  print("v.at(range{1, 3}).set(0)", v.at(tk::range{1, 3}).set(0));
  print("v.at(v > 2.5).multiply(10)", v.at(v > 2.5f).multiply(10));
  print("v.at({0, 1}).max(2)", v.at(array{0, 1}).max(2));
  // An element that is named twice gets both numbers: a histogram.
  print("counts of 0 2 2 1 2", tk::zeros({4}, tk::i32).at(array{0, 2, 2, 1, 2}).add(1));

  // Outside of the array JAX reads the nearest element and writes nothing, because a GPU cannot stop to complain.
  print("v(7)", v(7));
  print("v.at(7).set(0)", v.at(7).set(0));
  print("v.at({0, 7}).get(fill)", v.at(array{0, 7}).get({.mode = tk::index_mode::fill, .fill_value = -1}));

  const auto compiled = tk::jit(first_three_above, tk::cpu);
  print("first three above 2.5", compiled(v, array(2.5f)));
  print("first three above 3.5", compiled(v, array(3.5f)));

  // A lookup is differentiated by adding to where it read. Row 2 was read twice. Row 9 is not there and gets nothing.
  print("gradient of lookups", tk::grad(lookups)(tk::ones({4, 2})));
  print("gradient of overwritten", tk::grad(overwritten)(v));
}
