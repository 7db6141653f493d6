# check_stablehlo_forms.py: the programs in a folder as text and as the bytecode that jaxlib writes of it are the same graphs, and all files of
# another folder, tests/vhlo, are read and written as the text that they were read from.
# python3 tests/golden/check_stablehlo_forms.py TOKAMAX_RUN STABLEHLO/testdata [STABLEHLO/tests/vhlo]   (jax 0.10)
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

os.environ["JAX_PLATFORMS"] = "cpu"
from jax._src.interpreters import mlir
from jaxlib._jax import mlir as portable
from jaxlib.mlir import ir

program, suite, *more = sys.argv[1:]


def shown(path, how):
    """What tokamax_run shows of a file, and what it says against it."""
    done = subprocess.run([program, path, how], capture_output=True)
    return done.stdout, done.stderr.decode(errors="replace").strip()[:200]


def same_graphs(path, folder):
    """What is wrong, or nothing; None where jaxlib writes no bytecode."""
    text, bytecode = path.read_text(), folder / (path.stem + ".bc")
    with mlir.make_ir_context():
        try:
            bytecode.write_bytes(portable.serialize_portable_artifact(str(ir.Module.parse(text)), "1.15.0"))
        except Exception as e:  # what jaxlib does not know, or not in that version
            return None
    of_text, wrong = shown(path, "--graph")
    of_bytecode, wrong_too = shown(bytecode, "--graph")
    bytecode.unlink()
    return wrong or wrong_too or ("" if of_text == of_bytecode else "other graphs")


def round_trip(path, folder):
    """What is wrong, or nothing."""
    once, wrong = shown(path, "--text")
    if wrong:
        return wrong
    again = folder / (path.name + ".again.mlir")
    again.write_bytes(once)
    return "" if shown(again, "--text")[0] == once else "other text"


def checked(files, check):
    """Counts of good ones, wrong ones and those that are left out."""
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda f: check(f, pathlib.Path(folder)), files))
    for file, wrong in zip(files, results):
        if wrong:
            print(f"{file.name}: {wrong}")
    return sum(r == "" for r in results), sum(bool(r) for r in results), results.count(None)


good, wrong, left_out = checked(sorted(pathlib.Path(suite).glob("*.mlir")), same_graphs)
print(f"text and bytecode: {good} programs have equal graphs, {wrong} do not, of {left_out} jaxlib writes no bytecode", flush=True)
failed = good < 2190  # jaxlib lowers operations of chlo and some of complex numbers, and joins equal constants
for folder in more:
    files = sorted(f for f in pathlib.Path(folder).iterdir() if re.search(r"\.(mlir|bc)$", f.name))
    good, wrong, _ = checked(files, round_trip)
    print(f"{folder}: {good} of {len(files)} files are read, and their text is read as the same text", flush=True)
sys.exit(failed)
