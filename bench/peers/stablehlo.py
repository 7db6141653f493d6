"""bench/peers/stablehlo.py: training steps that JAX exports, run by tokamax, beside JAX itself and the same models of ours.

    python stablehlo.py [--program build/bench/tokamax_bench_stablehlo] [--only mlp cnn block gpt] [--threads 2] [--turns 5]

JAX writes each step as bytecode. JAX, the exported program and our own program of that model are processes of their own, which
run one after the other: in each turn every one makes some steps, and the time of a step is the median of its turns. The
exported step starts from JAX's arguments, so its losses are compared. Then files with 100 MB of constants are read.
"""
# SPDX-License-Identifier: Apache-2.0
import argparse
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import support
from ops import ROOT, Runner

NAMES = {"mlp": "MLP 1024-1024-10 B64", "cnn": "CNN 28x28 B64", "block": "transformer block of width 256, B8 T64",
         "gpt": "GPT 6L384 B8 T128"}
IMPLS = {"jax": "jax", "exported": "tokamax, exported by JAX", "own": "tokamax"}


def update_of(name):
    import classifier
    import train

    if name in classifier.CASES:
        return classifier.jax_update(name)
    return train.jax_update(train.CASES["char"] if name == "gpt" else train.Case("block", 1, 256, 4, 256, 8, 64))


def serve():
    """Answers lines "RUNS jax NAME" as bench/stablehlo.cpp does."""
    last = None
    for line in sys.stdin:
        runs, _, name = line.split()
        if name != last:
            begin = time.perf_counter()
            update, (p, state, *rest) = update_of(name)
            p, state, loss = update(p, state, *rest)
            float(loss)
            first = time.perf_counter() - begin
            p, state, loss = update(p, state, *rest)
            last = name
        seconds = []
        for _ in range(int(runs)):
            begin = time.perf_counter()
            p, state, loss = update(p, state, *rest)
            value = float(loss)
            seconds.append(time.perf_counter() - begin)
        print(statistics.median(seconds), value, first, flush=True)


def export(name, folder):
    """Writes the step, whose arguments and results are flat, and its arguments. Returns the lines of its text."""
    import jax
    import jax.export
    import numpy as np

    update, arguments = update_of(name)
    flat, tree = jax.tree.flatten(arguments)
    rest = len(jax.tree.leaves(arguments[2:]))
    step = jax.jit(lambda *a: jax.tree.leaves(update(*jax.tree.unflatten(tree, a))), keep_unused=True,
                   donate_argnums=tuple(range(len(flat) - rest)))
    exported = jax.export.export(step)(*flat)
    (folder / f"{name}.bc").write_bytes(exported.mlir_module_serialized)
    for k, x in enumerate(flat):
        np.save(folder / f"{name}.in{k}.npy", np.asarray(x))
    return exported.mlir_module().count("\n")


def export_constant(folder):
    """Writes a program with a constant of 100 MB in both forms. Returns the bytes of the files."""
    import jax
    import jax.export
    import numpy as np

    weights = np.random.default_rng(0).random(25_000_000, np.float32)
    exported = jax.export.export(jax.jit(lambda x: x * weights))(weights)
    (folder / "constant.bc").write_bytes(exported.mlir_module_serialized)
    text = f'dense<"0x{weights.tobytes().hex().upper()}">'
    (folder / "constant.mlir").write_text(
        "func.func @main(%x: tensor<25000000xf32>) -> tensor<25000000xf32> {\n"
        f"  %c = stablehlo.constant {text} : tensor<25000000xf32>\n"
        "  %y = stablehlo.multiply %x, %c : tensor<25000000xf32>\n  return %y : tensor<25000000xf32>\n}\n")
    return weights.nbytes


def report(case, impl, value, unit):
    print(json.dumps(dict(suite="stablehlo", case=case, impl=impl, value=round(value, 3), unit=unit)), flush=True)


def measure(name, folder, ours, own, jax, turns):
    """Reports a step of each implementation. Returns how many times JAX's and our own program's time ours is."""
    lines = export(name, folder)
    runners = {"jax": (jax, f"jax {name}"), "exported": (ours, f"exported {folder / name}"), "own": (own, f"own {name}")}
    runs, seconds, losses, first = {}, {impl: [] for impl in runners}, {}, {}
    for impl, (runner, case) in runners.items():
        once = runner.seconds(1, case)
        losses[impl], first[impl] = runner.mean, runner.bytes
        runs[impl] = 1 if math.isnan(once) else max(1, min(30, int(0.3 / once)))
    for _ in range(turns):
        for impl, (runner, case) in runners.items():
            seconds[impl].append(runner.seconds(runs[impl], case))
    median = {impl: statistics.median(s) for impl, s in seconds.items()}
    for impl, value in median.items():
        report(NAMES[name], IMPLS[impl], value * 1e3, "ms")
    planning = {impl: first[impl] - median[impl] for impl in ("jax", "exported")}
    for impl, value in planning.items():
        report(f"{NAMES[name]}, {lines} lines, until the first step", IMPLS[impl], value, "s")
    same = abs(losses["jax"] - losses["exported"]) <= 1e-3 * abs(losses["jax"])
    print(f"{NAMES[name]}: JAX / exported {median['jax'] / median['exported']:.2f}, exported / own "
          f"{median['exported'] / median['own']:.2f}, reading and planning {planning['exported']:.2f} s"
          + ("" if same else f", other losses: {losses}"), file=sys.stderr, flush=True)
    return median["jax"] / median["exported"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default=ROOT / "build/bench/tokamax_bench_stablehlo")
    parser.add_argument("--only", nargs="*", choices=NAMES, default=list(NAMES))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    support.confine(options.threads)
    if options.serve:
        return serve()
    ours, own = (Runner(name, [options.program, "serve"]) for name in ("exported", "own"))
    jax = Runner("jax", [sys.executable, __file__, "--serve", "--threads", str(options.threads)])
    with tempfile.TemporaryDirectory() as path:
        folder = pathlib.Path(path)
        ratios = [measure(name, folder, ours, own, jax, options.turns) for name in options.only]
        if ratios:
            print(f"geometric mean of JAX / exported {statistics.geometric_mean(ratios):.2f}, least {min(ratios):.2f}",
                  file=sys.stderr)
        size = export_constant(folder)
        for form in ("bc", "mlir"):
            seconds = ours.seconds(3, f"read {folder / ('constant.' + form)}")
            report(f"100 MB of constants, .{form}", "tokamax", size / seconds * 1e-9, "GB/s")


if __name__ == "__main__":
    main()
