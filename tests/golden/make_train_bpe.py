"""tests/golden/make_train_bpe.py: write train_bpe/cases.json, the merges that the trainer of `tokenizers` finds in a few texts.

    python make_train_bpe.py

Needs tokenizers (0.23.3); the tests only read the file.
"""
# SPDX-License-Identifier: Apache-2.0
import json
import pathlib

import tokenizers
from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

FOLDER = pathlib.Path(__file__).parent
LLAMA_3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"


def trained(texts, size, least, special, pattern):
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    if pattern:
        t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    t.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=size, min_frequency=least, special_tokens=special, show_progress=False,
                                                     initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    model = json.loads(t.to_str())["model"]
    return {"vocab_size": size, "min_frequency": least, "special_tokens": special, "pattern": pattern, "tokens": len(model["vocab"]), "merges": model["merges"]}


def main():
    lines = (FOLDER / "tokenizers" / "texts.txt").read_text().split("\n")[:-1]
    texts = [bytes.fromhex(line).decode() for line in lines if "|" not in line]
    texts += ["aaaa aaa aa aaaaa", "banana bandana", "The dog doesn't mind; it's used to that, and they've been friends.", "日本語の文章と中文的句子。"] * 3
    cases = [trained(texts, 400, 0, ["<|endoftext|>"], ""), trained(texts, 330, 3, ["<s>", "</s>"], LLAMA_3), trained(texts, 5000, 4, [], "")]
    (FOLDER / "train_bpe").mkdir(exist_ok=True)
    (FOLDER / "train_bpe" / "cases.json").write_text(json.dumps({"texts": texts, "cases": cases}, ensure_ascii=False, separators=(",", ":")) + "\n")
    print(f"written with tokenizers {tokenizers.__version__}")


main()
