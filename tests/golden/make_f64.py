"""tests/golden/make_f64.py: write f64.txt, functions of f64 arrays as JAX computes them with 64-bit types.

    python make_f64.py

Needs jax and numpy; the tests only read the file. One case in a line: the name of a function, then its result as numbers. The
operands are what `operand` below and in tests/ops/f64.cpp make of an extent and a seed.
"""
# SPDX-License-Identifier: Apache-2.0
import os
import pathlib

os.environ["JAX_PLATFORMS"] = "cpu"

import jax

jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp
import numpy as np
from jax import lax


def operand(shape, seed):
    """Numbers in [-2, 2) whose 53 bits all matter."""
    n = int(np.prod(shape))
    word = (np.arange(n, dtype=np.uint64) + np.uint64(1000 * seed + 1)) * np.uint64(0x9E3779B97F4A7C15)
    return ((word >> np.uint64(11)).astype(np.float64) * 2.0**-51 - 2.0).reshape(shape)


def norm(x, scale, offset):
    mean = x.mean(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-6) * scale + offset


def rms(x, scale):
    return x * lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6) * scale


def rotary(x, positions, interleaved=False):
    half = x.shape[-1] // 2
    angle = positions[:, None].astype(float) * 10000.0 ** (-jnp.arange(half) / half)
    c, s = jnp.cos(angle)[None, :, None], jnp.sin(angle)[None, :, None]
    a, b = (x[..., 0::2], x[..., 1::2]) if interleaved else (x[..., :half], x[..., half:])
    u, v = a * c - b * s, b * c + a * s
    return jnp.stack([u, v], -1).reshape(x.shape) if interleaved else jnp.concatenate([u, v], -1)


def attention(q, k, v, causal=False):
    k, v = (jnp.repeat(a, q.shape[2] // a.shape[2], 2) for a in (k, v))
    s = jnp.einsum("btnh,bsnh->bnts", q, k) / np.sqrt(q.shape[-1])
    if causal:
        s = jnp.where(jnp.tril(jnp.ones(s.shape[-2:], bool)), s, -1e300)
    return jnp.einsum("bnts,bsnh->btnh", jax.nn.softmax(s, -1), v)


def entropy(x, labels):
    return jax.nn.logsumexp(x, -1) - jnp.take_along_axis(x, labels[..., None], -1)[..., 0]


def conv(x, w, **o):
    return lax.conv_general_dilated(x, w, dimension_numbers=("NHWC", "HWIO", "NHWC"), **o)


x, y, z = operand((3, 5), 1), operand((5,), 2), operand((5,), 3)
q, k, v = operand((2, 6, 4, 8), 4), operand((2, 7, 2, 8), 5), operand((2, 7, 2, 8), 6)
labels, positions = np.array([4, 0, 2]), np.array([0, 1, 2, 100, 5, 7])
along = np.array([[4, -1], [0, 2], [-5, 3]])
image, window = operand((2, 6, 5, 4), 7), operand((3, 2, 2, 6), 8)
weights = operand((5, 9), 9)
same = {"window_strides": (1, 1), "padding": [(1, 1), (0, 1)]}
unary = {"exp": jnp.exp, "expm1": jnp.expm1, "log": lambda x: jnp.log(jnp.abs(x)), "log1p": lambda x: jnp.log1p(jnp.abs(x)),
         "tanh": jnp.tanh, "logistic": jax.nn.sigmoid, "sin": jnp.sin, "cos": jnp.cos, "erf": lax.erf,
         "erf_inv": lambda x: lax.erf_inv(x * 0.49), "sqrt": lambda x: jnp.sqrt(jnp.abs(x)), "rsqrt": lambda x: lax.rsqrt(jnp.abs(x)),
         "gelu": jax.nn.gelu, "exact_gelu": lambda x: jax.nn.gelu(x, approximate=False), "silu": jax.nn.silu,
         "softplus": jax.nn.softplus, "log_sigmoid": jax.nn.log_sigmoid, "elu": jax.nn.elu, "selu": jax.nn.selu,
         "normal_cdf": jax.scipy.special.ndtr, "softmax": jax.nn.softmax, "softmax_columns": lambda x: jax.nn.softmax(x, 0),
         "log_softmax": jax.nn.log_softmax, "logsumexp": lambda x: jax.nn.logsumexp(x, -1), "cumsum": lambda x: jnp.cumsum(x, -1),
         "sum": jnp.sum, "mean": lambda x: jnp.mean(x, 0), "var": lambda x: jnp.var(x, -1)}
cases = {name: (f, x) for name, f in unary.items()} | {
    "pow": (lambda x, y: jnp.power(jnp.abs(x), y), x, y), "logaddexp": (jnp.logaddexp, x, y),
    "layer_norm": (norm, x, y, z), "rms_norm": (rms, x, y),
    "rotary": (lambda q: rotary(q, positions), q), "rotary_interleaved": (lambda q: rotary(q, positions, True), q),
    "attention": (attention, q, k, v), "causal_attention": (lambda q, k, v: attention(q, k, v, True), q, k, v),
    "cross_entropy": (lambda x: entropy(x, labels), x),
    "distribution_cross_entropy": (lambda x: -(jax.nn.softmax(x) * jax.nn.log_softmax(x)).sum(-1), x),
    "linear_cross_entropy": (lambda x, w: entropy(x @ w, labels), x, weights), "matmul": (jnp.matmul, x, weights),
    "take_along_axis": (lambda x: jnp.take_along_axis(x, along, 1), x),
    "argsort": (lambda x: x * jnp.argsort((x * 2.0**40).astype(jnp.int64), -1), x),
    "take_argsort": (lambda x: jnp.take_along_axis(x, jnp.argsort(x, 0), 0), x),
    "conv": (lambda x, w: conv(x, w, feature_group_count=2, **same), image, window),
    "strided_conv": (lambda x, w: conv(x, w, window_strides=(2, 1), padding=[(0, 0), (1, 0)], lhs_dilation=(1, 2), rhs_dilation=(2, 1),
                                       feature_group_count=2), image, window),
    "max_pool": (lambda x: lax.reduce_window(x, -np.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"), image),
    "avg_pool": (lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "VALID") / 4, image)}
lines = [f"# Written by make_f64.py with jax {jax.__version__}: NAME DERIVATIVE : numbers"]


def write(name, which, result):
    lines.append(f"{name} {which} : " + " ".join(float(r).hex() for r in np.asarray(result).reshape(-1)))


for name, (f, *operands) in cases.items():
    write(name, "value", f(*operands))
    for i in range(len(operands)):  # of the sum of the results with weights that differ
        write(name, f"d{i}", jax.grad(lambda *a: (f(*a) * operand(np.shape(f(*a)), 11)).sum(), i)(*operands))
(pathlib.Path(__file__).parent / "f64.txt").write_text("\n".join(lines) + "\n")
print(f"f64.txt: {len(lines)} lines")
