"""tests/golden/make_linear_attention.py: write linear_attention.txt, golden values of recurrences, with JAX.

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


def gated_delta_rule(q, k, v, g, beta, state, normalize):
    """q, k [B, T, H, D], v [B, T, N, E], g, beta [B, T, N], state [B, N, D, E]."""
    if normalize:
        q, k = (x * lax.rsqrt(jnp.sum(x * x, -1, keepdims=True) + 1e-6) for x in (q, k))
    groups = v.shape[2] // q.shape[2]
    q, k = (jnp.repeat(x, groups, 2) for x in (q, k))

    def step(s, x):
        q_t, k_t, v_t, g_t, beta_t = x
        s = jnp.exp(g_t)[..., None, None] * s
        u = beta_t[..., None] * (v_t - jnp.einsum("bnde,bnd->bne", s, k_t))
        s = s + k_t[..., None] * u[..., None, :]
        return s, jnp.einsum("bnde,bnd->bne", s, q_t)

    _, out = lax.scan(step, state, tuple(jnp.swapaxes(x, 0, 1) for x in (q, k, v, g, beta)))
    return jnp.swapaxes(out, 0, 1) * q.shape[-1] ** -0.5


def causal_conv1d_gated_delta_rule(qkv, b, a, conv, recurrent, weights, a_log, dt_bias, bias):
    """One sequence: qkv [T, 2 H D + N E], b, a [T, N], conv [1, K - 1, C], recurrent [1, N, D, E]."""
    heads, key, value = recurrent.shape[1:]
    before = conv.shape[1]
    mixed = causal_conv1d(jnp.concatenate([conv, qkv[None]], 1), weights, bias)[:, before:]
    keys = (qkv.shape[1] - heads * value) // 2
    q, k, v = (x.reshape(1, len(qkv), -1, n) for x, n in zip(jnp.split(mixed, [keys, 2 * keys], -1), (key, key, value)))
    g = -jnp.exp(a_log) * jax.nn.softplus(a + dt_bias)
    return gated_delta_rule(q, k, v, g[None], jax.nn.sigmoid(b)[None], recurrent, True)[0]


def main():
    rng = np.random.default_rng(21)
    draw = lambda shape: jnp.asarray(rng.standard_normal(shape), jnp.float32)
    rows = Rows(["Written by make_linear_attention.py.", "causal_conv1d: x [B, T, C], weights [C, K], bias [C], silu"])
    put_case(rows, "causal_conv1d", causal_conv1d, [draw((2, 7, 3)), draw((3, 4)), draw((3,))], draw)
    rows.note("gated_delta_rule: q, k [B, T, H, D], v [B, T, N, E], g, beta [B, T, N], state [B, N, D, E]")
    for name, normalize in ("gated_delta_rule", False), ("gated_delta_rule_of_unit_keys", True):
        inputs = [draw((2, 9, 1, 3)) * 0.5, draw((2, 9, 1, 3)) * 0.5, draw((2, 9, 2, 4)), -jax.nn.softplus(draw((2, 9, 2))),
                  jax.nn.sigmoid(draw((2, 9, 2))), draw((2, 2, 3, 4))]
        put_case(rows, name, lambda *x: gated_delta_rule(*x, normalize), inputs, draw)
    rows.note("causal_conv1d_gated_delta_rule: qkv, b, a, states of both, weights [C, K], a_log, dt_bias, bias")
    put_case(rows, "causal_conv1d_gated_delta_rule", causal_conv1d_gated_delta_rule,
             [draw((9, 14)), draw((9, 2)), draw((9, 2)), draw((1, 3, 14)), draw((1, 2, 3, 4)), draw((14, 4)), draw((2,)),
              draw((2,)), draw((14,))], draw)
    (HERE / "linear_attention.txt").write_text("\n".join(rows.lines) + "\n")


if __name__ == "__main__":
    main()
