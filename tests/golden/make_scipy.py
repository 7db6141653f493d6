"""tests/golden/make_scipy.py: write the tables of cases of jax.scipy (see golden_cases.py).

    python make_scipy.py [special] [stats] [signal]

Values at ordinary points are SciPy's in double precision, and those at special points and the gradients are JAX's.
"""
# SPDX-License-Identifier: Apache-2.0
import sys

import scipy.special
import scipy.stats

from golden_cases import *

jax.config.update("jax_enable_x64", True)
import jax.scipy.signal as signal
import jax.scipy.special as special
import jax.scipy.stats as stats

P = np.asarray
POSITIVE = P([0.001, 0.1, 0.5, 0.9, 1, 1.1, 1.5, 2, 2.5, 3.75, 7, 12.5, 40, 170])
REAL = P([-30, -8.5, -3.25, -1, -0.3, -0.01, 0, 0.02, 0.25, 0.75, 1, 1.5, 2, 2.5, 4, 6.5, 9, 25])
NEGATIVE = P([-0.25, -0.5, -1.5, -2.25, -7.75])
UNIT = P([0, 1e-20, 1e-6, 0.01, 0.2, 0.5, 0.7, 0.95, 0.999, 1])
A = P([0.1, 0.5, 1, 2, 3.5, 10, 25, 50])
PAIRS = [(P([a]), P([a * f for f in (0.01, 0.3, 0.9, 1, 1.2, 3)])) for a in A]

# name, points, and how much more than the rounding of the dtype (1e-6, 1e-15) the error may be
ONE = [("gammaln", np.concatenate([POSITIVE, NEGATIVE]), 4), ("digamma", np.concatenate([POSITIVE, NEGATIVE]), 6),
       ("gamma", P([0.1, 0.5, 1, 2.5, 5, -0.5, -1.5]), 10), ("i0e", REAL, 2), ("i1e", REAL, 2), ("i0", REAL[2:-2], 6),
       ("i1", REAL[2:-2], 6), ("erf", REAL, 2), ("erfc", REAL[:-2], 2), ("erfcx", REAL[2:], 20), ("ndtr", REAL, 2),
       ("log_ndtr", REAL, 4), ("ndtri", UNIT, 4), ("dawsn", REAL, 3), ("exp1", POSITIVE[:-1], 4),
       ("expi", np.concatenate([POSITIVE[:-2], NEGATIVE]), 20), ("spence", POSITIVE, 4), ("entr", POSITIVE, 3),
       ("logit", UNIT, 3), ("expit", REAL, 2)]
SCIPY_NAME = {"exp1": "exp1", "digamma": "psi"}


def by_scipy(name, *inputs):
    f = getattr(scipy.special, SCIPY_NAME.get(name, name))
    return jnp.asarray(f(*[np.asarray(x, np.float64) for x in inputs]).astype(inputs[-1].dtype))


def write_special():
    c = Cases("make_scipy.py", "Special functions", special)
    for dtype, unit in [(jnp.float32, 1e-6), (jnp.float64, 1e-15)]:
        wide = dtype == jnp.float64
        for name, points, more in ONE:
            x = jnp.asarray(points, dtype)
            tol = {"tol": unit * more * (20 if wide else 1), "bits": 0, "vmap": 0}
            if name in ("erfc",):
                tol["tol"] = max(tol["tol"], 5e-15)
            c.case(name, x, fn=lambda x, name=name: by_scipy(name, x), check=tol)
        for a, x in PAIRS:
            for name in ["gammainc", "gammaincc"]:
                c.case(name, jnp.asarray(a, dtype), jnp.asarray(x, dtype), fn=lambda a, x, name=name: by_scipy(name, a, x),
                       check={"tol": 2e-5 if not wide else 1e-12, "bits": 0, "vmap": 0})
        for a, b in [(0.5, 0.5), (1, 3), (2.5, 0.7), (10, 30), (40, 5)]:
            c.case("betainc", jnp.asarray([a], dtype), jnp.asarray([b], dtype), jnp.asarray(UNIT, dtype),
                   fn=lambda a, b, x: by_scipy("betainc", a, b, x),
                   check={"tol": 3e-5 if not wide else 1e-12, "bits": 0, "vmap": 0})
        s, q = jnp.asarray([1.1, 2, 3.5, 10, 30], dtype), jnp.asarray([0.25, 1, 2.5, 9.5, 40], dtype)
        c.case("zeta", s[:, None], q[None], fn=lambda s, q: by_scipy("zeta", s, q),
               check={"tol": 4e-6 if not wide else 4e-14, "bits": 0, "vmap": 0})
        for n in [0, 1, 2, 5]:
            c.case("polygamma", q, fn=lambda q, n=n: by_scipy("polygamma", jnp.asarray(n), q), show={"n": n},
                   check={"tol": 1e-5 if not wide else 1e-13, "bits": 0, "vmap": 0})
    loose = {"tol": 1e-5, "gtol": 1e-4, "bits": 0}
    e = edges()
    for name in ["gammaln", "digamma", "i0e", "i1e", "erf", "erfc", "ndtr", "log_ndtr", "ndtri", "entr", "expit", "gammasgn"]:
        c.case(name, e, check=loose | {"vmap": 0})
    for name, x in [("gammaln", POSITIVE), ("digamma", POSITIVE[1:]), ("i0e", REAL), ("i1e", REAL), ("log_ndtr", REAL),
                    ("ndtri", UNIT[2:-1]), ("exp1", POSITIVE[:-2]), ("entr", POSITIVE),
                    ("gamma", POSITIVE[1:8]), ("erfc", REAL[2:-2])]:
        c.case(name, jnp.asarray(x, jnp.float32), grad=True, check=loose | {"vmap": 0})
    f = lambda *v: [jnp.asarray(x, jnp.float32) for x in v]
    c.case("gammainc", *f([0.5, 2, 5, 20, 3], [0.3, 1, 8, 21, 0.1]), grad=True, check=loose | {"vmap": 0})
    c.case("gammaincc", *f([0.5, 2, 5, 20, 3], [0.3, 1, 8, 21, 0.1]), grad=True, check=loose | {"vmap": 0})
    # special.cpp has an infinite first operand, for which JAX gives NaN, and xlog1py at (0, -1), whose gradients there are NaN
    c.case("gammainc", *f([1, 0, -1, nan, 2, 2, 2], [0, 1, 1, 1, inf, -1, nan]), check=loose | {"vmap": 0})
    c.case("gammaincc", *f([1, 0, -1, nan, 2, 2, 2], [0, 1, 1, 1, inf, -1, nan]), check=loose | {"vmap": 0})
    c.case("betainc", *f([1, 0, -1, 2, 2, 2], [2, 1, 1, 3, 3, 3], [0.5, 0.5, 0.5, -0.1, 1.5, nan]), check=loose | {"vmap": 0})
    c.case("xlogy", *f([0, 0, 1, 2, 0, -1], [0, 2, 0.5, 3, nan, 2]), check=loose | {"vmap": 0})
    c.case("xlogy", *f([1, 2, 0.5], [0.5, 3, 2]), grad=True, check=loose)
    c.case("xlog1py", *f([0, 1, 2], [-0.5, 0.5, 3]), grad=True, check=loose | {"vmap": 0})
    for name in ["rel_entr", "kl_div"]:
        c.case(name, *f([0, 0, 1, 2, -1, 1], [0, 2, 0.5, 3, 1, 0]), check=loose | {"vmap": 0})
        c.case(name, *f([0.2, 0.5], [0.4, 0.3]), grad=True, check=loose)
    for name in ["betaln", "beta", "poch"]:
        c.case(name, *f([0.5, 2, 3.5], [1.5, 0.5, 4]), grad=True, check=loose)
    c.case("comb", *f([5, 10, 4, 3], [2, 10, 0, 5]), fn=lambda n, k: by_scipy("comb", n, k), check={"tol": 2e-5, "bits": 0, "vmap": 0})
    c.case("factorial", *f([0, 1, 2, 5, 10, -1]), check={"tol": 2e-5, "bits": 0, "vmap": 0})
    c.case("multigammaln", *f([2, 3.5, 7]), d=3, grad=True, check=loose)
    c.case("boxcox", *f([0.5, 2, 3], [0, 0.5, -1]), fn=lambda x, l: by_scipy("boxcox", x, l), check=loose)
    c.case("boxcox1p", *f([0.5, 2, 3], [0, 0.5, -1]), fn=lambda x, l: by_scipy("boxcox1p", x, l), check=loose)
    c.case("random_gamma_grad", *f([0.5, 2, 5, 20], [0.3, 1, 8, 21]), fn=jax.lax.random_gamma_grad, check=loose | {"vmap": 0})
    c.case("bernoulli", fn=lambda: special.bernoulli(12).astype(jnp.float32), check={"tol": 1e-5, "bits": 0}, show={"n": 12})
    for dtype in [jnp.bfloat16, jnp.float16]:
        c.case("gammaln", jnp.asarray(POSITIVE[:-1], dtype), check={"bits": 0, "vmap": 0})
    c.case("erf", whole(4), check=loose)
    far = P([-40, -7.5, -3, -1.5, -0.2, 0, 0.01, 0.7, 1.49, 1.51, 2.9, 3.1, 8, 25, 300])
    for dtype, unit in [(jnp.float32, 1e-6), (jnp.float64, 1e-15)]:
        tol = lambda more: {"tol": unit * more, "bits": 0, "vmap": 0}
        wide, x = dtype == jnp.float64, jnp.asarray(far, dtype)
        pair = lambda f: lambda x: [jnp.asarray(y, dtype) for y in f(np.asarray(x, np.float64))]
        c.case("sici", x, fn=pair(scipy.special.sici), check=tol(4))
        c.case("fresnel", x[:-1], fn=pair(scipy.special.fresnel), check=tol(4 if not wide else 20))
        for n in [0, 1, 2, 3, 7, 30]:
            c.case("expn", jnp.asarray([n], dtype), jnp.asarray([0.001, 0.1, 0.5, 1, 1.01, 2, 5, 20, 80], dtype),
                   fn=lambda n, x: by_scipy("expn", n, x), check=tol(6 if not wide else 40))
        h = jnp.asarray([[-3], [0], [0.2], [1], [2.5], [4]], dtype)
        c.case("owens_t", h, jnp.asarray([-2, 0, 0.1, 0.9, 1, 1.2, 5, 1e6], dtype), fn=lambda h, a: by_scipy("owens_t", h, a),
               check=tol(6 if not wide else 60))
        a, b = jnp.asarray([[[0.3]], [[1]], [[2.5]], [[-2]], [[-1.5]]], dtype), jnp.asarray([[0.7], [2.5], [4]], dtype)
        c.case("hyp1f1", a, b, jnp.asarray([-200, -61, -59, -20, -3, -0.5, 0, 0.1, 1, 4, 20], dtype),
               fn=lambda a, b, x: by_scipy("hyp1f1", a, b, x), check=tol(100 if not wide else 2000))
        z = jnp.asarray([-7, -0.5, 0, 0.001, 1, 2.404825557695773, 9, 22], dtype)
        c.case("bessel_jn", z, show={"v": 4}, check=tol(3 if not wide else 30),
               fn=lambda z: jnp.asarray(scipy.special.jv(np.arange(5)[:, None], np.asarray(z, np.float64)[None]), dtype))
    for name in ["sici", "fresnel"]:
        c.case(name, *f([0.3, 1.2, 2.5, 4, 9]), fn=lambda x: list(getattr(special, name)(x)), grad=True, check=loose | {"vmap": 0})
        c.case(name, *f([nan, inf, 0]), fn=lambda x: [jnp.asarray(y) for y in getattr(scipy.special, name)(np.asarray(x))],
               check=loose | {"vmap": 0})
    c.case("expn", *f([0, 1, 2, 3, -1, 2, 1.5, nan, 3, 4], [0, 0, 0, inf, 1, -1, 1, 1, nan, 0]), check=loose | {"vmap": 0},
           fn=lambda n, x: jnp.asarray([inf, inf, 1, 0, nan, nan, nan, nan, nan, 1 / 3], jnp.float32))
    c.case("expn", 3, *f([0.3, 1, 4]), grad=True, check=loose | {"vmap": 0})
    c.case("owens_t", *f([0.3, -1, 2, 0.5], [0.5, 2, -0.7, 9]), fn=lambda h, a: special.owens_t(h, a).astype(jnp.float32), grad=True, check=loose)
    c.case("owens_t", *f([inf, 0, nan, 1, 2], [1, inf, 1, nan, -inf]), fn=lambda h, a: by_scipy("owens_t", h, a), check=loose)
    c.case("hyp1f1", 0.7, 2.5, *f([-8, -0.5, 0.25, 3]), fn=lambda a, b, x: special.hyp1f1(jnp.float32(a), jnp.float32(b), x), grad=True,
           check={"tol": 1e-4, "gtol": 1e-3, "bits": 0, "vmap": 0})
    c.case("bessel_jn", *f([0.3, 4, -2]), v=2, fn=lambda z, v: special.bessel_jn(z.astype(jnp.float64), v=v).astype(jnp.float32),
           grad=True, check=loose)
    c.save("scipy/special.txt")


def by_scipy_stats(distribution, method, q):
    f = getattr(getattr(scipy.stats, distribution), method)
    return jnp.asarray(f(np.asarray(q, np.float64)).astype(q.dtype))


def write_stats():
    c = Cases("make_scipy.py", "Densities and distributions", stats)
    check = {"tol": 2e-5, "gtol": 2e-4, "bits": 0, "vmap": 0}
    f = lambda *v: [jnp.asarray(x, jnp.float32) for x in v]
    x = P([-3, -1.5, -0.25, 0, 0.125, 0.5, 0.75, 1, 1.75, 2.5, 6])
    plain = {"norm": ["logpdf", "pdf", "cdf", "logcdf", "sf", "logsf"], "cauchy": ["logpdf", "pdf"],
             "expon": ["logpdf", "pdf", "cdf", "sf"], "laplace": ["logpdf", "pdf", "cdf"],
             "logistic": ["logpdf", "pdf", "cdf", "sf"], "uniform": ["logpdf", "pdf", "cdf"],
             "gumbel_r": ["logpdf", "pdf", "cdf"], "gumbel_l": ["logpdf", "pdf", "cdf"]}
    for dist, methods in plain.items():
        for m in methods:
            name = f"{dist}.{m}"
            fn = getattr(getattr(stats, dist), m)
            smooth = dist not in ("uniform", "expon", "laplace", "gumbel_r", "gumbel_l")  # JAX has none of the last two
            c.case(name, *f(x), fn=fn, grad=smooth, check=check)
            c.case(name, *f(x, 0.5, 1.5), fn=fn, grad=smooth and m != "sf", check=check)
    for dist in ["norm", "logistic"]:
        c.case(f"{dist}.ppf", *f(UNIT[2:-1]), fn=lambda q, d=dist: getattr(stats, d).ppf(q).astype(q.dtype), check=check)
        c.case(f"{dist}.isf", *f(UNIT[2:-1]), fn=lambda q, d=dist: by_scipy_stats(d, "isf", q),
               check=check)  # JAX loses the digits of small q
    for m in ["logpdf", "pdf", "cdf", "sf"]:
        c.case(f"gamma.{m}", *f(x, 2.5), fn=getattr(stats.gamma, m), check=check)
        c.case(f"gamma.{m}", *f(x[5:], 1.5, 0.25, 2), fn=getattr(stats.gamma, m), check=check, grad=m == "logpdf")
        c.case(f"beta.{m}", *f(x, 2, 3), fn=getattr(stats.beta, m), check=check)
        c.case(f"beta.{m}", *f(x[4:7], 0.5, 1.5), fn=getattr(stats.beta, m), check=check, grad=m == "logpdf")
        c.case(f"chi2.{m}", *f(x, 3), fn=getattr(stats.chi2, m), check=check)
    for m in ["logpdf", "pdf"]:
        c.case(f"t.{m}", *f(x, 3.5, 0.5, 2), fn=getattr(stats.t, m), check=check, grad=True)
        c.case(f"pareto.{m}", *f(x, 2), fn=getattr(stats.pareto, m), check=check)
        c.case(f"vonmises.{m}", *f(x, 2), fn=getattr(stats.vonmises, m), check=check, grad=True)
    k = P([-1, 0, 0.5, 1, 2, 3, 5, 9])
    for m in ["logpmf", "pmf"]:
        c.case(f"bernoulli.{m}", *f(k[[0, 1, 3, 4, 5, 6, 7]], 0.25), fn=getattr(stats.bernoulli, m), check=check)
        c.case(f"binom.{m}", *f(P([-1, 0, 1, 2, 3, 5, 9]), 5, 0.25), fn=getattr(stats.binom, m), check=check)
        c.case(f"poisson.{m}", *f(k[[0, 1, 3, 4, 5, 6, 7]], 2.5), fn=getattr(stats.poisson, m), check=check)
        c.case(f"geom.{m}", *f(k[[0, 1, 3, 4, 5, 6, 7]], 0.25), fn=getattr(stats.geom, m), check=check)
        c.case(f"nbinom.{m}", *f(k[[0, 1, 3, 4, 5, 6, 7]], 4, 0.25), fn=getattr(stats.nbinom, m), check=check)
    c.case("poisson.cdf", *f(k, 2.5), fn=stats.poisson.cdf, check=check)
    c.case("bernoulli.cdf", *f(k, 0.25), fn=stats.bernoulli.cdf, check=check)
    for counts in [[1, 0, 3], [1, 1, 3]]:
        c.case("multinomial.logpmf", jnp.asarray(counts, jnp.int32), jnp.asarray(4, jnp.int32), *f([0.25, 0.25, 0.5]),
               fn=lambda x, n, p: stats.multinomial.logpmf(x, n, p).astype(jnp.float32), check=check)
    c.case("dirichlet.logpdf", *f([0.25, 0.5, 0.25], [2, 1.5, 3]), fn=stats.dirichlet.logpdf, check=check, grad=True)
    c.case("dirichlet.pdf", *f([[0.25, 0.5], [0.75, 0.25]], [2, 1.5]), fn=stats.dirichlet.pdf, check=check)
    cov = jnp.asarray([[2, 0.5], [0.5, 1]], jnp.float32)
    for m in ["logpdf", "pdf"]:
        fn = getattr(stats.multivariate_normal, m)
        c.case(f"multivariate_normal.{m}", grid(4, 2), grid(2, seed=1), cov, fn=fn, check=check)
    c.case("multivariate_normal.logpdf", grid(2), grid(2, seed=1), cov,
           fn=lambda x, m, v: stats.multivariate_normal.logpdf(x, m, (v + v.T) / 2), check=check, grad=True)
    c.save("scipy/stats.txt")


def write_signal():
    c = Cases("make_scipy.py", "Convolutions", signal)
    check = {"tol": 2e-5, "gtol": 1e-4, "bits": 0}
    for name in ["convolve", "correlate"]:
        for mode in ["full", "same", "valid"]:
            for m, n in [(7, 3), (3, 7), (4, 4), (1, 5), (6, 2)]:
                c.case(name, grid(m), grid(n, seed=1), mode=mode, grad=True, check=check)
            c.case(name, grid(4, 5), grid(3, 2, seed=1), mode=mode, grad=True, check=check)
    for name in ["convolve2d", "correlate2d"]:
        for mode in ["full", "same", "valid"]:
            c.case(name, grid(4, 5), grid(3, 2, seed=1), mode=mode, grad=True, check=check)
    c.case("convolve", grid(4), grid(2, 2), mode="full")
    c.case("convolve2d", grid(4), grid(2), mode="full")
    for kind in ["linear", "constant"]:
        c.case("detrend", grid(3, 8), type=kind, check=check, grad=True)
        c.case("detrend", grid(8, 3), axis=0, type=kind, check=check)
    for n in [0, 1, 2, 7, 12]:
        for beta in [0.0, 1.5, 8.6, -3.0, 50.0]:
            c.case("kaiser", fn=lambda: jnp.kaiser(n, beta).astype(jnp.float32), show={"n": n, "beta": beta}, check={"tol": 5e-6})
    c.save("scipy/signal.txt")


if __name__ == "__main__":
    for family in sys.argv[1:] or ["special", "stats", "signal"]:
        globals()["write_" + family]()
