"""tests/data/make_numpy.py: write the tables of cases of jax.numpy (see golden_cases.py), one file a family.

    python make_numpy.py [reductions ...]
"""
# SPDX-License-Identifier: Apache-2.0
import sys

from golden_cases import *

FLOATS = [jnp.float32, jnp.bfloat16, jnp.float16]
FEW = [jnp.float32, jnp.bfloat16, jnp.int32]
ALL = FLOATS + [jnp.int8, jnp.int16, jnp.int32, jnp.uint8, jnp.uint16, jnp.uint32, jnp.bool_]


def values(dtype, *shape, seed=0):
    """Plain numbers of a dtype."""
    if dtype == jnp.bool_:
        return jnp.asarray(np.random.RandomState(seed).randint(0, 2, shape), jnp.bool_)
    if jnp.issubdtype(dtype, jnp.floating):
        return grid(*shape, seed=seed, dtype=dtype)
    return whole(*shape, seed=seed, low=0 if jnp.issubdtype(dtype, jnp.unsignedinteger) else -9, dtype=dtype)


def write_reductions():
    c = Cases("make_numpy.py", "Reductions over axes")
    for name in ["sum", "max", "min", "mean", "var", "all", "any"]:
        for dtype in ALL:
            x = values(dtype, 3, 2, 4)
            if name == "var" and dtype == jnp.bool_:
                continue
            for axis in [None, 0, -1, (0, 2)]:
                c.case(name, x, axis=axis, grad=dtype == jnp.float32 and name not in ("all", "any"))
            c.case(name, x, axis=1, keepdims=True)
            c.case(name, edges(dtype))
            c.case(name, x, axis=3)
        for shape in [(0,), (0, 3), (3, 0)]:
            c.case(name, jnp.zeros(shape, jnp.float32), axis=0)
    for name in ["argmax", "argmin"]:
        for dtype in ALL:
            x = values(dtype, 3, 4)
            for axis in [0, -1]:
                c.case(name, x, axis=axis)
            c.case(name, edges(dtype), axis=0)
        c.case(name, jnp.zeros((0, 3), jnp.float32), axis=0)
        c.case(name, jnp.zeros((2, 3), jnp.float32), axis=2)
    c.save("numpy/reductions.txt")


def main():
    families = {name[6:]: f for name, f in globals().items() if name.startswith("write_")}
    for name in sys.argv[1:] or families:
        families[name]()


if __name__ == "__main__":
    main()
