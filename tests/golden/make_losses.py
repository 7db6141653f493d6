"""tests/golden/make_losses.py: write optim/losses.txt and optim/projections.txt, tables of cases (see golden_cases.py).

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
holes = jnp.asarray([[0.5, -jnp.inf, 0.5, 1], [2, 0, -jnp.inf, -jnp.inf], [-1, 1, 3, 0]], jnp.float32)
c.case("safe_softmax_cross_entropy", holes, jnp.asarray([[0.5, 0, 0.5, 0], [1, 0, 0, 0], [0, 0, 0, 1]], jnp.float32), check=near)
c.case("safe_softmax_cross_entropy", x, soft, grad=True, check=near)
for labels in [[0, 0, 1, 1], [0, 0, 0, 1], [2, 2, 2, 2]]:
    c.case("ntxent", grid(4, 2, seed=3), jnp.asarray(labels), grad=True, check=near)
c.case("ntxent", grid(5, 3, seed=4), jnp.asarray([0, 1, 0, 1, 0]), temperature=0.5, grad=True, check=near)
c.case("multiclass_sparsemax_loss", x, jnp.asarray([1, 0, 3]), grad=True, check=near)
c.case("multiclass_sparsemax_loss", 0.1 * y, jnp.asarray([3, 2, 1]), grad=True, check=near)
REDUCE = {"none": None, "sum": jnp.sum, "mean": jnp.mean}
ranking = lambda logits, labels, *rest, reduce, masked=False: optax.losses.ranking_softmax_loss(
    logits, labels, where=rest[0] if masked else None, weights=rest[-1] if len(rest) > masked else None, reduce_fn=REDUCE[reduce])
mask = jnp.asarray([[1, 0, 1, 1], [0, 0, 0, 0], [1, 1, 0, 1]], bool)
for reduce in REDUCE:
    c.case("ranking_softmax_loss", x, bits, fn=ranking, reduce=reduce, grad=True, check=near)
    c.case("ranking_softmax_loss", x, bits, mask, fn=ranking, reduce=reduce, masked=True, check=near)
c.case("ranking_softmax_loss", x, bits, soft, fn=ranking, reduce="mean", check=near)
image, classes = grid(2, 3, 3, 3, seed=5), jax.nn.one_hot(jnp.arange(18).reshape(2, 3, 3) % 3, 3)
for reduction in REDUCE:
    c.case("dice_loss", image, classes, reduction=reduction, grad=True, check=near)
c.case("dice_loss", image, classes, smooth=0.5, alpha=0.3, beta=0.7, ignore_background=True, check=near)
c.case("dice_loss", x, soft, check=near)
c.case("binary_dice_loss", x, bits, grad=True, check=near)
c.case("binary_dice_loss", grid(2, 3, 1, seed=6), jnp.asarray([[[1], [0], [1]], [[0], [0], [0]]], jnp.float32), smooth=0.5, check=near)
c.case("multiclass_generalized_dice_loss", image, classes, grad=True, check=near)
speech = grid(2, 6, 4, seed=7)
late = jnp.asarray([[0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 1, 1]], jnp.float32)
for words, ends in [([[1, 2, 3], [1, 1, 0]], [[0, 0, 0], [0, 0, 1]]), ([[2, 2, 2], [3, 1, 3]], [[0, 0, 0], [0, 1, 1]])]:
    c.case("ctc_loss", speech, late, jnp.asarray(words), jnp.asarray(ends, jnp.float32), check={"tol": 1e-5})
c.case("ctc_loss", speech, late, jnp.asarray([[0, 2], [1, 0]]), jnp.zeros((2, 2), jnp.float32), blank_id=3, check={"tol": 1e-5})
c.save("optim/losses.txt")

c = Cases("make_losses.py", f"Projections of optax {optax.__version__}", optax.projections)
v, w = grid(5), grid(5, seed=1)
c.case("projection_non_negative", v, grad=True)
c.case("projection_box", v, lower=-0.5, upper=1.5, grad=True)
for scale in [1.0, 2.5, 100.0]:
    for name in ["hypercube", "simplex", "l1_sphere", "l1_ball", "l2_sphere", "l2_ball", "linf_ball"]:
        c.case(f"projection_{name}", v, scale=scale, grad=True, check=near)
c.case("projection_simplex", grid(40, seed=2), scale=3.0, grad=True, check=near)
c.case("projection_vector", v, w, grad=True, check=near)
for b in [-3.0, 0.5, 30.0]:
    c.case("projection_hyperplane", v, w, b=b, grad=True, check=near)
    c.case("projection_halfspace", v, w, b=b, grad=True, check=near)
c.save("optim/projections.txt")
