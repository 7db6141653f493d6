"""Writes the folders orbax/*: one tree as Orbax writes it in four formats. Needs orbax-checkpoint and jax. The times and places that
Orbax notes are not kept."""
import asyncio
import os
import pathlib
import shutil
import tempfile

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
import jax
import jax.numpy as jnp
import numpy as np
import orbax.checkpoint as ocp
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
from orbax.checkpoint._src.serialization import ocdbt_utils, tensorstore_utils

mesh = Mesh(np.array(jax.devices()).reshape(2, 2), ("x", "y"))


def put(value, *axes):
  return jax.device_put(value, NamedSharding(mesh, P(*axes)))


def layer(sign, *axes):
  return {"kernel": put(sign * np.arange(48, dtype=np.float32).reshape(6, 8) / 8, *axes),
          "bias": put(sign * jnp.arange(8, dtype=jnp.bfloat16), "y")}


tree = {"params": {"layers": [layer(1, "x", "y"), layer(-1, None, "x")], "scale": put(jnp.full((3, 4), 0.5, jnp.float16))},
        "step": put(np.int32(7)), "mask": put(np.array([True, False, True])), "zeros": put(np.zeros((4, 4), np.int8), "x")}
here = pathlib.Path(__file__).parent / "orbax"
shutil.rmtree(here, ignore_errors=True)
with tempfile.TemporaryDirectory() as folder:
  made = pathlib.Path(folder)
  for name, ocdbt in [("v0_files", False), ("v0_ocdbt", True)]:
    handler = ocp.PyTreeCheckpointHandler(use_ocdbt=ocdbt, use_zarr3=False)
    ocp.Checkpointer(handler).save(made / name, tree)
  ocp.v1.save(made / "v1", tree)
  # Two processes, each with some of the arrays, whose databases are merged.
  for process, names in enumerate([["params"], ["step", "mask", "zeros"]]):
    handler = ocp.PyTreeCheckpointHandler(use_ocdbt=True, use_zarr3=False)
    ocp.Checkpointer(handler).save(made / str(process), {name: tree[name] for name in names})
    shutil.copytree(made / str(process) / "ocdbt.process_0", made / "merged" / f"ocdbt.process_{process}")
  shutil.copy(made / "v0_ocdbt" / "_METADATA", made / "merged")
  asyncio.run(ocdbt_utils.merge_ocdbt_per_process_files(made / "merged", tensorstore_utils.get_ts_context(use_ocdbt=True), False))
  for name in ["v0_files", "v0_ocdbt", "v1", "merged"]:
    for file in sorted((made / name).rglob("*")):
      to = here / name / file.relative_to(made / name)
      if file.is_dir() or file.name in ["_CHECKPOINT_METADATA", "_sharding", "commit_success.txt"] or "array_metadatas" in str(file):
        continue
      to.parent.mkdir(parents=True, exist_ok=True)
      shutil.copy(file, to)
