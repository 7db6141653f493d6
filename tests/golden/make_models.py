"""tests/golden/make_models.py: write models/, small language models as `transformers` computes them, and ggml.txt, numbers as ggml stores them.

    python make_models.py

Needs torch (2.13), transformers (5.x) and gguf (0.19); the tests only read the files. A file models/NAME.json has the config.json of a model, the names and
shapes of its tensors in a file, ids of a text, their logits, and the tokens that follow greedily. Weights are not saved: a tensor's elements are a
function of its name, which `weights` has here and tests/models/from_pretrained.cpp there. A line of ggml.txt is a format, the bytes of a block in
hexadecimal, and its elements as the bits of f32.
"""
# SPDX-License-Identifier: Apache-2.0
import json
import pathlib
import sys

sys.path.pop(0)  # the folder scipy beside this file is not the package

import gguf
import numpy as np
import torch
import transformers as t
from safetensors import safe_open
from safetensors.torch import save_file

FOLDER = pathlib.Path(__file__).parent
MASK = (1 << 64) - 1


def weights(name, shape):
    """Uniform numbers from -1/2 to 1/2, k / 2^24: SplitMix64 of FNV-1a of the name and the index. Norms are near 1, or 0 where 1 is added."""
    seed = 0xCBF29CE484222325
    for byte in name.encode():
        seed = ((seed ^ byte) * 0x100000001B3) & MASK
    i = np.arange(int(np.prod(shape)), dtype=np.uint64)
    with np.errstate(over="ignore"):
        z = np.uint64(seed) + (i + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    return ((z >> np.uint64(40)).astype(np.float64) / 2.0**24 - 0.5).reshape(shape)


def value(name, shape, plus_one):
    v = weights(name, shape)
    if "norm" in name or ".ln_" in name:
        v = v / 2 + (0 if plus_one or name.endswith("bias") else 1)
    return torch.from_numpy(v.astype(np.float32))


COMMON = dict(vocab_size=40, hidden_size=32, intermediate_size=48, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2,
              max_position_embeddings=32, bos_token_id=1, eos_token_id=2, pad_token_id=0)


def rope(kind, **more):
    return dict(rope_parameters=dict(rope_type=kind, rope_theta=1000.0, **more))


EXPERTS = dict(moe_intermediate_size=12, num_experts_per_tok=2, num_hidden_layers=2, intermediate_size=20)
LATENT = dict(EXPERTS, num_key_value_heads=4, kv_lora_rank=12, qk_nope_head_dim=6, qk_rope_head_dim=4, v_head_dim=5)

MODELS = {
    "llama": (t.LlamaConfig, t.LlamaForCausalLM, dict(head_dim=8)),
    "llama_bias": (t.LlamaConfig, t.LlamaForCausalLM, dict(attention_bias=True, mlp_bias=True, tie_word_embeddings=True,
                                                           **rope("linear", factor=3.0))),
    "llama3": (t.LlamaConfig, t.LlamaForCausalLM, rope("llama3", factor=4.0, low_freq_factor=1.0, high_freq_factor=4.0,
                                                       original_max_position_embeddings=16)),
    "llama_yarn": (t.LlamaConfig, t.LlamaForCausalLM, rope("yarn", factor=4.0, original_max_position_embeddings=8)),
    "mistral": (t.MistralConfig, t.MistralForCausalLM, dict(sliding_window=5, head_dim=8)),
    "qwen2": (t.Qwen2Config, t.Qwen2ForCausalLM, dict(use_sliding_window=True, sliding_window=4, max_window_layers=2)),
    "qwen3": (t.Qwen3Config, t.Qwen3ForCausalLM, dict(head_dim=12, tie_word_embeddings=True)),
    "gemma": (t.GemmaConfig, t.GemmaForCausalLM, dict(head_dim=12, num_key_value_heads=1)),
    "gemma2": (t.Gemma2Config, t.Gemma2ForCausalLM, dict(head_dim=8, sliding_window=4, query_pre_attn_scalar=12,
                                                         attn_logit_softcapping=3.0, final_logit_softcapping=5.0)),
    "gemma3": (t.Gemma3TextConfig, t.Gemma3ForCausalLM, dict(head_dim=8, sliding_window=4, query_pre_attn_scalar=12, num_hidden_layers=6)),
    "phi3": (t.Phi3Config, t.Phi3ForCausalLM, dict(sliding_window=6)),
    "phi3_partial": (t.Phi3Config, t.Phi3ForCausalLM, rope("default", partial_rotary_factor=0.5)),
    "phi3_longrope": (t.Phi3Config, t.Phi3ForCausalLM, dict(max_position_embeddings=96, original_max_position_embeddings=24,
        **rope("longrope", short_factor=[1.0, 1.25, 2.0, 3.5], long_factor=[2.0, 4.0, 8.0, 16.0], factor=4.0,
               original_max_position_embeddings=24))),
    "gpt2": (t.GPT2Config, t.GPT2LMHeadModel, dict(vocab_size=40, n_positions=32, n_embd=32, n_layer=3, n_head=4, bos_token_id=1, eos_token_id=2)),
    "olmo": (t.OlmoConfig, t.OlmoForCausalLM, dict(clip_qkv=0.75)),
    "olmo2": (t.Olmo2Config, t.Olmo2ForCausalLM, dict()),
    "mixtral": (t.MixtralConfig, t.MixtralForCausalLM, dict(EXPERTS, num_local_experts=4, sliding_window=6)),
    "qwen2_moe": (t.Qwen2MoeConfig, t.Qwen2MoeForCausalLM, dict(EXPERTS, num_experts=5, num_experts_per_tok=3, shared_expert_intermediate_size=24,
                                                                mlp_only_layers=[1])),
    "qwen3_moe": (t.Qwen3MoeConfig, t.Qwen3MoeForCausalLM, dict(EXPERTS, num_experts=6, head_dim=12, norm_topk_prob=True, decoder_sparse_step=2,
                                                                num_hidden_layers=2)),
    "olmoe": (t.OlmoeConfig, t.OlmoeForCausalLM, dict(EXPERTS, num_experts=5, clip_qkv=0.75)),
    "gpt_oss": (t.GptOssConfig, t.GptOssForCausalLM, dict(EXPERTS, num_local_experts=4, head_dim=8, sliding_window=4, swiglu_limit=0.5,
        **rope("yarn", factor=4.0, original_max_position_embeddings=8, beta_fast=32.0, beta_slow=1.0, truncate=False))),
    "deepseek2": (t.DeepseekV2Config, t.DeepseekV2ForCausalLM, dict(LATENT, n_routed_experts=6, n_shared_experts=2, topk_method="group_limited_greedy",
        n_group=2, topk_group=1, routed_scaling_factor=1.5, first_k_dense_replace=1, num_hidden_layers=2, q_lora_rank=None)),
    "deepseek3": (t.DeepseekV3Config, t.DeepseekV3ForCausalLM, dict(LATENT, n_routed_experts=8, n_group=4, topk_group=2, first_k_dense_replace=1,
        num_hidden_layers=2, q_lora_rank=10, **rope("yarn", factor=4.0, original_max_position_embeddings=8, mscale=1.0, mscale_all_dim=0.5))),
    "llama4": (t.Llama4TextConfig, t.Llama4ForCausalLM, dict(num_local_experts=3, num_experts_per_tok=1, head_dim=8, intermediate_size=12, num_hidden_layers=4,
                                                             intermediate_size_mlp=20, interleave_moe_layer_step=2, floor_scale=4, attn_scale=0.3)),
    "olmo3": (t.Olmo3Config, t.Olmo3ForCausalLM, dict(sliding_window=4, num_hidden_layers=4)),
}


def loaded(name, config, model_type):
    """A model with weights that follow from their names, its config.json, and the names and shapes of its tensors."""
    config._attn_implementation = "eager"
    model = model_type(config).eval()
    config.architectures = [model_type.__name__]
    folder = pathlib.Path("/tmp") / f"tokamax_golden_{name}"
    model.save_pretrained(folder)
    with safe_open(folder / "model.safetensors", "pt") as f:
        tensors = {n: list(f.get_slice(n).get_shape()) for n in f.keys()}
    plus_one = name.startswith("gemma")
    save_file({n: value(n, s, plus_one) for n, s in tensors.items()}, folder / "model.safetensors", {"format": "pt"})
    model = model_type.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32).eval()
    saved = json.loads((folder / "config.json").read_text())
    return model, dict(config=saved, plus_one=plus_one, tensors=[dict(name=n, shape=s) for n, s in sorted(tensors.items())])


def numbers(x):
    return [float(f"{v:.8g}") for v in x.flatten().tolist()]


def write(name, out):
    lines = ",\n".join(f" {json.dumps(k)}: {json.dumps(v)}" for k, v in out.items())
    (FOLDER / "models" / f"{name}.json").write_text("{\n" + lines + "\n}\n")


def make_model(name, config_type, model_type, own):
    model, out = loaded(name, config_type(**(own if name == "gpt2" else {**COMMON, **own})), model_type)
    ids = [(7 * i * i + 3 * i + 5) % 40 for i in range(11)]
    with torch.no_grad():
        logits = model(torch.tensor([ids]), use_cache=False).logits[0]
        greedy, text = [], list(ids)
        while len(greedy) < 12:
            greedy.append(int(model(torch.tensor([text]), use_cache=False).logits[0, -1].argmax()))
            text.append(greedy[-1])
    out.update(ids=ids, greedy=greedy, logits=numbers(logits))
    if name == "mixtral":
        out["balance_loss"] = model(torch.tensor([ids]), output_router_logits=True).aux_loss.item()
    write(name, out)
    print(name, f"{logits.abs().max():.3f}", len(set(greedy)))


def bits(name, shape):
    """The numbers k of `weights`, as integers."""
    return torch.from_numpy(((weights(name, shape) + 0.5) * 2.0**24).astype(np.int64))


def coded(name, shape, dtype):
    """Codes that follow from their names, as tests/support/tiny_models.hpp makes them."""
    k = bits(name, shape)
    if dtype == "F32":  # scales of E4M3, whose greatest number is 448
        return (1 + k % 4).float() / 1024
    if name.endswith("_scales"):  # 2^-6 to 2^-3
        return (121 + k % 4).to(torch.uint8)
    codes = (k % 256).to(torch.uint8)
    if dtype == "U8":
        return codes
    return torch.where(codes % 128 == 127, codes - 1, codes).view(torch.float8_e4m3fn)  # without NaN


def make_coded(name, of, own, method, change, plain):
    """A model whose matrices are codes: change(name, shape) gives their tensors, and plain(...) the floats that they stand for."""
    config_type, model_type, more = MODELS[of]
    config = config_type(**{**COMMON, **more, **own})
    model, out = loaded(name, config, model_type)
    stored, codes = {}, []
    for entry in out["tensors"]:
        parts = change(entry["name"], entry["shape"])
        if parts:
            codes += [dict(name=n, shape=s, dtype=d) for n, s, d in parts]
            stored[entry["name"]] = plain(*[coded(n, s, d) for n, s, d in parts])
    out["tensors"] = [entry for entry in out["tensors"] if entry["name"] not in stored]
    model.load_state_dict(stored, strict=False)
    out["config"]["quantization_config"] = method
    ids = [(7 * i * i + 3 * i + 5) % 40 for i in range(11)]
    with torch.no_grad():
        logits = model(torch.tensor([ids]), use_cache=False).logits[0]
    out.update(coded=codes, ids=ids, greedy=[], logits=numbers(logits))
    write(name, out)
    print(name, f"{logits.abs().max():.3f}")


def make_mxfp4():
    from transformers.integrations.mxfp4 import convert_moe_packed_tensors

    def change(name, shape):
        if not name.endswith("_proj") or "experts" not in name:
            return None
        experts, terms, outputs = shape
        return [(name + "_blocks", [experts, outputs, terms // 32, 16], "U8"), (name + "_scales", [experts, outputs, terms // 32], "U8")]

    make_coded("gpt_oss_mxfp4", "gpt_oss", dict(hidden_size=64, intermediate_size=32), dict(quant_method="mxfp4"), change,
               lambda blocks, scales: convert_moe_packed_tensors(blocks, scales, dtype=torch.float32))


def make_fp8():
    rows, columns = 24, 16

    def change(name, shape):
        if not name.endswith("_proj.weight"):
            return None
        scales = [-(-shape[0] // rows), -(-shape[1] // columns)]
        return [(name, shape, "F8_E4M3"), (name + "_scale_inv", scales, "F32")]

    def plain(codes, scales):
        wide = scales.repeat_interleave(rows, 0).repeat_interleave(columns, 1)
        return codes.float() * wide[:codes.shape[0], :codes.shape[1]]

    make_coded("qwen3_fp8", "qwen3", {}, dict(quant_method="fp8", weight_block_size=[rows, columns]), change, plain)


IDS = [[5, 15, 39, 3, 27], [7, 2, 19, 30, 11, 8, 1, 22]]


def make_bert():
    """The last states and the embeddings of two texts, which are the means of their states, of length 1."""
    config = t.BertConfig(vocab_size=40, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
                          max_position_embeddings=24)
    model, out = loaded("bert", config, t.BertModel)
    states, means, pooled = [], [], []
    for ids in IDS:
        with torch.no_grad():
            y = model(torch.tensor([ids]))
        states.append(y.last_hidden_state[0])
        means.append(torch.nn.functional.normalize(y.last_hidden_state[0].mean(0), dim=0))
        pooled.append(y.pooler_output[0])
    out.update(ids=IDS[1], greedy=[], other_ids=IDS[0], logits=numbers(states[1]), embeddings=numbers(torch.stack(means)),
               pooled=numbers(torch.stack(pooled)))
    write("bert", out)
    print("bert", f"{states[1].abs().max():.3f}")


def make_t5(name, **own):
    config = t.T5Config(vocab_size=40, d_model=24, d_kv=6, d_ff=32, num_layers=2, num_decoder_layers=3, num_heads=4, relative_attention_num_buckets=8,
                        relative_attention_max_distance=12, decoder_start_token_id=0, **own)
    model, out = loaded(name, config, t.T5ForConditionalGeneration)
    ids, written = [(7 * i * i + 3 * i + 5) % 40 for i in range(19)], [0] + [(5 * i * i + i + 3) % 40 for i in range(14)]
    with torch.no_grad():
        def logits_of(written):
            return model(input_ids=torch.tensor([ids]), decoder_input_ids=torch.tensor([written]), use_cache=False).logits[0]
        logits, text = logits_of(written), [0]
        while len(text) < 17:
            text.append(int(logits_of(text)[-1].argmax()))
    greedy = text[1:]
    out.update(ids=ids, greedy=greedy, written=written, logits=numbers(logits))
    write(name, out)
    print(name, f"{logits.abs().max():.3f}", len(set(greedy)))


def make_ggml():
    random = np.random.default_rng(7)
    rows = []
    for name in ["Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K", "Q5_K", "Q6_K", "MXFP4"]:
        kind = getattr(gguf.GGMLQuantizationType, name)
        size = gguf.GGML_QUANT_SIZES[kind][1]
        for _ in range(2):
            block = random.integers(0, 256, size, dtype=np.uint8)
            halves = {"Q4_1": [0, 2], "Q5_1": [0, 2], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208]}.get(name, [0])
            for at in halves if name != "MXFP4" else []:
                block[at:at + 2] = np.frombuffer(np.float16(random.normal()).tobytes(), np.uint8)
            if name == "MXFP4" and block[0] == 255:  # it stands for no number
                block[0] = 127
            values = gguf.quants.dequantize(block.reshape(1, -1), kind).astype(np.float32).reshape(-1)
            rows.append(f"{name} {block.tobytes().hex()} {' '.join(f'{x:08x}' for x in values.view(np.uint32))}")
    (FOLDER / "ggml.txt").write_text("\n".join(rows) + "\n")


if __name__ == "__main__":
    torch.set_num_threads(1)
    t.logging.set_verbosity_error()
    (FOLDER / "models").mkdir(exist_ok=True)
    make_ggml()
    for name, (config_type, model_type, own) in MODELS.items():
        make_model(name, config_type, model_type, own)
    make_mxfp4()
    make_fp8()
    make_bert()
    make_t5("t5")
    make_t5("t5_gated", feed_forward_proj="gated-gelu", tie_word_embeddings=False)
