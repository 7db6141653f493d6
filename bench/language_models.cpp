// bench/language_models.cpp: prompts, tokens and memory of a language model in floats and in few bits.
// SPDX-License-Identifier: Apache-2.0
//
//   tokamax_bench_language_models [--threads N...] [FORMAT or MODEL.gguf...]
//
// A format is a random Llama of 0.3 billion parameters: f32, bf16, int8, int4 or nf4; without a name, all run. Every case runs in a
// process of its own, whose peak of memory is compared with the bytes of its weights and its cache; the processes take turns, and the
// best of each number counts.
#include <tokamax/models/from_pretrained.hpp>
#include <tokamax/models/generator.hpp>
#include <tokamax/tokamax.hpp>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "support/measure.hpp"

namespace tk = tokamax;
namespace models = tokamax::models;
using clock_type = std::chrono::steady_clock;

namespace {

constexpr std::int64_t prompt = 512, answer = 24, streams = 16;

/// What a process runs.
struct variant {
  std::string name;  // of a format, or a file
  tk::dtype floats = tk::f32;
  std::optional<tk::packed_format> codes = {};
  bool file = false;
};

std::uint64_t random_bits() {
  static std::uint64_t state = 1;
  return state = state * 6364136223846793005u + 1442695040888963407u;
}
template <class T, class Make>
tk::array filled(const tk::array_type& type, Make make) {
  tk::array a = tk::array::uninitialized(type);
  for (std::int64_t i = 0; i < a.size(); ++i) a.mutable_data<T>()[i] = make();
  return a;
}
tk::array random_floats(const tk::array_type& type) {
  const auto one = [] { return static_cast<float>(random_bits() >> 40) / 16777216.0f * 0.07f - 0.035f; };
  if (type.dtype == tk::f32) return filled<float>(type, one);
  return filled<tk::bfloat16>(type, [&] { return tk::bfloat16(one()); });
}
/// Random codes of K terms in groups of 32, and N columns.
tk::packed_weights random_codes(tk::packed_format f, std::int64_t k, std::int64_t n) {
  const std::int64_t panels = tk::detail::packed_panels(n), steps = tk::detail::packed_steps(f, k);
  const bool eight = f == tk::packed_format::int_8;
  const tk::array_type codes{eight ? tk::i8 : tk::u32, false, {1, panels, steps, 64}};
  const auto scale = [&] { return tk::float16(eight ? 0.0003f : f == tk::packed_format::nf4 ? 0.035f : 0.004f); };
  return {.format = f,
          .rows = k,
          .columns = n,
          .codes = eight ? filled<std::int8_t>(codes, [] { return static_cast<std::int8_t>(random_bits() >> 56); })
                         : filled<std::uint32_t>(codes, [] { return static_cast<std::uint32_t>(random_bits() >> 32); }),
          .scale = filled<tk::float16>({tk::f16, false, {1, panels, k / 32, 64}}, scale)};
}

struct weights {
  models::decoder model;
  tk::quant::packed_leaves packed;
};
weights weights_of(const variant& v) {
  if (v.file) {
    models::pretrained p = models::from_pretrained(v.name, {.dtype = v.floats, .packed = true});
    return {std::move(p.model), std::move(p.packed)};
  }
  models::decoder_config c{
      .vocabulary = 32768, .context = 4096, .width = 1024, .layers = 24, .heads = 16, .kv_heads = 8};
  c.head_size = c.rotary_size = 64, c.hidden = 2816, c.tied = true;
  weights w{models::make_decoder(c), {}};
  tk::for_each_leaf_with_path(
      [&](std::string_view path, tk::array& leaf) {
        const tk::array_type type{v.floats, false, leaf.shape()};
        const bool table = path == "token.table";
        if (v.codes && leaf.rank() == 2 && leaf.size() > 0) {
          const std::int64_t k = leaf.extent(table ? 1 : 0), n = leaf.extent(table ? 0 : 1);
          w.packed.emplace(path, tk::quant::packed_leaf{random_codes(*v.codes, k, n), table});
          leaf = tk::array(type);
        } else {
          leaf = random_floats(type);
        }
      },
      w.model);
  return w;
}
double bytes_of(const weights& w) {
  double bytes = 0;
  const auto add = [&](const tk::array& a) { bytes += static_cast<double>(a.size() * tk::size_of(a.dtype())); };
  tk::for_each_leaf([&](const tk::array& a) { a.is_abstract() ? void() : add(a); }, w.model);
  for (const auto& [path, leaf] : w.packed) {
    add(leaf.weights.codes), add(leaf.weights.scale);
    if (leaf.weights.has_offset()) add(leaf.weights.offset);
  }
  return bytes;
}
double seconds_since(clock_type::time_point begin) {
  return std::chrono::duration<double>(clock_type::now() - begin).count();
}

/// Writes lines "NAME VALUE" of a variant.
void measure(const variant& v, int threads, std::FILE* to) {
  const auto begin = clock_type::now();
  tk::cpu_backend::set_num_threads(threads);
  weights w = weights_of(v);
  const double bytes = bytes_of(w);
  const auto vocabulary = static_cast<std::uint64_t>(w.model.config.vocabulary);
  const auto some = [&](std::int64_t count) {
    std::vector<std::int32_t> ids;
    for (std::int64_t i = 0; i < count; ++i)
      ids.push_back(static_cast<std::int32_t>((random_bits() >> 33) % vocabulary));
    return ids;
  };
  const auto made = [&](std::int64_t context, int texts) {
    return models::generator(w.model, tk::cpu,
                             {.context = context, .streams = texts, .cache_dtype = v.floats, .packed = w.packed});
  };
  {
    models::generator says = made(prompt + answer, 1);
    says.next_logits(some(8));
    std::fprintf(to, "first token after the start|%g\n", seconds_since(begin));
    double taken = 1e30, said = 1e30;
    for (int i = 0; i < 2; ++i) {
      std::vector<std::int32_t> text = some(prompt);
      auto at = clock_type::now();
      says.next_logits(text);
      taken = std::min(taken, seconds_since(at));
      for (std::int64_t k = 1; k < answer; ++k) {
        text.push_back(some(1)[0]);
        at = clock_type::now();
        says.next_logits(text);
        said = std::min(said, seconds_since(at));
      }
    }
    std::fprintf(to, "prompt of 512|%g\ndecode, 1 stream|%g\n", prompt / taken, 1 / said);
    const models::decoder_config& c = w.model.config;
    const double cache = 2.0 * c.layers * static_cast<double>((prompt + answer + 63) / 64 * 64) * c.kv_heads *
                         c.head_size * static_cast<double>(tk::size_of(v.floats));
    rusage use{};
    getrusage(RUSAGE_SELF, &use);
    std::fprintf(to, "peak of memory|%g\nweights and cache|%g\n", static_cast<double>(use.ru_maxrss) * 1024 / 1e6,
                 (bytes + cache) / 1e6);
  }
  models::generator many = made(64, streams);
  std::vector<std::vector<std::int32_t>> texts;
  for (int i = 0; i < streams; ++i) texts.push_back(some(4));
  double said = 1e30;
  for (int i = 0; i < 8; ++i) {
    const auto at = clock_type::now();
    many.next_logits_of(texts);
    if (i > 0) said = std::min(said, seconds_since(at));
    for (auto& text : texts) text.push_back(some(1)[0]);
  }
  std::fprintf(to, "decode, 16 streams|%g\n", streams / said);
}

/// The lines of a process of its own.
std::map<std::string, double> measured(const variant& v, int threads) {
  int ends[2];
  if (pipe(ends) != 0) return {};
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    std::FILE* const to = fdopen(ends[1], "w");
    measure(v, threads, to);
    std::fclose(to);
    _exit(0);
  }
  close(ends[1]);
  std::map<std::string, double> result;
  std::FILE* const from = fdopen(ends[0], "r");
  char name[64];
  for (double value = 0; std::fscanf(from, " %63[^|]|%lf", name, &value) == 2;) result[name] = value;
  std::fclose(from);
  waitpid(child, nullptr, 0);
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  using enum tk::packed_format;
  const std::vector<variant> formats{
      {"f32"}, {"bf16", tk::bf16}, {"int8", tk::f32, int_8}, {"int4", tk::f32, int_4}, {"nf4", tk::f32, nf4}};
  std::vector<variant> all;
  std::vector<int> counts;
  int i = 1;
  if (i < argc && std::string(argv[i]) == "--threads")
    for (++i; i < argc && std::isdigit(*argv[i]); ++i) counts.push_back(std::atoi(argv[i]));
  for (; i < argc; ++i) {
    const auto found = std::ranges::find(formats, argv[i], &variant::name);
    if (found != formats.end())
      all.push_back(*found);
    else  // floats of 16 bits stay so
      all.push_back({.name = argv[i],
                     .floats = std::string_view(argv[i]).find("BF16") == std::string_view::npos ? tk::f32 : tk::bf16,
                     .file = true});
  }
  if (all.empty()) all = formats;
  if (counts.empty()) counts = {1, 2};
  for (const int threads : counts) {
    std::map<std::string, std::map<std::string, double>> best;
    for (int round = 0; round < 2; ++round)
      for (const variant& v : all)
        for (const auto& [name, value] : measured(v, threads)) {
          const bool speed = name.starts_with("decode") || name.starts_with("prompt");
          const auto [at, first] = best[v.name].emplace(name, value);
          if (!first) at->second = speed ? std::max(at->second, value) : std::min(at->second, value);
        }
    for (const auto& [format, numbers] : best)
      for (const auto& [name, value] : numbers)
        bench::report("language_models", fmt::format("{}, {} threads, {}", format, threads, name), "tokamax", value,
                      name.starts_with("first")                                         ? "s"
                      : name.find("memory") != name.npos || name.starts_with("weights") ? "MB"
                                                                                        : "tokens/s");
  }
}
