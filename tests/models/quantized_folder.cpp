// tests/models/quantized_folder.cpp: folders with floats of 8 and 4 bits give what transformers gives, as floats and as codes.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/models/from_pretrained.hpp>
#include <tokamax/models/generator.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/error_of.hpp"
#include "support/model_checks.hpp"
#include "support/tiny_models.hpp"

namespace tk = tokamax;
namespace models = tokamax::models;
using tk::test::most_apart;
using tk::test::tiny_model;

namespace {
tk::array row_of(const std::vector<std::int32_t>& ids) {
  return tk::array::from<std::int32_t>(ids, {1, static_cast<std::int64_t>(ids.size())});
}
std::vector<float> logits_of(models::generator says, const std::vector<std::int32_t>& ids) {
  std::vector<float> all;
  for (std::size_t n = 1; n <= ids.size(); n += 3) {
    const std::vector<float> one = tk::test::floats(says.next_logits(std::span(ids).first(n)));
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}
}  // namespace

TEST_CASE("logits of coded weights are those of transformers, and codes that stay codes have the same bits") {
  const struct {
    const char* name;
    std::size_t matrices;  // that stay codes
  } cases[] = {{"gpt_oss_mxfp4", 2 * 3}, {"qwen3_fp8", 3 * 7}};
  for (const auto& c : cases) {
    CAPTURE(c.name);
    const temporary_folder folder;
    const tiny_model m(c.name);
    m.write(folder.path / "m");
    const models::pretrained floats = models::from_pretrained(folder.path / "m"),
                             codes = models::from_pretrained(folder.path / "m", {.packed = true});
    CHECK(most_apart(floats.model(row_of(m.ids)), m.logits) < 2e-5);
    CHECK(floats.packed.empty());
    CHECK(codes.packed.size() == c.matrices);
    CHECK(logits_of(models::generator(codes.model, tk::cpu, {.packed = codes.packed}), m.ids) ==
          logits_of(models::generator(floats.model, tk::cpu), m.ids));
    // what is saved has floats
    models::save_pretrained(folder.path / "again", floats);
    CHECK(most_apart(models::from_pretrained(folder.path / "again").model(row_of(m.ids)), m.logits) < 2e-5);
  }
}

TEST_CASE("coded tensors that do not fit are refused by what is wrong") {
  const auto refusal = [](const char* name, auto change) {
    const temporary_folder folder;
    tiny_model m(name);
    change(m);
    m.write(folder.path / "m");
    return tk::test::error_of([&] { models::from_pretrained(folder.path / "m"); });
  };
  const auto tensor = [](tiny_model& m, const std::string& name) -> tk::checkpoint::named_array& {
    const auto at = std::ranges::find_if(m.tensors, [&](const auto& t) { return t.name.ends_with(name); });
    REQUIRE(at != m.tensors.end());
    return *at;
  };
  const auto other = [&](const char* name, tk::array value) {
    return [=](tiny_model& m) { tensor(m, name).value = value; };
  };
  const tk::array few = tk::array::filled({tk::u8, false, {1, 1, 1}}, 0);
  CHECK_THAT(refusal("gpt_oss_mxfp4", other("0.mlp.experts.down_proj_scales", few)),
             contains("down_proj_blocks: found [4,64,1,16], expected [E, N, K / 32, 16] beside scales [E, N, K / 32]"));
  CHECK_THAT(refusal("gpt_oss_mxfp4", other("0.mlp.experts.down_proj_blocks", few)),
             contains("down_proj_blocks: found u8[1,1,1], expected u8 of 4 axes"));
  CHECK_THAT(refusal("gpt_oss_mxfp4", [&](tiny_model& m) { tensor(m, "0.mlp.experts.down_proj_blocks").name = "x"; }),
             contains("down_proj_blocks: found nothing, expected u8 of 4 axes"));
  CHECK_THAT(
      refusal("qwen3_fp8", other("0.mlp.up_proj.weight_scale_inv", tk::array::filled({tk::f32, false, {2, 3}}, 1))),
      contains("up_proj.weight_scale_inv: found [2,3], expected [2,2]"));
  CHECK_THAT(refusal("qwen3_fp8", other("0.mlp.up_proj.weight", tk::array::filled({tk::f32, false, {48, 32}}, 1))),
             contains("up_proj.weight: found f32[48,32], expected f8e4m3fn of 2 axes"));
  CHECK_THAT(refusal("qwen3_fp8", [&](tiny_model& m) { tensor(m, "0.mlp.up_proj.weight_scale_inv").name = "x"; }),
             contains("up_proj.weight: found f8e4m3fn[48,32], expected floats"));
  const auto method = [](const char* name, const std::vector<int>& block) {
    return [=](tiny_model& m) {
      tk::checkpoint::json_record how;
      how.set("quant_method", std::string(name)), how.set("weight_block_size", block);
      m.config.set("quantization_config", how);
    };
  };
  CHECK_THAT(refusal("qwen3_fp8", method("gptq", {})), contains("quant_method: found gptq, expected fp8, mxfp4"));
  CHECK_THAT(refusal("qwen3_fp8", method("fp8", {0, 16})), contains("weight_block_size"));
  CHECK_THAT(refusal("qwen3_fp8", method("fp8", {16})), contains("weight_block_size: found 1 numbers"));
}
