"""tests/data/make_losses.py: write optim/losses.txt, a table of cases of losses (see golden_cases.py).

    python make_losses.py        (pip install optax==0.2.8)
"""
# SPDX-License-Identifier: Apache-2.0
import optax

from golden_cases import *

c = Cases("make_losses.py", f"Losses of optax {optax.__version__}", optax.losses)
x, y = grid(3, 4), grid(3, 4, seed=1)
signs = jnp.asarray([[1, -1, 1, 1], [-1, -1, 1, -1], [1, 1, -1, 1]], jnp.float32)
bits = jnp.asarray([[1, 0, 1, 1], [0, 0, 1, 0], [1, 1, 0, 1]], jnp.float32)
soft = jnp.asarray([[0.5, 0.25, 0.25, 0], [1, 0, 0, 0], [0.125, 0.125, 0.5, 0.25]], jnp.float32)
far = jnp.asarray([[100, -100, 0.5, 0], [-100, 100, -30, 30], [0.25, -0.25, 8, -8]], jnp.float32)
near = {"tol": 3e-6, "gtol": 3e-5}
for name in ["squared_error", "l2_loss", "log_cosh", "cosine_similarity", "cosine_distance"]:
    c.case(name, x, y, grad=True, check=near)
    c.case(name, far, y, grad=True, check=near)
for delta in [1.0, 0.5, 3.0]:
    c.case("huber_loss", x, y, delta=delta, grad=True, check=near)
c.case("cosine_similarity", x, y, axis=0, epsilon=40.0, grad=True, check=near)
for logits in [x, far]:
    c.case("sigmoid_binary_cross_entropy", logits, bits, grad=True, check=near)
    c.case("sigmoid_binary_cross_entropy", logits, soft, check=near)
    c.case("softmax_cross_entropy", logits, soft, grad=True, check=near)
    c.case("poly_loss_cross_entropy", logits, soft, epsilon=0.5, grad=True, check=near)
    c.case("kl_divergence", jax.nn.log_softmax(logits), soft, check=near)
    c.case("generalized_kl_divergence", jax.nn.log_softmax(x), soft, check=near)
    c.case("kl_divergence_with_log_targets", jax.nn.log_softmax(logits), jax.nn.log_softmax(y), grad=True, check=near)
    for name in ["multiclass_hinge_loss", "multiclass_perceptron_loss"]:
        c.case(name, logits, jnp.asarray([1, 0, 3]), grad=True, check=near)
    for name in ["hinge_loss", "perceptron_loss"]:
        c.case(name, logits, signs, grad=True, check=near)
    c.case("sparsemax_loss", logits, bits, check=near)
for options in [{}, {"gamma": 0.5}, {"alpha": 0.25, "gamma": 3.0}]:
    c.case("sigmoid_focal_loss", x, bits.astype(jnp.int32), grad=True, check=near, **options)
c.case("sigmoid_focal_loss", x, soft, check=near)
c.case("smooth_labels", soft, alpha=0.1, grad=True, check=near)
c.case("triplet_margin_loss", x, y, grid(3, 4, seed=2), grad=True, check=near)
c.case("triplet_margin_loss", x, y, grid(3, 4, seed=2), margin=20.0, axis=0, grad=True, check=near)
c.save("optim/losses.txt")
