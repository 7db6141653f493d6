"""tests/golden/compare_tokenizers.py: tokens of random and adversarial texts, beside `tokenizers` and `sentencepiece`.

    python compare_tokenizers.py [--program build/bench/tokamax_bench_tokenization] [--texts 100000] [--seed 0] FILE...

Needs tokenizers (0.23.3) and sentencepiece (0.2.3). A FILE is a tokenizer.json, of which ids and offsets must be equal, or a .model, of which ids
must be. Texts have code points that are the same in all Unicode versions in use (those of Unicode 3.2 and the emoji of 6.0; `tokenizers` has tables of
several versions): any of them, those of one script, marks, spaces, digits, and parts of the file's vocabulary, whole, cut and repeated. It prints a line for each
file, and the first texts that differ.
"""
# SPDX-License-Identifier: Apache-2.0
import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import unicodedata

sys.path.pop(0)  # the folder scipy beside this file is not the package

import sentencepiece
from tokenizers import Tokenizer

ROOT = pathlib.Path(__file__).resolve().parents[2]


def is_known(c):
    category = unicodedata.ucd_3_2_0.category(c)
    return category not in ("Cn", "Cs") and category == unicodedata.category(c) or "\U0001f300" <= c < "\U0001f600"


KNOWN = [chr(c) for c in range(1, 0x110000) if is_known(chr(c))]
ALLOWED = set(KNOWN)
SCRIPTS = [[chr(c) for c in range(first, last) if chr(c) in ALLOWED] for first, last in [
    (0x20, 0x7f), (0x80, 0x250), (0x370, 0x530), (0x590, 0x780), (0x900, 0xe80), (0x1100, 0x1200), (0x1e00, 0x2000), (0x2000, 0x2c00), (0x3000, 0x3400),
    (0x4e00, 0x5200), (0xac00, 0xb000), (0xf900, 0x10000), (0x1d400, 0x1d800), (0x1f300, 0x1f600)]]
MARKS = [c for c in KNOWN if unicodedata.category(c) in ("Mn", "Mc")] + list("\u200b\u200c\u200d\ufe0f\ufeff\u00ad")
SPACES = list("     \t\n\r\v\f\u0085\u00a0\u1680\u2003\u2028\u2029\u3000")
BITS = ["'s", "'T", "'re", "'VE", "'m", "'LL", "’s", "ſ", "İ", "ß", "\r\n", "\n\n", "  ", "   a", "▁", "Ġ", "##", "<0x41>", "<s>", "</s>", "<unk>", "[MASK]",
        "[CLS]", "<|endoftext|>", "<|im_start|>", "<mask>", "word", "trim", "Ænder", "1", "12", "1234", "٣", "Ⅳ", "...", "!?", "_", "a", "A", "the", " the", "日本", "한"]


def pieces_of(path):
    if path.suffix == ".model":
        model = sentencepiece.SentencePieceProcessor(model_file=str(path))
        return [model.id_to_piece(i).replace("▁", " ") for i in range(model.get_piece_size())]
    t = Tokenizer.from_file(str(path))
    return [t.decode([i], skip_special_tokens=False) for i in t.get_vocab(with_added_tokens=True).values()]


def texts_of(count, pieces, seed):
    r = random.Random(seed)
    pieces = [p for p in pieces if p and set(p) <= ALLOWED] + BITS

    def part():
        kind = r.randrange(8)
        if kind == 0:
            return r.choice(KNOWN)
        if kind == 1:
            return "".join(r.choices(r.choice(SCRIPTS), k=r.randint(1, 8)))
        if kind == 2:
            return r.choice(MARKS)
        if kind == 3:
            return "".join(r.choices(SPACES, k=r.randint(1, 4)))
        if kind == 4:
            return str(r.randrange(10 ** r.randint(1, 12)))
        if kind == 5:
            return r.choice(BITS)
        piece = r.choice(pieces)
        begin = r.randrange(len(piece)) if kind == 6 else 0
        return piece[begin:] * r.choice([1, 1, 1, 1, 2, 7])

    for i in range(count):
        yield "".join(part() for _ in range(r.randint(0, 12) if i % 100 else r.randint(50, 400)))


def expected_of(path, texts):
    if path.suffix == ".model":
        model = sentencepiece.SentencePieceProcessor(model_file=str(path))
        for text in texts:
            yield " ".join(map(str, model.encode(text)))
    else:
        t = Tokenizer.from_file(str(path))
        for text in texts:
            e = t.encode(text)
            yield " ".join(f"{i}:{begin}-{end}" for i, (begin, end) in zip(e.ids, e.offsets))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", default=ROOT / "build/bench/tokamax_bench_tokenization")
    parser.add_argument("--texts", type=int, default=100000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    wrong = 0
    for path in options.files:
        texts = list(texts_of(options.texts, pieces_of(path), options.seed))
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"".join(t.encode() + b"\0" for t in texts))
            file.flush()
            found = subprocess.run([options.program, "--tokens", file.name, path], check=True, capture_output=True, text=True).stdout.split("\n")
        expected = list(expected_of(path, texts))
        differ = [i for i in range(len(texts)) if found[i] != expected[i]]
        tokens = sum(row.count(" ") + 1 for row in expected if row)
        print(f"{path}: {len(texts)} texts, {tokens} tokens, {len(differ)} texts differ", flush=True)
        for i in differ[:5]:
            print(json.dumps(texts[i]), f"\n  found    {found[i]}\n  expected {expected[i]}", flush=True)
        wrong += len(differ)
    sys.exit(wrong != 0)


main()
