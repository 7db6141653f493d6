"""tests/golden/make_complex.py: write the tables of cases of complex numbers (see golden_cases.py).

    python make_complex.py [elementwise] [arrays] [fourier]

The inputs and results of a case are real and imaginary parts. Values are those of JAX on the CPU. Left out is what XLA
computes there otherwise than its definition says: sinh and cosh lose digits of small real parts and are NumPy's in double
precision, inverse tangents of NaN are not NaN, and the derivative of acosh has the wrong sign in the left half of the plane.
A mean is divided by a complex number, so that a NaN in one part is in both; ours has it in one.
"""
# SPDX-License-Identifier: Apache-2.0
import sys

from golden_cases import *

jax.config.update("jax_enable_x64", True)
DTYPES = [jnp.float32, jnp.float64]
LOOSE = {jnp.float32: {"tol": 3e-6, "gtol": 3e-5}, jnp.float64: {"tol": 1e-14, "gtol": 1e-12}}
SPECIAL = [0.0, 1.0, -2.5, inf, -inf, nan, 3e38, 1e-30, 0.5]


def parts(z):
    return (jnp.real(z), jnp.imag(z)) if jnp.iscomplexobj(z) else (z,)


def plain(seed, *shape, dtype=jnp.float32, low=-3, high=1):
    """Numbers of many sizes, with few digits."""
    r = np.random.RandomState(seed)
    x = np.asarray([float(f"{v:.3g}") for v in (r.randn(int(np.prod(shape))) * 10.0 ** r.uniform(low, high, int(np.prod(shape))))])
    return jnp.asarray(x.reshape(shape), dtype)


def pairs(values, keep=lambda x, y: True):
    both = [(x, y) for x in values for y in values if keep(x, y)]
    return [jnp.asarray([b[k] for b in both], jnp.float32) for k in (0, 1)]


def by_numpy(f):
    def wide(re, im):
        z = np.asarray(f(np.asarray(re, np.float64) + 1j * np.asarray(im, np.float64)))
        return jnp.asarray(z.real.astype(re.dtype)), jnp.asarray(z.imag.astype(re.dtype))
    return wide


def unary(f):
    return lambda re, im: parts(f(jax.lax.complex(re, im)))


FUNCTIONS = {
    "exp": jnp.exp, "expm1": jnp.expm1, "log": jnp.log, "log1p": jnp.log1p, "log2": jnp.log2, "log10": jnp.log10,
    "sqrt": jnp.sqrt, "rsqrt": jax.lax.rsqrt, "sin": jnp.sin, "cos": jnp.cos, "tan": jnp.tan, "sinh": jnp.sinh,
    "cosh": jnp.cosh, "tanh": jnp.tanh, "asin": jnp.arcsin, "acos": jnp.arccos, "atan": jnp.arctan,
    "asinh": jnp.arcsinh, "acosh": jnp.arccosh, "atanh": jnp.arctanh, "sign": jnp.sign, "square": jnp.square,
    "reciprocal": jnp.reciprocal, "negative": jnp.negative, "conj": jnp.conj, "abs": jnp.abs, "angle": jnp.angle,
    "isnan": jnp.isnan, "isinf": jnp.isinf, "isfinite": jnp.isfinite, "iscomplex": jnp.iscomplex, "isreal": jnp.isreal,
}
# At which of the special pairs a function of XLA is what it is meant to be.
HAS_NAN = lambda x, y: x != x or y != y
KEEP = {
    "sqrt": lambda x, y: not (x != x and abs(y) == inf),
    "rsqrt": lambda x, y: not HAS_NAN(x, y),
    "asin": lambda x, y: not HAS_NAN(x, y), "acos": lambda x, y: not HAS_NAN(x, y),
    "asinh": lambda x, y: not HAS_NAN(x, y), "acosh": lambda x, y: not HAS_NAN(x, y),
    "atan": lambda x, y: not HAS_NAN(x, y), "atanh": lambda x, y: not HAS_NAN(x, y),
}


def write_elementwise():
    c = Cases("make_complex.py", "Functions of one and two complex numbers")
    for name, f in FUNCTIONS.items():
        exact = by_numpy(getattr(np, name)) if name in ("sinh", "cosh") else None
        smooth = not name.startswith("is") and name not in ("negative", "conj", "sign", "angle")
        for dtype in DTYPES:
            for seed, low, high in [(1, -3, 1), (3, -1, 0.5)]:
                x, y = plain(seed, 8, dtype=dtype, low=low, high=high), plain(seed + 1, 8, dtype=dtype, low=low, high=high)
                if name == "acosh":
                    x = abs(x)
                c.case(name, x, y, fn=exact or unary(f), check=LOOSE[dtype], grad=smooth and exact is None and seed == 3)
            axis = jnp.asarray([0.25, -0.5, 2, -3, 0.75, 1.5], dtype)  # real and imaginary numbers, on both sides of cuts
            for re, im in [(axis, jnp.zeros_like(axis)), (jnp.zeros_like(axis), axis), (axis, axis), (axis, -axis)]:
                c.case(name, re, im, fn=exact or unary(f), check=LOOSE[dtype])
        if exact is None:
            c.case(name, *pairs(SPECIAL, KEEP.get(name, lambda x, y: True)), fn=unary(f), check=LOOSE[jnp.float32])
        # zeros of both signs on the branch cuts
        cut = jnp.asarray([-2, -2, -0.5, -0.5], jnp.float32)
        zero = jnp.asarray([0.0, -0.0, 0.0, -0.0], jnp.float32)
        c.case(name, cut, zero, fn=exact or unary(f), check=LOOSE[jnp.float32])
    two = {"add": jnp.add, "subtract": jnp.subtract, "multiply": jnp.multiply, "divide": jnp.divide,
           "equal": jnp.equal, "not_equal": jnp.not_equal, "power": jnp.power}
    for name, f in two.items():
        both = lambda a, b, d, e, f=f: parts(f(jax.lax.complex(a, b), jax.lax.complex(d, e)))
        right = lambda a, b, d, f=f: parts(f(jax.lax.complex(a, b), d))
        left = lambda d, a, b, f=f: parts(f(d, jax.lax.complex(a, b)))
        smooth = "equal" not in name
        for dtype in DTYPES:
            more = {"tol": LOOSE[dtype]["tol"] * (10 if name == "power" else 1), "gtol": LOOSE[dtype]["gtol"] * 10}
            for s, t in [((6,), (6,)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((), (4,)), ((0,), (1,))]:
                a, b = plain(5, *s, dtype=dtype, low=-1, high=0.5), plain(6, *s, dtype=dtype, low=-1, high=0.5)
                d, e = plain(7, *t, dtype=dtype, low=-1, high=0.5), plain(8, *t, dtype=dtype, low=-1, high=0.5)
                c.case(name, a, b, d, e, fn=both, check={**more, **({"vmap": 0} if s != t else {})}, grad=smooth and s == (6,))
                c.case(name + "_real", a, b, d, fn=right, check={**more, "vmap": 0})
                c.case("real_" + name, d, a, b, fn=left, check={**more, "vmap": 0})
    some = jnp.asarray([1, 1, 2, nan, inf, 0.0, -0.0], jnp.float32)
    other = jnp.asarray([1, 2, 2, nan, inf, -0.0, 0.0], jnp.float32)
    for name in ["equal", "not_equal"]:
        f = two[name]
        c.case(name, some, other, other, some, fn=lambda a, b, d, e: parts(f(jax.lax.complex(a, b), jax.lax.complex(d, e))))
        c.case(name, some, other, some, other, fn=lambda a, b, d, e: parts(f(jax.lax.complex(a, b), jax.lax.complex(d, e))))
    big = jnp.asarray([3e30, 1e-25, 2e20, -1e15], jnp.float32)
    c.case("divide", big, big / 2, big * 0.25, -big, check=LOOSE[jnp.float32],
           fn=lambda a, b, d, e: parts(jax.lax.complex(a, b) / jax.lax.complex(d, e)))
    for dtype in DTYPES:  # the gradient of a real function, and complex derivatives
        x, y = plain(9, 5, dtype=dtype, low=-1, high=0.3), plain(10, 5, dtype=dtype, low=-1, high=0.3)
        real = lambda z: jnp.sum(jnp.abs(jnp.sin(z) * z) ** 2 + jnp.real(z ** 3))
        c.case("complex_grad", x, y, fn=lambda a, b: parts(jax.grad(real)(jax.lax.complex(a, b))), show={},
               check={"tol": LOOSE[dtype]["tol"] * 20})
        holomorphic = lambda z: jnp.exp(z) * jnp.sqrt(z) + jnp.tanh(z)
        for k in range(5):
            c.case("holomorphic_grad", x[k], y[k], show={}, check={"tol": LOOSE[dtype]["tol"] * 10},
                   fn=lambda a, b: parts(jax.grad(holomorphic, holomorphic=True)(jax.lax.complex(a, b))))
    c.save("complex/elementwise.txt")


def write_arrays():
    c = Cases("make_complex.py", "Reductions and products of complex arrays")
    z = jax.lax.complex
    for dtype in DTYPES:
        tol = {"tol": LOOSE[dtype]["tol"] * 5, "gtol": LOOSE[dtype]["gtol"] * 10}
        x, y = grid(3, 4, seed=1, scale=1.0, dtype=dtype), grid(3, 4, seed=2, scale=1.0, dtype=dtype)
        empty = jnp.zeros((3, 0), dtype)
        for name in ["sum", "mean", "prod", "cumsum", "cumprod", "var", "std", "all", "any"]:
            f = getattr(jnp, name)
            for axis in [0, 1, -1]:
                c.case(name, x, y, axis=axis, fn=lambda a, b, axis: parts(f(z(a, b), axis=axis)), check=tol,
                       grad=name not in ("all", "any"))
            if name not in ("mean", "var", "std"):
                c.case(name, empty, empty, axis=1, fn=lambda a, b, axis: parts(f(z(a, b), axis=axis)), check={"vmap": 0})
            one, two = jnp.asarray([2.0], dtype), jnp.asarray([-0.5], dtype)
            c.case(name, one, two, axis=0, fn=lambda a, b, axis: parts(f(z(a, b), axis=axis)), check=tol)
            five = [grid(5, seed=s, dtype=dtype) for s in (3, 4)]
            c.case(name, *five, axis=0, fn=lambda a, b, axis: parts(f(z(a, b), axis=axis)), check=tol)
            holes = [v.at[1].set(nan) for v in five]
            if name != "mean":
                c.case(name, holes[0], five[1], axis=0, fn=lambda a, b, axis: parts(f(z(a, b), axis=axis)), check=tol)
        products = {
            "matmul": [((3, 4), (4, 2)), ((4,), (4,)), ((2, 3, 4), (4, 2)), ((3, 4), (4,)), ((2, 0), (0, 3))],
            "dot": [((3, 4), (4, 2)), ((4,), (4,)), ((2,), (2,))], "inner": [((3, 4), (2, 4)), ((4,), (4,))],
            "outer": [((3,), (4,)), ((2, 2), (3,))], "kron": [((2, 2), (1, 3)), ((2,), (3,))],
            "vdot": [((3, 4), (3, 4)), ((5,), (5,))], "tensordot": [((2, 3, 4), (3, 4, 2)), ((3, 4), (3, 4))],
            "convolve": [((5,), (3,)), ((2,), (4,)), ((1,), (1,))], "correlate": [((5,), (3,)), ((4,), (4,))],
        }
        for name, shapes in products.items():
            f = getattr(jnp, name)
            for s, t in shapes:
                a, b, d, e = (grid(*v, seed=k, scale=1.0, dtype=dtype) for k, v in enumerate([s, s, t, t]))
                both = lambda a, b, d, e: parts(f(z(a, b), z(d, e)))
                c.case(name, a, b, d, e, fn=both, show={}, check=tol, grad=True)
                if name not in ("vdot", "correlate"):
                    c.case(name + "_real", a, b, d, fn=lambda a, b, d: parts(f(z(a, b), d)), show={}, check=tol)
                if name not in ("vdot", "correlate") and s == t:
                    c.case("real_" + name, d, a, b, fn=lambda d, a, b: parts(f(d, z(a, b))), show={}, check=tol)
        for equation, s, t in [("ij,jk->ik", (2, 3), (3, 4)), ("bij,bjk->bik", (2, 2, 3), (2, 3, 2)), ("i,i->", (4,), (4,)),
                               ("ij,kj->ki", (2, 3), (4, 3)), ("ii,i->i", (3, 3), (3,))]:
            a, b, d, e = (grid(*v, seed=k, scale=1.0, dtype=dtype) for k, v in enumerate([s, s, t, t]))
            c.case("einsum", a, b, d, e, fn=lambda a, b, d, e: parts(jnp.einsum(equation, z(a, b), z(d, e))),
                   show={"equation": equation}, check=tol, grad=True)
        for equation in ["ii->", "ii->i", "ij->ji", "ij->i"]:
            a, b = grid(3, 3, seed=5, dtype=dtype), grid(3, 3, seed=6, dtype=dtype)
            c.case("einsum", a, b, fn=lambda a, b: parts(jnp.einsum(equation, z(a, b))), show={"equation": equation}, check=tol)
        moves = {"reshape": lambda v: jnp.reshape(v, (4, 3)), "transpose": jnp.transpose, "ravel": jnp.ravel,
                 "swapaxes": lambda v: jnp.swapaxes(v, 0, 1), "moveaxis": lambda v: jnp.moveaxis(v, 0, -1),
                 "broadcast_to": lambda v: jnp.broadcast_to(v, (2, 3, 4)), "flip": lambda v: jnp.flip(v, 1),
                 "roll": lambda v: jnp.roll(v, 1, 0), "take": lambda v: jnp.take(v, jnp.asarray([2, 0]), axis=0),
                 "concatenate": lambda v: jnp.concatenate([v, v[:1]]), "stack": lambda v: jnp.stack([v, -v], 1),
                 "where": lambda v: jnp.where(v.real > 0, v, 2 * v), "index": lambda v: v[1], "part": lambda v: v[:, 1:3],
                 "squeeze": lambda v: jnp.squeeze(jnp.expand_dims(v, 1), 1)}
        for name, f in moves.items():
            c.case(name, x, y, fn=lambda a, b: parts(f(z(a, b))), show={}, grad=True, check={"gtol": tol["gtol"]})
        ties = jnp.asarray([1, 0, 1, -2, 1, 0, inf], dtype), jnp.asarray([3, -1, 2, 0.5, nan, -2, 1], dtype)
        for a, b in [(x, y), ties]:
            c.case("sort_complex", a, b, fn=lambda a, b: parts(jnp.sort_complex(z(a, b))))
    c.save("complex/arrays.txt")


def write_fourier():
    c = Cases("make_complex.py", "The functions of jax.numpy.fft")
    fft, z = jnp.fft, jax.lax.complex
    for dtype in DTYPES:
        tol = {"tol": 1e-5 if dtype == jnp.float32 else 1e-13, "gtol": 1e-4 if dtype == jnp.float32 else 1e-12}
        x, y = grid(3, 6, seed=1, dtype=dtype), grid(3, 6, seed=2, dtype=dtype)
        for name in ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]:
            f = getattr(fft, name)
            real = name in ("rfft", "ihfft")
            inputs = (x,) if real else (x, y)
            run = (lambda a, **o: parts(f(a, **o))) if real else (lambda a, b, **o: parts(f(z(a, b), **o)))
            for n in [None, 1, 4, 5, 8, 9]:
                for axis in [-1, 0]:
                    c.case(name, *inputs, n=n, axis=axis, fn=run, check=tol, grad=axis == -1 and n in (None, 4, 9))
            for norm in ["backward", "ortho", "forward"]:
                c.case(name, *inputs, n=7, axis=1, norm=norm, fn=run, check=tol, grad=True)
            c.case(name, *inputs, axis=2, fn=run)
        cube = [grid(2, 4, 3, seed=s, dtype=dtype) for s in (3, 4)]
        for name in ["fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn"]:
            f = getattr(fft, name)
            real = name.startswith("rfft")
            inputs = cube[:1] if real else cube
            run = (lambda a, **o: parts(f(a, **o))) if real else (lambda a, b, **o: parts(f(z(a, b), **o)))
            c.case(name, *inputs, fn=run, check=tol, grad=True)
            for s, axes, norm in [((4, 4), (0, 1), "ortho"), ((3, 2), (2, 1), "forward"), (None, (0, 2), "backward")]:
                given = {k: v for k, v in [("s", s), ("axes", axes), ("norm", norm)] if v is not None}
                c.case(name, *inputs, fn=run, check=tol, **given)
        for n in [1, 2, 7, 8]:
            for d in [1.0, 0.25]:
                for name in ["fftfreq", "rfftfreq"]:
                    c.case(name, n=n, d=d, dtype=dtype, fn=lambda n, d, dtype: getattr(fft, name)(n, d, dtype=dtype))
        for name in ["fftshift", "ifftshift"]:
            f = getattr(fft, name)
            for shape in [(5,), (4,), (3, 4)]:
                a, b = grid(*shape, seed=7, dtype=dtype), grid(*shape, seed=8, dtype=dtype)
                c.case(name, a, fn=lambda a: f(a), show={})
                c.case(name, a, b, fn=lambda a, b: parts(f(z(a, b))), show={})
            c.case(name, grid(3, 4, seed=7, dtype=dtype), axes=(1,), fn=lambda a, axes: f(a, axes=axes))
    c.save("complex/fourier.txt")


if __name__ == "__main__":
    wanted = sys.argv[1:] or ["elementwise", "arrays", "fourier"]
    for family in wanted:
        globals()[f"write_{family}"]()
