"""bench/peers/elementwise.py: memory bandwidth of a fused elementwise chain in PyTorch and JAX, beside a plain copy.

    python elementwise.py [--impl torch torch.compile jax] [--elements 16777216] [--threads 2] [--repeats 15]

The chain is y = gelu(gelu(1.01 x + 0.01) * 0.99 - 0.01) with the tanh form of gelu, float32, written over x where the
library can. The value is bytes of one read and one write over the median time, so an implementation that makes more
than one pass shows it as less bandwidth. One JSON line a case and implementation.
"""
# SPDX-License-Identifier: Apache-2.0
import argparse
import json
import statistics
import time

import support


def torch_cases(elements, threads, compiled):
    import torch
    from torch.nn import functional

    torch.set_num_threads(threads)
    x, y = torch.linspace(-3, 3, elements), torch.empty(elements)

    def chain(v):
        inner = functional.gelu(1.01 * v + 0.01, approximate="tanh")
        return functional.gelu(inner * 0.99 - 0.01, approximate="tanh")

    def chain_in_place(v):
        v.copy_(chain(v))

    if not compiled:
        return {"copy": lambda: y.copy_(x), "gelu chain": lambda: chain(x)}
    run = torch.compile(chain_in_place)
    return {"gelu chain": lambda: run(x)}


def jax_cases(elements):
    import jax
    import jax.numpy as jnp

    def chain(v):
        return jax.nn.gelu(jax.nn.gelu(1.01 * v + 0.01) * 0.99 - 0.01)

    run = jax.jit(chain, donate_argnums=0)
    x = jnp.linspace(-3, 3, elements)

    def step():
        nonlocal x
        x = run(x).block_until_ready()

    return {"gelu chain": step}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--elements", type=int, default=1 << 24)
    support.add_options(parser)
    parser.add_argument("--repeats", type=int, default=15)
    options = parser.parse_args()

    for impl in support.installed(options):
        if impl == "jax":
            cases = jax_cases(options.elements)
        else:
            cases = torch_cases(options.elements, options.threads, impl == "torch.compile")
        for name, step in cases.items():
            for _ in range(3):
                step()
            seconds = []
            for _ in range(options.repeats):
                start = time.perf_counter()
                step()
                seconds.append(time.perf_counter() - start)
            rate = 2 * 4 * options.elements / statistics.median(seconds) / 1e9
            print(json.dumps(dict(suite="elementwise", case=f"{name} {options.elements} f32", impl=impl,
                                  value=round(rate, 2), unit="GB/s", threads=options.threads)), flush=True)


if __name__ == "__main__":
    main()
