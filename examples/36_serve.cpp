// examples/36_serve.cpp: answer many requests at once. New here: serve::engine, serve::request, sampling_params, engine_thread.
#include <tokamax/models/from_pretrained.hpp>
#include <tokamax/serve/llm.hpp>
#include <tokamax/tokamax.hpp>

#include <fmt/core.h>

#include <future>
#include <map>

namespace tk = tokamax;
namespace serve = tokamax::serve;

// The model of lesson 34, whose words are the numbers 0 to 9, and which learns to count. A real one comes from `from_pretrained`, and
// `tokamax_serve MODEL` puts it behind HTTP.
tk::models::decoder trained_counter() {
  std::vector<std::int32_t> numbers;
  for (int row = 0; row < 10; ++row)
    for (int i = 0; i < 16; ++i) numbers.push_back((row + i) % 10);
  const tk::array text = tk::array::from<std::int32_t>(numbers, {10, 16});
  const auto loss = [](const tk::models::decoder& m, const tk::array& ids) {
    return tk::mean(tk::softmax_cross_entropy(m(tk::slice_in_dim(ids, 0, 15, 1)), tk::slice_in_dim(ids, 1, 16, 1)));
  };
  tk::models::decoder_config c{.vocabulary = 10, .context = 32, .width = 16, .layers = 2, .heads = 4, .kv_heads = 2};
  c.head_size = c.rotary_size = 4, c.hidden = 32;
  const auto optimizer = tk::optim::adam({.learning_rate = 1e-2});
  auto now = tk::train::start(tk::init(tk::models::make_decoder(c), tk::random::key(0)), optimizer);
  const auto step = tk::jit(tk::train::step(loss, optimizer), tk::cpu);
  for (int i = 0; i < 60; ++i) now = step(std::move(now), text).first;
  return now.model;
}

// Its tokenizer: a digit is a token.
const char* const tokenizer_json = R"({
  "model": {"type": "WordLevel", "unk_token": "0",
            "vocab": {"0": 0, "1": 1, "2": 2, "3": 3, "4": 4, "5": 5, "6": 6, "7": 7, "8": 8, "9": 9}},
  "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "."}, "behavior": "Isolated", "invert": false},
  "decoder": {"type": "Fuse"}
})";

int main() {
  const tk::models::decoder model = trained_counter();
  const auto words = tk::text::tokenizer::from_json(tokenizer_json);

  // An engine has a cache of blocks, which answers take as they grow. A step takes in the next tokens of all: one of each answer that
  // goes on, and as much of the prompts as the step may have.
  serve::engine engine(model, words, tk::cpu, {.block_size = 4, .max_num_batched_tokens = 8, .end_tokens = {9}});

  // How tokens are chosen and where an answer ends is part of its request. Names are those of vLLM.
  engine.add({.id = "to the end", .prompt = words.ids("23"), .params = {.temperature = 0}});
  engine.add({.id = "to a text", .prompt = words.ids("0123012"), .params = {.temperature = 0, .stop = {"67"}}});
  engine.add({.id = "three times",
              .prompt = words.ids("5"),
              .params = {.n = 3, .temperature = 3, .seed = 7, .max_tokens = 4}});

  // Each step returns what is new of each answer.
  std::map<std::string, std::string> said;
  for (int step = 0; engine.has_unfinished(); ++step) {
    const auto outputs = engine.step();
    if (step < 3) fmt::print("step {} says {} tokens\n", step, outputs.size());
    for (const serve::request_output& out : outputs) {
      const std::string name = out.id + (out.id == "three times" ? fmt::format(", {}", out.index) : "");
      said[name] += out.text;
      if (out.finish != serve::finish_reason::none)
        fmt::print("{}: \"{}\" ends by {}\n", name, said[name], serve::name(out.finish));
    }
  }

  // A prompt that begins as another did is read from there on: whole blocks are found again. No bit of an answer depends on that, nor on
  // what else runs.
  engine.add(
      {.id = "again", .prompt = words.ids("0123012"), .params = {.temperature = 0, .max_tokens = 1, .logprobs = 2}});
  const serve::request_output again = engine.step().at(0);
  fmt::print("\n{} of {} tokens were in the cache\n", again.usage.cached_tokens, again.usage.prompt_tokens);
  fmt::print("it says {}; likeliest are {} and {}\n", again.text, again.logprobs[0].top[0].id,
             again.logprobs[0].top[1].id);

  // A sampler of your own is a function of the logits. This one takes the second likeliest token.
  const serve::sampler_function second = [](std::span<float> logits, const serve::sampler_state&) {
    const auto greatest = std::max_element(logits.begin(), logits.end());
    *greatest = -1e30f;
    return static_cast<std::int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
  };
  engine.add({.id = "second", .prompt = words.ids("2"), .params = {.max_tokens = 1}, .sampler = second});
  fmt::print("the second likeliest is another one: {}\n", engine.step().at(0).text != "3");

  // What can never fit is refused before it costs anything.
  try {
    engine.add({.id = "long", .prompt = std::vector<std::int32_t>(40, 1)});
  } catch (const tk::error& e) {
    fmt::print("{}\n", e.what());
  }

  // Programs with many threads give the engine a thread of its own. Listeners are called on it.
  serve::engine_thread server(std::move(engine));
  std::promise<std::string> whole;
  std::string text;
  server.submit({.id = "count", .prompt = words.ids("34"), .params = {.temperature = 0}},
                [&](const serve::request_output& out) {
                  text += out.text;
                  if (out.request_finished) whole.set_value(text);
                });
  fmt::print("\nanother thread hears {}\n", whole.get_future().get());
  server.drain(10);
  const serve::engine_stats stats = server.stats();
  fmt::print("{} tokens of prompts, {} of answers, {} blocks in use\n", stats.prompt_tokens, stats.generation_tokens,
             stats.used_blocks);
}
