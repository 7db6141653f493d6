"""bench/peers/gpt2.py: tokens per second of a GPT-2 training step in PyTorch and JAX, on a GPU.

    python gpt2.py [--impl torch torch.compile jax] [--windows 32] [--steps 20]

One JSON line an implementation, for the same step as bench/backend/cuda/gpt2.cpp in bfloat16. An implementation that is not
installed, or that finds no GPU, is named on stderr and left out.
"""
# SPDX-License-Identifier: Apache-2.0
import argparse
import dataclasses
import importlib.util
import json
import sys

import support
import train

GPT2 = train.Case("GPT-2 124M", 12, 768, 12, 50304, 32, 1024)


def step_of(impl, case):
    """The training step; None if the implementation finds no GPU."""
    if impl == "jax":
        import jax

        return train.jax_step(case, bf16=True, attention="cudnn") if jax.default_backend() == "gpu" else None
    import torch

    if not torch.cuda.is_available():
        return None
    torch.set_float32_matmul_precision("high")
    return train.torch_step(case, 1, impl == "torch.compile", True, "cuda")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--impl", nargs="+", choices=support.IMPLEMENTATIONS, default=support.IMPLEMENTATIONS)
    parser.add_argument("--windows", type=int, default=GPT2.batch)
    parser.add_argument("--steps", type=int, default=20)
    options = parser.parse_args()
    case = dataclasses.replace(GPT2, batch=options.windows)
    name = f"{case.name} B{case.batch} T{case.context} bf16, a step at a time"
    for impl in options.impl:
        package = impl.split(".")[0]
        if importlib.util.find_spec(package) is None:
            print(f"{package} is not installed: left out", file=sys.stderr)
            continue
        step = step_of(impl, case)
        if step is None:
            print(f"{impl} finds no GPU: left out", file=sys.stderr)
            continue
        seconds, first = train.median_seconds(step, options.steps)
        print(json.dumps(dict(suite="cuda_train", case=name, impl=impl,
                              value=round(case.batch * case.context / seconds, 1), unit="tokens/s",
                              step_ms=round(seconds * 1e3, 2), first_step_s=round(first, 2))), flush=True)


if __name__ == "__main__":
    main()
