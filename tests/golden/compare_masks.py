"""compare_masks.py: masks of grammars beside those of llguidance: compare_masks.py build/tokamax_test_serve FOLDER

FOLDER has a tokenizer.json of bytes whose token 0 ends a text, such as the one that `TOKAMAX_OPENAI=FOLDER tokamax_test_serve [.openai]`
writes. For 50 grammars, 100 masks on random walks are compared token by token. Those of regular expressions must be equal. JSON differs in what
both leave open, so the difference of each token is explained by the text that it would make, or is a fault.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
from collections import Counter

from llguidance import LLMatcher, LLTokenizer

REGEXES = ["(ab|c)+", "[0-9]{3}-[a-f]{2}", "a{2,5}b?", "yes|no|perhaps", "(the|name|of)( (the|name|of))*", "[^a]{1,3}", "\\d+\\.\\d{2}", "\\w+@\\w+\\.com", "x*y+z?",
           "(0|1)*11", "[\\u00e0-\\u00ff]+", "\\{\\\"a\\\": (true|false|null)\\}", "[A-Z][a-z]*( [A-Z][a-z]*){0,3}", "(a|ab|abc){3}", "((a|b)c){2,}", "[ \\t]*end", "\"[^\"]*\"", "a(b(c(d)?)?)?",
           "(one|two|three), (one|two|three)", "[+-]?[0-9]{1,4}(e[0-9]+)?"]
SCHEMAS = [{"type": "object", "properties": {"name": {"type": "string"}, "n": {"type": "integer"}}, "required": ["name"], "additionalProperties": False}, {"type": "boolean"}, {"type": "null"}, {"type": "string"},
           {"type": "integer"}, {"type": "number"}, {"enum": ["a", "ab", 1, None]}, {"const": {"a": 1}}, {"type": "array", "items": {"type": "integer"}},
           {"type": "array", "items": {"enum": ["x", "y"]}, "minItems": 1, "maxItems": 3}, {"type": "string", "maxLength": 4}, {"type": "string", "minLength": 2, "maxLength": 3},
           {"type": "string", "pattern": "^[a-z]{2,4}$"}, {"type": "string", "pattern": "^\\d{3}-(a|b)$"}, {"anyOf": [{"type": "integer"}, {"type": "null"}]}, {"type": ["boolean", "string"]},
           {"type": "object", "properties": {"a": {"const": 1}, "b": {"const": 2}, "c": {"const": 3}}, "additionalProperties": False},
           {"type": "object", "properties": {"a": {"type": "boolean"}, "b": {"type": "boolean"}}, "required": ["a", "b"], "additionalProperties": False},
           {"type": "object", "additionalProperties": {"type": "null"}}, {"type": "array", "prefixItems": [{"type": "boolean"}, {"type": "null"}], "items": False, "minItems": 2},
           {"$defs": {"t": {"type": "object", "properties": {"l": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/t"}]}}, "required": ["l"], "additionalProperties": False}}, "$ref": "#/$defs/t"},
           {"type": "integer", "minimum": 0, "maximum": 120}, {"type": "integer", "minimum": -20, "maximum": 300}, {"type": "array", "items": {"type": "array", "items": {"type": "boolean"}}},
           {"allOf": [{"type": "integer"}, {"minimum": 5}, {"maximum": 77}]}, {"type": "string", "format": "date"}, {"type": "string", "format": "uuid"}, {"type": "integer", "minimum": 10},
           {"type": "object", "properties": {"tags": {"type": "array", "items": {"type": "string", "maxLength": 3}, "maxItems": 2}}, "required": ["tags"], "additionalProperties": False},
           {"type": "object", "properties": {"k": {"enum": ["u", "v"]}, "o": {"type": "object", "properties": {"x": {"type": "null"}}, "required": ["x"], "additionalProperties": False}},
            "required": ["k", "o"], "additionalProperties": False}]


def outside(text):
    """A JSON text without what is in its strings, and whether it ends within one."""
    parts = re.split(rb'"(?:[^"\\]|\\.)*("|$)', text, flags=re.S)
    return b'"'.join(parts[::2]), re.search(rb'^(?:[^"]|"(?:[^"\\]|\\.)*")*"(?:[^"\\]|\\.)*\\?$', text, re.S) is not None


def why(source, prefix, token, ours, forced):
    """Why one of the two takes a token and the other does not, or None."""
    text = prefix + token
    if ours and b"\x7f" in text:
        return "strings: 0x7f is a character of JSON as any other, as in RFC 8259; theirs leaves it out"
    if ours and forced:
        return "ways to write the only text that may follow: theirs takes the tokens that its tokenizer would, ours takes all"
    if not ours and re.search(r"\\[dws]|\[\^", source) and not token.isascii():
        return "classes: \\d and \\w are of ASCII, as in ECMA 262; theirs are of Unicode"
    plain, in_string = outside(text)
    if not ours and re.search(rb"[ \t\r\n]", outside(prefix)[0] + plain[len(outside(prefix)[0]):]):
        return "white space: one space, or a line end and up to 20 spaces, behind { [ , : and before } ]; theirs is any"
    if not ours and re.search(rb"\d{16}", plain):
        return "numbers: at most 16 digits, and 15 behind the point; theirs are endless"
    if not ours and re.search(rb"[eE][+-]?\d{3}", plain):
        return "numbers: an exponent has at most 2 digits; theirs is endless"
    if not ours and re.search(rb"-0$", plain):
        return "numbers: 0 has no sign where it is an integer"
    if not ours and '"format"' in source:
        return "formats: years from 1000 on and uuids in small letters, which all checkers take"
    if not ours and token.startswith(b"\\") and in_string and '"additionalProperties": {' in source:
        return "names that are no properties have no escapes, which could write a property in another way"
    return None


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    text = (folder / "tokenizer.json").read_text()
    words = LLTokenizer(text)
    all = [("regex", r) for r in REGEXES] + [("schema", json.dumps(s)) for s in SCHEMAS]
    (folder / "grammars.jsonl").write_text("".join(json.dumps({"kind": k, "text": t}) + "\n" for k, t in all))
    subprocess.run([program, "[.masks]"], env={**os.environ, "TOKAMAX_MASKS": str(folder)}, check=True, stdout=subprocess.DEVNULL)
    lists = (folder / "masks.jsonl").read_text().split("end\n")
    masks, tokens, explained, faults = 0, 0, Counter(), []
    for (kind, source), lines in zip(all, lists):
        grammar = LLMatcher.grammar_from_regex(source) if kind == "regex" else LLMatcher.grammar_from_json_schema(source, defaults={"whitespace_flexible": True})
        for line in lines.splitlines():
            row = json.loads(line)
            matcher = LLMatcher(words, grammar, log_level=0)
            if row["prefix"] and not matcher.consume_tokens(row["prefix"]) or matcher.is_error():
                if b"\x7f" not in words.decode_bytes(row["prefix"]):
                    faults.append(f"{source}: theirs refuses {words.decode_bytes(row['prefix'])}")
                continue
            bits, forced = matcher.compute_bitmask(), matcher.compute_ff_tokens()
            theirs = {i for i in range(words.vocab_size) if bits[i // 8] >> i % 8 & 1}
            prefix = words.decode_bytes(row["prefix"])
            masks += 1
            tokens += words.vocab_size
            for i in theirs ^ set(row["ids"]):
                token = b"" if i == words.eos_token else words.decode_bytes([i])
                reason = why(source, prefix, token, i not in theirs, forced)
                if reason:
                    explained[reason] += 1
                else:
                    faults.append(f"{source}: behind {prefix} only {'ours' if i not in theirs else 'theirs'} takes {token or 'the end'}")
    for reason, count in explained.most_common():
        print(f"{count} tokens differ by {reason}")
    for f in faults[:60]:
        print(f"fault: {f}")
    print(f"compare_masks: {masks} masks of {len(all)} grammars, {tokens} tokens, {sum(explained.values())} explained, {len(faults)} faults")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
