// tests/models/t5.cpp: T5 gives what transformers gives, and writes with a cache what it writes without one, bit by bit.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/models/t5_from_pretrained.hpp>
#include <tokamax/models/t5_generator.hpp>
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
models::pretrained_t5 read(const tiny_model& m) {
  const temporary_folder folder;
  m.write(folder.path / "m");
  return models::t5_from_pretrained(folder.path / "m");
}
tk::array row_of(std::span<const std::int32_t> ids) { return tk::array::from<std::int32_t>(ids, {1, std::ssize(ids)}); }
const auto go_on = [](std::int32_t) { return true; };
}  // namespace

TEST_CASE("logits and tokens are those of transformers, and a token has the same bits however the text was cut") {
  for (const char* name : {"t5", "t5_gated"}) {
    CAPTURE(name);
    const tiny_model t(name);
    const models::t5 m = read(t).model;
    const auto written = t.file.get<std::vector<std::int32_t>>("written");
    const tk::array lengths = tk::array::from<std::int32_t>({static_cast<std::int32_t>(t.ids.size())});
    CHECK(most_apart(m(row_of(t.ids), lengths, row_of(written)), t.logits) < 2e-5);
    std::vector<std::int32_t> filled = t.ids;  // what lies behind a text does not count
    filled.resize(29, 7);
    CHECK(most_apart(m(row_of(filled), lengths, row_of(written)), t.logits) < 2e-5);

    models::t5_generator says(m, tk::cpu, static_cast<std::int64_t>(t.greedy.size()));
    CHECK(says(t.ids, {}, {}, go_on) == t.greedy);
    CHECK(says(t.ids, {}, {}, [](std::int32_t) { return false; }).size() == 1);
    const std::vector<std::int32_t> ends{t.greedy[3]};
    CHECK(says(t.ids, {}, ends, go_on).size() < 4);

    const auto step =
        tk::jit([](const models::t5& f, const tk::array& tokens, const tk::array& at, const models::t5_cache& cache,
                   const tk::array& n) { return f.step(tokens, at, cache, n); },
                tk::any_device(tk::cpu));
    std::vector<float> expected;
    for (const std::size_t chunk : {written.size(), std::size_t{1}, std::size_t{4}}) {
      models::t5_cache cache = m.begin(row_of(t.ids), lengths, 20);
      std::vector<float> found;
      for (std::size_t at = 0; at < written.size(); at += chunk) {
        const std::span<const std::int32_t> some(written.data() + at, std::min(chunk, written.size() - at));
        models::t5_step y =
            step(m, row_of(some), tk::array(static_cast<std::int32_t>(at), {tk::i32, false, {}}), cache, lengths);
        cache = std::move(y.cache);
        const auto more = floats(y.logits);
        found.insert(found.end(), more.begin(), more.end());
      }
      if (expected.empty()) expected = found;
      CHECK(found == expected);
    }
    CHECK(most_apart(tk::array::from(expected), t.logits) < 2e-5);
  }
}

TEST_CASE("what is saved is the same model") {
  for (const char* name : {"t5", "t5_gated"}) {
    const temporary_folder folder;
    const tiny_model t(name);
    t.write(folder.path / "m");
    std::ofstream(folder.path / "m" / "spiece.model") << "pieces";
    const models::pretrained_t5 p = models::t5_from_pretrained(folder.path / "m");
    CHECK(p.end_token == 1);
    models::save_pretrained(folder.path / "again", p, 6000);
    CHECK(std::filesystem::exists(folder.path / "again" / "spiece.model"));
    const tk::checkpoint::safetensors_folder saved(folder.path / "again");
    CHECK(saved.arrays().size() == t.tensors.size());
    for (const auto& [tensor, value] : t.tensors) CHECK(floats(saved.read(tensor)) == floats(value));
    tk::for_each_leaf([](const tk::array& a) { CHECK(!a.is_abstract()); },
                      models::t5_from_pretrained(folder.path / "again").model);
  }
}

TEST_CASE("T5 learns, and says what does not fit") {
  const models::t5_config size{
      .vocabulary = 9, .width = 8, .heads = 2, .head_size = 4, .layers = 1, .decoder_layers = 2, .hidden = 12};
  const models::t5 m = tk::init(models::make_t5(size), tk::random::key(1));
  const tk::array ids = tk::array::from<std::int32_t>({3, 1, 4, 1, 5, 2}, {2, 3}),
                  lengths = tk::array::from<std::int32_t>({3, 2});
  const models::t5 g = tk::grad([](const models::t5& f, const tk::array& x, const tk::array& n) {
    return tk::sum(tk::cos(f(x, n, x)));
  })(m, ids, lengths);
  tk::for_each_leaf_with_path(
      [](std::string_view path, const tk::array& a) {
        CAPTURE(path);
        if (a.size() != 0) CHECK(tk::sum(tk::abs(a)).item() > 0);
      },
      g);
  CHECK_THROWS_WITH(models::make_t5({.vocabulary = 9, .width = 8}), contains("t5: head_size: found 0"));
  models::t5_generator says(m, tk::cpu, 4);
  CHECK_THROWS_WITH(says({}, {}, {}, go_on), contains("t5_generator: tokens: found none"));
  CHECK_THROWS_WITH(says(std::vector<std::int32_t>{9}, {}, {}, go_on), contains("found id 9, expected 0 to 8"));
  CHECK_THROWS_WITH(models::t5_generator(m, tk::cpu, 0), contains("t5_generator: most: found 0"));
  const auto refused = [](auto change) {
    tiny_model t("t5");
    change(t);
    return tk::test::error_of([&] { read(t); });
  };
  CHECK_THAT(refused([](auto& t) { t.config.set("architectures", std::vector<std::string>{"MT5Model"}); }),
             contains("config.architectures: found MT5Model, expected T5ForConditionalGeneration"));
  CHECK_THAT(refused([](auto& t) { t.config.set("relative_attention_num_buckets", 7); }),
             contains("t5: buckets: found 7, expected an even number") && contains("config.json"));
  CHECK_THAT(refused([](auto& t) { t.config.set("num_decoder_layers", 4); }), contains("found nothing, expected ["));
  CHECK_THAT(refused([](auto& t) { t.config.set("d_kv", 5); }), contains("found [24,24], expected [20,24]"));
  CHECK_THAT(refused([](auto& t) { t.config.set("feed_forward_proj", std::string("gated-mish")); }),
             contains("config.feed_forward_proj: found mish, expected silu"));
  CHECK_THAT(refused([](auto& t) { t.tensors.push_back({"decoder.block.9.x", tk::zeros({1})}); }),
             contains("model: tensor decoder.block.9.x: found [1], expected no such tensor"));
}
