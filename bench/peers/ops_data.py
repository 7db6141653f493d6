"""bench/peers/ops_data.py: the data of the cases of bench/cases/ops.txt, which is that of bench/support/turns.hpp."""
# SPDX-License-Identifier: Apache-2.0
import numpy as np


def hashes(shape, k):
    """Operand k: what stands for chance, 32 bits made of each element's place."""
    n = int(np.prod(shape))
    h = np.arange(n, dtype=np.uint32) * np.uint32(0x9E3779B9) + np.uint32((k + 1) * 0x85EBCA6B % 2**32)
    h = (h ^ (h >> 16)) * np.uint32(0x7FEB352D)
    h = (h ^ (h >> 15)) * np.uint32(0x846CA68B)
    return (h ^ (h >> 16)).reshape(shape)


def uniform(shape, k):
    """Operand k: each element is between -sqrt(0.75) and sqrt(0.75)."""
    h = hashes(shape, k)
    return (((h >> 8).astype(np.float32) / np.float32(2**24) - np.float32(0.5)) * np.float32(1.7320508))


def numbers_below(end, count):
    return (np.arange(count, dtype=np.int64) * 7919 % max(end, 1)).astype(np.int32)


def mixed_numbers_below(end, shape, k):
    return ((hashes(shape, k) >> 8) % end).astype(np.int32)


def quantized(rows, columns):
    """Integers of 8 bits, and a scale for each column."""
    return np.rint(uniform((rows, columns), 1) * np.float32(140)).astype(np.int8), np.abs(uniform((1, columns), 2)) * np.float32(0.01)


def pair_mask(n):
    return (np.arange(n * n) % 7 != 0).reshape(n, n)
