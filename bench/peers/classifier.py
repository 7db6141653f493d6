"""bench/peers/classifier.py: examples per second of training steps of a perceptron and a small network of convolutions.

    python classifier.py [--impl torch torch.compile jax] [--threads 2] [--steps 21]

The models of bench/classifier.cpp: two layers on 64 vectors of 1024 numbers, and two convolutions with pooling on 64
images of 28 x 28, each trained by Adam in float32. One JSON line a case and implementation: the median of `steps` steps.
"""
# SPDX-License-Identifier: Apache-2.0
import argparse
import json
import statistics
import time

import support

BATCH, CLASSES, RATE = 64, 10, 1e-3
CASES = {"mlp": "MLP 1024-1024-10 B64", "cnn": "CNN 28x28 B64"}


def torch_step(case, threads, compiled):
    import torch
    from torch import nn
    from torch.nn import functional

    torch.set_num_threads(threads)
    if case == "mlp":
        model = nn.Sequential(nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, CLASSES))
        images = torch.randn(BATCH, 1024)
    else:
        model = nn.Sequential(nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                              nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                              nn.Linear(7 * 7 * 64, CLASSES))
        images = torch.randn(BATCH, 1, 28, 28)
        model = model.to(memory_format=torch.channels_last)
        images = images.to(memory_format=torch.channels_last)
    labels = torch.arange(BATCH) % CLASSES
    run = torch.compile(model) if compiled else model
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE, fused=True)

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = functional.cross_entropy(run(images), labels)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def jax_update(case):
    """A step as a compiled function, and its arguments: the parameters, the state of Adam, images and labels."""
    import functools

    import jax
    import jax.numpy as jnp
    import optax

    keys = iter(jax.random.split(jax.random.key(0), 8))
    normal = lambda *shape: 0.02 * jax.random.normal(next(keys), shape)
    if case == "mlp":
        p = dict(first=normal(1024, 1024), first_bias=jnp.zeros(1024), last=normal(1024, CLASSES), bias=jnp.zeros(CLASSES))
        images = jax.random.normal(next(keys), (BATCH, 1024))

        def logits(p, x):
            return jax.nn.relu(x @ p["first"] + p["first_bias"]) @ p["last"] + p["bias"]
    else:
        p = dict(first=normal(3, 3, 1, 32), first_bias=jnp.zeros(32), second=normal(3, 3, 32, 64),
                 second_bias=jnp.zeros(64), last=normal(7 * 7 * 64, CLASSES), bias=jnp.zeros(CLASSES))
        images = jax.random.normal(next(keys), (BATCH, 28, 28, 1))

        def layer(x, w, b):
            y = jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
            return jax.lax.reduce_window(jax.nn.relu(y + b), -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")

        def logits(p, x):
            y = layer(layer(x, p["first"], p["first_bias"]), p["second"], p["second_bias"])
            return y.reshape(BATCH, -1) @ p["last"] + p["bias"]

    labels = jnp.arange(BATCH) % CLASSES
    optimizer = optax.adam(RATE)

    @functools.partial(jax.jit, donate_argnums=(0, 1))
    def update(p, state, images, labels):
        loss = lambda p: optax.softmax_cross_entropy_with_integer_labels(logits(p, images), labels).mean()
        value, gradient = jax.value_and_grad(loss)(p)
        updates, state = optimizer.update(gradient, state, p)
        return optax.apply_updates(p, updates), state, value

    return update, (p, optimizer.init(p), images, labels)


def jax_step(case):
    update, (p, state, images, labels) = jax_update(case)

    def step():
        nonlocal p, state
        p, state, value = update(p, state, images, labels)
        return float(value)

    return step


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    support.add_options(parser)
    parser.add_argument("--steps", type=int, default=21)
    options = parser.parse_args()

    for impl in support.installed(options):
        for case, name in CASES.items():
            step = jax_step(case) if impl == "jax" else torch_step(case, options.threads, impl == "torch.compile")
            seconds = []
            for _ in range(options.steps + 2):
                start = time.perf_counter()
                step()
                seconds.append(time.perf_counter() - start)
            print(json.dumps(dict(suite="classifier", case=name, impl=impl, unit="examples/s", threads=options.threads,
                                  value=round(BATCH / statistics.median(seconds[2:]), 1))), flush=True)


if __name__ == "__main__":
    main()
