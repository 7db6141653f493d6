// examples/28_lora.cpp: teach a trained GPT a new text with adapters of a few numbers. New here: adapters beside a model, filters
// by layer, a table of layers, merging.
#include <tokamax/nn/lora.hpp>
#include <tokamax/nn/tabulate.hpp>
#include <tokamax/tokamax.hpp>

#include <fmt/core.h>

#include <string_view>

namespace tk = tokamax;
namespace lora = tokamax::lora;
using network = tk::models::gpt;

// Each letter of a text, and the letter that follows it.
std::pair<tk::array, tk::array> letters(std::string_view text) {
  std::vector<std::int32_t> ids;
  for (const char c : text) ids.push_back(c == ' ' ? 0 : c - 'a' + 1);
  const tk::array all = tk::array::from(ids, {1, static_cast<std::int64_t>(ids.size())});
  const std::int64_t n = all.extent(1) - 1;
  return {tk::slice_in_dim(all, 0, n, 1), tk::slice_in_dim(all, 1, n + 1, 1)};
}

const auto loss = [](const network& m, const tk::array& ids, const tk::array& next) {
  return tk::mean(tk::softmax_cross_entropy(m(ids), next));
};

// The same with adapters. They are an argument of their own, so the gradient is with respect to them alone. A product with an adapted
// matrix w is x w + scale * (x a) b, so the step never makes an array of the size of w.
const auto adapted_loss = [](const lora::adapters<network>& a, const network& m, const tk::array& ids,
                             const tk::array& next) { return loss(lora::apply(m, a), ids, next); };

std::int64_t count(const auto& tree) {
  std::int64_t n = 0;
  tk::for_each_leaf([&](const tk::array& a) { n += a.size(); }, tree);
  return n;
}

int main() {
  const auto [first, after_first] = letters("the cat sat on the mat and the dog sat on the log");
  const auto [second, after_second] = letters("peter piper picked a peck of pickled peppers");
  network model =
      tk::init(tk::models::make_gpt({.vocabulary = 27, .context = 64, .width = 32, .heads = 4, .layers = 2}),
               tk::random::key(0));

  // What the model is made of, from one trace.
  fmt::print("{}\n", tk::nn::tabulate({.depth = 2}, model, first));

  const auto optimizer = tk::optim::adamw({.learning_rate = 5e-3});
  const auto step = tk::jit(tk::train::step(loss, optimizer), tk::cpu);
  auto now = tk::train::start(model, optimizer);
  for (int i = 0; i < 60; ++i) now = step(std::move(now), first, after_first).first;
  model = now.model;
  const auto print_losses = [&](std::string_view what, const network& m) {
    fmt::print("{:24} first text {:.2f}, second text {:.2f}\n", what, loss(m, first, after_first).item(),
               loss(m, second, after_second).item());
  };
  print_losses("trained on the first", model);

  // Adapters for the matrices of attention. `of_layer` is a filter by the type of a layer, `matching` one by paths, and filters are
  // joined by &&, || and !. One that selects nothing is an error.
  const auto chosen = tk::of_layer<tk::nn::linear> && tk::matching("blocks[*].attend");
  const lora::adapters<network> start = lora::init(model, chosen, {.rank = 4, .alpha = 8}, tk::random::key(1));
  fmt::print("{} numbers of {} are trained\n", count(start), count(model));

  const auto adapted_optimizer = tk::optim::adamw({.learning_rate = 2e-2});
  const auto adapted_step = tk::jit(tk::train::step(adapted_loss, adapted_optimizer), tk::cpu);
  auto few = tk::train::start(start, adapted_optimizer);
  for (int i = 0; i < 100; ++i) few = adapted_step(std::move(few), model, second, after_second).first;

  // To use them, they are merged into the matrices, and taken out again for the next ones.
  const network merged = lora::merge(model, few.model);
  print_losses("with adapters", merged);
  print_losses("without them again", lora::unmerge(merged, few.model));
}
