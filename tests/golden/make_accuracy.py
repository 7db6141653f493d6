"""Writes accuracy.txt: how far JAX's elementary functions are from the exact value, beside the bounds of our own.

Run it in this folder with JAX and SciPy installed. tests/backend/cpu/vector/elementary.cpp computes at the same points.
"""
import jax
import jax.numpy as jnp
import numpy as np
from scipy import special

N = 200_000
NEAR = [1, -1, 0.5, -0.5, 88.722839, -88.722839, -87.336548, -103.972084, 3.1415927, 1.5707964, -1.5707964, 6.2831855,
        1e-3, -1e-3, 0.4, 1.1754944e-38, -1.1754944e-38, 1e-44, -5, -14, 20, 9, 3.4028235e38, 16777216]
EXPONENTS = [0.5, 2, 3, -0.5, 100, -1, 0.33333334, -20]


def first():
    """All floats evenly, the middle of the line twice, and the neighbours of special points."""
    i = np.arange(N, dtype=np.uint64)
    bits = ((i * 2654435761) & 0xffffffff).astype(np.uint32)
    bits = np.where((bits >> 23) & 0xff == 0xff, bits ^ np.uint32(0x40000000), bits)
    near = np.array(NEAR, np.float32).view(np.uint32)[((i // 4) % len(NEAR)).astype(int)]
    near = near + ((i // 4 // len(NEAR)) % 41 - 20).astype(np.uint32)
    near = np.where((near >> 23) & 0xff == 0xff, near ^ np.uint32(0x40000000), near)
    at = i.astype(np.float64) / N
    return np.select([i % 4 == 0, i % 4 == 1, i % 4 == 2],
                     [bits.view(np.float32), (220 * at - 110).astype(np.float32), (32 * at - 16).astype(np.float32)],
                     near.view(np.float32))


def second(x):
    """Floats, whole numbers, usual exponents, and y for which |x|^y is of every size."""
    i = np.arange(N, dtype=np.uint64)
    bits = ((i * 2246822519 + 3266489917) & 0xffffffff).astype(np.uint32)
    bits = np.where((bits >> 23) & 0xff == 0xff, bits ^ np.uint32(0x40000000), bits)
    with np.errstate(all="ignore"):
        sized = ((i * 7919 % 310007).astype(np.float64) / 1000 - 155) / np.log2(np.abs(x.astype(np.float64)))
        sized = np.where(np.abs(sized) < 3e38, sized, 1).astype(np.float32)
    j = (i // 4) % 4
    return np.select([j == 0, j == 1, j == 2],
                     [bits.view(np.float32), (i // 16 % 21).astype(np.float32) - 10,
                      np.array(EXPONENTS, np.float32)[(i // 16 % len(EXPONENTS)).astype(int)]], sized)


def softplus(x):
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def sigmoid(x):
    return np.where(x < 0, np.exp(np.minimum(x, 0)), 1) / (1 + np.exp(-np.abs(x)))


def tanh_gelu(x):
    return x * sigmoid(2 * 0.7978845608028654 * (x + 0.044715 * x**3))


def elu(x, a=1.0):
    return np.where(x > 0, x, a * np.expm1(np.minimum(x, 0)))


# name: JAX's function, the exact one, the bound on ours
UNARY = {
    "exp": (jnp.exp, np.exp, 1.1),
    "expm1": (jnp.expm1, np.expm1, 1.5),
    "log": (lambda x: jnp.log(jnp.abs(x)), lambda x: np.log(np.abs(x)), 1.0),
    "log1p": (jnp.log1p, np.log1p, 1.0),
    "sqrt": (lambda x: jnp.sqrt(jnp.abs(x)), lambda x: np.sqrt(np.abs(x)), 0.5),
    "rsqrt": (lambda x: jax.lax.rsqrt(jnp.abs(x)), lambda x: 1 / np.sqrt(np.abs(x)), 1.5),
    "tanh": (jnp.tanh, np.tanh, 5.0),
    "logistic": (jax.nn.sigmoid, sigmoid, 2.5),
    "sin": (jnp.sin, np.sin, 2.0),
    "cos": (jnp.cos, np.cos, 2.0),
    "erf": (jax.lax.erf, special.erf, 2.5),
    "normal_cdf": (jax.scipy.special.ndtr, special.ndtr, 0.6),
    "gelu_exact": (lambda x: jax.nn.gelu(x, approximate=False), lambda x: x * special.ndtr(x), 0.6),
    "gelu_tanh": (jax.nn.gelu, tanh_gelu, 0),
    "silu": (jax.nn.silu, lambda x: x * sigmoid(x), 60),
    "softplus": (jax.nn.softplus, softplus, 2.0),
    "log_sigmoid": (jax.nn.log_sigmoid, lambda x: -softplus(-x), 2.0),
    "elu": (jax.nn.elu, elu, 1.5),
    "selu": (jax.nn.selu, lambda x: 1.0507009873554805 * elu(x, 1.6732632423543772), 3.5),
    "square": (jnp.square, np.square, 0.5),
    "neg": (jnp.negative, np.negative, 0),
    "abs": (jnp.abs, np.abs, 0),
    "sign": (jnp.sign, np.sign, 0),
    "floor": (jnp.floor, np.floor, 0),
    "ceil": (jnp.ceil, np.ceil, 0),
    "round": (jnp.round, np.round, 0),
    "relu": (jax.nn.relu, lambda x: np.maximum(x, 0), 0),
    "relu6": (jax.nn.relu6, lambda x: np.clip(x, 0, 6), 0),
    "leaky_relu": (jax.nn.leaky_relu, lambda x: np.where(x > 0, x, np.float32(0.01) * x), 0.5),
    "tan": (jnp.tan, np.tan, 3.5),
    "asin": (jnp.asin, np.arcsin, 3.0),
    "acos": (jnp.acos, np.arccos, 3.0),
    "atan": (jnp.atan, np.arctan, 2.0),
    "sinh": (jnp.sinh, np.sinh, 4.5),
    "cosh": (jnp.cosh, np.cosh, 3.5),
    "asinh": (jnp.asinh, np.arcsinh, 2.5),
    "acosh": (lambda x: jnp.acosh(jnp.abs(x)), lambda x: np.arccosh(np.abs(x)), 2.5),
    "atanh": (lambda x: jnp.atanh(x * 0.0625), lambda x: np.arctanh(x * 0.0625), 2.5),
    "cbrt": (jnp.cbrt, np.cbrt, 1.5),
    "exp2": (jnp.exp2, np.exp2, 1.0),
    "erf_inv": (lambda x: jax.lax.erf_inv(x * 0.0625), lambda x: special.erfinv(x * 0.0625), 0),
}
BINARY = {
    "add": (jnp.add, np.add, 0.5),
    "sub": (jnp.subtract, np.subtract, 0.5),
    "mul": (jnp.multiply, np.multiply, 0.5),
    "div": (jnp.divide, np.divide, 0.5),
    "maximum": (jnp.maximum, np.maximum, 0),
    "minimum": (jnp.minimum, np.minimum, 0),
    "atan2": (jnp.arctan2, np.arctan2, 2.5),
    "power": (jnp.power, np.power, 0.6),
    "logaddexp": (jnp.logaddexp, np.logaddexp, 0),
    "rem": (jax.lax.rem, np.fmod, 0),
    "remainder": (jnp.remainder, np.remainder, 0.5),
    "floor_divide": (jnp.floor_divide, np.floor_divide, 0),
    "clip": (lambda x, y: jnp.clip(x, -1, y), lambda x, y: np.minimum(np.maximum(x, -1), y), 0),
    "clamp": (lambda x, y: jax.lax.clamp(-1.0, x, y), lambda x, y: np.minimum(np.maximum(x, -1), y), 0),
    "fma": (lambda x, y: x * y + x, lambda x, y: x * y + x, 0.5),
}


def error(found, exact):
    """Units in the last place of the exact result; where both are NaN, or flow over, there is none."""
    with np.errstate(all="ignore"):
        _, e = np.frexp(exact)
        unit = np.ldexp(1.0, np.maximum(e - 24, -149))
        cut = np.clip(exact, -2.0**128, 2.0**128)
        wide = np.clip(found.astype(np.float64), -2.0**128, 2.0**128)
        off = np.abs(wide - cut) / np.where(np.abs(cut) >= 2.0**128, 2.0**104, unit)
    return np.where(np.isnan(exact), np.where(np.isnan(found), 0, np.inf), off)


def normal(v):
    return (np.abs(v) >= 2.0**-126) | (v == 0)


def main():
    x = first()
    y = second(x)
    lines = ["# Units in the last place, 200000 points: function, JAX's largest and mean error, the bound on ours. JAX takes",
             "# denormal numbers for 0: its figures leave them out, ours do not. Where the result may be the difference of larger",
             "# numbers the bound is JAX's own figure. Written by make_accuracy.py with JAX " + jax.__version__ + "."]
    with np.errstate(all="ignore"):
        for name, (ours, exact, bound) in UNARY.items():
            found, want = np.asarray(jax.jit(ours)(x)), exact(x.astype(np.float64))
            e = error(found, want)[normal(x) & normal(want)]
            lines.append(f"{name} {e.max():.4g} {e.mean():.4g} {bound or e.max() * 1.05:.4g}")
        for name, (ours, exact, bound) in BINARY.items():
            a = np.where(np.arange(N) % 8 < 6, np.abs(x), x) if name == "power" else x
            found, want = np.asarray(jax.jit(ours)(a, y)), exact(a.astype(np.float64), y.astype(np.float64))
            e = error(found, want)[normal(a) & normal(y) & normal(want)]
            lines.append(f"{name} {e.max():.4g} {e.mean():.4g} {bound or e.max() * 1.05:.4g}")
    with open("accuracy.txt", "w") as f:
        f.write("\n".join(lines) + "\n")


main()
