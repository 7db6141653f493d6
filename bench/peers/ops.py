"""bench/peers/ops.py: the cases of bench/backend/cpu/ops.cpp beside PyTorch and JAX, in turns.

    python ops.py [--program build/bench/tokamax_bench_ops] [--python OTHER_PYTHON ...] [--threads 2] [--turns 5]
                  [--only REGEX] [--compile]

Ours, PyTorch and JAX are processes of their own, which run one after the other: in each turn every one computes a case
for about 0.2 seconds, and the time of a case is the least median of its turns. PyTorch and JAX may be installed for
different interpreters; `--python` names more of them. Of several ways to write a case in PyTorch (a mask, flex_attention, grouped_mm, a loop of
products; with `--compile` also torch.compile) its fastest counts. One JSON line a case and implementation; the table, with
how many times faster we are than the best peer, goes to stderr.
"""
# SPDX-License-Identifier: Apache-2.0
import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

import support

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Words(dict):
    """The words of a case: its op, its dtype, numbers, and options, which are 0 if they are not there."""

    def __init__(self, line):
        self.op, self.dtype, *rest = line.split()
        for word in rest:
            name, _, value = word.partition("=")
            self[name] = int(value) if value else 1
        self.setdefault("S", self.get("T", 0))

    def __missing__(self, name):
        return 0

    def group_sizes(self):
        """Group i has about i / (G (G + 1) / 2) of the rows."""
        m, g = self["M"], self["G"]
        sizes = [m * 2 * (i + 1) // (g * (g + 1)) for i in range(g - 1)]
        return sizes + [m - sum(sizes)]


def torch_functions(w, compiles):
    """The ways to compute a case, as functions of the same floats, and these floats."""
    import torch
    from torch.nn import functional as F

    m, d, v = w["M"], w["D"], w["V"]
    labels = (torch.arange(m) * 7919) % max(v, 1)

    def grouped_loop(x, weights):
        return torch.cat([part @ weights[i] for i, part in enumerate(x.split(w.group_sizes()))])

    offsets = torch.tensor(w.group_sizes()).cumsum(0).to(torch.int32) if w["G"] else None
    simple = dict(
        layer_norm=([(m, d), (d,), (d,)], lambda x, s, b: F.layer_norm(x, (d,), s, b)),
        rms_norm=([(m, d), (d,)], lambda x, s: F.rms_norm(x, (d,), s)),
        softmax=([(m, d)], lambda x: torch.softmax(x, -1)),
        cross_entropy=([(m, v)], lambda x: F.cross_entropy(x, labels)),
        linear_cross_entropy=([(m, d), (v, d)], lambda x, weights: F.cross_entropy(x @ weights.t(), labels)),
        gated_linear_unit=([(m, d), (d, v), (d, v)], lambda x, gate, up: F.silu(x @ gate) * (x @ up)),
    )
    if w.op in simple:
        shapes, f = simple[w.op]
        return shapes, [f] + [torch.compile(f)] * compiles
    if w.op == "ragged_dot":
        ways = [grouped_loop]
        if hasattr(F, "grouped_mm"):
            ways.append(lambda x, weights: F.grouped_mm(x, weights, offs=offsets))
        return [(m, d), (w["G"], d, v)], ways

    b, t, s, n, k, h = (w[name] for name in "BTSNKH")
    shapes = [(b, n, t, h), (b, k, s, h), (b, k, s, h)]
    attend = lambda q, key, value, **more: F.scaled_dot_product_attention(q, key, value, enable_gqa=n != k, **more)
    if w.op == "flex_attention":
        from torch.nn.attention.flex_attention import flex_attention

        flex = torch.compile(flex_attention)
        distance = 0.1 * (torch.arange(t)[:, None] - torch.arange(s)).abs()
        score = lambda x, batch, head, i, j: x - 0.1 * (i - j).abs()
        return shapes, [lambda q, key, value: attend(q, key, value, attn_mask=-distance.to(q.dtype)),
                        lambda q, key, value: flex(q, key, value, score_mod=score)]
    if w["bias"]:
        return shapes + [(1, n, t, s)], [lambda q, key, value, bias: attend(q, key, value, attn_mask=bias)]
    if w["window"]:
        distance = torch.arange(t)[:, None] - torch.arange(s)
        seen = (distance >= 0) & (distance <= w["window"])
        ways = [lambda q, key, value: attend(q, key, value, attn_mask=seen)]
        if not w["grad"]:  # flex_attention has no gradient on the CPU
            from torch.nn.attention.flex_attention import create_block_mask, flex_attention

            blocks = create_block_mask(lambda batch, head, i, j: (i >= j) & (i - j <= w["window"]), None, None, t, s,
                                       device="cpu")
            flex = torch.compile(flex_attention)
            ways.append(lambda q, key, value: flex(q, key, value, block_mask=blocks))
        return shapes, ways
    if w["lengths"]:
        lengths = s - torch.arange(b) * 7919 % (s // 2)
        seen = (torch.arange(s) < lengths[:, None])[:, None, None, :]
        return shapes, [lambda q, key, value: attend(q, key, value, attn_mask=seen)]
    return shapes, [lambda q, key, value: attend(q, key, value, is_causal=bool(w["causal"]))]


def torch_case(w, options):
    import torch

    torch.set_num_threads(options.threads)
    shapes, ways = torch_functions(w, options.compile)
    kind = dict(dtype=dict(f32=torch.float32, bf16=torch.bfloat16)[w.dtype], requires_grad=bool(w["grad"]))
    operands = [torch.randn(*s).mul_(0.5).to(kind["dtype"]).requires_grad_(kind["requires_grad"]) for s in shapes]

    def run(f):
        if not w["grad"]:
            with torch.no_grad():
                f(*operands)
            return
        for x in operands:
            x.grad = None
        y = f(*operands)
        y.backward(y.detach())

    works = []
    for f in ways:
        try:
            run(f)
            works.append(lambda f=f: run(f))
        except (RuntimeError, NotImplementedError) as e:
            print(f"torch: {w.op} {w.dtype}: one way left out: {str(e).splitlines()[0]}", file=sys.stderr)
    return works


def jax_function(w):
    import jax
    import jax.numpy as jnp

    m, d, v = w["M"], w["D"], w["V"]
    labels = (jnp.arange(m) * 7919) % max(v, 1)

    def cross_entropy(logits):
        logits = logits.astype(jnp.float32)
        return jnp.mean(jax.nn.logsumexp(logits, -1) - jnp.take_along_axis(logits, labels[:, None], -1)[:, 0])

    def norm(x, scale, offset=None):
        wide = x.astype(jnp.float32)
        if offset is not None:
            wide = wide - wide.mean(-1, keepdims=True)
        y = wide * jax.lax.rsqrt(jnp.square(wide).mean(-1, keepdims=True) + 1e-6) * scale
        return (y if offset is None else y + offset).astype(x.dtype)

    simple = dict(
        layer_norm=([(m, d), (d,), (d,)], norm),
        rms_norm=([(m, d), (d,)], norm),
        softmax=([(m, d)], jax.nn.softmax),
        cross_entropy=([(m, v)], cross_entropy),
        linear_cross_entropy=([(m, d), (d, v)], lambda x, weights: cross_entropy(x @ weights)),
        gated_linear_unit=([(m, d), (d, v), (d, v)], lambda x, gate, up: jax.nn.silu(x @ gate) * (x @ up)),
        ragged_dot=([(m, d), (w["G"], d, v)],
                    lambda x, weights: jax.lax.ragged_dot(x, weights, jnp.array(w.group_sizes(), jnp.int32))),
    )
    if w.op in simple:
        return simple[w.op]
    b, t, s, n, k, h = (w[name] for name in "BTSNKH")
    shapes = [(b, t, n, h), (b, s, k, h), (b, s, k, h)] + [(1, n, t, s)] * w["bias"]

    def attend(q, key, value, bias=None):
        if w.op == "flex_attention":
            bias = (-0.1 * jnp.abs(jnp.arange(t)[:, None] - jnp.arange(s))).astype(q.dtype)[None, None]
        lengths = s - jnp.arange(b) * 7919 % (s // 2) if w["lengths"] else None
        return jax.nn.dot_product_attention(q, key, value, bias, is_causal=bool(w["causal"]),
                                            key_value_seq_lengths=lengths,
                                            local_window_size=(w["window"], 0) if w["window"] else None)

    return shapes, attend


def jax_case(w, options):
    import jax
    import jax.numpy as jnp

    shapes, f = jax_function(w)
    keys = jax.random.split(jax.random.key(0), len(shapes))
    dtype = dict(f32=jnp.float32, bf16=jnp.bfloat16)[w.dtype]
    operands = [(0.5 * jax.random.normal(key, s)).astype(dtype) for key, s in zip(keys, shapes)]

    def both(*x):
        y, pullback = jax.vjp(f, *x)
        return y, pullback(y)

    run = jax.jit(both if w["grad"] else f)
    return [lambda: jax.block_until_ready(run(*operands))]


def serve(options):
    """Answers lines "RUNS CASE" with the median of the seconds of the fastest way, as our program does."""
    last, works = None, []
    for line in sys.stdin:
        runs, case = line.split(maxsplit=1)
        if case != last:
            works = (jax_case if options.serve == "jax" else torch_case)(Words(case), options)
            last = case
            for work in works * 2:
                work()
        medians = []
        for work in works:
            seconds = []
            for _ in range(int(runs)):
                start = time.perf_counter()
                work()
                seconds.append(time.perf_counter() - start)
            medians.append(statistics.median(seconds))
        print(min(medians, default="nan"), 0, flush=True)


class Runner:
    """A process that answers cases."""

    def __init__(self, name, command):
        self.name = name
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def seconds(self, runs, case):
        self.process.stdin.write(f"{runs} {case}\n")
        self.process.stdin.flush()
        median, self.bytes = self.process.stdout.readline().split()
        return float(median)


def runners_of(options):
    yield Runner("tokamax in turns", [options.program, "serve"])
    found = set()
    for python in [sys.executable] + options.python:
        for package in ("torch", "jax"):
            test = f"import importlib.util, sys; sys.exit(importlib.util.find_spec('{package}') is None)"
            if package not in found and subprocess.run([python, "-c", test]).returncode == 0:
                found.add(package)
                yield Runner(package, [python, __file__, "--serve", package, "--threads", str(options.threads)]
                             + ["--compile"] * options.compile)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default=str(ROOT / "build/bench/tokamax_bench_ops"))
    parser.add_argument("--python", nargs="*", default=[])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--only", default="")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--serve", choices=["torch", "jax"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    support.confine(options.threads)
    if options.serve:
        return serve(options)

    cases = subprocess.run([options.program, "list"], capture_output=True, text=True, check=True).stdout.splitlines()
    runners = list(runners_of(options))
    rows = []
    for case in (c for c in cases if re.search(options.only, c)):
        runs = [max(1, min(50, int(0.2 / max(r.seconds(1, case), 1e-6)))) for r in runners]
        best = [float("inf")] * len(runners)
        for _ in range(options.turns):
            for i, r in enumerate(runners):
                best[i] = min(best[i], r.seconds(runs[i], case))
        for r, seconds in zip(runners, best):
            print(json.dumps(dict(suite="ops", case=case, impl=r.name, unit="us", threads=options.threads,
                                  value=round(seconds * 1e6, 2))), flush=True)
        ratio = min(best[1:], default=float("nan")) / best[0]
        rows.append(ratio)
        print(f"{case:66}" + "".join(f"{r.name.split()[0]:>9} {1e3 * s:9.3f} ms" for r, s in zip(runners, best))
              + f"{ratio:8.2f} x   arena {int(runners[0].bytes) / 1e6:.2f} MB", file=sys.stderr, flush=True)
    print(f"{sum(r >= 1 for r in rows)} of {len(rows)} cases at 1.0 or more, {sum(r < 0.8 for r in rows)} below 0.8",
          file=sys.stderr)


if __name__ == "__main__":
    main()
