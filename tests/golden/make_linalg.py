"""tests/golden/make_linalg.py: write the tables of cases of jax.numpy.linalg and jax.scipy.linalg (see golden_cases.py).

    python make_linalg.py
"""
# SPDX-License-Identifier: Apache-2.0
import jax.scipy.linalg as jsl

from golden_cases import *

TOL = {"tol": 3e-5, "gtol": 1e-4, "bits": 0}
LOOSE = {"tol": 3e-4, "gtol": 2e-3, "bits": 0}
SINGULAR = jnp.asarray([[1, 2, 3], [2, 4, 6], [1, 0, 1]], jnp.float32)


def near_identity(*shape, seed=0):
    """Far from singular, so that rounding stays small; exact in few digits."""
    return grid(*shape, seed=seed, scale=0.5) + 3 * jnp.eye(shape[-1])


def spd(n, seed=0):
    a = grid(n, n, seed=seed, scale=0.5)
    return a @ a.T + 2 * jnp.eye(n)


class Both:
    """jnp.linalg, and jnp where that has no such name."""
    def __getattr__(self, name):
        return getattr(jnp.linalg, name, None) or getattr(jnp, name)


def write_functions():
    c = Cases("make_linalg.py", "Functions of matrices", Both())
    for a in [near_identity(3, 3), near_identity(2, 4, 4, seed=1), grid(1, 1), jnp.zeros((0, 2, 2))]:
        some = a.size > 0
        c.case("det", a, grad=some, check=TOL)
        c.case("slogdet", a, grad=some, check=TOL)
        c.case("inv", a, grad=some, check=TOL)
        c.case("matrix_rank", a)
        c.case("trace", a, grad=some, check=TOL)
        c.case("diagonal", a, grad=some)
        c.case("diagonal", a, offset=1, grad=some)
        c.case("diagonal", a, offset=-1)
        for n in [0, 1, 2, 5, -3]:
            c.case("matrix_power", a, n=n, grad=some, check=LOOSE)
        c.case("expm", a, fn=jsl.expm, grad=some, check={**LOOSE, "tol": 2e-4, "scale": 1})
    c.case("det", SINGULAR, grad=True, check=TOL)
    c.case("slogdet", jnp.zeros((2, 2)), check={"vmap": 1})
    c.case("det", grid(2, 3))
    c.case("expm", 40 * jnp.eye(2), fn=jsl.expm, check=LOOSE)
    c.case("expm", jnp.asarray([[0, 1], [-1, 0]], jnp.float32) * 3, fn=jsl.expm, grad=True, check=LOOSE)
    for a, b in [(near_identity(3, 3), grid(3)), (near_identity(3, 3), grid(3, 2)), (near_identity(2, 3, 3), grid(2, 3, 1))]:
        c.case("solve", a, b, grad=True, check=TOL)
        for lower in [False, True]:
            for trans in [0, 1]:
                if a.ndim == 2:
                    c.case("solve_triangular", a, b, fn=lambda a, b, lower, trans, unit: jsl.solve_triangular(
                        a, b, lower=lower, trans=trans, unit_diagonal=unit), grad=True, check=TOL, lower=lower,
                        trans=trans, unit=trans == lower)
    for a in [grid(4, 3), grid(3, 4), grid(3, 3), grid(2, 3, 2)]:
        c.case("pinv", a, grad=True, check=LOOSE)
        c.case("svdvals", a, grad=True, check=TOL)
        c.case("matrix_rank", a)
        c.case("cond", a, grad=True, check=LOOSE)
    for name in ["pinv", "matrix_rank"]:
        c.case(name, SINGULAR, check=LOOSE | {"vmap": 0})
    for p in [None, 2, -2, 1, -1, "fro", "nuc", inf, -inf]:
        c.case("cond", near_identity(3, 3), p=p, grad=True, check=LOOSE)
    for a, b in [(grid(5, 3), grid(5, seed=1)), (grid(3, 5), grid(3, 2, seed=2)), (grid(3, 3), grid(3, seed=3))]:
        c.case("lstsq", a, b, fn=lambda a, b: jnp.linalg.lstsq(a, b)[0], check=LOOSE, grad=True)
    at, w = jnp.asarray([-2, -1.5, -0.25, 0.5, 1, 2.25, 3], jnp.float32), jnp.asarray([1, 2, 0.5, 1, 1, 0.25, 2], jnp.float32)
    for y in [grid(7, seed=1), grid(7, 2, seed=2)]:
        for deg in [0, 2, 3]:
            c.case("polyfit", at, y, deg=deg, grad=deg == 2, check=LOOSE)
            c.case("polyfit_weights", at, y, w, fn=lambda a, b, v: jnp.polyfit(a, b, deg, w=v), show={"deg": deg}, check=LOOSE)
        c.case("polyfit_full", at, y, fn=lambda a, b: jnp.polyfit(a, b, 2, full=True)[:4], show={"deg": 2}, check=LOOSE)
        for unscaled in [False, True]:
            c.case("polyfit_covariance", at, y, fn=lambda a, b: jnp.polyfit(a, b, 2, cov="unscaled" if unscaled else True),
                   show={"deg": 2, "unscaled": unscaled}, check=LOOSE)
    c.case("polyfit", at, grid(7), deg=-1)
    c.case("polyfit", at, grid(6), deg=1)
    c.case("polyfit", grid(7, 1), grid(7), deg=1)
    c.case("polyfit", jnp.zeros(0), jnp.zeros(0), deg=1)
    c.case("polyfit_covariance", at[:3], grid(3), fn=lambda a, b: jnp.polyfit(a, b, 2, cov=True), show={"deg": 2})
    c.case("cholesky", spd(3), grad=True, check=TOL)
    c.case("cholesky", jnp.stack([spd(2), spd(2, 5)]), upper=True, grad=True, check=TOL)
    c.case("cho_solve", spd(3), grid(3, 2), fn=lambda a, b: jsl.cho_solve(jsl.cho_factor((a + a.T) / 2), b), grad=True, check=TOL)
    c.case("eigvalsh", spd(4), grad=True, check=TOL)
    c.case("qr_r", grid(4, 3), fn=lambda a: jnp.linalg.qr(a)[1], grad=True, check=LOOSE | {"vmap": 0})
    z, parts = jax.lax.complex, lambda v: (jnp.real(v), jnp.imag(v))
    for shape in [(1, 1), (3, 3), (2, 4, 4)]:  # complex matrices: the real parts, then the imaginary ones
        re, im = near_identity(*shape), grid(*shape, seed=5, scale=0.5)
        c.case("complex_inv", re, im, fn=lambda a, b: parts(jnp.linalg.inv(z(a, b))), grad=True, check=TOL)
        for of_b in [shape[-1:], shape[:-1] + (2,)]:
            d, e = grid(*of_b, seed=6), grid(*of_b, seed=7)
            c.case("complex_solve", re, im, d, e, fn=lambda a, b, d, e: parts(jnp.linalg.solve(z(a, b), z(d, e))), grad=True,
                   check=TOL)
        c.case("complex_eigvalsh", re + jnp.swapaxes(re, -1, -2), im - jnp.swapaxes(im, -1, -2), check=TOL,
               fn=lambda a, b: jnp.linalg.eigvalsh(z(a, b)))
    c.save("linalg/functions.txt")


def write_norms():
    c = Cases("make_linalg.py", "Norms and products", jnp.linalg)
    for dtype in [jnp.float32, jnp.bfloat16]:
        v = grid(5, dtype=dtype)
        grad = dtype == jnp.float32
        check = TOL if grad else {"bits": 0, "tol": 2e-2}
        for p in [None, 0, 1, 2, 3, 0.5, -1, inf, -inf]:
            c.case("vector_norm", v, **({} if p is None else {"ord": p}), grad=grad, check=check)
    m = grid(2, 3, 4)
    for p in [None, "fro", "nuc", 1, -1, 2, -2, inf, -inf, 3]:
        c.case("matrix_norm", m, **({} if p is None else {"ord": p}), grad=p != 3, check=TOL)
        c.case("norm", m[0], **({} if p is None else {"ord": p}), check=TOL)
        c.case("norm", m, **({} if p is None else {"ord": p}), axis=(2, 0), keepdims=True, check=TOL)
    for axis in [None, 0, 1, -1, (0, 1), (2, 1), (1, 1), (0, 1, 2)]:
        c.case("norm", m, axis=axis, check=TOL)
        c.case("norm", m, axis=axis, keepdims=True, check=TOL)
    c.case("norm", m, ord=2, axis=1, check=TOL)
    c.case("norm", m, ord=2, check=TOL)
    c.case("vector_norm", m, axis=(0, 2), keepdims=True, check=TOL)
    c.case("vector_norm", jnp.zeros((0,)))
    c.case("vector_norm", jnp.zeros((0,)), ord=inf)
    c.case("norm", edges())
    for shapes in [[(2, 3), (3, 4)], [(3,), (3, 4), (4, 2), (2,)], [(2, 10), (10, 1), (1, 8), (8, 3)], [(3, 2), (2,)]]:
        c.case("multi_dot", *[grid(*s, seed=i) for i, s in enumerate(shapes)],
               fn=lambda *a: jnp.linalg.multi_dot(a), grad=True, check=TOL)
    c.case("outer", grid(3), grid(4, seed=1), grad=True)
    c.case("outer", grid(3, 1), grid(4, seed=1))
    c.case("cross", grid(3), grid(3, seed=1), grad=True, check=TOL)
    c.case("cross", grid(2, 3), grid(3, seed=1), grad=True, check=TOL)
    c.case("cross", grid(3, 4), grid(3, 4, seed=1), axis=0, grad=True, check=TOL)
    c.case("cross", grid(4), grid(4, seed=1))
    c.case("vecdot", grid(2, 3), grid(3, seed=1), grad=True, check=TOL)
    c.case("vecdot", grid(2, 3), grid(2, 3, seed=1), axis=0, check=TOL)
    a = near_identity(6, 6).reshape(2, 3, 6)
    c.case("tensorsolve", a, grid(2, 3, seed=1), grad=True, check=TOL)
    c.case("tensorsolve", near_identity(6, 6).reshape(2, 3, 3, 2), grid(2, 3, seed=1), grad=True, check=TOL)
    c.case("tensorinv", near_identity(6, 6).reshape(2, 3, 3, 2), ind=2, grad=True, check=TOL)
    c.case("tensorinv", near_identity(6, 6).reshape(6, 3, 2), ind=1, check=TOL)
    c.case("tensorinv", near_identity(6, 6), ind=2)
    c.save("linalg/norms.txt")


if __name__ == "__main__":
    write_functions()
    write_norms()
