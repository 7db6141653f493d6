// tests/models/real.cpp: a real model answers as it does in transformers. It runs where TOKAMAX_REAL_MODELS names its folder.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/models/from_pretrained.hpp>
#include <tokamax/models/generator.hpp>

#include <cstdlib>

#include "support/catch.hpp"

namespace tk = tokamax;
namespace models = tokamax::models;

namespace {
/// A chat of tests/golden/smollm2.json.
struct chat {
  std::string question;
  std::vector<std::int32_t> ids, said, top;
  std::vector<double> logits;
  double greatest = 0;
};
}  // namespace

TEST_CASE("SmolLM2 answers 50 questions with the tokens of transformers", "[.real]") {
  const char* const folder = std::getenv("TOKAMAX_REAL_MODELS");
  REQUIRE(folder);
  models::pretrained p = models::from_pretrained(std::filesystem::path(folder) / "SmolLM2-135M-Instruct.Q4_1.gguf");
  CHECK(p.end_tokens == std::vector<std::int32_t>{2});
  models::generator says(std::move(p.model), tk::cpu, {.context = 256});
  const auto chats =
      tk::checkpoint::json_record::from_file(TOKAMAX_ROOT "/tests/golden/smollm2.json").get<std::vector<chat>>("chats");
  CHECK(chats.size() == 50);
  for (const chat& c : chats) {
    CAPTURE(c.question);
    const tk::array logits = says.next_logits(c.ids);
    for (std::size_t i = 0; i < c.top.size(); ++i) {
      const auto found = static_cast<double>(logits.values<float>()[static_cast<std::size_t>(c.top[i])]);
      CHECK(std::fabs(found - c.logits[i]) < 5e-5 * c.greatest);
    }
    const auto said = says(c.ids, 64, {}, p.end_tokens, [](std::int32_t) { return true; });
    const auto [here, there] = std::mismatch(said.begin(), said.end(), c.said.begin(), c.said.end());
    if (here == said.end() && there == c.said.end()) continue;
    REQUIRE((here != said.end() && there != c.said.end()));  // they part where two tokens are as good
    std::vector<std::int32_t> text = c.ids;
    text.insert(text.end(), said.begin(), here);
    const tk::array then = says.next_logits(text);
    const auto logit = [&](std::int32_t id) { return then.values<float>()[static_cast<std::size_t>(id)]; };
    CHECK(std::fabs(logit(*here) - logit(*there)) < 1e-4f);
  }
}

TEST_CASE("SmolLM2 in the bits of its file has the logits of its floats, bit by bit", "[.real]") {
  const char* const folder = std::getenv("TOKAMAX_REAL_MODELS");
  REQUIRE(folder);
  const auto file = std::filesystem::path(folder) / "SmolLM2-135M-Instruct.Q4_1.gguf";
  models::pretrained floats = models::from_pretrained(file), codes = models::from_pretrained(file, {.packed = true});
  CHECK(codes.packed.size() == 1 + 30 * 7);
  models::generator a(std::move(floats.model), tk::cpu, {.context = 256}),
      b(std::move(codes.model), tk::cpu, {.context = 256, .packed = std::move(codes.packed)});
  const auto chats =
      tk::checkpoint::json_record::from_file(TOKAMAX_ROOT "/tests/golden/smollm2.json").get<std::vector<chat>>("chats");
  for (std::size_t i = 0; i < 5; ++i) {
    const tk::array x = a.next_logits(chats[i].ids), y = b.next_logits(chats[i].ids);
    CHECK(std::ranges::equal(x.values<float>(), y.values<float>()));
    const auto go_on = [](std::int32_t) { return true; };
    CHECK(a(chats[i].ids, 8, {}, {}, go_on) == b(chats[i].ids, 8, {}, {}, go_on));
  }
}
