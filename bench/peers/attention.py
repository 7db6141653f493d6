"""bench/peers/attention.py: GFLOP/s of PyTorch's scaled_dot_product_attention on the CPU, forward and with its gradient.

    python attention.py [--dtype f32 bf16] [--threads 2] [--steps 3]

The cases of bench/backend/cpu/attention.cpp, on tensors of float32 and bfloat16; one JSON line each: the median of `steps`
runs, and of 15 where they are short.
"""
# SPDX-License-Identifier: Apache-2.0
import argparse
import itertools
import json
import statistics
import sys
import time

CASES = [(True, 8, 128, 6, 6, 64), (True, 4, 64, 12, 12, 64), (True, 1, 2048, 8, 2, 128)]
CASES += [(causal, 1, t, 4, 4, h) for causal in (True, False) for t in (512, 2048, 8192) for h in (64, 128)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dtype", nargs="+", choices=["f32", "bf16"], default=["f32", "bf16"])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=3)
    options = parser.parse_args()
    try:
        import torch
        from torch.nn.functional import scaled_dot_product_attention
    except ImportError:
        print("torch is not installed: left out", file=sys.stderr)
        return
    torch.set_num_threads(options.threads)

    for dtype, (causal, b, t, n, k_heads, h) in itertools.product(options.dtype, CASES):
        kind = dict(dtype=dict(f32=torch.float32, bf16=torch.bfloat16)[dtype])
        q, k, v = (torch.randn(b, heads, t, h, requires_grad=True, **kind) for heads in (n, k_heads, k_heads))
        cotangent = torch.randn(b, n, t, h, **kind)

        def attend():
            return scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=n != k_heads)

        def forward():
            with torch.no_grad():
                attend()

        def both():
            q.grad = k.grad = v.grad = None
            attend().backward(cotangent)

        unit = b * n * t * t * h * (0.5e-9 if causal else 1e-9)
        name = f"{dtype} {'causal' if causal else 'full'} B{b} T{t} N{n} K{k_heads} H{h}"
        for title, work, count in ((name, forward, 4), (name + " with gradient", both, 14)):
            seconds = []
            for _ in range(max(options.steps, 15 if t < 8192 else 0) + 2):
                start = time.perf_counter()
                work()
                seconds.append(time.perf_counter() - start)
            print(json.dumps(dict(suite="attention", case=title, impl="torch", unit="GFLOP/s", threads=options.threads,
                                  value=round(count * unit / statistics.median(seconds[2:]), 2))), flush=True)


if __name__ == "__main__":
    main()
