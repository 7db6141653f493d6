// examples/tokamax_train.cpp: trains a GPT of any size on any text, with checkpoints, and samples from it.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu/roofline.hpp>
#include <tokamax/backend/cuda/roofline.hpp>
#include <tokamax/backend/systolic/device.hpp>
#include <tokamax/checkpoint.hpp>
#include <tokamax/data.hpp>
#include <tokamax/profile.hpp>
#include <tokamax/tokamax.hpp>
#include <tokamax/train/device_named.hpp>
#include <tokamax/train/interruption.hpp>
#include <tokamax/train/loss_curve.hpp>
#include <tokamax/train/metrics.hpp>
#include <tokamax/train/progress.hpp>
#include <tokamax/train/run_folder.hpp>
#include <tokamax/train/run_settings.hpp>

#include <fmt/core.h>

#include <cstdio>
#include <initializer_list>
#include <optional>

#include "program_main.hpp"
#include "tokamax_train_options.hpp"

namespace tk = tokamax;

struct example {
  tk::array inputs, targets;  // i32 [B, T]
};

double mean_loss(const auto& loss, const auto& model, const auto& batches, std::int64_t count) {
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += loss(model, batches[i]).template item<double>();
  return sum / static_cast<double>(count);
}

// The prompt as tokens, checked before anything is trained.
std::vector<std::int32_t> prompt_of(const settings& s, const tk::data::vocabulary& symbols,
                                    const tk::data::tokens& text) {
  if (s.sample) return symbols.encode(*s.sample);
  const bool new_line = symbols.symbols().find('\n') != std::string::npos;
  return symbols.encode(new_line ? "\n" : text.bytes().substr(0, 1));
}

tk::train::run_settings record_of(const settings& s, const tk::data::tokens& text, std::int64_t vocabulary) {
  return {tk::train::mark_of(text.bytes()),
          s.characters,
          s.layers,
          s.width,
          s.heads,
          s.context,
          vocabulary,
          s.batch,
          s.steps,
          s.warmup_steps(),
          s.seed,
          s.learning_rate,
          s.final_rate,
          s.weight_decay,
          s.clip,
          s.bf16};
}

// Training goes on if a line cannot be written. The line is written with the next one, at the latest before a
// checkpoint.
void write_metrics(tk::train::metrics_file& metrics, std::int64_t step,
                   std::initializer_list<std::pair<const char*, double>> numbers) {
  try {
    metrics.write(step, numbers);
  } catch (const tk::error& e) {
    fmt::print(stderr, "\ntokamax_train: step {} is not in the metrics yet: {}\n", step, e.what());
  }
}

/// Prints what bounds the steps of a recording, and writes it as a page, for XProf and for Perfetto.
void write_profile(const tk::profile::recording& all, const tk::train::run_folder& folder, tk::any_device device) {
  const bool on_gpu = device.get().name().starts_with("cuda");
  const tk::profile::roofline limits = on_gpu ? tk::measure_roofline(device) : tk::measure_roofline();
  fmt::print("\n{}", tk::profile::summary_text(all, limits));
  tk::profile::write_bytes(folder.profile_page(), tk::profile::to_html(all, limits, "tokamax_train"));
  tk::profile::write_bytes(folder.xplane(), tk::profile::to_bytes(tk::profile::to_xspace(all, limits)));
  tk::profile::write_bytes(folder.trace(), tk::profile::to_trace_json(all));
  fmt::print("{}, {} (XProf) and {} (Perfetto) have the rest\n", folder.profile_page().string(),
             folder.xplane().filename().string(), folder.trace().filename().string());
}

int run(const settings& s) {
  check_options(s);
  const tk::any_device device = tk::train::device_named(s.device, "--device");
  std::optional<tk::systolic> simulated;
  if (s.simulate) simulated.emplace(tk::systolic_backend::chip_named(*s.simulate));
  tk::cpu_backend::set_num_threads(static_cast<int>(s.threads));
  const tk::data::tokens text = tk::data::text(s.data);
  const tk::data::vocabulary symbols = s.characters ? tk::data::characters(text) : tk::data::byte_vocabulary();
  const std::vector<std::int32_t> prompt = prompt_of(s, symbols, text);
  const auto [train, validation] = tk::data::text_split(symbols.encode(text));
  check_memory(s, symbols.size());

  const tk::models::gpt_config size{.vocabulary = static_cast<int>(symbols.size()),
                                    .context = static_cast<int>(s.context),
                                    .width = static_cast<int>(s.width),
                                    .heads = static_cast<int>(s.heads),
                                    .layers = static_cast<int>(s.layers)};
  const auto examples = [&](const tk::data::tokens& t, std::int64_t seed) {
    return t | tk::data::random_windows(size.context + 1, {.seed = static_cast<std::uint64_t>(seed)}) |
           tk::data::batch<example>(s.batch);
  };
  const auto batches = examples(train, s.seed), held_out = examples(validation, s.seed + 1);

  const auto loss = [](const tk::models::gpt& m, const example& e) {
    return tk::mean(tk::softmax_cross_entropy(m(e.inputs), e.targets));
  };
  const auto optimizer = tk::optim::chain(
      tk::optim::clip_by_global_norm(s.clip),
      tk::optim::adamw(
          {.learning_rate = tk::optim::warmup_cosine(
               {.peak = s.learning_rate, .warmup = s.warmup_steps(), .total = s.steps, .end = s.final_rate}),
           .b2 = 0.99,
           .weight_decay = s.weight_decay,
           .only = tk::optim::matrices}));
  const tk::train::run_folder folder(
      s.out, s.resume ? tk::train::run_folder::start::resumed : tk::train::run_folder::start::fresh);
  tk::checkpoint::manager checkpoints(folder.checkpoints(), {.every = s.save_every, .keep = 2});
  const tk::train::run_settings settings_now = record_of(s, text, symbols.size());
  if (const auto saved = checkpoints.about(); saved && !s.allow_changes)
    tk::train::require_same(settings_now, *saved, s.out);

  const tk::models::gpt model = tk::init(tk::models::make_gpt(size), tk::random::key(s.seed));
  auto now = tk::train::start(model, optimizer);
  const auto trained_loss = [&](const tk::models::gpt& m, const example& e) {
    return s.bf16 ? tk::with_precision<tk::bf16_compute>(loss)(m, e) : loss(m, e);
  };
  const auto train_step = tk::train::step(trained_loss, optimizer);
  const auto step = tk::jit(train_step, device);
  const auto evaluate = tk::jit(loss, device);

  std::int64_t first = 0;
  if (const auto saved = checkpoints.restore(now)) first = saved->step;
  now = tk::device_put(std::move(now), device);
  tk::train::metrics_file metrics(folder.metrics(), first);
  std::int64_t parameters = 0;
  tk::for_each_leaf([&](const tk::array& a) { parameters += a.size(); }, now.model);
  fmt::print("{}: {} tokens, {} symbols; {} parameters; {}\n", s.data, text.size(), symbols.size(), parameters,
             first ? fmt::format("resumed at step {}", first) : "from the start");

  tk::train::progress progress(first, s.steps, s.batch * size.context);
  const auto to_device = tk::data::map([device](example e) { return tk::device_put(std::move(e), device); });
  auto reader = (batches | to_device | tk::data::prefetch(2)).from({first / batches.size(), first % batches.size()});
  if (simulated) fmt::print("{}", tk::systolic_report(*simulated, train_step, now, batches[0]).text());
  double held_out_loss = 0;
  const tk::train::interruption interruption;
  int signal = 0;
  std::optional<tk::profile::session> recording;
  for (std::int64_t i = first + 1; i <= s.steps && !signal; ++i) {
    if (s.profile && i == std::min(first + 3, s.steps)) recording.emplace();  // caches and memory are warm by then
    const auto next_batch = [&] {
      const tk::profile::span wait("data", tk::profile::mark_kind::wait);
      return reader.next().value;
    };
    const auto value = [&] {
      const tk::profile::step mark(i);
      auto [next, loss_now] = step(std::move(now), next_batch());  // the move gives the buffers to the next state
      now = std::move(next);
      if (recording) device.get().synchronize();
      return loss_now;
    }();
    if (recording && i == std::min(first + 7, s.steps)) {
      write_profile(recording->read(), folder, device);
      recording.reset();
    }
    progress.step(i, [&] { return value.item(); });
    if (i % s.eval_every == 0 || i == s.steps) {
      held_out_loss = mean_loss(evaluate, now.model, held_out, s.eval_batches);
      write_metrics(metrics, i, {{"loss", value.item()}, {"validation_loss", held_out_loss}});
    } else {
      write_metrics(metrics, i, {{"loss", value.item()}});
    }
    signal = interruption.signal();
    if (i == s.steps || checkpoints.due(i) || signal) {
      metrics.sync();  // a checkpoint is never ahead of the metrics
      checkpoints.save_async_now(i, now, tk::checkpoint::metadata{}.set("run", settings_now));
    }
  }
  checkpoints.wait();
  metrics.sync();
  tk::train::draw_curves(
      folder.loss_curve(), "loss (nats per symbol)",
      {{"training", "#9bb8d3", tk::train::metrics_file::series(folder.metrics(), "loss")},
       {"validation", "#c0392b", tk::train::metrics_file::series(folder.metrics(), "validation_loss")}});
  if (signal) {
    fmt::print("\nstopped by signal {} after {} steps; --resume goes on from there\n", signal, *checkpoints.latest());
    return 128 + signal;
  }
  if (first < s.steps)
    fmt::print("validation loss {:.4f} after {} steps, {}\n", held_out_loss, s.steps,
               tk::train::progress::duration(progress.seconds()));

  const auto logits = tk::jit([](const tk::models::gpt& m, const tk::array& ids) { return m(ids); }, device);
  const auto continued =
      tk::train::generate([&](const tk::array& ids) { return logits(now.model, ids); }, prompt, size.context,
                          {.count = static_cast<int>(s.sample_tokens), .seed = static_cast<std::uint32_t>(s.seed)});
  fmt::print("\n--- sample ---\n{}\n--------------\n", symbols.decode(continued));
  fmt::print("in {}: checkpoints/, metrics.jsonl, loss.svg\n", s.out);
  if (std::fflush(stdout) != 0 || std::ferror(stdout))
    throw tk::error("output", "lines that could not be written", "a place that takes them");
  return 0;
}

int main(int argc, char** argv) {
  return program_main<settings>(argc, argv, "tokamax_train", "Trains a GPT on a text file.", declare_options, run);
}
