"""load_serve.py: many clients of one server at once: load_serve.py build/tokamax_serve MODEL [--seconds 60] [--clients 200] [-- options]

Each of some requests is answered alone first. Then all clients send them at random, a fifth as streams that they leave, a fifth as whole
streams, and malformed ones between them. Every whole answer must have the bits of the one given alone, log-probabilities included.
Memory, descriptors, blocks and the counts of /metrics are compared at the end, and /health is asked throughout by a process of its own.
Then SIGTERM: whatever has begun must end whole. Runs of a minute or more are also held to memory that grows by less than 1 % behind the
first minute, and to a p99 of /health below 100 ms. Packages are not needed.
"""

import argparse
import asyncio
import http.client
import json
import multiprocessing
import os
import random
import re
import signal
import subprocess
import sys
import time

from malformed_requests import fault, http as request_bytes, rows

SCHEMAS = [
    {"type": "object", "properties": {"name": {"type": "string", "maxLength": 6}, "n": {"type": "integer", "minimum": -5, "maximum": 50}},
     "required": ["name", "n"]},
    {"type": "array", "items": {"enum": ["a", True, {"b": 1}]}, "minItems": 1, "maxItems": 4},
    {"anyOf": [{"type": "null"}, {"type": "boolean"}, {"type": "number"}]},
]
WORDS = "the name of a thing is true and other ones too were null in their day when time had gone by 12 or 7 years ago".split()


class Wrong(Exception):
    pass


class Client:
    """A connection that is kept, and opened again where the server or the client has closed it."""

    def __init__(self, port):
        self.port, self.writer = port, None

    async def send(self, bytes):
        if self.writer is None:
            self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
        self.writer.write(bytes)
        try:
            await self.writer.drain()
        except ConnectionError:
            pass  # the server has answered before it has read all

    def close(self):
        if self.writer:
            self.writer.transport.abort()
        self.writer = None

    async def head(self):
        """The status and the fields of an answer; None where there is none."""
        try:
            text = await self.reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError) as e:
            self.close()
            if getattr(e, "partial", b""):
                raise Wrong("half a head") from e
            return None
        lines = text.decode().lower().split("\r\n")
        return int(lines[0].split()[1]), dict(l.split(": ", 1) for l in lines[1:] if l)

    async def body(self, fields):
        body = await self.reader.readexactly(int(fields["content-length"]))
        if fields["connection"] == "close":
            self.close()
        return body

    async def events(self, fields):
        """The bytes of a stream, part by part."""
        while size := int(await self.reader.readuntil(b"\r\n"), 16):
            yield (await self.reader.readexactly(size + 2))[:-2]
        await self.reader.readexactly(2)
        if fields["connection"] == "close":
            self.close()

    async def ask(self, bytes):
        await self.send(bytes)
        head = await self.head()
        return head and (head[0], await self.body(head[1]))


def is_chat(asked):
    return "messages" in asked


def bytes_of(asked, **more):
    return request_bytes("/v1/chat/completions" if is_chat(asked) else "/v1/completions", {**asked, **more})


def said(choices, whole):
    """Text, log-probabilities and the reason of the end, of a whole answer or of all events of one."""
    text, logprobs, finish = "", [], None
    for c in choices:
        inner = c.get("message" if whole else "delta", {})
        text += c.get("text") or inner.get("content") or ""
        l = c.get("logprobs") or {}
        logprobs += l.get("content") or list(zip(l.get("tokens", []), l.get("token_logprobs", []), l.get("top_logprobs", [])))
        finish = c["finish_reason"] or finish
    return text, json.dumps(logprobs), finish


def requests(ids, count, longest, most, seed):
    """Bodies of chats and completions; the prompts have 1 to `longest` tokens, of which half are the beginnings of one text."""
    draw = random.Random(seed)
    all = []
    for i in range(count):
        n = draw.randint(1, longest)
        start = 0 if i % 2 else draw.randint(0, len(ids) - longest)
        asked = {"max_tokens": draw.randint(1, most), "temperature": draw.choice([0, 0.7, 1, 2]), "seed": i}
        if i % 3:
            asked["prompt"] = ids[start : start + n]
        else:
            asked["messages"] = [{"role": "user", "content": " ".join(draw.choices(WORDS, k=1 + n // 8))}]
        if i % 4 == 1:
            asked |= {"logprobs": True, "top_logprobs": 3} if is_chat(asked) else {"logprobs": 3}
        if i % 5 == 2:
            asked["guided_json"] = SCHEMAS[i // 5 % len(SCHEMAS)]
        if i % 7 == 3:
            asked |= {"top_k": 20, "top_p": 0.9, "repetition_penalty": 1.2, "presence_penalty": 0.5}
        if i % 11 == 4:
            asked["stop"] = ["e", "the"]
        if i % 13 == 5:
            asked |= {"ignore_eos": True, "min_tokens": asked["max_tokens"]}
        all.append(asked)
    return all


class Load:
    def __init__(self, port, pool, seed):
        self.port, self.pool, self.seed = port, pool, seed
        self.malformed = [r for r in rows() if not r.what.startswith("HTTP") and len(r.bytes) < 200_000]
        self.counts = dict.fromkeys(["whole", "streams", "cut", "malformed", "refused", "closed"], 0)
        self.prompt_tokens = self.accepted = 0
        self.faults = []

    async def check(self, i, found, how):
        if found != self.pool[i][1]:
            self.faults.append(f"{how} of {json.dumps(self.pool[i][0])[:300]}: found {found}, expected {self.pool[i][1]}")

    def begun(self, i):
        self.accepted += 1
        self.prompt_tokens += self.pool[i][2]

    async def whole(self, c, i, ending):
        answer = await c.ask(bytes_of(self.pool[i][0]))
        if ending.is_set() and (answer is None or answer[0] == 503):
            self.counts["closed" if answer is None else "refused"] += 1
            return
        if answer is None or answer[0] != 200:
            raise Wrong(f"an answer: {answer}")
        self.begun(i)
        self.counts["whole"] += 1
        await self.check(i, said(json.loads(answer[1])["choices"], True), "an answer")

    async def stream(self, c, i, ending, most=None):
        await c.send(bytes_of(self.pool[i][0], stream=True))
        head = await c.head()
        if ending.is_set() and (head is None or head[0] == 503):
            self.counts["closed" if head is None else "refused"] += 1
            return c.close()
        if head is None or head[0] != 200:
            raise Wrong(f"a stream: {head}")
        self.begun(i)
        bytes = b""
        parts = 0
        async for part in c.events(head[1]):
            bytes += part
            parts += 1
            if most is not None and parts > most and b"[DONE]" not in part:
                self.counts["cut"] += 1
                return c.close()
        events = [e.removeprefix("data: ") for e in bytes.decode().split("\n\n")]
        if events[-2:] != ["[DONE]", ""]:
            raise Wrong(f"a stream ends by {events[-2:]}")
        self.counts["streams"] += 1
        await self.check(i, said([x for e in events[:-2] for x in json.loads(e)["choices"]], False), "a stream")

    async def client(self, number, until, ending):
        draw = random.Random(self.seed * 1000 + number)
        c = Client(self.port)
        try:
            while time.monotonic() < until and not ending.is_set():
                i, kind = draw.randrange(len(self.pool)), draw.random()
                if kind < 0.05:
                    row = draw.choice(self.malformed)
                    await c.send(row.bytes)
                    head = await c.head()
                    if head is None and ending.is_set():
                        break
                    body = b"" if head and row.bytes.startswith(b"HEAD") else head and await c.body(head[1])
                    if not ending.is_set() and (wrong := fault(row, head and (head[0], body))):
                        raise Wrong(wrong)
                    self.counts["malformed"] += 1
                elif kind < 0.25:
                    await self.stream(c, i, ending, most=draw.randrange(8))
                elif kind < 0.45:
                    await self.stream(c, i, ending)
                else:
                    await self.whole(c, i, ending)
        except (Wrong, OSError, asyncio.IncompleteReadError) as e:
            self.faults.append(f"client {number}: {e!r}")
        finally:
            c.close()


def watch_health(port, ends, to):
    """Asks /health twenty times a second, and says how long each answer took."""
    times = []
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    while not ends.is_set():
        begin = time.perf_counter()
        c.request("GET", "/health")
        r = c.getresponse()
        r.read()
        times.append(time.perf_counter() - begin if r.status == 200 else 1e9)
        time.sleep(0.05)
    c.close()
    to.put(times)


def resident(pid):
    with open(f"/proc/{pid}/status") as f:
        return int(re.search(r"VmRSS:\s+(\d+)", f.read())[1])


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def metrics(port):
    c = http.client.HTTPConnection("127.0.0.1", port)
    c.request("GET", "/metrics")
    found = {}
    for line in c.getresponse().read().decode().splitlines():
        if not line.startswith("#"):
            name, value = line.rsplit(" ", 1)
            labels = re.findall(r'(finished_reason|status|le)="([^"]*)"', name)
            found[name.split("{")[0] + "".join(":" + v for _, v in labels)] = float(value)
    c.close()
    return found


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("serve")
    parser.add_argument("model")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--requests", type=int, default=200, help="different ones")
    parser.add_argument("--prompt", type=int, default=400, help="the most tokens of a prompt")
    parser.add_argument("--answer", type=int, default=64, help="the most tokens of an answer")
    parser.add_argument("--seed", type=int, default=1)
    given, _, options = (" ".join(sys.argv[1:]) + " ").partition(" -- ")  # those behind -- are the server's
    o = parser.parse_args(given.split())

    server = subprocess.Popen([o.serve, o.model, "--port", "0", *options.split()], stdout=subprocess.PIPE, text=True)
    faults = []
    try:
        port = int(server.stdout.readline().rsplit(":", 1)[1])
        first = Client(port)
        long = " ".join(random.Random(0).choices(WORDS, k=4 * o.prompt))
        ids = json.loads((await first.ask(request_bytes("/tokenize", {"prompt": long})))[1])["tokens"]
        pool = []
        begin = time.monotonic()
        for asked in requests(ids, o.requests, o.prompt, o.answer, o.seed):
            answer = await first.ask(bytes_of(asked))
            if answer[0] != 200:
                raise SystemExit(f"load_serve: {asked}: {answer}")
            body = json.loads(answer[1])
            pool.append((asked, said(body["choices"], True), body["usage"]["prompt_tokens"]))
        first.close()
        print(f"{len(pool)} requests alone: {time.monotonic() - begin:.1f} s", flush=True)
        before = metrics(port)
        await asyncio.sleep(0.5)
        open_before = descriptors(server.pid)

        # The load.
        load, ending = Load(port, pool, o.seed), asyncio.Event()
        health_ends, health = multiprocessing.Event(), multiprocessing.Queue()
        watcher = multiprocessing.Process(target=watch_health, args=(port, health_ends, health))
        watcher.start()
        begin = time.monotonic()
        tasks = [asyncio.create_task(load.client(n, begin + o.seconds, ending)) for n in range(o.clients)]
        memory = []
        while time.monotonic() < begin + o.seconds and not all(t.done() for t in tasks):
            await asyncio.sleep(1)
            memory.append((time.monotonic() - begin, resident(server.pid)))
        await asyncio.gather(*tasks)
        took = time.monotonic() - begin
        health_ends.set()
        times = sorted(health.get())
        watcher.join()
        await asyncio.sleep(1)
        warm = min(60, o.seconds / 2)
        early = max((m for t, m in memory if t <= warm), default=1)
        late = max((m for t, m in memory if t > warm), default=0)
        n = load.counts
        print(f"{sum(n.values())} requests in {took:.0f} s: {n}")
        print(f"memory {early} KiB in the first {warm:.0f} s, {late} KiB later ({late / early - 1:+.2%}); on the way {[m for _, m in memory[::15]]}")
        print(f"/health: {len(times)} answers, median {times[len(times) // 2] * 1e3:.1f} ms, p99 {times[len(times) * 99 // 100] * 1e3:.1f} ms, most {times[-1] * 1e3:.1f} ms")
        after = metrics(port)
        more = {k: v - before.get(k, 0) for k, v in after.items()}
        print(f"preemptions {more['vllm:num_preemptions_total']:.0f}, hits {more['vllm:prefix_cache_hits_total']:.0f} of {more['vllm:prefix_cache_queries_total']:.0f} tokens, "
              f"{more['vllm:generation_tokens_total'] / took:.0f} tokens of answers a second")

        def equal(what, found, expected):
            if found != expected:
                faults.append(f"{what}: found {found}, expected {expected}")

        ends = {r: more[f"vllm:request_success_total:{r}"] for r in ("stop", "length", "abort", "error")}
        print(f"ends: {ends}")
        equal("requests that run", after["vllm:num_requests_running"] + after["vllm:num_requests_waiting"], 0)
        equal("the part of the cache in use", after["vllm:kv_cache_usage_perc"], 0)
        equal("the ends of requests", sum(ends.values()), load.accepted)
        equal("ends by error", ends["error"] + more["tokamax:failed_steps_total"], 0)
        if ends["abort"] > n["cut"]:
            faults.append(f"{ends['abort']} ends by abort, but {n['cut']} clients have left")
        equal("prompts in their histogram", more["vllm:request_prompt_tokens_count"], load.accepted)
        equal("tokens in it", more["vllm:request_prompt_tokens_sum"], load.prompt_tokens)
        equal("tokens of answers", more["vllm:generation_tokens_total"], more["vllm:request_generation_tokens_sum"])
        for h in ("time_to_first_token_seconds", "e2e_request_latency_seconds", "request_prompt_tokens", "request_generation_tokens"):
            equal(f"the last bucket of {h}", after[f"vllm:{h}_bucket:+Inf"], after[f"vllm:{h}_count"])
        # Those who leave before the end are told of it, too: 503.
        refused = sum(v for k, v in more.items() if k.startswith("tokamax:http_errors_total"))
        equal("answers that are errors", refused, n["malformed"] + ends["abort"])
        for _ in range(50):  # the server sees the end of a connection a moment later
            if descriptors(server.pid) != open_before:
                await asyncio.sleep(0.1)
        equal("descriptors", descriptors(server.pid), open_before)
        if o.seconds >= 60 and late > early + early // 100:
            faults.append("memory grows")
        if o.seconds >= 60 and times[len(times) * 99 // 100] > 0.1:
            faults.append("/health is slow")

        # The end in the midst of it.
        task = [asyncio.create_task(load.client(1000 + n, time.monotonic() + 120, ending)) for n in range(o.clients)]
        await asyncio.sleep(3)
        served = sum(load.counts.values())
        ending.set()
        server.send_signal(signal.SIGTERM)
        begin = time.monotonic()
        await asyncio.gather(*task)
        try:
            code = await asyncio.to_thread(server.wait, 120)
            equal("the code of the server", code, 0)
        except subprocess.TimeoutExpired:
            faults.append("the server does not end")
        print(f"SIGTERM: {sum(load.counts.values()) - served} requests ended in {time.monotonic() - begin:.1f} s, of {o.clients} clients")
        faults += load.faults
    finally:
        server.kill()
    for f in faults[:40]:
        print(f"fault: {f}"[:1500])
    print(f"load_serve: {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
