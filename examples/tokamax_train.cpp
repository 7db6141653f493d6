// examples/tokamax_train.cpp: trains a GPT of any size on any text, with checkpoints, and samples from it.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu/roofline.hpp>
#include <tokamax/checkpoint.hpp>
#include <tokamax/data.hpp>
#include <tokamax/profile.hpp>
#include <tokamax/tokamax.hpp>
#include <tokamax/train/loss_curve.hpp>
#include <tokamax/train/metrics.hpp>
#include <tokamax/train/progress.hpp>

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <filesystem>
#include <optional>

namespace tk = tokamax;

struct settings {
  std::string data, out = "runs/gpt", sample = "\n";
  tk::train::gpt_config model;
  std::int64_t batch = 12, steps = 1200, warmup = 100, eval_every = 200, eval_batches = 20, save_every = 200;
  double learning_rate = 1e-3, final_rate = 1e-4, weight_decay = 0.1, clip = 1.0;
  int seed = 1337, threads = 0, sample_tokens = 400;
  bool resume = false, characters = false, profile = false;
};

struct example {
  tk::array inputs, targets;  // i32 [B, T]
};

double mean_loss(const auto& loss, const auto& model, const auto& batches, std::int64_t count) {
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += loss(model, batches[i]).template item<double>();
  return sum / static_cast<double>(count);
}

int run(const settings& s) {
  tk::simd::set_num_threads(s.threads);
  const std::filesystem::path out = s.out, metrics_path = out / "metrics.jsonl";
  const tk::data::tokens text = tk::data::text(s.data);
  const tk::data::vocabulary symbols = s.characters ? tk::data::characters(text) : tk::data::byte_vocabulary();
  const auto [train, validation] = tk::data::text_split(symbols.encode(text));

  tk::train::gpt_config size = s.model;
  size.vocabulary = static_cast<int>(symbols.size());
  const auto examples = [&](const tk::data::tokens& t, int seed) {
    return t | tk::data::random_windows(size.context + 1, {.seed = static_cast<std::uint64_t>(seed)}) |
           tk::data::batch<example>(s.batch);
  };
  const auto batches = examples(train, s.seed), held_out = examples(validation, s.seed + 1);

  const auto loss = [](const tk::train::gpt& m, const example& e) {
    return tk::mean(tk::softmax_cross_entropy(m(e.inputs), e.targets));
  };
  const auto optimizer = tk::optim::chain(
      tk::optim::clip_by_global_norm(s.clip),
      tk::optim::adamw({.learning_rate = tk::optim::warmup_cosine(
                            {.peak = s.learning_rate, .warmup = s.warmup, .total = s.steps, .end = s.final_rate}),
                        .b2 = 0.99,
                        .weight_decay = s.weight_decay,
                        .only = tk::optim::matrices}));
  const tk::train::gpt model = tk::init(tk::train::make_gpt(size), tk::random::key(s.seed));
  struct state {
    tk::train::gpt model;
    decltype(optimizer.init(model)) memory;  // of the optimizer
  } now{model, optimizer.init(model)};
  const auto step = tk::jit(
      [&](state t, const example& e) {
        auto [value, grads] = tk::value_and_grad(loss)(t.model, e);
        auto [updates, next] = optimizer.update(grads, t.memory, t.model);
        return std::pair{state{tk::optim::apply_updates(t.model, updates), next}, value};
      },
      tk::cpu);
  const auto evaluate = tk::jit(loss, tk::cpu);

  std::filesystem::create_directories(out);
  tk::checkpoint::manager checkpoints(out / "checkpoints", {.every = s.save_every, .keep = 2});
  std::int64_t first = 0;
  if (s.resume)
    if (const auto saved = checkpoints.restore(now)) first = saved->step;
  tk::train::metrics_file metrics(metrics_path, first);
  std::int64_t parameters = 0;
  tk::for_each_leaf([&](const tk::array& a) { parameters += a.size(); }, now.model);
  fmt::print("{}: {} tokens, {} symbols; {} parameters; {}\n", s.data, text.size(), symbols.size(), parameters,
             first ? fmt::format("resumed at step {}", first) : "from the start");

  tk::train::progress progress(first, s.steps, s.batch * size.context);
  auto reader = (batches | tk::data::prefetch(4)).from({first / batches.size(), first % batches.size()});
  double held_out_loss = 0;
  for (std::int64_t i = first + 1; i <= s.steps; ++i) {
    example batch = reader.next().value;
    std::optional<tk::profile::timeline> recording;
    if (s.profile && i == std::min(first + 3, s.steps)) recording.emplace();  // caches and memory are warm by then
    auto [next, value] = step(std::move(now), batch);  // the move gives the buffers to the next state
    now = std::move(next);
    if (recording) {
      fmt::print("\nstep {}\n{}", i, tk::profile::to_text(recording->events(), tk::measure_roofline()));
      tk::profile::write_trace(recording->events(), out / "trace.json");
      recording.reset();
    }
    progress.step(i, [&] { return value.item(); });
    if (i % s.eval_every == 0 || i == s.steps) {
      held_out_loss = mean_loss(evaluate, now.model, held_out, s.eval_batches);
      metrics.write(i, {{"loss", value.item()}, {"validation_loss", held_out_loss}});
    } else {
      metrics.write(i, {{"loss", value.item()}});
    }
    if (i == s.steps)
      checkpoints.save_now(i, now);
    else
      checkpoints.save(i, now);
  }
  tk::train::draw_curves(out / "loss.svg", "loss (nats per symbol)",
                         {{"training", "#9bb8d3", tk::train::metrics_file::series(metrics_path, "loss")},
                          {"validation", "#c0392b", tk::train::metrics_file::series(metrics_path, "validation_loss")}});
  if (first < s.steps)
    fmt::print("validation loss {:.4f} after {} steps, {}\n", held_out_loss, s.steps,
               tk::train::progress::duration(progress.seconds()));

  const auto logits = tk::jit([](const tk::train::gpt& m, const tk::array& ids) { return m(ids); }, tk::cpu);
  const auto continued =
      tk::train::generate([&](const tk::array& ids) { return logits(now.model, ids); }, symbols.encode(s.sample),
                          size.context, {.count = s.sample_tokens, .seed = static_cast<std::uint32_t>(s.seed)});
  fmt::print("\n--- sample ---\n{}\n--------------\n", symbols.decode(continued));
  fmt::print("in {}: checkpoints/, metrics.jsonl, loss.svg\n", s.out);
  return 0;
}

int main(int argc, char** argv) {
  settings s;
  CLI::App app("Trains a GPT on a text file.");
  const auto add = [&](const char* name, auto& value, const char* about) {
    return app.add_option(name, value, about)->capture_default_str();
  };
  add("--data", s.data, "text file to learn")->required();
  add("--out", s.out, "folder for checkpoints, metrics and the loss curve");
  add("--layers", s.model.layers, "transformer blocks");
  add("--width", s.model.width, "size of a token's vector");
  add("--heads", s.model.heads, "attention heads; they divide the width");
  add("--context", s.model.context, "tokens that a prediction can look at");
  add("--batch", s.batch, "windows a step");
  add("--steps", s.steps, "training steps in all");
  add("--warmup", s.warmup, "steps over which the learning rate rises");
  add("--learning-rate", s.learning_rate, "highest learning rate");
  add("--final-rate", s.final_rate, "learning rate at the end of the cosine");
  add("--weight-decay", s.weight_decay, "decoupled decay of matrices");
  add("--clip", s.clip, "largest global norm of the gradient");
  add("--eval-every", s.eval_every, "steps between validation losses");
  add("--save-every", s.save_every, "steps between checkpoints");
  add("--seed", s.seed, "seed of everything random");
  add("--threads", s.threads, "threads; 0 takes all");
  add("--sample", s.sample, "text to continue at the end");
  add("--sample-tokens", s.sample_tokens, "length of the sample");
  app.add_flag("--resume", s.resume, "go on from the latest checkpoint in the folder");
  app.add_flag("--profile", s.profile,
               "print what the third step spends its time on, and write trace.json for Perfetto");
  app.add_flag("--characters", s.characters, "learn the text's own symbols instead of all bytes");
  CLI11_PARSE(app, argc, argv);
  try {
    return run(s);
  } catch (const tk::error& e) {
    fmt::print(stderr, "tokamax_train: {}\n", e.what());
    return 1;
  }
}
