"""bench/peers/gemm.py: GFLOP/s of PyTorch's matrix products on the CPU.

    python gemm.py [--threads 2] [--steps 7]

The cases of bench/backend/cpu/gemm.cpp in float32, bfloat16 and int8; one JSON line each: the median of `steps` rounds.
"""
# SPDX-License-Identifier: Apache-2.0
import argparse
import json
import statistics
import sys
import time

# m, n, k, is a transposed, is b
CASES = [(n, n, n, False, False) for n in (256, 512, 1024, 2048, 4096)]
CASES += [(256, 768, 768, False, False), (256, 3072, 768, False, False), (256, 768, 3072, False, False),
          (256, 50304, 768, False, True), (256, 768, 50304, False, False), (256, 768, 3072, False, True),
          (256, 3072, 768, False, True), (768, 3072, 256, True, False), (3072, 768, 256, True, False),
          (50304, 768, 256, True, False), (1, 768, 768, False, False), (1, 50304, 768, False, False),
          (1, 50304, 768, False, True), (4, 3072, 768, False, False), (4, 3072, 768, False, True),
          (16, 3072, 768, False, False), (16, 3072, 768, False, True)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=7)
    options = parser.parse_args()
    try:
        import torch
    except ImportError:
        print("torch is not installed: left out", file=sys.stderr)
        return
    torch.set_num_threads(options.threads)

    def matrix(rows, columns, transposed, dtype):
        shape = (columns, rows) if transposed else (rows, columns)
        x = torch.randint(-128, 128, shape).to(dtype) if dtype == torch.int8 else (2 * torch.rand(shape) - 1).to(dtype)
        return x.t() if transposed else x

    for m, n, k, a_transposed, b_transposed in CASES:
        for dtype, name in ((torch.float32, "f32"), (torch.bfloat16, "bf16"), (torch.int8, "int8")):
            a, b = matrix(m, k, a_transposed, dtype), matrix(k, n, b_transposed, dtype)
            c = torch.empty(m, n, dtype=torch.int32 if dtype == torch.int8 else dtype)
            multiply = torch._int_mm if dtype == torch.int8 else torch.mm
            gigaflops = 2e-9 * m * n * k
            repeats = int(min(max(0.2 / gigaflops, 1), 200))
            seconds = []
            for _ in range(options.steps + 2):
                start = time.perf_counter()
                for _ in range(repeats):
                    multiply(a, b, out=c)
                seconds.append((time.perf_counter() - start) / repeats)
            title = f"{name} [{m}, {k}]{'t' if a_transposed else ''} [{k}, {n}]{'t' if b_transposed else ''}"
            print(json.dumps(dict(suite="gemm", case=title, impl="torch", unit="GFLOP/s", threads=options.threads,
                                  value=round(gigaflops / statistics.median(seconds[2:]), 2))), flush=True)


if __name__ == "__main__":
    main()
