// examples/13_attention.cpp: attention with scores and masks of your own. New here: flex_attention.
#include <tokamax/ops/attention/flex_attention.hpp>
#include <tokamax/tokamax.hpp>

#include <fmt/core.h>

namespace tk = tokamax;
using tk::array;

// Attention compares each query with all keys, and averages the values by the softmax of these scores. flex_attention asks
// two functions of yours in between: what the scores become, and which keys each query sees. Both are called once, on whole
// arrays: the scores s and the numbers of the batch entry b, the head h, the query i and the key j have shapes that broadcast
// to [B, N, T, S]. So plain arithmetic is enough.
constexpr int tokens = 6, heads = 2;
struct text {
  tk::tensor<tk::f32, tokens, heads, 4> queries;
  tk::tensor<tk::f32, tokens, 1, 4> keys;  // both heads share keys and values
  tk::tensor<tk::f32, tokens, 1, tokens> values;
};
constexpr auto unchanged = [](const array& s, const auto&...) { return s; };

// A mask: two texts of three tokens lie one after the other. A query sees no later key, and no key of the other text.
constexpr auto within_a_text = [](const array&, const array&, const array& i, const array& j) {
  return tk::logical_and(j <= i, (i < 3) == (j < 3));
};
constexpr auto packed = [](const text& t) {
  return tk::flex_attention(t.queries, t.keys, t.values, unchanged, within_a_text);  // [tokens, heads, tokens]
};

// A score function: each head prefers the keys that lie some tokens back. How many is learnt, because arrays that a function
// captures have gradients.
using distances = tk::tensor<tk::f32, heads>;
constexpr auto look_back = [](const distances& back, const text& t) {
  const auto score = [&](const array& s, const array&, const array&, const array& i, const array& j) {
    return s - tk::square((i - j) - tk::reshape(back, {heads, 1, 1}));
  };
  return tk::flex_attention(t.queries, t.keys, t.values, score, {.is_causal = true});
};

// The first head shall copy the last token, and the second head the one before it.
constexpr auto loss = [](const distances& back, const text& t) {
  const auto from = [](const array& x, int first) { return tk::slice_in_dim(x, first, first + tokens - 2, 0); };
  const array wanted = tk::concatenate({from(t.values, 1), from(t.values, 0)}, 1);  // [tokens - 2, heads, tokens]
  return tk::sum(tk::square(from(look_back(back, t), 2) - wanted));
};
constexpr auto step = [](const distances& back, const text& t) { return back - 0.1f * tk::grad(loss)(back, t); };

int main() {
  const auto [of_queries, of_keys] = tk::random::split(tk::random::key(0));
  const array numbers = tk::arange(tokens), unit = tk::astype(tk::expand_dims(numbers, 1) == numbers, tk::f32);
  // Values that are unit vectors show what attention does: the result of a query is its weights.
  const text t{tk::random::normal(of_queries, {tokens, heads, 4}), tk::random::normal(of_keys, {tokens, 1, 4}),
               tk::expand_dims(unit, 1)};

  const array weights = tk::jit(packed, tk::cpu)(t);
  fmt::print("weights of the first head, two texts:\n");
  for (int i = 0; i < tokens; ++i) {
    for (int j = 0; j < tokens; ++j) fmt::print(" {:.2f}", weights[i][0][j].item());
    fmt::print("\n");
  }

  distances back = tk::zeros({heads});
  const auto run = tk::jit(step, tk::cpu);
  for (int i = 0; i < 100; ++i) back = run(std::move(back), t);
  fmt::print("learnt to look back: {:.2f} and {:.2f} tokens\n", back[0].item(), back[1].item());
}
