# run_stablehlo.py: runs the programs that tests/stablehlo/write.cpp and op_programs.cpp have written, in XLA through jaxlib, and compares
# their values. What LAPACK gives up to signs or phases is compared by its sizes.
# TOKAMAX_STABLEHLO_OUT=FOLDER tokamax_test_stablehlo "to_stablehlo*"; python3 tests/golden/run_stablehlo.py FOLDER
import os
import pathlib
import re
import sys

os.environ["JAX_PLATFORMS"] = "cpu"
try:
    import jax
except ImportError:
    print("skipped: no jax")
    sys.exit()
jax.config.update("jax_enable_x64", True)
import ml_dtypes
import numpy as np
from jax._src.interpreters import mlir
from jax._src.lib import lapack, xla_client
from jax.extend import backend
from jaxlib.mlir import ir

lapack.prepare_lapack_call("potrf_ffi", np.dtype(np.float32))  # finds the functions
client = backend.get_backend()
devices = xla_client.DeviceList(tuple(client.local_devices()[:1]))


DTYPES = {"i1": np.bool_, "bf16": ml_dtypes.bfloat16, "f16": np.float16, "f32": np.float32, "f64": np.float64,
          "f8E4M3FN": ml_dtypes.float8_e4m3fn, "f8E5M2": ml_dtypes.float8_e5m2}
for bits in (8, 16, 32, 64):
    DTYPES[f"i{bits}"] = np.dtype(f"int{bits}").type
    DTYPES[f"ui{bits}"] = np.dtype(f"uint{bits}").type
FUNCTIONS_OF_LAPACK = ("geqrf", "gesdd", "syevd", "geev", "gees")


def arrays(types, data):
    """The arrays of these types that lie in some bytes, one after another."""
    at = 0
    for t in map(ir.RankedTensorType, types):
        dtype = np.dtype(DTYPES[str(t.element_type)])
        count = int(np.prod(t.shape, dtype=np.int64))
        yield np.frombuffer(data, dtype, count, at).reshape(t.shape)
        at += count * dtype.itemsize


def compare(found, expected, by_size, bound):
    """At most `bound` of the largest element, and as much more as narrow floats have fewer digits; integers are equal."""
    assert found.dtype == expected.dtype and found.shape == expected.shape, f"{found.dtype}{found.shape}"
    if expected.dtype.kind in "biu":
        np.testing.assert_array_equal(found, expected)
        return
    bound *= 1 if expected.dtype.itemsize >= 4 else 1e3 if expected.dtype.itemsize == 2 else 1.5e4
    found, expected = found.astype(np.float64), expected.astype(np.float64)
    if by_size:
        found, expected = abs(found), abs(expected)
    finite = expected[np.isfinite(expected)]
    largest = abs(finite).max() if finite.size else 0
    np.testing.assert_allclose(found, expected, rtol=0, atol=max(largest * bound, 1e-30))


failed = packed = 0
programs = sorted(pathlib.Path(sys.argv[1]).glob("*.mlir"))
for path in programs:
    text = path.read_text()
    bound = float(path.with_suffix(".bound").read_text()) if path.with_suffix(".bound").exists() else 2e-5
    try:
        with mlir.make_ir_context():
            module = ir.Module.parse(text)
            function = next(f for f in module.body if str(f.attributes["sym_name"]) == '"main"')
            if re.search(r"xu?i4>", text.split("{", 2)[1]):  # the bytes of packed integers are ours
                packed += 1
                continue
            kind = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
            inputs = list(arrays(kind.inputs, path.with_suffix(".in").read_bytes()))
            expected = list(arrays(kind.results, path.with_suffix(".out").read_bytes()))
            program = client.compile_and_load(module, devices, xla_client.CompileOptions())
        results = program.execute_sharded([jax.device_put(x) for x in inputs]).disassemble_into_single_device_arrays()
        by_size = any(name in text for name in FUNCTIONS_OF_LAPACK)
        for found, wanted in zip(results, expected, strict=True):
            compare(np.asarray(found[0]), wanted, by_size, bound)
    except Exception as e:  # one wrong program does not hide the others
        failed += 1
        print("failed:", path.stem, str(e).strip()[:600])
print(f"{len(programs)} programs, {failed} failed, {packed} with packed integers left out")
sys.exit(failed > 0 or not programs)
