"""tests/data/make_numpy.py: write the tables of cases of jax.numpy (see golden_cases.py), one file a family.

    python make_numpy.py [reductions ...]
"""
# SPDX-License-Identifier: Apache-2.0
import sys

from golden_cases import *

FLOATS = [jnp.float32, jnp.bfloat16, jnp.float16]
FEW = [jnp.float32, jnp.bfloat16, jnp.int32]
ALL = FLOATS + [jnp.int8, jnp.int16, jnp.int32, jnp.uint8, jnp.uint16, jnp.uint32, jnp.bool_]


def values(dtype, *shape, seed=0):
    """Plain numbers of a dtype."""
    if dtype == jnp.bool_:
        return jnp.asarray(np.random.RandomState(seed).randint(0, 2, shape), jnp.bool_)
    if jnp.issubdtype(dtype, jnp.floating):
        return grid(*shape, seed=seed, dtype=dtype)
    return whole(*shape, seed=seed, low=0 if jnp.issubdtype(dtype, jnp.unsignedinteger) else -9, dtype=dtype)


def write_reductions():
    c = Cases("make_numpy.py", "Reductions over axes")
    for name in ["sum", "max", "min", "mean", "var", "all", "any"]:
        for dtype in ALL:
            x = values(dtype, 3, 2, 4)
            if name == "var" and dtype == jnp.bool_:
                continue
            for axis in [None, 0, -1, (0, 2)]:
                c.case(name, x, axis=axis, grad=dtype == jnp.float32 and name not in ("all", "any"))
            c.case(name, x, axis=1, keepdims=True)
            c.case(name, edges(dtype))
            c.case(name, x, axis=3)
        for shape in [(0,), (0, 3), (3, 0)]:
            c.case(name, jnp.zeros(shape, jnp.float32), axis=0)
    for name in ["argmax", "argmin"]:
        for dtype in ALL:
            x = values(dtype, 3, 4)
            for axis in [0, -1]:
                c.case(name, x, axis=axis)
            c.case(name, edges(dtype), axis=0)
        c.case(name, jnp.zeros((0, 3), jnp.float32), axis=0)
        c.case(name, jnp.zeros((2, 3), jnp.float32), axis=2)
    c.save("numpy/reductions.txt")


def write_elementwise():
    c = Cases("make_numpy.py", "Functions of one and two numbers")
    points = grid(6, seed=3)
    for name in ["isnan", "isinf", "isposinf", "isneginf", "signbit", "nan_to_num", "trunc", "rint", "reciprocal", "log2",
                 "log10", "deg2rad", "rad2deg", "radians", "degrees", "sinc", "bitwise_count", "bitwise_invert",
                 "logical_not", "modf", "frexp", "sign", "negative", "positive", "around", "abs", "square", "exp", "log",
                 "sqrt", "floor", "ceil"]:
        for dtype in ALL:
            smooth = dtype == jnp.float32 and name in ("sinc", "deg2rad", "reciprocal", "square", "exp", "abs", "modf")
            if name == "positive" and dtype == jnp.bool_:
                continue
            x = edges(dtype)
            if name in ("sinc", "frexp", "modf") and is_float(x):  # JAX's own results there are those of its compiler
                x = jnp.where(jnp.isfinite(x) & (abs(x) < 100), x, 0.25).astype(dtype)
            if name == "reciprocal" and not is_float(x):
                continue
            c.case(name, x, check={"tol": 2e-6} if dtype == jnp.float32 and name in ("log2", "log10", "exp") else None)
            if smooth:
                c.case(name, points, grad=True)
    c.case("sinc", jnp.zeros(2), grad=True)
    c.case("nan_to_num", edges(), nan=1.5, posinf=7.0, neginf=-7.0)
    c.case("around", grid(8, seed=4) * 10, decimals=1, check={"tol": 2e-6})
    c.case("around", grid(8, seed=4) * 10, decimals=-1)
    for dtype in [jnp.float32, jnp.bfloat16, jnp.float16, jnp.int32, jnp.uint8, jnp.bool_]:
        x = edges(dtype)
        a, b = jnp.meshgrid(x, x)
        a, b = a.ravel(), b.ravel()
        if len(a) > 64:
            a, b = a[::3], b[::3]
        for name in ["fmax", "fmin", "fmod", "heaviside", "copysign", "isclose", "logical_xor", "hypot", "logaddexp2",
                     "divmod", "add", "subtract", "multiply", "divide", "true_divide", "maximum", "minimum", "float_power",
                     "floor_divide", "remainder", "equal", "less", "greater_equal", "logical_and", "logical_or"]:
            if is_float(x) and name in ("fmod", "divmod", "hypot", "logaddexp2", "float_power", "floor_divide",
                                        "remainder"):
                ok = jnp.isfinite(a) & jnp.isfinite(b) & (abs(a) < 100) & (abs(b) < 100) & (b != 0)
                tame = jnp.asarray(np.asarray(a)[np.asarray(ok)]), jnp.asarray(np.asarray(b)[np.asarray(ok)])
                tame = tuple(jnp.where(abs(t) < 1e-3, 0.75, t).astype(dtype) for t in tame)
                c.case(name, *tame, check={"tol": 3e-6} if dtype == jnp.float32 else {"tol": 2e-2})
            elif not is_float(x) and name in ("float_power", "logaddexp2", "hypot"):
                c.case(name, whole(6, seed=1, low=1, high=5, dtype=jnp.int32).astype(dtype),
                       whole(6, seed=2, low=1, high=5, dtype=jnp.int32).astype(dtype), check={"tol": 3e-6})
            elif name == "subtract" and dtype == jnp.bool_:
                c.case(name, a, b)
            else:
                c.case(name, a, b)
    u, v = grid(2, 3, seed=5), grid(3, seed=6)
    for name in ["fmax", "fmin", "copysign", "hypot", "add", "subtract", "multiply", "divide", "maximum", "minimum",
                 "logaddexp2"]:
        c.case(name, u, v, grad=True, check={"tol": 3e-6})
        c.case(name, u, jnp.zeros((2, 2)))
    c.case("isclose", edges(), edges(), equal_nan=True)
    c.case("isclose", u, u + 0.01, rtol=0.1, atol=0.0)
    c.case("isclose", u, u + 0.01, rtol=1e-4, atol=1e-3)
    c.case("allclose", edges(), edges(), equal_nan=True)
    c.case("allclose", u, u + 1e-6)
    for name in ["array_equal", "array_equiv"]:
        c.case(name, u, u)
        c.case(name, u, u + 1)
        c.case(name, u, v)
        c.case(name, jnp.ones((2, 3)), jnp.ones(3))
    c.case("array_equal", edges(), edges(), equal_nan=True)
    for dtype in [jnp.int8, jnp.int32, jnp.uint8, jnp.uint32]:
        a, b = whole(8, seed=1, low=0 if dtype in (jnp.uint8, jnp.uint32) else -60, high=60, dtype=dtype), \
            whole(8, seed=2, low=0, high=60, dtype=dtype)
        e = edges(dtype)
        e = jnp.where(e == jnp.iinfo(dtype).min, 12, e).astype(dtype)
        for name in ["gcd", "lcm"]:
            c.case(name, a, b)
            c.case(name, e, jnp.roll(e, 1)) if name == "gcd" else None
        for name in ["bitwise_left_shift", "bitwise_right_shift", "left_shift", "right_shift"]:
            c.case(name, edges(dtype), whole(8, seed=3, low=0, high=8, dtype=dtype))
            c.case(name, edges(dtype), whole(8, seed=3, low=0, high=8))
    c.case("gcd", jnp.asarray([1836311903, 1134903170], jnp.int32), jnp.asarray([1134903170, 701408733], jnp.int32))
    c.case("gcd", u, u)
    c.case("ldexp", grid(7, seed=7), whole(7, seed=8))
    c.case("ldexp", u, whole(3, seed=8), grad=True)
    c.case("ldexp", jnp.ones(4), jnp.asarray([127, -126, 200, -200]))
    bits = jnp.asarray(np.random.RandomState(1).randint(0, 2, (3, 11)), jnp.uint8)
    for order in ["big", "little"]:
        for axis in [0, 1, -1]:
            c.case("packbits", bits, axis=axis, bitorder=order)
        for count in [None, 5]:
            c.case("unpackbits", whole(2, 3, seed=1, low=0, high=256, dtype=jnp.uint8), axis=1, count=count,
                   bitorder=order)
    c.case("unpackbits", whole(2, 3, seed=1, low=0, high=256, dtype=jnp.uint8), axis=0, count=99)
    c.case("unpackbits", whole(2, 3, seed=1), axis=0)
    c.save("numpy/elementwise.txt")


def main():
    families = {name[6:]: f for name, f in globals().items() if name.startswith("write_")}
    for name in sys.argv[1:] or families:
        families[name]()


if __name__ == "__main__":
    main()
