"""Writes optimisers.txt: optimisers of Optax on a tree of a matrix, a vector and a number, with gradients that change.

    python make_optim.py        (pip install optax==0.2.8)

The loss of step n is sum(w (p - target)^2) / 2 * (1 + sin(n) / 2). A row has all parameters after steps 1, 2, 5, 10, 25 and 50.
"""
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
import optax
from optax import contrib
from optax.contrib._muon import scale_by_shape
from optax.experimental import aggregating

from make_optim_plain import OPTIMISERS

OUT = pathlib.Path(__file__).parent / "optimisers.txt"
SHAPES = [(4, 3), (3,), ()]
KEPT = (1, 2, 5, 10, 25, 50)


def wave(shape, scale, shift):
    n = int(np.prod(shape))
    return jnp.asarray(np.sin(scale * np.arange(n) + shift).reshape(shape), jnp.float32)


start = [2 * wave(s, 0.9, 0.3) for s in SHAPES]
target = [wave(s, 1.7, 1.1) for s in SHAPES]
weight = [1.5 + wave(s, 0.7, 2.0) for s in SHAPES]
lines = [f"# written by make_optim.py, optax {optax.__version__}, jax {jax.__version__}: parameters after steps {KEPT}"]


def loss(params, factor):
    return sum(jnp.sum(w * (p - t) ** 2) for w, p, t in zip(weight, params, target)) * 0.5 * factor


def gradient(params, factor):
    return [w * (p - t) * factor for w, p, t in zip(weight, params, target)]


def row(name, optimizer, extra=lambda params, factor: {}, wide=False, both=False, kept=KEPT):
    """`wide`: the number as a vector of one, for optimisers that take no scalars. `both`: fast and slow parameters. `kept`: the steps, the first of KEPT."""
    shaped = (lambda ps: [ps[0], ps[1], ps[2].reshape(1)]) if wide else (lambda ps: ps)
    narrow = lambda ps: [p.reshape(s) for p, s in zip(ps, SHAPES)]
    params = shaped(start)
    if both:
        params = optax.LookaheadParams.init_synced(params)
    state, found = optimizer.init(params), []
    optimizer = optax.with_extra_args_support(optimizer)

    @jax.jit
    def step(params, state, factor):
        at = narrow(params.fast if both else params)
        updates, state = optimizer.update(shaped(gradient(at, factor)), state, params, **extra(at, factor))
        return optax.apply_updates(params, updates), state

    for n in range(kept[-1]):
        params, state = step(params, state, jnp.float32(1 + np.sin(n) / 2))
        if n + 1 in kept:
            found.append(np.concatenate([np.ravel(p) for p in (params.fast if both else params)]))
    values = " ".join(f"{float(v):.9g}" for v in np.concatenate(found))
    lines.append(f"{name} f32 2 {len(kept)} 16 : {values}")


def value(params, factor):
    return {"value": loss(params, factor)}


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
row("muon_dion", contrib.muon(0.02, ns_coeffs="dion", adam_learning_rate=0.05))
row("muon_spectral", contrib.muon(optax.linear_schedule(0.05, 0.01, 30), ns_steps=4, preconditioning="spectral", eps=1e-3))
row("muon_aol", contrib.muon(0.02, ns_steps=4, preconditioning="aol", adam_learning_rate=optax.linear_schedule(0.1, 0.02, 20)))
row("muon_schatten", contrib.muon(0.02, preconditioning="schatten", beta=0.8, nesterov=False, adam_eps_root=1e-4))
POLAR = [(8.28721201814563, -23.595886519098837, 17.300387312530933), (4.107059111542203, -2.9478499167379106, 0.5448431082926601), (3.9486908534822946, -2.908902115962949, 0.5518191394370137), (3.3184196573706015, -2.488488024314874, 0.51004894012372), (2.300652019954817, -1.6689039845747493, 0.4188073119525673)]
row("muon_polar", contrib.muon(0.02, ns_coeffs=tuple((a / 1.01, b / 1.01**3, c / 1.01**5) for a, b, c in POLAR)))
row("muon_transposed", contrib.muon(0.05, muon_weight_dimension_numbers=lambda ps: [contrib.MuonDimensionNumbers(1, 0), None, None]))
row("muon_mu_dtype", contrib.muon(0.05, mu_dtype=jnp.bfloat16), kept=KEPT[:4])


def matrices(name, shape, dimensions, steps=3, **options):
    """The updates of Muon for weights of any rank."""
    numbers = contrib.MuonDimensionNumbers(*dimensions)
    optimizer = optax.chain(contrib.scale_by_muon(weight_dimension_numbers=numbers, **options), scale_by_shape(numbers))
    state = optimizer.init(jnp.zeros(shape))
    for n in range(steps):
        update, state = optimizer.update(wave(shape, 0.9 + 0.1 * n, 0.3), state)
    lines.append(f"{name} f32 {len(shape)} {' '.join(map(str, shape))} : {' '.join(f'{float(v):.9g}' for v in np.ravel(update))}")


matrices("muon_heads", (3, 2, 4), ((0,), (1, 2)))
matrices("muon_experts", (2, 5, 3), (1, -1), preconditioning="aol", adaptive=True)
matrices("muon_last", (2, 3, 2, 4), ((-1, 1), (2,)), preconditioning="schatten", nesterov=False)
row("rmsprop_plain", optax.rmsprop(0.02, decay=0.8, eps=1e-3, initial_scale=0.5, eps_in_sqrt=False))
row("rmsprop_centered", optax.rmsprop(0.02, decay=0.8, eps=1e-3, centered=True, momentum=0.5, nesterov=True))
row("rmsprop_corrected", optax.rmsprop(0.02, bias_correction=True, eps_in_sqrt=False, momentum=0.8))
row("rmsprop_all", optax.rmsprop(0.02, eps=1e-2, centered=True, bias_correction=True))
row("adadelta", optax.adadelta(1.0))
row("adadelta_options", optax.adadelta(0.5, rho=0.8, eps=1e-3, weight_decay=0.1))
row("adan", optax.adan(0.02))
row("adan_options", optax.adan(0.02, b1=0.9, b2=0.8, b3=0.95, eps=1e-4, eps_root=1e-3, weight_decay=0.1))
row("ademamix", contrib.ademamix(0.01))
row("ademamix_options", contrib.ademamix(0.01, b1=0.8, b2=0.9, b3=optax.linear_schedule(0.9, 0.99, 20), alpha=optax.linear_schedule(0.0, 3.0, 20), eps=1e-3, eps_root=1e-4, weight_decay=0.1))
row("simplified_ademamix", contrib.simplified_ademamix(0.001))
row("simplified_ademamix_options", contrib.simplified_ademamix(0.002, b1=0.9, b2=0.9, alpha=2.0, eps=1e-3, weight_decay=0.1))
row("adopt", contrib.adopt(0.05))
row("adopt_options", contrib.adopt(0.02, b1=0.8, b2=0.99, eps=1e-2, nesterov=True, use_clipping=False))
row("acprop", contrib.acprop(0.02))
row("acprop_options", contrib.acprop(0.02, b1=0.8, b2=0.9, eps=1e-3, eps_root=1e-4, weight_decay=0.1))
row("madgrad", contrib.madgrad(0.05))
row("madgrad_options", contrib.madgrad(0.02, momentum=0.5, weight_decay=0.1, eps=1e-3))
row("adafactor", optax.adafactor(0.05))
row("adafactor_factored", optax.adafactor(0.05, min_dim_size_to_factor=3, momentum=0.8, weight_decay_rate=0.01))
row("adafactor_options", optax.adafactor(0.02, decay_rate=0.7, decay_offset=-2, multiply_by_parameter_scale=False, clipping_threshold=None, eps=1e-6, factored=False))
row("adafactor_schedule", optax.adafactor(optax.linear_schedule(0.1, 0.01, 30), min_dim_size_to_factor=2, clipping_threshold=0.5))
row("rprop", optax.rprop(0.02))
row("rprop_options", optax.rprop(0.05, eta_minus=0.7, eta_plus=1.1, min_step_size=1e-3, max_step_size=0.2))
row("sm3", optax.sm3(0.1), wide=True)
row("sm3_options", optax.sm3(0.3, momentum=0.5), wide=True)
row("scale_by_sm3", optax.chain(optax.scale_by_sm3(0.8, 0.9, 1e-3), optax.scale(-0.05)), wide=True)
row("novograd", optax.novograd(0.05))
row("novograd_options", optax.novograd(0.02, b1=0.8, b2=0.5, eps=1e-3, eps_root=1e-2, weight_decay=0.1))
row("fromage", optax.fromage(0.02))
row("fromage_schedule", optax.fromage(optax.linear_schedule(0.1, 0.01, 30), min_norm=1.0))
row("optimistic_gradient_descent", optax.optimistic_gradient_descent(0.05))
row("optimistic_gradient_descent_options", optax.optimistic_gradient_descent(0.05, alpha=0.7, beta=0.3))
row("optimistic_adam", optax.optimistic_adam_v2(0.02))
row("optimistic_adam_options", optax.optimistic_adam_v2(0.02, alpha=0.8, beta=0.5, b1=0.8, b2=0.9, eps=1e-3, nesterov=False))
row("signum", optax.signum(0.02))
row("signum_options", optax.signum(0.01, beta=0.6))
row("lion", optax.lion(0.02))
row("lion_smooth", optax.chain(optax.scale_by_lion(0.8, 0.9, mode="smooth", smooth_beta=0.7), optax.scale(-0.05)))
row("lion_refined", optax.chain(optax.scale_by_lion(0.8, 0.9, mode="refined"), optax.scale(-0.05)))
row("amsgrad_plain", optax.amsgrad(0.02, bias_correction_mu=False, bias_correction_nu=False))
row("polyak_sgd", optax.polyak_sgd(), value)
row("polyak_sgd_options", optax.polyak_sgd(max_learning_rate=0.3, scaling=0.5, f_min=1.0, eps=0.1, variant="sps+"), value)
row("momo", contrib.momo(0.2), value)
row("momo_options", contrib.momo(0.3, beta=0.8, lower_bound=-1.0, weight_decay=0.05, adapt_lower_bound=True), value)
row("momo_adam", contrib.momo_adam(0.05), value)
row("momo_adam_options", contrib.momo_adam(0.1, b1=0.8, b2=0.9, eps=1e-3, weight_decay=0.05, adapt_lower_bound=True), value)
row("prodigy", contrib.prodigy())
row("prodigy_options", contrib.prodigy(0.5, betas=(0.8, 0.9), beta3=0.9, eps=1e-4, estim_lr0=1e-2, estim_lr_coef=2.0, weight_decay=0.05, safeguard_warmup=True))
row("dadapt_adamw", contrib.dadapt_adamw())
row("dadapt_adamw_options", contrib.dadapt_adamw(0.5, betas=(0.8, 0.9), eps=1e-3, estim_lr0=1e-2, weight_decay=0.05))
row("dog", contrib.dog())
row("dog_options", contrib.dog(0.5, init_step=("distance", 0.1), eps=1e-3, weight_decay=0.05))
row("dog_rate", contrib.dog(init_step=("learning_rate", 0.01)))
row("dowg", contrib.dowg())
row("dowg_options", contrib.dowg(0.5, init_estim_sq_dist=0.1, eps=1e-2, weight_decay=0.05))
row("distance_over_gradients", optax.chain(optax.scale_by_distance_over_gradients(1e-2), optax.scale(-1.0)))
row("distance_over_gradients_options", optax.chain(optax.scale_by_distance_over_gradients(1e-1, eps=1e-3, global_scale=0.5), optax.scale(-1.0)))
row("cocob", contrib.cocob())
row("cocob_options", contrib.cocob(0.5, alpha=10.0, eps=1e-3, weight_decay=0.05))
row("mechanize", contrib.mechanize(optax.sgd(1.0)))
row("mechanize_options", contrib.mechanize(optax.adam(0.1), weight_decay=0.1, eps=1e-4, s_init=1e-2, num_betas=4))
row("schedule_free_sgd", contrib.schedule_free_sgd(0.1))
row("schedule_free_sgd_options", contrib.schedule_free_sgd(0.2, warmup_steps=10, b1=0.8, weight_decay=0.05, weight_lr_power=1.0))
row("schedule_free_adamw", contrib.schedule_free_adamw(0.05))
row("schedule_free_adamw_options", contrib.schedule_free_adamw(0.1, warmup_steps=10, b1=0.8, b2=0.9, eps=1e-3, weight_decay=0.05))
row("lookahead", optax.lookahead(optax.sgd(0.1), 3, 0.5), both=True)
row("lookahead_reset", optax.lookahead(optax.adam(0.1), 5, 0.8, reset_state=True), both=True)
row("sam", contrib.sam(optax.sgd(0.1), optax.chain(contrib.normalize(), optax.sgd(0.05))))
row("sam_options", contrib.sam(optax.adam(0.05), optax.adam(0.02), sync_period=3, reset_state=False))
opaque = lambda p, f: {"grad_fn": lambda q, i: gradient(q, f)}
row("sam_opaque", contrib.sam(optax.adam(0.05), optax.chain(contrib.normalize(), optax.sgd(0.05)), sync_period=3, opaque_mode=True), opaque)
objective = lambda p, f: {"obj_fn": lambda q: loss(q, f)}
row("sophia", contrib.sophia(0.02), objective)
row("sophia_options", contrib.sophia(0.05, b1=0.8, b2=0.9, eps=1e-3, weight_decay=0.05, gamma=0.5, clip_threshold=None, update_interval=3), objective)
# singular vectors of a gradient that is almost 0 are noise
row("galore", contrib.galore(0.05, rank=2, update_proj_gap=4), kept=KEPT[:4])
row("galore_options", contrib.galore(0.05, rank=1, update_proj_gap=7, scale=0.5, weight_decay=0.05), kept=KEPT[:4])
row("noisy_sgd", optax.noisy_sgd(0.05, key=0))
row("noisy_sgd_options", optax.noisy_sgd(0.05, eta=0.1, gamma=0.3, key=7))
row("ema", optax.chain(optax.ema(0.8), optax.sgd(0.1)))
row("ema_plain", optax.chain(optax.ema(0.5, debias=False), optax.sgd(0.1)))
row("apply_every", optax.chain(optax.sgd(0.03), optax.apply_every(3)))
row("conditionally_transform", optax.chain(optax.conditionally_transform(optax.adam(0.1), lambda step: step % 3 != 1), optax.scale(0.1)))
row("conditionally_mask", optax.conditionally_mask(optax.adam(0.1), lambda step: step % 3 != 1))
row("flatten", optax.flatten(optax.chain(optax.clip_by_block_rms(0.5), optax.adam(0.1))))
row("clip_by_block_rms", optax.chain(optax.clip_by_block_rms(0.5), optax.sgd(0.1)))
row("adaptive_grad_clip", optax.chain(optax.adaptive_grad_clip(0.2, eps=0.1), optax.sgd(0.1)))
row("param_block_norm", optax.chain(optax.scale_by_param_block_norm(0.1), optax.sgd(0.02)))
row("param_block_rms", optax.chain(optax.scale_by_param_block_rms(0.5), optax.sgd(0.05)))
row("centralize", optax.chain(optax.centralize(), optax.sgd(0.1)))
row("normalize", optax.chain(contrib.normalize(), optax.sgd(0.1)))
row("normalize_by_update_norm", optax.chain(optax.normalize_by_update_norm(2.0, 0.1), optax.sgd(0.1)))
row("keep_params_nonnegative", optax.chain(optax.sgd(0.1), optax.keep_params_nonnegative()))
row("multi_steps_schedule", optax.MultiSteps(optax.adam(0.1), lambda step: 1 + step % 3).gradient_transformation())
row("multi_steps_sum", optax.MultiSteps(optax.sgd(0.03), 2, use_grad_mean=False).gradient_transformation())
row("multi_steps_skip", optax.MultiSteps(optax.adam(0.1), 2, should_skip_update_fn=lambda u, s, p: optax.skip_large_updates(u, s, p, 20.0)).gradient_transformation())
# Numbers that do not change stay Python's, of which 1 - b2 has all digits
row("inject", optax.inject_hyperparams(optax.adamw, static_args=("b2", "eps", "eps_root"))(optax.linear_schedule(0.1, 0.02, 20), b1=optax.linear_schedule(0.5, 0.9, 20), weight_decay=optax.linear_schedule(0.2, 0.0, 10)))
row("inject_sgd", optax.inject_hyperparams(optax.sgd)(0.05, momentum=optax.linear_schedule(0.9, 0.5, 20), nesterov=True))
# Optax rounds b1 mu to 16 bits, too
row("mu_dtype", optax.adamw(0.05, mu_dtype=jnp.bfloat16), kept=KEPT[:4])
row("lion_mu_dtype", optax.chain(optax.scale_by_lion(mu_dtype=jnp.bfloat16, mode="smooth"), optax.scale(-0.05)), kept=KEPT[:4])


def plain_row(name, step, kept=KEPT):
    """An optimiser of make_optim_plain.py."""
    params, found = [np.asarray(p, np.float64) for p in start], []
    for n in range(kept[-1]):
        factor = float(np.float32(1 + np.sin(n) / 2))
        slopes = [np.asarray(w, np.float64) * (p - np.asarray(t, np.float64)) * factor for w, p, t in zip(weight, params, target)]
        params = [p + u for p, u in zip(params, step(slopes, params))]
        if n + 1 in kept:
            found.append(np.concatenate([np.ravel(p) for p in params]))
    values = " ".join(f"{float(v):.9g}" for v in np.concatenate(found))
    lines.append(f"{name} f32 2 {len(kept)} 16 : {values}")


for plain_name, plain_step in OPTIMISERS.items():
    # where the gradient is almost 0, its sign and its difference to the last one are rounding
    plain_row(plain_name, plain_step, KEPT[:4] if plain_name.startswith(("cautious", "mars")) else KEPT)


def narrow_row(name, *transforms, steps=10):
    """Parameters of bf16 after step 10. States are f32, and each transform rounds its updates to bf16."""
    round16 = lambda ps: [p.astype(jnp.bfloat16) for p in ps]
    widen = lambda ps: [p.astype(jnp.float32) for p in ps]
    params, states = round16(start), [t.init(start) for t in transforms]
    for n in range(steps):
        wide = widen(params)
        updates = round16(gradient(wide, jnp.float32(1 + np.sin(n) / 2)))
        for i, t in enumerate(transforms):
            updates, states[i] = t.update(widen(updates), states[i], wide)
            updates = round16(updates)
        params = [(p + u.astype(jnp.float32)).astype(jnp.bfloat16) for p, u in zip(wide, updates)]
    values = " ".join(f"{float(v):.9g}" for v in np.concatenate([np.ravel(p) for p in params]))
    lines.append(f"bf16_{name} f32 1 16 : {values}")


rate, decay = optax.scale_by_learning_rate, optax.add_decayed_weights
narrow_row("sgd", optax.trace(0.9, nesterov=True), rate(0.05))
narrow_row("adam", optax.scale_by_adam(), rate(0.1))
narrow_row("adamw", optax.scale_by_adam(), decay(0.1), rate(0.05))
narrow_row("nadam", optax.scale_by_adam(b1=0.8, nesterov=True), rate(0.1))
narrow_row("amsgrad", optax.scale_by_amsgrad(), rate(0.05))
narrow_row("adamax", optax.scale_by_adamax(), rate(0.05))
narrow_row("adabelief", optax.scale_by_belief(), rate(0.05))
narrow_row("yogi", optax.scale_by_yogi(), rate(0.05))
narrow_row("radam", optax.scale_by_radam(), rate(0.05))
narrow_row("lamb", optax.scale_by_adam(eps=1e-6), decay(0.1), optax.scale_by_trust_ratio(), rate(0.05))
narrow_row("lion", optax.scale_by_lion(), decay(1e-3), rate(0.03))
narrow_row("rmsprop", optax.scale_by_rms(), rate(0.02), optax.trace(0.8))
narrow_row("adagrad", optax.scale_by_rss(), rate(0.3))
narrow_row("adan", optax.scale_by_adan(), rate(0.05))
narrow_row("ademamix", contrib.scale_by_ademamix(), rate(0.02))
narrow_row("novograd", optax.scale_by_novograd(), rate(0.05))
MATRIX = lambda ps: jax.tree.map(lambda p: contrib.MuonDimensionNumbers(), ps)
shaped_muon = optax.chain(contrib.scale_by_muon(weight_dimension_numbers=MATRIX), scale_by_shape(weight_dimension_numbers=MATRIX))
narrow_row("muon", optax.partition({True: shaped_muon, False: optax.scale_by_adam(nesterov=True)}, [True, False, False]), rate(0.05))


def aggregated(name, optimizer, steps=4, moments=False):
    """Updates of a matrix [2, 3] from gradients of 5 examples, and the mean and variance of gradients after the last step."""
    state, found = optimizer.init(jnp.zeros((2, 3))), []
    for n in range(steps):
        update, state = optimizer.update(wave((5, 2, 3), 0.9 + 0.1 * n, 0.3), state, jnp.zeros((2, 3)))
        found.append(np.ravel(update))
    found += [np.ravel(x) for x in aggregating.get_unbiased_mean_and_variance_ema(state)] if moments else []
    values = np.concatenate(found)
    lines.append(f"{name} f32 2 {len(found)} 6 : {' '.join(f'{float(v):.9g}' for v in values)}")


aggregated("aggregated_mean", aggregating.process(optax.scale(2.0), aggregating.average_per_element_updates(0), optax.adam(0.1)))
aggregated("aggregated_calls", aggregating.process(optax.identity(), aggregating.average_incrementally_updates(0, 2), optax.adam(0.1)))
aggregated("aggregated_moments", aggregating.add_mean_variance_to_opt(optax.adam(0.1), 0.8, 0, 1), moments=True)
aggregated("aggregated_moments_calls", aggregating.add_mean_variance_to_opt(optax.adam(0.1), 0.7, 0, 2), moments=True)


def rosenbrock(x):
    return jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def losses(name, optimizer, steps=12):
    """The losses before each step from (-1, 1.5, 0.5)."""
    params = jnp.asarray([-1, 1.5, 0.5], jnp.float32)
    state, found = optimizer.init(params), []
    for _ in range(steps):
        value, grad = jax.value_and_grad(rosenbrock)(params)
        found.append(float(value))
        updates, state = optimizer.update(grad, state, params, value=value, grad=grad, value_fn=rosenbrock)
        params = optax.apply_updates(params, updates)
    lines.append(f"{name} f32 1 {steps} : {' '.join(f'{v:.9g}' for v in found)}")


losses("lbfgs_rosenbrock", optax.lbfgs())
losses("lbfgs_options", optax.lbfgs(memory_size=3, scale_init_precond=False))
losses("backtracking", optax.chain(optax.sgd(1.0), optax.scale_by_backtracking_linesearch(30)))
losses("backtracking_options", optax.chain(optax.sgd(1.0), optax.scale_by_backtracking_linesearch(20, slope_rtol=0.1, decrease_factor=0.5, increase_factor=3.0, max_learning_rate=0.5, store_grad=True)))
losses("zoom", optax.chain(optax.sgd(1.0), optax.scale_by_zoom_linesearch(20)))
losses("zoom_options", optax.chain(optax.sgd(1.0), optax.scale_by_zoom_linesearch(15, max_learning_rate=0.01, increase_factor=1.5, curv_rtol=0.5, initial_guess_strategy="one")))


def schedule(name, f, steps=40):
    lines.append(f"schedule_{name} f32 1 {steps} : {' '.join(f'{float(f(jnp.int32(n))):.9g}' for n in range(steps))}")


schedule("constant", optax.constant_schedule(0.3))
schedule("linear", optax.linear_schedule(1.0, 0.1, 25))
schedule("polynomial", optax.polynomial_schedule(25.0, 10.0, 2, 20, 6))
schedule("polynomial_half", optax.polynomial_schedule(1.0, 3.0, 0.5, 30))
schedule("cosine", optax.cosine_decay_schedule(2.0, 30, 0.1, 1.5))
schedule("exponential", optax.exponential_decay(2.0, 7, 0.6, 5))
schedule("exponential_stairs", optax.exponential_decay(2.0, 7, 0.6, 3, staircase=True, end_value=0.5))
schedule("exponential_grows", optax.exponential_decay(0.5, 7, 1.5, staircase=True, end_value=2.0))
schedule("piecewise_constant", optax.piecewise_constant_schedule(2.0, {5: 0.5, 11: 3.0, 20: 0.0}))
schedule("piecewise_linear", optax.piecewise_interpolate_schedule("linear", 2.0, {5: 0.5, 11: 3.0, 30: 0.25}))
schedule("piecewise_cosine", optax.piecewise_interpolate_schedule("cosine", 2.0, {5: 0.5, 11: 3.0, 30: 0.25}))
schedule("linear_onecycle", optax.linear_onecycle_schedule(35, 2.0, 0.25, 0.8, 10.0, 100.0))
schedule("cosine_onecycle", optax.cosine_onecycle_schedule(35, 2.0, 0.4, 10.0, 100.0))
schedule("warmup_constant", optax.warmup_constant_schedule(0.1, 1.0, 9))
schedule("warmup_cosine", optax.warmup_cosine_decay_schedule(0.2, 1.2, 8, 33, 0.1, 2.0))
schedule("warmup_exponential", optax.warmup_exponential_decay_schedule(0.1, 1.0, 6, 5, 0.7, 4))
schedule("warmup_exponential_stairs", optax.warmup_exponential_decay_schedule(0.1, 1.0, 6, 5, 0.7, 2, True, 0.3))
schedule("sgdr", optax.sgdr_schedule([dict(init_value=0.1, peak_value=1.0, decay_steps=10, warmup_steps=2, end_value=0.2),
                                      dict(init_value=0.2, peak_value=0.7, decay_steps=15, warmup_steps=5),
                                      dict(init_value=0.0, peak_value=0.5, decay_steps=12, warmup_steps=0, exponent=2.0)]))
schedule("joined", optax.join_schedules([optax.constant_schedule(0.5), optax.linear_schedule(1.0, 0.0, 10), optax.cosine_decay_schedule(0.3, 9)], [7, 20]))
OUT.write_text("\n".join(lines) + "\n")
