"""tests/golden/make_tokenizers.py: write tokenizers/, small tokenizers of each kind and what `tokenizers` makes of texts by them.

    python make_tokenizers.py

Needs tokenizers (0.23.3) and tiktoken (0.14.0); the tests only read the files. texts.txt has a text a line in hexadecimal, or two with | between.
NAME.json is a tokenizer that is trained here. NAME.txt has a row for each line of texts.txt:

    ID:BEGIN-END ... | TEXT       its tokens with offsets in characters, and their text in hexadecimal without special tokens

An ID ends in ' if its type is 1, and in * if it frames the text. Trainers break ties by chance, so other runs train other tokens.
smollm.gguf has the tokenizer of smollm.txt. ranks.tiktoken is a file of ranks, and ranks.txt has a row for each line of texts.txt with one text: the ids that tiktoken gives.
"""
# SPDX-License-Identifier: Apache-2.0
import base64
import json
import pathlib
import struct

import tiktoken
import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

FOLDER = pathlib.Path(__file__).parent / "tokenizers"
LLAMA_3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN_2 = LLAMA_3.replace("{1,3}", "")
CL100K = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
CORPUS = """The quick brown fox jumps over the lazy dog. The dog doesn't mind; it's used to that, and they've been friends.
We hold these truths to be self-evident, that all men are created equal. I'll be there, you're here, he'd said so.
In the beginning the tokenizer read the text, and the text was without form. 1234567890 3.14159 2,718 1000 100 10.
int main() { for (int i = 0; i < 10; ++i) { std::printf("%d\\n", i); } return 0; }
def encode(text): return [ids[token] for token in text.split(" ") if token != ""]
Le garçon a mangé une crème brûlée à l'hôtel. Der Bär fährt über die Straße. El niño comió piñas. Ünïcödé.
日本語の文章と中文的句子。東京都に住んでいます。我喜欢学习语言。 한국어 문장입니다. 안녕하세요.
Привет, мир! Как дела? Это предложение на русском языке. مرحبا بالعالم هذا نص عربي. שלום עולם. नमस्ते दुनिया. สวัสดีชาวโลก
Smile 😀 and 👍🏽 with 👨‍👩‍👧‍👦 or 🏳️‍🌈 today.
    indented    text	with tabs
and the and the and the of the of the in the in the to the to the that that that""".split("\n") * 3

TEXTS = [
    "", " ", "  ", "   a", "a   ", "\n", "\r\n", "\t\t", " \n \n ", "a", " a", "A", "hello world", "Hello, World!",
    "The quick brown fox", "don't I'LL you've we're he'd 'S", "'s’s’ll", "ſs 'ſ", "123 4567 1234567890", "3.14 1,000,000",
    "x=y+z; a_b __init__", "http://a.b/c?d=e&f#g", "int main() { return 0; }\n", "    four\n\tsix", "naïve café résumé",
    "e\u0301a\u0316\u0301\u0327", "\u0301alone", "Å\u212bΩ\u2126", "\u0344\u1e9b\u0323", "ﬁne ﬀ ½ ① ² Ⅷ", "İstanbul IİıI", "ǅ Straße ẞ",
    "日本語", "中文字符 and English", "한국어 각 \u1100\u1161\u11a8", "か\u3099ｶﾞＡ", "العربية مرحبا", "שלום", "हिन्दी क्षि", "ไทย สวัสดี",
    "😀", "👨\u200d👩\u200d👧\u200d👦", "🏳\ufe0f\u200d🌈!", "👍🏽👍🏽", "𝕬𝔹 \U0001d400", "\U00020000\U0002f800", "ﷺ㎏",
    "\u00a0nbsp\u3000wide", "\u2028line\u0085next", "zero\u200bwidth\ufeffbom", "soft\u00adhyphen", "\u180emongol \u2009thin",
    "\x00", "a\x00b\x01c\x7f", "\ufffd", "a\ufffdb\ufffd\ufffd", "\ue000private\U000f0000", "…—“q”‘r’", "!!! ??? ...", "((a)) [b] {c}",
    "`code` ~^|\\", "$1 €2 ¥3 <+>", "▁ ▁▁a", "Ġ Ċ ĠĠ", "##a ##", "<0x41><0xE2>", "<unk>[UNK]", "a" * 70, "ab" * 60, "0" * 40, " " * 50,
    "the" * 30, "é" * 40, "日" * 20, "😀" * 12, "<s>a</s>", "[CLS]a[SEP]", "[MASK]", "a[MASK]b", " [MASK] ", "<mask> <mask>", "x<mask>",
    "  <mask>  y", "<|endoftext|>", "a<|endoftext|>b", "<|endoftext|><|endoftext|>", "<|endof", "<|end", "<|im_start|>user\nhi<|im_end|>",
    "wordy word words word", "word", "aword", "word日", "日word", "word.word", "WORD Word", "  trim  ", "trim trim", "trimtrim", "  \n trim \t trim",
    "Ænder ænder", "a ænder", "the and of to", "thethe andand", "The\nThe\r\nThe", "i.e., e.g. etc.", "do not , n't 's 've 're 'm .",
    "a . b ? c ! d , e", "mixed日本語english한국어", "x²+y²=z²", "٠١٢٣ ०१२ Ⅳ", "¡¿ señor", "tab\tin\tside", "new\n\n\nlines", "q\u0303\u0323\u0303",
]
PAIRS = [("hello", "world"), ("", ""), ("a", ""), ("", "b"), ("The dog [MASK]", "<mask> 日本語 é"), ("one two three", "four five six seven")]


def added(tokenizer):
    tokenizer.add_tokens([AddedToken("word", single_word=True, normalized=False), AddedToken("trim", lstrip=True, rstrip=True),
                          AddedToken("Ænder", normalized=True)])
    tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True), "<|im_start|>", "<|im_end|>"])


def byte_bpe(pre, ignore_merges=False, normalizer=None, special=("<|endoftext|>",)):
    t = Tokenizer(models.BPE(ignore_merges=ignore_merges))
    if normalizer:
        t.normalizer = normalizer
    t.pre_tokenizer = pre
    t.decoder = decoders.ByteLevel()
    t.train_from_iterator(CORPUS, trainers.BpeTrainer(
        vocab_size=420, special_tokens=list(special), initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    return t


def split_bytes(expression):
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(expression), "isolated"),
                                    pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def gpt2():
    t = byte_bpe(pre_tokenizers.ByteLevel(add_prefix_space=False))
    t.post_processor = processors.ByteLevel(trim_offsets=True, add_prefix_space=False)
    added(t)
    return t


def llama3():
    t = byte_bpe(split_bytes(LLAMA_3), ignore_merges=True, special=("<|begin_of_text|>", "<|endoftext|>"))
    t.post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=True),
        processors.TemplateProcessing("<|begin_of_text|> $A", "<|begin_of_text|> $A <|begin_of_text|> $B:1", [("<|begin_of_text|>", 0)])])
    return t


def qwen2():
    t = byte_bpe(split_bytes(QWEN_2), normalizer=normalizers.NFC())
    t.post_processor = processors.ByteLevel(trim_offsets=False)
    added(t)
    return t


def roberta():
    t = byte_bpe(pre_tokenizers.ByteLevel(add_prefix_space=True), special=("<s>", "</s>", "<unk>"))
    t.post_processor = processors.RobertaProcessing(("</s>", 1), ("<s>", 0), trim_offsets=True, add_prefix_space=True)
    added(t)
    return t


BYTES = [f"<0x{b:02X}>" for b in range(256)]


def llama2():
    t = Tokenizer(models.BPE(byte_fallback=True, fuse_unk=True, unk_token="<unk>"))
    t.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    t.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    t.train_from_iterator((w for line in CORPUS for w in line.split(" ")), trainers.BpeTrainer(
        vocab_size=520, special_tokens=["<unk>", "<s>", "</s>"] + BYTES, limit_alphabet=90, max_token_length=8, show_progress=False))
    t.post_processor = processors.TemplateProcessing("<s> $A", "<s> $A <s>:1 $B:1", [("<s>", 1)])
    return without_added(t, BYTES)


def mistral():
    t = Tokenizer(models.BPE(fuse_unk=False, unk_token="<unk>"))
    t.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    t.decoder = decoders.Metaspace(prepend_scheme="first")
    t.train_from_iterator(CORPUS, trainers.BpeTrainer(vocab_size=260, special_tokens=["<unk>", "<s>", "</s>"], limit_alphabet=80, show_progress=False))
    added(t)
    return t


def bert():
    t = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=60))
    t.normalizer = normalizers.BertNormalizer()
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.decoder = decoders.WordPiece()
    t.train_from_iterator(CORPUS, trainers.WordPieceTrainer(
        vocab_size=360, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], limit_alphabet=100, show_progress=False))
    t.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", [("[CLS]", 2), ("[SEP]", 3)])
    added(t)
    return t


def bert_cased():
    t = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    t.normalizer = normalizers.BertNormalizer(lowercase=False, strip_accents=False, handle_chinese_chars=True)
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.decoder = decoders.WordPiece(cleanup=False)
    t.train_from_iterator(CORPUS, trainers.WordPieceTrainer(
        vocab_size=260, special_tokens=["[UNK]", "[CLS]", "[SEP]"], limit_alphabet=90, show_progress=False))
    t.post_processor = processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    return t


# The map that sentencepiece 0.2.3 makes of the rules A -> a, B -> b, ﬁ -> fi, ½ -> 1⁄2, e + U+301 -> é, U+A0 and U+3000 -> a space,
# U+200B and U+AD -> nothing, Ａ -> a, ㍍ -> メートル, i + U+307 -> i, 😀 -> :), Ê N O -> x (normalization_rule_tsv).
CHARSMAP = (
    "AAQAAAAAAQBBCQAAQhkAAAwAAIAOAACAzAgCAIEFAAAXAACAzBgCAIcNAAATAACAAQAAgAAAAIC9DQAAAwAAgIpAAQCgbQAATjABAE8FAAAVAACAgCgCAItlAACABAIA"
    "gHEAAI0FAAAaAACAgRkAAI04AgAQAACArUUAAKF1AACfmAIArOwCAJgMAgCABQAACQAAgCUAAABlsAMAJwAAACYAAAApAAAAabQDACsAAAAqAAAALQAAACwAAAAvAAAA"
    "LgAAALw8AgAwAAAAMwAAADIAAAA1AAAANAAAADcAAAA2AAAAOQAAADgAAAA7AAAAOgAAAD0AAAA8AAAAPwAAAD4AAABBAAAAQAAAAEMAAABCAAAARQAAAEQAAABHAAAA"
    "RgAAAEkAAABIAAAASwAAAEoAAABNAAAATAAAAE8AAABOAAAAUQAAAFAAAABTAAAAUgAAAFUAAABUAAAAVwAAAFYAAABZAAAAWAAAAFsAAABaAAAAXQAAAFwAAABfAAAA"
    "XgAAAGEAAABgAAAAYwAAAGIAAABlAAAAZAAAAGcAAABmAAAAaQAAAGgAAABrAAAAagAAAG0AAABsAAAAbwAAAG4AAABxAAAAcAAAAHMAAAByAAAAdQAAAHQAAAB3AAAA"
    "dgAAAHkAAAB4AAAAewAAAHoAAAB9AAAAfAAAAH8AAAB+AAAAgQAAAIAAAADCyAAAwxgAAIUAAACEAAAAhwAAAIYAAACJAAAAiAAAAIsAAACKAAAAjQAAAIwAAACPAAAA"
    "jgAAAJEAAACQAAAAkwAAAJIAAACVAAAAlAAAAJcAAACWAAAAmQAAAJgAAACbAAAAmgAAAJ0AAACcAAAAnwAAAJ4AAAChAAAAoAAAAOLYAADj1AAApQAAAKQAAACnAAAA"
    "pgAAAKkAAACoAAAAqwAAAKoAAACtAAAArAAAAK8AAADvjAAA8MAAALAAAACzAAAAsgAAALUAAAC0AAAAtwAAALYAAAC5AAAAuAAAALsAAAC6AAAAvQAAALwAAAC/AAAA"
    "vgAAAMEAAADAAAAAwwAAAMIAAADFAAAAxAAAAMcAAADGAAAAyQAAAMgAAADLAAAAygAAAM0AAADMAAAAzwAAAM4AAADRAAAA0AAAANMAAADSAAAA1QAAANQAAADXAAAA"
    "1gAAANkAAADYAAAA2wAAANoAAADdAAAA3AAAAN8AAADeAAAA4QAAAOAAAADjAAAA4gAAAOUAAADkAAAA5wAAAOYAAADpAAAA6AAAAOsAAADqAAAA7QAAAOwAAADvAAAA"
    "7gAAAPEAAADwAAAA8wAAAPIAAAD1AAAA9AAAAPcAAAD2AAAA+QAAAPgAAAD7AAAA+gAAAP0AAAD8AAAA/wAAAP4AAAAAIAAx4oGEMgA6KQBhAGIAZmkAaQB4AMOpAOOD"
    "oeODvOODiOODqwA="
)


def precompiled():
    state = json.loads(t5().to_str())
    state["normalizer"] = {"type": "Precompiled", "precompiled_charsmap": CHARSMAP}
    return Tokenizer.from_str(json.dumps(state))


def unigram(byte_fallback, normalizer, metaspace):
    t = Tokenizer(models.Unigram())
    t.normalizer = normalizer
    t.pre_tokenizer = metaspace
    t.decoder = decoders.Metaspace(prepend_scheme="always")
    t.train_from_iterator(CORPUS, trainers.UnigramTrainer(
        vocab_size=260, special_tokens=["<pad>", "</s>", "<unk>"], unk_token="<unk>", show_progress=False))
    if byte_fallback:
        state = json.loads(t.to_str())
        state["model"]["vocab"] += [[b, -20.0] for b in BYTES]
        state["model"]["byte_fallback"] = True
        t = Tokenizer.from_str(json.dumps(state))
        t.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace(prepend_scheme="always")])
    t.post_processor = processors.TemplateProcessing("$A </s>", "$A </s> $B:1 </s>:1", [("</s>", 1)])
    return t


def t5():
    return unigram(False, normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " "), normalizers.Strip()]),
                   pre_tokenizers.Metaspace(prepend_scheme="always"))


def unigram_bytes():
    return unigram(True, normalizers.Sequence([normalizers.NFKD(), normalizers.Lowercase()]),
                   pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(prepend_scheme="always", split=False)]))


def words():
    t = Tokenizer(models.WordLevel(unk_token="<unk>"))
    t.normalizer = normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents(), normalizers.Lowercase()])
    t.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Whitespace(), pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.Punctuation("contiguous")])
    t.train_from_iterator(CORPUS, trainers.WordLevelTrainer(vocab_size=60, special_tokens=["<unk>"], show_progress=False))
    added(t)
    return t


def suffixed():
    t = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>", fuse_unk=True))
    t.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()])
    t.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(r"'s|'t|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"), "removed", invert=True), pre_tokenizers.Digits()])
    t.decoder = decoders.BPEDecoder()
    t.train_from_iterator(CORPUS, trainers.BpeTrainer(
        vocab_size=330, special_tokens=["<unk>"], end_of_word_suffix="</w>", limit_alphabet=70, show_progress=False))
    return t


def merged():  # what becomes of delimiters, by words of single characters
    t = Tokenizer(models.BPE(unk_token="<unk>", continuing_subword_prefix="##"))
    t.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(" ", "merged_with_next"), pre_tokenizers.Split(Regex(r"[\p{P}]"), "merged_with_previous"),
        pre_tokenizers.Split(Regex(r"\d+(?=\d{3})|x*"), "isolated"), pre_tokenizers.CharDelimiterSplit("|")])
    t.train_from_iterator(CORPUS, trainers.BpeTrainer(
        vocab_size=260, special_tokens=["<unk>"], continuing_subword_prefix="##", limit_alphabet=60, show_progress=False))
    return t


def without_added(tokenizer, contents):  # they stay in the vocabulary
    state = json.loads(tokenizer.to_str())
    state["added_tokens"] = [a for a in state["added_tokens"] if a["content"] not in contents]
    return Tokenizer.from_str(json.dumps(state))


def row(tokenizer, texts):
    e = tokenizer.encode(*texts)
    tokens = zip(e.ids, e.offsets, e.type_ids, e.special_tokens_mask)
    return "".join(f"{i}{chr(39) * t}{'*' * s}:{b}-{end} " for i, (b, end), t, s in tokens) + "| " + tokenizer.decode(e.ids).encode().hex()


def write_ranks():
    visible = [b for b in range(256) if 33 <= b < 127 or 161 <= b < 173 or b >= 174]
    characters = {chr(b): b for b in visible} | {chr(256 + n): b for n, b in enumerate(b for b in range(256) if b not in visible)}
    trained = byte_bpe(split_bytes(LLAMA_3), special=()).get_vocab()
    ranks = {bytes(characters[c] for c in token): rank for token, rank in trained.items()}
    lines = [f"{base64.b64encode(token).decode()} {rank}" for token, rank in sorted(ranks.items(), key=lambda item: item[1])]
    (FOLDER / "ranks.tiktoken").write_text("\n".join(lines) + "\n")
    e = tiktoken.Encoding("ranks", pat_str=CL100K, mergeable_ranks=ranks, special_tokens={"<|endoftext|>": 500, "<|im_start|>": 510})
    rows = [" ".join(map(str, e.encode(t, allowed_special="all"))) for t in TEXTS]
    (FOLDER / "ranks.txt").write_text("\n".join(rows) + "\n")


def write_gguf(cases):
    t = byte_bpe(pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]),
                 special=("<|endoftext|>", "<|im_start|>"))
    t.post_processor = processors.TemplateProcessing("<|im_start|> $A", "<|im_start|> $A $B:1", [("<|im_start|>", 1)])
    state = json.loads(t.to_str())["model"]
    tokens = sorted(state["vocab"], key=state["vocab"].get)
    text = lambda x: struct.pack("<Q", len(x.encode())) + x.encode()
    texts = lambda all: struct.pack("<IIQ", 9, 8, len(all)) + b"".join(map(text, all))
    values = {"general.architecture": struct.pack("<I", 8) + text("llama"), "llama.rope.freq_base": struct.pack("<If", 6, 1e5),
              "tokenizer.ggml.model": struct.pack("<I", 8) + text("gpt2"), "tokenizer.ggml.pre": struct.pack("<I", 8) + text("smollm"),
              "tokenizer.ggml.tokens": texts(tokens), "tokenizer.ggml.merges": texts([" ".join(m) for m in state["merges"]]),
              "tokenizer.ggml.token_type": struct.pack(f"<IIQ{len(tokens)}i", 9, 5, len(tokens), 3, 3, *[1] * (len(tokens) - 2)),
              "tokenizer.ggml.add_bos_token": struct.pack("<I?", 7, True), "tokenizer.ggml.bos_token_id": struct.pack("<II", 4, 1)}
    data = b"GGUF" + struct.pack("<IQQ", 3, 0, len(values)) + b"".join(text(k) + v for k, v in values.items())
    (FOLDER / "smollm.gguf").write_bytes(data)
    (FOLDER / "smollm.txt").write_text("\n".join(row(t, c) for c in cases) + "\n")


def main():
    FOLDER.mkdir(exist_ok=True)
    cases = [(t,) for t in TEXTS] + PAIRS
    lines = ["|".join(t.encode().hex() for t in c) for c in cases]
    (FOLDER / "texts.txt").write_text("\n".join(lines) + "\n")
    for make in (gpt2, llama3, qwen2, roberta, llama2, mistral, bert, bert_cased, t5, precompiled, unigram_bytes, words, suffixed, merged):
        t = make()
        text = json.dumps(json.loads(t.to_str()), ensure_ascii=False, separators=(",", ":"))
        (FOLDER / f"{make.__name__}.json").write_text(text + "\n")
        t = Tokenizer.from_str(text)
        (FOLDER / f"{make.__name__}.txt").write_text("\n".join(row(t, c) for c in cases) + "\n")
    write_ranks()
    write_gguf(cases)
    print(f"written with tokenizers {tokenizers.__version__}")


main()
