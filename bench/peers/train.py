"""bench/peers/train.py: tokens per second of a GPT training step in PyTorch and JAX, on the CPU.

    python train.py [--case char gpt2] [--impl torch torch.compile jax] [--dtype f32 bf16] [--threads 2] [--steps 7]

One JSON line a case and implementation: the median of `steps` steps after two warm-up steps. A step is the forward
pass, the mean cross entropy, the backward pass and AdamW (rate 3e-4, weight decay 0.1) over tied embeddings, in float32
or, in PyTorch, under bfloat16 autocast. An implementation that is not installed is named on stderr and left out.
"""
# SPDX-License-Identifier: Apache-2.0
import argparse
import dataclasses
import functools
import itertools
import json
import statistics
import time

import support


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    layers: int
    width: int
    heads: int
    vocab: int
    batch: int
    context: int


CASES = {"char": Case("char GPT 6L384 B8 T128", 6, 384, 6, 256, 8, 128),
         "gpt2": Case("GPT-2 124M B4 T64", 12, 768, 12, 50304, 4, 64)}
RATE, DECAY, EPSILON = 3e-4, 0.1, 1e-5


def median_seconds(step, steps):
    """Seconds of one step and of the first, which for some includes compilation."""
    start = time.perf_counter()
    step()
    first = time.perf_counter() - start
    step()
    seconds = []
    for _ in range(steps):
        start = time.perf_counter()
        step()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds), first


def torch_step(case, threads, compiled, bf16, device="cpu"):
    import torch
    from torch import nn
    from torch.nn import functional

    torch.manual_seed(0)
    torch.set_num_threads(threads)
    b, t, d, h = case.batch, case.context, case.width, case.heads

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm_1, self.norm_2 = nn.LayerNorm(d), nn.LayerNorm(d)
            self.qkv, self.out = nn.Linear(d, 3 * d), nn.Linear(d, d)
            self.up, self.down = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)

        def forward(self, x):  # [B, T, C]
            q, k, v = (part.view(b, t, h, d // h).transpose(1, 2) for part in self.qkv(self.norm_1(x)).split(d, dim=2))
            mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)  # [B, H, T, C/H]
            x = x + self.out(mixed.transpose(1, 2).reshape(b, t, d))
            return x + self.down(functional.gelu(self.up(self.norm_2(x)), approximate="tanh"))

    class Gpt(nn.Module):
        def __init__(self):
            super().__init__()
            self.token, self.position = nn.Embedding(case.vocab, d), nn.Embedding(t, d)
            self.blocks = nn.ModuleList(Block() for _ in range(case.layers))
            self.norm = nn.LayerNorm(d)
            for table in (self.token, self.position):
                nn.init.normal_(table.weight, std=0.02)

        def forward(self, ids, targets):
            x = self.token(ids) + self.position.weight
            for block in self.blocks:
                x = block(x)
            logits = functional.linear(self.norm(x), self.token.weight)  # [B, T, V]
            return functional.cross_entropy(logits.view(-1, case.vocab), targets.view(-1))

    model = Gpt().to(device)
    run = torch.compile(model) if compiled else model
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=DECAY, fused=True)
    ids = torch.randint(0, case.vocab, (b, t), device=device)
    targets = torch.randint(0, case.vocab, (b, t), device=device)

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, torch.bfloat16, enabled=bf16):
            loss = run(ids, targets)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def jax_update(case, bf16=False, attention=None):
    """A step as a compiled function, and its arguments: the parameters, the state of AdamW, ids and targets."""
    import jax
    import jax.numpy as jnp
    import optax

    b, t, d, h, n = case.batch, case.context, case.width, case.heads, case.layers

    def init(key):
        keys = iter(jax.random.split(key, 6))
        normal = lambda *shape: 0.02 * jax.random.normal(next(keys), shape)
        block = dict(scale_1=jnp.ones((n, d)), offset_1=jnp.zeros((n, d)), scale_2=jnp.ones((n, d)),
                     offset_2=jnp.zeros((n, d)), qkv=normal(n, d, 3 * d), qkv_bias=jnp.zeros((n, 3 * d)),
                     out=normal(n, d, d), out_bias=jnp.zeros((n, d)), up=normal(n, d, 4 * d),
                     up_bias=jnp.zeros((n, 4 * d)), down=normal(n, 4 * d, d), down_bias=jnp.zeros((n, d)))
        return dict(token=normal(case.vocab, d), position=normal(t, d), blocks=block, scale=jnp.ones(d),
                    offset=jnp.zeros(d))

    def layer_norm(x, scale, offset):
        wide = x.astype(jnp.float32)
        centred = wide - wide.mean(-1, keepdims=True)
        return (centred * jax.lax.rsqrt((centred * centred).mean(-1, keepdims=True) + EPSILON) * scale + offset).astype(x.dtype)

    def loss(p, ids, targets):
        if bf16:
            p = jax.tree.map(lambda leaf: leaf.astype(jnp.bfloat16), p)
        x = p["token"][ids] + p["position"]  # [B, T, C]
        for layer in range(n):
            w = jax.tree.map(lambda leaf, layer=layer: leaf[layer], p["blocks"])
            qkv = layer_norm(x, w["scale_1"], w["offset_1"]) @ w["qkv"] + w["qkv_bias"]
            q, k, v = jnp.moveaxis(qkv.reshape(b, t, 3, h, d // h), 2, 0)  # [B, T, H, C/H]
            mixed = jax.nn.dot_product_attention(q, k, v, is_causal=True, implementation=attention).reshape(b, t, d)
            x = x + mixed @ w["out"] + w["out_bias"]
            hidden = jax.nn.gelu(layer_norm(x, w["scale_2"], w["offset_2"]) @ w["up"] + w["up_bias"])
            x = x + hidden @ w["down"] + w["down_bias"]
        logits = layer_norm(x, p["scale"], p["offset"]) @ p["token"].T  # [B, T, V]
        return optax.softmax_cross_entropy_with_integer_labels(logits.astype(jnp.float32), targets).mean()

    optimizer = optax.adamw(RATE, weight_decay=DECAY)

    @functools.partial(jax.jit, donate_argnums=(0, 1))
    def update(p, state, ids, targets):
        value, gradient = jax.value_and_grad(loss)(p, ids, targets)
        updates, state = optimizer.update(gradient, state, p)
        return optax.apply_updates(p, updates), state, value

    p = init(jax.random.key(0))
    ids, targets = jax.random.randint(jax.random.key(1), (2, b, t), 0, case.vocab)
    return update, (p, optimizer.init(p), ids, targets)


def jax_step(case, bf16=False, attention=None):
    update, (p, state, ids, targets) = jax_update(case, bf16, attention)

    def step():
        nonlocal p, state
        p, state, value = update(p, state, ids, targets)
        return float(value)

    return step


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--case", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--dtype", nargs="+", choices=["f32", "bf16"], default=["f32", "bf16"])
    support.add_options(parser)
    parser.add_argument("--steps", type=int, default=7)
    options = parser.parse_args()

    for impl in support.installed(options):
        for case, dtype in itertools.product((CASES[name] for name in options.case), options.dtype):
            bf16 = dtype == "bf16"
            if impl == "jax":
                if bf16:
                    continue
                step = jax_step(case)
            else:
                step = torch_step(case, options.threads, impl == "torch.compile", bf16)
            seconds, first = median_seconds(step, options.steps)
            print(json.dumps(dict(suite="train", case=case.name + (" bf16" if bf16 else ""), impl=impl,
                                  value=round(case.batch * case.context / seconds, 1), unit="tokens/s",
                                  step_ms=round(seconds * 1e3, 2), first_step_s=round(first, 2),
                                  threads=options.threads)), flush=True)


if __name__ == "__main__":
    main()
