"""bench/peers/networks.py: training steps of a ResNet-18 of small images, and of a language model of an LSTM.

    python networks.py [--impl torch torch.compile jax] [--threads 2] [--steps 9]
    python networks.py --turns 3 [--program build/bench/tokamax_bench_networks] [--python OTHER_PYTHON ...]

The models of bench/networks.cpp, of which JAX has those of Flax. One JSON line a case and implementation: the median of `steps` steps.
With turns the program and each Python run one after the other as many times, the lines have the medians of these, and a table follows.
"""
# SPDX-License-Identifier: Apache-2.0
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import time

import support

ROOT = pathlib.Path(__file__).parents[2]
IMAGES, CLASSES = 32, 10
WORDS, WIDTH, HIDDEN, BATCH, TIME = 2000, 256, 512, 32, 64
CASES = {"resnet": ("ResNet-18 32x32 B32", IMAGES, "images/s"), "lstm": ("LSTM 512 B32 T64", BATCH * TIME, "tokens/s")}
BLOCKS = [(64 << max(s - (b == 0), 0), 64 << s, 2 if s and not b else 1) for s in range(4) for b in range(2)]


def torch_step(case, threads, compiled):
    import torch
    from torch import nn
    from torch.nn import functional

    torch.set_num_threads(threads)

    def normed(i, o, window, stride):
        return nn.Sequential(nn.Conv2d(i, o, window, stride, window // 2, bias=False), nn.BatchNorm2d(o))

    class Block(nn.Module):
        def __init__(self, i, o, stride):
            super().__init__()
            self.first, self.second = normed(i, o, 3, stride), normed(o, o, 3, 1)
            self.shortcut = normed(i, o, 1, stride) if i != o else nn.Identity()

        def forward(self, x):
            return torch.relu(self.second(torch.relu(self.first(x))) + self.shortcut(x))

    class Language(nn.Module):
        def __init__(self):
            super().__init__()
            self.token, self.head = nn.Embedding(WORDS, WIDTH), nn.Linear(HIDDEN, WORDS)
            self.layer = nn.LSTM(WIDTH, HIDDEN, batch_first=True)

        def forward(self, ids):
            return self.head(self.layer(self.token(ids))[0]).flatten(0, 1)

    if case == "resnet":
        model = nn.Sequential(normed(3, 64, 3, 1), nn.ReLU(), *[Block(*b) for b in BLOCKS], nn.AdaptiveAvgPool2d(1),
                              nn.Flatten(), nn.Linear(512, CLASSES)).to(memory_format=torch.channels_last)
        x = torch.randn(IMAGES, 3, 32, 32).to(memory_format=torch.channels_last)
        labels = torch.arange(IMAGES) % CLASSES
        optimizer = torch.optim.SGD(model.parameters(), lr=0.002, momentum=0.9, fused=True)
    else:
        model = Language()
        ids = torch.randint(0, WORDS, (BATCH, TIME + 1))
        x, labels = ids[:, :-1], ids[:, 1:].flatten()
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    run = torch.compile(model) if compiled else model

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = functional.cross_entropy(run(x), labels)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def jax_step(case):
    import jax
    import jax.numpy as jnp
    import optax
    from flax import nnx

    rngs = nnx.Rngs(0)

    class Normed(nnx.Module):
        def __init__(self, i, o, window, stride):
            self.windows = nnx.Conv(i, o, (window, window), stride, use_bias=False, rngs=rngs)
            self.norm = nnx.BatchNorm(o, rngs=rngs)

        def __call__(self, x):
            return self.norm(self.windows(x))

    class Block(nnx.Module):
        def __init__(self, i, o, stride):
            self.first, self.second = Normed(i, o, 3, stride), Normed(o, o, 3, 1)
            self.shortcut = Normed(i, o, 1, stride) if i != o else None

        def __call__(self, x):
            y = self.second(jax.nn.relu(self.first(x)))
            return jax.nn.relu(y + (self.shortcut(x) if self.shortcut else x))

    class ResNet18(nnx.Module):
        def __init__(self):
            self.stem, self.head = Normed(3, 64, 3, 1), nnx.Linear(512, CLASSES, rngs=rngs)
            self.blocks = nnx.List([Block(*b) for b in BLOCKS])

        def __call__(self, x):
            x = jax.nn.relu(self.stem(x))
            for block in self.blocks:
                x = block(x)
            return self.head(x.mean((1, 2)))

    class Language(nnx.Module):
        def __init__(self):
            self.token = nnx.Embed(WORDS, WIDTH, rngs=rngs)
            self.layer = nnx.RNN(nnx.OptimizedLSTMCell(WIDTH, HIDDEN, rngs=rngs))
            self.head = nnx.Linear(HIDDEN, WORDS, rngs=rngs)

        def __call__(self, ids):
            return self.head(self.layer(self.token(ids)))

    if case == "resnet":
        model, optimizer = ResNet18(), optax.sgd(0.002, momentum=0.9)
        x, labels = jax.random.normal(jax.random.key(1), (IMAGES, 32, 32, 3)), jnp.arange(IMAGES) % CLASSES
    else:
        model, optimizer = Language(), optax.adam(1e-3)
        ids = jax.random.randint(jax.random.key(2), (BATCH, TIME + 1), 0, WORDS)
        x, labels = ids[:, :-1], ids[:, 1:]
    state = nnx.Optimizer(model, optimizer, wrt=nnx.Param)

    @nnx.jit(donate_argnums=(0, 1))
    def update(model, state):
        loss = lambda m: optax.softmax_cross_entropy_with_integer_labels(m(x), labels).mean()
        value, gradient = nnx.value_and_grad(loss)(model)
        state.update(model, gradient)
        return value

    return lambda: float(update(model, state))


def take_turns(options):
    """Runs the program and the implementations of each Python in turns."""
    own = [__file__, "--threads", str(options.threads), "--steps", str(options.steps), "--impl"]
    commands = [[options.program]]
    commands += [[python, *own, impl] for python in [sys.executable, *options.python] for impl in options.impl]
    values, units = {}, {}
    for _ in range(options.turns):
        for command in commands:
            for line in subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines():
                case = json.loads(line)
                units[case["case"]] = case["unit"]
                values.setdefault(case["case"], {}).setdefault(case["impl"], []).append(case["value"])
    for case, found in values.items():
        medians = {impl: statistics.median(v) for impl, v in found.items()}
        for impl, value in medians.items():
            print(json.dumps(dict(suite="networks", case=case, impl=impl, unit=units[case], threads=options.threads, value=value)))
        best = max((v for impl, v in medians.items() if impl != "tokamax"), default=float("nan"))
        text = ", ".join(f"{impl} {medians[impl]} ({min(v)} to {max(v)})" for impl, v in found.items())
        print(f"{case}, {units[case]}: {text}; ratio {medians['tokamax'] / best:.2f}", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    support.add_options(parser)
    parser.add_argument("--steps", type=int, default=9)
    parser.add_argument("--turns", type=int, default=0)
    parser.add_argument("--program", default=ROOT / "build/bench/tokamax_bench_networks")
    parser.add_argument("--python", nargs="*", default=[])
    options = parser.parse_args()
    if options.turns:
        return take_turns(options)

    for impl in support.installed(options):
        for case, (name, examples, unit) in CASES.items():
            step = jax_step(case) if impl == "jax" else torch_step(case, options.threads, impl == "torch.compile")
            seconds = []
            for _ in range(options.steps + 2):
                start = time.perf_counter()
                step()
                seconds.append(time.perf_counter() - start)
            print(json.dumps(dict(suite="networks", case=name, impl=impl, unit=unit, threads=options.threads,
                                  value=round(examples / statistics.median(seconds[2:]), 1))), flush=True)


if __name__ == "__main__":
    main()
