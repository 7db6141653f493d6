"""Optimisers that Optax has not, as their papers write them, in NumPy with 64 bits. `make_optim.py` adds their rows to optimisers.txt.

Each takes gradients and parameters [matrix, vector, number] and returns what is added to the parameters.
"""
import numpy as np


def adam_step(state, g, b1, b2, eps, t):
    state["m"] = b1 * state.get("m", 0) + (1 - b1) * g
    state["v"] = b2 * state.get("v", 0) + (1 - b2) * g * g
    return state["m"] / (1 - b1**t) / (np.sqrt(state["v"] / (1 - b2**t)) + eps)


class Cautious:
    """Liang et al. 2024, algorithm 1, on AdamW."""

    def __init__(self, rate, b1=0.9, b2=0.999, eps=1e-8, decay=1e-4):
        self.args, self.rate, self.decay, self.states, self.t = (b1, b2, eps), rate, decay, [{}, {}, {}], 0

    def __call__(self, gs, ps):
        self.t += 1
        out = []
        for s, g, p in zip(self.states, gs, ps):
            u = adam_step(s, g, *self.args, self.t)
            same = (u * g > 0).astype(np.float64)
            out.append(-self.rate * (u * same / max(same.mean(), 1e-3) + self.decay * p))
        return out


class Mars:
    """Yuan et al. 2024, algorithm 2 with the last gradient."""

    def __init__(self, rate, gamma=0.025, b1=0.95, b2=0.99, eps=1e-8, max_norm=1.0, decay=0.0):
        self.rate, self.gamma, self.b1, self.args, self.max_norm, self.decay = rate, gamma, b1, (b1, b2, eps), max_norm, decay
        self.states, self.last, self.t = [{}, {}, {}], None, 0

    def __call__(self, gs, ps):
        self.t += 1
        out = []
        for s, g, before, p in zip(self.states, gs, self.last or gs, ps):
            c = g + self.gamma * self.b1 / (1 - self.b1) * (g - before)
            norm = np.sqrt((c * c).sum())
            c = c / norm * self.max_norm if norm > self.max_norm else c
            out.append(-self.rate * (adam_step(s, c, *self.args, self.t) + self.decay * p))
        self.last = gs
        return out


class Shampoo:
    """Gupta, Koren, Singer 2018, algorithm 1, for matrices and vectors."""

    def __init__(self, rate, b2=1.0, eps=1e-6, interval=1, momentum=0.9, nesterov=False, decay=0.0):
        self.rate, self.b2, self.eps, self.interval, self.momentum, self.nesterov, self.decay = rate, b2, eps, interval, momentum, nesterov, decay
        self.sums, self.roots, self.velocity, self.t = [None] * 3, [None] * 3, [0] * 3, 0

    def power(self, m, exponent):
        values, vectors = np.linalg.eigh(m)
        return vectors * np.maximum(values, self.eps) ** exponent @ vectors.T

    def __call__(self, gs, ps):
        out = []
        weight = 1 if self.b2 == 1 else 1 - self.b2
        for i, (g, p) in enumerate(zip(gs, ps)):
            x = g if g.ndim == 2 else g.reshape(-1, 1)
            sides = [x @ x.T, x.T @ x] if g.ndim == 2 else [x @ x.T]
            self.sums[i] = [self.b2 * s + weight * n for s, n in zip(self.sums[i] or [self.eps * np.eye(len(n)) for n in sides], sides)]
            if self.t % self.interval == 0:
                self.roots[i] = [self.power(s, -1 / (2 * len(sides))) for s in self.sums[i]]
            u = self.roots[i][0] @ x
            u = u @ self.roots[i][1] if g.ndim == 2 else u
            u = u.reshape(g.shape) + self.decay * p
            self.velocity[i] = u + self.momentum * self.velocity[i]
            out.append(-self.rate * (u + self.momentum * self.velocity[i] if self.nesterov else self.velocity[i]))
        self.t += 1
        return out


class Soap:
    """Vyas et al. 2024, algorithm 3; the first step makes the eigenvectors alone."""

    def __init__(self, rate, b1=0.95, b2=0.95, shampoo_beta=0.95, eps=1e-8, frequency=10, decay=0.01):
        self.rate, self.b1, self.b2, self.beta, self.eps, self.frequency, self.decay = rate, b1, b2, shampoo_beta, eps, frequency, decay
        self.states, self.t = [{"m": 0, "v": 0, "sides": None} for _ in range(3)], 0

    def __call__(self, gs, ps):
        out = []
        for s, g, p in zip(self.states, gs, ps):
            turn = g.ndim == 2
            u = np.zeros_like(g)
            if self.t > 0:
                to = (lambda x: s["bases"][0].T @ x @ s["bases"][1]) if turn else (lambda x: x)
                back = (lambda x: s["bases"][0] @ x @ s["bases"][1].T) if turn else (lambda x: x)
                s["m"] = self.b1 * s["m"] + (1 - self.b1) * g
                s["v"] = self.b2 * s["v"] + (1 - self.b2) * to(g) ** 2
                u = back(to(s["m"] / (1 - self.b1**self.t)) / (np.sqrt(s["v"] / (1 - self.b2**self.t)) + self.eps))
            if turn:
                new = [g @ g.T, g.T @ g]
                s["sides"] = [self.beta * a + (1 - self.beta) * n for a, n in zip(s["sides"] or [0, 0], new)]
                if self.t == 0:
                    s["bases"] = [np.linalg.eigh(a)[1][:, ::-1] for a in s["sides"]]
                elif self.t % self.frequency == 0:
                    s["bases"] = [np.linalg.qr(a @ b)[0] for a, b in zip(s["sides"], s["bases"])]
            out.append(-self.rate * (u + self.decay * p))
        self.t += 1
        return out


OPTIMISERS = {
    "cautious": Cautious(0.05),
    "cautious_options": Cautious(0.02, b1=0.8, b2=0.9, eps=1e-3, decay=0.1),
    "mars": Mars(0.02),
    "mars_options": Mars(0.05, gamma=0.1, b1=0.8, b2=0.9, eps=1e-3, max_norm=0.5, decay=0.1),
    "shampoo": Shampoo(0.02, eps=1e-3),
    "shampoo_options": Shampoo(0.05, b2=0.9, eps=1e-3, interval=3, momentum=0.5, nesterov=True, decay=0.05),
    "soap": Soap(0.05),
    "soap_options": Soap(0.02, b1=0.8, b2=0.9, shampoo_beta=0.7, eps=1e-3, frequency=2, decay=0.1),
}
