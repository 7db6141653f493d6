"""bench/peers/ops_jax.py: the cases of bench/cases/ops.txt in JAX."""
# SPDX-License-Identifier: Apache-2.0
import ops_data


def norm(x, scale, offset=None, axis=-1):
    import jax
    import jax.numpy as jnp

    def spread(p):
        return p if axis == -1 else p[:, None, None]

    wide = x.astype(jnp.float32)
    if offset is not None:
        wide = wide - wide.mean(axis, keepdims=True)
    y = wide * jax.lax.rsqrt(jnp.square(wide).mean(axis, keepdims=True) + 1e-6) * spread(scale)
    return (y if offset is None else y + spread(offset)).astype(x.dtype)


def attention(w):
    import jax
    import jax.numpy as jnp

    b, t, s, n, k, h = (w[name] for name in "BTSNKH")
    shapes = [(b, t, n, h), (b, s, k, h), (b, s, k, h)] + [(1, n, t, s)] * w["bias"]

    def attend(q, key, value, bias=None):
        if w.op == "flex_attention":
            bias = (-0.1 * jnp.abs(jnp.arange(t)[:, None] - jnp.arange(s))).astype(q.dtype)[None, None]
        lengths = s - jnp.array(ops_data.numbers_below(s // 2, b)) if w["lengths"] else None
        return jax.nn.dot_product_attention(q, key, value, bias, is_causal=bool(w["causal"]),
                                            key_value_seq_lengths=lengths,
                                            local_window_size=(w["window"], 0) if w["window"] else None)

    return shapes, attend


def triangle(w):
    import jax
    import jax.numpy as jnp

    c = w["D"]
    mask = jnp.array(ops_data.pair_mask(w["T"]))[..., None]

    def f(x, into, gate_into, out, gate_out, *norms):
        rows = norm(x, norms[0], norms[1])
        ab = jax.nn.sigmoid(rows @ gate_into.reshape(c, -1)) * (rows @ into.reshape(c, -1)) * mask
        a, b = jnp.split(ab, 2, -1)
        y = jnp.einsum("ikc,jkc->ijc" if w["outgoing"] else "kjc,kic->ijc", a, b)
        return (norm(y, norms[2], norms[3]) @ out) * jax.nn.sigmoid(rows @ gate_out)

    return f


def moved_rows(w):
    import jax.numpy as jnp

    m, d, g = w["M"], w["D"], w["G"]
    end = m - m // 8
    rows = jnp.array(ops_data.numbers_below(w["V"] or m, m))
    within = (jnp.arange(m) < end)[:, None]
    return dict(
        ragged_gather=lambda x: jnp.where(within, x[rows], 0),
        ragged_scatter=lambda x: jnp.zeros((m, d), x.dtype).at[rows[:end]].add(x[:end]),
        ragged_gather_reduce=lambda x, weights: (x[rows] * weights[:, None]).reshape(m // g, g, d).sum(1),
    )[w.op]


def delta_rule(w):
    import jax
    import jax.numpy as jnp

    t, n, h, c = w["T"], w["N"], w["H"], 64
    lower = jnp.tril(jnp.ones((c, c), bool))

    def chunks(x):  # [T, N, ...] -> [T / C, N, C, ...]
        x = jnp.repeat(x, n // x.shape[1], 1).astype(jnp.float32)
        return jnp.swapaxes(x.reshape(t // c, c, *x.shape[1:]), 1, 2)

    def step(state, x):
        values, keys, scores, queries, late, kept = x
        u = values - keys @ state
        return state * kept + jnp.swapaxes(late, 1, 2) @ u, queries @ state + scores @ u

    def f(q, key, v, a, b):
        q, key, v = chunks(q), chunks(key), chunks(v)
        q, key = (x * jax.lax.rsqrt((x * x).sum(-1, keepdims=True) + 1e-6) for x in (q, key))
        total = chunks(-jnp.abs(a.astype(jnp.float32))).cumsum(-1)
        beta = chunks(jax.nn.sigmoid(b.astype(jnp.float32)))[..., None]
        decay = jnp.where(lower, jnp.exp(jnp.where(lower, total[..., :, None] - total[..., None, :], 0)), 0)
        since, transposed = jnp.exp(total)[..., None], jnp.swapaxes(key, -1, -2)
        corrections = jax.lax.linalg.triangular_solve(
            jnp.tril(beta * decay * (key @ transposed), -1) + jnp.eye(c),
            jnp.concatenate([beta * v, beta * since * key], -1), left_side=True, lower=True, unit_diagonal=True)
        late = key * jnp.exp(total[..., -1:] - total)[..., None]
        xs = (corrections[..., :h], corrections[..., h:], (q @ transposed) * decay, q * since, late, since[:, :, -1:])
        outs = jax.lax.scan(step, jnp.zeros((n, h, h)), xs)[1]
        return (jnp.swapaxes(outs, 1, 2).reshape(t, n, h) * h**-0.5).astype(a.dtype)

    return f


def function(w):
    """The shapes of a case's operands, and the case as a function of them."""
    import jax
    import jax.numpy as jnp

    m, d, v, t, k = (w[name] for name in "MDVTK")
    labels = jnp.array(ops_data.numbers_below(v, m))

    def cross_entropy(logits):
        wide = logits.astype(jnp.float32)
        return jnp.mean(jax.nn.logsumexp(wide, -1) - jnp.take_along_axis(wide, labels[:, None], -1)[:, 0]).astype(logits.dtype)

    def conv(x, weights):
        y = jax.lax.conv_general_dilated(x[None], weights.T[:, None], (1,), [(k - 1, 0)], feature_group_count=d,
                                         dimension_numbers=("NWC", "WIO", "NWC"))
        return jax.nn.silu(y[0])

    def quantized(x):
        q, scale = ops_data.quantized(d, v)
        return (x @ jnp.array(q).astype(x.dtype)) * jnp.array(scale).astype(x.dtype)

    if "axis" in w:
        return [(m, d, v), (m,), (m,)], lambda x, s, b: norm(x, s, b, 0)
    simple = dict(
        layer_norm=([(m, d), (d,), (d,)], norm),
        rms_norm=([(m, d), (d,)], norm),
        softmax=([(m, d)], jax.nn.softmax),
        cross_entropy=([(m, v)], cross_entropy),
        linear_cross_entropy=([(m, d), (d, v)], lambda x, weights: cross_entropy(x @ weights)),
        gated_linear_unit=([(m, d), (d, v), (d, v)], lambda x, gate, up: jax.nn.silu(x @ gate) * (x @ up)),
        ragged_dot=([(m, d), (w["G"], d, v)],
                    lambda x, weights: jax.lax.ragged_dot(x, weights, jnp.array(w.group_sizes(), jnp.int32))),
        quantized_matmul=([(m, d)], quantized),
        top_k=([(m, d)], lambda x: jax.lax.top_k(x, k)),
        causal_conv1d=([(t, d), (d, k)], conv),
    )
    if w.op in simple:
        return simple[w.op]
    if w.op == "triangle_multiplication":
        return [(t, t, d), (d, 2, d), (d, 2, d), (d, d), (d, d)] + [(d,)] * 4, triangle(w)
    if w.op == "gated_delta_rule":
        n, h = w["N"], w["H"]
        return [(t, k, h), (t, k, h), (t, n, h), (t, n), (t, n)], delta_rule(w)
    if w.op.startswith("ragged"):
        return dict(ragged_gather=[(v, d)], ragged_scatter=[(m, d)]).get(w.op, [(m, d), (m,)]), moved_rows(w)
    return attention(w)


def ways(w, options):
    """The one way, with the mean of its results."""
    import jax
    import jax.numpy as jnp

    shapes, f = function(w)
    dtype = dict(f32=jnp.float32, bf16=jnp.bfloat16)[w.dtype]
    operands = [jnp.array(ops_data.uniform(s, i)).astype(dtype) for i, s in enumerate(shapes)]

    def both(*x):
        y, pullback = jax.vjp(f, *x)
        return y, pullback(y)

    run = jax.jit(both if w["grad"] else f)
    results = jax.tree.leaves(run(*operands))
    mean = sum(float(jnp.abs(y.astype(jnp.float32)).mean()) for y in results if jnp.issubdtype(y.dtype, jnp.floating))
    return [(lambda: jax.block_until_ready(run(*operands)), mean)]
