"""malformed_requests.py: requests that a server of language models refuses: malformed_requests.py build/tokamax_serve MODEL

Each is answered with a status of 400 to 499 and, where a field is wrong, with the path of that field; then a right request still has its
answer. Packages are not needed.
"""

import json
import socket
import subprocess
import sys
import threading
from collections import namedtuple

# One request: its bytes, the statuses that it may have, and the field that the error names (None: none; ANY: some field).
Malformed = namedtuple("Malformed", "what bytes statuses param")
ANY = object()

CHAT = {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 4, "temperature": 0}
TEXT = {"prompt": "Hello", "max_tokens": 4, "temperature": 0}
PATHS = {"chat": ("/v1/chat/completions", CHAT), "text": ("/v1/completions", TEXT)}


def http(path, body, method="POST", more=""):
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = f"{method} {path} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n{more}Content-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


# Values that are wrong for a field of each type.
WRONG = {
    "number": ["1", [1], {"a": 1}, True],
    "integer": ["1", [1], {"a": 1}, True, 1.5, 2**63, -(2**63) + 1, 1e300],
    "boolean": ["true", 1, [], {}],
    "text": [1, [], {"a": 1}, True],
    "texts": [1, {"a": 1}, True, [1], [["a"]], ["a", None]],
    "ids": ["1", 1, {"a": 1}, True, ["a"], [-1], [2**31], [1.5], [[1]]],
    "record": ["a", 1, [1], True],
}
FIELDS = {
    "temperature": "number", "top_p": "number", "min_p": "number", "presence_penalty": "number", "frequency_penalty": "number",
    "repetition_penalty": "number", "n": "integer", "top_k": "integer", "max_tokens": "integer", "min_tokens": "integer",
    "priority": "integer", "stream": "boolean", "ignore_eos": "boolean", "skip_special_tokens": "boolean",
    "include_stop_str_in_output": "boolean", "model": "text", "cache_salt": "text", "stop": "texts", "bad_words": "texts",
    "stop_token_ids": "ids", "allowed_token_ids": "ids", "logit_bias": "record", "response_format": "record",
    "structured_outputs": "record",
}
# Values out of range, and those that fit no other field: of both endpoints.
RANGES = [("temperature", -0.1), ("temperature", -1e308), ("top_p", 0), ("top_p", 1.1), ("top_p", -1), ("min_p", -0.5), ("min_p", 2),
          ("presence_penalty", 3), ("presence_penalty", -3), ("frequency_penalty", 2.5), ("frequency_penalty", -2.5),
          ("repetition_penalty", 0), ("repetition_penalty", -1), ("n", 0), ("n", -1), ("n", 129), ("top_k", -2), ("max_tokens", 0),
          ("max_tokens", -5), ("max_tokens", 10**9), ("min_tokens", -1), ("logit_bias", {"a": 1}), ("logit_bias", {"1": "b"}),
          ("logit_bias", {"-1": 1}), ("allowed_token_ids", [2**31 - 1]), ("stop_token_ids", [-7]),
          ("stop", ["a"] * 65), ("guided_json", 1), ("guided_choice", []), ("guided_choice", [1]), ("guided_regex", 1),
          ("guided_regex", "(a"), ("guided_regex", "[z-a]"), ("guided_regex", "a{3,1}"), ("guided_regex", "(?=a)b"),
          ("guided_grammar", "root ="), ("guided_grammar", "root ::= other"), ("guided_grammar", 5), ("guided_json", "{"),
          ("guided_json", {"type": "strange"}), ("guided_json", {"not": {}}), ("guided_json", {"multipleOf": 3, "type": "integer"}),
          ("guided_json", {"$ref": "#/nowhere"}), ("guided_json", {"$ref": "http://a/b"}), ("guided_json", {"type": "object", "required": 1}),
          ("temprature", 1), ("max_token", 1), ("stream_options", {"include_usage": True})]


def rows():
    """All of them, each whole: a server answers at once."""
    all = []

    def put(what, bytes, param, statuses=(400,)):
        all.append(Malformed(what, bytes, statuses, param))

    for kind, (path, good) in PATHS.items():
        for field, type in FIELDS.items():
            for value in WRONG[type]:
                put(f"{kind}: {field} {value!r}", http(path, {**good, field: value}), field)
        for field, value in RANGES:
            put(f"{kind}: {field} {str(value)[:40]!r}", http(path, {**good, field: value}), field)
        for what, body in {
            "nothing": b"", "no JSON": b"hello", "half a record": b'{"a": ', "a comma": b'{"max_tokens": 1,}', "two records": b"{} {}",
            "a name twice": b'{"n": 1, "n": 2}', "NaN": b'{"temperature": NaN}', "Infinity": b'{"temperature": Infinity}',
            "single quotes": b"{'n': 1}", "a large number": b'{"temperature": 1e999}', "no UTF-8": b'{"model": "\xff\xfe"}',
            "half a character": b'{"model": "\xe2\x82"}', "an overlong character": b'{"model": "\xc0\xaf"}',
            "half a pair": b'{"model": "\\ud800"}', "a control character": b'{"model": "a\nb"}', "a zero byte": b'{"model": "a"}\0',
            "deep lists": b'{"stop": ' + b"[" * 5000 + b"]" * 5000 + b"}", "deep records": b'{"a":' * 5000 + b"1" + b"}" * 5000,
            "open lists": b"[" * 100000, "many values": b'{"stop": [' + b"1," * (2**20) + b"1]}",
        }.items():
            put(f"{kind}: {what}", http(path, body), None)
        for what, body in {"a list": b"[]", "a text": b'"a"', "a number": b"1", "null": b"null"}.items():
            put(f"{kind}: {what} for a record", http(path, body), None)
        put(f"{kind}: 10 MB", http(path, {**good, "model": "a" * 10**7}), None, (413,))
        put(f"{kind}: a field without a name", http(path, {**good, "": 1}), None)
        put(f"{kind}: no fields", http(path, {}), "messages" if kind == "chat" else "prompt")
        put(f"{kind}: another model", http(path, {**good, "model": "other"}), "model", (404,))
        for method in ("GET", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "STRANGE"):
            put(f"{kind}: {method}", http(path, b"", method), None, (405,) if method != "STRANGE" else (400, 405))
        put(f"{kind}: another path", http(path + "/x", good), None, (404,))

    messages = lambda *all: {**CHAT, "messages": list(all)}
    user = {"role": "user", "content": "a"}
    for what, body, param in [
        ("a text", {**CHAT, "messages": "a"}, "messages"), ("a record", {**CHAT, "messages": {}}, "messages"),
        ("none", messages(), "messages"), ("a number", messages(1), "messages[0]"), ("null", messages(user, None), "messages[1]"),
        ("no role", messages({"content": "a"}), "messages[0].role"), ("a role", messages({"role": "king", "content": "a"}), "messages[0].role"),
        ("a role of numbers", messages({"role": 1, "content": "a"}), "messages[0].role"),
        ("no content", messages({"role": "user"}), "messages[0].content"), ("content", messages(user, {"role": "user", "content": 1}), "messages[1].content"),
        ("an image", messages({"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}), "messages[0].content[0].type"),
        ("a part", messages({"role": "user", "content": ["a"]}), "messages[0].content[0]"),
        ("a part without a text", messages({"role": "user", "content": [{"type": "text"}]}), "messages[0].content[0].text"),
        ("a field", messages({**user, "colour": 1}), "messages[0].colour"),
        ("calls of a user", messages({**user, "tool_calls": []}), "messages[0].tool_calls"),
        ("calls", messages({"role": "assistant", "content": "", "tool_calls": 1}), "messages[0].tool_calls"),
        ("a call", messages({"role": "assistant", "content": "", "tool_calls": [{}]}), "messages[0].tool_calls[0].function"),
        ("arguments", messages({"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "a", "arguments": "{"}}]}),
         "messages[0].tool_calls[0].function.arguments"),
        ("top_logprobs alone", {**CHAT, "top_logprobs": 2}, "top_logprobs"), ("logprobs", {**CHAT, "logprobs": 3}, "logprobs"),
        ("top_logprobs", {**CHAT, "logprobs": True, "top_logprobs": 21}, "top_logprobs"),
        ("tools", {**CHAT, "tools": {}}, "tools"), ("no tools", {**CHAT, "tools": []}, "tools"), ("a tool", {**CHAT, "tools": [1]}, "tools[0]"),
        ("the type of a tool", {**CHAT, "tools": [{"type": "x"}]}, "tools[0].type"),
        ("a tool without a function", {**CHAT, "tools": [{"type": "function"}]}, "tools[0].function"),
        ("a tool without a name", {**CHAT, "tools": [{"type": "function", "function": {}}]}, "tools[0].function.name"),
        ("parameters", {**CHAT, "tools": [{"type": "function", "function": {"name": "a", "parameters": 1}}]}, "tools[0].function.parameters"),
        ("tool_choice", {**CHAT, "tool_choice": "some"}, "tool_choice"), ("required", {**CHAT, "tool_choice": "required"}, "tool_choice"),
        ("another tool", {**CHAT, "tools": [{"type": "function", "function": {"name": "a"}}],
                          "tool_choice": {"type": "function", "function": {"name": "b"}}}, "tool_choice.function.name"),
        ("chat_template_kwargs", {**CHAT, "chat_template_kwargs": 1}, "chat_template_kwargs"),
        ("a format", {**CHAT, "response_format": {"type": "xml"}}, "response_format.type"),
        ("a format without a schema", {**CHAT, "response_format": {"type": "json_schema"}}, "response_format.json_schema"),
        ("no schema", {**CHAT, "response_format": {"type": "json_schema", "json_schema": {"name": "a"}}}, "response_format.json_schema.schema"),
        ("a schema", {**CHAT, "response_format": {"type": "json_schema", "json_schema": {"schema": 1}}}, "response_format.json_schema.schema"),
        ("a field of outputs", {**CHAT, "structured_outputs": {"xml": 1}}, "structured_outputs.xml"),
        ("two structures", {**CHAT, "guided_regex": "a", "guided_choice": ["a"]}, ANY),
        ("options of a stream", {**CHAT, "stream": True, "stream_options": 1}, "stream_options"),
        ("an option of a stream", {**CHAT, "stream": True, "stream_options": {"a": 1}}, "stream_options.a"),
    ]:
        put(f"chat: {what}", http("/v1/chat/completions", body), param)
    for what, body, param in [
        ("a number", {**TEXT, "prompt": 1}, "prompt"), ("a record", {**TEXT, "prompt": {}}, "prompt"), ("none", {**TEXT, "prompt": []}, "prompt"),
        ("null", {**TEXT, "prompt": None}, "prompt"), ("nested", {**TEXT, "prompt": [[]]}, "prompt[0]"), ("mixed", {**TEXT, "prompt": ["a", 1]}, "prompt[1]"),
        ("ids and a text", {**TEXT, "prompt": [1, "a"]}, "prompt[1]"), ("an id", {**TEXT, "prompt": [-1]}, "prompt[0]"),
        ("a large id", {**TEXT, "prompt": [2**31 - 1]}, "prompt"), ("a fraction", {**TEXT, "prompt": [1.5]}, "prompt[0]"),
        ("a long prompt", {**TEXT, "prompt": "a b " * 100000}, "prompt"), ("many prompts", {**TEXT, "prompt": ["a"] * 2049}, "prompt"),
        ("logprobs", {**TEXT, "logprobs": 21}, "logprobs"), ("echo", {**TEXT, "echo": 1}, "echo"), ("best_of", {**TEXT, "best_of": 2}, "best_of"),
        ("suffix", {**TEXT, "suffix": "a"}, "suffix"),
    ]:
        put(f"text: {what}", http("/v1/completions", body), param)
    for path, body, param in [
        ("/v1/embeddings", {"input": "a"}, "model"), ("/v1/embeddings", {"input": 1}, "input"), ("/v1/embeddings", {}, "input"),
        ("/v1/embeddings", {"input": "a", "encoding_format": "x"}, "encoding_format"), ("/v1/embeddings", {"input": "a", "dimensions": 0}, "dimensions"),
        ("/tokenize", {}, "prompt"), ("/tokenize", {"prompt": 1}, "prompt"), ("/tokenize", {"prompt": "a", "x": 1}, "x"),
        ("/tokenize", {"messages": 1}, "messages"), ("/detokenize", {}, "tokens"), ("/detokenize", {"tokens": "a"}, "tokens"),
        ("/detokenize", {"tokens": [-1]}, "tokens[0]"), ("/detokenize", {"tokens": [1], "model": 3}, "model"),
    ]:
        put(f"{path} {body}", http(path, body), param)
    put("another model's name", http("/v1/models/other", b"", "GET"), "model", (404,))

    # What is no request of HTTP.
    for what, bytes in {
        "a word": b"hello\r\n\r\n", "no version": b"GET /health\r\n\r\n", "a version": b"GET /health HTTP/9.9\r\n\r\n",
        "zero bytes": b"\0" * 64 + b"\r\n\r\n", "a hello of TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 64 + b"\r\n\r\n",
        "a size of letters": b"POST /tokenize HTTP/1.1\r\nContent-Length: abc\r\n\r\n",
        "a size below 0": b"POST /tokenize HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        "two sizes": b"POST /tokenize HTTP/1.1\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{} ",
        "a name with a space": b"GET /health HTTP/1.1\r\nHo st: a\r\n\r\n", "a line without a colon": b"GET /health HTTP/1.1\r\nHost\r\n\r\n",
        "a chunk": b"POST /tokenize HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
        "a large chunk": b"POST /tokenize HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n{}\r\n",
    }.items():
        put(f"HTTP: {what}", bytes, None, (400, 413))
    put("HTTP: a size of 2^60", b"POST /tokenize HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % 2**60, None, (413,))
    put("HTTP: a large header", b"GET /health HTTP/1.1\r\nA: " + b"a" * 100000 + b"\r\n\r\n", None, (431,))
    put("HTTP: many headers", b"GET /health HTTP/1.1\r\n" + b"A: b\r\n" * 20000 + b"\r\n", None, (431,))
    put("HTTP: a long path", b"GET /" + b"a" * 100000 + b" HTTP/1.1\r\n\r\n", None, (414, 431))
    return all


def read_answer(s, head_only=False):
    """Status and body of an answer, or None where the server has closed the connection instead."""
    got = b""
    while b"\r\n\r\n" not in got:
        more = s.recv(65536)
        if not more:
            return None
        got += more
    head, body = got.split(b"\r\n\r\n", 1)
    size = next((int(l.split(b":")[1]) for l in head.lower().split(b"\r\n") if l.startswith(b"content-length")), 0)
    while len(body) < size and not head_only:
        body += s.recv(65536)
    return int(head.split()[1]), body


def ask(port, bytes, half=False):
    with socket.create_connection(("127.0.0.1", port), timeout=60) as s:
        try:
            s.sendall(bytes)
            if half:
                s.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # the server has answered before it has read all
        return read_answer(s, bytes.startswith(b"HEAD"))


def fault(row, answer):
    """What is wrong with the answer to a row, or None."""
    if answer is None or answer[0] not in row.statuses:
        return f"{row.what}: found {answer}, expected status {row.statuses}"
    if row.bytes.startswith(b"HEAD"):
        return None
    error = json.loads(answer[1])["error"]
    if set(error) != {"message", "type", "param", "code"} or not error["message"]:
        return f"{row.what}: found the fields {error}"
    path = error["param"]  # of the field, or of what is wrong in it
    if path is None if row.param is ANY or row.param and (path or "").startswith((row.param + "[", row.param + ".")) else path != row.param:
        return f"{row.what}: found the field {error}, expected {row.param}"


def main():
    server = subprocess.Popen([*sys.argv[1:3], "--port", "0", *sys.argv[3:]], stdout=subprocess.PIPE, text=True)
    try:
        port = int(server.stdout.readline().rsplit(":", 1)[1])
        faults, done = [], 0
        good = http("/v1/completions", TEXT)
        text_of = lambda answer: json.loads(answer[1])["choices"] if answer and answer[0] == 200 else answer
        right = text_of(ask(port, good))
        late = []  # those who send slowly are told so after 30 seconds

        def slow(bytes):
            with socket.create_connection(("127.0.0.1", port), timeout=90) as s:
                s.sendall(bytes)
                late.append(read_answer(s))

        threads = [threading.Thread(target=slow, args=(good[:n],)) for n in (1, 10, 30, 80, len(good) - 1)]
        for t in threads:
            t.start()
        for row in rows():
            faults.append(fault(row, ask(port, row.bytes)))
            next = text_of(ask(port, good))
            if next != right:
                faults.append(f"after {row.what}: found {next}, expected {right}")
            done += 1
        for n in (1, 17, 40, 60, len(good) - 1):  # half a request, and no more
            answer = ask(port, good[:n], half=True)
            if answer is not None and answer[0] // 100 != 4:
                faults.append(f"half a request: found {answer}")
            done += 1
        for t in threads:
            t.join()
        faults += [f"slow: found {a}, expected 408" for a in late if a is None or a[0] != 408]
        done += len(late)
        if text_of(ask(port, good)) != right or server.poll() is not None:
            faults.append("the last answer differs")
    finally:
        server.terminate()
    faults = [f for f in faults if f]
    for f in faults:
        print(f)
    print(f"malformed_requests: {done} requests, {len(faults)} faults")
    sys.exit(bool(faults) or server.wait(60))


if __name__ == "__main__":
    main()
