"""bench/peers/support.py: what the peers' scripts share: their choice of implementations, and the cores they run on."""
# SPDX-License-Identifier: Apache-2.0
import importlib.util
import os
import sys

IMPLEMENTATIONS = ["torch", "torch.compile", "jax"]


def add_options(parser):
    parser.add_argument("--impl", nargs="+", choices=IMPLEMENTATIONS, default=IMPLEMENTATIONS)
    parser.add_argument("--threads", type=int, default=2)


def confine(threads):
    """Confines this process and its children to as many cores, since JAX takes one thread a visible core."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    os.environ["JAX_PLATFORMS"] = "cpu"


def installed(options):
    """The chosen implementations that are installed, one after the other; the others are named on stderr."""
    confine(options.threads)  # before either library is loaded
    for impl in options.impl:
        package = impl.split(".")[0]
        if importlib.util.find_spec(package) is None:
            print(f"{package} is not installed: left out", file=sys.stderr)
        else:
            yield impl
