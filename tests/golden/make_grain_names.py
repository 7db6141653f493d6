"""Writes grain_names.txt: the public names of grain, which must be installed."""
import importlib.metadata

import grain

SPACES = {
    "grain": (grain, "DataLoader DataLoaderIterator DatasetIterator IterDataset MapDataset MultiprocessingOptions ReadOptions Record RecordMetadata load"),
    "grain.MapDataset": (grain.MapDataset, "concatenate mix range select_from_datasets source"),
    "grain.IterDataset": (grain.IterDataset, ""),
    "grain.DatasetIterator": (grain.DatasetIterator, ""),
    "grain.experimental": (grain.experimental, ""),
    "grain.sources": (grain.sources, ""),
    "grain.samplers": (grain.samplers, ""),
    "grain.sharding": (grain.sharding, ""),
    "grain.transforms": (grain.transforms, "FlatMap"),
    "grain.multiprocessing": (grain.multiprocessing, ""),
    "grain.checkpoint": (grain.checkpoint, ""),
}
with open(__file__.replace("make_grain_names.py", "grain_names.txt"), "w") as out:
  out.write(f"# The public names of grain {importlib.metadata.version('grain')}; written by make_grain_names.py.\n")
  for space, (owner, more) in SPACES.items():
    names = set(more.split()) | {n for n in dir(owner) if not n.startswith("_") and space != "grain"}
    out.write(f"{space}: {' '.join(sorted(names))}\n")
