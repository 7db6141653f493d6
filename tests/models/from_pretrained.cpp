// tests/models/from_pretrained.cpp: models of all families give what transformers gives, and come back from what is saved.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/models/from_pretrained.hpp>
#include <tokamax/models/generator.hpp>
#include <tokamax/nn/capture.hpp>
#include <tokamax/nn/experts/router_losses.hpp>
#include <tokamax/nn/initializers/init.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/error_of.hpp"
#include "support/ggml_bytes.hpp"
#include "support/gguf_writer.hpp"
#include "support/model_checks.hpp"
#include "support/tiny_models.hpp"

namespace tk = tokamax;
namespace models = tokamax::models;
using tk::test::most_apart;
using tk::test::tiny_model;

namespace {

bool same(const tk::array& a, const tk::array& b) {
  return a.type() == b.type() &&
         std::ranges::equal(tk::checkpoint::detail::bytes_of(a), tk::checkpoint::detail::bytes_of(b));
}
/// The arrays of a model, each with data.
std::vector<tk::array> arrays_of(const models::decoder& m) {
  std::vector<tk::array> all;
  tk::for_each_leaf([&](tk::array a) { a.materialize(), all.push_back(a); }, m);
  return all;
}
bool same(const models::decoder& a, const models::decoder& b) {
  return std::ranges::equal(arrays_of(a), arrays_of(b), [](const auto& x, const auto& y) { return same(x, y); });
}
tk::array row_of(const std::vector<std::int32_t>& ids) {
  return tk::array::from<std::int32_t>(ids, {1, static_cast<std::int64_t>(ids.size())});
}

/// The error of a folder whose config, or tensors, are changed.
template <class Change>
std::string refusal(const std::string& name, const Change& change) {
  const temporary_folder folder;
  tiny_model m(name);
  change(m);
  m.write(folder.path / "m");
  return tk::test::error_of([&] { models::from_pretrained(folder.path / "m"); });
}

/// How a family writes a GGUF file.
struct gguf_form {
  std::string model, architecture;  // of tests/golden/models, and there
  bool pairs = false, plus_one = false;
};
/// Names of tensors in folders and in GGUF files. The first part that a name contains is replaced, in each of these lists.
const std::vector<std::vector<std::pair<std::string, std::string>>> parts_of_names{
    {{"model.layers", "blk"},
     {"transformer.h", "blk"},
     {"model.embed_tokens", "token_embd"},
     {"transformer.wte", "token_embd"},
     {"transformer.wpe", "position_embd"},
     {"model.norm", "output_norm"},
     {"transformer.ln_f", "output_norm"},
     {"lm_head", "output"}},
    {{"self_attn.q_proj", "attn_q"},
     {"self_attn.k_proj", "attn_k"},
     {"self_attn.v_proj", "attn_v"},
     {"self_attn.o_proj", "attn_output"},
     {"self_attn.qkv_proj", "attn_qkv"},
     {"self_attn.q_norm", "attn_q_norm"},
     {"self_attn.k_norm", "attn_k_norm"},
     {"mlp.gate_up_proj", "ffn_up"},
     {"mlp.gate_proj", "ffn_gate"},
     {"mlp.up_proj", "ffn_up"},
     {"mlp.down_proj", "ffn_down"},
     {"post_attention_layernorm", "ffn_norm"},
     {"input_layernorm", "attn_norm"},
     {"ln_1", "attn_norm"},
     {"ln_2", "ffn_norm"},
     {"attn.c_attn", "attn_qkv"},
     {"attn.c_proj", "attn_output"},
     {"mlp.c_fc", "ffn_up"},
     {"mlp.c_proj", "ffn_down"}}};

const auto in_floats = [](tk::test::gguf_writer& file, const std::string& tensor, const tk::array& x) {
  file.tensor(tensor, x);
};
/// A model as a GGUF file, with what `change` adds; `put` writes the tensors.
template <class Change, class Put = decltype(in_floats)>
tk::test::gguf_writer gguf_of(const tiny_model& m, const gguf_form& form, const Change& change,
                              const Put& put = in_floats) {
  tk::test::gguf_writer file;
  const std::string of = form.architecture + ".";
  file.text("general.architecture", form.architecture);
  for (const auto& [own, names] : std::vector<std::pair<std::string, std::vector<std::string>>>{
           {"block_count", {"num_hidden_layers", "n_layer"}},
           {"embedding_length", {"hidden_size", "n_embd"}},
           {"feed_forward_length", {"intermediate_size"}},
           {"attention.head_count", {"num_attention_heads", "n_head"}},
           {"attention.head_count_kv", {"num_key_value_heads"}},
           {"context_length", {"max_position_embeddings", "n_positions"}},
           {"vocab_size", {"vocab_size"}},
           {"attention.key_length", {"head_dim"}},
           {"attention.sliding_window", {"sliding_window"}}})
    for (const std::string& name : names)
      if (m.config.has(name)) file.number(of + own, m.config.get<int>(name));
  if (m.config.has("rms_norm_eps"))
    file.real(of + "attention.layer_norm_rms_epsilon", m.config.get<double>("rms_norm_eps"));
  if (m.config.has("layer_norm_epsilon"))
    file.real(of + "attention.layer_norm_epsilon", m.config.get<double>("layer_norm_epsilon"));
  if (m.config.has("rope_parameters"))
    file.real(of + "rope.freq_base", m.config.record("rope_parameters").get<double>("rope_theta"));
  file.number("tokenizer.ggml.eos_token_id", 2);
  for (const auto& [name, value] : m.tensors) {
    std::string own = name;
    for (const auto& list : parts_of_names)
      for (const auto& [from, to] : list)
        if (const std::size_t at = own.find(from); at != std::string::npos) {
          own.replace(at, from.size(), to);
          break;
        }
    const bool query = own.find("attn_q.") != std::string::npos, key = own.find("attn_k.") != std::string::npos;
    tk::array x = value;
    if (form.pairs && (query || key)) {  // halves -> pairs
      const std::int64_t heads = m.config.get<int>(query ? "num_attention_heads" : "num_key_value_heads");
      x = tk::reshape(tk::transpose(tk::reshape(x, {heads, 2, x.extent(0) / heads / 2, x.extent(1)}), {0, 2, 1, 3}),
                      x.shape());
    }
    if (form.plus_one && name.find("norm") != std::string::npos) x = x + 1.0f;
    if (name.find(".c_") != std::string::npos && x.rank() == 2) x = tk::transpose(x);
    put(file, own, x);
  }
  change(file);
  return file;
}
const gguf_form llama_form{.model = "llama", .architecture = "llama", .pairs = true};

}  // namespace

TEST_CASE("logits are those of transformers, and what is saved is the same model") {
  for (const std::string& name : tk::test::tiny_model_names) {
    CAPTURE(name);
    const temporary_folder folder;
    const tiny_model m(name);
    m.write(folder.path / "m");
    const models::pretrained p = models::from_pretrained(folder.path / "m");
    CHECK(most_apart(p.model(row_of(m.ids)), m.logits) < 2e-5);
    CHECK(p.end_tokens == std::vector<std::int32_t>{2});

    for (const std::uint64_t most_bytes : {std::uint64_t{1} << 30, std::uint64_t{8000}}) {
      const auto again = folder.path / ("again" + std::to_string(most_bytes));
      models::save_pretrained(again, p, most_bytes);
      CHECK(same(models::from_pretrained(again).model, p.model));
      CHECK(std::filesystem::exists(again / "model.safetensors.index.json") == (most_bytes == 8000));
      const tk::checkpoint::safetensors_folder saved(again);
      CHECK(saved.arrays().size() == m.tensors.size());
      for (const auto& [tensor, value] : m.tensors) CHECK(same(saved.read(tensor), value));
    }
  }
}

TEST_CASE("arrays whose dtype and layout files have stay in the files") {
  const temporary_folder folder;
  const tiny_model m("gpt2");  // which has its matrices as they are multiplied
  m.write(folder.path / "m");
  const models::pretrained p = models::from_pretrained(folder.path / "m");
  CHECK(tk::buffer_pool::instance().idle_bytes() < 1 << 20);  // what conversions needed is not kept
  CHECK(p.model.token.table.storage()->read_only);
  CHECK(p.model.blocks[0].mlp.down.kernel.storage()->read_only);
  CHECK(!models::from_pretrained(folder.path / "m", {.dtype = tk::bf16}).model.token.table.storage()->read_only);
  std::filesystem::remove_all(folder.path / "m");
  CHECK(most_apart(p.model(row_of(m.ids)), m.logits) < 2e-5);
}

TEST_CASE("what stands beside the weights is copied, and the router's logits give the balance loss of transformers") {
  const temporary_folder folder;
  const tiny_model m("mixtral");
  m.write(folder.path / "m");
  for (const char* name :
       {"tokenizer.json", "tokenizer_config.json", "generation_config.json", "chat_template.jinja", "notes.txt"})
    std::ofstream(folder.path / "m" / name) << "{}";
  const models::pretrained p = models::from_pretrained(folder.path / "m");
  models::save_pretrained(folder.path / "again", p);
  for (const char* name : {"tokenizer.json", "tokenizer_config.json", "generation_config.json", "chat_template.jinja"})
    CHECK(std::filesystem::exists(folder.path / "again" / name));
  CHECK(!std::filesystem::exists(folder.path / "again" / "notes.txt"));

  const auto [logits, values] =
      tk::nn::capture([](const models::decoder& d, const tk::array& ids) { return d(ids); },
                      [](std::string_view path) { return path.ends_with("router.logits"); })(p.model, row_of(m.ids));
  tk::arrays rows;
  for (const auto& [path, value] : values) rows.push_back(value);
  CHECK(rows.count() == 2);
  CHECK(tk::nn::balance_loss(tk::concatenate(rows, 0), 2).item() == Approx(m.file.get<double>("balance_loss")));
}

TEST_CASE("mixtures that contradict themselves are refused by what is wrong") {
  const auto set = [](const char* name, const char* field, const auto& value) {
    return refusal(name, [&](tiny_model& m) { m.config.set(field, value); });
  };
  const auto without = [](const char* name, const std::string& tensor) {
    return refusal(name,
                   [&](tiny_model& m) { std::erase_if(m.tensors, [&](const auto& t) { return t.name == tensor; }); });
  };
  const std::string of_expert = "model.layers.1.block_sparse_moe.experts.2.w3.weight";
  CHECK_THAT(without("mixtral", of_expert),
             contains("model: tensor " + of_expert + ": found nothing, expected [20,32]"));
  CHECK_THAT(set("mixtral", "num_local_experts", 5),
             contains("block_sparse_moe.gate.weight: found [4,32], expected [5,32]"));
  CHECK_THAT(
      refusal("mixtral",
              [](tiny_model& m) {
                m.tensors.push_back({"model.layers.0.block_sparse_moe.experts.4.w1.weight", tk::zeros({20, 32})});
              }),
      contains("experts.4.w1.weight: found [20,32], expected no such tensor"));
  CHECK_THAT(set("mixtral", "num_local_experts", 1 << 20), contains("decoder: experts: found 1048576"));
  CHECK_THAT(set("mixtral", "num_local_experts", 60000),
             contains("decoder: experts: found 60000, expected at most the"));
  CHECK_THAT(set("mixtral", "num_local_experts", 0), contains("config.num_local_experts: found 0, expected 1 or more"));
  CHECK_THAT(set("mixtral", "num_experts_per_tok", 5), contains("decoder: chosen experts: found 5, expected 1 to 4"));
  CHECK_THAT(set("qwen2_moe", "decoder_sparse_step", 0), contains("config.decoder_sparse_step: found 0"));
  CHECK_THAT(set("gpt_oss", "swiglu_limit", -1), contains("config.swiglu_limit: found -1"));
  CHECK_THAT(without("gpt_oss", "model.layers.0.self_attn.sinks"),
             contains("self_attn.sinks: found nothing, expected [4]"));
  CHECK_THAT(set("deepseek3", "n_group", 3), contains("decoder: groups of experts: found 3, expected a divisor of 8"));
  CHECK_THAT(set("deepseek3", "n_group", 8), contains("decoder: experts of a group: found 1, expected the 2"));
  CHECK_THAT(set("deepseek3", "topk_group", 5), contains("decoder: chosen groups: found 5, expected 1 to 4"));
  CHECK_THAT(set("deepseek3", "kv_lora_rank", 0), contains("config.kv_lora_rank: found 0, expected 1 or more"));
  CHECK_THAT(set("deepseek3", "kv_lora_rank", 2147483647), contains("decoder: head_size: found 1073741824"));
  CHECK_THAT(set("deepseek3", "v_head_dim", -2), contains("decoder: size of values: found -2"));
  CHECK_THAT(set("llama4", "no_rope_layers", std::vector<int>{1}),
             contains("config.no_rope_layers: found 1 layers, expected 4"));
  CHECK_THAT(set("llama4", "interleave_moe_layer_step", 0), contains("config.interleave_moe_layer_step: found 0"));
  CHECK_THAT(set("deepseek2", "topk_method", std::string("noaux")), contains("config.topk_method: found noaux"));
  CHECK_THAT(refusal("gpt_oss",
                     [](tiny_model& m) {
                       tk::checkpoint::json_record packed;
                       packed.set("quant_method", std::string("awq"));
                       m.config.set("quantization_config", packed);
                     }),
             contains("config.quantization_config.quant_method: found awq, expected fp8, mxfp4"));
  CHECK_THAT(refusal("gpt_oss", [](tiny_model& m) { m.tensors.push_back({"x_blocks", tk::zeros({2}, tk::u8)}); }),
             contains("model: tensor x_blocks: found u8[2], expected floats"));
}

TEST_CASE("each number of a mixture's config changes the logits") {
  const auto with = [](const char* name, const char* field, const auto& value) {
    CAPTURE(name, field);
    const temporary_folder folder;
    tiny_model m(name);
    m.config.set(field, value);
    m.write(folder.path / "m");
    CHECK(most_apart(models::from_pretrained(folder.path / "m").model(row_of(m.ids)), m.logits) > 1e-3);
  };
  with("mixtral", "num_experts_per_tok", 1);
  with("mixtral", "sliding_window", 2);
  with("olmoe", "norm_topk_prob", true);
  with("olmoe", "clip_qkv", 0.1);
  with("qwen3_moe", "norm_topk_prob", false);
  with("gpt_oss", "swiglu_limit", 7.0);
  with("gpt_oss", "swiglu_alpha", 1.0);
  with("gpt_oss", "sliding_window", 3);
  with("deepseek2", "topk_method", std::string("greedy"));
  with("deepseek2", "topk_group", 2);
  with("deepseek2", "routed_scaling_factor", 1.0);
  with("deepseek3", "topk_group", 1);
  with("deepseek3", "norm_topk_prob", false);
  with("deepseek3", "rope_interleave", false);
  with("llama4", "attn_scale", 0.1);
  with("llama4", "floor_scale", 8.0);
  with("llama4", "use_qk_norm", false);
  with("llama4", "no_rope_layers", std::vector<int>{1, 1, 0, 1});
}

TEST_CASE("layers that foretell more tokens are not read") {
  const temporary_folder folder;
  tiny_model m("deepseek3");
  m.tensors.push_back({"model.layers.2.eh_proj.weight", tk::zeros({3})});
  m.write(folder.path / "m");
  CHECK(most_apart(models::from_pretrained(folder.path / "m").model(row_of(m.ids)), m.logits) < 2e-5);
  m.tensors.push_back({"model.layers.3.eh_proj.weight", tk::zeros({3})});
  m.write(folder.path / "more");
  CHECK_THROWS_WITH(models::from_pretrained(folder.path / "more"),
                    contains("model.layers.3.eh_proj.weight: found [3]"));
}

TEST_CASE("weights are rounded to bfloat16 where that is asked for") {
  const temporary_folder folder;
  const tiny_model m("llama");
  m.write(folder.path / "m");
  const models::pretrained p = models::from_pretrained(folder.path / "m", {.dtype = tk::bf16});
  CHECK(p.model.blocks[0].mlp.up.kernel.dtype() == tk::bf16);
  CHECK(most_apart(p.model(row_of(m.ids)), m.logits) < 5e-2);
  CHECK_THROWS_WITH(models::from_pretrained(folder.path / "m", {.dtype = tk::f16}),
                    contains("found f16, expected f32 or bf16"));
}

TEST_CASE("GGUF files of other families give the same logits") {
  for (const gguf_form& form : {gguf_form{"qwen3", "qwen3"}, gguf_form{"gemma", "gemma", false, true},
                                gguf_form{"phi3", "phi3"}, gguf_form{"gpt2", "gpt2"}}) {
    CAPTURE(form.model);
    const temporary_folder folder;
    const tiny_model m(form.model);
    gguf_of(m, form, [](auto&) {}).write(folder.path / "m.gguf");
    const models::pretrained p = models::from_pretrained(folder.path / "m.gguf");
    CHECK(most_apart(p.model(row_of(m.ids)), m.logits) < 2e-5);
    models::save_pretrained(folder.path / "again", p);
    CHECK(same(models::from_pretrained(folder.path / "again").model, p.model));
  }
}

TEST_CASE("a GGUF file of Llama, which pairs features, is the same model") {
  const temporary_folder folder;
  const tiny_model m("llama");
  m.write(folder.path / "m");
  gguf_of(m, llama_form, [](auto&) {}).write(folder.path / "m.gguf");
  const models::pretrained a = models::from_pretrained(folder.path / "m"),
                           b = models::from_pretrained(folder.path / "m.gguf");
  CHECK(same(a.model, b.model));
  CHECK(b.end_tokens == std::vector<std::int32_t>{2});
  models::save_pretrained(folder.path / "again", b);
  CHECK(same(models::from_pretrained(folder.path / "again").model, a.model));
}

TEST_CASE("matrices of codes stay codes, and give the bits of the floats that they stand for") {
  const temporary_folder folder;
  for (const gguf_form& form : {llama_form, gguf_form{"qwen3", "qwen3"}, gguf_form{"phi3", "phi3"}})
    for (const char* const name : {"Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0"}) {
      CAPTURE(form.model, name);
      const auto* const format = std::ranges::find_if(tk::checkpoint::ggml_formats,
                                                      [&](const auto& f) { return f.name == std::string(name); });
      const tiny_model m(form.model);
      unsigned seed = 0;
      gguf_of(
          m, form, [](auto&) {},
          [&](tk::test::gguf_writer& file, const std::string& tensor, const tk::array& x) {
            if (x.rank() != 2 || x.extent(1) != 32) return file.tensor(tensor, x);
            file.tensor(tensor, x.shape(), format->number, tk::test::ggml_bytes(*format, x.extent(0), ++seed));
          })
          .write(folder.path / "m.gguf");
      const models::pretrained floats = models::from_pretrained(folder.path / "m.gguf"),
                               codes = models::from_pretrained(folder.path / "m.gguf", {.packed = true});
      CHECK(floats.packed.empty());
      const std::size_t of_layer = form.model == "qwen3" ? 5 : 6;  // rows of 48 are no blocks of 32
      CHECK(codes.packed.size() == (floats.model.config.tied ? 1u : 2u) + of_layer * floats.model.blocks.size());
      CHECK(codes.packed.contains("token.table"));
      CHECK(!codes.model.token.table.is_concrete());
      const auto logits = [&](models::generator says) {
        std::vector<float> all;
        for (std::size_t n = 1; n <= m.ids.size(); n += 3) {
          const tk::array one = says.next_logits(std::span(m.ids).first(n));
          all.insert(all.end(), one.values<float>().begin(), one.values<float>().end());
        }
        return all;
      };
      CHECK(logits(models::generator(codes.model, tk::cpu, {.packed = codes.packed})) ==
            logits(models::generator(floats.model, tk::cpu)));
      CHECK_THROWS_WITH(models::generator(codes.model, tk::cpu, {.rules = {{}}, .packed = codes.packed}),
                        contains("generator: rules"));
    }
}

TEST_CASE("GGUF files of mixtures are the same models, and experts that stay codes have the same bits") {
  struct mixture {
    const models::decoder_family& family;
    std::string tiny, shared_hidden;
  };
  for (const mixture& of : {mixture{models::mixtral, "mixtral", ""},
                            {models::qwen2_moe, "qwen2_moe", "shared_expert_intermediate_size"},
                            {models::qwen3_moe, "qwen3_moe", ""},
                            {models::olmoe, "olmoe", ""},
                            {models::gpt_oss, "gpt_oss", ""}}) {
    CAPTURE(of.tiny);
    const temporary_folder folder;
    tk::checkpoint::json_record config = tiny_model(of.tiny).config;  // in each layer experts of rows that are blocks
    for (const char* size : {"intermediate_size", "moe_intermediate_size"}) config.set(size, 32);
    for (const char* other : {"mlp_only_layers", "decoder_sparse_step", "swiglu_limit", "clip_qkv"})
      config.remove(other);
    if (of.family.gguf_config && config.has("norm_topk_prob")) of.family.gguf_config(config);
    const models::decoder_config c = of.family.config(config);
    const models::decoder model = tk::init(models::make_decoder(c), tk::random::key(3));
    for (const bool coded : {false, true}) {
      tk::test::gguf_writer file;
      const std::string name(of.family.gguf), prefix = name + ".";
      file.text("general.architecture", name);
      for (const auto& [own, value] : {std::pair{"block_count", c.layers},
                                       {"embedding_length", c.width},
                                       {"feed_forward_length", 32},
                                       {"attention.head_count", c.heads},
                                       {"attention.head_count_kv", c.kv_heads},
                                       {"attention.key_length", c.head_size},
                                       {"context_length", c.context},
                                       {"vocab_size", c.vocabulary},
                                       {"expert_count", c.experts.router.experts},
                                       {"expert_used_count", c.experts.router.chosen},
                                       {"expert_feed_forward_length", c.experts.hidden}})
        file.number(prefix + own, value);
      if (!of.shared_hidden.empty()) file.number(prefix + "expert_shared_feed_forward_length", c.experts.shared_hidden);
      if (config.has("sliding_window"))
        file.number(prefix + "attention.sliding_window", config.get<int>("sliding_window"));
      file.real(prefix + "attention.layer_norm_rms_epsilon", c.epsilon);
      file.real(prefix + "rope.freq_base", c.rope_base);
      if (c.scaling.kind == tk::nn::rope_kind::yarn) {
        file.text(prefix + "rope.scaling.type", "yarn");
        file.real(prefix + "rope.scaling.factor", c.scaling.factor);
        file.real(prefix + "rope.scaling.original_context_length", c.scaling.old_context);
      }
      models::decoder_family plain = of.family;
      plain.gguf_pairs = false;
      std::set<std::string> names;
      for (auto& [tensor, x] :
           models::named_weights(model, models::detail::gguf_names(plain, false), models::weight_counts::of(c))) {
        names.insert(tensor);
        for (const auto& [part, heads] : {std::pair{"attn_q.", c.heads}, {"attn_k.", c.kv_heads}})
          if (of.family.gguf_pairs && tensor.find(part) != std::string::npos)
            x = tk::reshape(tk::transpose(tk::reshape(x, {heads, 2, c.head_size / 2, c.width}), {0, 2, 1, 3}),
                            x.shape());
        if (tensor.ends_with("inp_shexp.weight")) x = tk::reshape(x, {c.width});
        const auto* const q8 = tk::checkpoint::ggml_format_of(8);
        if (coded && x.rank() >= 2 && x.extent(-1) == 32)
          file.tensor(tensor, x.shape(), 8,
                      tk::test::ggml_bytes(*q8, x.size() / 32, static_cast<unsigned>(names.size())));
        else
          file.tensor(tensor, x);
      }
      for (const char* part : {"gate_inp", "gate_exps", "up_exps", "down_exps"})
        CHECK(names.contains("blk.1.ffn_" + std::string(part) + ".weight"));
      file.write(folder.path / "m.gguf");
      const models::pretrained floats = models::from_pretrained(folder.path / "m.gguf");
      CHECK(floats.family.architecture == of.family.architecture);
      if (!coded) {
        CHECK(same(floats.model, model));
        CHECK(tk::test::floats(floats.model(row_of({3, 1, 4, 1, 5}))) ==
              tk::test::floats(model(row_of({3, 1, 4, 1, 5}))));
        continue;
      }
      const models::pretrained codes = models::from_pretrained(folder.path / "m.gguf", {.packed = true});
      for (const char* kernel : {"gate", "up", "down"})
        CHECK(codes.packed.contains("blocks[1].mixture." + std::string(kernel)));
      models::generator a(codes.model, tk::cpu, {.packed = codes.packed}), b(floats.model, tk::cpu);
      for (const std::vector<std::int32_t>& ids :
           {std::vector<std::int32_t>{3, 1, 4, 1, 5, 9, 2, 6}, {3, 1, 4, 1, 5, 9, 2, 6, 5}})
        CHECK(tk::test::floats(a.next_logits(ids)) == tk::test::floats(b.next_logits(ids)));
    }
  }
}

TEST_CASE("GGUF files that say what is not known are refused") {
  const temporary_folder folder;
  const tiny_model m("llama");
  const auto refused = [&](auto change) {
    tk::test::gguf_writer file = gguf_of(m, llama_form, change);
    file.write(folder.path / "m.gguf");
    return tk::test::error_of([&] { models::from_pretrained(folder.path / "m.gguf"); });
  };
  CHECK_THAT(refused([](auto& f) { f.number("llama.rope.dimension_count", 4); }),
             contains("gguf: llama.rope.dimension_count: found 4, expected 8"));
  CHECK_THAT(refused([](auto& f) { f.text("llama.rope.scaling.type", "spiral"); }),
             contains("config.rope_scaling.rope_type: found spiral"));
  CHECK_THAT(refused([](auto& f) { f.tensor("rope_freqs.weight", tk::array::from<float>({1, 2})); }),
             contains("gguf: rope_freqs.weight: found another shape, expected [4]"));
  CHECK_THAT(refused([](auto& f) { f.tensor("rope_freqs.weight", tk::array::from<float>({1, 2, 0, 1})); }),
             contains("decoder: rope factors: found 0, expected positive numbers"));
  CHECK_THAT(refused([](auto& f) { f.tensor("blk.0.ffn_gate_exps.weight", tk::array::from<float>({1})); }),
             contains("model: tensor blk.0.ffn_gate_exps.weight: found [1], expected no such tensor"));
  tk::test::gguf_writer other;
  other.text("general.architecture", "mamba");
  other.write(folder.path / "other.gguf");
  CHECK_THAT(tk::test::error_of([&] { models::from_pretrained(folder.path / "other.gguf"); }),
             contains("gguf: general.architecture: found mamba, expected llama, qwen2"));
}

TEST_CASE("frequencies of a GGUF file divide those of the model") {
  const temporary_folder folder;
  const tiny_model m("llama");
  gguf_of(m, llama_form, [](auto& f) {
    f.tensor("rope_freqs.weight", tk::array::from<float>({1, 2, 4, 8}));
  }).write(folder.path / "m.gguf");
  models::pretrained p = models::from_pretrained(folder.path / "m.gguf");
  const tk::array found = p.model(row_of(m.ids));
  p.model.config.scaling.factors = {1, 1, 1, 1};
  CHECK(most_apart(p.model(row_of(m.ids)), m.logits) < 2e-5);
  CHECK(most_apart(found, m.logits) > 1e-3);
}

TEST_CASE("a family of the user is read by its own names") {
  const temporary_folder folder;
  tiny_model m("llama");
  m.config.set("architectures", std::vector<std::string>{"MineForCausalLM"});
  for (auto& [name, value] : m.tensors)
    if (name.find("mlp.down_proj") != std::string::npos) name.replace(name.find("mlp.down_proj"), 13, "mlp.w2");
  m.write(folder.path / "m");
  CHECK_THROWS_WITH(models::from_pretrained(folder.path / "m"),
                    contains("config.architectures: found MineForCausalLM, expected Llama"));
  models::decoder_family mine = models::llama;
  mine.architecture = "MineForCausalLM";
  mine.names = [] {
    auto names = models::detail::llama_names();
    for (models::weight_name& n : names)
      if (n.tensor == "model.layers.#.mlp.down_proj.weight") n.tensor = "model.layers.#.mlp.w2.weight";
    return names;
  };
  const models::pretrained p = models::from_pretrained(folder.path / "m", {.families = {mine}});
  CHECK(most_apart(p.model(row_of(m.ids)), tiny_model("llama").logits) < 2);  // other weights, since names make them
}

TEST_CASE("files that contradict themselves are refused by what is wrong") {
  const auto tensor = [](tiny_model& m, const std::string& name) -> tk::checkpoint::named_array& {
    return *std::ranges::find_if(m.tensors, [&](const auto& t) { return t.name == name; });
  };
  const std::string up = "model.layers.1.mlp.up_proj.weight";
  CHECK_THAT(refusal("llama", [&](auto& m) { std::erase_if(m.tensors, [&](const auto& t) { return t.name == up; }); }),
             contains("model: tensor " + up + ": found nothing, expected [48,32]"));
  CHECK_THAT(refusal("llama",
                     [&](auto& m) {
                       m.tensors.push_back({"model.layers.7.mlp.up_proj.weight", tk::array::from<float>({1})});
                     }),
             contains("model: tensor model.layers.7.mlp.up_proj.weight: found [1], expected no such tensor"));
  CHECK_THAT(refusal("llama", [&](auto& m) { tensor(m, up).value = tk::transpose(tensor(m, up).value); }),
             contains("model: tensor " + up + ": found [32,48], expected [48,32]"));
  CHECK_THAT(refusal("llama", [&](auto& m) { tensor(m, up).value = tk::astype(tensor(m, up).value, tk::i32); }),
             contains("model: tensor " + up + ": found i32[48,32], expected floats"));
  const auto set = [](const char* field, const auto& value) {
    return refusal("llama", [&](tiny_model& m) { m.config.set(field, value); });
  };
  CHECK_THAT(set("hidden_size", std::string("wide")),
             contains("config.hidden_size: found \"wide\", expected an integer"));
  CHECK_THAT(set("num_key_value_heads", 3), contains("decoder: kv_heads: found 3, expected a divisor of 4 heads"));
  CHECK_THAT(set("num_hidden_layers", 1 << 27), contains("decoder: layers: found 134217728, expected at most the"));
  CHECK_THAT(set("num_hidden_layers", -1), contains("decoder: layers: found -1"));
  CHECK_THAT(set("head_dim", 7), contains("decoder: rotary_size: found 7"));
  CHECK_THAT(set("vocab_size", 41), contains("found [40,32], expected [41,32]"));
  CHECK_THAT(set("hidden_act", std::string("mish")), contains("config.hidden_act: found mish, expected silu"));
  CHECK_THAT(set("architectures", std::vector<std::string>{}), contains("none"));
  CHECK_THAT(refusal("llama_yarn",
                     [](tiny_model& m) {
                       auto rope = m.config.record("rope_parameters");
                       rope.set("rope_type", std::string("spiral"));
                       m.config.set("rope_parameters", rope);
                     }),
             contains("config.rope_parameters.rope_type: found spiral, expected default, linear"));
  CHECK_THAT(
      refusal("gemma2", [](tiny_model& m) { m.config.set("layer_types", std::vector<std::string>{"full_attention"}); }),
      contains("config.layer_types: found 1 types, expected 3 layers"));
}
