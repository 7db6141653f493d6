"""bench/peers/optimisers.py: updates by AdamW, Lion and Muon, and a minimisation by L-BFGS, of Optax.

    python optimisers.py [--threads 2] [--repeats 9]

The cases are those of bench/optimisers.cpp: GPT-2's 124 million parameters with every argument donated, the matrices of 6
layers of width 384, and 200 steps on Rosenbrock's function in 16 dimensions in one compiled loop.
"""
# SPDX-License-Identifier: Apache-2.0
import argparse
import json
import statistics
import time

import support


def gpt(layers, width, matrices_alone):
    shapes = []
    for _ in range(layers):
        shapes += [(width, 3 * width), (width, width), (width, 4 * width), (4 * width, width)]
        if not matrices_alone:
            shapes += [(3 * width,), (width,), (4 * width,), (width,), (width,), (width,), (width,), (width,)]
    if not matrices_alone:
        shapes += [(50257, width), (1024, width), (width,), (width,)]
    import jax

    return [jax.random.normal(jax.random.key(i), s) * 0.02 for i, s in enumerate(shapes)]


def seconds_of(step, repeats):
    for _ in range(2):
        step()
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        step()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def seconds_of_update(optimizer, start, repeats):
    import jax
    import optax

    def update(p, state, gradient):
        updates, state = optimizer.update(gradient, state, p)
        return optax.apply_updates(p, updates), state

    run = jax.jit(update, donate_argnums=(0, 1))
    p = jax.tree.map(lambda x: x + 0, start)
    state = optimizer.init(p)

    def step():
        nonlocal p, state
        p, state = run(p, state, start)
        jax.block_until_ready((p, state))

    return seconds_of(step, repeats)


def seconds_of_lbfgs(repeats):
    import jax
    import jax.numpy as jnp
    import optax

    def rosenbrock(x):
        return jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    optimizer = optax.lbfgs()
    value_and_grad = optax.value_and_grad_from_state(rosenbrock)

    @jax.jit
    def fit(x):
        def step(_, carry):
            x, state = carry
            value, gradient = value_and_grad(x, state=state)
            updates, state = optimizer.update(gradient, state, x, value=value, grad=gradient, value_fn=rosenbrock)
            return optax.apply_updates(x, updates), state

        x, _ = jax.lax.fori_loop(0, 200, step, (x, optimizer.init(x)))
        return rosenbrock(x)

    x = jnp.full(16, -1.2)
    return seconds_of(lambda: fit(x).block_until_ready(), repeats)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    support.add_options(parser)
    parser.add_argument("--repeats", type=int, default=9)
    options = parser.parse_args()
    if "jax" not in options.impl:
        return
    options.impl = ["jax"]
    for _ in support.installed(options):
        import optax

        def report(case, value, unit):
            print(json.dumps(dict(suite="optimisers", case=case, impl="optax", value=round(value, 2), unit=unit,
                                  threads=options.threads)), flush=True)

        p = gpt(12, 768, False)
        count = sum(x.size for x in p)
        adamw = seconds_of_update(optax.adamw(3e-4, weight_decay=0.1), p, options.repeats)
        report("AdamW, GPT-2", 28e-9 * count / adamw, "GB/s")
        lion = seconds_of_update(optax.lion(3e-4, weight_decay=0.1), p, options.repeats)
        report("Lion, GPT-2", 20e-9 * count / lion, "GB/s")
        muon = seconds_of_update(optax.contrib.muon(3e-4), gpt(6, 384, True), options.repeats)
        report("Muon, matrices of 6 layers of width 384", muon * 1e3, "ms")
        report("L-BFGS, 200 steps of Rosenbrock in 16 dimensions", seconds_of_lbfgs(31) * 1e3, "ms")


if __name__ == "__main__":
    main()
