// examples/tokamax_train_options.hpp: the options of tokamax_train, each checked by its name.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/error.hpp>

#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

struct settings {
  std::string data, out = "runs/gpt", device = "cpu";
  std::optional<std::string> sample, simulate;
  std::int64_t layers = 4, width = 128, heads = 4, context = 64;
  std::int64_t batch = 12, steps = 1200, eval_every = 200, eval_batches = 20, save_every = 200, seed = 1337,
               threads = 0;
  std::optional<std::int64_t> warmup;  // the default is 100, or half of the steps if that is less
  std::int64_t sample_tokens = 400;
  double learning_rate = 1e-3, final_rate = 1e-4, weight_decay = 0.1, clip = 1.0;
  bool resume = false, allow_changes = false, characters = false, profile = false, bf16 = false;

  std::int64_t warmup_steps() const { return warmup.value_or(std::min<std::int64_t>(100, steps / 2)); }
};

/// Calls `visit` with the name, the value, the range and the meaning of each option that is a number.
template <class Settings>
void for_each_number(Settings& s, const auto& visit) {
  visit("--layers", s.layers, 1, 10000, "transformer blocks");
  visit("--width", s.width, 1, 1 << 20, "size of a token's vector");
  visit("--heads", s.heads, 1, s.width, "attention heads; they divide the width");
  visit("--context", s.context, 1, 1 << 24, "tokens that a prediction can look at");
  visit("--batch", s.batch, 1, 1 << 24, "windows a step");
  visit("--steps", s.steps, 1, 2000000000, "training steps in all");
  visit("--learning-rate", s.learning_rate, 1e-30, 1e6, "highest learning rate");
  visit("--final-rate", s.final_rate, 0.0, 1e6, "learning rate at the end of the cosine");
  visit("--weight-decay", s.weight_decay, 0.0, 1e6, "decoupled decay of matrices");
  visit("--clip", s.clip, 1e-30, 1e30, "largest global norm of the gradient");
  visit("--eval-every", s.eval_every, 1, 2000000000, "steps between validation losses");
  visit("--save-every", s.save_every, 1, 2000000000, "steps between checkpoints");
  visit("--seed", s.seed, 0, 2000000000, "seed of everything random");
  visit("--threads", s.threads, 0, 1024, "threads; 0 takes all");
  visit("--sample-tokens", s.sample_tokens, 0, 100000000, "length of the sample");
}

/// Declares the options; `s` gets their values when the command line is parsed.
inline void declare_options(CLI::App& app, settings& s) {
  app.add_option("--data", s.data, "text file to learn")->required();
  app.add_option("--out", s.out,
                 "folder for checkpoints, metrics and the loss curve; one that no run has used, unless --resume")
      ->capture_default_str();
  for_each_number(s, [&](const char* name, auto& value, auto, auto, const char* about) {
    app.add_option(name, value, about)->capture_default_str();
  });
  app.add_option("--device", s.device, "where it is trained: cpu, cuda, or cuda:N; a run may go on elsewhere")
      ->capture_default_str();
  app.add_option("--warmup", s.warmup, "steps over which the learning rate rises [100, or half of few steps]");
  app.add_option("--sample", s.sample, "text to continue at the end [a new line, or the text's first symbol]");
  CLI::Option* resume = app.add_flag("--resume", s.resume, "go on from the latest checkpoint in the folder");
  app.add_flag("--allow-changes", s.allow_changes, "resume although the model, the text or other settings differ")
      ->needs(resume);
  app.add_flag("--profile", s.profile,
               "print what bounds the third to seventh step, and write profile.html, a page about it");
  app.add_option("--simulate", s.simulate,
                 "print what a step would cost on a TPU: v4, v5e, v5p, v6e, tpu7x, or toy8x8 with 64 cells");
  app.add_flag("--bf16", s.bf16, "compute in bfloat16; weights, sums and losses stay in 32 bits");
  app.add_flag("--characters", s.characters, "learn the text's own symbols instead of all bytes");
  app.footer(
      "SIGINT and SIGTERM end the run after the current step, with a checkpoint; the exit status is 128 and the\n"
      "signal's number then (130, 143). It is 1 after an error.");
}

/// errors  tokamax::error that names the option whose value cannot be used
inline void check_options(const settings& s) {
  if (s.data.empty()) throw tokamax::error("--data", "no name", "the name of a file");
  if (s.out.empty()) throw tokamax::error("--out", "no name", "the name of a folder");
  const auto check = [](const char* option, auto value, auto low, auto high, const char* = "") {
    if (!(value >= low && value <= high))  // nan fails too
      throw tokamax::error(option, fmt::format("{}", value), fmt::format("{} to {}", low, high));
  };
  for_each_number(s, check);
  check("--warmup", s.warmup_steps(), std::int64_t{0}, s.steps - 1);
  if (s.width % s.heads != 0)
    throw tokamax::error("--heads", std::to_string(s.heads), fmt::format("a divisor of the width {}", s.width));
}

/// A lower bound for the memory of a training step: weights, gradients, two moments, and logits with their gradient.
/// errors  tokamax::error if the machine has less
inline void check_memory(const settings& s, std::int64_t vocabulary) {
  const auto layers = static_cast<double>(s.layers), width = static_cast<double>(s.width),
             context = static_cast<double>(s.context), symbols = static_cast<double>(vocabulary);
  const double parameters = (symbols + context) * width + layers * (12 * width + 13) * width + 2 * width;
  const double needed = 4 * (4 * parameters + 2 * static_cast<double>(s.batch) * context * symbols);
  const double there = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  if (needed > there)
    throw tokamax::error("memory for --layers, --width, --context and --batch", fmt::format("{:.1f} GB", needed / 1e9),
                         fmt::format("at most the machine's {:.1f} GB", there / 1e9));
}
