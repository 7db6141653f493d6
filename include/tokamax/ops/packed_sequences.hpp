// tokamax/ops/packed_sequences.hpp: sequences of any lengths one after the other, whose states lie in the slots of a pool.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/ops/causal_conv1d.cpp
#pragma once

#include <tokamax/lax/gather.hpp>  // gather
#include <tokamax/lax/reduce.hpp>  // sum
#include <tokamax/lax/slice.hpp>   // slice_in_dim

namespace tokamax {

/// Which tokens belong to which sequence, and where the state of each sequence lies. All sizes are upper bounds, and num_seqs
/// says how much of them counts, so that one program serves every batch of prefill and decoding.
struct packed_sequences {
  array query_start;  ///< i32 [R + 1]: tokens query_start[r] ... query_start[r + 1] - 1 belong to sequence r
  array slots;        ///< i32 [R]: the entry of the pool that has the state; one outside of the pool is no state
  array continues =
      {};               ///< bool [R]: is there a state to go on from, or does the sequence begin? Without it, all go on
  array num_seqs = {};  ///< i32 [1]: the number of sequences; without it, R
};

namespace detail {

/// Rejects sequences that do not fit each other. False if it has.
constexpr bool are_sequences(const array& x, const packed_sequences& s, const char* what, source_line l) {
  const auto typed = [](const array& a, dtype t, std::int64_t n) { return a.dtype() == t && a.shape() == shape{n}; };
  const std::int64_t sequences = s.slots.rank() == 1 ? s.slots.extent(0) : -1;
  bool fit = s.slots.rank() == 1 && s.slots.dtype() == i32;
  fit = fit && typed(s.query_start, i32, add_extent(sequences, 1));
  fit = fit && (!s.continues.exists() || typed(s.continues, bool_, sequences));
  fit = fit && (!s.num_seqs.exists() || typed(s.num_seqs, i32, 1));
  if (fit) return true;
  const array all[] = {x, s.query_start, s.slots};
  reject(all, 3, l, what, message(s.query_start.type()) << ", " << s.slots.type(),
         "i32[R+1], i32[R], perhaps bool[R], i32[1]");
  return false;
}

/// Of each sequence [R]: its first token, its number of tokens (0 if it does not count), the slot that it reads (-1 if it
/// begins with zeros) and the slot that it writes (-1 if there is none).
struct sequence_places {
  array first, length, from, to;

  constexpr sequence_places(const packed_sequences& s, std::int64_t tokens, std::int64_t pool) {
    const std::int64_t n = s.slots.extent(0);
    const array limit = extent_operand(tokens, {});
    const auto inside = [&](std::int64_t begin, std::int64_t end) {
      return minimum(maximum(slice_in_dim(s.query_start, begin, end, 0), 0), limit);
    };
    array counts = logical_and(s.slots >= 0, s.slots < extent_operand(pool, {})), exists;
    first = inside(0, n);
    length = maximum(inside(1, add_extent(n, 1)) - first, 0);
    if (s.num_seqs.exists()) {
      exists = iota(i32, {n}, 0) < s.num_seqs;
      length = select(exists, length, 0);
      counts = logical_and(counts, exists);
    }
    to = select(counts, s.slots, -1);
    from = s.continues.exists() ? select(s.continues, to, -1) : to;
  }
};

/// Of each token [T]: the sequence to which it belongs, whether there is one, and its position in it. Where sequences overlap,
/// the last one counts.
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
