# run_stablehlo.py: runs the programs that tests/stablehlo/write.cpp has written, in XLA through jaxlib, and compares their values.
# TOKAMAX_STABLEHLO_OUT=FOLDER tokamax_test_stablehlo "to_stablehlo*"; python3 tests/golden/run_stablehlo.py FOLDER
import os
import pathlib
import sys

os.environ["JAX_PLATFORMS"] = "cpu"
try:
    import jax
except ImportError:
    print("skipped: no jax")
    sys.exit()
jax.config.update("jax_enable_x64", True)
import numpy as np
from jax._src.interpreters import mlir
from jax._src.lib import xla_client
from jax.extend import backend
from jaxlib.mlir import ir

client = backend.get_backend()
devices = xla_client.DeviceList(tuple(client.local_devices()[:1]))


def numbers(seed):
    return np.array([(i * 7 + seed * 5) % 13 - 6 for i in range(12)], np.float32).reshape(3, 4) / 4


failed = 0
programs = sorted(pathlib.Path(sys.argv[1]).glob("*.mlir"))
for path in programs:
    try:
        with mlir.make_ir_context():
            program = client.compile_and_load(ir.Module.parse(path.read_text()), devices, xla_client.CompileOptions())
        inputs = [jax.device_put(numbers(seed)) for seed in (1, 2)]
        found = np.asarray(program.execute_sharded(inputs).disassemble_into_single_device_arrays()[0][0])
        expected = np.array([float(v) for v in path.with_suffix(".txt").read_text().split()], np.float32)
        np.testing.assert_allclose(found.astype(np.float32).ravel(), expected, rtol=1e-4, atol=1e-4)
    except Exception as e:  # one wrong program does not hide the others
        failed += 1
        print("failed:", path.stem, str(e).strip()[:600])
print(f"{len(programs)} programs, {failed} failed")
sys.exit(failed > 0 or not programs)
