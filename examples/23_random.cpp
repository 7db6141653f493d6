// examples/23_random.cpp: random numbers that are the same in every run. New here: split, fold_in, samplers, key_reuse_check.
#include <tokamax/tokamax.hpp>

#include <fmt/core.h>

namespace tk = tokamax;
using tk::array;

void print(const char* name, const array& a) {
  fmt::print("{:<24}", name);
  const array numbers = tk::astype(a, tk::f32);
  for (float v : numbers.values<float>()) fmt::print(" {:.4g}", v);
  fmt::print("\n");
}
bool same(const array& a, const array& b) { return tk::all(a == b).item<bool>(); }

// A random walk. There is no generator with a hidden state whose numbers are given out in some order: each walk has a key,
// and each of its steps makes another one by its number. So it does not matter who computes which of them, or when.
constexpr auto walk = [](const tk::random::key& k) {
  const auto step = [&](const array& i, const array& place) {
    return place + tk::astype(tk::random::rademacher(tk::random::fold_in(k, i)), tk::f32);
  };
  return tk::fori_loop(0, 100, step, tk::zeros({}));
};
constexpr auto thousand_walks = [](const tk::random::key& k) {
  return tk::vmap(walk)(tk::random::key(tk::random::split(k, {1000})));
};

// The price of the right to buy at 100 in a year what costs `price` today and wanders by 20 % a year, by Monte Carlo.
// The samples are functions of the price, so their mean has a gradient. To a bank that is the number of shares to hold.
constexpr int batches = 64, draws = 4096;
constexpr auto option = [](const array& price, const tk::random::key& k) {
  const auto batch = [&](const array& i, const array& total) {
    const array z = tk::random::normal(tk::random::fold_in(k, i), {draws});
    return total + tk::mean(tk::maximum(price * tk::exp(0.2f * z - 0.02f) - 100.0f, 0.0f));
  };
  return tk::fori_loop(0, batches, batch, tk::zeros({})) / batches;
};
// The same by the formula of Black and Scholes.
constexpr auto exact = [](const array& price) {
  const auto below = [](const array& x) { return 0.5f + 0.5f * tk::erf(x * 0.70710678f); };  // of a normal sample
  const array d = tk::log(price / 100.0f) / 0.2f + 0.1f;
  return price * below(d) - 100.0f * below(d - 0.2f);
};

int main() {
  // A key is a value. It gives the same numbers each time, and these are the bits that JAX draws for the seed 0.
  const tk::random::key root(0);
  print("normal", tk::random::normal(root, {4}));
  print("normal again", tk::random::normal(root, {4}));

  // New keys are made of old ones: some at once, or one for each number.
  const auto [a, b, c, d] = tk::random::split<4>(root);
  print("uniform in [-1, 1)", tk::random::uniform(a, {4}, tk::f32, -1, 1));
  print("dice", tk::random::randint(b, {10}, 1, 7));
  print("cards", tk::random::permutation(c, 10));
  const array odds = tk::log(array{0.7f, 0.2f, 0.1f});
  print("0, 1 or 2 by odds", tk::random::categorical(d, tk::broadcast_to(odds, {10, 3})));
  for (int epoch : {0, 1}) print("order of an epoch", tk::random::permutation(tk::random::fold_in(root, epoch), 10));

  // A sample is a function like others, so all ways to run it give the same bits.
  const array walks = tk::jit(thousand_walks, tk::cpu)(root), keys = tk::random::split(root, {1000});
  print("three of 1000 walks", walks[{tk::range{7, 10}}]);
  fmt::print("walk 7 alone is the same: {}\n", same(walk(tk::random::key(keys[7])), walks[7]));
  fmt::print("the root of their mean square, which should be near 10: {:.1f}\n",
             tk::sqrt(tk::mean(walks * walks)).item());

  // Two samples of one key are not independent. While a check lives, the second use of a key is an error with both places.
  const tk::random::key_reuse_check watch;
  const tk::random::key noise(1);
  const array first = tk::random::normal(noise, {3});
  try {
    print("noise", first + tk::random::uniform(noise, {3}));
  } catch (const tk::error& e) {
    fmt::print("{}: found {}, expected {}\n", e.subject, e.found, e.expected);
  }

  const auto [price, shares] = tk::jit(tk::value_and_grad(option), tk::cpu)(array(100.0f), tk::random::key(2));
  fmt::print("{} draws: price {:.1f}, shares {:.2f}\n", batches * draws, price.item(), shares.item());
  fmt::print("exact:        price {:.1f}, shares {:.2f}\n", exact(array(100.0f)).item(),
             tk::grad(exact)(array(100.0f)).item());
}
