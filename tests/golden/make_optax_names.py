"""tests/golden/make_optax_names.py: write optax_names.txt, the public functions of Optax, each once: in the first namespace that has it.

    python make_optax_names.py        (pip install optax==0.2.8)
"""
# SPDX-License-Identifier: Apache-2.0
import functools
import inspect
import pathlib

import optax
import optax.contrib
import optax.perturbations

SPACES = ["losses", "schedules", "projections", "second_order", "tree", "perturbations", "assignment", "microbatching",
          "experimental.aggregating", "contrib", "transforms", ""]


def is_function(name, value):
    """Functions, and the classes that are used as functions; states and other tuples are not."""
    if name.startswith("_") or inspect.ismodule(value):
        return False
    return (inspect.isfunction(value) and value.__module__.startswith("optax")) or name in {"MultiSteps", "Normal", "Gumbel", "AccumulationType"} or (
        callable(value) and not inspect.isclass(value) and name[0].islower() and (getattr(value, "__module__", "").startswith("optax") or isinstance(value, functools.partial)))


seen, lines = set(), [f"# The public functions of optax {optax.__version__}; written by make_optax_names.py."]
for space in SPACES:
    module = optax
    for part in filter(None, space.split(".")):
        module = getattr(module, part)
    names = []
    for name in sorted(n for n in dir(module) if is_function(n, getattr(module, n))):
        value = getattr(module, name)
        if id(value) not in seen:
            seen.add(id(value))
            names.append(name)
    lines.append(f"{'.'.join(filter(None, ['optax', space]))}: {' '.join(names)}")
(pathlib.Path(__file__).parent / "optax_names.txt").write_text("\n".join(lines) + "\n")
