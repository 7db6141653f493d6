"""tests/golden/make_samples.py: write samples.txt, random numbers of every dtype as JAX makes them.

    python make_samples.py

Needs jax; the tests only read the file. 64-bit types are on. One row a line, elements as hexadecimal bits:

    DISTRIBUTION DTYPE LOW HIGH : elements      of jax.random.key(42), LOW and HIGH the bounds of uniform and randint
"""
# SPDX-License-Identifier: Apache-2.0
import os
import pathlib

os.environ["JAX_PLATFORMS"] = "cpu"

import jax

jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp
import ml_dtypes
import numpy as np

FLOATS = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64"}
INTEGERS = {"i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "u8": "uint8", "u16": "uint16", "u32": "uint32",
            "u64": "uint64"}
key = jax.random.key(42)
lines = [f"# Written by make_samples.py with jax {jax.__version__}: DISTRIBUTION DTYPE LOW HIGH : elements"]


def write(what, t, low, high, x):
    x = np.asarray(x)
    words = " ".join(f"{int(w):x}" for w in x.reshape(-1).view(f"u{x.dtype.itemsize}"))
    lines.append(f"{what} {t} {low} {high} : {words}")


for t, name in FLOATS.items():
    d = jnp.dtype(name)
    write("uniform", t, 0, 1, jax.random.uniform(key, (3, 5), d))
    write("uniform", t, -2, 3, jax.random.uniform(key, (16,), d, -2, 3))
    write("normal", t, 0, 1, jax.random.normal(key, (64,), d))
    write("gumbel", t, 0, 1, jax.random.gumbel(key, (16,), d))
    write("exponential", t, 0, 1, jax.random.exponential(key, (16,), d))
for t, name in INTEGERS.items():
    i = ml_dtypes.iinfo(name)
    for low, high in [(0, 10), (3, 100), (5, 5), (7, 2)] + [(-100, 100), (-3, 0)] * (i.min < 0) + [(0, i.max)] * (i.bits < 64) + [(i.min, i.max + 1)] * (i.bits < 32):
        write("randint", t, low, high, jax.random.randint(key, (16,), low, high, name))
(pathlib.Path(__file__).parent / "samples.txt").write_text("\n".join(lines) + "\n")
print(f"samples.txt: {len(lines)} lines")
