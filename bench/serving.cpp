// bench/serving.cpp: tokens of a serving engine at 1 to 64 streams, the time to them, and what is spent outside the model.
// SPDX-License-Identifier: Apache-2.0
//
//   tokamax_bench_serving [MODEL.gguf]
//
// Without a file it is a random Llama of 135 million parameters. The numbers of streams take turns, and the best of each counts.
#include <tokamax/models/from_pretrained.hpp>
#include <tokamax/serve/llm/engine.hpp>
#include <tokamax/tokamax.hpp>

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

namespace tk = tokamax;
namespace serve = tokamax::serve;

namespace {

constexpr std::int64_t prompt = 64, answer = 32;
constexpr int rounds = 2;

std::vector<tk::quant::rule> rules_of(const std::string& weights) {
  std::vector<tk::quant::rule> rules;
  tk::quant::rule r{.weight_qtype = tk::i8, .tile_size = 32, .packed = true, .scale_dtype = tk::f16};
  if (weights == "int8" || weights == "int4") rules.push_back(r);
  r.module_path = "blocks[*]", r.weight_qtype = tk::u4;
  if (weights == "int4") rules.insert(rules.begin(), r);
  return rules;
}
tk::models::pretrained model_of(const char* file, const std::string& weights) {
  if (file)
    return tk::models::from_pretrained(file,
                                       {.dtype = weights == "bf16" ? tk::bf16 : tk::f32, .packed = weights == "file"});
  tk::models::decoder_config c{
      .vocabulary = 49152, .context = 2048, .width = 576, .layers = 30, .heads = 9, .kv_heads = 3};
  c.head_size = c.rotary_size = 64, c.hidden = 1536, c.tied = true;
  tk::models::decoder d = tk::init(tk::models::make_decoder(c), tk::random::key(0));
  if (weights == "bf16") tk::for_each_leaf([](tk::array& a) { a = tk::astype(a, tk::bf16); }, d);
  return {.model = std::move(d),
          .config = tk::checkpoint::json_record(tk::checkpoint::json_value(), ""),
          .end_tokens = {},
          .family = tk::models::llama};
}

struct numbers {
  double tokens = 0, first_median = 0, first_p99 = 0, next_median = 0, next_p99 = 0, outside = 0;
};
double part_of(std::vector<double>& all, double part) {
  std::sort(all.begin(), all.end());
  return all.empty() ? 0 : all[static_cast<std::size_t>(part * static_cast<double>(all.size() - 1))];
}

/// Streams that begin together; tokens a second count from the step after the last first token.
numbers measure(serve::engine& e, int streams) {
  static std::uint32_t state = 1;
  for (int i = 0; i < streams; ++i) {
    serve::request r{.id = std::to_string(i), .params = {.temperature = 0, .ignore_eos = true, .max_tokens = answer}};
    for (std::int64_t k = 0; k < prompt; ++k)
      r.prompt.push_back(static_cast<std::int32_t>((state = state * 1664525u + 1013904223u) >> 8) %
                         e.config().vocabulary);
    e.add(std::move(r));
  }
  std::map<std::string, double> last;
  std::vector<double> firsts, nexts;
  double said = 0, seconds = 0, outside = 0;
  while (e.has_unfinished()) {
    const bool all = std::ssize(last) == streams;
    const serve::engine_stats before = e.stats();
    const double begin = serve::steady_seconds();
    const auto outputs = e.step();
    const double now = serve::steady_seconds();
    if (all) {
      said += static_cast<double>(outputs.size()), seconds += now - begin;
      outside += now - begin - (e.stats().model_seconds - before.model_seconds);
    }
    for (const serve::request_output& out : outputs) {
      const auto [at, fresh] = last.try_emplace(out.id, now);
      if (fresh)
        firsts.push_back(now - out.times.arrived);
      else
        nexts.push_back(now - std::exchange(at->second, now));
    }
  }
  return {said / seconds,      part_of(firsts, 0.5), part_of(firsts, 0.99),
          part_of(nexts, 0.5), part_of(nexts, 0.99), outside / seconds};
}

}  // namespace

int main(int argc, char** argv) {
  const char* const file = argc > 1 ? argv[1] : nullptr;
  std::vector<std::string> all{"f32", "bf16", "int8", "int4"};
  if (file) all.push_back("file");
  std::printf("%-6s %8s %10s %12s %12s %12s %12s %9s\n", "", "streams", "tokens/s", "first, ms", "p99", "next, ms",
              "p99", "outside");
  for (const std::string& weights : all) {
    serve::engine e(model_of(file, weights), std::nullopt, tk::cpu,
                    {.max_num_seqs = 64,
                     .max_model_len = 256,
                     .enable_prefix_caching = false,
                     .cache_dtype = weights == "bf16" ? tk::bf16 : tk::f32,
                     .rules = rules_of(weights)});
    std::map<int, numbers> best;
    for (int round = 0; round < rounds; ++round)
      for (const int streams : {1, 4, 16, 64}) {
        const numbers n = measure(e, streams);
        if (n.tokens > best[streams].tokens) best[streams] = n;
      }
    for (const auto& [streams, n] : best)
      std::printf("%-6s %8d %10.1f %12.1f %12.1f %12.1f %12.1f %8.1f%%\n", weights.c_str(), streams, n.tokens,
                  1e3 * n.first_median, 1e3 * n.first_p99, 1e3 * n.next_median, 1e3 * n.next_p99, 100 * n.outside);
    std::fflush(stdout);
  }
}
