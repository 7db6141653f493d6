"""bench/peers/serving.py: 1 to 64 streams of a language model in llama.cpp, beside tokamax_bench_serving on the same file.

    python serving.py MODEL.gguf [MODEL.gguf ...] [--ours build/tokamax_bench_serving] [--turns 2]

The cases are those of bench/serving.cpp: streams with prompts of 64 tokens that begin together and say 32 tokens each, greedily. llama.cpp
runs through llama-cpp-python (LLAMA_CPP_LIB_PATH may name a build of its library) with the sequences of all streams in one batch and
its own greedy sampler. With --ours both take turns, and a table of the best of each number is printed; of a file whose matrices are
floats, ours is f32 or bf16 as the file is, and of others the codes of the file.
"""
# SPDX-License-Identifier: Apache-2.0
import sys

if __name__ == "__main__":
    sys.path.pop(0)  # this folder has a tokenize.py, which must not stand for Python's own

import argparse
import collections
import json
import os
import pathlib
import random
import resource
import subprocess
import time

PROMPT, ANSWER, STREAMS, ROUNDS, BATCH = 64, 32, (1, 4, 16, 64), 2, 2048
COLUMNS = ("tokens/s", "first, ms", "p99", "next, ms", "p99")


def part_of(values, part):
    values = sorted(values)
    return values[int(part * (len(values) - 1))] if values else 0


class Llama:
    def __init__(self, path, threads):
        import llama_cpp as c

        self.c = c
        c.llama_backend_init()
        options = c.llama_context_default_params()
        options.n_seq_max = max(STREAMS)
        options.n_ctx = max(STREAMS) * (PROMPT + ANSWER)
        options.n_batch, options.n_ubatch, options.kv_unified = BATCH, 512, True
        options.n_threads = options.n_threads_batch = threads
        self.model = c.llama_model_load_from_file(str(path).encode(), c.llama_model_default_params())
        self.context = c.llama_init_from_model(self.model, options)
        self.vocabulary = c.llama_vocab_n_tokens(c.llama_model_get_vocab(self.model))
        self.sampler = c.llama_sampler_init_greedy()

    def take_in(self, tokens):
        """The next tokens of sequences, after tokens that are (token, position, sequence, wanted)."""
        batch = self.c.llama_batch_init(len(tokens), 0, 1)
        batch.n_tokens = len(tokens)
        for i, (token, position, sequence, wanted) in enumerate(tokens):
            batch.token[i], batch.pos[i], batch.n_seq_id[i], batch.logits[i] = token, position, 1, wanted
            batch.seq_id[i][0] = sequence
        assert self.c.llama_decode(self.context, batch) == 0
        said = {s: self.c.llama_sampler_sample(self.sampler, self.context, i) for i, (_, _, s, wanted) in enumerate(tokens) if wanted}
        self.c.llama_batch_free(batch)
        return said

    def measure(self, streams, draw):
        self.c.llama_memory_clear(self.c.llama_get_memory(self.context), True)
        prompts = [[draw.randrange(self.vocabulary) for _ in range(PROMPT)] for _ in range(streams)]
        last, firsts, nexts = {}, [], []
        begin, at_once = time.perf_counter(), BATCH // PROMPT
        for s in range(0, streams, at_once):
            some = range(s, min(s + at_once, streams))
            for sequence, token in self.take_in([(t, i, q, i + 1 == PROMPT) for q in some for i, t in enumerate(prompts[q])]).items():
                last[sequence] = (token, time.perf_counter())
                firsts.append(last[sequence][1] - begin)
        said, begin = 0, time.perf_counter()
        for position in range(PROMPT, PROMPT + ANSWER - 1):
            for sequence, token in self.take_in([(last[s][0], position, s, True) for s in range(streams)]).items():
                now = time.perf_counter()
                nexts.append(now - last[sequence][1])
                last[sequence] = (token, now)
                said += 1
        seconds = time.perf_counter() - begin
        return [said / seconds, *(1e3 * part_of(v, p) for v in (firsts, nexts) for p in (0.5, 0.99))]


def measure_llama(path, threads):
    model, draw, best = Llama(path, threads), random.Random(1), {}
    for _ in range(ROUNDS):
        for streams in STREAMS:
            best[streams] = max(best.get(streams, [0]), model.measure(streams, draw))
    for streams, numbers in best.items():
        print(json.dumps({"impl": "llama.cpp", "streams": streams, "numbers": numbers}))
    print(json.dumps({"impl": "llama.cpp", "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}), flush=True)


def run(command):
    """The lines of a program, and its greatest memory in MB."""
    p = subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE, text=True)
    lines = p.stdout.read().splitlines()
    _, status, usage = os.wait4(p.pid, 0)
    if status != 0:
        raise SystemExit(f"{command}: status {status}")
    return lines, usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("models", nargs="+", type=pathlib.Path)
    parser.add_argument("--ours")
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="of llama.cpp; ours takes all")
    parser.add_argument("--only", action="store_true", help="measure llama.cpp in this process")
    o = parser.parse_args()
    if o.only:
        return measure_llama(o.models[0], o.threads)
    for model in o.models:
        weights = {"F32": "f32", "BF16": "bf16", "F16": "f32"}.get(model.stem.upper().rsplit(".")[-1].rsplit("-")[-1], "file")
        best, memory = collections.defaultdict(dict), {}

        def take(impl, streams, numbers):
            best[streams][impl] = max(best[streams].get(impl, [0]), numbers)

        for _ in range(o.turns):
            if o.ours:
                lines, most = run([o.ours, model, weights])
                memory["tokamax"] = most
                for line in lines[1:]:
                    numbers = [float(v) for v in line.split()[1:-1]]
                    take("tokamax", int(numbers[0]), numbers[1:])
            for line in run([sys.executable, __file__, model, "--only", "--threads", o.threads])[0]:
                row = json.loads(line) if line.startswith("{") else {}
                if "streams" in row:
                    take("llama.cpp", row["streams"], row["numbers"])
                elif row:
                    memory["llama.cpp"] = row["memory"]
        print(f"\n{model.name}, {weights}, {o.threads} threads; peak of memory in MB: {', '.join(f'{k} {v:.0f}' for k, v in memory.items())}\n")
        print("| streams | impl | " + " | ".join(COLUMNS) + " | tokens/s of tokamax / llama.cpp |\n" + "| --- " * (len(COLUMNS) + 3) + "|")
        for streams, of in sorted(best.items()):
            for impl, numbers in of.items():
                ratio = f"{of['tokamax'][0] / of['llama.cpp'][0]:.2f}" if impl == "tokamax" and len(of) == 2 else ""
                print(f"| {streams} | {impl} | " + " | ".join(f"{n:.1f}" for n in numbers) + f" | {ratio} |", flush=True)


if __name__ == "__main__":
    main()
