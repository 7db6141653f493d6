// examples/07_train_gpt.cpp: train a small GPT on a text. New here: a data pipeline, a chain of gradient transforms, train::step.
#include <tokamax/data.hpp>
#include <tokamax/tokamax.hpp>

#include <fmt/core.h>

namespace tk = tokamax;

constexpr int batch_size = 8;
constexpr tk::models::gpt_config size{.vocabulary = 256, .context = 32, .width = 32, .heads = 2, .layers = 2};
using gpt = tk::models::fixed_gpt<size>;  // its size is part of its type, so its training step is compiled
struct batch {
  tk::tensor<tk::i32, batch_size, size.context> inputs, targets;  // targets: the inputs one token later
};
constexpr auto loss = [](const gpt& model, const batch& b) {
  return tk::mean(tk::softmax_cross_entropy(model(b.inputs), b.targets));
};
constexpr auto optimizer = tk::optim::chain(
    tk::optim::clip_by_global_norm(1.0),
    tk::optim::adamw({.learning_rate = tk::optim::warmup_cosine({.peak = 4e-3, .warmup = 20, .total = 300})}));
using state = tk::train::state<gpt, optimizer>;

// A text to learn when no file is given: sums such as "3+4=7".
std::string sums() {
  std::string text;
  for (int i = 0; i < 4000; ++i) {
    const int a = i * 7 % 10, b = i * 3 % 11 % 10;
    text += fmt::format("{}+{}={}\n", a, b, a + b);
  }
  return text;
}

int main(int argc, char** argv) {
  const tk::data::tokens text = argc > 1 ? tk::data::text(argv[1]) : tk::data::tokens(sums());
  auto batches = text | tk::data::windows(size.context + 1) | tk::data::shuffle({.seed = 0}) |
                 tk::data::batch<batch>(batch_size) | tk::data::prefetch(2);
  const gpt model = tk::init<gpt>(tk::random::key(42));
  state s{model, optimizer.init(model)};
  const auto step =  // what 06_classifier writes out; traced, differentiated, fused and planned while compiling
      tk::jit(tk::train::step<loss, optimizer>(), tk::cpu, tk::while_compiling);
  for (const auto& [i, b] : batches.from()) {
    auto [next, value] = step(std::move(s), b);  // the move gives the buffers to the next state
    s = std::move(next);
    if (i % 100 == 0) fmt::print("step {:3}  loss {:.3f}\n", i, value.item());
    if (i == 300) break;
  }
  const auto symbols = tk::data::byte_vocabulary();
  const auto logits =
      tk::jit([](const gpt& m, const tk::tensor<tk::i32, 1, size.context>& ids) { return m(ids); }, tk::cpu);
  const auto next = [&](const tk::array& ids) { return logits(s.model, tk::tensor<tk::i32, 1, size.context>(ids)); };
  const auto prompt = symbols.encode(std::string_view("1+1=2\n3+4="));
  fmt::print("{}\n", symbols.decode(tk::train::generate(next, prompt, size.context, {.count = 18, .temperature = 0})));
}
