"""check_schemas.py: answers held to 300 schemas validate: check_schemas.py build/tokamax_serve MODEL [SAMPLES] [SEED]

A served model answers each schema 20 times at temperature 2, and what ends by `stop` is validated by the package jsonschema. Schemas are
those of a list, which has each keyword, and random ones. Those that the server refuses must be refused by the path of the keyword.
"""

import http.client
import json
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import jsonschema

KEYWORDS = [
    True, {}, {"type": "object"}, {"type": "array"}, {"type": "string"}, {"type": "number"}, {"type": "integer"}, {"type": "boolean"}, {"type": "null"},
    {"type": ["integer", "null"]}, {"type": ["string", "array", "boolean"], "maxLength": 3, "maxItems": 2},
    {"const": 5}, {"const": {"a": [1, "b", None]}}, {"const": "\"\\\n\u00e9\U0001F600"}, {"const": -0.5}, {"const": 1e100}, {"const": ""},
    {"enum": [1, "1", None, [], {}, True]}, {"enum": [1, "a"], "type": "string"}, {"enum": ["a/b", "\u2028", "\x7f", "\x01"]},
    {"minimum": 3, "type": "integer"}, {"minimum": -3.5, "maximum": 3.5, "type": "number"}, {"exclusiveMinimum": 0, "exclusiveMaximum": 1, "type": "number"},
    {"exclusiveMinimum": -1, "maximum": 0, "type": "number"}, {"minimum": 0.1, "maximum": 0.9, "type": "number"}, {"exclusiveMinimum": -5, "exclusiveMaximum": 5, "type": "integer"},
    {"minimum": 999, "maximum": 10001, "type": "integer"}, {"minimum": -12345, "maximum": -7, "type": "integer"}, {"maximum": -100, "type": "number"},
    {"minimum": 5, "maximum": 5, "type": "number"}, {"minimum": 1e15, "type": "integer"}, {"minimum": 17, "exclusiveMinimum": 17, "type": "integer", "maximum": 18},
    {"minimum": 0, "exclusiveMinimum": -3, "maximum": 7, "exclusiveMaximum": 9, "type": "number"}, {"minimum": -0.0, "maximum": 0.0, "type": "number"},
    {"minLength": 3, "type": "string"}, {"maxLength": 3, "type": "string"}, {"minLength": 2, "maxLength": 2, "type": "string"}, {"maxLength": 0, "type": "string"},
    {"pattern": "^a+b*$", "type": "string"}, {"pattern": "b", "type": "string"}, {"pattern": "^[^a]", "type": "string"}, {"pattern": "c$", "type": "string"},
    {"pattern": "^(\\d{3}-)?[A-Z]{2,4}$", "type": "string"}, {"pattern": "^\\w+@\\w+\\.(com|org)$", "type": "string"}, {"pattern": "^[\\s\\S]{1,4}$", "type": "string"},
    {"pattern": "^(a|b|\"|\\\\){2}$", "type": "string"}, {"pattern": "^.{3}$", "type": "string"}, {"pattern": "^[\u00e0-\u00ff]+$", "type": "string"}, {"pattern": "^$", "type": "string"},
    *({"type": "string", "format": f} for f in ("date", "time", "date-time", "uuid", "ipv4", "ipv6", "hostname", "email", "uri")),
    {"type": "array", "items": {"type": "integer"}}, {"type": "array", "items": {"type": "boolean"}, "minItems": 2}, {"type": "array", "items": {"type": "null"}, "maxItems": 3},
    {"type": "array", "items": {"const": 1}, "minItems": 4, "maxItems": 4}, {"type": "array", "maxItems": 0}, {"type": "array", "items": False},
    {"type": "array", "prefixItems": [{"const": 1}, {"type": "boolean"}]}, {"type": "array", "prefixItems": [{"const": 1}], "items": {"const": 2}, "maxItems": 3},
    {"type": "array", "prefixItems": [{"const": 1}, {"const": 2}], "items": False, "minItems": 1}, {"type": "array", "prefixItems": [{"const": 1}], "minItems": 3, "items": {"type": "null"}},
    {"type": "array", "items": {"type": "array", "items": {"type": "array", "items": {"type": "boolean"}, "maxItems": 2}, "maxItems": 2}, "maxItems": 2},
    {"type": "object", "properties": {"a": {"type": "integer"}}}, {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
    {"type": "object", "properties": {"a": {"const": 1}, "b": {"const": 2}, "c": {"const": 3}}, "required": ["b"]},
    {"type": "object", "properties": {"a": {"const": 1}}, "additionalProperties": {"type": "boolean"}}, {"type": "object", "additionalProperties": {"type": "integer"}},
    {"type": "object", "additionalProperties": False}, {"type": "object", "additionalProperties": {"type": "null"}, "minProperties": 2, "maxProperties": 4},
    {"type": "object", "required": ["x"], "additionalProperties": {"const": 0}}, {"type": "object", "properties": {"\"": {"const": 1}, "\\": {"const": 2}, "\u00e9": {"const": 3}, "": {"const": 4}}},
    {"type": "object", "properties": {"a": True}, "required": ["a"], "additionalProperties": True}, {"type": "object", "properties": {"ab": {"const": 1}, "a": {"const": 2}, "abc": {"const": 3}}, "additionalProperties": {"type": "null"}},
    {"type": "object", "additionalProperties": {"type": "null"}, "minProperties": 1}, {"type": "object", "additionalProperties": {"type": "null"}, "maxProperties": 1},
    {"type": "object", "properties": {"a": {"const": 1}, "b": {"const": 1}}, "maxProperties": 2, "minProperties": 0},
    {"anyOf": [{"type": "integer"}, {"type": "null"}]}, {"anyOf": [{"const": "a"}, {"const": "ab"}, {"const": "abc"}]}, {"oneOf": [{"type": "integer"}, {"type": "string", "maxLength": 2}]},
    {"oneOf": [{"type": "object", "properties": {"k": {"const": 1}, "v": {"type": "null"}}, "required": ["k"]}, {"type": "object", "properties": {"k": {"const": 2}, "v": {"type": "boolean"}}, "required": ["k", "v"]}]},
    {"allOf": [{"type": "integer"}, {"minimum": 3}, {"maximum": 9}]}, {"allOf": [{"type": "object", "properties": {"a": {"const": 1}}}, {"required": ["a"]}]},
    {"anyOf": [{"minimum": 3}, {"maximum": -3}], "type": "integer"}, {"allOf": [{"enum": [1, 2, 3]}, {"enum": [2, 3, 4]}]}, {"allOf": [{"maxLength": 4}, {"minLength": 2}], "type": "string"},
    {"$defs": {"n": {"type": "integer", "minimum": 0}}, "type": "array", "items": {"$ref": "#/$defs/n"}, "maxItems": 4},
    {"$defs": {"t": {"type": "object", "properties": {"l": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/t"}]}}, "required": ["l"]}}, "$ref": "#/$defs/t"},
    {"type": "object", "properties": {"self": {"$ref": "#"}, "n": {"type": "boolean"}}, "required": ["n"]}, {"definitions": {"a/b": {"const": 1}}, "$ref": "#/definitions/a~1b"},
    {"title": "t", "description": "d", "default": 1, "examples": [1], "type": "integer", "$schema": "https://json-schema.org/draft/2020-12/schema"},
]
# What cannot be held to, and where.
REFUSED = [({"not": {}}, "not"), ({"if": {}, "then": {}}, "if"), ({"type": "array", "uniqueItems": True}, "uniqueItems"), ({"patternProperties": {"a": {}}}, "patternProperties"),
           ({"type": "number", "multipleOf": 2}, "multipleOf"), ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, "oneOf"), ({"type": "array", "contains": {}}, "contains"),
           ({"type": "strange"}, "type"), ({"type": "array", "items": {"not": {}}}, "items/not"), ({"properties": {"a": {"format": "colour", "type": "string"}}}, "properties/a/format"),
           ({"$ref": "#/$defs/none"}, "$ref"), ({"dependentRequired": {"a": ["b"]}}, "dependentRequired"), ({"type": "string", "pattern": "(?=a)"}, "pattern"), (False, "#")]


def random_schema(draw, depth=0):
    some = lambda p: draw.random() < p
    kind = draw.choice(["object", "array", "anyOf", "enum", "allOf"] + ["object"] * 2 if depth < 3 and some(0.7) else ["string", "integer", "number", "boolean", "null", "enum", "const"])
    if kind == "object":
        names = draw.sample(["a", "ab", "b", "name", "value", "\u00e9t\u00e9", "x y", "0"], draw.randint(0, 4))
        s = {"type": "object", "properties": {n: random_schema(draw, depth + 1) for n in names}}
        s["required"] = [n for n in names if some(0.5)]
        if some(0.3):
            s["additionalProperties"] = draw.choice([False, True, {"type": "boolean"}, {"type": "integer", "minimum": 0}])
        return s
    if kind == "array":
        s = {"type": "array", "items": random_schema(draw, depth + 1), "maxItems": draw.randint(1, 4)}
        if some(0.4):
            s["minItems"] = draw.randint(0, s["maxItems"])
        if some(0.3):
            s["prefixItems"] = [random_schema(draw, depth + 2) for _ in range(draw.randint(1, 2))]
        return s
    if kind == "anyOf":
        return {"anyOf": [random_schema(draw, depth + 1) for _ in range(draw.randint(1, 3))]}
    if kind == "allOf":
        low = draw.randint(-1000, 1000)
        return {"allOf": [{"type": draw.choice(["integer", "number"])}, {"minimum": low}, {"maximum": low + draw.randint(1, 3000)}]}
    if kind == "enum":
        return {"enum": draw.sample([1, 2.5, "a", "b\"c", None, True, False, [], [1, "x"], {"k": "v"}, "", -7], draw.randint(1, 5))}
    if kind == "const":
        return {"const": draw.choice([0, "text", None, [1, 2], {"a": {"b": []}}])}
    s = {"type": kind}
    if kind == "string" and some(0.6):
        s |= draw.choice([{"maxLength": draw.randint(0, 9)}, {"minLength": 1, "maxLength": 5}, {"pattern": draw.choice(["^[a-z]{1,5}$", "^\\d+(\\.\\d+)?$", "[xyz]", "^(ab|c)*d"])},
                          {"format": draw.choice(["date", "uuid", "ipv4", "time"])}])
    if kind in ("integer", "number") and some(0.7):
        low = draw.choice([draw.randint(-10**draw.randint(1, 9), 10**draw.randint(1, 9)), draw.uniform(-50, 50) if kind == "number" else 0])
        s |= {draw.choice(["minimum", "exclusiveMinimum"]): low, draw.choice(["maximum", "exclusiveMaximum"]): low + draw.choice([1.5, 2, 10, 12345])}
    return s


def main():
    server = subprocess.Popen([*sys.argv[1:3], "--port", "0", "--cache", "64MiB"], stdout=subprocess.PIPE, text=True)
    samples = int(sys.argv[3]) if len(sys.argv) > 3 else 20
    draw = random.Random(int(sys.argv[4]) if len(sys.argv) > 4 else 0)
    faults, counts = [], dict.fromkeys(["validate", "unfinished", "refused"], 0)
    try:
        port = int(server.stdout.readline().rsplit(":", 1)[1])

        def post(path, body):
            c = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
            c.request("POST", path, json.dumps(body))
            r = c.getresponse()
            return r.status, json.loads(r.read())

        # Random weights would hardly ever end a text.
        ends = {str(i): 5 for c in '"]}' for i in post("/tokenize", {"prompt": c, "add_special_tokens": False})[1]["tokens"]}

        def sample(schema):
            check = jsonschema.Draft202012Validator(schema, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER)
            status, answer = post("/v1/completions", {"prompt": "the", "n": samples, "max_tokens": 800, "temperature": 2, "seed": 1, "logit_bias": ends, "guided_json": schema})
            if status != 200:
                counts["refused"] += 1
                if not (status == 400 and "#" in answer["error"]["message"] and answer["error"]["param"] == "guided_json"):
                    faults.append(f"{json.dumps(schema)}: {answer}")
                else:
                    print(f"refused: {json.dumps(schema)}: {answer['error']['message']}")
                return
            for c in answer["choices"]:
                if c["finish_reason"] != "stop":
                    counts["unfinished"] += 1
                    continue
                try:
                    check.validate(json.loads(c["text"]))
                    counts["validate"] += 1
                except (json.JSONDecodeError, jsonschema.ValidationError) as e:
                    faults.append(f"{json.dumps(schema)} and {c['text']!r}: {str(e)[:300]}")

        for schema, path in REFUSED:
            status, answer = post("/v1/completions", {"prompt": "the", "guided_json": schema})
            if status != 400 or path not in answer["error"]["message"]:
                faults.append(f"{schema}: {answer}")
        all = KEYWORDS + [random_schema(draw) for _ in range(max(0, 300 - len(KEYWORDS)))]
        with ThreadPoolExecutor(3) as threads:
            list(threads.map(sample, all))
    finally:
        server.terminate()
    for f in faults:
        print(f"fault: {f}")
    print(f"check_schemas: {len(KEYWORDS)} schemas of keywords and {len(all) - len(KEYWORDS)} random ones, {counts}, {len(REFUSED)} that must be refused, {len(faults)} faults")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
