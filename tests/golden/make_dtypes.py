"""tests/golden/make_dtypes.py: write dtypes.txt, what JAX makes of edge values of every dtype.

    python make_dtypes.py

Needs jax, ml_dtypes and numpy; the tests only read the file. 64-bit types are on. One row a line, elements as hexadecimal
bits:

    promote A B : RESULT WEAK             the dtype of A with B, `-` where there is none; i* and f* are weak
    cast FROM TO : elements : elements
    apply OP DTYPE TOLERANCE : operands : RESULT elements
    apply OP DTYPE TOLERANCE : first operands : second operands : RESULT, a row for each of the second
    reduce OP DTYPE TOLERANCE : elements : RESULT elements
    dot DTYPE RESULT : elements [5, 67] : elements [67, 3] : elements [5, 3]

Subnormal f64, f32 and bf16 are left out: XLA takes them for zeros on CPUs, the library computes with them. Tolerances count units in the last place of the result. A result of 64 bits that no operand of 64 bits asks for is left
out: the library keeps 32 there, as JAX does when 64-bit types are off.
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
import ml_dtypes
import numpy as np
from jax import lax

NAMES = {"bool": "bool", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "u8": "uint8", "u16": "uint16",
         "u32": "uint32", "u64": "uint64", "f8e4m3fn": "float8_e4m3fn", "f8e5m2": "float8_e5m2", "f16": "float16",
         "bf16": "bfloat16", "f32": "float32", "f64": "float64",
         "i4": "int4", "u4": "uint4"}
TYPES = {k: jnp.dtype(v) for k, v in NAMES.items()}
SHORT = {v: k for k, v in TYPES.items()}
WIDE = {"i64", "u64", "f64"}
STORAGE = {"f8e4m3fn", "f8e5m2"}
SMALL = {"i4": "int8", "u4": "uint8"}  # what NumPy draws them in
lines = [f"# Written by make_dtypes.py with jax {jax.__version__}."]


def is_float(t):
    return jnp.issubdtype(TYPES[t], jnp.floating)


def bits(x):
    x = np.asarray(x)
    if x.dtype == bool:
        x = x.astype(np.uint8)
    words = x.reshape(-1).view(f"u{x.dtype.itemsize}")
    return " ".join(f"{int(w):x}" for w in words)


def edges(t):
    dtype = TYPES[t]
    if t == "bool":
        return np.array([False, True])
    if is_float(t):
        f = jnp.finfo(dtype)
        values = [0.0, -0.0, 1, -1, 0.5, 1.5, 2.5, -2.5, 3.14159265358979, 127.5, -129, 255.9, 300, 32768, 65519, 65520, 3e9,
                  -3e9, 1e19, 1e30, -1e30, 16777217, 9007199254740993.0, 1e-7, 448, 465, 57344, 61440, 1e-40,
                  float(f.max), float(f.tiny), float(f.smallest_subnormal), float("inf"), float("-inf"), float("nan")]
        if t in ("bf16", "f32", "f64"):
            values = [v for v in values if v == 0 or not abs(v) < 2 * float(jnp.finfo("bfloat16" if t == "bf16" else "float32").tiny)]
        return np.array(values, np.float64).astype(dtype)
    i = ml_dtypes.iinfo(dtype)
    values = [0, 1, 2, 3, 7, min(100, i.max), i.max, i.max - 1, i.min, i.min + 1, i.max // 2 + 1, i.max // 3]
    values += [-1, -2, -7, max(-100, i.min)] if i.min < 0 else []
    values += [16777217, 2147483647] if i.bits >= 32 else []
    values += [9007199254740993, 4294967297] if i.bits == 64 else []
    return np.array(values, dtype)


def write_promotion():
    operands = {k: jnp.zeros((), v) for k, v in TYPES.items()}
    operands |= {"i*": jnp.asarray(0), "f*": jnp.asarray(0.0)}
    for a, x in operands.items():
        for b, y in operands.items():
            try:
                r = jax.eval_shape(jnp.bitwise_or if a == b == "bool" else jnp.add, x, y)
            except Exception:
                lines.append(f"promote {a} {b} : - 0")
                continue
            name = SHORT[r.dtype]
            if name in WIDE and not {a, b} & WIDE:
                name = name[0] + "32"
            lines.append(f"promote {a} {b} : {name} {int(r.weak_type)}")


def write_casts():
    for a in TYPES:
        x = edges(a)
        for b in TYPES:
            y = jax.jit(lambda v: lax.convert_element_type(v, TYPES[b]))(x)
            lines.append(f"cast {a} {b} : {bits(x)} : {bits(y)}")


def apply(op, t, tolerance, f, *operands):
    try:
        r = np.asarray(jax.jit(f)(*operands) if len(operands) == 1 else jax.jit(f)(operands[0][None], operands[1][:, None]))
    except TypeError:
        assert t in SMALL  # JAX computes little in these
        return
    lines.append(f"apply {op} {t} {tolerance} : {' : '.join(bits(x) for x in operands)} : {SHORT[r.dtype]} {bits(r)}")


def write_operations():
    arithmetic = {"add": jnp.add, "sub": jnp.subtract, "mul": jnp.multiply, "max": jnp.maximum, "min": jnp.minimum,
                  "lt": jnp.less, "ge": jnp.greater_equal, "eq": jnp.equal}
    whole = {"quotient": lambda a, b: lax.div(*jnp.broadcast_arrays(a, b)),
             "rem": lambda a, b: lax.rem(*jnp.broadcast_arrays(a, b)),
             "and": jnp.bitwise_and, "xor": jnp.bitwise_xor}
    shifts = {"shift_left": lax.shift_left, "shift_right_logical": lax.shift_right_logical,
              "shift_right_arithmetic": lax.shift_right_arithmetic}
    counts = {"neg": lax.neg, "abs": jnp.abs, "sign": jnp.sign}
    integers = {"not": jnp.bitwise_not, "population_count": lax.population_count, "clz": lax.clz}
    smooth = {"exp": jnp.exp, "log": jnp.log, "tanh": jnp.tanh, "sin": jnp.sin, "sqrt": jnp.sqrt, "log1p": jnp.log1p}
    rounding = {"floor": jnp.floor, "ceil": jnp.ceil, "round": jnp.round}
    for t in TYPES:
        if t == "bool" or t in STORAGE:
            continue
        x = edges(t)
        if is_float(t):
            x = np.concatenate([x[[0, 1, 2, 4, 7, 8, 12]], x[-4:]])
        else:
            x = x[[0, 1, 3, 5, 6, 8, 9, 11, *range(12, len(x))]]
        a, b = x, x
        for op, f in (arithmetic | ({} if t == "f16" else {"div": jnp.divide} if is_float(t) else whole)).items():
            keep = [k for k in range(len(x)) if op != "div" or x[k] != jnp.finfo(TYPES[t]).max]  # quotients by it are subnormal
            apply(op, t, int(op == "div"), f, a[np.array(keep)], b[np.array(keep)])  # XLA's quotients may be off by one
        if t == "f16":  # XLA multiplies by a reciprocal in f16, the library divides
            apply("div", t, 0, lambda a, b: (a.astype("float32") / b.astype("float32")).astype("float16"), a, b)
        for op, f in counts.items():
            apply(op, t, 0, f, edges(t))
        if is_float(t):
            for op, f in rounding.items():
                apply(op, t, 0, f, edges(t))
            near = np.array([0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 10.0, 700.0, 1e-3, np.inf, np.nan], np.float64)
            for op, f in smooth.items():
                apply(op, t, 4, f, near.astype(TYPES[t]))
        else:
            by = np.array([0, 1, 3, 7, 8, 15, 31, 32, 63, 64], TYPES[t])
            for op, f in shifts.items():
                apply(op, t, 0, lambda a, b, f=f: f(*jnp.broadcast_arrays(a, b)), x, by)
            for op, f in integers.items():
                if (op, t) != ("population_count", "i4"):  # XLA counts copies of the sign
                    apply(op, t, 0, f, x)


def write_reductions():
    random = np.random.default_rng(1)
    for t in TYPES:
        if t == "bool" or t in STORAGE:
            continue
        if is_float(t):
            x = random.standard_normal(67).astype(TYPES[t])
            x[5], x[9] = x[6], 0
        else:
            i = ml_dtypes.iinfo(TYPES[t])
            x = random.integers(i.min, i.max, 67, SMALL.get(t, TYPES[t]), endpoint=True).astype(TYPES[t])
            x[5] = x[6]
        for op, f, tolerance in [("sum", jnp.sum, 4), ("max", jnp.max, 0), ("min", jnp.min, 0), ("mean", jnp.mean, 4),
                                 ("sort", jnp.sort, 0), ("cumsum", lambda v: lax.cumsum(jnp.abs(v), 0), 64),
                                 ("argmax", lambda v: lax.argmax(v, 0, jnp.int32), 0),
                                 ("argsort", lambda v: jnp.argsort(v).astype(jnp.int32), 0)]:
            if t in SMALL and op in ("sum", "mean", "cumsum"):
                continue  # JAX has none
            r = np.asarray(jax.jit(f)(x))
            name = SHORT[r.dtype]
            if name in WIDE and t not in WIDE:
                r = r.astype({"i64": np.int32, "u64": np.uint32, "f64": np.float32}[name])
            lines.append(f"reduce {op} {t} {tolerance if is_float(t) or op == 'mean' else 0} : {bits(x)} : "
                         f"{SHORT[r.dtype]} {bits(r)}")


def write_products():
    random = np.random.default_rng(2)
    for t, preferred in [("i4", "i4"), ("i4", "i8"), ("i4", "i32"), ("u4", "u4"), ("u4", "u32"), ("i8", "i8"), ("u8", "u8"),
                         ("i16", "i16"), ("i64", "i64"), ("u64", "u64")]:
        i = ml_dtypes.iinfo(TYPES[t])
        a, b = (random.integers(i.min, i.max, s, SMALL.get(t, TYPES[t]), endpoint=True).astype(TYPES[t])
                for s in [(5, 67), (67, 3)])
        x, y = (v.astype("int32") if t in SMALL else v for v in (a, b))  # XLA on CPUs multiplies no 4-bit integers
        c = jax.jit(lambda x, y: lax.dot(x, y).astype(TYPES[preferred]))(x, y)
        lines.append(f"dot {t} {preferred} : {bits(a)} : {bits(b)} : {bits(c)}")


write_promotion()
write_casts()
write_operations()
write_reductions()
write_products()
(pathlib.Path(__file__).parent / "dtypes.txt").write_text("\n".join(lines) + "\n")
print(f"dtypes.txt: {len(lines)} rows")
