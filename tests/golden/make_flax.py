"""tests/golden/make_flax.py: write flax/*.txt, tables of cases of the layers of Flax (see golden_cases.py): results, new states, gradients.

    python make_flax.py        (pip install flax==0.12.8)
"""
# SPDX-License-Identifier: Apache-2.0
import warnings

warnings.filterwarnings("ignore")

import flax
import flax.linen as linen
from flax import nnx

from golden_cases import *

NEAR = {"tol": 1e-5, "gtol": 1e-5}


def table(what):
    return Cases("make_flax.py", f"{what} of flax {flax.__version__}")


def rngs():
    return nnx.Rngs(0)


def small(*shape, seed):
    return grid(*shape, seed=seed, scale=0.5)


def values(seed, *shapes):
    return [small(*s, seed=seed + k) for k, s in enumerate(shapes)]


def set_params(layer, **params):
    for name, value in params.items():
        old = getattr(layer, name)
        setattr(layer, name, type(old)(value) if isinstance(old, nnx.Variable) else value)
    return layer


# Norms
c = table("Norms")


def batch_norm(x, *rest, width, training=True, scale=True, offset=True, masked=False, dtype=None, **o):
    rest = list(rest)
    mask = rest.pop() if masked else None
    layer = nnx.BatchNorm(width, use_running_average=not training, use_scale=scale, use_bias=offset, dtype=dtype, rngs=rngs(), **o)
    if scale:
        layer.scale = nnx.Param(rest.pop(0))
    if offset:
        layer.bias = nnx.Param(rest.pop(0))
    layer.mean, layer.var = nnx.BatchStat(rest.pop(0)), nnx.BatchStat(rest.pop(0))
    y = layer(x, mask=mask)
    return [y, layer.mean[...], layer.var[...]]


def norm_case(name, fn, shape, width, parameters, *more, seed=0, x=None, check=NEAR, **o):
    x = grid(*shape, seed=seed) if x is None else x
    c.case(name, x, *[small(width, seed=seed + 1 + k) + (k == 0) for k in range(parameters)], *more, fn=fn, grad=True, check=check, width=width, **o)


def averages(width):
    return small(width, seed=20), abs(small(width, seed=21)) + 0.5


for k, shape in enumerate([(4, 3), (2, 3, 3), (2, 2, 2, 3), (7, 1), (2, 1, 2, 2, 3)]):
    norm_case("batch_norm", batch_norm, shape, shape[-1], 2, *averages(shape[-1]), seed=k, epsilon=1e-3)
    norm_case("batch_norm", batch_norm, shape, shape[-1], 2, *averages(shape[-1]), seed=k, training=False)
norm_case("batch_norm", batch_norm, (3, 4, 2), 4, 2, *averages(4), axis=1, momentum=0.5, epsilon=0.1)
norm_case("batch_norm", batch_norm, (3, 4, 2), 3, 2, *averages(3), axis=0, momentum=0.9, epsilon=0.1, training=False)
norm_case("batch_norm", batch_norm, (5, 2), 2, 1, *averages(2), offset=False, use_fast_variance=False, epsilon=1e-2)
norm_case("batch_norm", batch_norm, (5, 2), 2, 1, *averages(2), scale=False, use_fast_variance=True, epsilon=1e-2)
norm_case("batch_norm", batch_norm, (5, 2), 2, 0, *averages(2), scale=False, offset=False, epsilon=1e-2)
row_mask = jnp.asarray([[1], [0], [1], [1], [0]], bool)
norm_case("batch_norm", batch_norm, (5, 2), 2, 2, *averages(2), row_mask, masked=True, epsilon=1e-2, check={**NEAR, "vmap": 0})
norm_case("batch_norm", batch_norm, (5, 2), 2, 2, *averages(2), row_mask, masked=True, training=False, check={**NEAR, "vmap": 0})


def parts(rest, scale, offset, masked):
    rest = list(rest)
    mask = rest.pop() if masked else None
    return (rest.pop(0) if scale else None), (rest.pop(0) if offset else None), mask


def layer_norm(x, *rest, width, scale=True, offset=True, masked=False, over=(-1,), features=(-1,), **o):
    s, b, mask = parts(rest, scale, offset, masked)
    layer = nnx.LayerNorm(width, use_scale=scale, use_bias=offset, reduction_axes=over, feature_axes=features, rngs=rngs(), **o)
    set_params(layer, **({"scale": s} if scale else {}), **({"bias": b} if offset else {}))
    return layer(x, mask=mask)


def rms_norm(x, *rest, width, scale=True, masked=False, over=(-1,), features=(-1,), **o):
    s, _, mask = parts(rest, scale, False, masked)
    layer = nnx.RMSNorm(width, use_scale=scale, reduction_axes=over, feature_axes=features, rngs=rngs(), **o)
    return set_params(layer, **({"scale": s} if scale else {}))(x, mask=mask)


for k, shape in enumerate([(3,), (4, 3), (2, 3, 5), (2, 2, 2, 3), (1, 8)]):
    norm_case("layer_norm", layer_norm, shape, shape[-1], 2, seed=k, epsilon=1e-3)
    norm_case("rms_norm", rms_norm, shape, shape[-1], 1, seed=k, epsilon=1e-3)
norm_case("layer_norm", layer_norm, (4, 3), 3, 1, offset=False, epsilon=1e-2)
norm_case("layer_norm", layer_norm, (4, 3), 3, 1, scale=False, epsilon=1e-2)
norm_case("layer_norm", layer_norm, (4, 3), 3, 0, scale=False, offset=False, epsilon=1e-2)
norm_case("rms_norm", rms_norm, (4, 3), 3, 0, scale=False, epsilon=1e-2)
some = jnp.asarray(np.random.RandomState(5).rand(2, 3, 1, 4) < 0.7)
for name, fn, n in [("norm_over", layer_norm, 2), ("rms_over", rms_norm, 1)]:
    norm_case(name, fn, (2, 3, 2, 4), 4, n, over=(1, 2), features=(-1,), epsilon=1e-2)
    norm_case(name, fn, (2, 3, 2, 4), 8, n, over=(-2, -1), features=(-2, -1), epsilon=1e-2, use_fast_variance=False)
    norm_case(name, fn, (2, 3, 2, 4), 3, n, over=(1,), features=(1,), epsilon=1e-2)
    norm_case(name, fn, (2, 3, 2, 4), 2, n, over=(0, 3), features=(0,), epsilon=1e-2)
    norm_case(name, fn, (2, 3, 2, 4), 4, n, some, over=(1, 2, 3), features=(-1,), masked=True, epsilon=1e-2, check={**NEAR, "vmap": 0})


def group_norm(x, *rest, width, scale=True, offset=True, masked=False, groups=None, **o):
    s, b, mask = parts(rest, scale, offset, masked)
    layer = nnx.GroupNorm(width, num_groups=groups, use_scale=scale, use_bias=offset, rngs=rngs(), **o)
    set_params(layer, **({"scale": s} if scale else {}), **({"bias": b} if offset else {}))
    return layer(x, mask=mask)


def instance_norm(x, *rest, width, scale=True, offset=True, masked=False, features=(-1,), **o):
    s, b, mask = parts(rest, scale, offset, masked)
    layer = nnx.InstanceNorm(width, use_scale=scale, use_bias=offset, feature_axes=features, rngs=rngs(), **o)
    set_params(layer, **({"scale": s} if scale else {}), **({"bias": b} if offset else {}))
    return layer(x, mask=mask)


for k, (shape, groups) in enumerate([((4, 6), 2), ((2, 3, 4), 4), ((2, 2, 2, 6), 3), ((1, 5, 4), 1), ((2, 1, 2, 2, 4), 2)]):
    norm_case("group_norm", group_norm, shape, shape[-1], 2, seed=k, groups=groups, epsilon=1e-2)
    if len(shape) > 2:
        norm_case("instance_norm", instance_norm, shape, shape[-1], 2, seed=k, epsilon=1e-2)
norm_case("group_norm", group_norm, (2, 3, 4), 4, 1, groups=2, offset=False, epsilon=1e-2)
norm_case("group_norm", group_norm, (2, 3, 4), 4, 1, groups=2, scale=False, epsilon=1e-2, use_fast_variance=False)
norm_case("group_norm", group_norm, (2, 3, 4), 4, 2, groups=2, reduction_axes=(1, 2), epsilon=1e-2)
whole = jnp.asarray(np.random.RandomState(6).rand(2, 3, 4) < 0.7)
norm_case("group_norm", group_norm, (2, 3, 4), 4, 2, whole, groups=2, masked=True, epsilon=1e-2, check={**NEAR, "vmap": 0})
norm_case("instance_norm", instance_norm, (2, 4, 3), 3, 2, epsilon=1e-2)
norm_case("instance_norm", instance_norm, (2, 4, 3), 4, 2, features=(1,), epsilon=1e-2)
norm_case("instance_norm", instance_norm, (2, 3, 4), 4, 2, whole, masked=True, epsilon=1e-2, check={**NEAR, "vmap": 0})
norm_case("group_norm", group_norm, (2, 3, 4), 4, 2, groups=3)


def of_linear(kernel, bias):
    return set_params(nnx.Linear(*kernel.shape, rngs=rngs()), kernel=kernel, bias=bias)


def weight_norm(x, kernel, bias, *scale, features=(-1,), **o):
    layer = nnx.WeightNorm(of_linear(kernel, bias), feature_axes=features or None, use_scale=bool(scale), rngs=rngs(), **o)
    if scale:
        layer.scales = nnx.data({path: scale[0] for path in layer.scales})
    return layer(x)


for k, (n, i, o) in enumerate([(2, 3, 4), (1, 4, 2), (5, 1, 3), (2, 2, 2), (3, 6, 1)]):
    x, kernel, bias, scale = values(k, (n, i), (i, o), (o,), (o,))
    c.case("weight_norm", x, kernel, bias, scale + 1, fn=weight_norm, grad=True, check=NEAR)
    if k == 0:
        c.case("weight_norm", x, kernel, bias, fn=weight_norm, grad=True, check=NEAR, epsilon=0.1)
        c.case("weight_norm", x, kernel, bias, small(i, seed=9) + 1, fn=weight_norm, grad=True, check=NEAR, features=(0,), epsilon=0.1)
        c.case("weight_norm", x, kernel, bias, small(i, o, seed=9) + 1, fn=weight_norm, grad=True, check=NEAR, features=(0, 1), epsilon=0.1)


def spectral_norm(x, kernel, bias, u, training=True, **o):
    layer = nnx.SpectralNorm(of_linear(kernel, bias), update_stats=training, rngs=rngs(), **o)
    layer.batch_stats[("kernel", "u")] = nnx.BatchStat(u)
    y = layer(x)
    return [y, layer.batch_stats[("kernel", "u")][...], layer.batch_stats[("kernel", "sigma")][...]]


for k, (n, i, o) in enumerate([(2, 3, 4), (1, 4, 2), (5, 1, 3), (2, 2, 2), (3, 6, 1)]):
    x, kernel, bias, u = values(k, (n, i), (i, o), (o,), (1, o))
    c.case("spectral_norm", x, kernel, bias, u + 1, fn=spectral_norm, check=NEAR)
    c.case("spectral_norm", x, kernel, bias, u + 1, fn=spectral_norm, check=NEAR, n_steps=3, epsilon=1e-3, training=k % 2 == 0)
c.save("flax/norms.txt")

# Convolutions and pools
c = table("Convolutions and pools")


def padding_of(padding, low, high):
    return [(int(a), int(b)) for a, b in zip(low, high)] if low is not None else padding


def conv(x, kernel, *rest, padding="SAME", low=None, high=None, strides=None, dilation=None, input_dilation=None, groups=1, bias=True, masked=False):
    rest = list(rest)
    mask = rest.pop() if masked else None
    layer = nnx.Conv(kernel.shape[-2] * groups, kernel.shape[-1], kernel.shape[:-2], strides=strides, padding=padding_of(padding, low, high), input_dilation=input_dilation,
                     kernel_dilation=dilation, feature_group_count=groups, use_bias=bias, mask=mask, rngs=rngs())
    return set_params(layer, kernel=kernel, **({"bias": rest[0]} if bias else {}))(x)


def conv_transpose(x, kernel, *rest, padding="SAME", low=None, high=None, strides=None, dilation=None, transpose=False, bias=True, masked=False):
    rest = list(rest)
    mask = rest.pop() if masked else None
    i, o = kernel.shape[-2:] if not transpose else kernel.shape[:-3:-1]
    layer = nnx.ConvTranspose(i, o, kernel.shape[:-2], strides=strides, padding=padding_of(padding, low, high), kernel_dilation=dilation, transpose_kernel=transpose,
                              use_bias=bias, mask=mask, rngs=rngs())
    return set_params(layer, kernel=kernel, **({"bias": rest[0]} if bias else {}))(x)


def conv_case(name, shape, kernel, *more, bias=True, transpose=False, **o):
    fn = conv if name == "conv" else conv_transpose
    if name != "conv":
        o["transpose"] = transpose
    out = kernel[-2] if transpose else kernel[-1]
    c.case(name, small(*shape, seed=len(c.lines)), small(*kernel, seed=1), *([small(out, seed=2)] if bias else []), *more, fn=fn, grad=True, check=NEAR, bias=bias, **o)


for padding in ["SAME", "VALID", "CIRCULAR", "REFLECT"]:
    conv_case("conv", (2, 7, 2), (3, 2, 3), padding=padding)
    conv_case("conv", (1, 5, 4, 2), (3, 2, 2, 2), padding=padding, strides=(2, 1))
    conv_case("conv", (1, 7, 2), (2, 2, 2), padding=padding, dilation=(3,))
conv_case("conv", (2, 7, 2), (3, 2, 3), padding="CAUSAL")
conv_case("conv", (2, 7, 2), (3, 2, 3), padding="CAUSAL", dilation=(2,), strides=(2,))
conv_case("conv", (1, 3, 4, 2, 1), (2, 2, 2, 1, 2))
conv_case("conv", (1, 5, 4, 4), (3, 3, 2, 4), groups=2, bias=False)
conv_case("conv", (1, 5, 3), (3, 1, 6), groups=3, padding="VALID")
conv_case("conv", (5, 4, 2), (3, 3, 2, 2))
conv_case("conv", (2, 1, 3, 5, 2), (3, 2, 2))
conv_case("conv", (1, 5, 4, 2), (3, 3, 2, 2), low=(2, 0), high=(0, 1), strides=(2, 3))
conv_case("conv", (1, 4, 2), (3, 2, 2), input_dilation=(2,), low=(1,), high=(0,))
conv_case("conv", (1, 5, 2), (3, 2, 2), whole[:1].reshape(3, 2, 2).astype(jnp.float32), masked=True)
for padding in ["SAME", "VALID", "CIRCULAR"]:
    for transpose in [False, True]:
        conv_case("conv_transpose", (2, 4, 2), (3, 2, 3) if not transpose else (3, 3, 2), padding=padding, strides=(2,), transpose=transpose)
        conv_case("conv_transpose", (1, 3, 2, 2), (4, 3, 2, 2), padding=padding, strides=(2, 3), transpose=transpose)
        conv_case("conv_transpose", (1, 5, 1), (2, 1, 1), padding=padding, transpose=transpose, bias=False)
conv_case("conv_transpose", (1, 4, 2), (3, 2, 2), dilation=(2,), strides=(2,))
conv_case("conv_transpose", (1, 2, 2, 2, 1), (2, 2, 2, 1, 1), strides=(2, 1, 2))
conv_case("conv_transpose", (3, 2, 2), (3, 3, 2, 2), strides=(2, 2))
conv_case("conv_transpose", (1, 4, 2), (3, 2, 2), low=(1,), high=(2,), strides=(2,))
conv_case("conv_transpose", (1, 4, 2), (3, 2, 2), whole[:1].reshape(3, 2, 2).astype(jnp.float32), masked=True, strides=(2,))


def pooled(x, kind, window, strides=None, padding="VALID", low=None, high=None, count=True):
    padding = padding_of(padding, low, high)
    if kind == "prod":
        return nnx.pool(x, 1.0, jax.lax.mul, window, strides, padding)
    more = {"count_include_pad": count} if kind == "avg" else {}
    return getattr(nnx, kind + "_pool")(x, window, strides, padding, **more)


def pool_case(x, window, **o):
    for kind in ["max", "min", "avg"]:
        c.case("pool", x, fn=pooled, grad=kind != "prod", check=NEAR, kind=kind, window=window, **o)


pool_case(grid(2, 6, 3), (2,), strides=(2,))
pool_case(grid(1, 5, 4, 2), (3, 2), strides=(1, 1))
pool_case(grid(1, 5, 4, 2), (2, 3), strides=(2, 2), padding="SAME")
pool_case(grid(1, 3, 2, 4, 1), (2, 2, 2), strides=(1, 1, 2))
pool_case(grid(2, 5, 2), (3,), strides=(2,), low=(1,), high=(2,))
for padding in ["SAME", "VALID"]:
    c.case("pool", grid(1, 5, 4, 2), fn=pooled, grad=True, check=NEAR, kind="avg", window=(3, 3), strides=(2, 1), padding=padding, count=False)
    c.case("pool", grid(1, 5, 2, scale=1), fn=pooled, check=NEAR, kind="prod", window=(3,), strides=(2,), padding=padding)
c.case("pool", jnp.asarray([[[3], [-2], [7], [-2147483648], [5]]], jnp.int32), fn=pooled, kind="max", window=(2,), strides=(1,))
c.save("flax/windows.txt")

# Linear layers, embeddings, activations and dropout
c = table("Linear layers, embeddings, dropout")


def layer_case(name, fn, *inputs, check=NEAR, grad=True, **o):
    c.case(name, *inputs, fn=fn, grad=grad, check=check, **o)


def linear(x, kernel, *bias, bias_used=True, dtype=None):
    return set_params(nnx.Linear(*kernel.shape, use_bias=bias_used, dtype=dtype, rngs=rngs()), kernel=kernel, **({"bias": bias[0]} if bias else {}))(x)


for k, (shape, out) in enumerate([((3,), 2), ((2, 3), 4), ((2, 2, 3), 1), ((1, 5), 5), ((2, 1, 2, 3), 2)]):
    x, kernel, bias = values(k, shape, (shape[-1], out), (out,))
    layer_case("linear", linear, x, kernel, bias)
x, kernel, bias = values(7, (2, 3), (3, 4), (4,))
layer_case("linear", linear, x, kernel, bias_used=False)
layer_case("linear", linear, x, kernel, bias, dtype=jnp.bfloat16, check={"tol": 2e-2, "gtol": 1e-1, "bits": 0})


def linear_general(x, kernel, *bias, inner, out, over=(-1,), batch=(), bias_used=True):
    layer = nnx.LinearGeneral(inner, out, axis=over, batch_axis=dict(enumerate(batch)), use_bias=bias_used, rngs=rngs())
    return set_params(layer, kernel=kernel, **({"bias": bias[0]} if bias else {}))(x)


for k, (shape, inner, out, over, batch) in enumerate([((2, 3), (3,), (2, 2), (-1,), ()), ((2, 3, 4), (3, 4), (5,), (-2, -1), ()), ((2, 3, 4), (3,), (2,), (1,), ()),
                                                      ((2, 3, 4), (4,), (3,), (-1,), (2,)), ((2, 3, 2, 2), (2, 2), (2, 3), (2, 3), (2,)), ((4,), (4,), (1, 3), (0,), ())]):
    x, kernel, bias = values(10 * k, shape, (*batch, *inner, *out), (*batch, *out))
    layer_case("linear_general", linear_general, x, kernel, bias, inner=inner, out=out, over=over, batch=batch)
layer_case("linear_general", linear_general, *values(3, (2, 3), (3, 2, 2)), inner=(3,), out=(2, 2), bias_used=False)


def einsum(x, kernel, *bias, equation):
    return set_params(nnx.Einsum(equation, kernel.shape, bias[0].shape if bias else None, rngs=rngs()), kernel=kernel, **({"bias": bias[0]} if bias else {}))(x)


for k, (equation, shape, kernel_shape, bias_shape) in enumerate([("ab,bc->ac", (2, 3), (3, 4), (4,)), ("nta,hab->nthb", (2, 2, 3), (2, 3, 2), (2, 2)), ("...a,ab->...b", (2, 1, 3), (3, 2), (2,)),
                                                                 ("abc,bd->dac", (2, 3, 2), (3, 4), (4, 1, 1)), ("ab,cb->ac", (3, 2), (2, 2), (2,))]):
    x, kernel, bias = values(10 * k, shape, kernel_shape, bias_shape)
    if equation.startswith("abc"):
        layer_case("einsum", einsum, x, kernel, equation=equation)
    else:
        layer_case("einsum", einsum, x, kernel, bias, equation=equation)


def embed(ids, table):
    return set_params(nnx.Embed(*table.shape, rngs=rngs()), embedding=table)(ids)


def attend(x, table):
    return set_params(nnx.Embed(*table.shape, rngs=rngs()), embedding=table).attend(x)


for k, (shape, count, width) in enumerate([((3,), 4, 2), ((2, 3), 5, 3), ((), 3, 2), ((2, 1, 2), 2, 4), ((4,), 7, 1)]):
    t = small(count, width, seed=k)
    layer_case("embed", embed, jnp.asarray(np.random.RandomState(k).randint(0, count, shape), jnp.int32), t, check={**NEAR, "vmap": 0})
    layer_case("attend", attend, small(*shape, width, seed=k + 5), t)


def prelu(x, slope):
    return set_params(nnx.PReLU(), negative_slope=slope)(x)


for k, shape in enumerate([(3,), (2, 3), (), (2, 2, 2), (1, 5)]):
    layer_case("prelu", prelu, grid(*shape, seed=k), jnp.float32(0.25))


def dropout(x, words, rate, shared=()):
    return nnx.Dropout(rate, broadcast_dims=shared)(x, rngs=jax.random.wrap_key_data(words))


for k, shape in enumerate([(5,), (2, 3), (2, 2, 4), (1, 7), (3, 1, 2, 2)]):
    layer_case("dropout", dropout, grid(*shape, seed=k), jnp.asarray([k, 11 * k + 3], jnp.uint32), rate=[0.5, 0.25, 0.75, 0.1, 1.0][k], check={**NEAR, "vmap": 0})
layer_case("dropout", dropout, grid(4, 3, seed=1), jnp.asarray([1, 2], jnp.uint32), rate=0.5, shared=(0,), check={**NEAR, "vmap": 0})
layer_case("dropout", dropout, grid(4, 3, 2, seed=1), jnp.asarray([1, 2], jnp.uint32), rate=0.5, shared=(-1, 1), check={**NEAR, "vmap": 0})
c.save("flax/linear.txt")

# Attention
c = table("Attention")


def attention(x, *rest, heads, kv_heads=None, norm=False, causal=False, bias=True, cross=0, masked=False, rate=0.0, shared=True, decode=0):
    rest = list(rest)
    keys = rest.pop(0) if cross > 0 else None
    others = rest.pop(0) if cross > 1 else None
    names = ["query", "key", "value", "out"]
    kernels = [rest.pop(0) for _ in names]
    biases = [rest.pop(0) for _ in names] if bias else None
    scales = [rest.pop(0), rest.pop(0)] if norm else None
    key = jax.random.wrap_key_data(rest.pop(0)) if rate else None
    mask = rest.pop(0) if masked else None
    size = kernels[0].shape[-1] // heads
    layer = nnx.MultiHeadAttention(heads, kernels[0].shape[0], kernels[0].shape[-1], kernels[3].shape[-1], in_kv_features=kernels[1].shape[0], num_kv_heads=kv_heads, normalize_qk=norm,
                                   use_bias=bias, decode=decode > 0, dropout_rate=rate, broadcast_dropout=shared, deterministic=not rate, keep_rngs=False, rngs=rngs())
    for k, name in enumerate(names):
        part = getattr(layer, name)
        part.kernel = nnx.Param(kernels[k].reshape(part.kernel.shape))
        if bias:
            part.bias = nnx.Param(biases[k].reshape(part.bias.shape))
    if norm:
        layer.query_ln.scale, layer.key_ln.scale = map(nnx.Param, scales)
    if decode:
        layer.init_cache((*x.shape[:-2], decode, x.shape[-1]))
        ys = [layer(x[..., t:t + 1, :]) for t in range(x.shape[-2])]
        return [jnp.concatenate(ys, -2), layer.cached_key[...], layer.cached_value[...], layer.cache_index[...]]
    if rate:
        attend_with = lambda q, k, v, dropout_rng=None, **o: nnx.dot_product_attention(q, k, v, dropout_rng=key, **o)
        layer.attention_fn = attend_with
    return layer(x, keys, others, mask=mask, is_causal=causal, rngs=rngs() if rate else None)


def attention_case(shape, features, out, seed=0, bias=True, norm=False, kv_heads=None, cross=0, others=None, more=(), heads=1, check=NEAR, grad=True, **o):
    kv = others[-1] if others else shape[-1]
    kv_features = features // heads * (kv_heads or heads)
    extents = [(shape[-1], features), (kv, kv_features), (kv, kv_features), (features, out)]
    inputs = values(seed, shape, *[others] * cross, *extents, *([(features,), (kv_features,), (kv_features,), (out,)] if bias else []))
    if norm:
        inputs += [v + 1 for v in values(seed + 30, (features // heads,), (features // heads,))]
    c.case("attention", *inputs, *more, fn=attention, grad=grad, check=check, bias=bias, norm=norm, kv_heads=kv_heads, cross=cross, heads=heads, **o)


attention_case((2, 3, 4), 4, 4, heads=2)
attention_case((1, 4, 3), 6, 2, heads=3, causal=True)
attention_case((2, 2, 4), 8, 4, heads=4, kv_heads=2, causal=True)
attention_case((1, 1, 2), 2, 2, heads=1, bias=False)
attention_case((2, 2, 2, 4), 4, 3, heads=1)
attention_case((2, 3, 4), 4, 4, heads=2, norm=True)
attention_case((2, 3, 4), 4, 4, heads=2, cross=1, others=(2, 5, 3))
attention_case((1, 2, 4), 4, 4, heads=2, cross=2, others=(1, 4, 2), kv_heads=1, norm=True)
attention_case((2, 3, 4), 4, 4, heads=2, masked=True, more=[jnp.asarray([[[[1, 0, 1]]], [[[1, 1, 0]]]], bool)], check={**NEAR, "vmap": 0})
attention_case((2, 3, 4), 4, 4, heads=2, rate=0.5, more=[jnp.asarray([3, 4], jnp.uint32)], check={**NEAR, "vmap": 0})
attention_case((2, 3, 4), 4, 4, heads=2, rate=0.25, shared=False, more=[jnp.asarray([5, 6], jnp.uint32)], check={**NEAR, "vmap": 0})
attention_case((2, 3, 4), 4, 4, heads=2, decode=5, grad=False)
attention_case((1, 4, 2), 4, 2, heads=4, decode=4, kv_heads=2, norm=True, grad=False)


def weights(q, k, causal=False):
    return nnx.nn.attention.dot_product_attention_weights(q, k, is_causal=causal)


c.case("weights", *values(0, (2, 3, 2, 4), (2, 5, 2, 4)), fn=weights, grad=True, check=NEAR)
c.case("weights", *values(1, (1, 4, 4, 2), (1, 4, 2, 2)), fn=weights, grad=True, check=NEAR, causal=True)


def masks(a, b, kind):
    pair = {"padding": lambda: nnx.make_attention_mask(a, b), "causal": lambda: nnx.make_causal_mask(a),
            "both": lambda: nnx.combine_masks(nnx.make_attention_mask(a, a), None, nnx.make_causal_mask(a)), "equal": lambda: nnx.make_attention_mask(a, b, jnp.equal)}
    return pair[kind]() > 0


for kind in ["padding", "causal", "both", "equal"]:
    c.case("mask", jnp.asarray([[1, 2, 0], [3, 0, 0]], jnp.int32), jnp.asarray([[1, 0, 5, 2], [3, 3, 0, 1]], jnp.int32), fn=masks, kind=kind)
c.save("flax/attention.txt")

# Recurrent layers
c = table("Recurrent layers")
GATES = {"lstm": 4, "gru": 3, "simple": 1, "mgu": 2}


def cell_of(kind, kernel, recurrent, bias, **o):
    i, n = kernel.shape[0], recurrent.shape[0]
    if kind == "lstm":
        cell = nnx.OptimizedLSTMCell(i, n, rngs=rngs(), **o)
        set_params(cell.dense_h, bias=bias)
    else:
        cell = {"gru": nnx.GRUCell, "simple": nnx.SimpleCell}[kind](i, n, rngs=rngs(), **o)
        set_params(cell.dense_i, bias=bias)
    set_params(cell.dense_i, kernel=kernel)
    set_params(cell.dense_h, kernel=recurrent)
    return cell


def flat(carry):
    return list(carry) if isinstance(carry, tuple) else [carry]


def series(x, kernel, recurrent, bias, *rest, cell, lengths=False, started=False, reverse=False, keep_order=True, time_major=False, **o):
    rest = list(rest)
    layer = nnx.RNN(cell_of(cell, kernel, recurrent, bias, **o), reverse=reverse, keep_order=keep_order, time_major=time_major, return_carry=True, rngs=rngs())
    more = {"seq_lengths": rest.pop(0)} if lengths else {}
    if started:
        more["initial_carry"] = tuple(rest) if cell == "lstm" else rest[0]
    carry, y = layer(x, **more)
    if lengths:  # what is behind the end has no meaning
        y = y * (jnp.arange(y.shape[1])[None, :, None] < more["seq_lengths"][:, None, None])
    return [y, *flat(carry)]


def recurrent_case(cell, shape, width, more=(), check=NEAR, started=(), **o):
    g = GATES[cell]
    x, kernel, recurrent, bias = values(len(c.lines), shape, (shape[-1], g * width), (width, g * width), (g * width,))
    c.case("series", x, kernel, recurrent, bias, *more, *values(50, *started), fn=series, grad=True, check=check, cell=cell, **({"started": True} if started else {}), **o)


for cell in ["lstm", "gru", "simple"]:
    for shape, width in [((2, 3, 2), 3), ((1, 4, 1), 2), ((3, 2), 2), ((2, 1, 3), 1), ((2, 2, 2, 2), 2)]:
        recurrent_case(cell, shape, width)
    recurrent_case(cell, (2, 3, 2), 2, reverse=True)
    recurrent_case(cell, (2, 3, 2), 2, reverse=True, keep_order=False)
    recurrent_case(cell, (3, 2, 2), 2, time_major=True)
    recurrent_case(cell, (2, 3, 2), 2, started=[(2, 2)] * (2 if cell == "lstm" else 1))
    for reverse in [False, True]:
        recurrent_case(cell, (3, 4, 2), 2, more=[jnp.asarray([2, 4, 1], jnp.int32)], lengths=True, reverse=reverse, check={**NEAR, "vmap": 0})
recurrent_case("simple", (2, 3, 2), 2, residual=True)


def lstm_parts(x, kernel, recurrent, bias):
    """nnx.LSTMCell has a layer for each gate."""
    cell = nnx.LSTMCell(kernel.shape[0], recurrent.shape[0], rngs=rngs())
    for k, gate in enumerate("ifgo"):
        part = lambda a: jnp.split(a, 4, -1)[k]
        set_params(getattr(cell, {"f": "if_"}.get(gate, "i" + gate)), kernel=part(kernel))
        set_params(getattr(cell, "h" + gate), kernel=part(recurrent), bias=part(bias))
    carry, y = nnx.RNN(cell, return_carry=True)(x)
    return [y, *carry]


c.case("series", *values(9, (2, 3, 2), (2, 12), (3, 12), (12,)), fn=lambda *a, cell: lstm_parts(*a), grad=True, check=NEAR, cell="lstm")


def both_ways(x, *p, cell):
    f, b = cell_of(cell, *p[:3]), cell_of(cell, *p[3:6])
    (first, last), y = nnx.Bidirectional(nnx.RNN(f), nnx.RNN(b), return_carry=True)(x)
    return [y, *flat(first), *flat(last)]


for cell in ["lstm", "gru", "simple"]:
    g = GATES[cell]
    c.case("both_ways", *values(4, (2, 3, 2), *[(2, g * 2), (2, g * 2), (g * 2,)] * 2), fn=both_ways, grad=True, check=NEAR, cell=cell)


def mgu(x, h, kernel, recurrent, bias, reset):
    n = h.shape[-1]
    cell = linen.MGUCell(n, reset_gate=reset)
    p = {f"i{k}": {"kernel": kernel[:, j * n:(j + 1) * n], "bias": bias[j * n:(j + 1) * n]} for j, k in enumerate("fn")}
    p |= {f"h{k}": {"kernel": recurrent[:, j * n:(j + 1) * n]} for j, k in enumerate("fn")}
    if reset:
        p["hn"]["bias"] = jnp.zeros(n)
    return cell.apply({"params": p}, h, x)[1]


def conv_lstm(x, cell_state, hidden, kernel, recurrent, bias, both):
    cell = linen.ConvLSTMCell(hidden.shape[-1], kernel.shape[:-2])
    (c2, h2), y = cell.apply({"params": {"ih": {"kernel": kernel, "bias": bias}, "hh": {"kernel": recurrent, "bias": both}}}, (cell_state, hidden), x)
    return [y, c2, h2]


for k, (shape, width) in enumerate([((2, 3), 2), ((3,), 1), ((1, 2), 3), ((2, 2, 2), 2), ((4, 1), 2)]):
    for reset in [False, True]:
        c.case("mgu", *values(k, shape, (*shape[:-1], width), (shape[-1], 2 * width), (width, 2 * width), (2 * width,)), fn=mgu, grad=True, check=NEAR, reset=reset)
for k, (space, window, width) in enumerate([((4,), (3,), 2), ((3, 2), (2, 2), 1), ((2, 2, 2), (1, 2, 1), 1), ((5,), (2,), 1), ((1, 3), (3, 3), 2)]):
    c.case("conv_lstm", *values(k, (1, *space, 2), (1, *space, width), (1, *space, width), (*window, 2, 4 * width), (*window, width, 4 * width), (4 * width,), (4 * width,)), fn=conv_lstm, grad=True,
           check=NEAR)
for lengths, time_major in [(None, False), ([2, 3], False), ([1, 4], True)]:
    x = jnp.arange(16, dtype=jnp.int32).reshape((4, 2, 2) if time_major else (2, 4, 2))
    c.case("flip_sequences", x, *([jnp.asarray(lengths, jnp.int32)] if lengths else []), fn=lambda x, *n, time_major: nnx.nn.recurrent.flip_sequences(x, n[0] if n else None, 1, time_major), time_major=time_major,
           check={"vmap": 0})
c.save("flax/recurrent.txt")
