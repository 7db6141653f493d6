"""tests/data/make_linear_attention.py: write linear_attention.txt, golden values of recurrences, with JAX.

    python make_linear_attention.py

Rows are those of make_goldens.py. The recurrences are written token by token.
"""
# SPDX-License-Identifier: Apache-2.0
import os

os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from make_goldens import HERE, Rows

jax.config.update("jax_default_matmul_precision", "highest")


def put_case(rows, name, f, inputs, draw):
    """The inputs, the result, a cotangent, and the gradients of all inputs."""
    out, pull = jax.vjp(f, *inputs)
    ct = draw(out.shape)
    for k, x in enumerate(inputs):
        rows.put(f"{name}.in{k}", x)
    rows.put(f"{name}.out", out)
    rows.put(f"{name}.ct", ct)
    for k, grad in enumerate(pull(ct)):
        rows.put(f"{name}.grad{k}", grad)


def causal_conv1d(x, weights, bias):
    """x [B, T, C], weights [C, K]."""
    places = weights.shape[1]
    y = lax.conv_general_dilated(jnp.swapaxes(x, 1, 2), weights[:, None], (1,), [(places - 1, 0)],
                                 feature_group_count=x.shape[-1], dimension_numbers=("NCH", "OIH", "NCH"))
    return jax.nn.silu(jnp.swapaxes(y, 1, 2) + bias)


def main():
    rng = np.random.default_rng(21)
    draw = lambda shape: jnp.asarray(rng.standard_normal(shape), jnp.float32)
    rows = Rows(["Written by make_linear_attention.py.", "causal_conv1d: x [B, T, C], weights [C, K], bias [C], silu"])
    put_case(rows, "causal_conv1d", causal_conv1d, [draw((2, 7, 3)), draw((3, 4)), draw((3,))], draw)
    (HERE / "linear_attention.txt").write_text("\n".join(rows.lines) + "\n")


if __name__ == "__main__":
    main()
