# run_jax_artefacts.py: reads the modules that JAX's wheel carries for its own tests of compatibility, writes them as text and reads that, and
# runs those of the CPU, whose results are compared; decompositions give their matrices back.
# python3 tests/golden/run_jax_artefacts.py TOKAMAX_RUN   (jax 0.10)
import importlib
import os
import pathlib
import pkgutil
import subprocess
import sys
import tempfile

os.environ["JAX_PLATFORMS"] = "cpu"
import jax._src.internal_test_util.export_back_compat_test_data as package
import numpy as np


def artefacts(tree):
    if isinstance(tree, dict) and "mlir_module_serialized" in tree:
        yield tree
    elif isinstance(tree, (dict, list, tuple)):
        for part in tree.values() if isinstance(tree, dict) else tree:
            yield from artefacts(part)


def tokamax(*arguments):
    return subprocess.run([sys.argv[1], *map(str, arguments)], capture_output=True, text=True)


def parts(x):
    x = np.asarray(x)
    return np.ascontiguousarray(np.stack([x.real, x.imag], -1) if np.iscomplexobj(x) else x)


def close(a, b):
    return np.max(abs(a - b), initial=0) <= 2e-3 * max(np.max(abs(b), initial=0), 1)


def agrees(name, inputs, found, expected):
    adjoint = lambda x: np.conj(np.swapaxes(x, -1, -2))
    if "schur" in name:
        form, basis = found[:2]
        return close(basis @ form @ adjoint(basis), inputs[0])
    if "eigh" in name:
        matrix = lambda vectors, values: vectors * values[..., None, :] @ adjoint(vectors)
        by_rank = lambda results: sorted(results, key=np.ndim, reverse=True)
        return close(matrix(*by_rank(found)), matrix(*by_rank(expected)))
    if "eig" in name:  # the module itself makes the matrix 0, 1, 2, ...
        values, vectors = found[0], found[-1]
        matrix = np.arange(vectors.size, dtype=np.float64).reshape(vectors.shape)
        return close(matrix @ vectors, vectors * values[..., None, :])
    if "svd" in name or "qr" in name:
        found, expected = map(np.abs, found), map(np.abs, expected)
    return all(a.shape == b.shape and close(a, b) for a, b in zip(found, expected, strict=True))


seen = read = of_cpu = good = 0
with tempfile.TemporaryDirectory() as folder:
    path, text = pathlib.Path(folder, "module.bc"), pathlib.Path(folder, "module.mlir")
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if module.ispkg:
            continue
        for a in artefacts(vars(importlib.import_module(module.name))):
            name = f"{module.name.split('.')[-1]} {a['platform']} {a['serialized_date']}"
            seen += 1
            path.write_bytes(a["mlir_module_serialized"])
            once = tokamax(path, "--text")
            text.write_text(once.stdout)
            if once.returncode or tokamax(text, "--text").stdout != once.stdout:
                print("not read:", name, once.stderr.strip()[:200])
                continue
            read += 1
            if a["platform"] != "cpu":
                continue
            of_cpu += 1
            inputs = [np.asarray(x) for x in a["inputs"]]
            files = [pathlib.Path(folder, f"{k}.npy") for k in range(len(inputs))]
            for file, x in zip(files, inputs):
                np.save(file, parts(x))
            done = tokamax(path, *files, "--out", pathlib.Path(folder, "out"))
            if done.returncode:
                print("not run:", name, a["custom_call_targets"], done.stderr.strip()[:200])
                continue
            expected = [np.asarray(x) for x in a["expected_outputs"]]
            found = [np.load(pathlib.Path(folder, f"out{k}.npy")) for k in range(len(expected))]
            found = [f[..., 0] + 1j * f[..., 1] if np.iscomplexobj(e) else f for f, e in zip(found, expected)]
            if agrees(name, inputs, found, expected):
                good += 1
            else:
                print("other values:", name, a["custom_call_targets"])
print(f"{seen} artefacts, {read} read, {of_cpu} of the CPU, {good} with equal results")
