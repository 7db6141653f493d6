"""bench/peers/language_models.py: prompts and tokens of a random Llama of 0.3 billion parameters in llama.cpp and PyTorch.

    python language_models.py [--impl llama.cpp torch] [--threads 1 2] [--folder DIR] [--ours PROGRAM]

The cases are those of bench/language_models.cpp. llama.cpp runs through llama-cpp-python (LLAMA_CPP_LIB_PATH may name a build of
its library) on GGUF files that the package gguf writes into the folder. Each case runs in a process of its own. With --ours,
tokamax_bench_language_models runs the same cases before and after each peer, and a table of the best of each number is printed.
"""
# SPDX-License-Identifier: Apache-2.0
import sys

if __name__ == "__main__":
    sys.path.pop(0)  # this folder has a tokenize.py, which must not stand for Python's own

import argparse
import collections
import importlib.util
import json
import pathlib
import resource
import subprocess
import time

VOCABULARY, WIDTH, LAYERS, HEADS, KV_HEADS, HIDDEN = 32768, 1024, 24, 16, 8, 2816
PROMPT, ANSWER, STREAMS = 512, 24, 16


def report(case, impl, value, unit="tokens/s"):
    print(json.dumps({"suite": "language_models", "case": case, "impl": impl, "value": round(value, 2), "unit": unit}), flush=True)


def write_gguf(path, name):
    import gguf
    import numpy as np

    kind = gguf.GGMLQuantizationType[name]
    draw = np.random.default_rng(0)
    w = gguf.GGUFWriter(path, "llama")
    w.add_context_length(4096), w.add_embedding_length(WIDTH), w.add_block_count(LAYERS), w.add_feed_forward_length(HIDDEN)
    w.add_head_count(HEADS), w.add_head_count_kv(KV_HEADS), w.add_layer_norm_rms_eps(1e-5), w.add_rope_freq_base(1e4)
    w.add_rope_dimension_count(WIDTH // HEADS), w.add_vocab_size(VOCABULARY), w.add_tokenizer_model("none")

    def matrix(tensor, out, of):
        a = draw.standard_normal((out, of), dtype=np.float32) * np.float32(0.02)
        if kind == gguf.GGMLQuantizationType.F32:
            w.add_tensor(tensor, a)
        else:
            w.add_tensor(tensor, gguf.quants.quantize(a, kind), raw_dtype=kind)

    matrix("token_embd.weight", VOCABULARY, WIDTH)
    w.add_tensor("output_norm.weight", np.ones(WIDTH, np.float32))
    for layer in range(LAYERS):
        of = f"blk.{layer}."
        for norm in ("attn_norm", "ffn_norm"):
            w.add_tensor(of + norm + ".weight", np.ones(WIDTH, np.float32))
        keys = WIDTH // HEADS * KV_HEADS
        for part, out, inner in (("attn_q", WIDTH, WIDTH), ("attn_k", keys, WIDTH), ("attn_v", keys, WIDTH), ("attn_output", WIDTH, WIDTH),
                                 ("ffn_gate", HIDDEN, WIDTH), ("ffn_up", HIDDEN, WIDTH), ("ffn_down", WIDTH, HIDDEN)):
            matrix(f"{of}{part}.weight", out, inner)
    w.write_header_to_file(), w.write_kv_data_to_file(), w.write_tensors_to_file(), w.close()


def best_seconds(step, repeats):
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        step()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


class Llama:
    """A model in llama.cpp that takes in tokens of sequences."""

    def __init__(self, path, threads):
        import llama_cpp as c

        self.c = c
        c.llama_backend_init()
        options = c.llama_context_default_params()
        options.n_ctx, options.n_batch, options.n_ubatch, options.n_seq_max = 1024, PROMPT, PROMPT, STREAMS
        options.kv_unified = True  # else each sequence has a part of the context
        options.n_threads = options.n_threads_batch = threads
        self.model = c.llama_model_load_from_file(str(path).encode(), c.llama_model_default_params())
        self.context = c.llama_init_from_model(self.model, options)

    def take_in(self, places):
        """Tokens at (position, sequence), of which the last one of a sequence has logits."""
        batch = self.c.llama_batch_init(len(places), 0, 1)
        batch.n_tokens = len(places)
        last = {sequence: i for i, (_, sequence) in enumerate(places)}
        for i, (position, sequence) in enumerate(places):
            batch.token[i], batch.pos[i], batch.n_seq_id[i] = (7919 * (i + position)) % VOCABULARY, position, 1
            batch.seq_id[i][0], batch.logits[i] = sequence, last[sequence] == i
        assert self.c.llama_decode(self.context, batch) == 0
        self.c.llama_synchronize(self.context)
        self.c.llama_batch_free(batch)

    def clear(self):
        self.c.llama_memory_clear(self.c.llama_get_memory(self.context), True)


def peak_of_memory():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


def measure_llama(path, threads):
    import llama_cpp  # what it takes is Python's

    name, before, start = str(path), peak_of_memory(), time.perf_counter()
    model = Llama(path, threads)
    model.take_in([(i, 0) for i in range(8)])
    report(f"{name}, {threads} threads, first token after the start", "llama.cpp", time.perf_counter() - start, "s")

    def prompt():
        model.clear()
        model.take_in([(i, 0) for i in range(PROMPT)])

    report(f"{name}, {threads} threads, prompt of 512", "llama.cpp", PROMPT / best_seconds(prompt, 2))
    position = iter(range(PROMPT, PROMPT + ANSWER))
    report(f"{name}, {threads} threads, decode, 1 stream", "llama.cpp", 1 / best_seconds(lambda: model.take_in([(next(position), 0)]), ANSWER))
    report(f"{name}, {threads} threads, peak of memory", "llama.cpp", peak_of_memory() - before, "MB")
    model.clear()
    position = iter(range(8))
    report(f"{name}, {threads} threads, decode, 16 streams", "llama.cpp",
           STREAMS / best_seconds(lambda: [model.take_in([(p, s) for s in range(STREAMS)]) for p in [next(position)]], 8))


def measure_torch(dtype, threads):
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.set_num_threads(threads)
    config = LlamaConfig(vocab_size=VOCABULARY, hidden_size=WIDTH, intermediate_size=HIDDEN, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
                         num_key_value_heads=KV_HEADS, tie_word_embeddings=True)
    model = LlamaForCausalLM(config).to(getattr(torch, {"f32": "float32", "bf16": "bfloat16"}[dtype])).eval()
    with torch.inference_mode():
        ids = torch.randint(0, VOCABULARY, (1, PROMPT))
        seconds = best_seconds(lambda: model(ids, use_cache=True, logits_to_keep=1), 2)
        report(f"{dtype}, {threads} threads, prompt of 512", "torch", PROMPT / seconds)
        for count in (1, STREAMS):
            cache = model(torch.randint(0, VOCABULARY, (count, PROMPT if count == 1 else 4)), use_cache=True, logits_to_keep=1).past_key_values

            def step():
                model(torch.randint(0, VOCABULARY, (count, 1)), past_key_values=cache, use_cache=True)

            seconds = best_seconds(step, ANSWER if count == 1 else 8)
            report(f"{dtype}, {threads} threads, decode, {count} stream{'s' if count > 1 else ''}", "torch", count / seconds)


def missing_of(impl):
    needs = {"llama.cpp": ["llama_cpp", "gguf"], "torch": ["torch", "transformers"]}
    return [package for package in needs[impl] if importlib.util.find_spec(package) is None]


def lines_of(command):
    """Runs a program, whose lines go on, and returns the cases among them."""
    text = subprocess.run([str(c) for c in command], check=True, stdout=subprocess.PIPE, text=True).stdout
    print(text, end="", flush=True)
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def print_table(rows):
    best = collections.defaultdict(dict)
    for row in rows:
        pick = max if row["unit"] == "tokens/s" else min
        of = best[row["case"].replace(".gguf", "").rsplit("/", 1)[-1], row["unit"]]
        of[row["impl"]] = pick(row["value"], of.get(row["impl"], row["value"]))
    print("| case | unit | tokamax | peer | tokamax / peer |\n| --- | --- | --- | --- | --- |")
    for (case, unit), of in sorted(best.items()):
        peers = [impl for impl in of if impl != "tokamax"]
        peer = f"{of[peers[0]]:.4g} ({peers[0]})" if peers else ""
        ratio = f"{of['tokamax'] / of[peers[0]]:.2f}" if peers and "tokamax" in of else ""
        print(f"| {case} | {unit} | {of.get('tokamax', '')} | {peer} | {ratio} |")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--impl", nargs="+", choices=["llama.cpp", "torch"], default=["llama.cpp", "torch"])
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("language_models"))
    parser.add_argument("--ours", help="the program that runs the same cases in turns")
    parser.add_argument("--only", help="a file or a dtype that this process measures")
    options = parser.parse_args()
    if options.only:
        measure = measure_llama if options.impl == ["llama.cpp"] else measure_torch
        for threads in options.threads:
            measure(options.only, threads)
        return
    rows = []
    ours = [options.ours, "--threads", *options.threads] if options.ours else []
    for impl in options.impl:
        if missing := missing_of(impl):
            print(f"{', '.join(missing)} not installed: {impl} is left out", file=sys.stderr)
            continue
        options.folder.mkdir(parents=True, exist_ok=True)
        for name in ("BF16", "Q8_0", "Q4_0") if impl == "llama.cpp" else ("f32", "bf16"):
            case = name
            if impl == "llama.cpp":
                case = options.folder / f"{name}.gguf"
                if not case.exists():
                    write_gguf(case, name)
            for turn in range(2):
                if ours:
                    rows += lines_of([*ours, case])
                for threads in options.threads if turn == 0 else []:
                    rows += lines_of([sys.executable, __file__, "--impl", impl, "--threads", threads, "--only", case])
    if ours:
        rows += lines_of([*ours, "int8", "int4", "nf4"])
        print_table(rows)


if __name__ == "__main__":
    main()
