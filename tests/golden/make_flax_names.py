"""tests/golden/make_flax_names.py: write flax_names.txt, the public names of Flax NNX by subject, and the layers that Linen alone has.

    python make_flax_names.py        (pip install flax==0.12.8)
"""
# SPDX-License-Identifier: Apache-2.0
import inspect
import pathlib
import warnings

warnings.filterwarnings("ignore")

import flax
from flax import nnx

# Modules of Flax, and the subject under which their names are listed.
SUBJECTS = {
    "layers": ["nnx.nn.linear", "nnx.nn.attention", "nnx.nn.normalization", "nnx.nn.recurrent", "nnx.nn.stochastic", "nnx.nn.activations", "linen.pooling"],
    "lora": ["nnx.nn.lora"],
    "filters": ["nnx.filterlib"],
    "rngs": ["nnx.rnglib"],
    "training": ["nnx.training.optimizer", "nnx.training.ema", "nnx.summary", "nnx.visualization"],
    "transforms": ["nnx.transforms.autodiff", "nnx.transforms.compilation", "nnx.transforms.iteration", "nnx.transforms.transforms"],
    "sharding": ["nnx.spmd", "core.spmd"],
    "modules": ["nnx.helpers", "nnx.module", "nnx.pytreelib", "nnx.extract", "nnx.graphlib", "nnx.statelib", "nnx.variablelib"],
}
SUBJECT_OF = {"flax." + module: subject for subject, modules in SUBJECTS.items() for module in modules}
MORE = {"layers": ["dot_product_attention_weights", "flip_sequences"], "filters": ["PathIn"]}  # documented, and not in nnx itself
NOT_FUNCTIONS = {"PARTITION_NAME", "PureState", "Initializer"}  # a text and types

names = {subject: list(MORE.get(subject, [])) for subject in ["layers", "activations", "initializers", "filters", "metrics", *SUBJECTS]}
for name in sorted(n for n in dir(nnx) if not n.startswith("_") and n not in NOT_FUNCTIONS):
    value = getattr(nnx, name)
    if inspect.ismodule(value) or name in ("Metric", "MultiMetric"):
        continue
    names[SUBJECT_OF.get(getattr(value, "__module__", ""), "activations")].append(name)
names["initializers"] = [n for n in dir(nnx.initializers) if not n.startswith("_") and n not in {"DtypeLikeInexact", "Initializer", "tp"}]
names["metrics"] = [n for n in dir(nnx.metrics) if inspect.isclass(getattr(nnx.metrics, n)) and getattr(nnx.metrics, n).__module__ == nnx.metrics.__name__]
lines = [f"# The public names of flax.nnx {flax.__version__} by subject; written by make_flax_names.py."]
lines += [f"flax.nnx.{subject}: {' '.join(sorted(found))}" for subject, found in names.items()]
lines.append("flax.linen: ConvLSTMCell MGUCell")
(pathlib.Path(__file__).parent / "flax_names.txt").write_text("\n".join(lines) + "\n")
