# make_stablehlo.py: writes examples/35_stablehlo.mlir, the loss of a small network as JAX exports it, the same as bytecode in
# tests/golden/stablehlo.export, and prints JAX's values; then tests/golden/stablehlo_constant.bc, which adds a constant of 4096 bytes.
# python3 tests/golden/make_stablehlo.py   (jax 0.10)
import pathlib

import jax
import jax.export
import jax.numpy as jnp
import numpy as np


def loss(hidden, out, x, y):
    h = jnp.tanh(x @ hidden)
    logits = h @ out
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], 1)), jnp.argmax(logits, 1)


def numbers(*shape):
    n = 1
    for s in shape:
        n *= s
    return (jnp.arange(n, dtype=jnp.float32) * 7 % 11 - 5).reshape(shape) / 10


args = numbers(4, 8), numbers(8, 3), numbers(6, 4), jnp.array([0, 1, 2, 0, 1, 2], jnp.int32)
text = jax.jit(loss).lower(*args).as_text()
root = pathlib.Path(__file__).resolve().parents[2]
root.joinpath("examples/35_stablehlo.mlir").write_text(text)
root.joinpath("tests/golden/stablehlo.export").write_bytes(jax.export.export(jax.jit(loss))(*args).serialize())
table = jnp.asarray(np.arange(4096) * 7 % 251, jnp.uint8)
module = jax.export.export(jax.jit(lambda x: x + np.asarray(table)))(table).mlir_module_serialized
root.joinpath("tests/golden/stablehlo_constant.bc").write_bytes(module)
print("loss", *loss(*args))
print("gradient of out", jax.grad(lambda *a: loss(*a)[0], 1)(*args)[0])
