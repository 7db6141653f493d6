"""Writes optimisers.txt: optimisers of Optax on a tree of a matrix, a vector and a number, with gradients that change.

    python make_optim.py        (pip install optax==0.2.8)

The gradient of step n is w * (p - target) * (1 + sin(n) / 2). A row has all parameters after steps 1, 2, 5 and 10.
"""
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
import optax
from optax import contrib

OUT = pathlib.Path(__file__).parent / "optimisers.txt"
SHAPES = {"matrix": (4, 3), "vector": (3,), "number": ()}


def wave(shape, scale, shift):
    n = int(np.prod(shape))
    return jnp.asarray(np.sin(scale * np.arange(n) + shift).reshape(shape), jnp.float32)


start = {k: 2 * wave(s, 0.9, 0.3) for k, s in SHAPES.items()}
target = {k: wave(s, 1.7, 1.1) for k, s in SHAPES.items()}
weight = {k: 1.5 + wave(s, 0.7, 2.0) for k, s in SHAPES.items()}
lines = [f"# written by make_optim.py, optax {optax.__version__}, jax {jax.__version__}: parameters after steps 1, 2, 5, 10"]


def row(name, optimizer):
    params, state, found = start, optimizer.init(start), []
    for n in range(10):
        grads = jax.tree.map(lambda w, p, t: w * (p - t) * jnp.float32(1 + np.sin(n) / 2), weight, params, target)
        updates, state = optimizer.update(grads, state, params)
        params = optax.apply_updates(params, updates)
        if n + 1 in (1, 2, 5, 10):
            found.append(np.concatenate([np.ravel(params[k]) for k in SHAPES]))
    values = " ".join(f"{float(v):.9g}" for v in np.concatenate(found))
    lines.append(f"{name} f32 2 4 16 : {values}")


row("adam", optax.adam(0.1))
row("nadam", optax.nadam(0.1, b1=0.8))
row("nadamw", optax.nadamw(0.1, weight_decay=0.1))
row("amsgrad", optax.amsgrad(0.1))
row("amsgrad_options", optax.amsgrad(0.05, b1=0.8, b2=0.9, eps=1e-3, eps_root=1e-4))
row("adamax", optax.adamax(0.1))
row("adamaxw", optax.adamaxw(0.05, b1=0.7, b2=0.9, eps=1e-3, weight_decay=0.1))
row("adabelief", optax.adabelief(0.1))
row("adabelief_nesterov", optax.adabelief(0.05, b1=0.8, b2=0.9, eps=1e-4, eps_root=1e-6, nesterov=True))
row("yogi", optax.yogi(0.1))
row("yogi_options", optax.yogi(0.05, b1=0.8, b2=0.9, eps=1e-2))
row("radam", optax.radam(0.1))
row("radam_nesterov", optax.radam(0.05, b1=0.8, b2=0.9, eps=1e-4, eps_root=1e-4, threshold=3.0, nesterov=True))
row("lamb", optax.lamb(0.1))
row("lamb_decay", optax.lamb(0.05, b1=0.8, b2=0.9, eps=1e-3, weight_decay=0.1))
row("lars", optax.lars(0.5))
row("lars_decay", optax.lars(0.1, weight_decay=0.1, trust_coefficient=0.1, eps=1e-3, momentum=0.5, nesterov=True))
row("sign_sgd", optax.sign_sgd(0.05))
row("muon", contrib.muon(0.05))
row("muon_options", contrib.muon(0.02, ns_steps=3, beta=0.9, weight_decay=0.1, nesterov=False, adaptive=True))
row("muon_rms", contrib.muon(0.02, consistent_rms=0.2, adam_b1=0.8, adam_b2=0.9, adam_weight_decay=0.05))
OUT.write_text("\n".join(lines) + "\n")
