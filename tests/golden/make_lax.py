"""tests/golden/make_lax.py: write the table of cases of jax.lax that are neither ops of their own nor functions of jax.numpy
(see golden_cases.py): patches, shapes of windows, high halves of products, reductions by xor.

    python make_lax.py
"""
# SPDX-License-Identifier: Apache-2.0
from jax import lax

from golden_cases import *

NUMBERS = ("NHWC", "HWIO", "NHWC")


def write_patches(c):
    x = grid(2, 6, 5, 3, seed=1)
    both = [(1, 1), (1, 1)]
    for window, strides, pads, lhs, rhs in [((2, 2), (1, 1), [(0, 0), (0, 0)], (1, 1), (1, 1)),
                                            ((3, 2), (2, 1), [(1, 0), (0, 2)], (1, 1), (1, 2)),
                                            ((2, 3), (1, 2), [(-1, 1), (1, 1)], (2, 1), (2, 1)),
                                            ((1, 1), (1, 1), [(0, 0), (0, 0)], (1, 1), (1, 1)),
                                            ((8, 2), (1, 1), [(0, 0), (0, 0)], (1, 1), (1, 1))]:
        shown = {"window": window, "strides": strides, "low": [p[0] for p in pads], "high": [p[1] for p in pads],
                 "lhs_dilation": lhs, "rhs_dilation": rhs}
        patches = lambda a: lax.conv_general_dilated_patches(a, window, strides, pads, lhs, rhs, NUMBERS)
        small = window[0] < 8
        for dtype in [jnp.float32, jnp.bfloat16]:
            c.case("conv_general_dilated_patches", x.astype(dtype), fn=patches, show=shown,
                   grad=small and dtype == jnp.float32)
        y = patches(x)
        if small:
            w = grid(y.shape[1], y.shape[2], y.shape[3], 2, seed=2)
            c.case("conv_general_dilated_local", x, w, grad=True, show=shown, check={"tol": 3e-6, "bits": 0},
                   fn=lambda a, b: lax.conv_general_dilated_local(a, b, strides, pads, window, lhs, rhs, NUMBERS))
    line = grid(1, 7, 2, seed=3)
    shown = {"window": (3,), "strides": (2,), "low": (1,), "high": (0,), "lhs_dilation": (1,), "rhs_dilation": (1,)}
    c.case("conv_general_dilated_patches", line, show=shown, grad=True,
           fn=lambda a: lax.conv_general_dilated_patches(a, (3,), (2,), [(1, 0)], dimension_numbers=("NWC", "WIO", "NWC")))
    c.case("conv_general_dilated_patches", x, fn=lambda a: lax.conv_general_dilated_patches(a, (2,), (1,), both),
           show={**shown, "window": (2,)})


def write_shapes(c):
    for extents, window, strides in [((10, 7), (3, 2), (2, 1)), ((5,), (4,), (3,)), ((1, 9, 4), (2, 2, 7), (1, 5, 2))]:
        for padding in ["SAME", "VALID"]:
            c.case("padtype_to_pads", fn=lambda: np.array(lax.padtype_to_pads(extents, window, strides, padding)),
                   show={"extents": extents, "window": window, "strides": strides, "padding": padding})
    pads = [(1, 2), (0, -1)]
    shown = {"strides": (2, 1), "low": (1, 0), "high": (2, -1)}
    for base, dilation in [(None, None), ((2, 3), (1, 1)), ((1, 1), (3, 2))]:
        c.case("reduce_window_shape_tuple", show={**shown, "extents": (10, 7), "window": (3, 2), "base": base, "by": dilation},
               fn=lambda: np.array(lax.reduce_window_shape_tuple((10, 7), (3, 2), (2, 1), pads, base, dilation)))
    for groups in [1, 2]:
        c.case("conv_shape_tuple", show={**shown, "lhs": (4, 6, 10, 7), "rhs": (8, 6, 3, 2), "groups": groups},
               fn=lambda: np.array(lax.conv_shape_tuple((4, 6, 10, 7), (8, 6, 3, 2), (2, 1), pads, groups)))
    for numbers, lhs, rhs in [(("NHWC", "HWIO", "NHWC"), (4, 10, 7, 6), (3, 2, 6, 8)),
                              (("NCHW", "OIHW", "NCHW"), (4, 6, 10, 7), (8, 6, 3, 2)),
                              (("WNHC", "IHWO", "CHNW"), (7, 4, 10, 6), (6, 3, 2, 8))]:
        named = {"layouts": ".".join(numbers)}
        c.case("conv_general_permutations", fn=lambda: np.array(lax.conv_general_permutations(numbers)), show=named)
        for name in ["conv_general_shape_tuple", "conv_transpose_shape_tuple"]:
            c.case(name, show={**shown, **named, "lhs": lhs, "rhs": rhs},
                   fn=lambda: np.array(getattr(lax, name)(lhs, rhs, (2, 1), pads, numbers)))
    for numbers in [("NHWC", "HWIO", "NHHC"), ("NHC", "HWIO", "NHWC"), ("NHWC", "HWII", "NHWC"), ("NHWC", "HWIO", "NXWC")]:
        c.case("conv_general_permutations", fn=lambda: np.array(lax.conv_general_permutations(numbers)),
               show={"layouts": ".".join(numbers)})


def write_numbers(c):
    for dtype in [jnp.int8, jnp.int16, jnp.int32, jnp.uint8, jnp.uint16, jnp.uint32]:
        a, b = jnp.meshgrid(edges(dtype), edges(dtype))
        wide = np.asarray(a).astype(object) * np.asarray(b).astype(object)  # the definition, in Python's numbers
        bits = jnp.iinfo(dtype).bits
        high = np.array([int(v) >> bits for v in wide.ravel()]).astype(dtype)
        c.case("mulhi", a.ravel(), b.ravel(), fn=lambda u, v: jnp.asarray(high), show={})
        x = whole(3, 5, seed=1, low=0, high=100, dtype=dtype)
        for axis in [(0,), (1,), (0, 1), (-1,)]:
            c.case("reduce_xor", x, fn=lambda u: lax.reduce(u, np.array(0, dtype), lax.bitwise_xor, [k % 2 for k in axis]),
                   show={"axes": axis})
    c.case("mulhi", jnp.ones(2), jnp.ones(2), fn=lax.mul if not hasattr(lax, "mulhi") else lax.mulhi, show={})
    truth = jnp.asarray([[True, False, True], [True, True, True]])
    c.case("reduce_xor", truth, fn=lambda u: lax.reduce(u, False, lax.bitwise_xor, [1]), show={"axes": (1,)})
    c.case("reduce_xor", jnp.zeros((0, 2), jnp.int32), fn=lambda u: lax.reduce(u, 0, lax.bitwise_xor, [0]), show={"axes": (0,)})
    for dtype in [jnp.float32, jnp.bfloat16, jnp.float16]:
        halves = jnp.concatenate([jnp.asarray([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.49, 3.75], dtype), edges(dtype)])
        c.case("round", halves, method="away", show={"method": "away"}, fn=lambda u, method: lax.round(u))
        c.case("round", halves, method="even", show={"method": "even"},
               fn=lambda u, method: lax.round(u, lax.RoundingMethod.TO_NEAREST_EVEN))
    c.case("round", jnp.asarray([0.49999997, -0.49999997, 8388609, 0.50000006], jnp.float32), fn=lax.round,
           show={"method": "away"})
    x = grid(3, 9, seed=4) + jnp.arange(9) / 128  # without equal elements, of which JAX takes any
    for k in [1, 4, 9]:
        c.case("approx_min_k", x, show={"k": k}, grad=k == 4, fn=lambda u: lax.approx_min_k(u, k, recall_target=1.0))


def write_cases():
    c = Cases("make_lax.py", "Patches, shapes of windows, and numbers", lax)
    write_patches(c)
    write_shapes(c)
    write_numbers(c)
    c.save("lax.txt")


if __name__ == "__main__":
    write_cases()
