"""bench/peers/data.py: packing by Grain, records by array_record, and checkpoints of 1 GiB by Orbax.

    python data.py FOLDER [--threads 2] [--repeats 3]

The cases are those of bench/data.cpp, which must have run with the same FOLDER: it leaves records.array_record there.
"""
# SPDX-License-Identifier: Apache-2.0
import sys

here = sys.path.pop(0)  # whose tokenize.py would hide that of Python
import argparse
import inspect  # imports tokenize
import json
import os
import shutil
import statistics
import time

sys.path.insert(0, here)
import support


def report(case, value, unit):
    peer = {"first": "grain", "records": "array_record"}.get(case.split()[0], "orbax")
    print(json.dumps({"suite": "data", "case": case, "impl": peer, "value": round(value, 2), "unit": unit}), flush=True)


def seconds_of(f):
    begin = time.perf_counter()
    f()
    return time.perf_counter() - begin


def packing(repeats):
    import grain
    import numpy as np

    documents = [{"t": np.full(1 + i * 7919 % 700, i, np.int32)} for i in range(5000)]
    tokens = sum(d["t"].size for d in documents)

    def run():
        source = grain.MapDataset.source(documents).to_iter_dataset()
        packed = grain.experimental.FirstFitPackIterDataset(source, length_struct={"t": 1024}, num_packing_bins=8,
                                                        shuffle_bins=False)
        for _ in packed:
            pass

    run()
    report("first fit to 1024", tokens / statistics.median(seconds_of(run) for _ in range(repeats)) / 1e6, "million tokens/s")


def records(folder, repeats):
    from array_record.python import array_record_data_source

    source = array_record_data_source.ArrayRecordDataSource(folder + "/records.array_record")
    order = [i * 7919 % len(source) for i in range(len(source))]

    def one_by_one():
        for i in order:
            source[i]

    def many():
        for i in range(0, len(order), 512):
            source.__getitems__(order[i:i + 512])

    one_by_one()
    report("records of ArrayRecord, one by one", len(order) / statistics.median(seconds_of(one_by_one) for _ in range(repeats)) / 1e3,
         "thousand/s")
    report("records of ArrayRecord, 512 at once", len(order) / statistics.median(seconds_of(many) for _ in range(repeats)) / 1e3,
         "thousand/s")


def checkpoints(folder, repeats):
    import jax.numpy as jnp
    import orbax.checkpoint as ocp

    model = [jnp.full((1 << 26,), i, jnp.float32) for i in range(4)]
    [a.block_until_ready() for a in model]
    blocked, saved, restored = [], [], []
    with ocp.AsyncCheckpointer(ocp.StandardCheckpointHandler()) as checkpointer:
        for _ in range(repeats):
            shutil.rmtree(folder + "/orbax", ignore_errors=True)
            begin = time.perf_counter()
            checkpointer.save(folder + "/orbax", args=ocp.args.StandardSave(model))
            blocked.append(time.perf_counter() - begin)
            checkpointer.wait_until_finished()
            saved.append(time.perf_counter() - begin)
            restored.append(seconds_of(lambda: checkpointer.restore(folder + "/orbax", args=ocp.args.StandardRestore(model))))
    shutil.rmtree(folder + "/orbax", ignore_errors=True)
    report("save_async of 1 GiB, blocked", 1e3 * statistics.median(blocked), "ms")
    report("save of 1 GiB", 1024 / statistics.median(saved), "MiB/s")
    report("restore of 1 GiB", 1024 / statistics.median(restored), "MiB/s")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    support.confine(options.threads)
    packing(options.repeats)
    records(os.path.abspath(options.folder), options.repeats)
    checkpoints(os.path.abspath(options.folder), options.repeats)


if __name__ == "__main__":
    main()
