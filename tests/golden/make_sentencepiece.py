"""tests/golden/make_sentencepiece.py: write sentencepiece/, small models of each kind and what `sentencepiece` makes of texts by them.

    python make_sentencepiece.py

Needs sentencepiece (0.2.3), protobuf, tokenizers (0.23.3) and tiktoken (0.14.0); the tests only read the files. NAME.model is trained here. NAME.txt has a row for
each of the first lines of tokenizers/texts.txt with one text:

    ID:BEGIN-END ... | TEXT       its tokens with offsets in characters, and their text in hexadecimal

llama.gguf has the pieces of bpe.model as llama.cpp writes them, and llama.txt the rows; bert.gguf has the words of tokenizers/bert.json, and bert.txt
the rows of `tokenizers`. mistral.json is a tekken.json, and
mistral.txt has the ids that tiktoken gives by it.
"""
# SPDX-License-Identifier: Apache-2.0
import base64
import io
import json
import pathlib
import struct

import sentencepiece as spm
import tiktoken
from sentencepiece import sentencepiece_model_pb2 as pb
from tokenizers import Tokenizer

FOLDER = pathlib.Path(__file__).parent / "sentencepiece"
TOKENIZERS = pathlib.Path(__file__).parent / "tokenizers"
TEXTS = [bytes.fromhex(line).decode() for line in (TOKENIZERS / "texts.txt").read_text().split("\n")[:-1] if "|" not in line]
CORPUS = [line for line in TEXTS if 3 < len(line) < 80] * 4 + """The quick brown fox jumps over the lazy dog. The dog doesn't mind.
We hold these truths to be self-evident, that all men are created equal.
In the beginning the tokenizer read the text, and the text was without form. 1234567890 3.14159 2,718
Le garçon a mangé une crème brûlée à l'hôtel. Der Bär fährt über die Straße.
日本語の文章と中文的句子。東京都に住んでいます。 한국어 문장입니다.
and the and the and the of the of the in the in the to the to the that that that""".split("\n") * 5
RULES = "\n".join("\t".join(" ".join(f"{ord(c):X}" for c in side) for side in rule) for rule in [
    ("A", "a"), ("B", "b"), ("ﬁ", "fi"), ("½", "1⁄2"), ("e\u0301", "é"), ("\u00a0", " "), ("\u3000", " "), ("\u200b", ""), ("\t", " "), ("\n", " "),
    ("Ａ", "a"), ("😀", ":)"), ("the", "THE"), ("th", "x")]) + "\n"
MODELS = {
    "unigram": dict(model_type="unigram", vocab_size=230, user_defined_symbols=["<sep>", "ab", "▁and▁the"], control_symbols=["<mask>"]),
    "bpe": dict(model_type="bpe", vocab_size=520, byte_fallback=True, normalization_rule_name="identity", remove_extra_whitespaces=False,
                user_defined_symbols=["<sep>", "abab"]),
    "suffix": dict(model_type="unigram", vocab_size=470, byte_fallback=True, treat_whitespace_as_suffix=True, normalization_rule_name="identity"),
    "plain": dict(model_type="bpe", vocab_size=220, add_dummy_prefix=False, normalization_rule_name="identity", unk_surface=" ? "),
    "character": dict(model_type="char", vocab_size=100, user_defined_symbols=["the"], remove_extra_whitespaces=False, add_dummy_prefix=False),
    "word": dict(model_type="word", vocab_size=60, normalization_rule_name="identity"),
}


def train(name, options):
    rules = FOLDER / "rules.tsv"
    if "normalization_rule_name" not in options:
        rules.write_text(RULES)
        options = options | {"normalization_rule_tsv": str(rules)}
    out = io.BytesIO()
    spm.SentencePieceTrainer.train(sentence_iterator=iter(CORPUS), model_writer=out, hard_vocab_limit=False, character_coverage=0.98,
                                   minloglevel=2, num_threads=1, **options)
    rules.unlink(missing_ok=True)
    model = pb.ModelProto.FromString(out.getvalue())
    model.trainer_spec.ClearField("input")
    model.normalizer_spec.ClearField("normalization_rule_tsv")
    if name in ("bpe", "unigram"):  # some pieces that are there and not used
        for i, p in enumerate(p for p in model.pieces if p.type == p.NORMAL and len(p.piece) > 1):
            if i % 7 == 3:
                p.type = p.UNUSED
    if name == "plain":
        model.denormalizer_spec.precompiled_charsmap = trained_map("x\tX", "a b\tab")
    return model.SerializeToString()


def trained_map(*rules):
    path = FOLDER / "rules.tsv"
    path.write_text("".join("\t".join(" ".join(f"{ord(c):X}" for c in side) for side in r.split("\t")) + "\n" for r in rules))
    out = io.BytesIO()
    spm.SentencePieceTrainer.train(sentence_iterator=iter(CORPUS), model_writer=out, hard_vocab_limit=False, vocab_size=100, minloglevel=2,
                                   model_type="char", normalization_rule_tsv=str(path))
    path.unlink()
    return pb.ModelProto.FromString(out.getvalue()).normalizer_spec.precompiled_charsmap


def row(model, text):
    pieces = model.encode(text, return_type="proto").pieces
    characters = lambda end: len(text.encode()[:end].decode())
    return "".join(f"{p.id}:{characters(p.begin)}-{characters(p.end)} " for p in pieces) + "| " + model.decode([p.id for p in pieces]).encode().hex()


def gguf(path, values):
    text = lambda x: struct.pack("<Q", len(x.encode())) + x.encode()

    def packed(v):
        if isinstance(v, str):
            return struct.pack("<I", 8) + text(v)
        if isinstance(v, bool):
            return struct.pack("<I?", 7, v)
        if isinstance(v, int):
            return struct.pack("<II", 4, v)
        if isinstance(v[0], str):
            return struct.pack("<IIQ", 9, 8, len(v)) + b"".join(map(text, v))
        kind, code = (6, "f") if isinstance(v[0], float) else (5, "i")
        return struct.pack(f"<IIQ{len(v)}{code}", 9, kind, len(v), *v)

    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, len(values)) + b"".join(text(k) + packed(v) for k, v in values.items()))


def write_gguf():
    model = pb.ModelProto.FromString((FOLDER / "bpe.model").read_bytes())
    key = "tokenizer.ggml."
    for p in model.pieces:
        p.type = p.NORMAL if p.type in (p.UNUSED, p.USER_DEFINED) else p.type
    again = spm.SentencePieceProcessor(model_proto=model.SerializeToString())
    (FOLDER / "llama.txt").write_text("\n".join(row(again, t) for t in TEXTS[:60]) + "\n")
    gguf(FOLDER / "llama.gguf", {
        "general.architecture": "llama", key + "model": "llama", key + "tokens": [p.piece for p in model.pieces],
        key + "scores": [p.score for p in model.pieces], key + "token_type": [p.type for p in model.pieces],
        key + "bos_token_id": 1, key + "eos_token_id": 2, key + "unknown_token_id": 0,
        "tokenizer.chat_template": "{{ bos_token }}{{ messages[0].content }}{{ eos_token }}"})
    vocab = json.loads((TOKENIZERS / "bert.json").read_text())["model"]["vocab"]
    words = sorted(vocab, key=vocab.get)
    special = [w.startswith("[") and w.endswith("]") for w in words]
    gguf(FOLDER / "bert.gguf", {
        key + "model": "bert", key + "tokens": [w if s else w[2:] if w.startswith("##") else "▁" + w for w, s in zip(words, special)],
        key + "token_type": [3 if s else 1 for s in special], key + "cls_token_id": vocab["[CLS]"], key + "seperator_token_id": vocab["[SEP]"],
        key + "unknown_token_id": vocab["[UNK]"]})
    state = json.loads((TOKENIZERS / "bert.json").read_text())
    state["model"]["max_input_chars_per_word"] = 100
    state["added_tokens"] = [a for a in state["added_tokens"] if a["content"] in vocab and a["special"]]
    bert = Tokenizer.from_str(json.dumps(state))
    encoded = [bert.encode(t) for t in TEXTS[:100]]
    rows = ["".join(f"{i}:{b}-{end} " for i, (b, end) in zip(e.ids, e.offsets)) + "| " + bert.decode(e.ids).encode().hex() for e in encoded]
    (FOLDER / "bert.txt").write_text("\n".join(rows) + "\n")


def write_tekken():
    ranks = {base64.b64decode(a): int(b) for a, b in (line.split() for line in (TOKENIZERS / "ranks.tiktoken").read_text().split("\n")[:-1])}
    pattern = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    kept, specials = 350, 10
    by_rank = sorted(ranks, key=ranks.get)
    state = {"config": {"pattern": pattern, "num_vocab_tokens": len(ranks), "default_vocab_size": kept + specials, "default_num_special_tokens": specials, "version": "v3"},
             "vocab": [{"rank": i, "token_bytes": base64.b64encode(b).decode(), "token_str": None} for i, b in enumerate(by_rank)],
             "special_tokens": [{"rank": i, "token_str": s, "is_control": True} for i, s in enumerate(["<unk>", "<s>", "</s>", "[INST]"])]}
    (FOLDER / "mistral.json").write_text(json.dumps(state, separators=(",", ":")) + "\n")
    e = tiktoken.Encoding("mistral", pat_str=pattern, mergeable_ranks={b: i for i, b in enumerate(by_rank[:kept])}, special_tokens={})
    (FOLDER / "mistral.txt").write_text("\n".join(" ".join(str(i + specials) for i in e.encode(t)) for t in TEXTS[:60]) + "\n")


def main():
    FOLDER.mkdir(exist_ok=True)
    for name, options in MODELS.items():
        (FOLDER / f"{name}.model").write_bytes(train(name, options))
        model = spm.SentencePieceProcessor(model_file=str(FOLDER / f"{name}.model"))
        count = len(TEXTS) if name in ("bpe", "unigram", "suffix") else 60
        (FOLDER / f"{name}.txt").write_text("\n".join(row(model, t) for t in TEXTS[:count]) + "\n")
    write_gguf()
    write_tekken()
    print(f"written with sentencepiece {spm.__version__}")


main()
