"""bench/peers/tokenization.py: tokenizers beside the Python package `tokenizers`, on one thread, in turns.

    python tokenization.py [--program build/bench/tokamax_bench_tokenization] [--turns 3] TOKENIZER.json...

The documents are parts of this library's own sources, of prose in several languages, and of numbers.
"""
# SPDX-License-Identifier: Apache-2.0
import argparse
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.pop(0)  # this file has the name of a module of Python
os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"

from tokenizers import Tokenizer

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROSE = ["The quick brown fox jumps over the lazy dog, and nobody has seen it since; they say it's in London now.",
         "In 1969 three men went 384,400 km to the Moon and came back with 21.5 kg of stones.",
         "Le garçon a mangé une crème brûlée à l'hôtel, où l'on parle français.", "Привет, мир! Это предложение на русском языке.",
         "日本語の文章と中文的句子。東京都に住んでいます。", "안녕하세요. 한국어 문장입니다.", "مرحبا بالعالم، هذا نص عربي.", "Smile 😀 and 👍🏽!"]


def documents(count=600, size=3000):
    sources = "".join(p.read_text() for p in sorted(ROOT.glob("include/tokamax/*/*.hpp")))
    r = random.Random(0)
    result = []
    for i in range(count):
        if i % 2:
            begin = r.randrange(len(sources) - size)
            result.append(sources[begin:begin + size])
        else:
            text = ""
            while len(text) < size:
                words = r.choice(PROSE[:2] * 6 + PROSE).split(" ")
                r.shuffle(words)
                text += " ".join(words) + r.choice([" ", "\n", "\n\n"])
            result.append(text)
    return result


def median_seconds(f):
    seconds = []
    for _ in range(5):
        begin = time.perf_counter()
        f()
        seconds.append(time.perf_counter() - begin)
    return statistics.median(seconds[1:])


def measure(path, texts, megabytes):
    t = Tokenizer.from_file(path)
    p = pathlib.Path(path)
    name = f"{p.parent.name}/{p.stem}"
    ids = [t.encode(x).ids for x in texts]
    yield name + ", load", 1e3 * median_seconds(lambda: Tokenizer.from_file(path)), "ms"
    yield name + ", encode", megabytes / median_seconds(lambda: [t.encode(x) for x in texts]), "MB/s"
    yield name + ", ids", megabytes / median_seconds(lambda: [t.encode(x).ids for x in texts]), "MB/s"
    yield name + ", decode", megabytes / median_seconds(lambda: [t.decode(x) for x in ids]), "MB/s"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", default=ROOT / "build/bench/tokamax_bench_tokenization")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("tokenizers", nargs="+")
    options = parser.parse_args()
    texts = documents()
    data = b"".join(t.encode() + b"\0" for t in texts)
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        for _ in range(options.turns):
            subprocess.run([options.program, file.name, *options.tokenizers], check=True)
            sys.stdout.flush()
            for path in options.tokenizers:
                for case, value, unit in measure(path, texts, len(data) / 1e6):
                    print(json.dumps({"suite": "tokenization", "case": case, "impl": "tokenizers", "value": round(value, 2), "unit": unit}), flush=True)


main()
