// tokamax/ops/causal_conv1d.hpp: a convolution of each channel over its last tokens, with a state between calls.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (models of one family use it)
#pragma once

#include <tokamax/lax/indexing/scatter.hpp>    // scatter
#include <tokamax/lax/shapes/concatenate.hpp>  // concatenate
#include <tokamax/ops/activations.hpp>         // no_activation
#include <tokamax/ops/causal_conv1d_sums.hpp>  // causal_conv1d_sums_p
#include <tokamax/ops/packed_sequences.hpp>    // packed_sequences

namespace tokamax {

/// What causal_conv1d may take besides its input and weights.
struct causal_conv1d_options {
  array bias = {};   ///< [C], added before the activation
  array state = {};  ///< [..., K - 1, C] the tokens before the first one, the oldest first; without it, zeros
};

/// The result of causal_conv1d, and what the next call goes on from.
struct causal_conv1d_result {
  array out;    ///< like x
  array state;  ///< [..., K - 1, C], or the pool
};

namespace detail {

/// Rejects x [..., T, C], weights [C, K] and bias [C] that do not fit each other. False if it has.
constexpr bool conv1d_operands(const array& x, const array& weights, const array& bias, int rank, source_line l) {
  const array all[] = {x, weights};
  if (!is_floating(x.dtype()) || x.rank() < 2 || (rank > 0 && x.rank() != rank)) {
    reject(all, 2, l, "causal_conv1d: x", x.type(), rank > 0 ? "floats [T,C]" : "floats [..,T,C]");
    return false;
  }
  const bool fit = is_floating(weights.dtype()) && weights.rank() == 2 && weights.extent(0) == x.extent(-1) &&
                   !is_dyn(weights.extent(1)) && weights.extent(1) > 0;
  if (!fit) reject(all, 2, l, "causal_conv1d: weights", weights.type(), message("floats [C,K] for x ") << x.type());
  const bool shift = !bias.exists() || (is_floating(bias.dtype()) && bias.shape() == shape{x.extent(-1)});
  if (fit && !shift) reject(all, 2, l, "causal_conv1d: bias", bias.type(), message("floats [C] for x ") << x.type());
  return fit && shift;
}
/// Rejects a state that is not floats of this shape. False if it has.
constexpr bool conv1d_state(const array& x, const array& state, const shape& s, source_line l) {
  if (is_floating(state.dtype()) && state.shape() == s) return true;
  const array all[] = {x, state};
  reject(all, 2, l, "causal_conv1d: state", state.type(), message("floats ") << s);
  return false;
}
template <class Activation>
constexpr array conv1d_finish(const array& sums, const array& bias, const Activation& activation, dtype type,
                              source_line l) {
  return astype(activation(bias.exists() ? array(sums + astype(bias, sums.dtype())) : sums), type, l);
}

/// The last K - 1 inputs of each sequence [R, K - 1, C], some of which may be those of the state before.
constexpr array conv1d_last_inputs(const array& x, const array& before, const sequence_places& s) {
  const std::int64_t sequences = before.extent(0), kept = before.extent(1), tokens = x.extent(0);
  const array place = expand_dims(s.length, 1) + iota(i32, {1, kept}, 1);  // counted from the oldest entry of the state
  const array is_new = place >= kept;
  const array token = select(is_new, expand_dims(s.first, 1) + place - kept, 0);
  const array entry = select(is_new, 0, place + iota(i32, {sequences, 1}, 0) * extent_operand(kept, {}));
  const array old = gather(joined_rows(before, 2), entry);  // [R, K - 1, C]
  if (tokens == 0) return old;
  return select(broadcast_in_dim(is_new, old.shape(), {0, 1}), astype(gather(x, token), old.dtype()), old);
}

/// What the states [R, K - 1, C] add to the first K - 1 tokens of each sequence.
constexpr array conv1d_from_states(const array& sums, const array& before, const array& places_of_window,
                                   const sequence_places& s) {
  const std::int64_t kept = before.extent(1);
  const array wide = pad(astype(before, sums.dtype()), array(0.0, {sums.dtype(), false, {}}), {0, 0, 0}, {0, kept, 0});
  array added = zeros_like(astype(before, sums.dtype()));
  for (std::int64_t m = 0; m < kept; ++m)  // token i sees entry i + m of the state at place m of the window
    added = added + slice_in_dim(wide, m, m + kept, 1) * conv1d_weight(places_of_window, m, sums.dtype());
  const array i = iota(i32, {1, kept}, 1);
  const array token = select(i < expand_dims(s.length, 1), expand_dims(s.first, 1) + i, -1);
  return scatter_add(sums, token, added);
}

}  // namespace detail

/// Convolves each channel with the weights of its own, over the token itself and the K - 1 before it.
///
///   out[t, c] = activation(bias[c] + sum over m of weights[c, m] * x[t - (K - 1) + m, c])
///
/// The tokens before the first one are those of the state. The new state has the last K - 1 tokens, so that a sequence in
/// pieces gives what it gives as a whole.
///
/// shapes  x [..., T, C], weights [C, K], bias [C], state [..., K - 1, C] -> out [..., T, C], state [..., K - 1, C]
/// dtypes  any floats; sums and activation are f32, f64 for f64; out has the dtype of x, and the state keeps its own
/// errors  "causal_conv1d: x", "causal_conv1d: weights", "causal_conv1d: bias", "causal_conv1d: state"
/// source  causal_conv1d_fn of Dao's causal-conv1d; the layers of Mamba and Qwen3-Next
template <class Activation = no_activation>
constexpr causal_conv1d_result causal_conv1d(const array& x, const array& weights,
                                             const causal_conv1d_options& options = {},
                                             const Activation& activation = {},
                                             source_line l = source_line::current()) {
  if (!detail::conv1d_operands(x, weights, options.bias, 0, l)) return {x, x};
  const std::int64_t tokens = x.extent(-2), places = weights.extent(1), kept = places - 1;
  const dtype sums = carrying(x.dtype());
  const int time = x.rank() - 2;
  shape before = x.shape();
  before[time] = kept;
  if (options.state.exists() && !detail::conv1d_state(x, options.state, before, l)) return {x, options.state};
  const array state = options.state.exists() ? options.state : full(before, 0.0f, x.dtype(), l);
  const auto finish = [&](const array& y) { return detail::conv1d_finish(y, options.bias, activation, x.dtype(), l); };
  if (kept > 0 && !is_dyn(tokens) && tokens >= 2 * kept) {
    const array in[] = {state, x, weights};
    const arrays y = bind_all(causal_conv1d_sums_p, in, 3, words{}, l);
    return {concatenate({finish(y[0]), finish(y[1])}, time, l),
            astype(slice_in_dim(x, tokens - kept, tokens, time, l), state.dtype(), l)};
  }
  const dtype wide = state.dtype() == x.dtype() ? x.dtype() : sums;
  const array all = kept == 0 ? x : concatenate({astype(state, wide, l), astype(x, wide, l)}, time, l);
  const array y = detail::conv1d_windows(all, detail::conv1d_places(weights), tokens, sums);
  const array last = slice_in_dim(all, tokens, add_extent(tokens, kept), time, l);
  return {finish(y), astype(last, state.dtype(), l)};
}

/// The same for sequences of any lengths one after the other, whose states lie in the slots of a pool: prefill, chunks of
/// it, and decoding in one call. A program that was given the pool to keep writes into its memory.
///
/// Tokens of no sequence see themselves only. Slots of no sequence stay as they are. Of sequences with the same slot only the
/// last one has it.
///
/// shapes  x [T, C], weights [C, K], pool [S, K - 1, C] -> out [T, C], the pool
/// dtypes  any floats; sums and activation are f32, f64 for f64; out has the dtype of x, and the pool keeps its own
/// errors  those above, and "causal_conv1d: sequences"; lengths that do not fit are no error
/// source  causal_conv1d_fn with query_start_loc and cache_indices
template <class Activation = no_activation>
constexpr causal_conv1d_result causal_conv1d(const array& x, const array& weights, const array& pool,
                                             const packed_sequences& sequences, const array& bias = {},
                                             const Activation& activation = {},
                                             source_line l = source_line::current()) {
  if (!detail::conv1d_operands(x, weights, bias, 2, l)) return {x, pool};
  const std::int64_t tokens = x.extent(0), kept = weights.extent(1) - 1;
  const std::int64_t slot_count = pool.rank() == 3 ? pool.extent(0) : 0;
  if (!detail::conv1d_state(x, pool, {slot_count, kept, x.extent(1)}, l) ||
      !detail::are_sequences(x, sequences, "causal_conv1d: sequences", l))
    return {x, pool};
  const dtype type = carrying(x.dtype());
  const detail::sequence_places places(sequences, tokens, slot_count);
  const detail::token_places at(tokens, places.first, places.length);
  const array all = pad(x, array(0.0, {x.dtype(), false, {}}), {kept, 0}, {0, 0}, {}, l);  // [K - 1 + T, C]
  const array rows = detail::conv1d_places(weights);
  array y = astype(x, type) * detail::conv1d_weight(rows, kept, type);
  for (std::int64_t m = 0; m < kept; ++m) {
    const array earlier = astype(slice_in_dim(all, m, add_extent(m, tokens), 0, l), type);
    const array seen = broadcast_in_dim(at.position >= static_cast<int>(kept - m), earlier.shape(), {0});
    y = y + select(seen, earlier, zeros_like(earlier)) * detail::conv1d_weight(rows, m, type);
  }
  if (kept == 0 || slot_count == 0) return {detail::conv1d_finish(y, bias, activation, x.dtype(), l), pool};
  const array before = detail::states_of(pool, places.from);  // [R, K - 1, C]
  y = detail::conv1d_from_states(y, before, rows, places);
  const array last = detail::conv1d_last_inputs(x, before, places);
  return {detail::conv1d_finish(y, bias, activation, x.dtype(), l), scatter(pool, places.to, last, {}, l)};
}

}  // namespace tokamax
