"""Writes grain.txt: what Grain's operations give for random options. Needs grain 0.2.18."""
import logging
import random

import grain
import numpy as np
from grain import experimental as ge

logging.disable(logging.CRITICAL)
choose = random.Random(40)


def stream(n, first=0):
  return grain.MapDataset.range(first, first + n).to_iter_dataset()


def sequences(lengths):
  return grain.MapDataset.source([{"t": np.full(n, i + 1, np.int32)} for i, n in enumerate(lengths)]).to_iter_dataset()


def rows_of(dataset):
  result = []
  for row in dataset:
    for name in ("t", "t_segment_ids", "t_positions"):
      result += row[name].tolist()
  return result


def shuffle(n, seed, epochs):
  return list(grain.MapDataset.range(n).shuffle(seed=seed).repeat(epochs).to_iter_dataset())


def windows(n, window, seed):
  return list(ge.WindowShuffleIterDataset(stream(n), window_size=window, seed=seed))


def mix(n, m, weight, other):
  return list(grain.IterDataset.mix([stream(n), stream(m, 1000)], [weight, other]))


def packed(kind):
  def rows(length, bins, most, alignment, *lengths):
    return rows_of(kind(sequences(lengths), length_struct={"t": length}, num_packing_bins=bins, shuffle_bins=False,
                        max_sequences_per_bin=most or None, pack_alignment_struct={"t": alignment}))
  return rows


def cut(length, *lengths):
  return rows_of(ge.ConcatThenSplitIterDataset(sequences(lengths), length_struct={"t": length}))


def interleave(cycle, *lengths):
  return list(ge.InterleaveIterDataset([stream(n, 100 * i) for i, n in enumerate(lengths)], cycle_length=cycle))


def sampler(n, index, count, shuffled, seed, epochs):
  shard = grain.sharding.ShardOptions(shard_index=index, shard_count=count, drop_remainder=True)
  keys = grain.samplers.IndexSampler(n, shard, shuffle=bool(shuffled), num_epochs=epochs, seed=seed)
  return [keys[index + i * count].record_key for i in range(n // count * epochs)]


def whole(least, most):
  return choose.randint(least, most)


def lengths(most):
  return [whole(1, most) for _ in range(whole(1, 14))]


with open("grain.txt", "w") as out:
  out.write("# Written by make_grain.py: an operation of Grain, its numbers (make_grain.py says which), and behind the colon what it gives.\n")
  def put(make, name, *options):
    result = make(*options)
    out.write(f"{name} {' '.join(map(str, options))} : {' '.join(map(str, result))}\n")
  for _ in range(12):
    put(shuffle, "shuffle", whole(1, 20), whole(0, 2**32 - 8), whole(1, 3))
  for _ in range(10):
    put(windows, "windows", whole(1, 40), whole(1, 12), whole(0, 2**31))
  for _ in range(10):
    put(mix, "mix", whole(1, 15), whole(1, 15), whole(1, 7), whole(1, 7))
  for kind, name in ((ge.FirstFitPackIterDataset, "first"), (ge.BestFitPackIterDataset, "best")):
    for _ in range(14):
      length = whole(4, 24)
      put(packed(kind), name, length, whole(1, 4), whole(0, 3), whole(1, 2), *lengths(length))
  for _ in range(10):
    put(cut, "cut", whole(2, 16), *lengths(9))
  for _ in range(10):
    put(interleave, "interleave", whole(1, 5), *lengths(6))
  for _ in range(12):
    count = whole(1, 4)
    put(sampler, "sampler", whole(count, 30), whole(0, count - 1), count, whole(0, 1), whole(0, 2**31), whole(1, 2))
