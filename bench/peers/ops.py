"""bench/peers/ops.py: the cases of bench/cases/ops.txt, ours beside PyTorch and JAX, in turns.

    python ops.py [--program build/bench/tokamax_bench_ops] [--python OTHER_PYTHON ...] [--threads 2] [--turns 4]
                  [--only REGEX] [--compile] [--seconds 280] [--json FILE]

Ours, PyTorch and JAX are processes of their own, which run one after the other: in each turn every one computes a case
for about 0.06 seconds, and the time of a case is the least median of its turns. PyTorch and JAX may be installed for
different interpreters, `--python` names more of them; either may be missing. Of several ways to write a case in PyTorch
(a mask, flex_attention, grouped_mm, a loop of products; with `--compile` also torch.compile) its fastest counts.

All have the same data, so their results are compared too: a case is marked if the mean magnitudes of them differ by more
than 1 in 1000 in f32, or 3 in 100 in bf16. The table, with how many times faster we are than the best peer, is printed at
the end; one JSON line a case and implementation goes to stdout, or to the file of --json. Where time runs out, later cases
get fewer turns.
"""
# SPDX-License-Identifier: Apache-2.0
import argparse
import collections
import importlib
import json
import math
import pathlib
import re
import select
import statistics
import subprocess
import sys
import time

import support

ROOT = pathlib.Path(__file__).resolve().parents[2]
CASES = ROOT / "bench/cases/ops.txt"
LIMIT = 120  # seconds in which an implementation answers, compiling included


class Words(dict):
    """The words of a case: its op, its dtype, numbers, and options, which are 0 if they are not there."""

    def __init__(self, line):
        self.op, self.dtype, *rest = line.split()
        for word in rest:
            name, equals, value = word.partition("=")
            self[name] = int(value) if equals else 1
        self.setdefault("S", self.get("T", 0))

    def __missing__(self, name):
        return 0

    def group_sizes(self):
        """Group i has about i / (G (G + 1) / 2) of the rows; or all have the same number, or the first one has all."""
        m, g = self["M"], self["G"]
        sizes = [m * 2 * (i + 1) // (g * (g + 1)) for i in range(g - 1)]
        if self["even"]:
            sizes = [m // g] * (g - 1)
        if self["first"]:
            sizes = [m] + [0] * (g - 2)
        return sizes + [m - sum(sizes)]


def serve(package, make):
    """Answers lines "RUNS CASE" with the median of the seconds of the fastest way, and the mean of its results."""
    last, works, mean = None, [], math.nan

    def seconds_of(work):
        start = time.perf_counter()
        work()
        return time.perf_counter() - start

    for line in sys.stdin:
        runs, case = line.split(maxsplit=1)
        if case != last:
            last, works, found = case, [], []
            try:
                found = make(case.strip())
            except Exception as e:  # whatever a library refuses is a case without a figure
                print(f"{package}: {case.strip()}: left out: {str(e).splitlines()[:1]}", file=sys.stderr)
            if found:
                mean = found[0][1]
                once = [seconds_of(work) for work, _ in found]
                once = [s if s > 0.5 else min(s, seconds_of(work)) for s, (work, _) in zip(once, found)]
                works = [work for (work, _), s in zip(found, once) if s < 1.3 * min(once)]
        medians = [statistics.median(seconds_of(work) for _ in range(int(runs))) for work in works]
        print(min(medians, default="nan"), mean if works else "nan", 0, flush=True)


class Runner:
    """A process that answers cases."""

    def __init__(self, name, command):
        self.name, self.command, self.process, self.refused = name, command, None, set()

    def seconds(self, runs, case):
        """The median of the seconds of a run, or NaN; sets `mean` and `bytes`."""
        if self.process is None:
            self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.mean, self.bytes = math.nan, 0
        if case in self.refused:
            return math.nan
        try:
            self.process.stdin.write(f"{runs} {case}\n")
            self.process.stdin.flush()
            if not select.select([self.process.stdout], [], [], LIMIT)[0]:
                raise ValueError(f"no answer in {LIMIT} seconds")
            median, self.mean, self.bytes = (float(x) for x in self.process.stdout.readline().split())
            return median
        except (ValueError, BrokenPipeError) as e:  # it ended or takes too long; the next case gets a new process
            print(f"{self.name}: left out: {case}: {e}", file=sys.stderr)
            self.refused.add(case)
            self.process.kill()
            self.process = None
            return math.nan


def runners_of(script, packages, options):
    """Ours, and the script with each package in the first Python that has it."""
    found = {"tokamax": Runner("tokamax", [options.program, "serve"])}
    for python in [sys.executable] + options.python:
        for package in packages:
            test = f"import importlib.util, sys; sys.exit(importlib.util.find_spec('{package}') is None)"
            if package not in found and subprocess.run([python, "-c", test]).returncode == 0:
                found[package] = Runner(package, [python, script, "--serve", package, "--threads",
                                                  str(options.threads)] + ["--compile"] * options.compile)
    for package in sorted(set(packages) - set(found)):
        print(f"{package} is not installed: left out", file=sys.stderr)
    return list(found.values())


def read_cases(pattern):
    lines = [line for line in CASES.read_text().splitlines() if line and line[0] != "#"]
    named = [(line.split(" ", 1)[0], dtype, line.split(" ", 1)[1]) for dtype in ("f32", "bf16") for line in lines]
    return [c for c in map(" ".join, named) if re.search(pattern, c)]


def measure(case, runners, turns):
    """The least seconds of each implementation, and whether their results agree."""
    runs = []
    for r in runners:
        once = r.seconds(1, case)
        runs.append(0 if math.isnan(once) else max(1, min(50, int(0.06 / max(once, 1e-6)))))
    best = [math.inf if n else math.nan for n in runs]
    means = [r.mean for r in runners]
    for turn in range(turns):
        for i, r in enumerate(runners):
            if runs[i] and (turn == 0 or best[i] < 0.5):  # what takes long says enough in one turn
                best[i] = min(best[i], r.seconds(runs[i], case))
    known = [m for m in means if not math.isnan(m)]
    bound = 0.03 if " bf16" in case else 0.001
    return best, all(abs(m - known[0]) <= bound * abs(known[0]) for m in known)


def ratio_of(best):
    """How many times faster ours is than the best peer."""
    return min((s for s in best[1:] if not math.isnan(s)), default=math.nan) / best[0]


def print_table(rows, runners):
    """All cases, and for each op and dtype the geometric mean of the ratios."""
    out = sys.stderr
    print(f"\n{'case':66}" + "".join(f"{r.name + ' ms':>12}" for r in runners) + "   ratio", file=out)
    groups = collections.defaultdict(list)
    for case, best, agree in rows:
        ratio = ratio_of(best)
        print(f"{case:66}" + "".join(f"{1e3 * s:12.3f}" for s in best) + f"{ratio:8.2f}"
              + ("" if ratio >= 1 or math.isnan(ratio) else " <") + ("" if agree else "  results differ"), file=out)
        if not math.isnan(ratio):
            groups[" ".join(case.split()[:2])].append(ratio)
    print("\ngeometric means of the ratios, and the least", file=out)
    for name, ratios in groups.items():
        print(f"{name:30}{statistics.geometric_mean(ratios):8.2f}{min(ratios):8.2f}", file=out)
    ratios = [x for group in groups.values() for x in group]
    print(f"{sum(x >= 1 for x in ratios)} of {len(ratios)} cases at 1.0 or more, {sum(x < 0.8 for x in ratios)} below 0.8; "
          f"{sum(not agree for _, _, agree in rows)} with other results", file=out)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default=str(ROOT / "build/bench/tokamax_bench_ops"))
    parser.add_argument("--python", nargs="*", default=[])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--turns", type=int, default=4)
    parser.add_argument("--only", default="")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--seconds", type=float, default=280)
    parser.add_argument("--json", type=argparse.FileType("w"), default=sys.stdout)
    parser.add_argument("--serve", choices=["torch", "jax"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    support.confine(options.threads)
    if options.serve:
        ways = importlib.import_module("ops_" + options.serve).ways
        return serve(options.serve, lambda case: ways(Words(case), options))

    start, cases, runners, rows = time.monotonic(), read_cases(options.only), runners_of(__file__, ("torch", "jax"), options), []
    for number, case in enumerate(cases):
        late = time.monotonic() - start > options.seconds * number / len(cases) + 10
        best, agree = measure(case, runners, min(options.turns, 2) if late else options.turns)
        rows.append((case, best, agree))
        for r, seconds in zip(runners, best):
            if not math.isnan(seconds):
                print(json.dumps(dict(suite="ops", case=case, impl=r.name + " in turns" * (r is runners[0]), unit="us",
                                      threads=options.threads, value=round(seconds * 1e6, 2))), file=options.json,
                      flush=True)
        print(f"{time.monotonic() - start:4.0f} s  {case:66}{ratio_of(best):8.2f} x   arena "
              f"{runners[0].bytes / 1e6:.2f} MB", file=sys.stderr, flush=True)
    print_table(rows, runners)


if __name__ == "__main__":
    main()
