"""bench/peers/gpu_ops.py: the cases of bench/backend/cuda/gpu_ops.cpp in PyTorch, as torch.compile makes them.

    python gpu_ops.py

One JSON line a case: the least time that the GPU works on a call, by its events, among twenty calls.
"""
# SPDX-License-Identifier: Apache-2.0
import json
import sys

import torch
import torch.nn.functional as F

BF16, F32 = torch.bfloat16, torch.float32


def random(shape, dtype=BF16, grad=False):
    return torch.randn(shape, device="cuda", dtype=F32).to(dtype).requires_grad_(grad)


def seconds_of(f):
    flush = torch.empty(256 << 20, dtype=torch.uint8, device="cuda")
    for _ in range(3):
        f()
    least = 1e9
    for _ in range(20):
        flush.zero_()  # so that the operands come from memory and the queue is never empty
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        f()
        end.record()
        torch.cuda.synchronize()
        least = min(least, begin.elapsed_time(end) * 1e-3)
    return least


def measure(name, work, unit, f):
    print(json.dumps(dict(suite="cuda_ops", case=name, impl="torch", value=round(work / seconds_of(f) / 1e12, 2),
                          unit=unit)), flush=True)


def backward_of(f, *operands):
    """The gradient alone: the forward pass is done before."""
    result = f(*operands)
    ct = torch.randn_like(result)
    return lambda: torch.autograd.grad(result, operands, ct, retain_graph=True)


def loops():
    for dtype, name in ((BF16, "bf16"), (F32, "f32")):
        x, y, b = random((8192, 8192), dtype), random((8192, 8192), dtype), random((8192,), dtype)
        one = x.numel() * x.element_size()
        copy = torch.compile(lambda x: -x)
        chain = torch.compile(lambda x, b, y: F.gelu(x + b, approximate="tanh") * y)
        measure(f"copy {name}", 2 * one, "TB/s", lambda: copy(x))
        measure(f"gelu(x + bias) * y {name}", 3 * one, "TB/s", lambda: chain(x, b, y))


def rows():
    x, scale, offset = random((8192, 4096), grad=True), random((4096,), grad=True), random((4096,), grad=True)
    one = x.numel() * x.element_size()
    layer_norm = torch.compile(lambda x, s, b: F.layer_norm(x, (4096,), s, b))
    rms_norm = torch.compile(lambda x, s: F.rms_norm(x, (4096,), s))
    softmax = torch.compile(lambda x: torch.softmax(x, -1))
    with torch.no_grad():
        measure("layer_norm", 2 * one, "TB/s", lambda: layer_norm(x, scale, offset))
        measure("rms_norm", 2 * one, "TB/s", lambda: rms_norm(x, scale))
        measure("softmax", 2 * one, "TB/s", lambda: softmax(x))
    measure("layer_norm backward", 3 * one, "TB/s", backward_of(layer_norm, x, scale, offset))
    measure("rms_norm backward", 3 * one, "TB/s", backward_of(rms_norm, x, scale))
    logits = random((8192, 50304))
    labels = torch.full((8192,), 17, device="cuda")
    loss = torch.compile(lambda x, y: F.cross_entropy(x, y, reduction="none"))
    measure("cross entropy", logits.numel() * 2, "TB/s", lambda: loss(logits, labels))


def products():
    for m, k, n in ((8192, 8192, 8192), (32768, 768, 3072), (32768, 3072, 768)):
        a, b = random((m, k)), random((k, n))
        measure(f"product bf16 {m} {k} {n}", 2 * m * k * n, "TFLOP/s", lambda: a @ b)


def attention():
    """Both orders of the axes in memory: [B, T, N, H], as projections of tokens give them, and [B, N, T, H]."""
    flops = 4 * 32 * 12 * 1024 * 1024 * 64 / 2
    for name, shape, axes in (("attention", (32, 1024, 12, 64), (0, 2, 1, 3)),
                              ("attention of heads apart", (32, 12, 1024, 64), (0, 1, 2, 3))):
        q, k, v = (random(shape, grad=True) for _ in range(3))
        ct = torch.randn_like(q)

        def attend():
            out = F.scaled_dot_product_attention(*(x.permute(axes) for x in (q, k, v)), is_causal=True)
            return out.permute(axes)

        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.CUDNN_ATTENTION):
            with torch.no_grad():
                measure(name, flops, "TFLOP/s", attend)
            measure(f"{name} forward and backward", 3.5 * flops, "TFLOP/s",
                    lambda: torch.autograd.grad(attend(), (q, k, v), ct))
        torch.use_deterministic_algorithms(True)  # PyTorch has no gradients by cuDNN then
        measure(f"{name} forward and backward, the same bits in each run", 3.5 * flops, "TFLOP/s",
                lambda: torch.autograd.grad(attend(), (q, k, v), ct))
        torch.use_deterministic_algorithms(False)


def main():
    if not torch.cuda.is_available():
        return print("torch finds no GPU: left out", file=sys.stderr)
    loops(), rows(), products(), attention()


if __name__ == "__main__":
    main()
