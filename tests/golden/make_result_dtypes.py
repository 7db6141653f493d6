"""tests/golden/make_result_dtypes.py: write result_dtypes.txt, the dtypes of JAX's elementwise functions.

    python make_result_dtypes.py

Needs jax; the tests only read the file. One row a function: its name, then for each first operand the results with each
second operand (one result for functions of one operand), as letters. `-` is an operand that JAX refuses. The order of operands is
that of the letters; i* and f* are weak. 64-bit types are on, and a result of 64 bits that no operand of 64 bits asks for is
written with 32: the library keeps 32 there, as JAX does when 64-bit types are off.
"""
# SPDX-License-Identifier: Apache-2.0
import os
import pathlib
import warnings

os.environ["JAX_PLATFORMS"] = "cpu"
warnings.filterwarnings("ignore")

import jax

jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp
from jax import lax
from jax.scipy import special

TYPES = {"bool": "bool", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "u8": "uint8", "u16": "uint16",
         "u32": "uint32", "u64": "uint64", "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64"}
LETTERS = dict(zip(TYPES, "?abcdABCDhgfF"))
SHORT = {jnp.dtype(v): k for k, v in TYPES.items()}
WIDE = {"i64", "u64", "f64"}
OPERANDS = {k: jnp.zeros((), v) for k, v in TYPES.items()} | {"i*": jnp.asarray(0), "f*": jnp.asarray(0.0)}

UNARY = """abs negative positive sign square sqrt cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan
sinh cosh tanh arcsinh arccosh arctanh floor ceil trunc round rint reciprocal isfinite isnan isinf isposinf isneginf signbit
logical_not bitwise_not bitwise_count deg2rad rad2deg sinc nan_to_num""".split()
BINARY = """add subtract multiply divide true_divide floor_divide remainder fmod power float_power maximum minimum fmax fmin
arctan2 hypot logaddexp logaddexp2 copysign nextafter heaviside gcd lcm equal not_equal less less_equal greater greater_equal
logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor left_shift right_shift ldexp isclose outer""".split()
OTHERS = {"population_count": lax.population_count,
          "clz": lax.clz}
SPECIAL = {"logistic": special.expit, "erf": special.erf, "erfc": special.erfc, "xlogy": special.xlogy, "xlog1py": special.xlog1py, "rel_entr": special.rel_entr}


def letter(f, *names, of=None):
    try:
        r = jax.eval_shape(f, *(OPERANDS[n] for n in names))
    except Exception:
        return "-"
    name = SHORT[r.dtype]
    if name in WIDE and not set(of or names) & WIDE:
        name = name[0] + "32"
    return LETTERS[name]


lines = [f"# Written by make_result_dtypes.py with jax {jax.__version__}.",
         " ".join(f"{k}={v}" for k, v in LETTERS.items()) + " i* f*"]
functions = {n: getattr(jnp, n) for n in UNARY + BINARY} | OTHERS | SPECIAL
binary = set(BINARY) | {"xlogy", "xlog1py", "rel_entr"}
for name, f in functions.items():
    if name in binary:
        first = name == "ldexp"  # whose exponents have no part in the result
        cells = ["".join(letter(f, a, b, of=[a] if first else None) for b in OPERANDS) for a in OPERANDS]
    else:
        cells = ["".join(letter(f, a) for a in OPERANDS)]
    lines.append(" ".join([name] + cells))
pathlib.Path(__file__).with_name("result_dtypes.txt").write_text("\n".join(lines) + "\n")
