// tests/text/train_bpe.cpp: merges that are found in texts, beside those of `tokenizers`, and what tokenizers of them give.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/base/system/file.hpp>
#include <tokamax/text/train_bpe.hpp>

#include <nlohmann/json.hpp>

#include "support/catch.hpp"
#include "support/error_of.hpp"

using tokamax::test::error_of;
using tokamax::text::tokenizer;
using tokamax::text::train_bpe;

namespace {
const std::string folder = TOKAMAX_ROOT "/tests/golden/train_bpe/";
std::string train(const std::vector<std::string_view>& texts, const tokamax::text::bpe_training_options& options) {
  return train_bpe(texts, options);
}
}  // namespace

TEST_CASE("Trained merges are those of the Python package") {
  using nlohmann::json;
  const json cases = json::parse(tokamax::read_file(folder + "cases.json"));
  for (const json& one : cases["cases"]) {
    std::vector<std::string> texts = cases["texts"];
    const auto made = json::parse(
        train({texts.begin(), texts.end()}, {.vocab_size = one["vocab_size"],
                                             .min_frequency = one["min_frequency"],
                                             .special_tokens = one["special_tokens"].get<std::vector<std::string>>(),
                                             .pattern = one["pattern"]}));
    CAPTURE(one["vocab_size"]);
    REQUIRE(one["merges"].size() > 20);
    CHECK(made["model"]["merges"] == one["merges"]);
    CHECK(made["model"]["vocab"].size() == one["tokens"]);
  }
}

TEST_CASE("A trained tokenizer reads its texts in few tokens, and gives them again") {
  const std::string text = "the cat and the hat and the mat, and the rat 😀 sat on the mat\n";
  const tokenizer t = tokenizer::from_json(train({text, text, "the end"}, {.vocab_size = 275}));
  CHECK(t.size() == 275);
  CHECK(t.id_of("<|endoftext|>") == 0);
  CHECK(t.is_special(0));
  CHECK(t.ids(" the").size() == 1);
  CHECK(t.ids(text).size() < text.size() / 2);
  CHECK(t.decode(t.ids(text)) == text);
  CHECK(t.decode(t.ids("other: é\xF0\x9F\x98\x81")) == "other: é\xF0\x9F\x98\x81");
  CHECK(t.encode("a<|endoftext|>").ids.back() == 0);
}

TEST_CASE("Sizes and texts are checked, and few texts give few merges") {
  CHECK(tokenizer::from_json(train({}, {.vocab_size = 257})).size() == 257);
  CHECK(tokenizer::from_json(train({"", "a"}, {.vocab_size = 9999})).size() == 257);
  CHECK(tokenizer::from_json(train({"ab ab cd"}, {.vocab_size = 9999, .min_frequency = 2, .special_tokens = {}}))
            .size() == 257);
  CHECK(error_of([] { train({"a"}, {.vocab_size = 256}); }) ==
        "train_bpe: vocab_size: found 256, expected from 257 to 16777215");
  CHECK(error_of([] { train({"a"}, {.special_tokens = {"x", "x"}}); }).find("x twice") != std::string::npos);
  CHECK(error_of([] { train({"a"}, {.special_tokens = {""}}); }).find("an empty one") != std::string::npos);
  CHECK(error_of([] { train({"\xFF"}, {}); }).find("not UTF-8") != std::string::npos);
  CHECK(error_of([] { train({"a"}, {.pattern = "("}); }).find("pattern (") != std::string::npos);
}
