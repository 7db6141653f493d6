"""tests/golden/make_numpy.py: write the tables of cases of jax.numpy (see golden_cases.py), one file a family.

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


def flat(histogram):
    return [histogram[0], *histogram[1]]


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


def write_moments():
    c = Cases("make_numpy.py", "Products, moments and quantiles, also without NaN")
    for name in ["std", "prod", "ptp", "count_nonzero"]:
        for dtype in FEW:
            x = values(dtype, 3, 2, 4)
            if name == "prod" and is_float(x):
                x = x / 4
            smooth = dtype == jnp.float32 and name != "count_nonzero"
            check = {"tol": 2e-6} if dtype == jnp.float32 or name == "std" and dtype != jnp.bfloat16 else None
            for axis in [None, -1, (0, 2)]:
                c.case(name, x, axis=axis, grad=smooth, check=check)
            c.case(name, x, axis=1, keepdims=True, check=check)
        c.case(name, edges())
        c.case(name, jnp.zeros((3, 0), jnp.float32), axis=1)
        c.case(name, values(jnp.float32, 3, 2), axis=3)
    c.case("prod", values(jnp.bool_, 6))
    c.case("prod", values(jnp.uint8, 6))
    z = jnp.asarray([[1, 0, 2, 3, 0.5], [0, 0, 2, 1, 4]], jnp.float32)
    c.case("prod", z, axis=1, grad=True)
    holes = jnp.asarray([[1, nan, 2, -3], [nan, nan, nan, nan], [4, 5, nan, 6]], jnp.float32)
    for name in ["nanargmax", "nanargmin"]:
        for axis in [0, 1]:
            c.case(name, holes, axis=axis)
        c.case(name, values(jnp.int32, 3, 4), axis=1)
        c.case(name, edges(), axis=0)
    for name in ["nansum", "nanprod", "nanmax", "nanmin", "nanmean", "nanvar", "nanstd", "nanmedian"]:
        for axis in [None, 1]:
            c.case(name, holes, axis=axis, grad=name in ("nansum", "nanmean"), check={"tol": 2e-6})
        c.case(name, holes, axis=0, keepdims=True, check={"tol": 2e-6})
        c.case(name, values(jnp.int32, 3, 4), axis=0, check={"tol": 2e-6})
    for name in ["var", "std", "nanvar", "nanstd"]:
        for ddof in [1, 5]:
            c.case(name, values(jnp.float32, 3, 4), axis=1, ddof=ddof, check={"tol": 2e-6}, grad=ddof == 1 and name == "std")
    w = jnp.asarray([0.5, 1, 2, 0.25], jnp.float32)
    x = values(jnp.float32, 3, 4)
    c.case("average", x, w, fn=lambda a, b: jnp.average(a, 1, b, returned=True), show={"axis": 1}, grad=True,
           check={"tol": 2e-6})
    c.case("average", x, abs(x), fn=lambda a, b: jnp.average(a, weights=b, returned=True), show={}, check={"tol": 2e-6})
    c.case("average", x, w[:3], fn=lambda a, b: jnp.average(a, 1, b, returned=True), show={"axis": 1})
    q = jnp.asarray([0.0, 0.3, 0.5, 1.0], jnp.float32)
    for method in ["linear", "lower", "higher", "midpoint", "nearest"]:
        c.case("quantile", values(jnp.float32, 3, 5), q, axis=-1, method=method, grad=method == "linear", check={"tol": 3e-6})
    for name in ["quantile", "nanquantile", "percentile", "nanpercentile"]:
        scale = 100.0 if "percentile" in name else 1.0
        c.case(name, holes, q * scale, axis=-1, method="linear", check={"tol": 3e-6})
        c.case(name, values(jnp.int32, 2, 6), 0.25 * scale, axis=(0, 1), keepdims=True, method="lower", check={"tol": 3e-6})
        c.case(name, values(jnp.float32, 3, 2), q, axis=2)
    for axis in [None, (0, 2)]:
        c.case("median", values(jnp.float32, 3, 2, 4), axis=axis, grad=True)
    c.case("median", edges())
    for n, axis in [(1, -1), (2, 0), (0, 1), (5, 0), (1, 3), (-1, 0)]:
        c.case("diff", values(jnp.float32, 3, 2, 4), n=n, axis=axis, grad=n == 2)
    c.case("diff", values(jnp.bool_, 6), n=1, axis=0)
    c.case("diff", edges(jnp.int8), n=1, axis=0)
    c.case("ediff1d", values(jnp.float32, 2, 3))
    c.case("ediff1d", values(jnp.int32, 5), whole(2), whole(1), fn=lambda a, b, d: jnp.ediff1d(a, b, d))
    for initial in [False, True]:
        c.case("cumulative_sum", values(jnp.int32, 2, 3), axis=1, include_initial=initial)
        c.case("cumulative_sum", values(jnp.float32, 2, 3), axis=0, include_initial=initial, grad=True)
    c.case("nancumsum", holes, axis=1, grad=True)
    for initial in [False, True]:
        c.case("cumulative_prod", values(jnp.int32, 2, 3), axis=1, include_initial=initial)
        c.case("cumulative_prod", values(jnp.float32, 2, 3), axis=0, include_initial=initial, grad=True)
    c.case("cumulative_prod", values(jnp.float32, 2, 3), axis=2)
    c.case("nancumprod", holes, axis=1)
    c.case("nancumprod", values(jnp.int32, 2, 3), axis=0)
    c.save("numpy/moments.txt")


def write_sorting():
    c = Cases("make_numpy.py", "Orders, places and sets")
    once = {"vmap": 0, "traced": 0}  # the shape of the result depends on data
    for dtype in ALL:
        x = values(dtype, 3, 5)
        for axis in [0, 1]:
            c.case("sort", x, axis=axis, grad=dtype == jnp.float32)
            c.case("argsort", x, axis=axis)
        c.case("sort", edges(dtype), axis=0)
        c.case("argsort", edges(dtype), axis=0)
        c.case("lexsort", x[0], x[1], x[2], fn=lambda *k: jnp.lexsort(k))
        c.case("searchsorted", jnp.sort(x[0]), x, side="left")
        c.case("searchsorted", jnp.sort(x[0]), x, side="right")
        c.case("unique", x, show={}, check=once)
        c.case("unique", x, size=20)
        c.case("isin", x, x[0])
    c.case("lexsort", values(jnp.int32, 2, 4) % 3, values(jnp.int32, 2, 4, seed=4) % 2, fn=lambda *k: jnp.lexsort(k, 0),
           show={"axis": 0})
    e = edges()
    tame = jnp.sort(jnp.where(jnp.isnan(e), 2, e))
    for side in ["left", "right"]:
        c.case("searchsorted", jnp.sort(e), e, side=side)
        c.case("searchsorted", tame, e, side=side)
        c.case("searchsorted", jnp.zeros(0), e, side=side)
    c.case("searchsorted", jnp.zeros((2, 2)), e)
    for right in [False, True]:
        c.case("digitize", grid(9, seed=2), jnp.asarray([-1.0, 0.0, 1.5]), right=right)
        c.case("digitize", grid(9, seed=2), jnp.asarray([1.5, 0.0, -1.0]), right=right)
        c.case("digitize", jnp.asarray([1, 2, 3]), jnp.asarray([1, 2, 3]), right=right)
    c.case("digitize", grid(9, seed=2), jnp.zeros((2, 2)))
    m = values(jnp.int32, 3, 4) * values(jnp.bool_, 3, 4, seed=7)
    for y in [m, m.astype(jnp.float32), m != 0, jnp.zeros((2, 3)), jnp.zeros((0, 3), jnp.int32), m[0]]:
        c.case("nonzero", y, check=once)
        for size, fill in [(3, 0), (9, -1)]:
            c.case("nonzero", y, size=size, fill_value=fill)
        c.case("argwhere", y, size=4)
        c.case("flatnonzero", y, size=4)
    c.case("nonzero", jnp.int32(3))
    cond = jnp.asarray([True, False, True, True])
    for axis in [1, 0]:
        c.case("compress", cond[:3], values(jnp.float32, 3, 4), axis=axis, check=once)
        c.case("compress", cond[:3], values(jnp.float32, 3, 4), axis=axis, size=3, fill_value=7, grad=axis == 1)
    c.case("compress", cond, values(jnp.float32, 3, 4), check=once)
    c.case("compress", cond, values(jnp.float32, 3, 4), axis=0)
    c.case("extract", m != 0, values(jnp.float32, 3, 4), check=once)
    c.case("extract", m != 0, values(jnp.float32, 3, 4), size=5, fill_value=0)
    u = jnp.asarray([3, 1, 2, 3, 3, 1, 7], jnp.int32)
    for x in [u, u.astype(jnp.float32), jnp.asarray([nan, 1, nan, 2, 1]), jnp.zeros(0), u.reshape(7, 1) % 2 == 0]:
        c.case("unique", x, check=once)
        c.case("unique_all", x, check=once, fn=lambda a: list(jnp.unique_all(a)))
        c.case("unique_all", x, size=6, fn=lambda a, size: list(jnp.unique_all(a, size=size)))
        c.case("unique", x, size=2)
        c.case("unique", x, size=6, fill_value=9)
    v = jnp.asarray([2, 2, 9, 3, 5], jnp.int32)
    for name in ["union1d", "setdiff1d", "intersect1d", "setxor1d"]:
        for a, b in [(u, v), (v, u), (u.astype(jnp.float32), v)]:
            c.case(name, a, b, check=once)
            c.case(name, a, b, size=3)
            if name != "intersect1d":
                c.case(name, a, b, size=8, fill_value=-5)
    for invert in [False, True]:
        c.case("isin", u, v, invert=invert)
        c.case("isin", edges(), edges(), invert=invert)
        c.case("isin", u, jnp.zeros(0, jnp.int32), invert=invert)
    c.save("numpy/sorting.txt")


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
    shifts = {"acosh": (1.0, 1.25), "arccosh": (1.0, 1.25)}
    shifts |= {name: (0.125, 0.0) for name in ["asin", "acos", "atanh", "arcsin", "arccos", "arctanh"]}
    for name in ["tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh", "cbrt", "exp2", "arcsin", "arccos",
                 "arctan", "arcsinh", "arccosh", "arctanh"]:
        scale, shift = shifts.get(name, (1.0, 0.0))
        for dtype in [jnp.float32] if name.startswith("arc") else ALL:
            x = edges(dtype)
            if is_float(x):  # JAX takes denormal results for 0, and halves of the largest angles of bf16 are its compiler's
                x = jnp.where((x != 0) & (abs(x) < 1e-3) | (abs(x) > 100) & jnp.isfinite(x), 0.25, x).astype(dtype)
            elif dtype != jnp.bool_ and name in ("tan", "sinh", "cosh", "exp2"):
                x = jnp.where(abs(x.astype(jnp.float32)) > 100, 3, x).astype(dtype)
            c.case(name, x, check={"tol": 3e-6} if dtype != jnp.bfloat16 and dtype != jnp.float16 else None)
        c.case(name, (abs(points) if shift else points) * scale + shift, grad=True, check={"tol": 3e-6})
    for name in ["atan2", "arctan2"]:
        for dtype in [jnp.float32] if name == "arctan2" else [jnp.float32, jnp.bfloat16, jnp.float16, jnp.int32, jnp.bool_]:
            x = edges(dtype)
            if is_float(x):
                x = jnp.where((x != 0) & (abs(x) < 1e-3) | (abs(x) > 100) & jnp.isfinite(x), 0.25, x).astype(dtype)
            a, b = jnp.meshgrid(x, x)
            c.case(name, a.ravel(), b.ravel(), check={"tol": 3e-6} if dtype == jnp.float32 or not is_float(x) else None)
        c.case(name, grid(2, 3, seed=5), grid(3, seed=6), grad=True, check={"tol": 3e-6})
        c.case(name, grid(2, 3), jnp.zeros((2, 2)))
    for dtype in [jnp.float32, jnp.bfloat16, jnp.float16, jnp.int32]:
        c.case("spacing", edges(dtype))
    turning = jnp.asarray([[0, 3, -3, 0, 3.5, 10], [1, 2.5, 4.25, -2, 0.5, -6], [7, 7, -7, 20, 13.5, 1]], jnp.float32)
    for axis in [0, 1]:
        c.case("unwrap", turning, axis=axis, grad=True, check={"tol": 3e-6})
    c.case("unwrap", turning, axis=1, period=4.0, check={"tol": 3e-6})
    c.case("unwrap", turning, axis=1, period=6.0, discont=5.5, check={"tol": 3e-6})
    c.case("unwrap", jnp.asarray([0, 180, 10, 190, 20, 359, 0, 361, -5]), period=360)
    c.case("unwrap", jnp.asarray([0, 4, 1, 6, 9, 2]), period=5)
    c.case("unwrap", jnp.asarray([0, 4, 1, 6, 9, 2]), check={"tol": 3e-6})
    c.case("unwrap", jnp.zeros((2, 0)), axis=1)
    c.case("unwrap", jnp.ones((1, 3)), axis=0)
    c.case("unwrap", turning, axis=2)
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


def write_manipulation():
    c = Cases("make_numpy.py", "Functions that move elements")
    x, v = values(jnp.float32, 2, 3, 4), values(jnp.int32, 5)
    for a, b in [(0, 2), (2, 0), (-1, 0), ((0, 1), (-1, -2)), (0, 3), ((0, 1), (2,))]:
        c.case("moveaxis", x, fn=lambda y: jnp.moveaxis(y, a, b), grad=a == 0 and b == 2,
               show={"from": a if isinstance(a, tuple) else (a,), "to": b if isinstance(b, tuple) else (b,)})
    for a, s in [(2, 0), (0, 3), (1, -1), (0, 4)]:
        c.case("rollaxis", x, axis=a, start=s)
    c.case("permute_dims", x, axes=(2, 0, 1))
    c.case("permute_dims", x, axes=(2, 0, 0))
    c.case("matrix_transpose", x)
    c.case("matrix_transpose", v)
    for axis in [(0, 2), (-1,), (0, 0), (4,), (5,)]:
        c.case("expand_dims", x, axis=axis)
    one = values(jnp.float32, 1, 3, 1)
    for axis in [None, (0,), (0, -1), (1,)]:
        c.case("squeeze", one, axis=axis)
    for y in [jnp.float32(2), v, x, jnp.zeros((0, 3)), values(jnp.int32, 2, 3)]:
        for name in ["ravel", "atleast_1d", "atleast_2d", "atleast_3d", "flipud", "fliplr", "flip"]:
            c.case(name, y)
    c.case("broadcast_arrays", v, values(jnp.float32, 3, 1))
    c.case("broadcast_arrays", v, values(jnp.float32, 3))
    for axis in [0, (0, 2), -1, (0, 0), 3]:
        c.case("flip", x, axis=axis, grad=axis == -1)
    for k in [-1, 0, 1, 2, 3, 6]:
        c.case("rot90", x, k=k, axes=(0, 1), grad=k == 1)
        c.case("rot90", x, k=k, axes=(-1, 0))
    c.case("rot90", x, k=1, axes=(1, 1))
    for shift, axis in [(1, 0), (-2, 2), (7, 1), ((1, 2), (0, 2)), (1, (0, 1)), ((1, 2), 0), (1, 3)]:
        c.case("roll", x, shift=shift, axis=axis, grad=shift == -2)
    c.case("roll", x, shift=5)
    c.case("roll", jnp.zeros((0, 3)), shift=1, axis=0)
    c.case("roll_by", x, jnp.int32(5), fn=lambda a, s: jnp.roll(a, s, 2), show={"axis": 2})
    c.case("roll_by", x, jnp.int32(-3), fn=lambda a, s: jnp.roll(a, s, (0, 2)), show={"axis": (0, 2)})
    m, n = values(jnp.float32, 2, 3), values(jnp.int32, 2, 3, seed=2)
    for name in ["vstack", "hstack", "dstack", "column_stack"]:
        for pair in [(m, n), (v, v), (jnp.float32(1), jnp.float32(2)), (x, x)]:
            c.case(name, *pair, fn=lambda *xs: getattr(jnp, name)(xs))
    c.case("vstack", m, m, fn=lambda *xs: jnp.vstack(xs), grad=True)
    c.case("vstack", v, m, fn=lambda *xs: jnp.vstack(xs))
    c.case("append", m, v)
    c.case("append", m, n, axis=0)
    c.case("append", m, n, axis=2)
    c.case("block", m, n, fn=lambda a, b: jnp.block([[a, b], [b, a]]))
    for parts, axis in [(2, 0), (3, 2), (5, 1), (0, 0), (2, 3)]:
        c.case("array_split", x, fn=lambda y: jnp.array_split(y, parts, axis), show={"parts": parts, "axis": axis},
               grad=parts == 3)
    for at, axis in [((1, 3), 2), ((2, 1), 2), ((-1,), 1), ((9,), 0)]:
        c.case("split_at", x, fn=lambda y: jnp.split(y, list(at), axis), show={"at": at, "axis": axis})
    for name in ["vsplit", "hsplit", "dsplit"]:
        c.case(name, values(jnp.float32, 2, 4, 6), fn=lambda y: getattr(jnp, name)(y, 2))
        c.case(name, values(jnp.float32, 2, 3, 5), fn=lambda y: getattr(jnp, name)(y, 2))
    c.case("unstack", x, axis=1)
    for times, axis in [(2, 0), (3, -1), (0, 1), (1, 1), (2, 3), (-1, 0)]:
        c.case("repeat", x, fn=lambda y: jnp.repeat(y, times, axis), show={"times": times, "axis": axis}, grad=times == 3)
    c.case("repeat", x, fn=lambda y: jnp.repeat(y, 2), show={"times": 2})
    for total in [6, 4, 9]:
        c.case("repeat_each", x, jnp.asarray([1, 0, 2, 3]), fn=lambda y, r: jnp.repeat(y, r, 2, total_repeat_length=total),
               show={"total": total, "axis": 2}, check={"vmap": 0} if total != 6 else None)
    c.case("repeat_each", x, jnp.asarray([1, 0, 2]), fn=lambda y, r: jnp.repeat(y, r, 2, total_repeat_length=6),
           show={"total": 6, "axis": 2})
    for reps in [(2,), (2, 1), (2, 1, 3), (2, 2, 1, 1), (0,), (1, -1)]:
        c.case("tile", m, reps=reps, grad=reps == (2, 1, 3))
    for shape in [(2, 5), (1,), (7, 2), (0, 3)]:
        c.case("resize", m, new_shape=shape)
    modes = ["constant", "edge", "linear_ramp", "maximum", "mean", "minimum", "reflect", "symmetric", "wrap"]
    for mode in modes:
        for y in [m, n, x, values(jnp.bfloat16, 4)]:
            w = [(1, 2)] if y.ndim != 2 else [(1, 2), (4, 3)]
            c.case("pad", y, fn=lambda y: jnp.pad(y, w if len(w) > 1 else w[0], mode=mode), grad=y is m,
                   show={"before": tuple(a for a, _ in w), "after": tuple(b for _, b in w), "mode": mode},
                   check={"tol": 2e-6} if y.dtype == jnp.float32 else {"tol": 2e-2} if y.ndim == 1 else None)
    for mode in ["reflect", "symmetric"]:
        c.case("pad", m, fn=lambda y: jnp.pad(y, ((1, 2), (7, 4)), mode=mode, reflect_type="odd"),
               show={"before": (1, 7), "after": (2, 4), "mode": mode, "odd": True}, grad=True)
    for mode in ["maximum", "mean", "minimum"]:
        c.case("pad", x, fn=lambda y: jnp.pad(y, ((0, 0), (2, 1), (1, 1)), mode=mode, stat_length=2),
               show={"before": (0, 2, 1), "after": (0, 1, 1), "mode": mode, "stat_length": 2}, check={"tol": 2e-6})
    c.case("pad", m, fn=lambda y: jnp.pad(y, 1, constant_values=(3, -2)),
           show={"before": 1, "after": 1, "mode": "constant", "before_value": 3, "after_value": -2})
    c.case("pad", m, fn=lambda y: jnp.pad(y, 2, mode="linear_ramp", end_values=(3, -2)),
           show={"before": 2, "after": 2, "mode": "linear_ramp", "before_value": 3, "after_value": -2},
           check={"tol": 2e-6})
    c.case("pad", m, fn=lambda y: jnp.pad(y, ((1, -1), (0, 0))), show={"before": (1, 0), "after": (-1, 0), "mode": "constant"})
    c.case("pad", m, fn=lambda y: jnp.pad(y, ((1, 1),) * 3), show={"before": (1, 1, 1), "after": (1, 1, 1), "mode": "constant"})
    for mode in sorted(set(modes) - {"mean"}):
        c.case("pad", jnp.zeros((0, 2)), fn=lambda y: jnp.pad(y, 1, mode=mode), show={"before": 1, "after": 1, "mode": mode})
    c.save("numpy/manipulation.txt")


def write_creation():
    c = Cases("make_numpy.py", "Arrays of known numbers, and diagonals")
    for args in [(0, 5), (2, 9, 3), (5, 0, -2), (0, 1, 0.25), (0.5, 3), (3, 3), (3, 1), (0, -1, -0.3)]:
        whole_ones = all(isinstance(a, int) for a in args)
        c.case("arange", fn=lambda: jnp.arange(*args), check={"tol": 2e-6},
               show={"start": args[0], "stop": args[1], "step": args[2] if len(args) > 2 else 1, "whole": whole_ones})
    c.case("arange", fn=lambda: jnp.arange(0, 1, 0), show={"start": 0, "stop": 1, "step": 0, "whole": True})
    a, b = values(jnp.float32, 3), values(jnp.float32, 3, seed=5)
    for num in [0, 1, 2, 5, 7]:
        for endpoint in [True, False]:
            c.case("linspace", 0.5, 3.0, num=num, endpoint=endpoint, check={"tol": 2e-6})
            c.case("linspace", a, b, num=num, endpoint=endpoint, grad=num == 5, check={"tol": 2e-6})
            if num:
                c.case("logspace", 0.0, 2.0, num=num, endpoint=endpoint, check={"tol": 3e-6})
                c.case("geomspace", 1.0, 100.0, num=num, endpoint=endpoint, check={"tol": 3e-6})
    c.case("linspace", a, b, num=4, axis=-1, check={"tol": 2e-6})
    c.case("linspace", 0, 10, num=7, dtype=jnp.int32)
    c.case("linspace", 0, -10, num=7, dtype=jnp.int32)
    c.case("linspace", 0, 10, num=-1)
    c.case("linspace", 0, 10, num=5, dtype=jnp.bfloat16)
    c.case("linspace", 0, 10, num=5, dtype=jnp.float16)
    c.case("logspace", a, b, num=3, base=2.0, check={"tol": 3e-6})
    c.case("geomspace", -abs(a) - 1, -abs(b) - 1, num=4, check={"tol": 1e-5}, grad=True)
    for indexing in ["xy", "ij"]:
        for sparse in [False, True]:
            for xs in [(a, b[:2]), (a,), (a, b[:2], values(jnp.int32, 2))]:
                c.case("meshgrid", *xs, indexing=indexing, sparse=sparse)
    c.case("meshgrid", a, jnp.zeros((2, 2)))
    for sparse in [False, True]:
        c.case("indices", fn=lambda: list(jnp.indices((2, 3), sparse=sparse)), show={"shape": (2, 3), "sparse": sparse})
    c.case("ix_", jnp.asarray([0, 2]), jnp.asarray([1, 3, 0]))
    for n, m, k in [(3, 3, 0), (2, 4, 1), (4, 2, -1), (3, 3, 5), (0, 3, 0)]:
        for name in ["eye", "tri"]:
            c.case(name, fn=lambda: getattr(jnp, name)(n, m, k), show={"n": n, "m": m, "k": k})
        for name in ["tril_indices", "triu_indices"]:
            c.case(name, fn=lambda: getattr(jnp, name)(n, k, m), show={"n": n, "m": m, "k": k})
    c.case("identity", fn=lambda: jnp.identity(3, jnp.int32), show={"n": 3, "dtype": jnp.int32})
    for x in [values(jnp.float32, 2, 3, 4), values(jnp.int32, 3, 3), edges().reshape(2, 7), values(jnp.int32, 3),
              values(jnp.bool_, 3, 2)]:
        for k in [-1, 0, 2]:
            for name in ["tril", "triu"]:
                c.case(name, x, fn=lambda y: getattr(jnp, name)(y, k), show={"k": k}, grad=x.ndim == 3)
            c.case("diag", x, fn=lambda y: jnp.diag(y, k), show={"k": k})
            c.case("diagflat", x, fn=lambda y: jnp.diagflat(y, k), show={"k": k}) if x.size < 7 else None
            c.case("diagonal", x, offset=k)
            c.case("trace", x, offset=k)
    x = values(jnp.float32, 2, 3, 4)
    for a1, a2, off in [(0, 2, 0), (2, 1, 1), (-1, 0, -1), (1, 1, 0), (0, 3, 0), (0, 1, 7)]:
        c.case("diagonal", x, offset=off, axis1=a1, axis2=a2, grad=off == 1)
        c.case("trace", x, offset=off, axis1=a1, axis2=a2, grad=off == -1)
    c.case("diag", a, fn=lambda y: jnp.diag(y, 1), show={"k": 1}, grad=True)
    for n, inc in [(4, False), (3, True), (0, False), (1, True)]:
        c.case("vander", a, fn=lambda y: jnp.vander(y, n, inc), show={"n": n, "increasing": inc}, grad=n == 4,
               check={"tol": 2e-6})
    c.case("diag_indices", fn=lambda: jnp.diag_indices(3, 3), show={"n": 3, "count": 3})
    for shape in [(3, 3), (2, 4), (4, 2), (2, 2, 2), (2, 3, 2), (3,)]:
        y = values(jnp.float32, *shape)
        c.case("fill_diagonal", y, jnp.float32(7), fn=lambda u, w: jnp.fill_diagonal(u, w, inplace=False),
               grad=shape == (3, 3))
    c.case("fill_diagonal", values(jnp.float32, 3, 3), a, fn=lambda u, w: jnp.fill_diagonal(u, w, inplace=False), grad=True)
    for name in ["bartlett", "hanning", "hamming", "blackman"]:
        for n in [0, 1, 2, 7]:
            c.case(name, fn=lambda: getattr(jnp, name)(n), show={"n": n}, check={"tol": 2e-6})
    c.save("numpy/creation.txt")


def write_indexing():
    c = Cases("make_numpy.py", "Parts of arrays by indices, as x[...] and x.at[...]")

    def place(text, arrays):
        """`1|::2|new|dots|x0|m1.5`: number, range, new axis, ellipsis, array 0, mask 1 of 5 elements."""
        out = []
        for word in text.split("|"):
            if word == "new":
                out.append(None)
            elif word == "dots":
                out.append(Ellipsis)
            elif word[0] in "xm":
                out.append(arrays[int(word[1:].split(".")[0])])
            elif ":" in word:
                out.append(slice(*[int(v) if v else None for v in word.split(":")]))
            else:
                out.append(int(word))
        return tuple(out)

    x = values(jnp.float32, 3, 4, 5)
    statics = ["0", "-1", "2|1", "2|-1|0", "1:", ":-1", "::2", "::-1", "::-2|1", "2:0:-1", "5:", ":2|1:3|::-1", "dots|1",
               "dots|::2", "new", "1|new", "new|dots|new|0", "dots", ":|new|2", "-2:|:|-3:-1", "3:1", "7", "-9", "dots|-9",
               "1|2|3|4", "dots|dots", ":|:|4:0:-3", "::5"]
    for text in statics:
        c.case("get", x, fn=lambda y: y[place(text, ())], show={"at": text}, grad=True)
    for dtype in [jnp.bfloat16, jnp.int8, jnp.bool_]:
        c.case("get", values(dtype, 3, 4), fn=lambda y: y[place("::-1|1", ())], show={"at": "::-1|1"})
    i, j = jnp.asarray([2, 0, -1, 1]), jnp.asarray([[1], [3]])
    outside = jnp.asarray([5, -7, 1, 2])
    gathers = [("x0", (i,)), ("x0|1", (i,)), ("1|x0", (i,)), (":|x0", (i,)), ("dots|x0", (i,)), ("x0|x1", (i, j)),
               ("x0|:|x1", (i, j)), (":|x0|x1", (i, j)), ("0|:|x0", (i,)), (":|0|x0", (i,)), ("x0|new|x1", (i, j)),
               ("x0|::2|::-1", (i,)), ("new|x0", (i,)), ("x0|1:3|x1", (i, j)), ("x0", (outside,)), (":|x0|2", (outside,)),
               ("x0|x1", (i, jnp.asarray([0, 1, 2]))), ("x0", (jnp.zeros((0,), jnp.int32),)), ("x0", (jnp.float32(1),)),
               ("x0", (jnp.int32(1),)), ("1|x0", (jnp.int32(-1),)), ("x0|dots|x1", (j, i))]
    for text, arrays in gathers:
        c.case("get", x, *arrays, fn=lambda y, *a: y[place(text, a)], show={"at": text}, grad=True)
    mask = jnp.asarray([True, False, True])
    mask2 = values(jnp.bool_, 3, 4, seed=8)
    count = int(mask2.sum())
    for text, arrays in [("x0", (mask,)), ("x0", (mask2,)), ("x0|1", (mask,)), (":|x0", (jnp.asarray([True, False, True, True]),))]:
        c.case("get", x, *arrays, fn=lambda y, *a: y[place(text, a)], show={"at": text}, check={"traced": 0}, grad=False)
    for text, arrays in [("m0.2", (mask,)), (f"m0.{count}", (mask2,)), (f"m0.{count}|::-1", (mask2,)), ("m0.2|x1", (mask, jnp.asarray([1, 2])))]:
        c.case("get", x, *arrays, fn=lambda y, *a: y[place(text, a)], show={"at": text}, grad=True)
    c.case("get", x, jnp.asarray([True, False]), fn=lambda y, *a: y[place("x0", a)], show={"at": "x0"}, check={"traced": 0})
    for mode in ["clip", "fill", "promise_in_bounds"]:
        for dtype in [jnp.float32, jnp.int32, jnp.uint8]:
            k = outside if mode != "promise_in_bounds" else i
            y = values(dtype, 3, 4)
            c.case("get", y, k, fn=lambda y, a: y.at[a].get(mode=mode), show={"at": "x0", "mode": mode})
            if mode == "fill":
                c.case("get", y, k, fn=lambda y, a: y.at[:, a].get(mode=mode, fill_value=3), grad=dtype == jnp.float32,
                       show={"at": ":|x0", "mode": mode, "fill_value": 3})
    scalar, wide = jnp.float32(1.5), values(jnp.float32, 4, 5, seed=9)
    updates = [("1", (), scalar), ("1", (), wide), ("::2|1", (), wide[0]), ("dots|::-2", (), wide[:, :3]), ("x0", (i[:3],), wide),
               ("x0|x1", (i[:2], jnp.asarray([1, 3])), wide[0]), ("x0|:|x1", (i[:2], jnp.asarray([[1], [3]])), scalar),
               ("x0", (jnp.asarray([5, 1, -9]),), wide), ("7", (), scalar), ("-9", (), scalar), ("1:|new|::3", (), scalar),
               ("m0.2", (mask,), wide), ("1|x0", (jnp.asarray([2, -4]),), wide[:2]), ("1:3", (), values(jnp.float32, 3)),
               ("dots", (), scalar), ("2:0", (), scalar)]
    for text, arrays, u in updates:
        for op in ["set", "add", "multiply", "min", "max", "subtract", "divide"]:
            c.case(op, x, u, *arrays, fn=lambda y, v, *a: getattr(y.at[place(text, a)], op)(v), show={"at": text},
                   grad=op in ("set", "add", "subtract"), check={"tol": 3e-6} if op == "divide" else None)
    twice = jnp.asarray([1, 0, 1, 1, 2])
    for op in ["add", "multiply", "min", "max"]:
        for dtype in [jnp.float32, jnp.int32, jnp.bfloat16]:
            c.case(op, values(dtype, 3, 2), values(dtype, 5, 2, seed=3), twice, fn=lambda y, v, a: getattr(y.at[a], op)(v),
                   show={"at": "x0"}, check={"tol": 5e-2} if dtype == jnp.bfloat16 else {"tol": 2e-6})
    c.case("multiply", values(jnp.float32, 3, 2), values(jnp.float32, 3, 2, seed=3), i[:3], show={"at": "x0"},
           fn=lambda y, v, a: y.at[a].multiply(v))
    for op in ["set", "add"]:
        c.case(op, x, scalar, outside, fn=lambda y, v, a: getattr(y.at[a], op)(v, mode="clip") if op == "add" else
               y.at[a[:1]].set(v, mode="clip"), show={"at": "x0", "mode": "clip"}) if op == "add" else None
        c.case(op, values(jnp.int32, 4), jnp.float32(2.75), fn=lambda y, v: getattr(y.at[1], op)(v.astype(jnp.int32)), show={"at": "1"})
    c.case("power", abs(x), jnp.float32(2), i[:2], fn=lambda y, v, a: y.at[a].power(v), show={"at": "x0"}, check={"tol": 3e-6})
    c.save("numpy/indexing.txt")


def write_signal():
    c = Cases("make_numpy.py", "Products, numerical calculus, polynomials, histograms and choices")
    a, b, m, n = grid(4, seed=1), grid(3, seed=2), grid(2, 3, seed=3), grid(3, 4, seed=4)
    tol = {"tol": 3e-6}
    pairs = {"dot": [(m, n), (a, n.T[:4, :3] if False else grid(4, 2)), (a, a), (m, b), (jnp.float32(2), m), (m, m)],
             "vdot": [(m, m), (a, a)], "inner": [(m, m), (a, a), (m, n)], "outer": [(a, b), (m, b)],
             "kron": [(m, n), (a, b), (m, a), (whole(2, 2), whole(2))], "vecdot": [(m, m), (m, b), (m, a)],
             "matvec": [(m, b), (grid(2, 2, 3), b)], "vecmat": [(b, n), (grid(2, 3), n)],
             "cross": [(b, b[::-1]), (m, b), (m[:, :2], m[:, 1:]), (m[:, :2], b), (a, a)]}
    for name, list_of in pairs.items():
        for x, y in list_of:
            c.case(name, x, y, grad=is_float(x), check=tol)
    c.case("cross", grid(3, 2), grid(3, 2, seed=3), axis=0, fn=lambda x, y, axis: jnp.cross(x, y, axis=axis), check=tol)
    c.case("vecdot", grid(3, 2), grid(3, 2, seed=3), axis=0, check=tol)
    x = grid(2, 3, 4)
    for k in [0, 1, 2]:
        c.case("tensordot", x, grid(*((2, 3, 4)[3 - k:] + (2,)), seed=5), fn=lambda u, v: jnp.tensordot(u, v, k), show={"n": k},
               grad=True, check=tol)
    c.case("tensordot", x, grid(4, 2, 5, seed=5), fn=lambda u, v: jnp.tensordot(u, v, ((0, 2), (1, 0))),
           show={"of_x": (0, 2), "of_y": (1, 0)}, grad=True, check=tol)
    for mode in ["full", "same", "valid"]:
        for x, y in [(grid(6), b), (b, grid(6)), (a, a), (whole(5), whole(2)), (grid(6), grid(4))]:
            for name in ["convolve", "correlate"]:
                c.case(name, x, y, mode=mode, grad=is_float(x) and mode == "same", check=tol)
    c.case("convolve", m, b, mode="full")
    xp, fp = jnp.asarray([-1.0, 0.5, 2.0, 2.5]), grid(4, seed=9)
    at = jnp.asarray([-3, -1, -0.5, 0.5, 1.75, 2.25, 2.5, 9], jnp.float32)
    c.case("interp", at, xp, fp, grad=True, check=tol)
    c.case("interp", at, xp, fp, fn=lambda *z: jnp.interp(*z, left=7.0, right=-7.0), show={"left": 7.0, "right": -7.0}, check=tol)
    c.case("interp", at, xp, fp, fn=lambda *z: jnp.interp(*z, period=4.0), show={"period": 4.0}, check={"tol": 1e-5})
    c.case("interp", at, xp, fp[:2])
    c.case("trapezoid", x if False else grid(2, 4), fn=lambda y: jnp.trapezoid(y), show={}, grad=True, check=tol)
    c.case("trapezoid", grid(2, 4), fn=lambda y: jnp.trapezoid(y, dx=0.5, axis=0), show={"dx": 0.5, "axis": 0}, check=tol)
    c.case("trapezoid", grid(2, 4), xp, fn=lambda y, z: jnp.trapezoid(y, z), show={}, grad=True, check=tol)
    c.case("trapezoid", whole(2, 4), xp, fn=lambda y, z: jnp.trapezoid(y, z), show={}, check=tol)
    for axis in [0, 1]:
        c.case("gradient", grid(3, 4), fn=lambda y: jnp.gradient(y, axis=axis), show={"axis": axis}, grad=True)
    c.case("gradient", grid(3, 4), fn=lambda y: jnp.gradient(y, 0.5, axis=0), show={"axis": 0, "distance": 0.5})
    c.case("gradient", grid(3, 4), fn=lambda y: jnp.gradient(y))
    c.case("gradient", grid(1, 4), fn=lambda y: jnp.gradient(y, axis=0), show={"axis": 0})
    c.case("polyval", a, m, grad=True, check=tol)
    c.case("polyval", whole(3), whole(2, 2, seed=2))
    for name in ["polyadd", "polysub", "polymul"]:
        c.case(name, a, b, grad=True, check=tol)
        c.case(name, whole(2), whole(4))
    c.case("polydiv", a, b, check={"tol": 1e-5}, grad=True, fn=lambda u, v: jnp.polydiv(u, v, trim_leading_zeros=False))
    c.case("polydiv", b, a, fn=lambda u, v: jnp.polydiv(u, v, trim_leading_zeros=False))
    for k in [0, 1, 2]:
        c.case("polyder", a, m=k, grad=k == 1)
        c.case("polyint", a, m=k, grad=k == 1, check=tol)
    c.case("polyder", whole(4), m=1)
    c.case("poly", b, grad=True, check=tol)
    k = jnp.asarray([0, 2, 2, 5, -1, 1])
    for length in [3, 6, 8]:
        c.case("bincount", k, length=length)
        c.case("bincount", k, grid(6), fn=lambda u, w, length: jnp.bincount(u, w, length=length), length=length, grad=True)
    c.case("bincount", m, length=3)
    data = grid(20, seed=11)
    c.case("histogram_bin_edges", data, bins=5, check=tol)
    c.case("histogram_bin_edges", jnp.ones(3), bins=4, check=tol)
    c.case("histogram", data, bins=5, check=tol)
    c.case("histogram", data, bins=5, density=True, check=tol)
    cloud = grid(40, 2, seed=9)
    parts = [jnp.asarray([-2.0, -1, 0, 0.5, 3]), jnp.asarray([-1.5, 0.25, 2])]
    weights = grid(40, seed=8)
    for density in [False, True]:
        c.case("histogramdd", cloud, fn=lambda u: [h for h in flat(jnp.histogramdd(u, 4, density=density))],
               show={"bins": 4, "density": density}, check=tol)
        c.case("histogramdd_at", cloud, *parts, fn=lambda u, *e: flat(jnp.histogramdd(u, list(e), density=density)),
               show={"density": density}, check=tol)
    c.case("histogramdd_weights", cloud, weights, *parts, fn=lambda u, w, *e: flat(jnp.histogramdd(u, list(e), weights=w)),
           show={}, check=tol)
    c.case("histogramdd_at", cloud, parts[0], fn=lambda u, e: flat(jnp.histogramdd(u, [e])), show={})
    c.case("histogram2d", cloud[:, 0], cloud[:, 1], fn=lambda u, v: jnp.histogram2d(u, v, 5), show={"bins": 5}, check=tol)
    c.case("histogram2d", cloud[:, 0], cloud[:4, 1], fn=lambda u, v: jnp.histogram2d(u, v, 5), show={"bins": 5})
    for x in [grid(2, 5, seed=3), whole(6)]:
        mask = whole(*x.shape, seed=5, low=0, high=2)
        for v in [grid(1), grid(2, 2, seed=4), whole(9)]:
            c.case("place", x, mask, v, fn=lambda a, m, b: jnp.place(a, m, b, inplace=False),
                   grad=jnp.issubdtype(x.dtype, jnp.floating))
    c.case("place", grid(3), jnp.ones(2), grid(1), fn=lambda a, m, b: jnp.place(a, m, b, inplace=False))
    c.case("place", grid(3), jnp.ones(3), jnp.zeros(0), fn=lambda a, m, b: jnp.place(a, m, b, inplace=False))
    c.case("histogram_at", data, jnp.asarray([-2.0, -1, 0, 0.5, 3]), fn=lambda u, e: jnp.histogram(u, e))
    c.case("cov", grid(3, 5), check=tol, grad=True)
    c.case("cov", grid(3, 5), rowvar=False, check=tol)
    c.case("cov", grid(3, 5), bias=True, check=tol)
    c.case("cov", grid(3, 5), ddof=2, check=tol)
    c.case("cov", a, check=tol)
    c.case("cov", grid(2, 2, 2))
    c.case("corrcoef", grid(3, 5), check=tol, grad=True)
    c.case("corrcoef", a)
    c.case("select", m > 0, m < -1, m, 2 * m, fn=lambda p, q, u, v: jnp.select([p, q], [u, v], 9.0), grad=True)
    c.case("choose", jnp.asarray([0, 2, 1, 5, -1]), grid(5), grid(5, seed=2), grid(5, seed=3),
           fn=lambda i, *z: jnp.choose(i, z, mode="clip"), grad=True)
    c.case("choose", jnp.asarray([0, 2, 1, 5, -1]), grid(5), grid(5, seed=2), grid(5, seed=3), show={"wrap": True},
           fn=lambda i, *z: jnp.choose(i, z, mode="wrap"))
    c.case("piecewise", m, fn=lambda u: jnp.piecewise(u, [u < -1, u > 1], [lambda z: -z, lambda z: z * z, 0.5]), grad=True)
    i = jnp.asarray([[1, 0, 0], [0, -1, 1]])
    c.case("put_along_axis", m, i[:1], grid(1, 3, seed=6), grad=True,
           fn=lambda u, p, v: jnp.put_along_axis(u, p, v, 0, inplace=False), show={"axis": 0})
    c.case("put_along_axis", m, jnp.asarray([[2], [-3]]), grid(2, 1, seed=6), grad=True,
           fn=lambda u, p, v: jnp.put_along_axis(u, p, v, 1, inplace=False), show={"axis": 1})
    c.case("put", m, jnp.asarray([0, 4, 2]), b[:2], fn=lambda u, p, v: jnp.put(u, p, v, inplace=False))
    c.case("ravel_multi_index", jnp.asarray([0, 2, 7]), jnp.asarray([3, -1, 1]),
           fn=lambda *p: jnp.ravel_multi_index(p, (3, 4), mode="clip"))
    c.case("unravel_index", jnp.asarray([0, 5, 11, 17, -1, -40]), fn=lambda p: list(jnp.unravel_index(p, (3, 4))))
    for at_, axis in [(1, 0), (-1, 1), (0, 1)]:
        c.case("delete", n, fn=lambda u: jnp.delete(u, at_, axis), show={"at": at_, "axis": axis}, grad=True)
    for at_, axis in [(1, 0), (-1, 1), (3, 0), (9, 0)]:
        c.case("insert", n, jnp.float32(5), fn=lambda u, v: jnp.insert(u, at_, v, axis), show={"at": at_, "axis": axis})
    c.case("insert", n, a, fn=lambda u, v: jnp.insert(u, 2, v, 0), show={"at": 2, "axis": 0}, grad=True)
    c.save("numpy/signal.txt")


def write_activations():
    c = Cases("make_numpy.py", "Activations", jax.nn)
    points = jnp.asarray([-7, -3, -1.5, -1, -0.25, 0, 0.25, 0.75, 1, 2, 3, 9], jnp.float32)
    special = jnp.asarray([nan, -inf, inf, -0.0, 100, -100], jnp.float32)
    for name in ["hard_tanh", "hard_sigmoid", "hard_silu", "hard_swish", "swish", "celu", "mish", "soft_sign", "squareplus",
                 "sparse_plus", "sparse_sigmoid", "relu", "relu6", "silu", "gelu", "elu", "selu", "leaky_relu", "softplus",
                 "log_sigmoid", "sigmoid"]:
        c.case(name, points, grad=True, check={"tol": 3e-6})
        c.case(name, special, check={"tol": 3e-6})
        c.case(name, points.astype(jnp.bfloat16), check={"tol": 2e-2})
        c.case(name, jnp.asarray([-3, 0, 4]), check={"tol": 3e-6}) if name not in (
            "relu", "relu6", "hard_tanh", "swish", "silu", "sigmoid") else None
    c.case("glu", grid(3, 4), grad=True)
    c.case("glu", grid(4, 3), axis=0, grad=True)
    c.case("glu", grid(4, 3))
    c.case("log1mexp", jnp.asarray([0.01, 0.5, 0.69, 0.7, 3, 20], jnp.float32), grad=True, check={"tol": 3e-6})
    for axis in [None, 0, (0, 1)]:
        c.case("logmeanexp", grid(3, 4), axis=axis, grad=True, check={"tol": 3e-6})
    c.case("logmeanexp", grid(3, 4), axis=1, keepdims=True, check={"tol": 3e-6})
    c.case("identity", points, grad=True)
    near, few = {"tol": 2e-5, "gtol": 2e-4}, jnp.asarray([[1, 0, 1, 1], [0, 1, 1, 0], [1, 1, 1, 1]], jnp.bool_)
    for axis in [-1, 0, (0, 1), None]:
        c.case("standardize", grid(3, 4), axis=axis, grad=True, check=near, show={"all": True} if axis is None else {"axis": axis})
    c.case("standardize", grid(3, 4), epsilon=0.25, grad=True, check=near)
    c.case("standardize", grid(3, 4).astype(jnp.bfloat16), check={"tol": 4e-2})
    c.case("standardize", whole(3, 4), check=near)
    c.case("standardize", grid(3, 4), axis=2)
    c.case("standardize", grid(3, 4), few, fn=lambda x, w: jax.nn.standardize(x, where=w), grad=True, check=near)
    c.case("standardize", grid(3, 4), grid(4), jnp.asarray([[0.5], [1], [4]], jnp.float32), grad=True, check=near,
           fn=lambda x, m, v: jax.nn.standardize(x, mean=m, variance=v))
    c.save("ops/activations.txt")


def write_samples():
    c = Cases("make_numpy.py", "Samples of jax.random", jax.random)
    key = jax.random.PRNGKey(7)
    tol = {"tol": 2e-5, "vmap": 0}
    for dtype in [jnp.float32, jnp.bfloat16, jnp.float16]:
        near = tol if dtype == jnp.float32 else {"tol": 4e-2, "vmap": 0}
        for name in ["cauchy", "laplace", "logistic", "maxwell"]:
            c.case(name, key, fn=lambda k: getattr(jax.random, name)(k, (9,), dtype), show={"shape": (9,), "dtype": dtype},
                   check=near)
    for name in ["cauchy", "laplace", "logistic", "maxwell"]:
        c.case(name, key, fn=lambda k: getattr(jax.random, name)(k, (2, 3)), show={"shape": (2, 3)}, check=tol)
    for s in [(), (8,), (2, 3)]:
        c.case("rademacher", key, fn=lambda k: jax.random.rademacher(k, s), show={"shape": s} if s else {})
        show = {"shape": s} if s else {}
        for name in ["lognormal", "pareto", "rayleigh"]:
            c.case(name, key, 1.5, fn=lambda k, p: getattr(jax.random, name)(k, p, s), show=show, check=tol)
        c.case("wald", key, 1.5, fn=lambda k, p: jax.random.wald(k, p, s), show=show, check={"tol": 1e-3, "vmap": 0})
        c.case("weibull_min", key, 2.0, 1.5, fn=lambda k, p, q: jax.random.weibull_min(k, p, q, s), show=show, check=tol)
        c.case("double_sided_maxwell", key, 2.0, 1.5, fn=lambda k, p, q: jax.random.double_sided_maxwell(k, p, q, s),
               show=show, check=tol)
        c.case("triangular", key, -1.0, 0.5, 2.0, fn=lambda k, *p: jax.random.triangular(k, *p, s), show=show, check=tol)
        c.case("geometric", key, 0.25, fn=lambda k, p: jax.random.geometric(k, p, s), show=show, check={"vmap": 0})
        c.case("choice", key, grid(7), fn=lambda k, x: jax.random.choice(k, x, s), show=show)
        c.case("choice", key, grid(7), fn=lambda k, x: jax.random.choice(k, x, s, replace=False),
               show={**show, "replace": False})
    c.case("choice", key, grid(3, 5), fn=lambda k, x: jax.random.choice(k, x, (4,), axis=1), show={"shape": (4,), "axis": 1})
    c.case("choice", key, grid(3), fn=lambda k, x: jax.random.choice(k, x, (4,), replace=False),
           show={"shape": (4,), "replace": False})
    c.save("random/samples.txt")


def write_gamma():
    """Samples that are made of gamma ones, that draw until they accept, or that decompose a matrix."""
    c = Cases("make_numpy.py", "Samples of jax.random that need special functions, loops or decompositions", jax.random)
    key, other = jax.random.PRNGKey(7), jax.random.PRNGKey(123456789)
    tol = {"tol": 3e-5, "bits": 0}
    a = jnp.asarray([0.02, 0.3, 0.9, 1, 1.5, 4, 25, 300], jnp.float32)
    r = jax.random
    for name in ["gamma", "loggamma"]:
        f = getattr(r, name)
        for k in (key, other):
            c.case(name, k, a, fn=lambda k, a: f(k, a), grad=True, check=tol | {"gtol": 5e-3}, show={})
        c.case(name, key, 0.5, fn=lambda k, a: f(k, a, (2, 40)), show={"shape": (2, 40)}, check=tol)
        c.case(name, key, a[:4], fn=lambda k, a: f(k, a, (3, 4)), show={"shape": (3, 4)}, check=tol)
        c.case(name, key, jnp.asarray([0, nan, -3, inf], jnp.float32), fn=lambda k, a: f(k, a), show={}, check=tol)
        c.case(name, key, a[:0], fn=lambda k, a: f(k, a), show={}, check=tol | {"vmap": 0})
        c.case(name, key, a[:3], fn=lambda k, a: f(k, a, (3, 4)), show={"shape": (3, 4)})
        for dtype in [jnp.bfloat16, jnp.float16]:
            c.case(name, key, a[1:7], fn=lambda k, a: f(k, a, dtype=dtype), show={"dtype": dtype}, check={"tol": 4e-2, "bits": 0})
    b = jnp.asarray([[0.5], [2], [0.03]], jnp.float32)
    c.case("beta", key, a[:5], b, fn=lambda k, a, b: r.beta(k, a, b), grad=True, check=tol | {"gtol": 5e-3}, show={})
    c.case("beta", key, 0.5, 2.0, fn=lambda k, a, b: r.beta(k, a, b, (20,)), show={"shape": (20,)}, check=tol)
    c.case("beta", key, a[:2], a[:3], fn=lambda k, a, b: r.beta(k, a, b), show={})
    for name in ["chisquare", "t"]:
        f = getattr(r, name)
        c.case(name, key, a, fn=lambda k, a: f(k, a), grad=True, check=tol | {"gtol": 5e-3}, show={})
        c.case(name, other, 3.5, fn=lambda k, a: f(k, a, (2, 9)), show={"shape": (2, 9)}, check=tol)
    c.case("f", key, a[1:6], a[2:7], fn=lambda k, a, b: r.f(k, a, b), grad=True, check=tol | {"gtol": 5e-3}, show={})
    c.case("f", other, 5.0, 2.0, fn=lambda k, a, b: r.f(k, a, b, (20,)), show={"shape": (20,)}, check=tol)
    c.case("dirichlet", key, a[:5], fn=lambda k, a: r.dirichlet(k, a), grad=True, check=tol | {"gtol": 5e-3}, show={})
    c.case("dirichlet", other, a[:6].reshape(2, 3), fn=lambda k, a: r.dirichlet(k, a, (4, 2)), show={"shape": (4, 2)}, check=tol)
    c.case("dirichlet", other, a[:6].reshape(2, 3), fn=lambda k, a: r.dirichlet(k, a), show={}, check=tol)
    c.case("dirichlet", key, 2.0, fn=lambda k, a: r.dirichlet(k, a), show={})
    for p in [0.5, 1.0, 2.0, 3.5]:
        c.case("generalized_normal", key, fn=lambda k: r.generalized_normal(k, p, (11,)), show={"p": p, "shape": (11,)}, check=tol)
        c.case("ball", key, fn=lambda k: r.ball(k, 3, p, (5,)), show={"d": 3, "p": p, "shape": (5,)}, check=tol)
    c.case("ball", other, fn=lambda k: r.ball(k, 2), show={"d": 2, "p": 2}, check=tol)
    rates = jnp.asarray([0, 0.01, 0.7, 3, 9.9, 10, 11.5, 40, 250, 1000], jnp.float32)
    for k in (key, other):
        c.case("poisson", k, rates, fn=lambda k, a: r.poisson(k, a), show={})
        for rate in [0.3, 5.0, 10.0, 33.3]:
            c.case("poisson", k, rate, fn=lambda k, a: r.poisson(k, a, (2, 25)), show={"shape": (2, 25)})
    c.case("poisson", key, jnp.asarray([nan, -1, 4], jnp.float32), fn=lambda k, a: r.poisson(k, a), show={})
    c.case("poisson", key, rates[:2], fn=lambda k, a: r.poisson(k, a, (3,)), show={"shape": (3,)})
    n, p = jnp.asarray([0, 1, 9, 40, 500, 10000], jnp.float32), jnp.asarray([[0.01], [0.3], [0.5], [0.95], [1], [0]], jnp.float32)
    for k in (key, other):
        c.case("binomial", k, n, p, fn=lambda k, a, b: r.binomial(k, a, b), show={})
        for m, q in [(5.0, 0.2), (100.0, 0.4), (30.0, 0.9)]:
            c.case("binomial", k, m, q, fn=lambda k, a, b: r.binomial(k, a, b, (2, 20)), show={"shape": (2, 20)})
    c.case("binomial", key, jnp.asarray([nan, -1, 3, 3, 7.9, 3], jnp.float32), jnp.asarray([0.5, 0.5, nan, -0.5, 0.5, 0.5], jnp.float32),
           fn=lambda k, a, b: r.binomial(k, a, b), show={})
    c.case("binomial", key, n[:2], n[:3], fn=lambda k, a, b: r.binomial(k, a, b), show={})
    for k in (key, other):
        c.case("multinomial", k, 20.0, jnp.asarray([0.1, 0.5, 0, 0.4], jnp.float32), fn=lambda k, a, b: r.multinomial(k, a, b), show={})
        c.case("multinomial", k, jnp.asarray([3, 1000], jnp.float32), jnp.asarray([[0.2, 0.3, 0.5], [2, 1, 1]], jnp.float32),
               fn=lambda k, a, b: r.multinomial(k, a, b), show={})
    c.case("multinomial", key, 12.0, jnp.asarray([0.2, 0.3, 0.5], jnp.float32), fn=lambda k, a, b: r.multinomial(k, a, b, shape=(4, 3)),
           show={"shape": (4, 3)})
    mean, cov = grid(3), jnp.asarray([[2, 0.5, 0], [0.5, 1, -0.25], [0, -0.25, 3]], jnp.float32)
    normal = lambda k, m, v: r.multivariate_normal(k, m, v)
    c.case("multivariate_normal", key, mean, cov, fn=normal, grad=True, check=tol | {"gtol": 5e-3}, show={})
    c.case("multivariate_normal", key, mean, cov, fn=lambda k, m, v: r.multivariate_normal(k, m, v, (4,)), show={"shape": (4,)}, check=tol)
    c.case("multivariate_normal", key, grid(2, 1, 3), jnp.stack([cov, cov + jnp.eye(3)]), fn=normal, show={}, check=tol)
    c.case("multivariate_normal", key, mean, cov[:2], fn=normal, show={})
    c.case("multivariate_normal", key, 1.0, cov, fn=normal, show={})
    for n, m in [(3, 3), (4, 2), (2, 5)]:
        c.case("orthogonal", key, fn=lambda k: r.orthogonal(k, n, (), m=m), show={"n": n, "m": m}, check=tol)
    c.case("orthogonal", other, fn=lambda k: r.orthogonal(k, 2, (3,)), show={"n": 2, "shape": (3,)}, check=tol)
    start = jax.nn.initializers
    for scale in [1, 2]:
        for s in [(3, 3), (2, 3, 5), (4, 2), (2, 0)]:
            for axis in [-1, 0]:
                c.case("orthogonal_init", key, fn=lambda k: start.orthogonal(scale, axis)(k, s, jnp.float32), check=tol,
                       show={"shape": s, "scale": scale, "axis": axis})
        for s in [(3, 2, 2), (4, 2, 3), (2, 3, 2, 3), (1, 2, 3, 2, 2), (3, 3, 2), (2, 2)]:
            c.case("delta_orthogonal", key, fn=lambda k: start.delta_orthogonal(scale)(k, s, jnp.float32), check=tol,
                   show={"shape": s, "scale": scale})
    c.case("orthogonal_init", key, fn=lambda k: start.orthogonal()(k, (3,), jnp.float32), show={"shape": (3,), "scale": 1, "axis": -1})
    c.save("random/gamma.txt")


def main():
    families = {name[6:]: f for name, f in globals().items() if name.startswith("write_")}
    for name in sys.argv[1:] or families:
        families[name]()


if __name__ == "__main__":
    main()
