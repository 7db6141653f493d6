"""check_openai.py: serves a model and talks to it by the client of OpenAI: check_openai.py build/tokamax_serve MODEL

It needs the packages openai, jsonschema and prometheus_client. The model may be one of random weights: what is checked are forms, counts
and that equal requests have equal answers.
"""

import asyncio
import json
import math
import signal
import subprocess
import sys
import urllib.request

import jsonschema
import openai
from prometheus_client.parser import text_string_to_metric_families

key = "secret"
server = subprocess.Popen([sys.argv[1], sys.argv[2], "--port", "0", "--api-key", key, "--max-num-seqs", "16"], stdout=subprocess.PIPE, text=True)
base = server.stdout.readline().split(" at ")[1].strip()
client = openai.OpenAI(base_url=base + "/v1", api_key=key, max_retries=0)
aclient = openai.AsyncOpenAI(base_url=base + "/v1", api_key=key, max_retries=0)
done = 0


def check(what, fits):
    global done
    if not fits:
        server.kill()
        raise SystemExit(f"check_openai: {what}")
    done += 1


def refused(what, status, param, call):
    try:
        call()
    except openai.APIStatusError as e:
        body = e.response.json()["error"]
        check(f"{what}: fields", set(body) == {"message", "type", "param", "code"} and body["message"])
        check(f"{what}: found {e.status_code} {body}, expected {status} {param}", e.status_code == status and body["param"] == param)
        return e
    check(f"{what}: found no error", False)


models = client.models.list().data
check("one model", len(models) == 1 and models[0].object == "model")
name = models[0].id
check("the model by its name", client.models.retrieve(name).id == name)
refused("another model", 404, "model", lambda: client.models.retrieve("other"))
say = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello"}]
chat = dict(model=name, messages=say, max_tokens=12, temperature=0)
text = dict(model=name, prompt="Once upon a time", max_tokens=12, temperature=0)

# Whole answers
a = client.chat.completions.create(**chat)
check("the form of a chat", a.object == "chat.completion" and a.choices[0].message.role == "assistant" and a.model == name)
check("the end of a chat", a.choices[0].finish_reason in ("stop", "length"))
check("usage", a.usage.total_tokens == a.usage.prompt_tokens + a.usage.completion_tokens and a.usage.completion_tokens <= 12)
check("the same again", client.chat.completions.create(**chat).choices[0].message.content == a.choices[0].message.content)
c = client.completions.create(**text)
check("the form of a completion", c.object == "text_completion" and isinstance(c.choices[0].text, str))
check("the same again, from the cache", client.completions.create(**text).choices[0].text == c.choices[0].text)
check("two answers", [x.index for x in client.chat.completions.create(**{**chat, "n": 2, "temperature": 1}).choices] == [0, 1])
many = client.completions.create(**{**text, "prompt": ["a", "b", "c"], "n": 2})
check("answers to three prompts", [x.index for x in many.choices] == list(range(6)))
check("echo", client.completions.create(**text, echo=True).choices[0].text == text["prompt"] + c.choices[0].text)
seeded = [client.completions.create(**{**text, "temperature": 1, "seed": s}).choices[0].text for s in (1, 1, 2, 3)]
check("equal seeds", seeded[0] == seeded[1])
check("other seeds", len(set(seeded)) > 1)
alone = client.completions.create(**{**text, "prompt": "b"}).choices[0].text
check("the same beside others", many.choices[2].text == alone)
ids = json.loads(urllib.request.urlopen(urllib.request.Request(
    base + "/tokenize", json.dumps({"prompt": text["prompt"]}).encode(), {"Authorization": "Bearer " + key})).read())
check("tokens of a text", ids["count"] == len(ids["tokens"]) == c.usage.prompt_tokens)
back = json.loads(urllib.request.urlopen(urllib.request.Request(
    base + "/detokenize", json.dumps({"tokens": ids["tokens"]}).encode(), {"Authorization": "Bearer " + key})).read())
check("the text of tokens", text["prompt"] in back["prompt"])
check("a prompt of tokens", client.completions.create(**{**text, "prompt": ids["tokens"]}).choices[0].text == c.choices[0].text)
if len(c.choices[0].text) > 3:
    stop = c.choices[0].text[2]
    cut = client.completions.create(**text, stop=[stop])
    check("a stop text", cut.choices[0].text == c.choices[0].text[: c.choices[0].text.index(stop)] and cut.choices[0].finish_reason == "stop")
check("at most so many", client.completions.create(**{**text, "max_tokens": 1, "extra_body": {"ignore_eos": True}}).choices[0].finish_reason == "length")
check("parameters of vLLM", client.completions.create(**text, extra_body={"top_k": 3, "min_p": 0.1, "repetition_penalty": 1.1, "min_tokens": 2}).choices)
check("bias", client.chat.completions.create(**chat, logit_bias={"5": -100}, presence_penalty=1, frequency_penalty=1).choices)

# Log-probabilities
l = client.chat.completions.create(**chat, logprobs=True, top_logprobs=3).choices[0].logprobs.content
check("log-probabilities of a chat", len(l) >= 1 and all(len(t.top_logprobs) == 3 and t.logprob <= 0 for t in l))
check("greedy takes the likeliest", all(t.logprob >= t.top_logprobs[0].logprob - 1e-6 for t in l))
check("bytes", all(bytes(t.bytes).decode("utf-8", "replace") == t.token for t in l))
l = client.completions.create(**text, logprobs=2).choices[0].logprobs
check("log-probabilities of a completion", len(l.tokens) == len(l.token_logprobs) == len(l.top_logprobs) == len(l.text_offset))
e = client.completions.create(**text, logprobs=1, echo=True).choices[0].logprobs
check("log-probabilities of the prompt", e.token_logprobs[0] is None and len(e.tokens) == len(l.tokens) + ids["count"])
check("they are the same", all(math.isclose(x, y) for x, y in zip(e.token_logprobs[ids["count"]:], l.token_logprobs)))

# Streams
chunks = list(client.chat.completions.create(**chat, stream=True, stream_options={"include_usage": True}))
check("the role first", chunks[0].choices[0].delta.role == "assistant" and chunks[0].choices[0].delta.content == "")
check("the usage last", chunks[-1].choices == [] and chunks[-1].usage.total_tokens == a.usage.total_tokens)
check("one end with an empty delta", [x.choices[0].finish_reason for x in chunks[:-1]].count(None) == len(chunks) - 2
      and chunks[-2].choices[0].delta.content is None and chunks[-2].choices[0].finish_reason == a.choices[0].finish_reason)
check("one id", len({x.id for x in chunks}) == 1)
check("the same text", "".join(x.choices[0].delta.content or "" for x in chunks[:-1]) == a.choices[0].message.content)
check("a stream without usage", all(x.usage is None for x in client.chat.completions.create(**chat, stream=True)))
check("a completion as a stream", "".join(x.choices[0].text for x in client.completions.create(**text, stream=True)) == c.choices[0].text)
two = list(client.chat.completions.create(**{**chat, "n": 2}, stream=True))
check("two answers in a stream", all(sum(1 for x in two if x.choices[0].index == i and x.choices[0].finish_reason) == 1 for i in (0, 1)))
for x in client.chat.completions.create(**{**chat, "max_tokens": 64}, stream=True):
    break  # and leave
check("after one has left", client.completions.create(**text).choices[0].text == c.choices[0].text)


async def together():
    async def one(i):
        if i % 2:
            return "".join([x.choices[0].text async for x in await aclient.completions.create(**text, stream=True)])
        return (await aclient.completions.create(**text)).choices[0].text

    return await asyncio.gather(*[one(i) for i in range(24)])


check("24 at once are the same", set(asyncio.run(together())) == {c.choices[0].text})

# Structure
schemas = [{"type": "object", "properties": {"name": {"type": "string", "maxLength": 8}, "age": {"type": "integer", "minimum": 0, "maximum": 120}},
            "required": ["name", "age"], "additionalProperties": False},
           {"type": "array", "items": {"enum": ["a", "b", 1]}, "minItems": 1, "maxItems": 3},
           {"anyOf": [{"type": "boolean"}, {"type": "null"}]},
           {"type": "string", "pattern": "^[a-c]{2,5}$"}]
for schema in schemas:
    for seed in range(3):
        r = client.chat.completions.create(**{**chat, "max_tokens": 400, "temperature": 2, "seed": seed}, response_format={
            "type": "json_schema", "json_schema": {"name": "s", "schema": schema, "strict": True}})
        check("an answer that a grammar ends", r.choices[0].finish_reason == "stop")
        jsonschema.validate(json.loads(r.choices[0].message.content), schema)
        done += 1
r = client.chat.completions.create(**{**chat, "max_tokens": 8}, extra_body={"guided_choice": ["yes", "no"]})
check("a choice", r.choices[0].message.content in ("yes", "no"))
r = client.chat.completions.create(**{**chat, "max_tokens": 40}, extra_body={"structured_outputs": {"regex": "[0-9]{3}-[a-f]{2}"}})
check("a regular expression", len(r.choices[0].message.content) == 6 and r.choices[0].message.content[3] == "-")
r = client.chat.completions.create(**{**chat, "max_tokens": 40}, extra_body={"guided_grammar": 'root ::= "(" root ")" | "x"{1,3}'})
check("a grammar", r.choices[0].message.content.strip("()") in ("x", "xx", "xxx") or r.choices[0].finish_reason == "length")
r = client.chat.completions.create(**{**chat, "max_tokens": 30, "temperature": 2}, response_format={"type": "json_object"})
check("an object", r.choices[0].message.content.startswith("{"))
refused("a keyword", 400, "response_format.json_schema.schema", lambda: client.chat.completions.create(
    **chat, response_format={"type": "json_schema", "json_schema": {"name": "s", "schema": {"not": {}}}}))

# Tools
tools = [{"type": "function", "function": {"name": "weather", "parameters": {
    "type": "object", "properties": {"city": {"enum": ["Paris", "Rome"]}, "days": {"type": "integer", "minimum": 1, "maximum": 9}},
    "required": ["city", "days"]}}}, {"type": "function", "function": {"name": "time"}}]
for choice in ({"type": "function", "function": {"name": "weather"}}, "required"):
    r = client.chat.completions.create(**{**chat, "max_tokens": 600, "temperature": 2, "seed": 5}, tools=tools[:1], tool_choice=choice)
    check("a call that must be", r.choices[0].finish_reason == "tool_calls" and r.choices[0].message.content is None)
    for one in r.choices[0].message.tool_calls:
        check("its name", one.function.name == "weather" and one.type == "function" and one.id)
        jsonschema.validate(json.loads(one.function.arguments), tools[0]["function"]["parameters"])
    said = [x.choices[0].delta.tool_calls for x in client.chat.completions.create(
        **{**chat, "max_tokens": 600, "temperature": 2, "seed": 5}, tools=tools[:1], tool_choice=choice, stream=True) if x.choices[0].delta.tool_calls]
    check("the same as a stream", [c.function.arguments for d in said for c in d] == [c.function.arguments for c in r.choices[0].message.tool_calls])
check("tools that may be called", client.chat.completions.create(**chat, tools=tools).choices[0].finish_reason in ("stop", "length", "tool_calls"))

# Errors
refused("no such model", 404, "model", lambda: client.chat.completions.create(**{**chat, "model": "other"}))
refused("temperature", 400, "temperature", lambda: client.chat.completions.create(**{**chat, "temperature": -1}))
refused("top_p", 400, "top_p", lambda: client.chat.completions.create(**chat, top_p=0))
refused("n", 400, "n", lambda: client.chat.completions.create(**chat, n=0))
refused("no messages", 400, "messages", lambda: client.chat.completions.create(**{**chat, "messages": []}))
refused("a role", 400, "messages[0].role", lambda: client.chat.completions.create(**{**chat, "messages": [{"role": "king", "content": "a"}]}))
refused("an image", 400, "messages[0].content[0].type", lambda: client.chat.completions.create(
    **{**chat, "messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]}))
refused("a field", 400, "temprature", lambda: client.chat.completions.create(**chat, extra_body={"temprature": 1}))
refused("a long prompt", 400, "prompt", lambda: client.completions.create(**{**text, "prompt": "a b " * 100000}))
refused("a long answer", 400, "max_tokens", lambda: client.completions.create(**{**text, "max_tokens": 10**8}))
refused("embeddings", 400, "model", lambda: client.embeddings.create(model=name, input="a"))
refused("a key", 401, None, lambda: openai.OpenAI(base_url=base + "/v1", api_key="wrong").models.list())

# Beside the API
check("health", json.loads(urllib.request.urlopen(base + "/health").read())["status"] == "ok")
check("version", json.loads(urllib.request.urlopen(base + "/version").read())["version"])
metrics = {f.name: f for f in text_string_to_metric_families(urllib.request.urlopen(base + "/metrics").read().decode())}
check("tokens of answers are counted", metrics["vllm:generation_tokens"].samples[0].value > 100)
check("none runs", metrics["vllm:num_requests_running"].samples[0].value == 0)
check("histograms", metrics["vllm:time_to_first_token_seconds"].type == "histogram")
check("hits of the cache", metrics["vllm:prefix_cache_hits"].samples[0].value > 0)

# The end: what runs ends whole, and nothing begins
long = client.completions.create(**{**text, "max_tokens": 300}, stream=True, extra_body={"ignore_eos": True})
parts = [next(long)]
server.send_signal(signal.SIGTERM)
parts += list(long)
check("a stream ends whole", parts[-1].choices[0].finish_reason == "length")
check("the server ends", server.wait(60) == 0)
print(f"check_openai: {done} checks passed")
