"""tests/golden/make_masks.py: write masks.txt, masks of attention from those of JAX's splash attention.

    python make_masks.py

Needs jax and numpy; the tests only read the file. Each row is a mask as booleans: name bool 2 T S : values. The names are
NAME_TxS_OFFSET, where the queries are at the positions OFFSET, OFFSET + 1, ...:

    local_LEFT_RIGHT   a query sees LEFT keys before its position and RIGHT after it, none: all of them
    chunked_SIZE       a query sees the keys of its own chunk of SIZE positions, up to its own
    causal             a query sees the keys up to its own position
    or, and            the union and the intersection of causal and local_1_2
"""
# SPDX-License-Identifier: Apache-2.0
import os
import pathlib

os.environ["JAX_PLATFORMS"] = "cpu"

import numpy as np
from jax.experimental.pallas.ops.tpu.splash_attention import splash_attention_mask as splash

SHAPES = [(1, 1), (4, 4), (4, 6), (6, 4)]
WINDOWS = [(1, None), (None, 2), (1, 1), (1, 0), (0, 2)]


def lines():
    def row(name, shape, offset, mask):
        seen = np.asarray(mask[:, :]).astype(int)
        assert seen.shape == shape
        return f"{name}_{shape[0]}x{shape[1]}_{offset} bool 2 {shape[0]} {shape[1]} : " + " ".join(map(str, seen.ravel()))

    for shape in SHAPES:
        for offset in (-1, 0, 2):
            causal = splash.CausalMask(shape, offset)
            local = splash.LocalMask(shape, (1, 2), offset)
            yield row("causal", shape, offset, causal)
            yield row("or", shape, offset, causal | local)
            yield row("and", shape, offset, causal & local)
            for window in WINDOWS:
                name = "local_" + "_".join("none" if w is None else str(w) for w in window)
                yield row(name, shape, offset, splash.LocalMask(shape, window, offset))
        for size in (1, 2, 3, 8):  # offsets of chunks are not those of positions in JAX
            yield row(f"chunked_{size}", shape, 0, splash.ChunkedCausalMask(shape, size))


if __name__ == "__main__":
    path = pathlib.Path(__file__).parent / "masks.txt"
    path.write_text("# Masks of JAX's splash attention, written by make_masks.py.\n" + "\n".join(lines()) + "\n")
