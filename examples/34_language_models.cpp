// examples/34_language_models.cpp: load, chat, save. New here: models::decoder, from_pretrained, generator, sampling, decoder_family, bert,
// sentence_encoder.
#include <tokamax/models/from_pretrained.hpp>
#include <tokamax/models/generator.hpp>
#include <tokamax/models/sentence_encoder.hpp>
#include <tokamax/tokamax.hpp>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <filesystem>

namespace tk = tokamax;
namespace models = tokamax::models;

// A real model is a folder with config.json, safetensors files and a tokenizer, or a GGUF file that has all of them. One that knows
// English has a hundred megabytes, and `tokamax_chat MODEL` chats with it. The model of this lesson is small: its words are the
// numbers 0 to 9, and all that it can say is how to count.
const char* const config_json = R"({
  "architectures": ["LlamaForCausalLM"], "vocab_size": 10, "max_position_embeddings": 32, "hidden_size": 16,
  "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "eos_token_id": 9
})";

// What the config describes is a `decoder`, a tree like every model: it is trained as in lesson 6.
models::decoder trained_counter(const models::decoder_config& config) {
  std::vector<std::int32_t> numbers;
  for (int row = 0; row < 10; ++row)
    for (int i = 0; i < 16; ++i) numbers.push_back((row + i) % 10);
  const tk::array text = tk::array::from<std::int32_t>(numbers, {10, 16});
  const auto loss = [](const models::decoder& m, const tk::array& ids) {
    return tk::mean(tk::softmax_cross_entropy(m(tk::slice_in_dim(ids, 0, 15, 1)), tk::slice_in_dim(ids, 1, 16, 1)));
  };
  const auto optimizer = tk::optim::adam({.learning_rate = 1e-2});
  auto now = tk::train::start(tk::init(models::make_decoder(config), tk::random::key(0)), optimizer);
  const auto step = tk::jit(tk::train::step(loss, optimizer), tk::cpu);
  for (int i = 0; i < 60; ++i) now = step(std::move(now), text).first;
  return now.model;
}

// An encoder reads a whole sentence at once. This one learns that a sentence means what it means backwards: of eight sentences and the same
// backwards, the rows of the same one should be most alike.
models::bert trained_reader() {
  const auto loss = [](const models::bert& m, const tk::array& ids) {
    const tk::array alike = tk::matmul(m.embed(ids), tk::transpose(m.embed(tk::reverse(ids, {1}))));  // [8, 8]
    return tk::mean(tk::softmax_cross_entropy(alike * 8.0f, tk::arange(8, tk::i32)));
  };
  const auto optimizer = tk::optim::adam({.learning_rate = 1e-2});
  const models::bert fresh = models::make_bert(
      {.vocabulary = 10, .context = 8, .width = 16, .layers = 1, .heads = 2, .hidden = 32, .pooled = false});
  auto now = tk::train::start(tk::init(fresh, tk::random::key(0)), optimizer);
  const auto step = tk::jit(tk::train::step(loss, optimizer), tk::cpu);
  for (int i = 0; i < 60; ++i) now = step(std::move(now), tk::random::randint(tk::random::key(i), {8, 4}, 0, 10)).first;
  return now.model;
}

int main() {
  const auto folder = std::filesystem::temp_directory_path() / "tokamax_counter";
  std::filesystem::remove_all(folder);
  const tk::checkpoint::json_record config(tk::checkpoint::json_value::parse(config_json, "config.json"),
                                           "config.json");

  // `save_pretrained` writes what `transformers` reads, and `from_pretrained` reads what it writes.
  models::save_pretrained(folder, {trained_counter(models::llama.config(config)), config, {9}, models::llama});
  const models::pretrained read = models::from_pretrained(folder);
  fmt::print("{} layers of width {}, {} tokens; it ends with {}\n\n", read.model.config.layers, read.model.config.width,
             read.model.config.vocabulary, read.end_tokens);

  // A generator keeps the keys and values of the tokens so far, so that a new token costs one row of each product. One program
  // takes in the prompt and says the answer. Each token is handed over as soon as it is known; a program that has a tokenizer
  // gives it to a `text::decode_stream` here.
  models::generator says(read.model, tk::cpu);
  fmt::print("after 2 3 it says");
  says({2, 3}, 20, {}, read.end_tokens, [](int token) { return fmt::print(" {}", token), true; });
  fmt::print("\n");

  // The cache changes no bit: a text that is taken in anew gives the same logits as one that was said token by token.
  const std::vector<std::int32_t> text{2, 3, 4, 5, 6, 7};
  const tk::array logits = says.next_logits(text), fresh = models::generator(read.model, tk::cpu).next_logits(text);
  fmt::print("the same bits without the cache: {}\n\n", tk::all(logits == fresh).item() == 1);

  // Tokens can be drawn. The temperature says how freely, top_k and top_p leave the likely ones, and a seed repeats what was said.
  for (const double temperature : {1.0, 4.0}) {
    const auto drawn = says({0}, 12, {.temperature = temperature, .top_k = 6, .seed = 3}, {}, [](int) { return true; });
    fmt::print("temperature {}: {}\n", temperature, fmt::join(drawn, " "));
  }

  // A family says what config.json means and how tensors are called. This one is Llama, by names of its own; a value in your program
  // is all that it takes.
  models::decoder_family mine = models::llama;
  mine.architecture = "CounterForCausalLM";
  mine.names = [] {
    std::vector<models::weight_name> names = models::llama.names();
    for (models::weight_name& n : names)
      if (n.tensor == "lm_head.weight") n.tensor = "counter.weight";
    return names;
  };
  auto renamed = config;
  renamed.set("architectures", std::vector<std::string>{"CounterForCausalLM"});
  const auto other = std::filesystem::temp_directory_path() / "tokamax_other_counter";
  std::filesystem::remove_all(other);
  models::save_pretrained(other, {read.model, renamed, {9}, mine});
  fmt::print("\nread as {}\n", models::from_pretrained(other, {.families = {mine}}).family.architecture);

  // Networks of a block may be experts, of which a router chooses a few for each token: the numbers of a family's config say so, and
  // everything else stays. Those that a token does not take are not read.
  auto mixed = config;
  mixed.set("architectures", std::vector<std::string>{"MixtralForCausalLM"});
  mixed.set("num_local_experts", 4), mixed.set("num_experts_per_tok", 2);
  models::generator with_experts(trained_counter(models::mixtral.config(mixed)), tk::cpu);
  fmt::print("2 of 4 experts say {}\n",
             fmt::join(with_experts({2, 3}, 5, {}, read.end_tokens, [](int) { return true; }), " "));

  // A sentence_encoder makes a row of each sentence, of any lengths, and products of rows say how alike sentences are. Real encoders, such
  // as all-MiniLM-L6-v2, are read by `bert_from_pretrained`, and `tokamax_embed` searches with them.
  models::sentence_encoder embed(trained_reader(), tk::cpu);
  const tk::array rows = embed({{1, 2, 3, 4}, {4, 3, 2, 1}, {7, 7, 0, 8}});
  const tk::array alike = tk::matmul(rows, tk::transpose(rows));
  fmt::print("backwards {:.1f}, another one {:.1f}\n\n", alike[{0, 1}].item(), std::abs(alike[{0, 2}].item()));

  // Without its family, the file of above is refused by what is wrong.
  try {
    models::from_pretrained(other);
  } catch (const tk::error& e) {
    fmt::print("{}: found {}\n", e.subject, e.found);
  }
}
