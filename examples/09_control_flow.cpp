// examples/09_control_flow.cpp: loops and branches on values. New here: while_loop, fori_loop, cond, switch_, scan.
#include <tokamax/tokamax.hpp>

#include <fmt/core.h>

namespace tk = tokamax;
using tk::array;

// C++'s own `if` and `for` are decided while a function is traced. Loops and branches that depend on values must become
// parts of the program, and these functions do that.

// Counts the steps 3 n + 1 or n / 2 until n is 1. Their number depends on the value of n.
constexpr auto collatz = [](const array& n) {
  const auto go_on = [](const std::pair<array, array>& s) { return s.first != 1; };
  const auto next = [](const std::pair<array, array>& s) {
    const auto [value, steps] = s;
    const array after = tk::cond(
        tk::remainder(value, 2) == 0, [](const array& v) { return tk::floor_divide(v, 2); },
        [](const array& v) { return 3 * v + 1; }, value);
    return std::pair{after, steps + 1};
  };
  return tk::while_loop(go_on, next, std::pair{n, tk::zeros({}, tk::i32)}).second;
};

// A loop with a known number of steps has a gradient, which goes back through its body. This one computes x^(2^4).
constexpr auto power_16 = [](const array& x) {
  return tk::fori_loop(0, 4, [](const array&, const array& y) { return y * y; }, x);
};

// One of several functions, chosen by a number.
constexpr auto activate = [](const array& which, const array& x) {
  return tk::switch_(which,
                     std::tuple{[](const array& v) { return tk::maximum(v, 0.0f); },
                                [](const array& v) { return tk::tanh(v); }, [](const array& v) { return v; }},
                     x);
};

// A loop over a sequence that returns a value a step: all prefixes of a product. As a product is associative, they can also
// be had in about 2 log2(n) steps on whole slices instead of n steps one after the other.
constexpr auto times = [](const array& a, const array& b) { return a * b; };
constexpr auto products = [](const array& xs) {
  const auto step = [](const array& so_far, const array& x) {
    const array next = times(so_far, x);
    return std::pair{next, next};
  };
  return tk::scan(step, tk::ones({}), xs).second;
};

template <class T>
void print(const char* name, const array& a) {
  fmt::print("{:<22}", name);
  for (const T v : a.values<T>()) fmt::print(" {:g}", static_cast<double>(v));
  fmt::print("\n");
}

int main() {
  const auto compiled = tk::jit(collatz, tk::cpu);
  fmt::print("{:<22} {}\n", "steps from 27", compiled(array(27)).item<int>());
  // Under vmap each example takes as many steps as it needs.
  const array starts{1, 2, 3, 6, 7, 9, 27};
  print<std::int32_t>("steps from each", tk::vmap(collatz)(starts));

  print<float>("x^16", tk::vmap(power_16)(array{0.5f, 1.0f, 1.5f}));
  print<float>("its gradient, 16 x^15", tk::vmap(tk::grad(power_16))(array{0.5f, 1.0f, 1.5f}));

  print<float>("products", products(array{1.0f, 2.0f, 3.0f, 4.0f}));
  print<float>("in few large steps", tk::associative_scan(times, array{1.0f, 2.0f, 3.0f, 4.0f}));

  const array x{-1.0f, 0.5f};
  for (int which : {0, 1, 2}) print<float>(fmt::format("activation {}", which).c_str(), activate(array(which), x));
  // The gradient goes through the branch that was taken.
  const auto slope = tk::grad([](const array& v, const array& which) { return tk::sum(activate(which, v)); });
  print<float>("gradient of the first", slope(x, array(0)));
}
