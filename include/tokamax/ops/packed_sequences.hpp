// tokamax/ops/packed_sequences.hpp: sequences of any lengths one after the other, whose states lie in the slots of a pool.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (models that are served use it)
// tested by tests/ops/causal_conv1d.cpp
#pragma once

#include <tokamax/lax/indexing/gather.hpp>  // gather
#include <tokamax/lax/indexing/slice.hpp>   // slice_in_dim
#include <tokamax/lax/reduce.hpp>           // max, all, any

namespace tokamax {

/// Which tokens belong to which sequence, and where the state of each sequence lies. All sizes are upper bounds, and num_seqs
/// says how much of them counts, so that one program serves every batch of prefill and decoding.
struct packed_sequences {
  array query_start;  ///< i32 [R + 1]: tokens query_start[r] ... query_start[r + 1] - 1 belong to sequence r
  array entries;      ///< i32 [R]: the entry of the pool that has the state; one outside of the pool is no state
  array continues =
      {};               ///< bool [R]: is there a state to go on from, or does the sequence begin? Without it, all go on
  array num_seqs = {};  ///< i32 [1]: the number of sequences; without it, R
};

namespace detail {

/// Rejects sequences that do not fit each other. False if it has.
constexpr bool are_sequences(const array& x, const packed_sequences& s, const char* what, source_line l) {
  const auto typed = [](const array& a, dtype t, std::int64_t n) { return a.dtype() == t && a.shape() == shape{n}; };
  const std::int64_t sequences = s.entries.rank() == 1 ? s.entries.extent(0) : -1;
  bool fit = s.entries.rank() == 1 && s.entries.dtype() == i32;
  fit = fit && typed(s.query_start, i32, add_extent(sequences, 1));
  fit = fit && (!s.continues.exists() || typed(s.continues, bool_, sequences));
  fit = fit && (!s.num_seqs.exists() || typed(s.num_seqs, i32, 1));
  if (fit) return true;
  const array all[] = {x, s.query_start, s.entries};
  reject(all, 3, l, what, message(s.query_start.type()) << ", " << s.entries.type(),
         "i32[R+1], i32[R], perhaps bool[R], i32[1]");
  return false;
}

/// For each number, whether `condition`, which compares it with all numbers, holds for a later one.
constexpr array has_later(const array& condition, std::int64_t n) {
  const array later = iota(i32, {1, n}, 1) > iota(i32, {n, 1}, 0);
  return any(logical_and(condition, later), {{-1}});
}

/// Of each sequence [R]: its first token, its number of tokens, the slot that it writes (-1 if there is none) and the slot that
/// it reads (the same one, or -1 if it begins with zeros). Whatever the operands hold, tokens belong to one sequence at most,
/// and so do slots: a sequence begins where those before it have begun or later, and the last one has the slot.
struct sequence_places {
  array first, length, from, to;

  constexpr sequence_places(const packed_sequences& s, std::int64_t tokens, std::int64_t pool) {
    const std::int64_t n = s.entries.extent(0), ends = add_extent(n, 1);
    const array bounds = minimum(maximum(s.query_start, 0), extent_operand(tokens, {}));
    const array before = iota(i32, {1, ends}, 1) <= iota(i32, {ends, 1}, 0);
    const array start = max(select(before, expand_dims(bounds, 0), 0), {{-1}});  // [R + 1], which does not decrease
    const array exists = s.num_seqs.exists() ? array(iota(i32, {n}, 0) < s.num_seqs) : full({n}, true, bool_);
    const array counts = logical_and(exists, logical_and(s.entries >= 0, s.entries < extent_operand(pool, {})));
    first = slice_in_dim(start, 0, n, 0);
    length = select(exists, slice_in_dim(start, 1, ends, 0) - first, 0);
    to = from = select(counts, s.entries, -1);
    if (n == 0) return;
    to = select(has_later(expand_dims(to, 1) == expand_dims(to, 0), n), -1, to);
    from = s.continues.exists() ? select(s.continues, to, -1) : to;
  }
};

/// Of each token [T]: the sequence to which it belongs, whether there is one, and its position in it.
struct token_places {
  array sequence, inside, position;

  constexpr token_places(std::int64_t tokens, const array& first, const array& length) {
    const std::int64_t n = first.extent(0);
    if (n == 0) {
      sequence = position = full({tokens}, 0, i32);
      inside = sequence < 0;
      return;
    }
    const array token = iota(i32, {tokens, 1}, 0), begin = expand_dims(first, 0), end = begin + expand_dims(length, 0);
    const array mine = logical_and(begin <= token, token < end);
    const array found = max(select(mine, iota(i32, {1, n}, 1), -1), {{-1}});
    inside = found >= 0;
    sequence = maximum(found, 0);
    position = select(inside, iota(i32, {tokens}, 0) - gather(first, sequence), 0);
  }
};

/// The states [R, ...] that are in these slots of a pool [S, ...], and zeros where a slot is -1.
constexpr array states_of(const array& pool, const array& from) {
  const array known = from >= 0, found = gather(pool, maximum(from, 0));
  return select(broadcast_in_dim(known, found.shape(), {0}), found, zeros_like(found));
}

}  // namespace detail

}  // namespace tokamax
