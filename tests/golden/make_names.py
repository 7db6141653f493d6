"""tests/golden/make_names.py: write names.txt, the public names of some namespaces of JAX, one line each."""
# SPDX-License-Identifier: Apache-2.0
import os
import pathlib

os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.experimental.checkify
import jax.numpy as jnp
import jax.scipy.special

SPACES = {"jax.numpy": jnp, "jax.nn": jax.nn, "jax.nn.initializers": jax.nn.initializers, "jax.random": jax.random,
          "jax.lax": jax.lax, "jax.numpy.linalg": jnp.linalg, "jax.numpy.fft": jnp.fft,
          "jax.experimental.checkify": jax.experimental.checkify, "jax.scipy.special": jax.scipy.special}

lines = [f"# The public names of jax {jax.__version__}, of jax.lax without the primitives; written by make_names.py."]
for space, module in SPACES.items():
    names = [n for n in dir(module) if not n.startswith("_") and not (space == "jax.lax" and n.endswith("_p"))]
    lines.append(f"{space}: {' '.join(sorted(names))}")
(pathlib.Path(__file__).parent / "names.txt").write_text("\n".join(lines) + "\n")
