// tests/serve/llm/engine.cpp: answers are those of a generator, with the same bits in any company, and each ends for its own reason.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/models/generator.hpp>
#include <tokamax/serve/llm/engine.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/serving.hpp"

namespace tk = tokamax;
using namespace tk::serve;
using tk::test::heard;
using tk::test::hearings;
using tk::test::letters;
using tk::test::run;
using tk::test::tiny_decoder;

namespace {
using list = std::vector<std::int32_t>;

const tk::models::decoder& llama() {
  static const tk::models::decoder d = tiny_decoder("llama");
  return d;
}
engine made(engine_options o = {}) {
  o.block_size = o.block_size == 16 ? 4 : o.block_size;
  if (o.max_num_seqs == 64) o.max_num_seqs = 8;
  return {llama(), letters(), tk::cpu, std::move(o)};
}
const list prompt{3, 1, 4, 1, 5};
list greedy(std::int64_t count) {
  static tk::models::generator says(llama(), tk::cpu);
  return says(prompt, count, {}, {}, [](std::int32_t) { return true; });
}
std::string text_of(const list& ids) { return letters().decode(ids); }
heard one(engine& e, sampling_params p, const list& of = prompt) {
  return run(e, {{.id = "r", .prompt = of, .params = std::move(p)}}).at({"r", 0});
}
sampling_params zero(sampling_params p) {
  p.temperature = 0;
  return p;
}
}  // namespace

TEST_CASE("greedy answers of each family are those of transformers, and of a generator") {
  for (const std::string& name : tk::test::tiny_model_names) {
    CAPTURE(name);
    const tk::test::tiny_model m(name);
    const tk::models::decoder d = tiny_decoder(name);
    engine e(d, std::nullopt, tk::cpu, {.block_size = 4, .max_num_batched_tokens = 7, .max_num_seqs = 4});
    const sampling_params p{.temperature = 0, .max_tokens = 12};
    const list other{7, 2};
    const hearings all = run(e, {{"a", m.ids, p}, {"b", other, p}, {"c", m.ids, p}});
    CHECK(all.at({"a", 0}).tokens == m.greedy);
    CHECK(all.at({"c", 0}).tokens == m.greedy);
    CHECK(all.at({"a", 0}).last().finish == finish_reason::length);
    tk::models::generator says(d, tk::cpu);
    CHECK(all.at({"b", 0}).tokens == says(other, 12, {}, {}, [](std::int32_t) { return true; }));
    CHECK(e.stats().used_blocks == 0);
  }
}

TEST_CASE("an answer ends for its own reason") {
  const list said = greedy(12);
  const std::string text = text_of(said);
  const std::int32_t third = said[2];
  const auto first = static_cast<std::size_t>(std::find(said.begin(), said.end(), third) - said.begin());
  engine e = made({.end_tokens = {third}});
  SECTION("at the most tokens") {
    const heard h = one(e, zero({.ignore_eos = true, .max_tokens = 12}));
    CHECK(h.tokens == said);
    CHECK(h.text == text);
    CHECK(h.last().finish == finish_reason::length);
    CHECK(h.last().request_finished);
    CHECK(h.last().usage.prompt_tokens == 5);
    CHECK(h.last().usage.completion_tokens == 12);
    CHECK(h.outputs.size() == 12);
    CHECK_FALSE(h.outputs[10].request_finished);
  }
  SECTION("at the end token of the model, which is no text") {
    const heard h = one(e, zero({.max_tokens = 12}));
    CHECK(h.tokens == list(said.begin(), said.begin() + static_cast<std::ptrdiff_t>(first) + 1));
    CHECK(h.text == text_of(list(said.begin(), said.begin() + static_cast<std::ptrdiff_t>(first))));
    CHECK(h.last().finish == finish_reason::stop);
    CHECK(h.last().stop_reason.index() == 0);
  }
  SECTION("unless the text should have it") {
    const heard h = one(e, zero({.max_tokens = 12, .include_stop_str_in_output = true}));
    CHECK(h.text == text_of(h.tokens));
  }
  SECTION("at a token of the request") {
    const heard h = one(e, zero({.stop_token_ids = {said[0]}, .max_tokens = 12}));
    CHECK(h.tokens == list{said[0]});
    CHECK(h.text.empty());
    CHECK(std::get<std::int32_t>(h.last().stop_reason) == said[0]);
  }
  SECTION("at a text, that goes over tokens") {
    const std::string stop = text.substr(4, 2);
    const heard h = one(e, zero({.stop = {"zzzz", stop}, .ignore_eos = true, .max_tokens = 12}));
    CHECK(h.text == text.substr(0, text.find(stop)));
    CHECK(std::get<std::string>(h.last().stop_reason) == stop);
    CHECK(h.last().finish == finish_reason::stop);
    CHECK(h.tokens.size() == text.find(stop) + 2);
    const heard with =
        one(e, zero({.stop = {stop}, .ignore_eos = true, .max_tokens = 12, .include_stop_str_in_output = true}));
    CHECK(with.text == text.substr(0, text.find(stop) + 2));
  }
  SECTION("a text that might have been an end is said after all") {
    const heard h = one(e, zero({.stop = {text.substr(10) + "!"}, .ignore_eos = true, .max_tokens = 12}));
    CHECK(h.text == text);
    CHECK(h.last().finish == finish_reason::length);
  }
  SECTION("not before min_tokens") {
    const heard h = one(e, zero({.stop = {text.substr(0, 1)}, .max_tokens = 12, .min_tokens = 6}));
    CHECK(h.tokens.size() >= 6);
    for (std::size_t i = 0; i < 5; ++i) CHECK(h.tokens[i] != third);
  }
  SECTION("at the context") {
    engine small = made({.max_model_len = 9});
    const heard h = one(small, zero({.max_tokens = 12}));
    CHECK(h.tokens == list(said.begin(), said.begin() + 4));
    CHECK(h.last().finish == finish_reason::length);
  }
  SECTION("special tokens are left out of the text, or not") {
    const sampling_params p{.temperature = 0, .max_tokens = 2, .allowed_token_ids = {39}};
    CHECK(one(e, p).text.empty());
    sampling_params shown = p;
    shown.skip_special_tokens = false;
    CHECK(one(e, shown).text == "<end><end>");
  }
}

TEST_CASE("several answers to one prompt share its blocks, and differ by their numbers") {
  engine e = made();
  const list longer{3, 1, 4, 1, 5, 9, 2, 6, 5, 3};
  const request r{.id = "r", .prompt = longer, .params = {.n = 4, .temperature = 3, .seed = 5, .max_tokens = 8}};
  const hearings all = run(e, {r});
  CHECK(all.size() == 4);
  int finished = 0;
  for (const auto& [key, h] : all) {
    CHECK(h.tokens.size() == 8);
    CHECK(h.last().usage.cached_tokens == (key.second == 0 ? 0 : 8));
    finished += h.last().request_finished;
    CHECK((key.second == 0 || h.tokens != all.at({"r", 0}).tokens));
  }
  CHECK(finished == 1);
  request alone = r;
  alone.params.n = 1;
  CHECK(run(e, {alone}).at({"r", 0}).tokens == all.at({"r", 0}).tokens);
  CHECK(e.stats().prompt_tokens == 20);
  CHECK(e.stats().generation_tokens == 40);
  CHECK(e.stats().finished[static_cast<std::size_t>(finish_reason::length)] == 5);
}

TEST_CASE("without a seed answers differ from request to request, and with one they do not") {
  engine e = made();
  const sampling_params p{.temperature = 3, .max_tokens = 10};
  CHECK(one(e, p).tokens != one(e, p).tokens);
  sampling_params seeded = p;
  seeded.seed = -1;
  CHECK(one(e, seeded).tokens == one(e, seeded).tokens);
  engine other = made({.seed = 9}), same = made({.seed = 9});
  CHECK(one(other, p).tokens == one(same, p).tokens);
}

TEST_CASE("log-probabilities of answers and prompts are those of the logits") {
  engine e = made({.max_num_batched_tokens = 3});
  const heard h = one(e, zero({.max_tokens = 4, .logprobs = 3, .prompt_logprobs = 2}));
  REQUIRE(h.prompt_logprobs.size() == prompt.size() - 1);
  REQUIRE(h.logprobs.size() == 4);
  tk::models::generator says(llama(), tk::cpu);
  list text{prompt[0]};
  const auto check = [&](const place_logprobs& found, std::int32_t id, int top) {
    const place_logprobs expected = logprobs_of(says.next_logits(text).values<float>(), id, top);
    CHECK(found.chosen.id == id);
    CHECK(found.chosen.logprob == expected.chosen.logprob);
    CHECK(found.chosen.rank == expected.chosen.rank);
    CHECK(std::ssize(found.top) == top);
    text.push_back(id);
  };
  for (std::size_t i = 1; i < prompt.size(); ++i) check(h.prompt_logprobs[i - 1], prompt[i], 2);
  for (std::size_t i = 0; i < 4; ++i) check(h.logprobs[i], h.tokens[i], 3);
  CHECK(h.outputs[0].prompt_logprobs.size() == prompt.size() - 1);
  // an answer that gave way says them once, and finds its blocks again
  engine small = made({.cache_blocks = 5, .max_model_len = 20});
  const sampling_params p = zero({.ignore_eos = true, .max_tokens = 12, .logprobs = 3, .prompt_logprobs = 2});
  const hearings both = run(small, {{"a", prompt, p}, {"b", prompt, p}});
  CHECK(small.stats().preemptions > 0);
  for (const char* id : {"a", "b"}) {
    const heard& found = both.at({id, 0});
    CHECK(found.prompt_logprobs.size() == prompt.size() - 1);
    CHECK(found.numbers() == one(e, p).numbers());
  }
  const heard single = one(e, zero({.max_tokens = 1, .prompt_logprobs = 0}), {7});
  CHECK(single.prompt_logprobs.empty());
}

TEST_CASE("requests that never fit, or have no meaning, are refused at once and leave no trace") {
  engine e = made({.cache_blocks = 5});
  CHECK(e.max_model_len() == 20);
  const auto refused = [&](request r, const char* text) {
    CHECK_THROWS_WITH(e.add(r), contains(text));
    CHECK_THROWS_WITH(e.require_possible(r), contains(text));
    CHECK_FALSE(e.has_unfinished());
  };
  refused({"r", list(20, 1)}, "request: prompt: found 20 tokens, expected 1 to 19");
  refused({"r", {}}, "request: prompt: found 0 tokens");
  refused({"r", {1, 40}}, "request: prompt: found id 40, expected 0 to 39");
  refused({"r", {-1}}, "found id -1");
  refused({"r", {1}, {.n = 0}}, "sampling_params: n: found 0");
  refused({"r", {1}, {.stop_token_ids = {40}}}, "stop_token_ids: found id 40");
  e.add({"r", list(19, 1)});
  CHECK_THROWS_WITH(e.add({"r", {1}}), contains("request: id: found r"));
  CHECK(run(e, {}).at({"r", 0}).tokens.size() == 1);
  engine silent(llama(), std::nullopt, tk::cpu, {.max_num_seqs = 2});
  CHECK_THROWS_WITH(silent.add({"r", {1}, {.stop = {"a"}}}), contains("request: stop: found no tokenizer"));
  CHECK_THROWS_WITH(silent.add({"r", {1}, {.bad_words = {"a"}}}), contains("request: bad_words: found no tokenizer"));
  CHECK(one(silent, zero({.max_tokens = 2})).text.empty());
}

TEST_CASE("options that do not fit are refused by their names") {
  const auto error = [](engine_options o) {
    try {
      engine(llama(), std::nullopt, tk::cpu, std::move(o));
    } catch (const tk::error& e) {
      return std::string(e.what());
    }
    return std::string("none");
  };
  CHECK_THAT(error({.block_size = 0}), contains("engine: block_size: found 0"));
  CHECK_THAT(error({.cache_blocks = -1}), contains("engine: cache_blocks: found -1"));
  CHECK_THAT(error({.cache_bytes = 1}), contains("engine: cache_bytes: found 1"));
  CHECK_THAT(error({.max_num_batched_tokens = 0}), contains("engine: max_num_batched_tokens: found 0"));
  CHECK_THAT(error({.max_num_seqs = 0}), contains("engine: max_num_seqs: found 0"));
  CHECK_THAT(error({.cache_blocks = 2, .max_model_len = 33}),
             contains("engine: max_model_len: found 33, expected at most the 32 tokens that 2 blocks hold"));
  CHECK_THAT(error({.block_size = 1, .cache_blocks = 1}), contains("engine: max_model_len: found 1"));
}

TEST_CASE("words that are not said, and tokens that are") {
  engine e = made();
  const list said = greedy(12);
  const std::string text = text_of(said);
  const heard h = one(e, zero({.max_tokens = 12, .bad_words = {text.substr(0, 1)}}));
  CHECK(h.text.find(text[0]) == std::string::npos);
  const heard pair = one(e, zero({.max_tokens = 12, .bad_words = {text.substr(0, 2)}}));
  CHECK(pair.text.find(text.substr(0, 2)) == std::string::npos);
  CHECK(pair.text[0] == text[0]);
  for (const std::int32_t id : one(e, zero({.max_tokens = 12, .allowed_token_ids = {2, 38, 5}})).tokens)
    CHECK((id == 2 || id == 38 || id == 5));
}

TEST_CASE("requests are aborted in each state, and others hear nothing of it") {
  engine e = made({.cache_blocks = 8, .max_num_batched_tokens = 6, .max_num_seqs = 2});
  const list longer(14, 2);
  const sampling_params p{.n = 1, .temperature = 0, .ignore_eos = true, .max_tokens = 8};
  const heard expected = one(e, p);
  CHECK_FALSE(e.abort("none"));
  for (int steps = 0; steps < 12; ++steps) {
    CAPTURE(steps);
    e.add({"keep", prompt, p});
    e.add({"long", longer, {.n = 2, .temperature = 0, .stop = {"zz"}, .max_tokens = 9}});
    e.add({"wait", longer, p});
    hearings all;
    for (int i = 0; i < steps; ++i) tk::test::hear(all, e.step());
    const bool ran = e.abort("long");
    e.abort("wait");
    while (e.has_unfinished()) tk::test::hear(all, e.step());
    CHECK(all.at({"keep", 0}).tokens == expected.tokens);
    CHECK(all.at({"keep", 0}).last().finish == finish_reason::length);
    if (ran) CHECK(all.at({"long", 1}).last().finish == finish_reason::abort);
    if (ran) CHECK(all.at({"long", 1}).last().request_finished);
    if (steps == 0) CHECK(all.at({"wait", 0}).outputs.size() == 1);
    CHECK(e.stats().used_blocks == 0);
    CHECK(e.stats().running + e.stats().waiting == 0);
    CHECK_FALSE(e.abort("long"));
  }
}

TEST_CASE("what throws for one request ends that one") {
  struct broken : token_filter {
    int left;
    bool refuses;
    broken(int n, bool r) : left(n), refuses(r) {}
    void allowed(std::span<std::uint64_t> bits) override {
      if (left < 0) throw 7;
      if (!refuses && --left < 0) throw std::runtime_error("the grammar broke");
      for (std::uint64_t& word : bits) word = ~std::uint64_t{0};
    }
    bool accept(std::int32_t) override { return !refuses || --left >= 0; }
    bool finished() const override { return false; }
    std::shared_ptr<token_filter> clone() const override { return std::make_shared<broken>(left + 2, refuses); }
  };
  engine e = made();
  const sampling_params p{.temperature = 0, .max_tokens = 8};
  const heard expected = one(e, p);
  const auto with = [&](request r) {
    r.id = "bad", r.prompt = prompt, r.params = p, r.params.n = 2;
    const hearings all = run(e, {{"good", prompt, p}, r, {"other", prompt, p}});
    CHECK(all.at({"good", 0}).tokens == expected.tokens);
    CHECK(all.at({"other", 0}).tokens == expected.tokens);
    CHECK(all.at({"bad", 0}).last().finish == finish_reason::error);
    CHECK(all.at({"bad", 1}).last().finish == finish_reason::error);
    CHECK(all.at({"bad", 0}).last().request_finished != all.at({"bad", 1}).last().request_finished);
    CHECK(e.stats().used_blocks == 0);
    return all.at({"bad", 0}).last().error;
  };
  CHECK(with({.token_mask = std::make_shared<broken>(2, false)}) == "the grammar broke");
  CHECK(with({.token_mask = std::make_shared<broken>(-1, false)}) == "an exception of an unknown type");
  CHECK_THAT(with({.token_mask = std::make_shared<broken>(1, true)}), contains("token_filter: accept: found token"));
  CHECK(with({.sampler = [](std::span<float>, const sampler_state&) -> std::int32_t { throw std::bad_alloc(); }}) ==
        "no memory");
  CHECK_THAT(with({.sampler = [](std::span<float>, const sampler_state&) { return 40; }}),
             contains("sampler: token: found id 40"));
}

TEST_CASE("a filter that cannot be cloned leaves nothing behind") {
  struct single final : token_filter {
    void allowed(std::span<std::uint64_t> bits) override { bits[0] = 1; }
    bool accept(std::int32_t) override { return true; }
    bool finished() const override { return false; }
    std::shared_ptr<token_filter> clone() const override { throw std::runtime_error("one only"); }
  };
  engine e = made();
  const request r{.id = "r", .prompt = prompt, .params = {.n = 2}, .token_mask = std::make_shared<single>()};
  CHECK_THROWS_WITH(e.add(r), contains("one only"));
  CHECK_FALSE(e.has_unfinished());
  CHECK(one(e, zero({.max_tokens = 3})).tokens == greedy(3));
}

TEST_CASE("a filter that has finished ends the answer, and each answer has its own") {
  struct counted : token_filter {
    int count = 0;
    void allowed(std::span<std::uint64_t> bits) override { bits[0] = std::uint64_t{1} << (10 + count); }
    bool accept(std::int32_t id) override { return id == 10 + count++; }
    bool finished() const override { return count == 3; }
    std::shared_ptr<token_filter> clone() const override { return std::make_shared<counted>(*this); }
  };
  engine e = made();
  const hearings all =
      run(e, {{.id = "r", .prompt = prompt, .params = {.n = 2}, .token_mask = std::make_shared<counted>()}});
  for (const int i : {0, 1}) {
    CHECK(all.at({"r", i}).tokens == list{10, 11, 12});
    CHECK(all.at({"r", i}).text == "klm");
    CHECK(all.at({"r", i}).last().finish == finish_reason::stop);
  }
}

TEST_CASE("a sampler of the user") {
  const sampler_function least = [](std::span<float> x, const sampler_state&) {
    return static_cast<std::int32_t>(std::min_element(x.begin(), x.end()) - x.begin());
  };
  engine all = made({.sampler = least}), none = made();
  const list said =
      run(none, {{.id = "r", .prompt = prompt, .params = {.max_tokens = 5}, .sampler = least}}).at({"r", 0}).tokens;
  CHECK(one(all, {.max_tokens = 5}).tokens == said);
  CHECK(said != greedy(5));
}

TEST_CASE("an error in a step ends the requests of the step, and the engine goes on with the rest") {
  int calls = 0, fails_at = -1;
  engine e = made({.max_num_seqs = 2, .clock = [&] {
                     if (++calls == fails_at) throw std::runtime_error("the device is gone");
                     return 0.0;
                   }});
  const sampling_params p{.temperature = 0, .max_tokens = 6};
  const list first{3, 1, 4, 1, 5, 9, 2, 6, 5};
  const heard expected = one(e, p, first);
  for (const int later : {1, 2, 3, 4, 5, 9, 13}) {
    CAPTURE(later);
    for (const char* id : {"a", "b", "c"}) e.add({id, first, p});
    fails_at = calls + later;
    const hearings all = run(e, {});
    CHECK(all.at({"a", 0}).last().finish == finish_reason::error);
    CHECK(all.at({"a", 0}).last().error == "the device is gone");
    CHECK(all.at({"b", 0}).last().finish == finish_reason::error);
    CHECK(all.at({"c", 0}).tokens == expected.tokens);
    CHECK(all.at({"c", 0}).last().usage.cached_tokens == 0);  // what was in the cache is not trusted
    CHECK(e.stats().used_blocks == 0);
  }
  CHECK(e.stats().failed_steps == 7);
}

TEST_CASE("statistics add up") {
  double now = 0;
  engine e = made({.cache_blocks = 9, .max_num_seqs = 3, .clock = [&] { return now += 1; }});
  std::vector<request> all;
  for (int i = 0; i < 7; ++i)
    all.push_back({std::to_string(i), list(9, i % 3), {.temperature = 0, .ignore_eos = true, .max_tokens = 10}});
  for (request& r : all) e.add(std::move(r));
  CHECK(e.stats().waiting == 7);
  hearings heard_of;
  tk::test::hear(heard_of, e.step());
  CHECK(e.stats().running > 0);
  CHECK(e.stats().running + e.stats().waiting == 7);
  CHECK(e.stats().cache_usage() > 0);
  while (e.has_unfinished()) tk::test::hear(heard_of, e.step());
  const engine_stats s = e.stats();
  CHECK(s.blocks == 9);
  CHECK(s.generation_tokens == 70);
  CHECK(s.prompt_tokens == 63);
  CHECK(s.prefix_queries == 63);
  std::int64_t cached = 0;
  for (const auto& [key, h] : heard_of) cached += h.last().usage.cached_tokens;
  CHECK(s.prefix_hits == cached);
  CHECK(cached > 0);
  CHECK(s.finished[static_cast<std::size_t>(finish_reason::length)] == 7);
  CHECK(s.failed_steps == 0);
  CHECK(s.preemptions > 0);
  CHECK(s.model_seconds > 0);
  CHECK(s.model_seconds <= s.step_seconds);
  for (const auto& [key, h] : heard_of) {
    const request_times& t = h.last().times;
    CHECK((t.arrived < t.scheduled && t.scheduled < t.first_token && t.first_token < t.last_token));
    CHECK(t.tokens == 10);
    CHECK(t.outputs == 10);
  }
}
