// examples/39_json_you_can_trust.cpp: answers that are JSON of a schema. New here: structured_output, grammar_cache, token_mask.
#include <tokamax/checkpoint/json_record.hpp>
#include <tokamax/serve/grammar.hpp>
#include <tokamax/serve/llm.hpp>
#include <tokamax/tokamax.hpp>

#include <fmt/core.h>

#include <map>

namespace tk = tokamax;
namespace serve = tokamax::serve;
using kind = serve::structured_output::kind;

// A model of random weights, which knows nothing of JSON. Its tokens are the bytes of ASCII, of which 0 ends an answer, and some longer
// ones.
const std::vector<std::string> tokens = [] {
  std::vector<std::string> all(1);
  for (int c = 1; c < 128; ++c) all.push_back(std::string(1, static_cast<char>(c)));
  for (const char* t : {"{\"", "\": ", "\", \"", "\"}", "Paris", "true", "12"}) all.push_back(t);
  return all;
}();
tk::models::decoder random_model() {
  tk::models::decoder_config c{.context = 256, .width = 16, .layers = 2, .heads = 4, .kv_heads = 2};
  c.vocabulary = static_cast<std::int64_t>(tokens.size());
  c.head_size = c.rotary_size = 4, c.hidden = 32;
  return tk::init(tk::models::make_decoder(c), tk::random::key(0));
}

struct answer {
  std::string text;
  serve::finish_reason finish = serve::finish_reason::none;
};
// Answers at temperature 2, which surprise even those who know the model.
std::vector<answer> answers(serve::engine& engine, std::shared_ptr<serve::token_filter> mask, int n,
                            std::int64_t most = 200) {
  serve::request r{.id = "r", .prompt = {1}, .params = {.n = n, .temperature = 2, .seed = 1, .max_tokens = most}};
  r.token_mask = std::move(mask);
  engine.add(std::move(r));
  std::vector<answer> all(static_cast<std::size_t>(n));
  while (engine.has_unfinished())
    for (const serve::request_output& out : engine.step()) {
      answer& a = all[static_cast<std::size_t>(out.index)];
      for (const std::int32_t id : out.token_ids) a.text += tokens[static_cast<std::size_t>(id)];
      a.finish = out.finish;
    }
  return all;
}

tk::checkpoint::json_record record_of(const std::string& text) {
  return tk::checkpoint::json_record(tk::checkpoint::json_value::parse(text, "answer"), "answer");
}
bool is_json(const std::string& text) {
  try {
    record_of(text);
    return true;
  } catch (const tk::error&) {
    return false;
  }
}

int main() {
  serve::engine engine(random_model(), std::nullopt, tk::cpu, {.end_tokens = {0}});
  fmt::print("without a schema, {} of 20 answers are JSON\n", [&] {
    int count = 0;
    for (const answer& a : answers(engine, nullptr, 20)) count += is_json(a.text);
    return count;
  }());

  // The tokens of a model by their bytes, once, and grammars, which are compiled when they are first asked for.
  const auto words = std::make_shared<const serve::vocabulary>(tokens, std::vector<std::int32_t>{0});
  serve::grammar_cache grammars(words);
  const std::string weather = R"({
    "type": "object",
    "properties": {"city": {"enum": ["Paris", "Rome"]}, "days": {"type": "integer", "minimum": 1, "maximum": 9},
                   "units": {"type": "string", "pattern": "^[CF]$"}},
    "required": ["city", "days"]})";
  const auto filter = grammars.filter({.what = kind::schema, .text = weather});

  // In each state, the filter has a bit for each token. At the beginning an object must be opened.
  std::vector<std::uint64_t> bits((tokens.size() + 63) / 64);
  filter->allowed(bits);
  fmt::print("an answer may begin with");
  for (std::size_t id = 0; id < tokens.size(); ++id)
    if (bits[id / 64] >> id % 64 & 1) fmt::print(" '{}'", tokens[id]);

  // Whatever the model wants, its answers are texts of the schema.
  const auto all = answers(engine, filter->clone(), 20);
  int good = 0;
  std::map<std::string, int> cities;
  for (const answer& a : all) {
    const auto r = record_of(a.text);
    const int days = r.get<int>("days");
    ++cities[r.get<std::string>("city")];
    good += a.finish == serve::finish_reason::stop && 1 <= days && days <= 9;
  }
  fmt::print("\nsuch as {}\nwith the schema, {} of 20 are right: {} times Paris, {} times Rome\n\n", all[0].text, good,
             cities["Paris"], cities["Rome"]);

  // An answer that the number of tokens cuts off is not whole, and says so. Look at `finish` before you read it.
  const answer cut = answers(engine, filter->clone(), 1, 6)[0];
  fmt::print("after 6 tokens: {} ends by {}, JSON: {}\n\n", cut.text, serve::name(cut.finish), is_json(cut.text));

  // What cannot be held to is refused by its path, before the first token.
  for (const char* schema : {R"({"type": "object", "properties": {"price": {"type": "number", "multipleOf": 0.01}}})",
                             R"({"type": "array", "items": {"$ref": "#/$defs/price"}})",
                             R"({"type": "integer", "minimum": 5, "maximum": 4})"}) {
    try {
      grammars.filter({.what = kind::schema, .text = schema});
    } catch (const tk::error& e) {
      fmt::print("{}\n", e.what());
    }
  }

  // Other structures: one of some texts, a regular expression, and a grammar that nests.
  const char* const sums = R"g(
    root ::= sum
    sum ::= part "+" part
    part ::= [a-c] | "(" sum ")")g";
  const serve::structured_output others[] = {{.what = kind::choice, .choices = {"yes", "no", "perhaps"}},
                                             {.what = kind::regex, .text = "[0-9]{3}-[a-f]{2}"},
                                             {.what = kind::grammar, .text = sums}};
  fmt::print("\n");
  for (const serve::structured_output& s : others) fmt::print("{}\n", answers(engine, grammars.filter(s), 1)[0].text);
}
