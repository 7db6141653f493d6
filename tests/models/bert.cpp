// tests/models/bert.cpp: an encoder gives what transformers gives, whatever other texts are there, and sentences get rows of length 1.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/models/bert_from_pretrained.hpp>
#include <tokamax/models/sentence_encoder.hpp>
#include <tokamax/nn/initializers/init.hpp>
#include <tokamax/transforms/grad.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/error_of.hpp"
#include "support/model_checks.hpp"
#include "support/tiny_models.hpp"

namespace tk = tokamax;
namespace models = tokamax::models;
using tk::test::floats;
using tk::test::most_apart;
using tk::test::tiny_model;

namespace {
const tiny_model& tiny() {
  static const tiny_model m("bert");
  return m;
}
std::vector<std::int32_t> other_ids() { return tiny().file.get<std::vector<std::int32_t>>("other_ids"); }
models::pretrained_bert read(const tiny_model& m) {
  const temporary_folder folder;
  m.write(folder.path / "m");
  return models::bert_from_pretrained(folder.path / "m");
}
tk::array row_of(const std::vector<std::int32_t>& ids) {
  return tk::array::from<std::int32_t>(ids, {1, std::ssize(ids)});
}
}  // namespace

TEST_CASE("states, embeddings and pooled states are those of transformers, alone and beside a longer text") {
  const models::bert m = read(tiny()).model;
  const tiny_model& t = tiny();
  CHECK(most_apart(m(row_of(t.ids)), t.logits) < 2e-5);
  std::vector<std::int32_t> both = other_ids();
  both.resize(t.ids.size(), 9);
  both.insert(both.end(), t.ids.begin(), t.ids.end());
  const auto short_one = static_cast<std::int32_t>(other_ids().size()),
             long_one = static_cast<std::int32_t>(t.ids.size());
  const tk::array ids = tk::array::from<std::int32_t>(both, {2, long_one}),
                  lengths = tk::array::from<std::int32_t>({short_one, long_one});
  CHECK(most_apart(m.embed(ids, lengths), t.file.get<std::vector<float>>("embeddings")) < 2e-5);
  CHECK(most_apart(m.pooled(ids, lengths), t.file.get<std::vector<float>>("pooled")) < 2e-5);
}

TEST_CASE("sentences of all lengths get their rows in order, with the bits that they have alone") {
  models::sentence_encoder embed(read(tiny()).model, tk::cpu);
  const tiny_model& t = tiny();
  const tk::array two = embed({other_ids(), t.ids});
  CHECK(most_apart(two, t.file.get<std::vector<float>>("embeddings")) < 2e-5);
  std::vector<std::vector<std::int32_t>> many;
  for (int i = 0; i < 90; ++i)
    many.emplace_back(static_cast<std::size_t>(1 + i * 7 % 30),
                      3 + i % 30);  // the longest are cut to the context of 24
  const std::vector<float> rows = floats(embed(many));
  for (std::size_t i = 0; i < many.size(); i += 11) {
    const std::vector<float> alone = floats(embed({many[i]}));
    CHECK(std::equal(alone.begin(), alone.end(), rows.begin() + static_cast<std::ptrdiff_t>(32 * i)));
  }
  std::vector<std::int32_t> too_long(30, 5), cut(24, 5);
  too_long.back() = cut.back() = 2;
  CHECK(floats(embed({too_long})) == floats(embed({cut})));
  CHECK_THROWS_WITH(models::sentence_encoder(read(tiny()).model, tk::cpu, 25),
                    contains("sentence_encoder: longest: found 25, expected 2 to 24"));
  CHECK(embed({}).shape() == tk::shape{0, 32});
  CHECK_THROWS_WITH(embed({t.ids, {}}), contains("sentence_encoder: tokens: found none"));
  CHECK_THROWS_WITH(embed({{40}}), contains("sentence_encoder: tokens: found id 40, expected 0 to 39"));
}

TEST_CASE("what is saved is the same encoder, with its tokenizer, and heads of other tasks are left out") {
  const temporary_folder folder;
  tiny_model m = tiny();
  m.write(folder.path / "m");
  std::ofstream(folder.path / "m" / "vocab.txt") << "[PAD]\n";
  const models::pretrained_bert p = models::bert_from_pretrained(folder.path / "m");
  models::save_pretrained(folder.path / "again", p, 8000);
  CHECK(std::filesystem::exists(folder.path / "again" / "vocab.txt"));
  const tk::checkpoint::safetensors_folder saved(folder.path / "again");
  CHECK(saved.arrays().size() == m.tensors.size());
  for (const auto& [name, value] : m.tensors) CHECK(floats(saved.read(name)) == floats(value));
  for (auto& [name, value] : m.tensors) name = "bert." + name;
  m.tensors.push_back({"cls.predictions.bias", tk::zeros({40})});
  m.config.set("architectures", std::vector<std::string>{"BertForMaskedLM"});
  m.write(folder.path / "masked");
  const models::bert masked = models::bert_from_pretrained(folder.path / "masked").model;
  CHECK(floats(masked(row_of(m.ids))) == floats(p.model(row_of(m.ids))));
}

TEST_CASE("an encoder learns, and says what does not fit") {
  const models::bert m =
      tk::init(models::make_bert({.vocabulary = 9, .context = 8, .width = 8, .layers = 2, .heads = 2, .hidden = 12}),
               tk::random::key(1));
  const tk::array ids = tk::array::from<std::int32_t>({3, 1, 4, 1, 5, 2}, {2, 3});
  const models::bert g = tk::grad([](const models::bert& f, const tk::array& x) {
    return tk::sum(tk::cos(f.pooled(x))) + tk::sum(tk::sin(f.embed(x)));
  })(m, ids);
  tk::for_each_leaf_with_path(
      [](std::string_view path, const tk::array& a) {
        CAPTURE(path);
        if (!path.ends_with("key.bias")) CHECK(tk::sum(tk::abs(a)).item() > 0);  // a softmax does not see it
      },
      g);
  CHECK_THROWS_WITH(models::make_bert({.vocabulary = 9, .width = 8, .layers = 1, .heads = 3, .hidden = 1}),
                    contains("bert: width: found 8, expected a multiple of 3 heads"));
  const auto refused = [](auto change) {
    tiny_model t = tiny();
    change(t);
    return tk::test::error_of([&] { read(t); });
  };
  CHECK_THAT(refused([](auto& t) { t.config.set("architectures", std::vector<std::string>{"RobertaModel"}); }),
             contains("config.architectures: found RobertaModel, expected BertModel"));
  CHECK_THAT(refused([](auto& t) { t.config.set("hidden_size", 30); }),
             contains("bert: width: found 30, expected a multiple of 4 heads") && contains("config.json"));
  CHECK_THAT(refused([](auto& t) { t.config.set("num_hidden_layers", 1 << 27); }),
             contains("bert: layers: found 134217728"));
  CHECK_THAT(refused([](auto& t) { t.config.set("type_vocab_size", 3); }),
             contains("tensor embeddings.token_type_embeddings.weight: found [2,32], expected [3,32]"));
  CHECK_THAT(refused([](auto& t) { t.tensors.erase(t.tensors.begin() + 7); }), contains("found nothing, expected ["));
  CHECK_THAT(refused([](auto& t) { t.tensors.push_back({"more", tk::zeros({1})}); }),
             contains("model: tensor more: found [1], expected no such tensor"));
  CHECK_THAT(refused([](auto& t) { t.config.set("position_embedding_type", std::string("relative_key")); }),
             contains("config.position_embedding_type: found relative_key, expected absolute"));
}
