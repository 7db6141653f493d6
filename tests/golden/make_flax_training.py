"""tests/golden/make_flax_training.py: write flax/training.txt: losses of a ResNet-18 and of a language model of an LSTM, step by step.

    python make_flax_training.py        (pip install flax==0.12.8 optax==0.2.8)

Parameters are random normal numbers: those of kernel number n come from the key n, so that another library can start from the same.
"""
# SPDX-License-Identifier: Apache-2.0
import os
import pathlib
import warnings

warnings.filterwarnings("ignore")
os.environ["JAX_PLATFORMS"] = "cpu"

import flax
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

OUT = pathlib.Path(__file__).parent / "flax" / "training.txt"
lines = [f"# written by make_flax_training.py, flax {flax.__version__}, jax {jax.__version__}: the loss before each step"]


def normal(n, shape, scale):
    return nnx.Param(jax.random.normal(jax.random.key(n), shape) * jnp.float32(scale))


def conv(i, o, window, stride):
    return nnx.Conv(i, o, (window, window), stride, use_bias=False, rngs=nnx.Rngs(0))


class Block(nnx.Module):
    def __init__(self, i, o, stride):
        self.first, self.second = conv(i, o, 3, stride), conv(o, o, 3, 1)
        self.norm_1, self.norm_2 = nnx.BatchNorm(o, rngs=nnx.Rngs(0)), nnx.BatchNorm(o, rngs=nnx.Rngs(0))
        self.changes = i != o
        if self.changes:
            self.shortcut, self.norm_3 = conv(i, o, 1, stride), nnx.BatchNorm(o, rngs=nnx.Rngs(0))

    def __call__(self, x):
        y = self.norm_2(self.second(jax.nn.relu(self.norm_1(self.first(x)))))
        return jax.nn.relu(y + (self.norm_3(self.shortcut(x)) if self.changes else x))

    def convs(self):
        return [self.first, self.second] + ([self.shortcut] if self.changes else [])


class ResNet18(nnx.Module):
    def __init__(self, width, classes):
        self.stem, self.norm = conv(3, width, 3, 1), nnx.BatchNorm(width, rngs=nnx.Rngs(0))
        sizes = [(width << max(s - (b == 0), 0), width << s, 2 if s and not b else 1) for s in range(4) for b in range(2)]
        self.blocks = nnx.List([Block(*size) for size in sizes])
        self.head = nnx.Linear(8 * width, classes, rngs=nnx.Rngs(0))
        convs = [self.stem] + [c for block in self.blocks for c in block.convs()]
        for n, c in enumerate(convs):
            c.kernel = normal(n, c.kernel.shape, np.sqrt(2.0 / np.prod(c.kernel.shape[:-1])))
        self.head.kernel = normal(len(convs), self.head.kernel.shape, 0.1)

    def __call__(self, x):
        x = jax.nn.relu(self.norm(self.stem(x)))
        for block in self.blocks:
            x = block(x)
        return self.head(x.mean((1, 2)))


class Language(nnx.Module):
    def __init__(self, words, width, hidden):
        self.token = nnx.Embed(words, width, rngs=nnx.Rngs(0))
        self.layer = nnx.RNN(nnx.OptimizedLSTMCell(width, hidden, rngs=nnx.Rngs(0)))
        self.head = nnx.Linear(hidden, words, rngs=nnx.Rngs(0))
        self.token.embedding = normal(0, (words, width), 0.5)
        self.layer.cell.dense_i.kernel = normal(1, (width, 4 * hidden), 0.3)
        self.layer.cell.dense_h.kernel = normal(2, (hidden, 4 * hidden), 0.3)
        self.head.kernel = normal(3, (hidden, words), 0.3)

    def __call__(self, ids):
        return self.head(self.layer(self.token(ids)))


def train(name, model, optimizer, x, labels, steps):
    state = nnx.Optimizer(model, optimizer, wrt=nnx.Param)

    @nnx.jit
    def step(model, state):
        loss = lambda m: optax.softmax_cross_entropy_with_integer_labels(m(x), labels).mean()
        value, grads = nnx.value_and_grad(loss)(model)
        state.update(model, grads)
        return value

    values = [float(step(model, state)) for _ in range(steps)]
    lines.append(f"{name} f32 1 {steps} : {' '.join(f'{v:.9g}' for v in values)}")


images = jax.random.normal(jax.random.key(100), (32, 32, 32, 3))
train("resnet18", ResNet18(8, 10), optax.sgd(0.002, momentum=0.9), images, jnp.arange(32) % 10, 20)
ids = (jnp.arange(8 * 13).reshape(8, 13) ** 2 // 3) % 16
train("lstm", Language(16, 12, 24), optax.adam(0.01), ids[:, :-1], ids[:, 1:], 50)
OUT.write_text("\n".join(lines) + "\n")
