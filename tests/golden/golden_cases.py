"""tests/golden/golden_cases.py: the format of tables of cases, and how scripts write them with JAX.

One case a line:

    FUNCTION name=value ... : INPUT , INPUT -> RESULT , RESULT ; 0 GRADIENT ; 2 GRADIENT

FUNCTION is a key of the table of functions in the test that reads the file, and the attributes are what that function
gets besides its inputs: numbers, words, 0 or 1 for truth values, lists as 1,2. An array is `dtype[extents] elements`,
where `v*n` is n times v; or the name of one that a line `let NAME dtype[extents] elements` has before; or `int 3` or
`float 2.5`, a literal. `-> error` stands where JAX refuses the arguments. Behind `;` come the number of an input and
the elements of its gradient, for cotangents that need no text: element i of floating result k is
((7 i + 3 k) mod 11 - 5) / 4.

Attributes of the check itself: tol and gtol (tolerances of values and gradients in place of those of JAX's tests),
traced=0 (eagerly only, as the shape of the result depends on data), vmap=0 (no batch), bits=0 (a compiled program may round otherwise than ops that run one by one).
"""
# SPDX-License-Identifier: Apache-2.0
import os
import pathlib

os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import numpy as np

HERE = pathlib.Path(__file__).parent
SHORT = {"bool": "bool", "int4": "i4", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint4": "u4",
         "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64", "float8_e4m3fn": "f8e4m3fn",
         "float8_e5m2": "f8e5m2", "bfloat16": "bf16", "float16": "f16", "float32": "f32", "float64": "f64"}
inf, nan = float("inf"), float("nan")


def is_float(x):
    return jnp.issubdtype(x.dtype, jnp.floating)


def numbers(x):
    """The elements as words; equal ones in a row as one word."""
    x = np.asarray(x)
    if x.dtype == bool or not is_float(x):
        words = [str(int(v)) for v in x.ravel()]
    else:
        words = [str(v).removesuffix(".0").replace(".0e", "e") for v in x.ravel()]
    out = []
    for word in words:
        if out and out[-1][0] == word:
            out[-1][1] += 1
        else:
            out.append([word, 1])
    return " ".join(word if n == 1 else " ".join([word] * n) if n * len(word) + n < len(word) + 4 else f"{word}*{n}"
                    for word, n in out)


def spelled(x):
    x = jnp.asarray(x) if not hasattr(x, "dtype") else x
    return f"{SHORT[x.dtype.name]}[{','.join(map(str, x.shape))}] {numbers(x)}".strip()


def attribute(value):
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, (tuple, list)):
        return ",".join(attribute(v) for v in value)
    if isinstance(value, np.dtype) or (isinstance(value, type) and hasattr(value, "dtype")):
        return SHORT[jnp.dtype(value).name]
    return str(value)


def pattern(x, k):
    i = np.arange(x.size).reshape(x.shape)
    return jnp.asarray(((7 * i + 3 * k) % 11 - 5) / 4, x.dtype)


class Cases:
    """The rows of one file."""

    def __init__(self, script, what, module=jnp):
        self.module = module
        self.names = {}
        self.lines = [f"# {what}; written by {script}, which golden_cases.py explains",
                      f"# jax {jax.__version__}, CPU; jax_enable_x64 = {jax.config.jax_enable_x64}"]

    def note(self, text):
        self.lines.append(f"# {text}")

    def array(self, x):
        """An array in a row: a name, if it is long and was used before."""
        if isinstance(x, bool):
            raise TypeError("a literal is a number")
        if isinstance(x, int):
            return f"int {x}"
        if isinstance(x, float):
            return f"float {x!r}"
        text = spelled(x)
        if len(text) < 24:
            return text
        if text not in self.names:
            self.names[text] = f"v{len(self.names)}"
            self.lines.append(f"let {self.names[text]} {text}")
        return self.names[text]

    def case(self, name, *inputs, fn=None, grad=False, check=None, show=None, **attributes):
        """One row. `fn(*inputs, **attributes)` is JAX's function, by default the one called `name`; `grad` wants its
        gradients; `check` are attributes of the check (tol=...); `show` are the attributes as the test sees them, if the
        function does not get the same."""
        fn = fn or getattr(self.module, name)
        inputs = [x if isinstance(x, (int, float)) and not isinstance(x, bool) else jnp.asarray(x) for x in inputs]
        shown = {**(attributes if show is None else show), **(check or {})}
        head = " ".join([name] + [f"{k}={attribute(v)}" for k, v in shown.items() if v is not None])
        text = [self.array(x) for x in inputs]
        row = f"{head} : {' , '.join(text)} -> ".replace(" :  ->", " : ->")
        try:
            out = fn(*inputs, **attributes)
        except Exception:  # JAX refuses arguments in many ways
            self.lines.append(row + "error")
            return
        outs = list(out) if isinstance(out, (tuple, list)) else [out]
        outs = [jnp.asarray(y) for y in outs]
        row += " , ".join(spelled(y) for y in outs)
        if grad:
            row += self.gradients(fn, inputs, attributes, outs)
        self.lines.append(row)

    @staticmethod
    def gradients(fn, inputs, attributes, outs):
        wanted = [k for k, x in enumerate(inputs) if hasattr(x, "dtype") and is_float(x)]

        def real(*at):
            x = list(inputs)
            for k, v in zip(wanted, at):
                x[k] = v
            out = fn(*x, **attributes)
            out = list(out) if isinstance(out, (tuple, list)) else [out]
            return [jnp.asarray(y) for y in out if is_float(jnp.asarray(y))]

        _, pull = jax.vjp(real, *[inputs[k] for k in wanted])
        cts = [pattern(y, k) for k, y in enumerate(outs) if is_float(y)]
        return "".join(f" ; {k} {numbers(d)}".rstrip() for k, d in zip(wanted, pull(cts)))

    def save(self, file):
        path = HERE / file
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n".join(self.lines) + "\n")
        print(f"{file}: {len(self.lines)} lines, {path.stat().st_size} bytes")


def grid(*shape, seed=0, scale=2.0, dtype=jnp.float32):
    """Normal numbers rounded to multiples of 1/16: exact in most dtypes and short in text."""
    values = np.random.RandomState(seed).randn(*shape) * scale
    return jnp.asarray(np.round(values * 16) / 16, dtype)


def whole(*shape, seed=0, low=-9, high=10, dtype=jnp.int32):
    return jnp.asarray(np.random.RandomState(seed).randint(low, high, shape), dtype)


def edges(dtype=jnp.float32):
    """The values at which functions go wrong: nan, infinities, zeros of both signs, a denormal, and the largest."""
    if dtype == jnp.bool_:
        return jnp.asarray([True, False, True])
    if not jnp.issubdtype(dtype, jnp.floating):
        info = jnp.iinfo(dtype)
        return jnp.asarray([info.min, info.min + 1, -1 if info.min else 1, 0, 1, 7, info.max - 1, info.max], dtype)
    info = jnp.finfo(dtype)
    return jnp.asarray(np.array([nan, -inf, inf, -0.0, 0.0, float(info.tiny), -float(info.tiny), 1, -1, 0.5, -2.5, 3,
                                 float(info.max), float(info.min)]).astype(dtype))
