"""Reads what the hidden test "[interchange]" of tests/zstd wrote into a folder: Orbax its folders, array_record its files."""
import sys

import jax
import jax.numpy as jnp
import numpy as np
import orbax.checkpoint as ocp

folder = sys.argv[1]
state = folder + "/run/5/default"
expected = {
    "blocks": [{"up": np.arange(6, dtype=np.float32).reshape(2, 3) * (i + 1), "gate": np.asarray([1.5, -i], jnp.bfloat16)}
               for i in range(2)],
    "empty": np.zeros((0, 3), np.uint8),
    "step": np.int32(7),
    "truths": np.array([True, False]),
}


def same(name, found):
  assert jax.tree.structure(found) == jax.tree.structure(expected), (name, jax.tree.structure(found))
  for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected)):
    assert a.dtype == b.dtype and a.shape == b.shape and np.asarray(a).tobytes() == np.asarray(b).tobytes(), (name, a, b)
  print(name, "reads it")


device = jax.sharding.SingleDeviceSharding(jax.devices()[0])
target = jax.tree.map(lambda a: jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=device), expected)
same("PyTreeCheckpointer", ocp.PyTreeCheckpointer().restore(state))
same("StandardCheckpointer", ocp.StandardCheckpointer().restore(state, target))
manager = ocp.CheckpointManager(folder + "/run")
assert manager.latest_step() == 5
same("CheckpointManager", manager.restore(5, args=ocp.args.StandardRestore()))
same("v1", ocp.v1.load(state))
same("v1 with a target", ocp.v1.load(state, target))
for i in range(16):
  same(f"PyTreeCheckpointer, format {i}", ocp.PyTreeCheckpointer().restore(f"{folder}/formats/{i}"))

try:
  from array_record.python import array_record_module
except ImportError:
  print("skipped: array_record is not installed")
  sys.exit()
for name in ["plain", "zstd"]:
  reader = array_record_module.ArrayRecordReader(f"{folder}/{name}.array_record")
  records = [b"record %d " % i * (i % 300) for i in range(2000)]
  assert reader.num_records() == len(records) and reader.read(list(range(2000))) == records, name
  print("array_record reads", name)
