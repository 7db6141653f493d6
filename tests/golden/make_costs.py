"""tests/golden/make_costs.py: write costs.txt, what XLA's cost analysis says of small programs.

    python make_costs.py

Needs jax; the tests only read the file. The programs are counted as they are traced, before fusion. One row a line:

    NAME : FLOPS TRANSCENDENTALS BYTES      of `jax.jit(f).lower(...).cost_analysis()` on a CPU

BYTES is - where the definitions differ: numbers in a program and composed functions access memory in XLA.
"""
# SPDX-License-Identifier: Apache-2.0
import os
import pathlib

os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
from jax import lax

lines = [f"# Written by make_costs.py with jax {jax.__version__}: NAME : FLOPS TRANSCENDENTALS BYTES"]


def f32(*shape):
    return jax.ShapeDtypeStruct(shape, jnp.float32)


def i32(*shape):
    return jax.ShapeDtypeStruct(shape, jnp.int32)


def write(name, f, *args, bytes=True):
    cost = jax.jit(f).lower(*args).cost_analysis()
    moved = int(cost.get("bytes accessed", 0)) if bytes else "-"
    lines.append(f"{name} : {int(cost.get('flops', 0))} {int(cost.get('transcendentals', 0))} {moved}")


x, y, row = f32(8, 16), f32(8, 16), f32(16)
write("add", lambda x, y: x + y, x, y)
write("polynomial", lambda x: x * x * x + x, x)
write("functions", lambda x: jnp.exp(x) + jnp.tanh(x) * lax.rsqrt(x), x)
write("erf", lax.erf, x)
write("power", lax.pow, x, y)
write("select", lambda x, y: lax.select(x < y, x, y), x, y)
write("convert", lambda x: x.astype(jnp.int32), x)
write("broadcast", lambda x, r: x + lax.broadcast_in_dim(r, (8, 16), (1,)), x, row)
write("transpose", lambda x: lax.transpose(x, (1, 0)), x, bytes=False)
write("reshape", lambda x: lax.reshape(x, (16, 8)), x)
write("concatenate", lambda x, y: lax.concatenate([x, y], 0), x, y)
write("reverse", lambda x: lax.rev(x, (0,)), x)
write("slice", lambda x: lax.slice(x, (2, 3), (6, 9)), x)
write("sum", lambda x: jnp.sum(x, 1), x, bytes=False)
write("max", lambda x: jnp.max(x, 0), x, bytes=False)
write("dot", lambda a, b: a @ b, f32(8, 16), f32(16, 32))
write("batch_dot", lambda a, b: a @ b, f32(3, 8, 16), f32(3, 16, 32))
write("conv", lambda a, w: lax.conv_general_dilated(a, w, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC")),
      f32(2, 9, 9, 3), f32(3, 3, 3, 4))
write("sort", jnp.sort, f32(1000))
write("dynamic_slice", lambda x, i: lax.dynamic_slice(x, (i,), (4,), allow_negative_indices=False), row, i32())
write("update", lambda x, u, i: lax.dynamic_update_slice(x, u, (i,), allow_negative_indices=False), row, f32(4), i32())
IN_BOUNDS = dict(mode="promise_in_bounds", wrap_negative_indices=False)
write("gather", lambda x, i: x.at[i].get(**IN_BOUNDS), x, i32(3), bytes=False)
write("scatter_add", lambda x, i, u: x.at[i].add(u, **IN_BOUNDS), x, i32(3), f32(3, 16), bytes=False)


def softmax(x):
    e = jnp.exp(x - jnp.max(x, -1, keepdims=True))
    return e / jnp.sum(e, -1, keepdims=True)


write("softmax", softmax, x, bytes=False)
write("layer", lambda x, w: jnp.tanh(x @ w), f32(8, 16), f32(16, 32))
write("grad", jax.grad(lambda w, x: jnp.sum(jnp.tanh(x @ w))), f32(16, 32), f32(8, 16), bytes=False)
write("cond", lambda p, x: lax.cond(p, jnp.tanh, lambda v: v * v + v, x), jax.ShapeDtypeStruct((), jnp.bool_), x, bytes=False)
write("while", lambda x: lax.while_loop(lambda s: s[1] < 8, lambda s: (s[0] * s[0], s[1] + s[1]), (x, 1)), x, bytes=False)
(pathlib.Path(__file__).parent / "costs.txt").write_text("\n".join(lines) + "\n")
print(f"costs.txt: {len(lines)} lines")
