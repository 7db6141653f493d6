"""bench/peers/functions.py: everyday functions of arrays beside NumPy, JAX and PyTorch, in turns.

    python functions.py [--program build/bench/tokamax_bench_functions] [--python OTHER_PYTHON ...] [--threads 2] [--turns 5]
                        [--only REGEX] [--json FILE]

The functions and their data are those of bench/backend/cpu/functions.cpp. All measure as bench/peers/ops.py says. JAX compiles
each function; NumPy and PyTorch compute one operation after the other. What a library has not counts as left out.
"""
# SPDX-License-Identifier: Apache-2.0
import argparse
import json
import math
import pathlib
import re
import sys

import ops
import ops_data
import support

ROOT = pathlib.Path(__file__).resolve().parents[2]
MANY = 2**20
ROWS = {}


def floats(*shape, k=0):
    return ops_data.uniform(shape, k)


def below(end, *shape, k=1):
    return ops_data.mixed_numbers_below(end, shape, k)


def positive_definite(n):
    import numpy as np

    a = floats(n, n)
    return a @ a.T + np.eye(n, dtype=np.float32)


def symmetric(n):
    return floats(n, n) + floats(n, n).T


def ordered(n):
    import numpy as np

    return np.arange(n, dtype=np.float32) * np.float32(np.float32(1.7) / np.float32(n)) - np.float32(0.85)


def row(name, data, numpy, torch, jax=None):
    """A function of a library's module and of its operands, in NumPy, PyTorch and JAX; in JAX as in NumPy by default."""
    ROWS[name] = dict(data=data, numpy=numpy, torch=torch, jax=jax or numpy)


def fill_rows():
    elementwise_and_reductions()
    orders()
    moves()
    products()
    algebra()


def elementwise_and_reductions():
    line, square = lambda: [floats(MANY)], lambda: [floats(1024, 1024)]
    row("exp(sin(x)) * x [2^20]", line, *[lambda p, x: p.exp(p.sin(x)) * x] * 2)
    row("where(x > 0, x, y) [2^20]", lambda: [floats(MANY), floats(MANY, k=1)], *[lambda p, x, y: p.where(x > 0, x, y)] * 2)
    row("sum [1024, 1024]", square, *[lambda p, x: p.sum(x)] * 2)
    row("sum of axis 0 [1024, 1024]", square, *[lambda p, x: p.sum(x, 0)] * 2)
    row("sum of axis 1 [1024, 1024]", square, *[lambda p, x: p.sum(x, 1)] * 2)
    row("max of axis 1 [1024, 1024]", square, lambda p, x: p.max(x, 1), lambda p, x: p.amax(x, 1))
    row("var of axis 1 [1024, 1024]", square, lambda p, x: p.var(x, 1), lambda p, x: p.var(x, 1, correction=0))
    row("argmax of axis 1 [1024, 1024]", square, *[lambda p, x: p.argmax(x, 1)] * 2)

    def softmax(p, x):
        e = p.exp(x - p.max(x, 1, keepdims=True))
        return e / p.sum(e, 1, keepdims=True)

    def logsumexp(p, x):
        top = p.max(x, 1, keepdims=True)
        return p.log(p.sum(p.exp(x - top), 1)) + top[:, 0]

    row("softmax [1024, 1024]", square, softmax, lambda p, x: p.softmax(x, 1))
    row("logsumexp [1024, 1024]", square, logsumexp, lambda p, x: p.logsumexp(x, 1))
    row("cumsum of axis 0 [1024, 1024]", square, *[lambda p, x: p.cumsum(x, 0)] * 2)
    row("cumsum of axis 1 [1024, 1024]", square, *[lambda p, x: p.cumsum(x, 1)] * 2)


def orders():
    line, square = lambda: [floats(MANY)], lambda: [floats(1024, 1024)]

    def nonzero(p, x):  # JAX must know the size, as we must
        return p.nonzero(x > 0, size=MANY // 2)[0]

    def top_k(p, x):
        import jax

        return jax.lax.top_k(x, 16)

    row("sort [2^20]", line, lambda p, x: p.sort(x), lambda p, x: p.sort(x)[0])
    row("sort [1024, 1024]", square, lambda p, x: p.sort(x), lambda p, x: p.sort(x)[0])
    row("argsort [1024, 1024]", square, *[lambda p, x: p.argsort(x)] * 2)
    row("top_k of 16 [1024, 1024]", square, None, lambda p, x: p.topk(x, 16), top_k)
    row("searchsorted of 2^18 in 10000", lambda: [ordered(10000), floats(MANY // 4)],
        *[lambda p, a, v: p.searchsorted(a, v)] * 2)
    row("unique of 2^18 numbers below 5000", lambda: [below(5000, MANY // 4)], *[lambda p, x: p.unique(x)] * 2,
        lambda p, x: p.unique(x, size=5000))
    # torch.median takes the lower one of the two in the middle
    row("median of axis 1 [1024, 1024]", square, lambda p, x: p.median(x, 1), lambda p, x: p.quantile(x, 0.5, 1))
    row("three quantiles [2^20]", lambda: [floats(MANY), ops_data.np.array([0.1, 0.5, 0.9], "float32")],
        *[lambda p, x, q: p.quantile(x, q)] * 2)
    row("nonzero of x > 0 [2^20]", line, lambda p, x: p.flatnonzero(x > 0), lambda p, x: p.nonzero(x > 0), nonzero)
    row("histogram of 64 bins [2^20]", line, lambda p, x: p.histogram(x, 64)[0], lambda p, x: p.histc(x, 64))
    row("bincount of numbers below 1000 [2^20]", lambda: [below(1000, MANY)],
        *[lambda p, x: p.bincount(x, minlength=1000)] * 2, lambda p, x: p.bincount(x, length=1000))


def moves():
    square, two = lambda: [floats(1024, 1024)], lambda: [floats(1024, 1024), floats(1024, 1024, k=1)]

    def add_at(p, x, i, y):
        z = x.copy()
        p.add.at(z, i, y)
        return z

    row("take of 8192 rows of [10000, 256]", lambda: [floats(10000, 256), below(10000, 8192)],
        lambda p, x, i: x[i], lambda p, x, i: p.index_select(x, 0, i))
    row("take of elements [2^20]", lambda: [floats(MANY), below(MANY, MANY)], *[lambda p, x, i: p.take(x, i)] * 2)
    row("take_along_axis [1024, 1024]", lambda: [floats(1024, 1024), below(1024, 1024, 1024)],
        lambda p, x, i: p.take_along_axis(x, i, 1), lambda p, x, i: p.gather(x, 1, i))
    row("scatter_add of 8192 rows to [10000, 256]",
        lambda: [floats(10000, 256), below(10000, 8192), floats(8192, 256, k=2)],
        add_at, lambda p, x, i, y: x.index_add(0, i, y), lambda p, x, i, y: x.at[i].add(y))
    row("transpose to a copy [1024, 1024]", square, lambda p, x: p.ascontiguousarray(x.T), lambda p, x: x.t().contiguous(),
        lambda p, x: x.T)
    row("concatenate of axis 1 [1024, 1024] twice", two, *[lambda p, x, y: p.concatenate([x, y], 1)] * 2)
    row("roll of axis 1 by 100 [1024, 1024]", square, *[lambda p, x: p.roll(x, 100, 1)] * 2)
    row("pad by 1 [1024, 1024]", square, lambda p, x: p.pad(x, 1), lambda p, x: p.nn.functional.pad(x, (1, 1, 1, 1)))
    row("flip of axis 1 [1024, 1024]", square, lambda p, x: p.ascontiguousarray(p.flip(x, 1)),
        lambda p, x: p.flip(x, (1,)), lambda p, x: p.flip(x, 1))
    row("repeat of 4 [2^18]", lambda: [floats(MANY // 4)], lambda p, x: p.repeat(x, 4),
        lambda p, x: p.repeat_interleave(x, 4))


def products():
    def cube(k):
        return floats(64, 128, 128, k=k)

    def conv(p, x, w):
        import jax

        axes = ("NWC", "WIO", "NWC") if x.ndim == 3 else ("NHWC", "HWIO", "NHWC")
        return jax.lax.conv_general_dilated(x, w, (1,) * (x.ndim - 2), "SAME", dimension_numbers=axes)

    def parts(y):
        return y.real, y.imag

    def einsum(equation):
        return [lambda p, *x: p.einsum(equation, *x, **dict(optimize=True) if p.__name__ == "numpy" else {}),
                lambda p, *x: p.einsum(equation, *x)]

    row("matmul [512, 512]", lambda: [floats(512, 512), floats(512, 512, k=1)], *[lambda p, x, y: p.matmul(x, y)] * 2)
    row("matrix by vector [2048, 2048]", lambda: [floats(2048, 2048), floats(2048, k=1)],
        *[lambda p, x, y: p.matmul(x, y)] * 2)
    row("einsum bij,bjk->bik [64, 128, 128]", lambda: [cube(0), cube(1)], *einsum("bij,bjk->bik"))
    row("einsum i,j->ij [1024]", lambda: [floats(1024), floats(1024, k=1)], *einsum("i,j->ij"))
    row("einsum ij,jk,kl->il [256, 256]", lambda: [floats(256, 256, k=k) for k in range(3)], *einsum("ij,jk,kl->il"))
    row("conv1d [8, 1024, 64] by 5", lambda: [floats(8, 1024, 64), floats(5, 64, 64, k=1)], None,
        lambda p, x, w: p.nn.functional.conv1d(x, w, padding=2), conv)
    row("conv2d [4, 56, 56, 64] by 3 x 3", lambda: [floats(4, 56, 56, 64), floats(3, 3, 64, 64, k=1)], None,
        lambda p, x, w: p.nn.functional.conv2d(x, w, padding=1), conv)
    row("convolve of 2^17 by 129", lambda: [floats(MANY // 8), floats(129, k=1)], lambda p, x, v: p.convolve(x, v),
        lambda p, x, v: p.nn.functional.conv1d(x[None, None], v.flip(0)[None, None], padding=128)[0, 0])
    row("fft [256, 1024]", lambda: [floats(256, 1024) + 1j * floats(256, 1024, k=1)],
        *[lambda p, x: p.fft.fft(x)] * 2)
    row("rfft [64, 4096]", lambda: [floats(64, 4096)], *[lambda p, x: p.fft.rfft(x)] * 2)
    row("interp of 2^18 in 1000", lambda: [floats(MANY // 4), ordered(1000), floats(1000, k=1)],
        lambda p, x, at, y: p.interp(x, at, y), None)


def algebra():
    square = lambda: [positive_definite(512), floats(512, 16, k=1)]
    row("cholesky [512, 512]", lambda: [positive_definite(512)], *[lambda p, a: p.linalg.cholesky(a)] * 2)
    row("solve [512, 512] of 16", square, *[lambda p, a, b: p.linalg.solve(a, b)] * 2)
    row("inv [256, 256]", lambda: [positive_definite(256)], *[lambda p, a: p.linalg.inv(a)] * 2)
    row("qr [512, 128]", lambda: [floats(512, 128)], *[lambda p, a: tuple(p.linalg.qr(a))] * 2)
    row("svd [256, 128]", lambda: [floats(256, 128)], *[lambda p, a: tuple(p.linalg.svd(a, full_matrices=False))] * 2)
    row("eigh [256, 256]", lambda: [symmetric(256)], *[lambda p, a: tuple(p.linalg.eigh(a))] * 2)

    def sample(name):
        def draw(p, seed):
            import jax

            return getattr(jax.random, name)(jax.random.key(seed), (MANY,))

        return draw

    random, seed = ops_data.np.random.default_rng(0), lambda: [ops_data.np.zeros((), "int32")]
    row("random normal [2^20]", seed, lambda p, _: random.standard_normal(MANY, "float32"), lambda p, _: p.randn(MANY),
        sample("normal"))
    row("random uniform [2^20]", seed, lambda p, _: random.random(MANY, "float32"), lambda p, _: p.rand(MANY),
        sample("uniform"))


def magnitude(y):
    """The mean magnitudes of arrays, summed; complex numbers count as two arrays."""
    import numpy as np

    if isinstance(y, (tuple, list)):
        return sum(magnitude(z) for z in y)
    y = np.asarray(y)
    if np.iscomplexobj(y):
        return magnitude(y.real) + magnitude(y.imag)
    return float(np.abs(y.astype(np.float32)).mean(dtype=np.float64))


def maker(package, threads):
    """What makes the one way to compute a row with a package."""
    import numpy as np

    def in_numpy(f, data):
        return lambda: f(np, *data)

    def in_torch(f, data):
        import torch

        torch.set_num_threads(threads)
        torch.set_grad_enabled(False)

        def tensor(x):
            y = torch.from_numpy(x)
            return y.long() if y.dtype == torch.int32 else y  # most functions refuse indices of 32 bits

        tensors = [tensor(x) for x in data]
        return lambda: f(torch, *tensors)

    def in_jax(f, data):
        import jax
        import jax.numpy as jnp

        run, operands = jax.jit(lambda *x: f(jnp, *x)), [jnp.array(x) for x in data]
        return lambda: jax.block_until_ready(run(*operands))

    ways = dict(numpy=in_numpy, torch=in_torch, jax=in_jax)

    def make(name):
        f = ROWS[name][package]
        if f is None:
            return []
        data = ROWS[name]["data"]()
        if package == "torch" and name.startswith(("conv1d", "conv2d")):  # channels before places
            spatial = data[0].ndim - 2
            data = [np.ascontiguousarray(np.moveaxis(data[0], -1, 1)),
                    np.ascontiguousarray(np.moveaxis(data[1], (-1, -2), (0, 1)))]
        work = ways[package](f, data)
        return [(work, magnitude(work()))]

    return make


def print_table(rows, runners):
    """All rows in microseconds, with how many times faster we are than the best peer, and who that is."""
    out = sys.stderr
    print(f"\n{'function':44}" + "".join(f"{r.name:>12}" for r in runners) + "   ratio to", file=out)
    ratios = []
    for name, best, agree in rows:
        ratios.append(ops.ratio_of(best))
        peer = min((s, r.name) for s, r in zip(best[1:], runners[1:]) if not math.isnan(s))[1]
        print(f"{name:44}" + "".join(f"{1e6 * s:12.1f}" for s in best) + f"{ratios[-1]:8.2f} {peer}"
              + ("" if agree else "  results differ"), file=out)
    print(f"{sum(x >= 1 for x in ratios)} of {len(ratios)} functions at 1.0 or more, {sum(x < 0.5 for x in ratios)} below 0.5; "
          f"{sum(not agree for _, _, agree in rows)} with other results", file=out)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default=str(ROOT / "build/bench/tokamax_bench_functions"))
    parser.add_argument("--python", nargs="*", default=[])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--only", default="")
    parser.add_argument("--json", type=argparse.FileType("w"), default=sys.stdout)
    parser.add_argument("--serve", choices=["numpy", "torch", "jax"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.compile = False
    support.confine(options.threads)
    fill_rows()
    if options.serve:
        return ops.serve(options.serve, maker(options.serve, options.threads))

    runners, rows = ops.runners_of(__file__, ("numpy", "jax", "torch"), options), []
    for name in filter(re.compile(options.only).search, ROWS):
        best, agree = ops.measure(name, runners, options.turns)
        rows.append((name, best, agree))
        for r, seconds in zip(runners, best):
            if not math.isnan(seconds):
                print(json.dumps(dict(suite="functions", case=name, impl=r.name + " in turns" * (r is runners[0]), unit="us",
                                      threads=options.threads, value=round(seconds * 1e6, 2))), file=options.json,
                      flush=True)
    print_table(rows, runners)


if __name__ == "__main__":
    main()
