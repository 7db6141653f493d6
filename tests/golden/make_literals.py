"""tests/golden/make_literals.py: write literals.txt, programs on numbers known while tracing, with their values in JAX.

    python make_literals.py

Needs jax and numpy; the tests only read the file. One program a line, `#` starts a comment:

    name dtype bits : program

`bits` is the value in hexadecimal. The program is a tree of operations in prefix notation. Its leaves are `dtype:bits`,
or `weak_i32:bits` and `weak_f32:bits` for numbers that take the dtype of what they meet. Programs that meet a NaN, a
negative zero or a denormal number on their way are left out: JAX flushes the last.
"""
# SPDX-License-Identifier: Apache-2.0
import os
import pathlib
import random

os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

DTYPES = {"bool": jnp.bool_, "i8": jnp.int8, "i32": jnp.int32, "u32": jnp.uint32, "bf16": jnp.bfloat16,
          "f32": jnp.float32}
NAMES = {np.dtype(t): n for n, t in DTYPES.items()}
INTEGERS, FLOATS = ("i8", "i32", "u32"), ("f32", "bf16")


def alike(f):
    """A function of operands of one dtype, for operands of any."""
    def g(*xs):
        dtype = jnp.result_type(*xs)
        return f(*[x.astype(dtype) for x in xs])
    return g


def shift(f):
    """A shift by an amount of any dtype; one outside of [0, number of bits) moves all bits out."""
    def g(a, s):
        bits = 8 * a.dtype.itemsize
        return f(a, jnp.where((s >= 0) & (s < bits), s, bits).astype(a.dtype))
    return g


def logical(f):
    return lambda *xs: f(*[x.astype(jnp.bool_) for x in xs])


BINARY = {
    "add": jnp.add, "sub": jnp.subtract, "mul": jnp.multiply, "max": jnp.maximum, "min": jnp.minimum,
    "lt": jnp.less, "le": jnp.less_equal, "gt": jnp.greater, "ge": jnp.greater_equal, "eq": jnp.equal,
    "ne": jnp.not_equal, "remainder": jnp.remainder, "floor_divide": jnp.floor_divide, "div": jnp.true_divide,
    "rem": alike(lax.rem), "quotient": alike(lax.div), "and": jnp.bitwise_and, "or": jnp.bitwise_or,
    "xor": jnp.bitwise_xor, "shift_left": shift(lax.shift_left),
    "shift_right_logical": shift(lax.shift_right_logical),
    "shift_right_arithmetic": shift(lax.shift_right_arithmetic),
    "logical_and": logical(jnp.logical_and), "logical_or": logical(jnp.logical_or),
}
UNARY = {"neg": jnp.negative, "abs": jnp.abs, "sign": jnp.sign, "not": jnp.bitwise_not, "relu": jax.nn.relu,
         "square": jnp.square, "clz": lax.clz, "population_count": lax.population_count, "sqrt": jnp.sqrt,
         "floor": jnp.floor, "ceil": jnp.ceil, "logical_not": logical(jnp.logical_not)}
UNARY.update({f"astype_{n}": (lambda t: lambda x: x.astype(t))(t) for n, t in DTYPES.items()})
ARITHMETIC = ["add", "sub", "mul", "max", "min"]
COMPARE = ["lt", "le", "gt", "ge", "eq", "ne"]
BITS = ["and", "or", "xor", "shift_left", "shift_right_logical", "shift_right_arithmetic"]
DIVIDE = ["remainder", "floor_divide"]


def bits_of(x):
    x = np.asarray(x)
    return f"{int.from_bytes(x.tobytes(), 'little'):0{2 * x.dtype.itemsize}x}"


def leaf(kind, value):
    if kind == "weak_i32":
        x = jnp.asarray(int(value))
    elif kind == "weak_f32":
        x = jnp.asarray(float(value))
    else:
        x = jnp.asarray(value, DTYPES[kind])
    return f"{kind}:{bits_of(x)}", x


class Odd(Exception):
    """A value on the way that JAX and IEEE 754 may see differently."""


def checked(x):
    v = np.asarray(x)
    if jnp.issubdtype(v.dtype, jnp.floating):
        f = v.astype(np.float64)
        if np.isnan(f) or (f == 0 and np.signbit(f)) or 0 < abs(f) < 1.2e-38:
            raise Odd
    return x


def apply(name, *args):
    texts, xs = zip(*args)
    if name == "select":
        y = jnp.where(*xs)
    else:
        y = (BINARY if len(xs) == 2 else UNARY)[name](*xs)
    return " ".join([name, *texts]), checked(y)


def number(rng, kind):
    if kind == "bool":
        return leaf(kind, rng.random() < 0.5)
    if kind == "weak_i32":
        return leaf(kind, rng.choice([0, 1, 2, -1, 3, 7, 31, 100, 300, -129, 65536, 2147483647, -2147483648]))
    if kind == "weak_f32":
        return leaf(kind, rng.choice([0.1, 0.5, 3.0, -2.7, 1e-3, 1e10, 0.3, 255.5]))
    if kind in INTEGERS:
        low, high = np.iinfo(DTYPES[kind]).min, np.iinfo(DTYPES[kind]).max
        return leaf(kind, rng.choice([low, high, high // 2 + 1, 0, 1, 7, rng.randint(low, high), rng.randint(low, high),
                                      rng.randint(0, min(high, 70000))]))
    return leaf(kind, rng.choice([0.1, 0.3, 1.0, 3.0, 0.001, -0.7, 16777217.0, 1e8, 1e-20, -2.5,
                                  rng.uniform(-4, 4), rng.uniform(-4e3, 4e3)]))


def grow(rng, kinds, depth):
    """A random program on leaves of these kinds."""
    if depth == 0:
        return number(rng, rng.choice(kinds))
    sub = lambda: grow(rng, kinds, rng.randint(0, depth - 1))
    a = grow(rng, kinds, depth - 1)
    if a[1].dtype == jnp.bool_:
        if rng.random() < 0.5:
            return apply("select", a, sub(), sub())
        return apply(rng.choice(["logical_not", "astype_i32", "astype_f32", "astype_u32", "astype_i8"]), a)
    integer = jnp.issubdtype(a[1].dtype, jnp.integer)
    r = rng.random()
    if r < 0.12:
        return apply("astype_" + rng.choice(INTEGERS + FLOATS), a)
    if r < 0.24:
        return apply(rng.choice(["neg", "abs", "sign", "relu", "square"] +
                                (["not", "clz", "population_count"] if integer else ["floor", "ceil"])), a)
    b = sub()
    if b[1].dtype == jnp.bool_:
        b = apply("astype_" + NAMES[np.dtype(a[1].dtype)], b)
    if rng.random() < 0.3:
        a, b = b, a
    if jnp.issubdtype(a[1].dtype, jnp.integer) and jnp.issubdtype(b[1].dtype, jnp.integer):
        return apply(rng.choice(ARITHMETIC * 3 + COMPARE + BITS * 2 + DIVIDE * 2 + ["quotient", "rem", "div"]), a, b)
    return apply(rng.choice(ARITHMETIC * 4 + COMPARE + ["div"] * 2), a, b)


def known():
    """Programs that were once wrong."""
    i8, i32, u32 = (lambda v, k=k: leaf(k, v) for k in INTEGERS)
    f32, bf16 = (lambda v, k=k: leaf(k, v) for k in FLOATS)
    weak, boolean = (lambda v: leaf("weak_i32", v)), (lambda v: leaf("bool", v))
    yield apply("mul", i32(65536), i32(65536))
    yield apply("mul", i32(123456789), i32(987654321))
    yield apply("mul", u32(123456789), u32(987654321))
    yield apply("mul", u32(2654435761), u32(2654435761))
    yield apply("mul", i32(2147483647), i32(2147483647))
    yield apply("sub", i32(-2147483648), weak(1))
    yield apply("neg", i32(-2147483648))
    yield apply("gt", apply("sub", u32(0), u32(1)), u32(0))
    yield apply("lt", apply("add", i32(2147483647), i32(1)), i32(0))
    yield apply("max", apply("shift_left", u32(1), weak(31)), u32(3))
    yield apply("astype_f32", apply("astype_u32", i32(-1)))
    yield apply("astype_i32", u32(4000000000))
    yield apply("sub", apply("mul", f32(.1), f32(3)), f32(.3))
    yield apply("sub", apply("add", bf16(1), bf16(.001)), bf16(1))
    yield apply("astype_f32", i32(16777217))
    for name in DIVIDE:
        yield apply(name, i32(-3), u32(4000000000))
        yield apply(name, u32(7), weak(-1))
        yield apply(name, weak(-1), u32(7))
        yield apply(name, i32(-7), boolean(True))
        yield apply(name, boolean(True), boolean(True))
        for divisor in (weak(0), weak(2), weak(-2)):
            for dividend in (i32(7), i32(-7), i32(0), u32(7), i8(-128), i8(127)):
                yield apply(name, dividend, divisor)
        yield apply(name, i8(-128), i8(-1))
        yield apply(name, i32(-2147483648), i32(-1))
    for amount in (0, 7, 8, 31, 32, 40, -1):
        for x in (i32(-5), u32(4000000000), i8(-5)):
            for name in BITS[3:]:
                yield apply(name, x, weak(amount))
    for to in INTEGERS + FLOATS:
        for x in (f32(300.5), f32(-300.5), f32(3e9), f32(-3e9), f32(5e9), i32(300), i32(-1), u32(4294967295), bf16(-2.7)):
            yield apply("astype_" + to, x)


def main():
    rng = random.Random(7)
    programs = list(known())
    seen = {text for text, _ in programs}
    groups = [(110, ("i32", "u32", "i8", "weak_i32")), (60, ("i32", "i32", "weak_i32")), (60, ("u32", "u32", "weak_i32")),
              (80, ("f32", "f32", "weak_f32")), (80, ("bf16", "bf16", "weak_f32")),
              (110, INTEGERS + FLOATS + ("bool", "weak_i32", "weak_f32"))]
    for count, kinds in groups:
        while count > 0:
            try:
                text, value = grow(rng, kinds, rng.randint(1, 4))
            except Odd:
                continue
            if text in seen or text.count(":") < 2:
                continue
            seen.add(text)
            programs.append((text, value))
            count -= 1
    lines = ["# Written by make_literals.py: programs on numbers known while tracing, with their values in JAX."]
    for k, (text, value) in enumerate(programs):
        lines.append(f"p{k} {NAMES[np.dtype(value.dtype)]} {bits_of(value)} : {text}")
    (pathlib.Path(__file__).parent / "literals.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
