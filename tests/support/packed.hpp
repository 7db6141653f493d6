// tests/support/packed.hpp: packed sequences of many lengths, as servers make them: prefill, decoding, and padding.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/ops/packed_sequences.hpp>

#include "support/functions.hpp"

#include <cmath>
#include <cstdint>
#include <vector>

namespace tokamax::test {

inline array numbers(const std::vector<std::int32_t>& v) {
  return array::from<std::int32_t>(v, {static_cast<std::int64_t>(v.size())});
}

/// Sequences that count, in front of others that do not, and tokens of no sequence at the end.
struct packed {
  std::vector<std::int32_t> lengths, slots;  // of those that count
  std::vector<char> continues;
  int padded = 0;  // sequences that do not count
  std::int64_t tokens = 0, pool = 0;
  std::vector<std::int32_t> starts = {};

  packed(const std::vector<std::int32_t>& n, int padding, std::int64_t spare) : lengths(n), padded(padding) {
    const auto count = static_cast<std::int32_t>(n.size());
    for (std::int32_t r = 0; r < count; ++r) {
      starts.push_back(static_cast<std::int32_t>(tokens));
      slots.push_back(count - r);  // slot 0 belongs to nobody
      continues.push_back(r % 3 != 1);
      tokens += n[static_cast<std::size_t>(r)];
    }
    pool = count + 2;
    tokens += spare;
  }
  packed_sequences sequences() const {
    std::vector<std::int32_t> start = starts, slot = slots;
    std::int32_t end = 0;
    for (std::size_t r = 0; r < lengths.size(); ++r) end = starts[r] + lengths[r];
    start.push_back(end);
    std::vector<char> goes_on = continues;
    for (int r = 0; r < padded; ++r) start.push_back(1), slot.push_back(1), goes_on.push_back(1);
    array on = array::uninitialized({bool_, false, {static_cast<std::int64_t>(goes_on.size())}});
    for (std::size_t r = 0; r < goes_on.size(); ++r) on.mutable_data<bool>()[r] = goes_on[r] != 0;
    return {numbers(start), numbers(slot), on, numbers({static_cast<std::int32_t>(lengths.size())})};
  }
  /// Does a token belong to a sequence?
  bool counts(std::int64_t token) const {
    for (std::size_t r = 0; r < lengths.size(); ++r)
      if (token >= starts[r] && token < starts[r] + lengths[r]) return true;
    return false;
  }
};

/// Mixed prefill, decoding, both, with padding, and the edges: no sequences, empty ones, one token.
inline std::vector<packed> packed_cases() {
  std::vector<std::int32_t> decoding(64, 1), both(8, 1);
  both.insert(both.end(), {128, 128, 256});
  return {{{256, 128, 128}, 0, 0},
          {decoding, 0, 0},
          {both, 0, 0},
          {{128, 64, 32, 16, 8}, 11, 8},
          {decoding, 100, 3},
          {{5, 0, 3, 0}, 2, 4},
          {{}, 3, 2},
          {{1}, 0, 0},
          {{2}, 0, 0},
          {{3, 1, 2, 65}, 0, 0},
          {{}, 0, 0}};
}

/// The largest difference for tokens that belong to sequences, relative to the largest value.
inline double apart(const packed& p, const array& found, const std::vector<double>& expected) {
  const std::vector<double> v = to_value(found).data;
  if (v.size() != expected.size()) return INFINITY;
  double most = 1e-30, wrong = 0;
  const std::size_t row = p.tokens == 0 ? 1 : v.size() / static_cast<std::size_t>(p.tokens);
  for (std::size_t i = 0; i < v.size(); ++i) {
    if (!p.counts(static_cast<std::int64_t>(i / row))) continue;
    most = std::fmax(most, std::fabs(expected[i]));
    const double d = std::fabs(v[i] - expected[i]);
    wrong = d <= wrong ? wrong : d;
  }
  return wrong / most;
}

}  // namespace tokamax::test
