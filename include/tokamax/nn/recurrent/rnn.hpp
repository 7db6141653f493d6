// tokamax/nn/recurrent/rnn.hpp: a layer that takes a recurrent cell over time.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (models of one family use it)
#pragma once

#include <tokamax/nn/recurrent/flip_sequences.hpp>   // flip_sequences
#include <tokamax/numpy/manipulation/axes.hpp>       // moveaxis
#include <tokamax/transforms/control_flow/scan.hpp>  // scan

#include <utility>  // pair

namespace tokamax::nn {

namespace detail {
/// How many axes of x a cell takes as features.
template <class Cell>
constexpr int feature_axes_of(const Cell& cell) {
  if constexpr (requires { cell.feature_axes(); })
    return cell.feature_axes();
  else
    return 1;
}
/// A cell whose products are apart from its step, so that the loop reads all of x by one product, and carries what is recalled of
/// the state. The backward loop takes up the loop from what was carried, so that it computes no product again.
template <class Cell>
struct split_cell {
  const Cell& cell;
  constexpr array read(const array& x, source_line l) const { return cell.read(x, l); }
  template <class State>
  constexpr std::pair<State, array> start(const State& s, source_line l) const {
    return {s, cell.recall(s, l)};
  }
  template <class State>
  constexpr auto step(const std::pair<State, array>& s, const array& read, source_line l) const {
    const auto [next, y] = cell.step(s.first, read, s.second, l);
    return std::pair{std::pair<State, array>{next, cell.recall(next, l)}, y};
  }
  template <class State>
  static constexpr State state_of(const std::pair<State, array>& s) {
    return s.first;
  }
};
/// Any other cell.
template <class Cell>
struct whole_cell {
  const Cell& cell;
  constexpr array read(const array& x, source_line) const { return x; }
  template <class State>
  constexpr State start(const State& s, source_line) const {
    return s;
  }
  template <class State>
  constexpr auto step(const State& s, const array& x, source_line l) const {
    return cell(s, x, l);
  }
  template <class State>
  static constexpr State state_of(const State& s) {
    return s;
  }
};
template <class Cell>
constexpr auto as_loop(const Cell& cell) {
  if constexpr (requires { &Cell::recall; })
    return split_cell<Cell>{cell};
  else
    return whole_cell<Cell>{cell};
}
}  // namespace detail

/// Is T a cell? It has `start(extents of x without time and channels, dtype)`, and a call (state, x of one time) -> pair{state, result}.
/// It may have the parts of its call apart, `step(state, read(x), recall(state))`, so that a loop reads all times by one product.
/// source  flax.nnx.RNNCellBase
template <class T>
concept recurrent_cell = requires(const T& cell, const shape& batch, const array& x, source_line l) {
  array(cell(cell.start(batch, f32), x, l).second);
};

/// Takes a cell over time by one `scan`: `rnn<lstm_cell> layer{.cell = {.in = 8, .width = 16}}`.
///
/// Sequences may have lengths of their own: what is behind them changes no state and has results of no meaning.
///
/// shapes  x [batch..., time, in] ([time, batch..., in] with time_major) -> the same with the width of the cell for `in`;
///         lengths [batch...]
/// errors  "rnn: rank" if x has no axis of time, "flip_sequences: lengths"
/// source  flax.nnx.RNN
template <recurrent_cell Cell>
struct rnn {
  Cell cell;
  bool reverse = false;     ///< from the last time to the first; results stay in the order of x
  bool keep_order = true;   ///< otherwise the results of `reverse` are in the order in which they are computed
  bool time_major = false;  ///< time is the first axis
  int unroll = 1;           ///< steps that are written out one after the other in a step of the loop

  constexpr array operator()(const array& x, source_line l = source_line::current()) const {
    return run(x, {}, l).second;
  }
  /// Of sequences with lengths.
  constexpr array operator()(const array& x, const array& lengths, source_line l = source_line::current()) const {
    return run(x, lengths, l).second;
  }
  /// The last state, too: of each sequence that at its length.
  constexpr auto run(const array& x, const array& lengths = {}, source_line l = source_line::current()) const {
    const int time = time_of(x);
    shape places;
    for (int i = 0; i + 1 < x.rank(); ++i)
      if (i != time) places.push_back(x.extent(i));
    promoted type{x.dtype(), x.type().weak};  // the state has the dtype of sums of x and the parameters
    for_each_leaf([&](const array& a) { type = promote(type, {a.dtype(), false}); }, cell);
    return run_from(cell.start(places, type.type), x, lengths, l);
  }
  /// From a state that is given, such as the one after an earlier part of the series.
  template <class State>
  constexpr std::pair<State, array> run_from(const State& start, const array& x, const array& lengths = {},
                                             source_line l = source_line::current()) const {
    const int time = time_of(x);
    if (time < 0 || x.rank() < 2) {
      reject(x, l, "rnn: rank", x.type(), "[batch..., time, in]");
      return {start, x};
    }
    if (lengths.exists()) return with_lengths(start, x, lengths, time, l);
    const auto loop = detail::as_loop(cell);
    const auto step = [&](const auto& s, const array& now) { return loop.step(s, now, l); };
    const array read = loop.read(moveaxis(x, time, 0, l), l);
    const auto [last, stacked] = scan(step, loop.start(start, l), read, {.reverse = reverse, .unroll = unroll});
    array ys = moveaxis(stacked, 0, time, l);
    if (reverse && !keep_order) ys = tokamax::reverse(ys, {time}, l);
    return {loop.state_of(last), ys};
  }

 private:
  constexpr int time_of(const array& x) const { return time_major ? 0 : x.rank() - 1 - detail::feature_axes_of(cell); }
  /// A state is kept from the step on at which its sequence has ended.
  template <class State>
  constexpr std::pair<State, array> with_lengths(const State& start, const array& given, const array& lengths, int time,
                                                 source_line l) const {
    array x = given;
    if (reverse) x = flip_sequences(given, lengths, time, l);
    const auto loop = detail::as_loop(cell);
    const array read = loop.read(moveaxis(x, time, 0, l), l);
    using carried = decltype(loop.start(start, l));
    const auto step = [&](const std::pair<carried, array>& s, const array& now) {
      const auto [next, y] = loop.step(s.first, now, l);
      const array goes_on = s.second < lengths;
      const auto chosen = [&](const array& a, const array& before) {
        shape spread = lengths.shape();
        while (spread.rank() < a.rank()) spread.push_back(1);
        return select(reshape(goes_on, spread, l), a, before, l);
      };
      return std::pair{std::pair<carried, array>{tree_map(chosen, next, s.first), s.second + 1}, y};
    };
    const auto [end, stacked] =
        scan(step, std::pair<carried, array>{loop.start(start, l), zeros({}, i32)}, read, {.unroll = unroll});
    array ys = moveaxis(stacked, 0, time, l);
    if (reverse && keep_order) ys = flip_sequences(ys, lengths, time, l);
    return {loop.state_of(end.first), ys};
  }
};

}  // namespace tokamax::nn
