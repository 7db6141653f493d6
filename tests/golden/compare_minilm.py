"""tests/golden/compare_minilm.py: compare the rows of tokamax_embed with those of `transformers`, for 1,000 sentences.

    python compare_minilm.py FOLDER PROGRAM

Needs torch (2.13) and transformers (5.24), the folder that cmake/real_models.cmake has filled, and the program tokamax_embed. The sentences are lines of
the documentation of Python's own modules; each row is the mean of the states of a sentence's tokens, of length 1, as sentence-transformers makes it.
"""
# SPDX-License-Identifier: Apache-2.0
import importlib
import pathlib
import subprocess
import sys
import warnings

sys.path.pop(0)  # the folder scipy beside this file is not the package

import torch
from transformers import AutoModel, AutoTokenizer

MODULES = "argparse asyncio collections datetime decimal difflib email enum functools http itertools json logging math os pathlib pickle random re socket " \
          "sqlite3 ssl statistics string subprocess tarfile tempfile textwrap threading tkinter turtle typing unittest urllib.request zipfile".split()


def sentences(count):
    found = []
    warnings.simplefilter("ignore")
    for name in MODULES:
        module = importlib.import_module(name)
        for thing in [module, *vars(module).values()]:
            text = getattr(thing, "__doc__", None)
            for line in text.splitlines() if isinstance(text, str) else []:
                line = line.strip()
                if len(line.split()) > 2 and line not in found:
                    found.append(line)
    assert len(found) >= count, len(found)
    # Some are long: those that are cut at 256 tokens, too.
    return found[:count - 10] + [" ".join(found[i:i + 3 * i + 3]) for i in range(10)]


if __name__ == "__main__":
    torch.set_num_threads(1)
    folder = str(pathlib.Path(sys.argv[1]) / "all-MiniLM-L6-v2")
    texts = sentences(1000)
    out = subprocess.run([sys.argv[2], folder], input="\n".join(texts) + "\n", capture_output=True, text=True, check=True).stdout
    rows = torch.tensor([[float(x) for x in line.split()] for line in out.splitlines()])
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder, dtype=torch.float32).eval()
    expected = []
    with torch.no_grad():
        for text in texts:
            ids = tokenizer(text, truncation=True, max_length=256, padding=False, return_tensors="pt")
            state = model(**ids).last_hidden_state[0]
            expected.append(torch.nn.functional.normalize(state.mean(0), dim=0))
    apart = (rows - torch.stack(expected)).abs().max().item()
    print(f"{len(texts)} sentences, {rows.shape[1]} numbers each: at most {apart:.2g} apart")
    sys.exit(not apart <= 1e-5)
