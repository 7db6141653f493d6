// examples/27_tokenizers.cpp: texts as tokens and back. New here: text::tokenizer, offsets, decode_stream, chat_template, train_bpe.
#include <tokamax/text.hpp>

#include <fmt/core.h>

namespace text = tokamax::text;

// Language models see numbers. The file tokenizer.json in a model's folder says which number stands for which part of a text, and
// `text::tokenizer::from_file` reads it. This one is made here, to show what such a file holds; it has the form that Llama's has.
std::string tokenizer_json() {
  std::string vocab = R"("<s>": 0, "</s>": 1)";
  int id = 2;
  const auto add = [&](const std::string& token) { vocab += fmt::format(R"(, "{}": {})", token, id++); };
  for (int byte = 0; byte < 256; ++byte)
    add(fmt::format("<0x{:02X}>", byte));  // for characters that are not in the vocabulary
  for (const char* character : {"▁", "a", "c", "d", "e", "h", "l", "n", "o", "r", "t", "w", "!", ","}) add(character);
  // Parts of words are made of pairs. In a trained tokenizer these are the most frequent pairs of a large text, in order.
  std::string merges;
  for (const auto& [left, right] : {std::pair{"▁", "t"},
                                    {"h", "e"},
                                    {"▁t", "he"},
                                    {"l", "l"},
                                    {"he", "ll"},
                                    {"▁", "w"},
                                    {"o", "r"},
                                    {"l", "d"},
                                    {"▁w", "or"},
                                    {"▁wor", "ld"},
                                    {"▁", "hell"},
                                    {"▁hell", "o"}}) {
    add(std::string(left) + right);
    merges += fmt::format(R"({}["{}", "{}"])", merges.empty() ? "" : ", ", left, right);
  }
  return fmt::format(R"({{
    "added_tokens": [{{"id": 0, "content": "<s>", "special": true}}, {{"id": 1, "content": "</s>", "special": true}}],
    "pre_tokenizer": {{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": false}},
    "model": {{"type": "BPE", "byte_fallback": true, "vocab": {{{}}}, "merges": [{}]}},
    "post_processor": {{"type": "TemplateProcessing", "single": [{{"SpecialToken": {{"id": "<s>", "type_id": 0}}}},
      {{"Sequence": {{"id": "A", "type_id": 0}}}}], "pair": [], "special_tokens": {{"<s>": {{"ids": [0], "tokens": ["<s>"]}}}}}},
    "decoder": {{"type": "Sequence", "decoders": [{{"type": "Replace", "pattern": {{"String": "▁"}}, "content": " "}},
      {{"type": "ByteFallback"}}, {{"type": "Fuse"}}, {{"type": "Strip", "content": " ", "start": 1, "stop": 0}}]}}
  }})",
                     vocab, merges);
}

int main() {
  const auto tokenizer = text::tokenizer::from_json(tokenizer_json());
  fmt::print("{} tokens, for example {} is {}\n\n", tokenizer.size(), *tokenizer.token_of(281),
             *tokenizer.id_of("▁world"));

  // Each token knows the characters that it stands for. The first one frames the text; an unknown character is its bytes.
  const text::encoding e = tokenizer.encode("hello world, é!");
  for (std::size_t i = 0; i < e.size(); ++i)
    fmt::print("{:>4}  {:<8} characters {:>2} to {:>2}\n", e.ids[i], e.tokens[i], e.offsets[i].begin, e.offsets[i].end);
  fmt::print("again a text: \"{}\"\n\n", tokenizer.decode(e.ids));

  // A model says one token after the other. A stream gives out what is certain: no space at the beginning, and no part of a
  // character, so that each piece can be printed or sent at once.
  text::decode_stream stream(tokenizer);
  for (const int id : tokenizer.ids("hello 😀 world")) fmt::print("{:>4} \"{}\"\n", id, stream.put(id));
  fmt::print(" end \"{}\"\n\n", stream.finish());

  // A model that chats was trained on chats in one form. The template for it, in the language Jinja, lies in the model's folder, and
  // `text::chat_template::from_file` reads it. The text has its special tokens already, so that the tokenizer adds none.
  const text::chat_template chat(
      "{{ bos_token }}{% for message in messages %}[{{ message.role }}] {{ message.content | trim }}\n{% endfor %}"
      "{% if add_generation_prompt %}[assistant]{% endif %}",
      {{"bos_token", "<s>"}});
  const std::vector<text::chat_message> messages{
      {"user", "hello"}, {"assistant", "hello world!"}, {"user", " and all? "}};
  const std::string prompt = chat.render(messages, {.add_generation_prompt = true});
  fmt::print("{}\n{} tokens\n\n", prompt, tokenizer.ids(prompt, false).size());

  // A tokenizer is trained on texts: the pairs that occur most often become tokens. Any text can be said by its 256 bytes.
  const std::vector<std::string_view> texts{"the cat sat on the mat", "the rat sat on the cat"};
  const auto trained = text::tokenizer::from_json(text::train_bpe(texts, {.vocab_size = 268}));
  for (const int id : trained.ids("the bat sat")) fmt::print("\"{}\" ", trained.decode(std::vector{id}));
  fmt::print("\n\n");

  // What a file asks for and this library does not know is refused by its name, and so is a text that is none.
  for (const auto& wrong : {+[] { text::tokenizer::from_json(R"({"normalizer": {"type": "Nmt"}})", "my.json"); },
                            +[] { text::tokenizer::from_json(tokenizer_json()).encode("\xFF"); }})
    try {
      wrong();
    } catch (const tokamax::error& error) {
      fmt::print("{}\n", error.what());
    }
}
