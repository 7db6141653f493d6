// tests/models/generator.cpp: what is said with a cache has the bits of what is said without one, and is what transformers says.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/models/from_pretrained.hpp>
#include <tokamax/models/generator.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/tiny_models.hpp"

namespace tk = tokamax;
namespace models = tokamax::models;
using tk::test::tiny_model;

namespace {
models::decoder decoder_named(const std::string& name) {
  const temporary_folder folder;
  tiny_model(name).write(folder.path / "m");
  return models::from_pretrained(folder.path / "m").model;
}
std::vector<float> floats(const tk::array& a) {
  const auto v = a.values<float>();
  return {v.begin(), v.end()};
}
const auto go_on = [](std::int32_t) { return true; };
}  // namespace

TEST_CASE("tokens are those of transformers, and logits have the same bits however a text is cut") {
  for (const std::string& name : tk::test::tiny_model_names) {
    CAPTURE(name);
    const tiny_model m(name);
    const models::decoder d = decoder_named(name);
    models::generator says(d, tk::cpu);
    CHECK(says(m.ids, 12, {}, {}, go_on) == m.greedy);

    std::vector<std::int32_t> text = m.ids;
    text.insert(text.end(), m.greedy.begin(), m.greedy.end());
    models::generator whole(d, tk::cpu), by_three(d, tk::cpu, {.chunk = 3}), one_by_one(d, tk::cpu, {.chunk = 1});
    for (std::size_t n = 1; n <= text.size(); ++n) {
      const std::span<const std::int32_t> some(text.data(), n);
      models::generator fresh(d, tk::cpu);  // without what was computed before
      const auto expected = floats(whole.next_logits(some));
      if (n % 5 == 0) CHECK(floats(fresh.next_logits(some)) == expected);
      if (n % 7 == 0) CHECK(floats(by_three.next_logits(some)) == expected);
      if (n == text.size()) CHECK(floats(one_by_one.next_logits(some)) == expected);
    }
    tk::cpu_backend::set_num_threads(3);
    CHECK(floats(models::generator(d, tk::cpu).next_logits(text)) == floats(whole.next_logits(text)));
    tk::cpu_backend::set_num_threads(0);
  }
}

TEST_CASE("a text that begins as the last one is read from there on, and others from their beginning") {
  const models::decoder d = decoder_named("llama");
  models::generator says(d, tk::cpu);
  const std::vector<std::int32_t> one{3, 1, 4, 1, 5}, same_start{3, 1, 4, 9, 9, 9}, shorter{3, 1}, other{8, 8};
  for (const auto& text : {one, same_start, shorter, other, one, one})
    CHECK(floats(says.next_logits(text)) == floats(models::generator(d, tk::cpu).next_logits(text)));
}

TEST_CASE("a text ends at an end token, at the most tokens, at the context, or where the listener has enough") {
  const tiny_model m("llama");
  models::generator says(decoder_named("llama"), tk::cpu, {.context = 16});
  CHECK(says.context() == 16);
  CHECK(says(m.ids, 3, {}, {}, go_on).size() == 3);
  CHECK(says(m.ids, 99, {}, {}, go_on).size() == 5);
  const std::vector<std::int32_t> ends{m.greedy[2]};
  const auto first = std::ranges::find(m.greedy, ends[0]) - m.greedy.begin();
  CHECK(says(m.ids, 99, {}, ends, go_on).size() == static_cast<std::size_t>(first));
  CHECK(says(m.ids, 99, {}, {}, [](std::int32_t) { return false; }).size() == 1);
  const models::sampling drawn{.temperature = 5, .seed = 4};
  CHECK(says(m.ids, 5, drawn, {}, go_on) == says(m.ids, 5, drawn, {}, go_on));
}

TEST_CASE("several texts at once say what each says alone, with the same bits") {
  const models::decoder d = decoder_named("llama");
  const std::vector<std::vector<std::int32_t>> texts{
      {3, 1, 4}, {1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9}, {7}, {3, 1, 4}, {2, 7, 1, 8}};
  std::vector<std::vector<std::int32_t>> alone;
  models::generator one(d, tk::cpu, {.context = 20});
  for (const auto& text : texts) alone.push_back(one(text, 12, {}, {}, go_on));
  for (const std::int64_t chunk : {1, 4, 128}) {
    models::generator many(d, tk::cpu, {.context = 20, .streams = 5, .chunk = chunk});
    std::vector<std::vector<std::int32_t>> heard(texts.size());
    const auto said = many(texts, 12, {}, {}, [&](std::size_t i, std::int32_t id) {
      heard[i].push_back(id);
      return true;
    });
    CHECK(said == alone);
    CHECK(heard == alone);
    std::vector<std::vector<std::int32_t>> longer = texts;
    for (std::size_t i = 0; i < texts.size(); ++i)
      longer[i].insert(longer[i].end(), said[i].begin(), said[i].end() - 1);
    const std::vector<tk::array> logits = many.next_logits_of(longer);
    for (std::size_t i = 0; i < texts.size(); ++i) CHECK(floats(logits[i]) == floats(one.next_logits(longer[i])));
    // fewer texts than streams, and others than before
    const std::vector<std::vector<std::int32_t>> others{texts[2], {}, texts[1]};
    CHECK_THROWS_WITH(many.next_logits_of(others), contains("generator: tokens: found 0"));
    const auto again =
        many(std::vector{texts[2], texts[1]}, 5, {}, {}, [](std::size_t i, std::int32_t) { return i == 0; });
    CHECK(again[0] == std::vector(alone[2].begin(), alone[2].begin() + 5));
    CHECK(again[1] == std::vector(alone[1].begin(), alone[1].begin() + 1));
  }
  const models::generator_options packed{
      .context = 20, .streams = 5, .rules = {{.weight_qtype = tk::i4, .tile_size = 16, .packed = true}}};
  models::generator many(d, tk::cpu, packed), by_itself(d, tk::cpu, packed);
  const std::vector<tk::array> logits = many.next_logits_of(texts);
  for (std::size_t i = 0; i < texts.size(); ++i) CHECK(floats(logits[i]) == floats(by_itself.next_logits(texts[i])));
  CHECK_THROWS_WITH(one.next_logits_of(texts), contains("generator: streams: found 5 texts, expected at most 1"));
  CHECK_THROWS_WITH(models::generator(d, tk::cpu, {.streams = 0}), contains("generator: streams: found 0"));
}

TEST_CASE("a cache in bfloat16 gives nearly the same") {
  const models::decoder d = decoder_named("llama");
  const std::vector<std::int32_t> text{3, 1, 4, 1, 5};
  const auto a = floats(models::generator(d, tk::cpu).next_logits(text)),
             b = floats(models::generator(d, tk::cpu, {.cache_dtype = tk::bf16}).next_logits(text));
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(a[i] == Approx(b[i]).margin(0.1));
  CHECK(a != b);
}

TEST_CASE("packed matrices give nearly the same, and the same bits with and without a cache") {
  const models::decoder d = decoder_named("llama");
  const tiny_model m("llama");
  const auto plain = floats(models::generator(d, tk::cpu).next_logits(m.ids));
  for (const tk::dtype type : {tk::i8, tk::i4}) {
    const models::generator_options o{
        .rules = {{.module_path = "blocks[*]", .weight_qtype = type, .tile_size = 16, .packed = true}}};
    models::generator says(d, tk::cpu, o);
    const auto found = floats(says.next_logits(m.ids));
    double largest = 0, difference = 0;
    for (std::size_t i = 0; i < plain.size(); ++i) {
      largest = std::max(largest, std::abs(double{plain[i]}));
      difference = std::max(difference, std::abs(double{plain[i]} - double{found[i]}));
    }
    CHECK(difference > 0);
    CHECK(difference < (type == tk::i8 ? 0.03 : 0.4) * largest);
    std::vector<std::int32_t> text = m.ids;
    for (const std::int32_t id : says(m.ids, 6, {}, {}, go_on)) text.push_back(id);
    CHECK(floats(says.next_logits(text)) == floats(models::generator(d, tk::cpu, o).next_logits(text)));
  }
  CHECK_THROWS_WITH(models::generator(d, tk::cpu, {.rules = {{.tile_size = 7, .packed = true}}}), contains("tile"));
}

TEST_CASE("texts that do not fit are refused") {
  const models::decoder d = decoder_named("gpt2");
  models::generator says(d, tk::cpu);
  CHECK_THROWS_WITH(says.next_logits({}), contains("generator: tokens: found 0, expected 1 to 32"));
  CHECK_THROWS_WITH(says.next_logits(std::vector<std::int32_t>(33, 1)), contains("generator: tokens: found 33"));
  CHECK_THROWS_WITH(says.next_logits(std::vector<std::int32_t>{40}),
                    contains("generator: tokens: found id 40, expected 0 to 39"));
  CHECK_THROWS_WITH(says.next_logits(std::vector<std::int32_t>{-1}), contains("found id -1"));
  CHECK_THROWS_WITH(models::generator(d, tk::cpu, {.context = 33}),
                    contains("generator: context: found 33, expected 1 to 32"));
  models::decoder bounded = decoder_named("llama4");
  CHECK_THROWS_WITH(models::generator(bounded, tk::cpu, {.context = 33}),
                    contains("generator: context: found 33, expected 1 to 32"));
  CHECK_THROWS_WITH(bounded(tk::zeros({1, 33}, tk::i32)), contains("decoder: tokens: found 33, expected at most 32"));
  CHECK_THROWS_WITH(models::generator(d, tk::cpu, {.chunk = 0}), contains("generator: chunk: found 0"));
}
