// tests/serve/llm/invariance.cpp: tokens and log-probabilities have the same bits alone, among others, in parts of any size, found in the
// cache or not, after giving way, and for any number of threads.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/serve/llm/engine.hpp>

#include <cstdlib>
#include <random>

#include "support/catch.hpp"
#include "support/serving.hpp"

namespace tk = tokamax;
using namespace tk::serve;

namespace {

/// Requests of all kinds, of which some begin alike.
std::vector<request> requests_of(int count, std::int32_t vocabulary) {
  std::mt19937 random(7);
  const auto below = [&](int n) { return static_cast<std::int32_t>(random() % static_cast<unsigned>(n)); };
  std::vector<request> all;
  for (int i = 0; i < count; ++i) {
    request r{.id = std::to_string(i)};
    if (i > 0 && i % 3 == 0) {
      const auto& before = all[static_cast<std::size_t>(i) - 1].prompt;
      r.prompt.assign(before.begin(), before.begin() + static_cast<std::ptrdiff_t>((before.size() + 1) / 2));
    }
    for (const std::size_t n = r.prompt.size() + 1 + static_cast<std::size_t>(below(10)); r.prompt.size() < n;)
      r.prompt.push_back(below(vocabulary));
    r.params = {.temperature = i % 2 == 0 ? 0 : 1.5, .seed = i, .max_tokens = 2 + below(8), .logprobs = 2};
    if (i % 4 == 1) r.params.top_p = 0.9;
    if (i % 4 == 2) r.params.repetition_penalty = 1.3;
    if (i % 8 == 3) r.params.prompt_logprobs = 1;
    all.push_back(std::move(r));
  }
  return all;
}
struct variant {
  const char* name;
  engine_options o;
  int threads = 1;
  int rounds = 1;     // the second one finds the first one's blocks
  bool some = false;  // they come while others run, and some of these are aborted
  bool gives_way = false;
};
const std::vector<variant> variants{
    {"all at once", {.max_num_batched_tokens = 2048}, 2},
    {"in small parts, by 8 threads", {.max_num_batched_tokens = 16}, 8},
    {"token by token, of another block size", {.block_size = 3, .max_num_batched_tokens = 5}, 3},
    {"few blocks", {.cache_blocks = 12, .max_num_batched_tokens = 64}, 2, 2, false, true},
    {"found in the cache", {.max_num_batched_tokens = 40}, 4, 2},
    {"coming and going",
     {.cache_blocks = 30, .max_num_batched_tokens = 33, .policy = schedule_policy::priority},
     2,
     1,
     true},
};

void check_bits(const std::string& name, const tk::models::decoder& d, engine_options o, int count = 24) {
  CAPTURE(name);
  const std::vector<request> all = requests_of(count, d.config.vocabulary);
  o.block_size = 4, o.max_num_seqs = 1, o.enable_prefix_caching = false;
  tk::cpu_backend::set_num_threads(1);
  tk::test::hearings expected;
  {
    engine alone(d, std::nullopt, tk::cpu, o);
    for (const request& r : all) expected.merge(tk::test::run(alone, {r}));
  }
  for (const variant& v : variants) {
    CAPTURE(v.name);
    tk::cpu_backend::set_num_threads(v.threads);
    engine_options other = v.o;
    if (other.block_size == 16) other.block_size = 4;
    other.max_num_seqs = count > 24 ? 64 : 16;
    other.rules = o.rules, other.packed = o.packed, other.cache_dtype = o.cache_dtype;
    other.max_model_len = o.max_model_len;
    engine e(d, std::nullopt, tk::cpu, other);
    for (int round = 0; round < v.rounds; ++round) {
      tk::test::hearings found;
      for (std::size_t i = 0; i < all.size(); ++i) {
        request r = all[i];
        r.priority = static_cast<int>(i % 3);
        e.add(r);
        if (!v.some) continue;
        r.id += " aborted", r.params.n = 2;
        e.add(r);
        if (i % 2 == 0) tk::test::hear(found, e.step());
        if (i % 3 == 0) e.abort(r.id);
      }
      while (e.has_unfinished()) tk::test::hear(found, e.step());
      bool same = true;
      for (const auto& [key, h] : expected) {
        const tk::test::heard& mine = found.at(key);
        same =
            same && mine.tokens == h.tokens && mine.numbers() == h.numbers() && mine.last().finish == h.last().finish;
      }
      CHECK(same);
    }
    if (v.rounds > 1 && !v.gives_way) CHECK(e.stats().prefix_hits > 0);
    if (v.gives_way) CHECK(e.stats().preemptions >= 8);
    CHECK(e.stats().used_blocks == 0);
  }
  tk::cpu_backend::set_num_threads(0);
}

}  // namespace

TEST_CASE("attention to all tokens, to a window, to latent rows, and experts") {
  for (const char* name : {"llama", "gemma3", "deepseek3", "qwen3_moe", "gpt_oss", "gpt2"})
    check_bits(name, tk::test::tiny_decoder(name), {});
}

TEST_CASE("packed matrices, and a cache in bfloat16") {
  const tk::models::decoder d = tk::test::tiny_decoder("llama");
  for (const tk::dtype type : {tk::i8, tk::u4})
    check_bits(std::string(name(type)), d, {.rules = {{.weight_qtype = type, .tile_size = 16, .packed = true}}});
  check_bits("bf16", d, {.cache_dtype = tk::bf16});
}

// It runs where TOKAMAX_REAL_MODELS names the folder that cmake/real_models.cmake has filled.
TEST_CASE("200 prompts of SmolLM2 in floats and in few bits", "[.real]") {
  const char* const folder = std::getenv("TOKAMAX_REAL_MODELS");
  REQUIRE(folder);
  const auto file = std::filesystem::path(folder) / "SmolLM2-135M-Instruct.Q4_1.gguf";
  const auto rules = [](tk::dtype type) {
    return std::vector<tk::quant::rule>{
        {.weight_qtype = type, .tile_size = 32, .packed = true, .scale_dtype = tk::f16}};
  };
  tk::models::pretrained codes = tk::models::from_pretrained(file, {.packed = true});
  check_bits("file", codes.model, {.max_model_len = 48, .packed = codes.packed}, 200);
  const tk::models::decoder floats = tk::models::from_pretrained(file).model;
  check_bits("f32", floats, {.max_model_len = 48}, 200);
  check_bits("int8", floats, {.max_model_len = 48, .rules = rules(tk::i8)}, 200);
  check_bits("int4", floats, {.max_model_len = 48, .rules = rules(tk::u4)}, 200);
  const tk::models::decoder half = tk::models::from_pretrained(file, {.dtype = tk::bf16}).model;
  check_bits("bf16", half, {.max_model_len = 48, .cache_dtype = tk::bf16}, 200);
}
