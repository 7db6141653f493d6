// tests/serve/llm/sampler.cpp: tokens by parameters, after the cases of vLLM's tests/v1/sample.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/serve/llm/sampler.hpp>

#include <limits>
#include <set>

#include "support/catch.hpp"
#include "support/contains.hpp"

using namespace tokamax::serve;

namespace {
using list = std::vector<std::int32_t>;
using words = std::vector<list>;
constexpr float no_number = std::numeric_limits<float>::quiet_NaN(), infinite = std::numeric_limits<float>::infinity();
const std::vector<float> logits{0.0f, 2.0f, 1.0f, 2.0f, -1.0f};  // softmax: .05 .39 .14 .39 .02

struct row {
  const char* name;
  sampling_params p;
  list expected;  // the tokens that are drawn
  list prompt = {}, said = {}, ends = {};
  words bad = {};
};
/// The tokens that many seeds draw.
list drawn(const row& r, const std::vector<float>& x = logits) {
  std::set<std::int32_t> seen;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    sampler next(r.p, r.ends, r.bad, seed, 0);
    seen.insert(next(x, r.prompt, r.said));
  }
  return {seen.begin(), seen.end()};
}
const std::vector<row> rows{
    {"temperature 0 takes the first of the greatest", {.temperature = 0}, {1}},
    {"nearly 0 takes the greatest", {.temperature = 1e-6}, {1, 3}},
    {"the smallest temperature", {.temperature = 5e-324}, {1, 3}},
    {"a high one takes all", {.temperature = 100}, {0, 1, 2, 3, 4}},
    {"the greatest temperature", {.temperature = 1e308}, {0, 1, 2, 3, 4}},
    {"1", {.temperature = 1}, {0, 1, 2, 3, 4}},
    {"top_k 1", {.temperature = 9, .top_k = 1}, {1}},
    {"top_k 2", {.temperature = 9, .top_k = 2}, {1, 3}},
    {"top_k 3", {.temperature = 9, .top_k = 3}, {1, 2, 3}},
    {"top_k of more than all", {.temperature = 9, .top_k = 99}, {0, 1, 2, 3, 4}},
    {"top_k 0 and -1 are all", {.temperature = 9, .top_k = -1}, {0, 1, 2, 3, 4}},
    {"top_k cuts ties by the id", {.temperature = 9, .top_k = 1}, {1}},
    {"top_p keeps at least one", {.temperature = 1, .top_p = 1e-9}, {1}},
    {"top_p of exactly one", {.temperature = 1, .top_p = 0.3}, {1}},
    {"top_p of two", {.temperature = 1, .top_p = 0.7}, {1, 3}},
    {"top_p of three", {.temperature = 1, .top_p = 0.9}, {1, 2, 3}},
    {"top_p 1 is all", {.temperature = 9, .top_p = 1}, {0, 1, 2, 3, 4}},
    {"top_p looks at what top_k leaves", {.temperature = 1, .top_p = 0.51, .top_k = 2}, {1, 3}},
    {"top_p after the temperature", {.temperature = 100, .top_p = 0.5}, {1, 2, 3}},
    {"min_p", {.temperature = 1, .min_p = 0.3}, {1, 2, 3}},
    {"min_p 1 keeps the greatest", {.temperature = 1, .min_p = 1}, {1, 3}},
    {"min_p with top_k", {.temperature = 1, .top_k = 4, .min_p = 0.3}, {1, 2, 3}},
    {"min_p with top_p", {.temperature = 1, .top_p = 0.99, .min_p = 0.9}, {1, 3}},
    {"bias makes a token the greatest", {.temperature = 0, .logit_bias = {{4, 10}}}, {4}},
    {"bias takes a token away", {.temperature = 0, .logit_bias = {{1, -100}}}, {3}},
    {"biases add up", {.temperature = 0, .logit_bias = {{2, 0.6}, {2, 0.6}}}, {2}},
    {"allowed tokens", {.temperature = 9, .allowed_token_ids = {4, 0}}, {0, 4}},
    {"one allowed token", {.temperature = 0, .allowed_token_ids = {4}}, {4}},
    {"allowed twice", {.temperature = 0, .allowed_token_ids = {2, 2}}, {2}},
    {"a bad token", {.temperature = 9}, {0, 2, 3, 4}, {}, {}, {}, {{1}}},
    {"a bad pair behind its first token", {.temperature = 9}, {0, 1, 2, 4}, {}, {0, 2}, {}, {{2, 3}}},
    {"and behind another", {.temperature = 9}, {0, 1, 2, 3, 4}, {}, {2, 0}, {}, {{2, 3}}},
    {"a bad sequence that is longer than the answer", {.temperature = 9}, {0, 1, 2, 3, 4}, {2}, {1}, {}, {{2, 1, 3}}},
    {"a bad sequence counts the answer only", {.temperature = 9}, {0, 1, 2, 3, 4}, {2}, {}, {}, {{2, 3}}},
    {"several bad words", {.temperature = 9}, {4}, {}, {0}, {}, {{1}, {0, 2}, {3}, {0, 0}}},
    {"no end before min_tokens", {.temperature = 9, .min_tokens = 2}, {0, 2, 4}, {}, {0}, {1, 3}},
    {"ends from then on", {.temperature = 9, .min_tokens = 2}, {0, 1, 2, 3, 4}, {}, {0, 0}, {1, 3}},
    {"min_tokens and temperature 0", {.temperature = 0, .min_tokens = 1}, {2}, {}, {}, {1, 3}},
    {"a token that was said is less likely", {.presence_penalty = 1.5, .temperature = 0}, {3}, {}, {1}},
    {"presence counts once", {.presence_penalty = 0.9, .temperature = 0}, {1}, {}, {1, 1, 3, 3, 3, 1}},
    {"frequency counts each time", {.frequency_penalty = 0.4, .temperature = 0}, {2}, {}, {1, 1, 1, 3, 3, 3}},
    {"a prompt does not count for these",
     {.presence_penalty = 2, .frequency_penalty = 2, .temperature = 0},
     {1},
     {1, 1}},
    {"negative penalties", {.presence_penalty = -2, .temperature = 0}, {2}, {}, {2}},
    {"repetition divides what is above 0", {.repetition_penalty = 1.5, .temperature = 0}, {3}, {}, {1}},
    {"also of prompts", {.repetition_penalty = 4, .temperature = 0}, {2}, {1, 3}},
    {"and multiplies what is below",
     {.repetition_penalty = 2, .temperature = 0, .logit_bias = {{0, -1.5}, {1, -100}, {2, -100}, {3, -100}}},
     {0},
     {4}},
    {"a repetition penalty below 1", {.repetition_penalty = 0.4, .temperature = 0}, {2}, {}, {2}},
    {"penalties and bias", {.presence_penalty = 2, .temperature = 0, .logit_bias = {{4, 4.5}}}, {1}, {}, {4, 4}},
};
}  // namespace

TEST_CASE("the tokens that are drawn are those that the parameters leave") {
  for (const row& r : rows) {
    CAPTURE(r.name);
    CHECK(drawn(r) == r.expected);
  }
}

TEST_CASE("logits that are no numbers are no tokens") {
  for (const double temperature : {0.0, 1.0})
    for (const int k : {0, 4}) {
      const row r{"", {.temperature = temperature, .top_k = k}, {}};
      CHECK(drawn(r, {no_number, -infinite, 1.0f, no_number}) == list{2});
      CHECK_THROWS_WITH(drawn(r, {no_number, -infinite}), contains("sampler: logits: found no finite number"));
      CHECK_THROWS_WITH(drawn(r, {}), contains("sampler: logits: found none"));
    }
  CHECK_THROWS_WITH(drawn({"", {.temperature = 0}, {}, {}, {}, {}, {{0}, {1}, {2}, {3}, {4}}}),
                    contains("expected a token that is allowed"));
}

TEST_CASE("draws have the probabilities of the softmax, in each way of drawing") {
  double total = 0;
  for (const float x : logits) total += std::exp(static_cast<double>(x) / 2);
  for (const sampling_params& p : {sampling_params{.temperature = 2}, sampling_params{.temperature = 2, .top_k = 5},
                                   sampling_params{.temperature = 2, .top_p = 0.9999999}}) {
    std::vector<int> counts(5);
    const int draws = 20'000;
    for (int i = 0; i < draws; ++i)
      ++counts[static_cast<std::size_t>(draw(logits, p, detail::uniform_of(9, 0, static_cast<std::uint64_t>(i))))];
    for (std::size_t i = 0; i < 5; ++i)
      CHECK(counts[i] / double{draws} == Approx(std::exp(static_cast<double>(logits[i]) / 2) / total).margin(0.012));
  }
}

TEST_CASE("a seed, the number of an answer and the place in it decide what is drawn") {
  std::vector<float> flat(1000, 0.0f);
  const sampling_params p;
  const auto tokens = [&](std::uint64_t seed, int answer) {
    list said;
    sampler next(p, {}, {}, seed, answer);
    for (int i = 0; i < 20; ++i) said.push_back(next(flat, {}, said));
    return said;
  };
  const list one = tokens(1, 0);
  CHECK(tokens(1, 0) == one);
  CHECK(tokens(2, 0) != one);
  CHECK(tokens(1, 1) != one);
  CHECK(std::set(one.begin(), one.end()).size() > 15);
  list said(one.begin(), one.begin() + 7);  // one that goes on in the middle says the same
  CHECK(sampler(p, {}, {}, 1, 0)(flat, {}, said) == one[7]);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const double u = detail::uniform_of(i, 1, 2);
    CHECK((u >= 0 && u < 1));
  }
}

TEST_CASE("the end of the interval draws the last token that is left") {
  const double last = 1 - 0x1p-53;
  CHECK(draw(logits, {}, last) == 4);
  CHECK(draw(std::vector{1.0f, 1.0f, -infinite}, {}, last) == 1);
  CHECK(draw(logits, {.top_k = 2}, last) == 3);
  CHECK(draw(logits, {}, 0) == 0);
  CHECK(draw(std::vector{-infinite, 1.0f, -infinite}, {}, 0) == 1);
}

TEST_CASE("log-probabilities, ranks and the likeliest tokens") {
  double total = 0;
  for (const float x : logits) total += std::exp(static_cast<double>(x));
  const auto expected = [&](std::size_t i) { return static_cast<double>(logits[i]) - std::log(total); };
  for (std::int32_t id = 0; id < 5; ++id) {
    const place_logprobs found = logprobs_of(logits, id, 3);
    CHECK(found.chosen.id == id);
    CHECK(static_cast<double>(found.chosen.logprob) == Approx(expected(static_cast<std::size_t>(id))));
    CHECK(found.chosen.rank == std::vector{4, 1, 3, 1, 5}[static_cast<std::size_t>(id)]);
    REQUIRE(found.top.size() == 3);
    for (std::size_t i = 0; i < 3; ++i) {
      CHECK(found.top[i].id == list{1, 3, 2}[i]);
      CHECK(found.top[i].rank == static_cast<int>(i) + 1);
      CHECK(static_cast<double>(found.top[i].logprob) == Approx(expected(static_cast<std::size_t>(found.top[i].id))));
    }
  }
  CHECK(logprobs_of(logits, 0, 0).top.empty());
  CHECK(logprobs_of(logits, 0, -1).top.size() == 5);
  CHECK(logprobs_of(logits, 0, 99).top.size() == 5);
  CHECK(logprobs_of(std::vector{0.0f, -infinite, no_number}, 0, -1).top.size() == 1);
  CHECK(logprobs_of(std::vector{-1e38f, 1e38f}, 1, 1).chosen.logprob == 0);
}

TEST_CASE("a sampler of the user has logits after all changes, and a number of the seed") {
  const sampling_params p{.logit_bias = {{2, 5}}, .allowed_token_ids = {2, 4}};
  std::vector<double> numbers;
  sampler next(p, {}, {}, 3, 0, [&](std::span<float> x, const sampler_state& s) {
    CHECK(x[0] == -infinite);
    CHECK(x[2] == 6);
    CHECK(s.said.size() == numbers.size());
    CHECK(s.prompt.size() == 2);
    numbers.push_back(s.uniform);
    return numbers.size() < 3 ? 4 : 5;
  });
  const list prompt{1, 2};
  CHECK(next(logits, prompt, {}) == 4);
  CHECK(next(logits, prompt, list{4}) == 4);
  CHECK(numbers == std::vector{detail::uniform_of(3, 0, 0), detail::uniform_of(3, 0, 1)});
  CHECK_THROWS_WITH(next(logits, prompt, list{4, 4}), contains("sampler: token: found id 5, expected 0 to 4"));
}

TEST_CASE("a filter masks tokens, and what it allows is chosen by the other parameters") {
  struct even final : token_filter {
    void allowed(std::span<std::uint64_t> bits) override {
      for (std::uint64_t& word : bits) word = 0x5555555555555555u;
    }
    bool accept(std::int32_t) override { return true; }
    bool finished() const override { return false; }
    std::shared_ptr<token_filter> clone() const override { return std::make_shared<even>(); }
  };
  std::vector<float> x(130);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  const sampling_params greedy{.temperature = 0}, one{.temperature = 0, .allowed_token_ids = {3, 2, 5}};
  CHECK(sampler(greedy, {}, {}, 0, 0, {}, std::make_shared<even>())(x, {}, {}) == 128);
  CHECK(sampler(one, {}, {}, 0, 0, {}, std::make_shared<even>())(x, {}, {}) == 2);
}
