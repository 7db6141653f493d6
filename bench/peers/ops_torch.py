"""bench/peers/ops_torch.py: the cases of bench/cases/ops.txt in PyTorch, in as many ways as it has."""
# SPDX-License-Identifier: Apache-2.0
import sys

import ops_data

# A case is (shapes, layouts, functions): layout i turns operand i into the layout that PyTorch likes, once, before any run.


def attention(w, compiles):
    import torch
    from torch.nn import functional as F

    b, t, s, n, k, h = (w[name] for name in "BTSNKH")
    shapes, heads_first = [(b, t, n, h), (b, s, k, h), (b, s, k, h)], [lambda x: x.transpose(1, 2)] * 3

    def attend(q, key, value, **more):
        return F.scaled_dot_product_attention(q, key, value, enable_gqa=n != k, **more)

    if w.op == "flex_attention":
        from torch.nn.attention.flex_attention import flex_attention

        flex = torch.compile(flex_attention)
        distance = -0.1 * (torch.arange(t)[:, None] - torch.arange(s)).abs()
        return shapes, heads_first, [
            lambda q, key, value: attend(q, key, value, attn_mask=distance.to(q.dtype)),
            lambda q, key, value: flex(q, key, value, score_mod=lambda x, batch, head, i, j: x - 0.1 * (i - j).abs())]
    if w["bias"]:
        return (shapes + [(1, n, t, s)], heads_first + [lambda x: x],
                [lambda q, key, value, bias: attend(q, key, value, attn_mask=bias)])
    if w["window"]:
        distance = torch.arange(t)[:, None] - torch.arange(s)
        seen = (distance >= 0) & (distance <= w["window"])
        ways = [lambda q, key, value: attend(q, key, value, attn_mask=seen)]
        if not w["grad"]:  # flex_attention has no gradient on the CPU
            from torch.nn.attention.flex_attention import create_block_mask, flex_attention

            blocks = create_block_mask(lambda batch, head, i, j: (i >= j) & (i - j <= w["window"]), None, None, t, s,
                                       device="cpu")
            flex = torch.compile(flex_attention)
            ways.append(lambda q, key, value: flex(q, key, value, block_mask=blocks))
        return shapes, heads_first, ways
    if w["lengths"]:
        lengths = s - torch.from_numpy(ops_data.numbers_below(s // 2, b))
        seen = (torch.arange(s) < lengths[:, None])[:, None, None, :]
        return shapes, heads_first, [lambda q, key, value: attend(q, key, value, attn_mask=seen)]
    return shapes, heads_first, [lambda q, key, value: attend(q, key, value, is_causal=bool(w["causal"]))]


def grouped(w):
    import torch
    from torch.nn import functional as F

    sizes = w.group_sizes()
    offsets = torch.tensor(sizes).cumsum(0).to(torch.int32)

    def loop(x, weights):
        return torch.cat([part @ weights[i] for i, part in enumerate(x.split(sizes)) if sizes[i]])

    ways = [loop]
    mm = getattr(F, "grouped_mm", None) or getattr(torch, "_grouped_mm", None)
    if mm:
        ways.append(lambda x, weights: mm(x, weights, offs=offsets))
    return ways


def quantized(w):
    import torch

    q, scale = (torch.from_numpy(x) for x in ops_data.quantized(w["D"], w["V"]))
    packed = q.t().contiguous()

    def packed_product(x):
        return torch._weight_int8pack_mm(x, packed, scale[0].to(x.dtype))

    return [lambda x: (x @ q.to(x.dtype)) * scale.to(x.dtype), packed_product]


def triangle(w):
    import torch
    from torch.nn import functional as F

    c = w["D"]
    mask = torch.from_numpy(ops_data.pair_mask(w["T"]))[..., None]

    def f(x, into, gate_into, out, gate_out, *norms):
        rows = F.layer_norm(x, (c,), norms[0], norms[1], 1e-6)
        ab = torch.sigmoid(rows @ gate_into.flatten(1)) * (rows @ into.flatten(1)) * mask
        a, b = ab.split(c, -1)
        y = torch.einsum("ikc,jkc->ijc" if w["outgoing"] else "kjc,kic->ijc", a, b)
        return (F.layer_norm(y, (c,), norms[2], norms[3], 1e-6) @ out) * torch.sigmoid(rows @ gate_out)

    return f


def moved_rows(w):
    import torch

    m, d, g = w["M"], w["D"], w["G"]
    end = m - m // 8
    rows = torch.from_numpy(ops_data.numbers_below(w["V"] or m, m)).long()

    def gather(x):
        out = x.new_zeros(m, d)
        torch.index_select(x, 0, rows[:end], out=out[:end])
        return out

    def reduce(x, weights):
        return (x[rows].view(m // g, g, d) * weights.view(m // g, g, 1)).sum(1)

    def bag(x, weights):
        return torch.nn.functional.embedding_bag(rows.view(-1, g), x, mode="sum",
                                                 per_sample_weights=weights.view(-1, g))

    return dict(ragged_gather=[gather], ragged_gather_reduce=[reduce, bag],
                ragged_scatter=[lambda x: x.new_zeros(m, d).index_add_(0, rows[:end], x[:end])])[w.op]


def delta_rule(w):
    import torch

    t, n, k, h, c = w["T"], w["N"], w["K"], w["H"], 64
    lower = torch.ones(c, c).tril().bool()

    def chunks(x):  # [T, N, ...] -> [N, T / C, C, ...]
        x = x.repeat_interleave(n // x.shape[1], 1).float()
        return x.transpose(0, 1).unflatten(1, (t // c, c))

    def f(q, key, v, a, b):
        q, key, v = (chunks(x) for x in (q, key, v))
        q, key = (x * torch.rsqrt((x * x).sum(-1, keepdim=True) + 1e-6) for x in (q, key))
        total, beta = chunks(-a.float().abs()).cumsum(-1), chunks(torch.sigmoid(b.float()))[..., None]
        decay = torch.where(lower, (total[..., :, None] - total[..., None, :]).masked_fill(~lower, 0).exp(), 0)
        since = total.exp()[..., None]
        corrections = torch.linalg.solve_triangular((beta * decay * (key @ key.mT)).tril(-1),
                                                    torch.cat([beta * v, beta * since * key], -1), upper=False,
                                                    unitriangular=True)
        values, keys = corrections.split(h, -1)
        scores, queries = (q @ key.mT) * decay, q * since
        late = key * (total[..., -1:] - total).exp()[..., None]
        state, outs = v.new_zeros(n, h, h), []
        for i in range(t // c):
            u = values[:, i] - keys[:, i] @ state
            outs.append(queries[:, i] @ state + scores[:, i] @ u)
            state = state * since[:, i, -1:] + late[:, i].mT @ u
        return (torch.stack(outs, 1).flatten(1, 2).transpose(0, 1) * h**-0.5).to(a.dtype)

    return f


def functions(w, compiles):
    import torch
    from torch.nn import functional as F

    m, d, v, t, k = (w[name] for name in "MDVTK")
    labels = torch.from_numpy(ops_data.numbers_below(v, m)).long()
    same = [lambda x: x] * 9
    one = dict(
        layer_norm=lambda x, s, b: F.layer_norm(x, (d,), s, b, 1e-6),
        rms_norm=lambda x, s: F.rms_norm(x, (d,), s, 1e-6),
        softmax=lambda x: torch.softmax(x, -1),
        cross_entropy=lambda x: F.cross_entropy(x, labels),
        linear_cross_entropy=lambda x, weights: F.cross_entropy(x @ weights.t(), labels),
        gated_linear_unit=lambda x, gate, up: F.silu(x @ gate) * (x @ up),
        top_k=lambda x: torch.topk(x, k),
        causal_conv1d=lambda x, weights: F.silu(F.conv1d(x, weights, groups=d, padding=k - 1)[..., :t]),
    )
    if w["axis"] or "axis" in w:  # the first of three
        return [(m, d, v), (m,), (m,)], same, [
            lambda x, s, b: F.layer_norm(x.permute(1, 2, 0), (m,), s, b, 1e-6).permute(2, 0, 1)]
    shapes = dict(layer_norm=[(m, d), (d,), (d,)], rms_norm=[(m, d), (d,)], cross_entropy=[(m, v)],
                  linear_cross_entropy=[(m, d), (d, v)], gated_linear_unit=[(m, d), (d, v), (d, v)],
                  ragged_dot=[(m, d), (w["G"], d, v)], ragged_gather=[(v, d)], ragged_gather_reduce=[(m, d), (m,)],
                  causal_conv1d=[(t, d), (d, k)]).get(w.op, [(m, d)])
    layouts = dict(linear_cross_entropy=[lambda x: x, lambda x: x.t()],  # as in torch.nn.Linear
                   causal_conv1d=[lambda x: x.t()[None], lambda x: x[:, None]]).get(w.op, same)
    if w.op in one:
        return shapes, layouts, [one[w.op]] + [torch.compile(one[w.op])] * compiles
    if w.op == "ragged_dot":
        return shapes, same, grouped(w)
    if w.op == "quantized_matmul":
        return shapes, same, quantized(w)
    if w.op.startswith("ragged"):
        return shapes, same, moved_rows(w)
    if w.op == "triangle_multiplication":
        return [(t, t, d), (d, 2, d), (d, 2, d), (d, d), (d, d)] + [(d,)] * 4, same, [triangle(w)]
    if w.op == "gated_delta_rule":
        n, h = w["N"], w["H"]
        return [(t, k, h), (t, k, h), (t, n, h), (t, n), (t, n)], same, [delta_rule(w)]
    return attention(w, compiles)


def ways(w, options):
    """The ways that work, each with the mean of its results."""
    import torch

    torch.set_num_threads(options.threads)
    shapes, layouts, found = functions(w, options.compile)
    dtype = dict(f32=torch.float32, bf16=torch.bfloat16)[w.dtype]
    operands = [layout(torch.from_numpy(ops_data.uniform(s, i)).to(dtype)).contiguous().requires_grad_(bool(w["grad"]))
                for i, (s, layout) in enumerate(zip(shapes, layouts))]

    def run(f):
        if not w["grad"]:
            with torch.no_grad():
                y = f(*operands)
                return y if isinstance(y, tuple) else [y]
        for x in operands:
            x.grad = None
        y = f(*operands)
        y.backward(y.detach())
        return [y] + [x.grad for x in operands]

    works = []
    for f in found:
        try:
            mean = sum(y.detach().float().abs().mean().item() for y in run(f) if y.is_floating_point())
            works.append((lambda f=f: run(f), mean))
        except Exception as e:  # whatever this version has not
            print(f"torch: {w.op} {w.dtype}: one way left out: {str(e).splitlines()[:1]}", file=sys.stderr)
    return works
