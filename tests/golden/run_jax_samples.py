# run_jax_samples.py: exports functions of JAX as text, bytecode and files of jax.export, runs them by tokamax_run, and compares the values.
# SAMPLES is a Python file with a dictionary F of (function, argument types) by name. Functions with callbacks are to be refused.
# python3 tests/golden/run_jax_samples.py SAMPLES TOKAMAX_RUN [NAME...]   (jax 0.10)
import os
import pathlib
import re
import runpy
import subprocess
import sys
import tempfile

os.environ["JAX_PLATFORMS"] = "cpu"
import jax
import jax.export
import jax.numpy as jnp
import numpy as np

EXTENTS = {"b": 3, "t": 5, "b + 2": 5}  # of symbolic shapes
UP_TO_PHASES = ("eigh", "svd", "eig", "qr")  # whose results are compared by their sizes
rng = np.random.default_rng(0)


def value(t):
    shape = tuple(d if isinstance(d, int) else EXTENTS[str(d)] for d in t.shape)
    if t.dtype == jnp.bool_:
        return rng.random(shape) < 0.5
    if t.dtype == jnp.uint32:
        return rng.integers(0, 2**32, shape, dtype=np.uint32)
    if jnp.issubdtype(t.dtype, jnp.integer):
        return np.asarray(rng.integers(0, 3, shape)).astype(t.dtype)
    return np.asarray(rng.random(shape) * 0.8 + 0.1).astype(t.dtype)


def positive(x):
    y = x.astype(np.float32)
    return (y @ np.swapaxes(y, -1, -2) + 4 * np.eye(y.shape[-1], dtype=np.float32)).astype(x.dtype)


def written(form, name, f, types, arguments, folder):
    """The path of an export of f, whose arguments and results are flat."""
    flat, tree = jax.tree.flatten(arguments)
    function = jax.jit(lambda *a: jax.tree.leaves(f(*jax.tree.unflatten(tree, a))), keep_unused=True)
    symbolic = name.startswith("symbolic")
    given = jax.tree.leaves(types) if symbolic else flat
    text = "" if symbolic else function.lower(*given).as_text()
    path = folder / f"{name}.{form}"
    if form == "text" and not symbolic:
        path.write_text(text)
        return path
    calls = set(re.findall(r"custom_call @([\w.$\-]+)", text))
    exported = jax.export.export(function, disabled_checks=[jax.export.DisabledSafetyCheck.custom_call(c) for c in calls])(*given)
    if form == "text":
        path.write_text(exported.mlir_module())
    else:
        path.write_bytes(exported.serialize() if form == "export" else exported.mlir_module_serialized)
    return path


def distance(name, found, expected):
    """How far two results are apart, relative to their elements; infinite for other shapes and integers."""
    if found.dtype.kind == "V":  # bfloat16 and 8-bit floats, which NumPy does not know
        found = found.view(expected.dtype).astype(np.float32)
        expected = expected.astype(np.float32)
    if np.iscomplexobj(expected):
        found = found[..., 0] + 1j * found[..., 1]
    if any(word in name for word in UP_TO_PHASES):
        found, expected = abs(found), abs(expected)
    if found.shape != expected.shape:
        return np.inf
    if expected.dtype.kind not in "fc":
        return 0 if np.array_equal(found, expected) else np.inf
    finite = np.isfinite(expected)
    if not np.array_equal(finite, np.isfinite(found)):
        return np.inf
    return np.max(abs(found - expected)[finite] / (1e-3 + abs(expected)[finite]), initial=0)


def run(form, name, f, types, folder, program):
    """What is wrong, or nothing."""
    arguments = jax.tree.map(value, types)
    if "cholesky" in name or "eigh" in name or name in ("linalg_inv", "linalg_solve"):
        arguments = jax.tree.map(positive, arguments)
    try:
        path = written(form, name, f, types, arguments, folder)
    except NotImplementedError as e:
        return f"JAX does not export it: {e}" if "callback" not in name else ""
    files = []
    for k, x in enumerate(jax.tree.leaves(arguments)):
        files.append(folder / f"{name}.in{k}.npy")
        np.save(files[-1], x.view(np.uint16) if x.dtype == jnp.bfloat16 else x)
    out = folder / f"{name}.out"
    done = subprocess.run([program, path, *files, "--out", out], capture_output=True, text=True)
    if "callback" in name:
        return "" if "callback" in done.stderr else "the callback is not refused by its name"
    if done.returncode:
        return done.stderr.strip()[:300]
    expected = [np.asarray(jax.random.key_data(x) if jnp.issubdtype(x.dtype, jax.dtypes.prng_key) else x)
                for x in jax.tree.leaves(jax.jit(f)(*arguments))]
    found = [np.load(f"{out}{k}.npy") for k in range(len(expected))]
    if name == "linalg_schur":  # forms may differ, of which the matrix is the product
        t, z = found
        found, expected = [z @ t @ z.T], [np.asarray(arguments[0])]
    worst = max(distance(name, a, b) for a, b in zip(found, expected, strict=True))
    return "" if worst < (2e-2 if "bf16" in name else 2e-3) else f"distance {worst:.3g}"


path, program, *names = sys.argv[1:]
failed = 0
with tempfile.TemporaryDirectory() as folder:
    sys.argv = [path, folder]  # the file may be a program of its own, which writes into a folder
    samples = runpy.run_path(path, run_name="samples")["F"]
    names = names or list(samples)
    for form in ("text", "bytecode", "export"):
        good = 0
        for name in names:
            problem = run(form, name, *samples[name], pathlib.Path(folder), program)
            good += not problem
            if problem:
                print(f"{form}: {name}: {problem}", flush=True)
        print(f"{form}: {good} of {len(names)}", flush=True)
        failed += len(names) - good
sys.exit(failed > 0)
