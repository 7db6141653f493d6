"""tests/golden/make_goldens.py: write the golden values of this folder with JAX and Optax.

    python make_goldens.py [random promotion ops model_ops optim]

Needs jax, optax and numpy; the tests only read the files it leaves behind. Every file is plain text, one array a line,
`#` starts a comment:

    name dtype rank d0 d1 ... : v0 v1 ...

Values are row-major. Floats carry nine significant digits, enough to give back every float32 exactly (`nan`, `inf`,
`-inf` and `-0` as written); unsigned values are hexadecimal with 0x; signed ones decimal; bool is 0 or 1. Inputs are
rows of their own: `case.in0`, `case.in1` ... give `case.out`; `case.ct` is a cotangent and `case.grad0` the gradient it
gives for in0.
"""
# SPDX-License-Identifier: Apache-2.0
import os
import pathlib
import sys

os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.extend
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax

HERE = pathlib.Path(__file__).parent
SHORT = {"bool": "bool", "int8": "i8", "int16": "i16", "int32": "i32", "uint8": "u8", "uint16": "u16", "uint32": "u32",
         "bfloat16": "bf16", "float16": "f16", "float32": "f32"}
inf, nan = float("inf"), float("nan")


class Rows:
    """The rows of one file."""

    def __init__(self, about):
        self.lines = [f"# {line}" for line in about]

    def note(self, text):
        self.lines.append(f"# {text}")

    def put(self, name, value):
        if isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
            value = jax.random.key_data(value)
        value = np.asarray(value)
        if value.dtype == np.int64:
            value = value.astype(np.int32)
        if value.dtype == np.float64:
            value = value.astype(np.float32)
        dtype = SHORT[value.dtype.name]
        if dtype[0] == "u":
            texts = [f"0x{int(v):0{2 * value.dtype.itemsize}x}" for v in value.ravel()]
        elif dtype[0] == "i" or dtype == "bool":
            texts = [str(int(v)) for v in value.ravel()]
        else:
            texts = [f"{float(v):.9g}" for v in value.ravel()]
        self.lines.append(" ".join([name, dtype, str(value.ndim), *map(str, value.shape), ":", *texts]))

    def case(self, name, function, *inputs, grad=None):
        """Puts inputs, output and, where `grad` lists input numbers, a cotangent and those gradients."""
        inputs = [jnp.asarray(x) for x in inputs]
        for i, x in enumerate(inputs):
            self.put(f"{name}.in{i}", x)
        if grad is None:
            self.put(f"{name}.out", function(*inputs))
            return
        out, pull = jax.vjp(function, *inputs)
        self.put(f"{name}.out", out)
        cotangent = grid(out.shape, seed=97).astype(out.dtype) if out.ndim else jnp.ones((), out.dtype)
        self.put(f"{name}.ct", cotangent)
        cotangents = pull(cotangent)
        for i in grad:
            self.put(f"{name}.grad{i}", cotangents[i])

    def save(self, file):
        path = HERE / file
        path.write_text("\n".join(self.lines) + "\n")
        print(f"{path.name}: {len(self.lines)} lines, {path.stat().st_size} bytes")


def grid(shape, seed=0, scale=1.0):
    """Normal values rounded to multiples of 1/64: exact in float32 and short in text."""
    values = np.random.RandomState(seed).randn(*shape) * scale
    return jnp.asarray(np.round(values * 64) / 64, jnp.float32)


def f32(*values):
    return jnp.asarray(values, jnp.float32)


def i32(*values):
    return jnp.asarray(values, jnp.int32)


def i8(*values):
    return jnp.asarray(values, jnp.int8)


def header(what):
    return [f"{what}; written by make_goldens.py", f"jax {jax.__version__}, optax {optax.__version__}, CPU; "
            f"jax_enable_x64 = {jax.config.jax_enable_x64}"]


# ---- random ----------------------------------------------------------------------------------------------------------


def write_random():
    r = Rows(header("Bits and samples of jax.random") + [
        f"implementation {jax.config.jax_default_prng_impl}, jax_threefry_partitionable = "
        f"{jax.config.jax_threefry_partitionable}",
        "bits, integers, bool and keys are exact; what goes through log, log1p or erf_inv is exact only with the same",
        "polynomials and the same fused multiply-adds"])
    rnd = jax.random

    r.note("threefry2x32 itself: in0 = key [2], in1 = counter [2], out = hashed counter [2]")
    for n, (key, counter) in enumerate([((0, 0), (0, 0)), ((0xffffffff,) * 2, (0xffffffff,) * 2),
                                        ((0x13198a2e, 0x03707344), (0x243f6a88, 0x85a308d3)), ((0, 42), (0, 1)),
                                        ((1, 2), (3, 4))]):
        key, counter = np.array(key, np.uint32), np.array(counter, np.uint32)
        r.put(f"threefry{n}.in0", key)
        r.put(f"threefry{n}.in1", counter)
        r.put(f"threefry{n}.out", jax.extend.random.threefry_2x32(key, counter))

    r.note("keys are rows of two words")
    for seed in (0, 1, 42, 2147483647):
        r.put(f"key_{seed}", rnd.key(seed))
    r.put("key_minus_1", rnd.key(-1))
    key = rnd.key(42)
    for n in (1, 2, 3, 5):
        r.put(f"split_key42_{n}", rnd.split(key, n))
    r.put("split_key42_2x3", rnd.split(key, (2, 3)))
    r.put("split_key0_2", rnd.split(rnd.key(0), 2))
    for data in (0, 1, 7, 1000000):
        r.put(f"fold_in_key42_{data}", rnd.fold_in(key, data))
    r.put("fold_in_key0_7", rnd.fold_in(rnd.key(0), 7))
    r.put("fold_in_of_split1_7", rnd.fold_in(rnd.split(key)[1], 7))

    r.note("every sample below uses key(42) unless its name says otherwise")
    for n in (1, 2, 3, 7, 10):
        r.put(f"bits_{n}", rnd.bits(key, (n,)))
    r.put("bits_scalar", rnd.bits(key))
    r.put("bits_3x4", rnd.bits(key, (3, 4)))
    r.put("bits_key0_5", rnd.bits(rnd.key(0), (5,)))
    r.put("bits_u8_7", rnd.bits(key, (7,), jnp.uint8))
    r.put("bits_u16_7", rnd.bits(key, (7,), jnp.uint16))
    r.put("bits_100000_last8", rnd.bits(key, (100000,))[-8:])

    r.put("uniform_scalar", rnd.uniform(key))
    r.put("uniform_5", rnd.uniform(key, (5,)))
    r.put("uniform_3x4", rnd.uniform(key, (3, 4)))
    r.note("minval -2, maxval 3: max(-2, fma(f, 5, -2)), with one rounding")
    r.put("uniform_minus2_3", rnd.uniform(key, (8,), minval=-2, maxval=3))
    r.put("uniform_bf16_4", rnd.uniform(key, (4,), jnp.bfloat16))
    r.put("uniform_f16_4", rnd.uniform(key, (4,), jnp.float16))
    r.put("normal_8", rnd.normal(key, (8,)))
    r.put("normal_key0_3x4", rnd.normal(rnd.key(0), (3, 4)))
    r.put("normal_bf16_8", rnd.normal(key, (8,), jnp.bfloat16))
    tail = rnd.normal(key, (100000,))
    r.note("normal_100000: first four, smallest, largest, and the mean of squares")
    r.put("normal_100000_first4", tail[:4])
    r.put("normal_100000_extremes", jnp.stack([tail.min(), tail.max()]))
    r.put("normal_100000_mean_square", jnp.asarray(np.mean(np.asarray(tail, np.float64) ** 2), jnp.float32))
    r.put("truncated_normal_minus2_2_8", rnd.truncated_normal(key, -2, 2, (8,)))
    r.put("gumbel_4", rnd.gumbel(key, (4,)))
    r.put("gumbel_high_4", rnd.gumbel(key, (4,), mode="high"))
    r.put("exponential_4", rnd.exponential(key, (4,)))
    r.note("samples that go through a logarithm: to 3 units in the last place of the (larger) logarithm")
    r.put("normal_300", rnd.normal(key, (300,)))
    r.put("truncated_normal_300", rnd.truncated_normal(key, -2, 2, (300,)))
    r.put("exponential_300", rnd.exponential(key, (300,)))
    r.put("gumbel_300", rnd.gumbel(key, (300,)))
    r.put("bernoulli_0.3_16", rnd.bernoulli(key, 0.3, (16,)))
    r.put("bernoulli_0.5_2x5", rnd.bernoulli(key, 0.5, (2, 5)))
    r.put("rademacher_8", rnd.rademacher(key, (8,)))
    r.put("randint_0_10", rnd.randint(key, (8,), 0, 10))
    r.put("randint_minus5_1000", rnd.randint(key, (8,), -5, 1000))
    r.put("randint_0_50304", rnd.randint(key, (8,), 0, 50304))
    r.put("randint_empty_range_3_3", rnd.randint(key, (4,), 3, 3))
    r.put("randint_full_i32", rnd.randint(key, (4,), -2**31, 2**31 - 1))
    r.note("one sort round up to 1625 elements, two from 1626 on")
    for n in (1, 2, 10):
        r.put(f"permutation_{n}", rnd.permutation(key, n))
    for n in (1000, 1625, 1626, 2000, 100000):
        r.put(f"permutation_{n}_first16", rnd.permutation(key, n)[:16])
    r.put("permutation_rows_5x2", rnd.permutation(key, jnp.arange(10).reshape(5, 2)))
    r.put("permutation_independent_3x4", rnd.permutation(key, jnp.arange(12).reshape(3, 4), axis=1, independent=True))
    logits = f32(0.5, -1.0, 2.0, 0.0)
    r.put("categorical_logits", logits)
    r.put("categorical_8", rnd.categorical(key, logits, shape=(8,)))
    r.put("categorical_high_8", rnd.categorical(key, logits, shape=(8,), mode="high"))
    rows = grid((3, 5), seed=3)
    r.put("categorical_rows_logits", rows)
    r.put("categorical_rows", rnd.categorical(key, rows))
    r.put("categorical_rows_axis0", rnd.categorical(key, rows, axis=0))
    r.save("random.txt")


# ---- promotion -------------------------------------------------------------------------------------------------------


def write_promotion():
    lines = [f"# {line}" for line in header("Result dtype of a binary operation, with its weak flag")]
    lines += ["# rows: a b result weak(0/1); i* and f* are the weak types of a Python int and float"]
    strong = ["bool", "int8", "int16", "int32", "uint8", "uint16", "uint32", "bfloat16", "float16", "float32"]
    operands = {SHORT[name]: jnp.zeros((), name) for name in strong}
    operands |= {"i*": jnp.asarray(0), "f*": jnp.asarray(0.0)}
    for a, x in operands.items():
        for b, y in operands.items():
            result = jax.eval_shape(jnp.bitwise_or if a == b == "bool" else jnp.add, x, y)
            lines.append(f"{a} {b} {SHORT[result.dtype.name]} {int(result.weak_type)}")
    lines.append("# true division (x / y): integers and bool become floats")
    for a, x in operands.items():
        result = jax.eval_shape(jnp.true_divide, x, x)
        lines.append(f"divide {a} {SHORT[result.dtype.name]} {int(result.weak_type)}")
    lines.append("# sum over an axis keeps the dtype, but small integers and bool are summed as 32 bits")
    for a, x in operands.items():
        lines.append(f"sum {a} {SHORT[jax.eval_shape(jnp.sum, jnp.zeros((2,), x.dtype)).dtype.name]} 0")
    lines.append("# mean of integers is a float")
    for a, x in operands.items():
        lines.append(f"mean {a} {SHORT[jax.eval_shape(jnp.mean, jnp.zeros((2,), x.dtype)).dtype.name]} 0")
    (HERE / "promotion.txt").write_text("\n".join(lines) + "\n")
    print(f"promotion.txt: {len(lines)} lines")


# ---- ops -------------------------------------------------------------------------------------------------------------


def elementwise(r):
    x = f32(-inf, -100, -6, -3, -1, -0.5, -1e-3, -0.0, 0, 1e-3, 0.5, 1, 3, 6, 100, inf, nan)
    unary = {"gelu_tanh": lambda v: jax.nn.gelu(v, approximate=True),
             "gelu_exact": lambda v: jax.nn.gelu(v, approximate=False), "silu": jax.nn.silu, "relu": jax.nn.relu,
             "softplus": jax.nn.softplus, "elu": jax.nn.elu, "leaky_relu": jax.nn.leaky_relu, "logistic": lax.logistic,
             "log_sigmoid": jax.nn.log_sigmoid, "tanh": jnp.tanh, "erf": lax.erf, "exp": jnp.exp, "expm1": jnp.expm1,
             "log1p": jnp.log1p, "log": jnp.log, "sqrt": jnp.sqrt, "rsqrt": lax.rsqrt, "cbrt": jnp.cbrt, "sin": jnp.sin,
             "cos": jnp.cos, "tan": jnp.tan, "abs": jnp.abs, "square": jnp.square, "reciprocal": jnp.reciprocal,
             "sign": jnp.sign}
    r.note("unary functions and their derivatives on one list of points")
    r.put("unary.in0", x)
    for name, function in unary.items():
        r.put(f"{name}.out", function(x))
        r.put(f"{name}.grad0", jax.vmap(jax.grad(function))(x))
    r.case("erf_inv", lax.erf_inv, f32(-1, -0.999999, -0.9, -0.5, 0, 0.1, 0.5, 0.9, 0.99, 0.99999, 1, 1.5))
    halves = f32(-3.5, -2.5, -1.5, -0.5, -0.0, 0.5, 1.5, 2.5, 3.5, 0.49999997, 8388609, nan, inf, -inf, -0.3, 2.7)
    r.note("round: to nearest even (the public default); round_away: halves away from zero")
    for name, function in {"round": jnp.round, "round_away": lambda v: lax.round(v, lax.RoundingMethod.AWAY_FROM_ZERO),
                           "floor": jnp.floor, "ceil": jnp.ceil, "trunc": jnp.trunc, "is_finite": jnp.isfinite,
                           "is_nan": jnp.isnan}.items():
        r.case(name, function, halves)
    r.case("sign_i32", jnp.sign, i32(-7, 0, 9))
    r.case("abs_i32", jnp.abs, i32(-7, 0, 9, -2147483648))

    r.note("binary: NaN wins in maximum and minimum, and loses every comparison but ne")
    a, b = f32(1, nan, 2, nan, inf, -inf, 3, 3), f32(2, 1, nan, nan, nan, 5, 3, -3)
    for name, function in {"maximum": jnp.maximum, "minimum": jnp.minimum}.items():
        r.case(name, function, a, b)
    for name, function in {"eq": jnp.equal, "ne": jnp.not_equal, "lt": jnp.less, "le": jnp.less_equal,
                           "gt": jnp.greater, "ge": jnp.greater_equal}.items():
        r.case(name, function, a, b)
    base = f32(2, -2, -2, 0, 0, -0.0, 0, inf, -inf, nan, 1, 4, 0.5, -8, 0, 2)
    power = f32(3, 2, 0.5, 0, -1, -1, 2, 0, 3, 0, nan, 0.5, -2, 3, 0.5, 0)
    r.case("pow", jnp.power, base, power, grad=(0, 1))
    r.case("pow_i32", jnp.power, i32(2, -2, 3, 0, 7), i32(10, 3, 0, 0, 11))
    for n in (0, 1, 2, 3, -1, -2):
        name = f"integer_pow_{n}".replace("-", "minus")
        r.case(name, lambda v, n=n: lax.integer_pow(v, n), f32(-2, 0, 0.5, 3), grad=(0,))
    p, q = i32(7, -7, 7, -7, 6, -6, 0, 5, -2147483648), i32(3, 3, -3, -3, 3, -3, 5, 7, 2)
    r.note("div and rem truncate (sign of the dividend); floor_divide and mod floor (sign of the divisor)")
    for name, function in {"div": lax.div, "rem": lax.rem, "floor_divide": jnp.floor_divide, "mod": jnp.mod,
                           "fmod": jnp.fmod}.items():
        r.case(f"{name}_i32", function, p, q)
    p, q = f32(7, -7, 7, -7, 5.5, -5.5, 0, -0.0, 1, inf, 3), f32(3, 3, -3, -3, 2, 2, 5, 5, 0, 2, inf)
    for name, function in {"div": lax.div, "rem": lax.rem, "floor_divide": jnp.floor_divide, "mod": jnp.mod}.items():
        r.case(f"{name}_f32", function, p, q)
    r.note("integer division by zero: quotient -1 (all bits set), remainder the dividend; lowest by -1 wraps")
    r.case("div_i32_edge", lax.div, i32(5, -5, 0, -2147483648), i32(0, 0, 0, -1))
    r.case("rem_i32_edge", lax.rem, i32(5, -5, 0, -2147483648), i32(0, 0, 0, -1))
    u = lambda *v: jnp.asarray(v, jnp.uint32)
    r.case("sub_u32", jnp.subtract, u(1, 0, 7), u(2, 1, 3))
    r.case("shift_left", lax.shift_left, i32(1, 1, 1, -1), i32(3, 31, 32, 4))
    r.case("shift_right_logical", lax.shift_right_logical, i32(-8, 8, -8, 8), i32(1, 1, 32, 40))
    r.case("shift_right_arithmetic", lax.shift_right_arithmetic, i32(-8, 8, -8, 8), i32(1, 1, 32, 40))
    r.case("population_count", lax.population_count, u(0, 1, 255, 4294967295))
    r.case("clz", lax.clz, u(0, 1, 255, 4294967295))
    r.case("atan2", jnp.arctan2, f32(1, -1, 0, -0.0, 0, 2), f32(1, -1, -1, -1, 0, inf), grad=(0, 1))
    r.case("logaddexp", jnp.logaddexp, f32(0, 1, -inf, inf, 100, nan), f32(0, 2, -inf, 1, -100, 1))
    r.note("clamp(low, x, high) = min(max(low, x), high); NaN in x stays")
    r.case("clamp", lax.clamp, f32(-1, -1, -1, -1, 2, -1), f32(-3, 0.5, 3, nan, 1, -1), f32(1, 1, 1, 1, -2, 1))
    r.case("clip_grad", lambda v: jnp.clip(v, -1, 1), f32(-2, -1, 0, 1, 2), grad=(0,))
    r.case("nextafter", jnp.nextafter, f32(0, 1, 1, -1, inf), f32(1, 2, 0, 0, 0))

    r.note("conversions: float to integer truncates, saturates, NaN gives 0; anything but zero is true")
    wide = f32(-2.7, -0.5, 0, 0.5, 2.7, 300, -300, 3e9, -3e9, nan, inf)
    for name in ("int32", "uint8", "int8", "uint32", "bool"):
        r.case(f"convert_f32_{SHORT[name]}", lambda v, name=name: v.astype(name), wide)
    r.case("convert_f32_bf16", lambda v: v.astype(jnp.bfloat16),
           f32(1, 1.00390625, 1.01171875, 1.0078125, 3.4e38, 1e-40, nan, -0.1))
    r.case("convert_f32_f16", lambda v: v.astype(jnp.float16),
           f32(1, 1.00048828125, 65504, 65520, 1e-8, 6e-8, nan, -0.1))
    r.case("convert_i32_u8", lambda v: v.astype(jnp.uint8), i32(-1, 256, 255, 3))
    r.case("convert_i32_f32", lambda v: v.astype(jnp.float32), i32(16777217, -16777219, 5))

    r.note("i8 wraps at 8 bits; bits that come in from above are those of 8-bit words")
    r.case("convert_i32_i8", lambda v: v.astype(jnp.int8), i32(300, -129, 128, 255, -1, 2147483647))
    r.case("convert_u32_i8", lambda v: v.astype(jnp.int8), u(300, 128, 4294967295))
    r.case("convert_i8_u32", lambda v: v.astype(jnp.uint32), i8(-128, -1, 127))
    p, q = i8(-128, 127, -128, 100, -7, 0, 1, 127), i8(-1, 2, 127, 100, 3, 0, 9, -128)
    for name, function in {"add": lax.add, "sub": lax.sub, "mul": lax.mul, "max": lax.max, "div": lax.div, "rem": lax.rem,
                           "floor_divide": jnp.floor_divide, "lt": lax.lt, "xor": lax.bitwise_xor,
                           "shift_left": lax.shift_left, "shift_right_logical": lax.shift_right_logical,
                           "shift_right_arithmetic": lax.shift_right_arithmetic}.items():
        r.case(f"{name}_i8", function, p, q)
    for name, function in {"neg": lax.neg, "abs": lax.abs, "sign": lax.sign, "not": lax.bitwise_not,
                           "population_count": lax.population_count, "clz": lax.clz, "plus_300": lambda v: v + 300,
                           "halves": lambda v: v / 2}.items():
        r.case(f"{name}_i8", function, p)


def reductions(r):
    x = grid((3, 5), seed=1, scale=2)
    for name, function in {"softmax": jax.nn.softmax, "log_softmax": jax.nn.log_softmax,
                           "logsumexp": lambda v: jax.nn.logsumexp(v, axis=-1), "mean": lambda v: v.mean(-1),
                           "var": lambda v: v.var(-1), "std": lambda v: v.std(-1), "sum": lambda v: v.sum(0),
                           "prod": lambda v: v.prod(-1), "max": lambda v: v.max(-1), "min": lambda v: v.min(0),
                           "norm": lambda v: jnp.linalg.norm(v, axis=-1)}.items():
        r.case(name, function, x, grad=(0,))
    r.case("softmax_axis0", lambda v: jax.nn.softmax(v, axis=0), x, grad=(0,))
    masked = jnp.stack([f32(1, -inf, 2, -inf), f32(-inf, -inf, -inf, -inf), f32(1000, 999, -1000, 0),
                        f32(inf, 0, 1, 2)])
    r.note("rows: some -inf, all -inf, large, +inf")
    for name, function in {"softmax": jax.nn.softmax, "log_softmax": jax.nn.log_softmax,
                           "logsumexp": lambda v: jax.nn.logsumexp(v, axis=-1)}.items():
        r.case(f"{name}_masked", function, masked, grad=(0,))
    special = jnp.stack([f32(1, nan, 3), f32(2, 2, 1), f32(-inf, -inf, -inf), f32(nan, inf, nan)])
    for name, function in {"argmax": jnp.argmax, "argmin": jnp.argmin, "reduce_max": jnp.max,
                           "reduce_min": jnp.min}.items():
        r.case(f"{name}_special", lambda v, function=function: function(v, axis=-1), special)
    r.case("argmax_axis0", lambda v: jnp.argmax(v, axis=0), x)
    r.case("argmax_flat", jnp.argmax, x)
    r.case("argmax_i32", lambda v: jnp.argmax(v, axis=-1), jnp.asarray([[3, 7, 7], [-1, -1, -5]], jnp.int32))
    r.case("all", lambda v: v.all(-1), x > -2)
    r.case("any", lambda v: v.any(-1), x > 2)
    r.case("sum_bool", lambda v: v.sum(-1), x > 0)
    r.case("sum_i32_wraps", lambda v: v.sum(), i32(2147483647, 1))
    whole = jnp.asarray(np.arange(40).reshape(2, 20) * 77 % 256 - 128, jnp.int8)
    r.note("sums of i8 are i32, running sums wrap")
    for name, function in {"sum": jnp.sum, "cumsum": jnp.cumsum, "mean": jnp.mean, "argmin": jnp.argmin,
                           "argsort": jnp.argsort}.items():
        r.case(f"{name}_i8", lambda v, function=function: function(v, axis=1), whole)
    r.case("max_i8_rows", lambda v: v.max(1), whole)
    r.case("reduce_sum_i8", lambda v: lax.reduce_sum(v, axes=(0,)), whole)
    for name, function in {"max": lax.reduce_max, "min": lax.reduce_min}.items():
        r.case(f"reduce_{name}_i8_of_none", lambda v, function=function: function(v, axes=(0,)),
               jnp.zeros((0, 2), jnp.int8))
    r.case("mean_bf16", lambda v: v.mean(-1), grid((2, 300), seed=2).astype(jnp.bfloat16))
    for name, function in {"cumsum": jnp.cumsum, "cumprod": jnp.cumprod}.items():
        r.case(name, lambda v, function=function: function(v, axis=1), x, grad=(0,))
    r.case("cumsum_axis0", lambda v: jnp.cumsum(v, axis=0), x)
    r.case("cumsum_reverse", lambda v: lax.cumsum(v, axis=1, reverse=True), x, grad=(0,))
    r.case("cummax", lambda v: lax.cummax(v, axis=1), x)
    r.case("cumlogsumexp", lambda v: lax.cumlogsumexp(v, axis=1), x)
    r.case("sort", lambda v: jnp.sort(v, axis=-1), jnp.stack([f32(3, nan, -1, inf, 0), f32(2, 2, -inf, -0.0, 0)]))
    r.case("argsort_stable", lambda v: jnp.argsort(v, axis=-1),
           jnp.stack([f32(3, nan, -1, inf, 0), f32(2, 2, -inf, 1, 2)]))
    r.case("top_k_values", lambda v: lax.top_k(v, 3)[0], x, grad=(0,))
    r.case("top_k_indices", lambda v: lax.top_k(v, 3)[1], f32(1, 3, 3, 0, 3))

    r.note("derivatives where two rules are possible")
    r.case("reduce_max_ties", lambda v: v.max(-1), jnp.stack([f32(1, 3, 3, 2), f32(5, 5, 5, 5)]), grad=(0,))
    r.case("reduce_min_ties", lambda v: v.min(-1), jnp.stack([f32(1, 3, 1, 2), f32(5, 5, 5, 5)]), grad=(0,))
    r.case("maximum_tie", jnp.maximum, f32(1, 2, 3), f32(1, 3, 2), grad=(0, 1))
    r.case("minimum_tie", jnp.minimum, f32(1, 2, 3), f32(1, 3, 2), grad=(0, 1))
    r.case("maximum_zero", lambda v: jnp.maximum(v, 0), f32(-1, 0, 1), grad=(0,))
    for name, function in {"abs": jnp.abs, "relu": jax.nn.relu, "sqrt": jnp.sqrt, "sign": jnp.sign, "log": jnp.log,
                           "relu6": jax.nn.relu6}.items():
        r.case(f"{name}_at_zero", function, f32(-0.0, 0), grad=(0,))
    r.case("norm_at_zero", lambda v: jnp.sqrt((v * v).sum()), f32(0, 0), grad=(0,))
    r.case("prod_zeros", lambda v: v.prod(-1), jnp.stack([f32(2, 0, 3), f32(0, 0, 3)]), grad=(0,))
    r.case("where_nan", lambda v: jnp.where(v > 0, jnp.sqrt(v), 0), f32(-1, 0, 4), grad=(0,))
    r.case("logsumexp_minus_inf", lambda v: jax.nn.logsumexp(v), f32(-inf, 0, 1), grad=(0,))


def attention_options(r):
    r.note("attention_options: operands of the following attention_ rows, which have .out and .dq, .dk, .dv, .dbias for .ct")
    q, k, v = grid((2, 4, 4, 3), seed=71), grid((2, 5, 2, 3), seed=72), grid((2, 5, 2, 3), seed=73)
    bias, ct = grid((1, 4, 4, 5), seed=74), grid((2, 4, 4, 3), seed=75)
    mask = jnp.asarray(np.random.RandomState(76).rand(2, 1, 4, 5) > 0.4)
    q_lengths, k_lengths = i32(3, 4), i32(5, 2)
    for name, value in dict(q=q, k=k, v=v, bias=bias, ct=ct, mask=mask, q_lengths=q_lengths, k_lengths=k_lengths).items():
        r.put(f"attention_options.{name}", value)
    lengths = dict(query_seq_lengths=q_lengths, key_value_seq_lengths=k_lengths)
    cases = dict(bias=dict(bias=True), bias_mask=dict(bias=True, mask=mask), lengths=lengths,
                 causal_lengths=dict(is_causal=True, **lengths), window=dict(local_window_size=(2, 1)),
                 causal_window=dict(is_causal=True, local_window_size=(1, 0)),
                 everything=dict(bias=True, mask=mask, is_causal=True, scale=0.3, local_window_size=3, **lengths))
    for name, options in cases.items():
        biased = options.pop("bias", False)
        attend = lambda a, b, c, d: jax.nn.dot_product_attention(a, b, c, bias=d if biased else None, **options)
        out, pull = jax.vjp(attend, q, k, v, bias)
        r.put(f"attention_{name}.out", out)
        for gradient, value in zip(("dq", "dk", "dv", "dbias") if biased else ("dq", "dk", "dv"), pull(ct)):
            r.put(f"attention_{name}.{gradient}", value)


def networks(r):
    x = grid((2, 3, 6), seed=4)
    scale, offset = grid((6,), seed=5), grid((6,), seed=6)

    def layer_norm(v, g, b):
        centred = v - v.mean(-1, keepdims=True)
        return centred * lax.rsqrt((centred * centred).mean(-1, keepdims=True) + 1e-5) * g + b

    def rms_norm(v, g):
        return v * lax.rsqrt((v * v).mean(-1, keepdims=True) + 1e-6) * g

    r.note("layer_norm: x, scale, offset, epsilon 1e-5; rms_norm: x, scale, epsilon 1e-6")
    r.case("layer_norm", layer_norm, x, scale, offset, grad=(0, 1, 2))
    r.case("rms_norm", rms_norm, x, scale, grad=(0, 1))

    r.note("attention: q [B, T, N, H], k and v [B, S, K, H]; scores are scaled by 1/sqrt(H)")
    q, k, v = (grid((2, 5, 3, 4), seed=s) for s in (7, 8, 9))
    attend = jax.nn.dot_product_attention
    r.case("attention_causal", lambda a, b, c: attend(a, b, c, is_causal=True), q, k, v, grad=(0, 1, 2))
    r.case("attention_full", attend, q, k, v, grad=(0, 1, 2))
    q, k, v = grid((1, 4, 4, 2), seed=10), grid((1, 4, 2, 2), seed=11), grid((1, 4, 2, 2), seed=12)
    r.case("attention_grouped_causal", lambda a, b, c: attend(a, b, c, is_causal=True), q, k, v, grad=(0, 1, 2))
    q, k, v = grid((1, 3, 2, 2), seed=13), grid((1, 5, 2, 2), seed=14), grid((1, 5, 2, 2), seed=15)
    mask = jnp.asarray(np.random.RandomState(16).rand(1, 2, 3, 5) > 0.3)
    r.put("attention_masked.in3", mask)
    r.case("attention_masked", lambda a, b, c: attend(a, b, c, mask=mask), q, k, v, grad=(0, 1, 2))

    attention_options(r)

    logits, labels = grid((4, 6), seed=17, scale=3), i32(0, 5, 2, 2)
    r.put("softmax_cross_entropy.in1", labels)
    r.case("softmax_cross_entropy", lambda a: optax.softmax_cross_entropy_with_integer_labels(a, labels),
           logits, grad=(0,))
    r.note("classes along the last axis, sizes 5 of a one_hot; indices outside give rows of zeros")
    r.case("one_hot_5", lambda i: jax.nn.one_hot(i, 5), i32(0, 4, 5, -1, 2))

    r.note("einsum: the equation is the case's comment")
    equations = [("ij,jk->ik", (3, 4), (4, 2)), ("bij,bjk->bik", (2, 3, 4), (2, 4, 2)),
                 ("bthd,bshd->bhts", (2, 3, 2, 4), (2, 5, 2, 4)), ("ij->ji", (3, 4)), ("ii->i", (3, 3)),
                 ("ii->", (3, 3)), ("ij->", (3, 4)), ("i,j->ij", (3,), (4,)),
                 ("ij,jk,kl->il", (2, 3), (3, 4), (4, 2)), ("...ij,jk->...ik", (2, 2, 3), (3, 4)),
                 ("ij,ij->i", (3, 4), (3, 4)), ("abc,cd->dab", (2, 3, 4), (4, 2)), ("ij,jk", (3, 4), (4, 2))]
    for n, (equation, *shapes) in enumerate(equations):
        r.note(f"einsum{n}: {equation}")
        r.case(f"einsum{n}", lambda *v, equation=equation: jnp.einsum(equation, *v),
               *(grid(s, seed=20 + n + 31 * i) for i, s in enumerate(shapes)), grad=range(len(shapes)))
    r.note("dot_general contracting (2; 1), batch (0; 0)")
    r.case("dot_general", lambda a, b: lax.dot_general(a, b, (((2,), (1,)), ((0,), (0,)))), grid((2, 3, 4), seed=50),
           grid((2, 4, 5), seed=51), grad=(0, 1))
    r.case("matmul_bf16_to_f32", lambda a, b: jnp.matmul(a, b, preferred_element_type=jnp.float32),
           grid((3, 8), seed=52).astype(jnp.bfloat16), grid((8, 2), seed=53).astype(jnp.bfloat16))
    r.case("matmul_i32", jnp.matmul,
           jnp.arange(6, dtype=jnp.int32).reshape(2, 3), jnp.arange(6, dtype=jnp.int32).reshape(3, 2))
    bytes_ = lambda s, seed: jnp.asarray(np.random.RandomState(seed).randint(-128, 128, s), jnp.int8)
    r.case("matmul_i8", jnp.matmul, bytes_((3, 7), 54), bytes_((7, 5), 55))
    r.case("matmul_i8_to_i32", lambda a, b: jnp.matmul(a, b, preferred_element_type=jnp.int32), bytes_((3, 7), 54),
           bytes_((7, 5), 55))


def convolutions(r):
    r.note("conv: in0 NHWC, in1 HWIO; strides, padding [low, high] per axis, dilations of lhs and rhs, groups are rows")
    cases = {"plain": {}, "same": dict(padding="SAME"), "stride2_valid": dict(strides=(2, 2)),
             "stride2_same": dict(strides=(2, 2), padding="SAME"), "dilated": dict(rhs_dilation=(2, 2), padding="SAME"),
             "lhs_dilated": dict(lhs_dilation=(2, 1), padding=((1, 2), (0, 1))),
             "mixed": dict(strides=(1, 2), padding=((2, 0), (1, 1)), rhs_dilation=(1, 2)),
             "negative_padding": dict(padding=((-1, 0), (0, -1)))}
    for n, (name, options) in enumerate(cases.items()):
        image, weights = grid((2, 5, 6, 2), seed=60 + n), grid((3, 2, 2, 3), seed=80 + n)
        convolve(r, name, image, weights, 1, options)
    convolve(r, "grouped", grid((1, 4, 4, 4), seed=90), grid((3, 3, 2, 4), seed=91), 2, dict(padding="SAME"))
    convolve(r, "depthwise", grid((1, 4, 4, 3), seed=92), grid((2, 2, 1, 6), seed=93), 3, dict())
    r.case("conv_nchw_oihw", lambda x, w: lax.conv_general_dilated(x, w, (1, 1), "VALID"), grid((1, 2, 4, 4), seed=94),
           grid((3, 2, 2, 2), seed=95), grad=(0, 1))
    r.case("conv_1d_same", lambda x, w: lax.conv_general_dilated(
        x, w, (1,), "SAME", dimension_numbers=("NWC", "WIO", "NWC")), grid((1, 6, 2), seed=96),
           grid((3, 2, 2), seed=97), grad=(0, 1))
    r.note("windows 2x2, strides 2x2 on NHWC; the tie goes to the first maximum")
    window = ((1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    for name, image in {"max_pool": grid((1, 4, 5, 2), seed=98), "max_pool_tie": jnp.ones((1, 2, 2, 1))}.items():
        r.case(name, lambda x: lax.reduce_window(x, -jnp.inf, lax.max, *window), image, grad=(0,))
    r.case("sum_pool", lambda x: lax.reduce_window(x, 0.0, lax.add, *window), grid((1, 4, 5, 2), seed=99), grad=(0,))


def convolve(r, name, image, weights, groups, options):
    strides, lhs, rhs = (options.get(k, (1, 1)) for k in ("strides", "lhs_dilation", "rhs_dilation"))
    padding = options.get("padding", "VALID")
    if isinstance(padding, str):
        spread = [(n - 1) * d + 1 for n, d in zip(weights.shape[:2], rhs)]
        padding = lax.padtype_to_pads(image.shape[1:3], spread, strides, padding)
    for key, value in dict(strides=strides, padding=padding, lhs_dilation=lhs, rhs_dilation=rhs, groups=groups).items():
        r.put(f"conv_{name}.{key}", np.asarray(value, np.int32))
    r.case(f"conv_{name}", lambda x, w: lax.conv_general_dilated(
        x, w, strides, padding, lhs_dilation=lhs, rhs_dilation=rhs, feature_group_count=groups,
        dimension_numbers=("NHWC", "HWIO", "NHWC")), image, weights, grad=(0, 1))


def indexing(r):
    x = grid((4, 3), seed=100)
    index = i32(0, 3, 4, -1, -4, -5, 9)
    r.note("take along axis 0: fill gives NaN outside, negatives count from the end; clip clips; wrap is modulo")
    for mode in ("fill", "clip", "wrap"):
        r.put(f"take_{mode}.in1", index)
        r.case(f"take_{mode}", lambda v, mode=mode: jnp.take(v, index, axis=0, mode=mode), x, grad=(0,))
    r.note("take_index is x[i]: negatives count from the end; what is outside is clamped, but its gradient is dropped")
    r.put("take_index.in1", index)
    r.case("take_index", lambda v: v[index], x, grad=(0,))
    r.case("take_fill_i32", lambda v: jnp.take(v, index, mode="fill"), i32(10, 11, 12, 13))
    r.case("take_fill_i8", lambda v: jnp.take(v, index, mode="fill"), i8(10, 11, 12, 13))
    r.case("take_axis1", lambda v: jnp.take(v, i32(2, 0, 0), axis=1), x, grad=(0,))
    along = jnp.asarray([[0], [2], [1], [1]], jnp.int32)
    r.put("take_along_axis.in1", along)
    r.case("take_along_axis", lambda v: jnp.take_along_axis(v, along, axis=1), x, grad=(0,))
    r.note("scatter_add: x.at[i].add(u); outside is dropped, negatives count from the end, repeats add up")
    where, update = i32(1, 1, -1, 4, 0), grid((5, 3), seed=101)
    r.put("scatter_add.in2", where)
    r.case("scatter_add", lambda v, u: v.at[where].add(u), x, update, grad=(0, 1))
    r.case("scatter_set", lambda v: v.at[i32(0, -1, 7)].set(5.0), f32(1, 2, 3))
    r.note("dynamic slices: starts are clamped so that the whole slice fits")
    for start in (-7, -1, 0, 2, 3, 9):
        name = f"{start}".replace("-", "minus")
        r.case(f"dynamic_slice_{name}", lambda v, start=start: lax.dynamic_slice(v, (start,), (3,)), f32(0, 1, 2, 3, 4))
        r.case(f"dynamic_update_slice_{name}", lambda v, u, start=start: lax.dynamic_update_slice(v, u, (start,)),
               f32(0, 1, 2, 3, 4), f32(10, 11, 12))
    r.case("slice_strided", lambda v: v[1:4:2, ::-1], x, grad=(0,))
    r.case("concatenate", lambda a, b: jnp.concatenate([a, b], axis=1), x, grid((4, 2), seed=102), grad=(0, 1))
    for name, config in {"negative": ((-1, 2, 0), (1, -1, 0)), "interior": ((1, 0, 2), (0, 1, 1)),
                         "mixed": ((-2, 1, 1), (1, -2, 2))}.items():
        r.put(f"pad_{name}.low_high_interior", np.asarray(config, np.int32))
        r.case(f"pad_{name}", lambda v, p, config=config: lax.pad(v, p, config), x, jnp.float32(9), grad=(0, 1))
    r.case("transpose", lambda v: v.transpose(2, 0, 1), grid((2, 3, 2), seed=103))
    r.case("iota_2x3_axis1", lambda: lax.broadcasted_iota(jnp.int32, (2, 3), 1))
    r.case("linspace_0_1_5", lambda: jnp.linspace(0, 1, 5))
    r.case("arange_1_8_2", lambda: jnp.arange(1, 8, 2))
    r.case("tril", jnp.tril, grid((3, 4), seed=104))
    r.case("triu_1", lambda v: jnp.triu(v, 1), grid((3, 4), seed=104))
    r.case("roll_1", lambda v: jnp.roll(v, 1, axis=0), x)
    r.case("repeat_2", lambda v: jnp.repeat(v, 2, axis=1), x, grad=(0,))
    r.case("tile_2x1", lambda v: jnp.tile(v, (2, 1)), x, grad=(0,))


def write_model_ops():
    r = Rows(header("Values and gradients of the operations of models"))
    r.note("ragged_dot: lhs [M, K], rhs of the form, group_sizes [G]; two rows are in no group")
    lhs, sizes = grid((8, 5), seed=1), i32(2, 0, 3, 1)
    numbers = lambda contract, ragged, group: lax.RaggedDotDimensionNumbers(  # noqa: E731
        dot_dimension_numbers=(contract, ((), ())), lhs_ragged_dimensions=ragged, rhs_group_dimensions=group)
    r.case("ragged_dot", lax.ragged_dot, lhs, grid((4, 5, 3), seed=2), sizes, grad=(0, 1))
    for name, dims, rhs in (("transposed", numbers(((1,), (2,)), (0,), (0,)), grid((4, 3, 5), seed=2)),
                            ("contracting", numbers(((0,), (0,)), (0,), ()), grid((8, 3), seed=2))):
        r.case(f"ragged_dot_{name}", lambda a, b, n, dims=dims: lax.ragged_dot_general(a, b, n, dims), lhs, rhs, sizes,
               grad=(0, 1) if name == "transposed" else None)  # JAX has no gradients of the other one

    r.note("gated_linear_unit: x [2, 3, 4], weights [4, 2, 5], silu of the first product times the second")
    x, w = grid((2, 3, 4), seed=3), grid((4, 2, 5), seed=4)
    r.case("gated_linear_unit", lambda x, w: jax.nn.silu(x @ w[:, 0]) * (x @ w[:, 1]), x, w, grad=(0, 1))

    def norm(x, g, b, axis, mean=True, more=0.0):
        v = jnp.moveaxis(x, axis, -1)
        centred = v - v.mean(-1, keepdims=True) if mean else v
        y = centred * lax.rsqrt((centred * centred).mean(-1, keepdims=True) + 1e-6) * (g + more) + b
        return jnp.moveaxis(y, -1, axis)

    r.note("layer_norm of axis 1: x [3, 4, 2], scale + 1, offset; rms_norm of axis 0: x, scale + 0.5")
    x = grid((3, 4, 2), seed=5)
    r.case("layer_norm_axis1", lambda x, g, b: norm(x, g, b, 1, more=1.0), x, grid((4,), seed=6), grid((4,), seed=7),
           grad=(0, 1, 2))
    r.case("rms_norm_axis0", lambda x, g: norm(x, g, 0.0, 0, mean=False, more=0.5), x, grid((3,), seed=8), grad=(0, 1))

    def loss(x, w, b, labels, rows):
        z = 3.0 * jnp.tanh((x @ w + b) / 3.0)
        lse = jax.nn.logsumexp(z, -1)
        safe = jnp.where(labels == -100, 0, labels)
        hit = 0.9 * jnp.take_along_axis(z, safe[:, None], -1)[:, 0] + 0.1 * z.mean(-1)
        rows = jnp.where(labels == -100, 0.0, rows)
        return ((lse - hit + 0.01 * lse * lse) * rows).sum() / rows.sum()

    r.note("linear_softmax_cross_entropy: x [6, 4], weights [4, 7], bias [7], labels (-100 is ignored), weights of rows; soft")
    r.note("cap 3, label smoothing 0.1, z-loss 0.01, mean")
    r.case("linear_softmax_cross_entropy", loss, grid((6, 4), seed=9), grid((4, 7), seed=10), grid((7,), seed=11),
           i32(0, 6, -100, 3, 2, -100), f32(1, 0.5, 2, 1, 0.25, 1), grad=(0, 1, 2))

    def triangle(x, mask, pin, gin, pout, gout, *, outgoing):
        x = norm(x, 1.0, 0.0, -1)
        ab = jax.nn.sigmoid(jnp.einsum("ijc,cth->ijth", x, gin)) * jnp.einsum("ijc,cth->ijth", x, pin)
        ab = jnp.where(mask[:, :, None, None], ab, 0)
        a, b = ab[:, :, 0], ab[:, :, 1]
        y = jnp.einsum("ikc,jkc->ijc" if outgoing else "kjc,kic->ijc", a, b)
        return (norm(y, 1.0, 0.0, -1) @ pout) * jax.nn.sigmoid(x @ gout)

    r.note("triangle multiplication: x [4, 4, 3], mask, projection and gate in [3, 2, 5], out [5, 6] and [3, 6]")
    mask = jnp.asarray(np.random.RandomState(12).rand(4, 4) < 0.8)
    for outgoing in (True, False):
        r.case("triangle_outgoing" if outgoing else "triangle_incoming",
               lambda *a, outgoing=outgoing: triangle(*a, outgoing=outgoing), grid((4, 4, 3), seed=13), mask,
               grid((3, 2, 5), seed=14), grid((3, 2, 5), seed=15), grid((5, 6), seed=16), grid((3, 6), seed=17),
               grad=(0, 2, 3, 4, 5))
    r.save("model_ops.txt")


def write_ops():
    r = Rows(header("Values and gradients of single operations"))
    for part in (elementwise, reductions, networks, convolutions, indexing):
        part(r)
    r.save("ops.txt")


# ---- optim -----------------------------------------------------------------------------------------------------------


def write_optim():
    r = Rows(header("Optimiser trajectories on f(x) = sum(x^2 * w)"))
    r.note("x starts at [1, 2, 3]; row n of a trajectory is x after step n + 1; rate 0.1 unless said otherwise")
    weights = f32(1, 2, 3)
    r.put("w", weights)
    r.put("x0", weights)
    gradient = jax.grad(lambda x: (x * x * weights).sum())

    def trajectory(name, optimizer, steps=5):
        x, rows = f32(1, 2, 3), []
        state = optimizer.init(x)
        for _ in range(steps):
            updates, state = optimizer.update(gradient(x), state, x)
            x = optax.apply_updates(x, updates)
            rows.append(x)
        r.put(name, jnp.stack(rows))

    trajectory("sgd", optax.sgd(0.1))
    r.note("sgd_momentum 0.9; sgd_nesterov 0.9; both with rate 0.01")
    trajectory("sgd_momentum", optax.sgd(0.01, momentum=0.9))
    trajectory("sgd_nesterov", optax.sgd(0.01, momentum=0.9, nesterov=True))
    r.note("adam and adamw: b1 0.9, b2 0.999, eps 1e-8; adamw: weight_decay 0.1")
    trajectory("adam", optax.adam(0.1))
    trajectory("adamw", optax.adamw(0.1, weight_decay=0.1))
    trajectory("adamw_b2_0.95_eps_1e-6", optax.adamw(0.1, b2=0.95, eps=1e-6, weight_decay=0.01))
    trajectory("clip_1_adam", optax.chain(optax.clip_by_global_norm(1.0), optax.adam(0.1)))
    trajectory("clip_1_sgd", optax.chain(optax.clip_by_global_norm(1.0), optax.sgd(0.1)))
    trajectory("clip_1000_sgd", optax.chain(optax.clip_by_global_norm(1000.0), optax.sgd(0.1)))
    trajectory("clip_value_2_sgd", optax.chain(optax.clip(2.0), optax.sgd(0.1)))
    trajectory("lion", optax.lion(0.1))
    trajectory("rmsprop", optax.rmsprop(0.1))
    trajectory("adagrad", optax.adagrad(0.1))

    r.note("schedules at steps 0, 1, ..., 20")
    steps = range(21)
    at_steps = lambda schedule: f32(*(schedule(n) for n in steps))
    r.note("warmup_cosine: init 0, peak 1, warmup 5, decay 15 (which counts the warmup), end 0.1")
    warmup = optax.warmup_cosine_decay_schedule(0.0, 1.0, 5, 15, 0.1)
    r.put("warmup_cosine", at_steps(warmup))
    r.note("cosine: init 1, decay 10, alpha 0.1; linear: 1 to 0.1 in 10; exponential: init 1, transition 5, rate 0.5")
    r.put("cosine", at_steps(optax.cosine_decay_schedule(1.0, 10, 0.1)))
    r.put("linear", at_steps(optax.linear_schedule(1.0, 0.1, 10)))
    r.put("exponential", at_steps(optax.exponential_decay(1.0, 5, 0.5)))
    trajectory("adamw_warmup_cosine", optax.adamw(
        optax.warmup_cosine_decay_schedule(0.0, 0.1, 2, 6, 0.01), weight_decay=0.1), steps=8)

    r.note("MultiSteps: the mean gradient of every 2 calls is applied at the second; x after each of 6 calls")
    trajectory("multi_steps_2_sgd", optax.MultiSteps(optax.sgd(0.1), 2).gradient_transformation(), steps=6)
    trajectory("multi_steps_2_adam", optax.MultiSteps(optax.adam(0.1), 2).gradient_transformation(), steps=6)

    def varying(name, optimizer, steps=6):
        x, rows = f32(1, 2, 3), []
        state = optimizer.init(x)
        for n in range(steps):
            updates, state = optimizer.update(gradient(x) * (n + 1), state, x)
            x = optax.apply_updates(x, updates)
            rows.append(x)
        r.put(name, jnp.stack(rows))

    r.note("the same with call n's gradient multiplied by n + 1, so that the mean differs from its parts")
    varying("multi_steps_2_sgd_varying", optax.MultiSteps(optax.sgd(0.01), 2).gradient_transformation())
    r.note("three leaves blocks[0].kernel, blocks[0].bias, head, which start at x0 times 1, 2, -1, each with f: [steps, 3, 3]")

    def of_three(name, make, steps=5):
        named = dict(blocks=[dict(kernel=f32(1, 2, 3), bias=f32(2, 4, 6))], head=f32(-1, -2, -3))
        labels = lambda f: dict(blocks=[dict(kernel=f("kernel"), bias=f("bias"))], head=f("head"))
        optimizer = make(labels)
        state, rows = optimizer.init(named), []
        loss = lambda p: sum((x * x * weights).sum() for x in jax.tree_util.tree_leaves(p))
        for _ in range(steps):
            value, grads = jax.value_and_grad(loss)(named)
            updates, state = optax.with_extra_args_support(optimizer).update(grads, state, named, value=value)
            named = optax.apply_updates(named, updates)
            block = named["blocks"][0]
            rows.append(jnp.stack([block["kernel"], block["bias"], named["head"]]))
        r.put(name, jnp.stack(rows))

    of_three("masked_decay", lambda labels: optax.adamw(0.1, weight_decay=0.5, mask=labels(lambda n: n == "kernel")))
    of_three("masked_adam", lambda labels: optax.masked(optax.adam(0.1), labels(lambda n: n != "head")))
    of_three("frozen_bias", lambda labels: optax.chain(
        optax.clip_by_global_norm(1.0), optax.adam(0.1), optax.masked(optax.set_to_zero(), labels(lambda n: n == "bias"))))
    of_three("multi_transform", lambda labels: optax.multi_transform(dict(
        kernel=optax.chain(optax.clip_by_global_norm(0.5), optax.adamw(0.1, weight_decay=0.1)), bias=optax.sgd(0.05, momentum=0.9),
        head=optax.set_to_zero()), labels(lambda n: n)))
    of_three("reduce_on_plateau", lambda labels: optax.chain(optax.sgd(0.4), optax.contrib.reduce_on_plateau(
        factor=0.5, patience=2, rtol=1e-4, cooldown=1, accumulation_size=1)), steps=14)
    of_three("reduce_on_plateau_mean", lambda labels: optax.chain(optax.sgd(0.4), optax.contrib.reduce_on_plateau(
        factor=0.3, patience=1, atol=1e6, rtol=0, cooldown=2, accumulation_size=2, min_scale=0.1)), steps=16)
    r.note("schedules at steps 0, 1, ..., 20: joined at 5 and 12, linear 0 to 1 in 5, cosine 1 in 7 with alpha 0.2, 0.05;")
    r.note("pieces at 5, 11 and 17 of 0.5, 0.1 and 4")
    r.put("joined", at_steps(optax.join_schedules([optax.linear_schedule(0, 1, 5), optax.cosine_decay_schedule(1.0, 7, 0.2),
                                                   optax.constant_schedule(0.05)], [5, 12])))
    pieces = {5: 0.5, 11: 0.1, 17: 4.0}
    r.put("piecewise_constant", at_steps(optax.piecewise_constant_schedule(2.0, pieces)))
    r.put("piecewise_linear", at_steps(optax.piecewise_interpolate_schedule("linear", 2.0, pieces)))
    r.put("piecewise_cosine", at_steps(optax.piecewise_interpolate_schedule("cosine", 2.0, pieces)))
    trajectory("adam_joined", optax.adam(optax.join_schedules([optax.linear_schedule(0, 0.1, 3), optax.exponential_decay(
        0.1, 2, 0.5)], [3])), steps=8)
    r.put("global_norm", optax.global_norm([f32(1, 2), f32(-2, 4)]))
    r.save("optim.txt")


if __name__ == "__main__":
    writers = dict(random=write_random, promotion=write_promotion, ops=write_ops, model_ops=write_model_ops,
                   optim=write_optim)
    for which in sys.argv[1:] or writers:
        writers[which]()
