// examples/08_checkpoint.cpp: stop a run, go on later, get the same bits. New here: checkpoints and data positions.
#include <tokamax/checkpoint.hpp>
#include <tokamax/data.hpp>
#include <tokamax/tokamax.hpp>

#include <fmt/core.h>

namespace tk = tokamax;

struct batch {
  tk::tensor<tk::i32, 16, 8> inputs, targets;
};
struct bigrams {  // predicts the next byte from the last byte only
  tk::nn::embed logits{256, 256};
};
constexpr auto loss = [](const bigrams& m, const batch& b) {
  return tk::mean(tk::softmax_cross_entropy(m.logits(b.inputs), b.targets));
};
constexpr auto optimizer = tk::optim::adam({.learning_rate = 1e-1});
using state = tk::train::state<bigrams, optimizer>;

// Trains up to step `last`, from the folder's latest checkpoint if there is one, and returns the last loss.
float train(const std::filesystem::path& folder, std::int64_t last) {
  const auto batches = tk::data::tokens("the quick brown fox jumps over the lazy dog. the dog does not mind at all.") |
                       tk::data::windows(9) | tk::data::shuffle({.seed = 3}) | tk::data::batch<batch>(16);
  const auto run = tk::jit(tk::train::step<loss, optimizer>(), tk::cpu);
  tk::checkpoint::manager checkpoints(folder, {.every = 10, .keep = 2});
  state s{tk::init<bigrams>(tk::random::key(0))};
  tk::data::position at;
  if (const auto saved = checkpoints.restore(s)) at = saved->get<tk::data::position>("position");
  auto reader = batches.from(at);
  float value = 0;
  for (std::int64_t i = tk::data::step_of(at, batches.size()) + 1; i <= last; ++i) {
    auto [next, l] = run(std::move(s), reader.next().value);
    s = std::move(next);
    value = l.item();
    checkpoints.save(i, s, tk::checkpoint::metadata{}.set("position", reader.position()));
  }
  fmt::print("{:<8} to step {}  loss {:.6f}\n", folder.filename().string(), last, value);
  return value;
}

int main() {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "tokamax_08_checkpoint";
  std::filesystem::remove_all(folder);
  const float straight = train(folder / "straight", 40);
  train(folder / "stopped", 25);                        // saved at steps 10 and 20
  const float resumed = train(folder / "stopped", 40);  // goes on at step 21
  fmt::print("the same bits: {}\n", straight == resumed ? "yes" : "no");
  try {
    tk::array other;
    tk::checkpoint::restore(folder / "stopped" / "40", other);
  } catch (const tk::error& e) {
    fmt::print("another tree: {}\n", e.subject);
  }
  std::filesystem::remove_all(folder);
}
