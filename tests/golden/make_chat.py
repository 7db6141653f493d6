"""tests/golden/make_chat.py: write chat/, what Python's jinja2 makes of chats by the templates there, and of small templates.

    python make_chat.py

Needs jinja2 (3.1.6), which is set up as `transformers` does; the tests only read the files. chat/chats.jsonl has the variables of a chat a line,
and chat/NAME.txt a line for each: the text that NAME.jinja gives, as JSON, or "!" where jinja2 refuses it. chat/features.jsonl has small templates:
[the template, its variables, the text, or null where jinja2 refuses it].
"""
# SPDX-License-Identifier: Apache-2.0
import datetime
import json
import os
import pathlib
import time

import jinja2
from jinja2.ext import Extension
from jinja2.sandbox import ImmutableSandboxedEnvironment

FOLDER = pathlib.Path(__file__).parent / "chat"
NOW = 1700000000
os.environ["TZ"] = "UTC"
time.tzset()


class Generation(Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_said"), [], [], body).set_lineno(line)

    def _said(self, caller):
        return caller()


def environment():
    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    e = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, "jinja2.ext.loopcontrols"])
    e.filters["tojson"] = tojson
    e.globals["raise_exception"] = raise_exception
    e.globals["strftime_now"] = lambda form: datetime.datetime.fromtimestamp(NOW).strftime(form)
    return e


def chats():
    weather = {"type": "function", "function": {
        "name": "get_weather", "description": "The weather\nof a city.", "parameters": {"type": "object", "properties": {
            "city": {"type": "string", "description": "A city, such as \"Zürich\""}, "unit": {"type": "string", "enum": ["C", "F"]},
            "days": {"type": "integer", "default": 1}, "where": {"type": "object", "properties": {"lat": {"type": ["number", "null"]}}, "required": ["lat"]},
            "tags": {"type": "array", "items": {"type": "boolean"}}, "any": {"anyOf": [{"type": "string"}, {"type": "array"}]}}, "required": ["city"]},
        "return": {"type": "number"}}}
    add = {"type": "function", "function": {"name": "add numbers", "description": "<b>", "parameters": {"type": "object", "properties": {}}}}
    call = lambda name, arguments, id="abcdefghi": {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}
    message = lambda role, content, **more: {"role": role, "content": content, **more}
    hello = message("user", "Hello!")
    used = [message("user", "And now?"), message("assistant", None, tool_calls=[call("get_weather", {"city": "Zürich", "days": 3, "tags": [True, None], "x": 1.5})]),
            message("tool", "21.5", tool_call_id="abcdefghi", name="get_weather")]
    return [
        {"messages": [hello]}, {"messages": [hello], "add_generation_prompt": True}, {"messages": []}, {"messages": [], "add_generation_prompt": True},
        {"messages": [message("system", " Be brief. "), hello, message("assistant", " Yes? \n"), message("user", "  日本語 😀\n\"q\" 'a' <x> & \\ \t")], "add_generation_prompt": True},
        {"messages": [message("system", "S"), hello], "tools": [weather, add], "add_generation_prompt": True},
        {"messages": used, "tools": [weather], "add_generation_prompt": True},
        {"messages": used + [message("assistant", "21.5 degrees")], "tools": [weather]},
        {"messages": [hello, message("assistant", "a", tool_calls=[call("f", '{"a": 1}'), call("g", {})]), message("tool", {"r": [1]}), message("tool", "2")]},
        {"messages": [hello, message("assistant", "<think>\nhm\n</think>\n\nfour"), message("user", "x"), message("assistant", "five", reasoning_content="\nr\n")]},
        {"messages": [hello], "enable_thinking": False, "add_generation_prompt": True, "date_string": "1 May 2025"},
        {"messages": [message("user", [{"type": "text", "text": " one "}, {"type": "image"}, {"type": "other"}, {"type": "text", "text": "two"}])], "add_generation_prompt": True},
        {"messages": [message("developer", "D"), hello, hello]}, {"messages": [message("assistant", "first"), hello]},
        {"messages": [message("king", "x")]}, {"messages": [{"role": "user"}]}, {"messages": [hello, message("assistant", "", tool_calls=[])]},
        {"messages": [hello, message("assistant", "n", tool_calls=[call("f", {"a": {"b": -1e-7, "c": 1e22}}, "short")])]},
    ]


V = {"x": 3, "y": 2.5, "s": "Hello World", "e": "", "u": "äß日😀", "l": [3, 1, 2], "d": {"b": 1, "a": "z", "items": 5}, "n": None, "t": True, "f": False,
     "m": [{"r": "a", "v": 1, "w": {"k": [7]}}, {"r": "B", "v": 0}, {"r": "a", "v": 3}], "q": "it's \"x\"\n\t\\", "z": [], "big": 9007199254740993, "ws": " \n a b \t"}

FEATURES = """
{{ x }} {{ y }} {{ n }} {{ t }} {{ f }} {{ nothing }}|{{ l }} {{ d }} {{ u }} {{ big }}
{{ [q] }} {{ ["é", "\\x07", "\\u200b", "\\xa0", "a'b", 'a"b'] }} {{ (1,) }} {{ () }} {{ (1, "a") }} {{ {} }} {{ {1: none, "a": 1.0} }}
{{ 1e16 }} {{ 1e15 }} {{ 123456789.125 }} {{ 0.0001 }} {{ 0.00001 }} {{ 1.0 }} {{ -0.0 }} {{ 1/3 }} {{ 1e300*1e10 }} {{ 2**0.5 }}
{{ 7 // 2 }} {{ -7 // 2 }} {{ 7 % -3 }} {{ -7 % 3 }} {{ 7.5 // 2 }} {{ -7.5 % 2 }} {{ 2 ** 10 }} {{ 2 ** -1 }} {{ 7 / 2 }} {{ 6 / 2 }} {{ 0 ** 0 }} {{ (-1) ** 1001 }}
{{ 1 + 2 * 3 - 4 }} {{ (1 + 2) * 3 }} {{ -x ** 2 }} {{ 2 * 3 ~ 4 }} {{ "a" ~ 1 ~ n ~ t ~ y }} {{ "ab" * 2 }} {{ 2 * [1] }} {{ [1] + [2] }} {{ "a" + "b" }} {{ true + 1 }}
{{ 1 < 2 < 3 }} {{ 1 < 3 < 2 }} {{ 1 == 1.0 }} {{ t == 1 }} {{ "a" < "b" }} {{ [1, 2] < [1, 3] }} {{ "1" == 1 }} {{ n == none }} {{ {"a": 1, "b": 2} == {"b": 2, "a": 1} }} {{ (1,) == [1] }}
{{ 1 in l }} {{ 9 not in l }} {{ "lo" in s }} {{ "b" in d }} {{ "x" in nothing }} {{ not 1 in l }} {{ 1 in (1, 2) and 2 }}
{{ 0 or "x" }} {{ 1 and "" }}| {{ not e }} {{ n or z or 5 }} {{ x if t else y }} {{ x if f }}| {{ "a" if f else "b" if f else "c" }}
{{ l[0] }} {{ l[-1] }} {{ l[9] }}|{{ s[0] }} {{ s[-1] }} {{ u[2] }} {{ u[-1] }} {{ d["b"] }} {{ d.b }} {{ d["q"] }}|{{ d.q is defined }} {{ m[0].w.k[0] }} {{ m.0.w.k.0 }}
{{ l[1:] }} {{ l[:-1] }} {{ l[::-1] }} {{ s[2:5] }} {{ s[::-2] }} {{ u[1:3] }} {{ u[-2:] }} {{ s[5:2] }}| {{ l[-99:99:2] }} {{ (1,2,3)[1:] }} {{ u[::-1] }}
{{ d.items() | list }} {{ d.keys() | list }} {{ d.values() | list }} {{ d["items"] }} {{ d.get("b") }} {{ d.get("q") }} {{ d.get("q", 7) }} {{ d.items()|length }}
{{ s.upper() }} {{ s.lower() }} {{ u.upper() }} {{ "ǆ ﬁ".title() }} {{ "they're bill's".title() }} {{ "they're bill's"|title }} {{ "ßx ABC".capitalize() }} {{ "hELLO wORLD"|capitalize }} {{ "aB".swapcase() }}
{{ "ΑΣ ΑΣΑ Σ".lower() }} {{ "İ".lower() }} {{ "ŉ ǰ ΐ".upper() }}
{{ ws.strip() }}|{{ ws.lstrip() }}|{{ ws.rstrip() }}|{{ "xxaxx".strip("x") }} {{ "abc".lstrip("ba") }} {{ ws|trim }}|{{ "--a-"|trim("-") }} {{ "\\u3000a\\x1c".strip() }}
{{ "a,b,,c".split(",") }} {{ "a,b,c".split(",", 1) }} {{ " a  b ".split() }} {{ " a  b c ".split(none, 1) }} {{ "a,b,c".rsplit(",", 1) }} {{ " a b  c ".rsplit(none, 1) }} {{ "".split() }} {{ "".split(",") }} {{ "abc".split("b", maxsplit=0) }}
{{ s.startswith("He") }} {{ s.endswith(("x", "ld")) }} {{ s.startswith("W", 6) }} {{ s.find("o") }} {{ s.rfind("o") }} {{ s.find("q") }} {{ u.find("日") }} {{ s.index("W") }} {{ s.count("l") }} {{ "aaa".count("aa") }} {{ "ab".count("") }}
{{ s.replace("l", "L") }} {{ s.replace("l", "L", 1) }} {{ "abc".replace("", "-") }} {{ "aé".replace("", ".", 2) }} {{ s|replace("o", 0) }} {{ "x"|replace("x", "y", 0) }}
{{ "a-b-c".partition("-") }} {{ "a-b-c".rpartition("-") }} {{ "abc".partition("x") }} {{ "abc".removeprefix("ab") }} {{ "abc".removesuffix("bc") }} {{ "a\\nb\\r\\nc\\x0bd".splitlines() }} {{ "a\\n".splitlines(true) }} {{ "-".join(["a", "b"]) }}
{{ "ab".center(7, "*") }} {{ "abc".center(6, "*") }} {{ "a".center(4)|length }} {{ "é".ljust(3, ".") }} {{ "é".rjust(3, ".") }} {{ "-5".zfill(4) }} {{ "x"|center(5) }}|
{{ "12".isdigit() }} {{ "1a".isdigit() }} {{ "ab".isalpha() }} {{ "a1".isalnum() }} {{ " \\n".isspace() }} {{ "".isspace() }} {{ "Ab".isupper() }} {{ "AB1".isupper() }} {{ "a1".islower() }} {{ "1".islower() }} {{ "é".isascii() }} {{ "1".isnumeric() }}
{{ "{} {}".format(1, "b") }} {{ "{1}{0}".format("a", "b") }} {{ "{a}-{{}}".format(a=5) }}
{{ l|length }} {{ s|length }} {{ u|count }} {{ d|length }} {{ nothing|length }} {{ l|first }} {{ l|last }} {{ z|first }}|{{ s|first }} {{ u|last }} {{ d|first }} {{ d|last }}
{{ l|sort }} {{ l|sort(reverse=true) }} {{ ["b", "A", "a"]|sort }} {{ ["b", "A", "a"]|sort(case_sensitive=true) }} {{ m|sort(attribute="v")|map(attribute="v")|list }} {{ d|dictsort }} {{ {"b": 2, "A": 3}|dictsort(by="value", reverse=true) }}
{{ l|join }} {{ l|join(", ") }} {{ m|join("-", attribute="r") }} {{ l|join(1) }} {{ u|join("|") }} {{ z|join }}| {{ l|reverse|list }} {{ s|reverse }} {{ l|sum }} {{ m|sum(attribute="v") }} {{ l|max }} {{ l|min }} {{ z|max }}|
{{ m|selectattr("v")|list|length }} {{ m|rejectattr("v")|list }} {{ m|selectattr("r", "equalto", "a")|map(attribute="v")|list }} {{ m|map(attribute="w.k.0", default="-")|join(",") }} {{ l|select("odd")|list }} {{ l|reject(">", 1)|list }} {{ l|select|list }} {{ l|map("string")|list }} {{ ["a"]|map("upper")|first }}
{{ ["a", "B", "b"]|unique|list }} {{ [1, 2, 1]|unique|list }} {{ [1,2,3,4,5]|batch(2)|list }} {{ [1,2,3]|batch(2, 0)|list }} {{ [1,2,3,4,5]|slice(3)|list }} {{ [1,2,3,4]|slice(3, "x")|list }}
{{ nothing|default("a") }} {{ e|default("b") }}|{{ e|default("b", true) }} {{ n|d("c", boolean=true) }} {{ nothing|d }}|{{ d.x|default("no") }}
{{ nothing.x }}
{{ x is defined if false else 1 }}
{{ 2 + 3 ~ 4 }}
{{ "5"|int }} {{ "5.9"|int }} {{ "x"|int }} {{ "x"|int(7) }} {{ 3.9|int }} {{ -3.9|int }} {{ "ff"|int(0, 16) }} {{ " 1_000 "|int }} {{ "1.5"|float }} {{ "x"|float }} {{ true|int }} {{ 3|float }} {{ 3.7|abs }} {{ -3|abs }}
{{ 2.5|round }} {{ 3.5|round }} {{ 2.675|round(2) }} {{ 1.21|round(1, "ceil") }} {{ 1.29|round(1, "floor") }} {{ 7|round }} {{ x|string ~ "!" }} {{ "<&'\\">"|e }} {{ "<"|safe }}
{{ d|tojson }} {{ u|tojson }} {{ u|tojson(ensure_ascii=true) }} {{ q|tojson }} {{ [1.0, 1e100, none, true]|tojson }} {{ l|tojson(indent=2) }} {{ {"b": {"c": []}, "a": {}}|tojson(sort_keys=true, indent=1) }} {{ [1, {"a": 2}]|tojson(separators=(",", ":")) }} {{ {1: 2, none: 3, true: 4, 1.5: 5}|tojson }} {{ (1, 2)|tojson }} {{ "\\x00\\x7f"|tojson }}
{{ "a\\nb\\n\\nc"|indent }}|{{ "a\\nb"|indent(2, true) }}|{{ "a\\n\\nb"|indent(2, blank=true) }}|{{ "a\\nb"|indent("> ") }}|{{ "a\\n"|indent }}|
{{ x is defined }} {{ nothing is undefined }} {{ n is none }} {{ t is boolean }} {{ t is true }} {{ t is false }} {{ 1 is true }} {{ x is integer }} {{ y is float }} {{ t is number }} {{ s is string }} {{ d is mapping }} {{ l is sequence }} {{ s is sequence }} {{ s is iterable }} {{ x is iterable }} {{ nothing is iterable }} {{ d.keys() is sequence }} {{ range is callable }} {{ 3 is odd }} {{ 4 is even }} {{ 6 is divisibleby 3 }} {{ "a" is in "abc" }} {{ x is eq 3 }} {{ x is not eq 3 }} {{ x is gt 2 }} {{ x is le(2) }} {{ "ab" is lower }} {{ n is sameas none }} {{ x is none or t }}
{% for i in l %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.depth }}{{ loop.previtem }}{{ loop.nextitem }} {% endfor %}
{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}{% for k in d %}{{ k }}{% endfor %}{% for c in "añ" %}[{{ c }}]{% endfor %}{% for i in nothing %}x{% else %}none{% endfor %}{% for i in range(3) %}{{ i }}{% endfor %}{% for i in range(5, 0, -2) %}{{ i }}{% endfor %}
{% for a in m if a.v %}{{ a.r }}{{ loop.length }}{% endfor %}{% for i in l %}{% for j in l %}{{ loop.depth0 }}{{ i * j }} {% endfor %}{% endfor %}{% for i in range(9) %}{% if i == 2 %}{% continue %}{% elif i == 5 %}{% break %}{% endif %}{{ i }}{% endfor %}
{% set a = 1 %}{% for i in l %}{% set a = a + i %}{{ a }}{% endfor %}{{ a }}{% if t %}{% set a = 9 %}{% endif %}{{ a }}{% set b, c = 1, "z" %}{{ b }}{{ c }}{% set ns = namespace(v=0, w=[]) %}{% for i in l %}{% set ns.v = ns.v + i %}{% endfor %}{{ ns.v }}{{ ns.q is defined }}{% set ns.q = 1 %}{{ ns["q"] }}
{% set a %}x{{ x }}{% endset %}{{ a }}{% set b | upper | replace("A", "-") %}abc{% endset %}{{ b }}{% filter upper %}q{{ s }}{% endfilter %}{% with a = 5, b = a %}{{ a }}{{ b }}{% endwith %}{{ a }}
{% macro f(a, b=2, c=a) %}{{ a }}{{ b }}{{ c }}|{% endmacro %}{{ f(1) }}{{ f(1, c=3) }}{{ f(b=5, a=6) }}{{ f() }}{% macro g() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ g(1, 2, k=3) }}{% macro h(x) %}<{{ caller(x) }}>{% endmacro %}{% call(y) h(4) %}{{ y }}{{ x }}{% endcall %}
{% macro f(n) %}{{ n }}{% if n %}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(9) }}{% set late = 5 %}{% macro k() %}{{ late }}{% endmacro %}{% set late = 6 %}{{ k() }}
{% raw %}{{ x }} {% if %}{% endraw %}{# comment {{ x }} #}a{#- b -#} c
   {% if t %}
  one
   {%- endif %}
 two {%+ if t %} three{% endif +%}
four
{{ x -}}   a   {{- x }} {{ "}}" }} {{ {"a": {"b": 1}}.a.b }} {{ '%}' }} {{ "a" "b" 'c' }} {{ 1_000 }} {{ 0x1F }} {{ 1e3 }} {{ 1.5e-3 }} {{ "\\u00e9\\x41\\101\\t|\\q" }}
{{ "<"|safe + "<" }} {{ ("<"|safe|trim) + "&" ~ "<" }} {{ ("<b>"|safe)[1:] + ">" }} {{ "<"|e|e }} {{ n|selectattr("x")|list }} {{ n|map("upper")|list }}
{{ l|map(attribute="x")|list }} {{ [nothing]|list|length }} {{ dict(a=1, b=2) }} {{ dict({"c": 3}, d=4) }} {{ f(*[1]) if false }} {% set p = l|map("abs") %}{{ p|list }}{{ p|list }}
{{ strftime_now("%Y-%m-%d %H") }} {{ (l|first, l|last) }} {{ [1, [2, [3]]] }} {{ loop is defined }} {{ "%s" }}
{{ raise_exception("no " ~ x) }}
{{ l.append(4) }}
{{ d.update({}) }}
{{ s.nothing }}|{{ x.nothing }}|{{ n.a }}|{{ d.nothing }}
{{ n.a.b }}
{{ 1 + "a" }}
{{ "a" + 1 }}
{{ n + 1 }}
{{ 1 / 0 }}
{{ 1 < "a" }}
{{ x() }}
{{ nothing() }}
{{ n[1:] }}
{{ x|length }}
{{ x|nothing }}
{{ x is nothing }}
{{ l|join(1, 2, 3) }}
{{ f(1, 2) }}
{% macro f(a) %}{% endmacro %}{{ f(1, 2) }}
{% macro f(a) %}{% endmacro %}{{ f(b=2) }}
{% for a, b in [[1, 2, 3]] %}{% endfor %}
{% for i in 5 %}{% endfor %}
{% set x.y = 1 %}
{% set n = 1 %}{% set n.y = 1 %}
{% if %}{% endif %}
{% if x %}
{% endif %}
{% for x in %}{% endfor %}
{{ x
{{ (x }}
{{ x } }}
{{ 'a }}
{{ x ! }}
{# open
{% raw %}x
{% nothing %}
{% include "x" %}
{% macro f(a=1, b) %}{% endmacro %}
{{ f(a=1, 2) }}
{{ "abc".split("") }}
{{ [1]|tojson|tojson }} {{ nothing|tojson if false }}
{{ nothing|tojson }}
{{ "abc"|int(base=1) if false }}{% set ns = namespace() %}{% set ns.a = ns %}{{ ns.a.a.a is defined }}
{% generation %}a{% set x = 9 %}{% endgeneration %}{{ x }}
{{ "x".join(l) }}
{{ range(200000) }}
{{ "a".center(5, "ab") }}
{{ s.encode() if false }}{{ "abc"[1] }}{{ "abc"["1"] }}|{{ l["a"] }}|{{ d[1] }}|
{% set a = [1,2,3] %}{% set a, b = a[:2] %}{{ a }}{{ b }}{% set (c, e) = (1, 2) %}{{ c }}{{ e }}
"""


def features():
    e = environment()
    rows = []
    lines = FEATURES.strip("\n").split("\n")
    block = lines.index("   {% if t %}")  # one that has several lines
    texts = lines[:block] + ["\n".join(lines[block:block + 5])] + lines[block + 5:]
    for source in texts:
        source = source.replace("\\\\", "\\")
        try:
            text = e.from_string(source).render(**V)
        except Exception:
            text = None
        rows.append(json.dumps([source, text], ensure_ascii=False))
    return [json.dumps(V, ensure_ascii=False)] + rows


def main():
    e = environment()
    cases = chats()
    (FOLDER / "chats.jsonl").write_text("".join(json.dumps(c, ensure_ascii=False) + "\n" for c in cases))
    (FOLDER / "features.jsonl").write_text("\n".join(features()) + "\n")
    for path in sorted(FOLDER.glob("*.jinja")):
        template = e.from_string(path.read_text())
        rows = []
        for case in cases:
            try:
                rows.append(json.dumps(template.render(**{"tools": None, "documents": None, "add_generation_prompt": False, "bos_token": "<s>", "eos_token": "</s>", **case}), ensure_ascii=False))
            except Exception:
                rows.append("!")
        path.with_suffix(".txt").write_text("\n".join(rows) + "\n")
    print(f"written with jinja2 {jinja2.__version__}")


main()
