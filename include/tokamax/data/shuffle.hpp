// tokamax/data/shuffle.hpp: a random order of any number of elements, another one in each epoch, without a table.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/data/dataset.hpp>  // dataset, stage

#include <algorithm>  // max
#include <array>      // array
#include <bit>        // bit_width
#include <vector>     // vector

namespace tokamax::data {

namespace detail {

// The first four numbers of std::seed_seq{seed}, as the standard defines them, here without memory.
constexpr std::array<std::uint32_t, 4> seed_sequence(std::uint32_t seed) {
  constexpr std::uint32_t n = 4;
  std::array<std::uint32_t, n> b{0x8b8b8b8b, 0x8b8b8b8b, 0x8b8b8b8b, 0x8b8b8b8b};
  const auto mixed = [](std::uint32_t x) { return x ^ (x >> 27); };
  for (std::uint32_t k = 0; k < n; ++k) {
    const std::uint32_t r1 = 1664525 * mixed(b[k] ^ b[(k + 1) % n] ^ b[(k + 3) % n]);
    const std::uint32_t r2 = r1 + (k == 0 ? 1 : k == 1 ? k + seed : k);
    b[(k + 1) % n] += r1;
    b[(k + 2) % n] += r2;
    b[k] = r2;
  }
  for (std::uint32_t k = n; k < 2 * n; ++k) {
    const std::uint32_t r3 = 1566083941 * mixed(b[k % n] + b[(k + 1) % n] + b[(k + 3) % n]);
    const std::uint32_t r4 = r3 - k % n;
    b[(k + 1) % n] ^= r3;
    b[(k + 2) % n] ^= r4;
    b[k % n] = r4;
  }
  return b;
}

}  // namespace detail

/// A random permutation of 0 ... size - 1 that computes each value by itself. It is a Feistel cipher with the function of Simon
/// on the smallest even number of bits that holds the size (at least 16), and it is applied again while its result is not
/// below the size; for small sizes that takes 2^16 / size times.
/// source  Black, Rogaway 2002, "Ciphers with arbitrary finite domains" (cycle walking); Beaulieu et al. 2013, "The Simon and
///         Speck families"; the order is that of Grain's index_shuffle with 4 rounds, but for sizes of 2^16 + 1, 2^18 + 1 and
///         so on, where Grain gives one element twice
class permutation {
 public:
  constexpr permutation(std::int64_t size, std::uint32_t seed)
      : size_(static_cast<std::uint64_t>(size)),
        half_((std::max(static_cast<int>(std::bit_width(size_ - 1)), 16) + 1) / 2),
        keys_(detail::seed_sequence(seed)) {
    if (size < 1) throw error("permutation: size", std::to_string(size), "1 or more");
  }
  constexpr std::int64_t operator()(std::int64_t index) const {
    if (size_ == 1) return 0;
    auto x = static_cast<std::uint64_t>(index);
    do {
      x = encrypt(x);
    } while (x >= size_);
    return static_cast<std::int64_t>(x);
  }

 private:
  constexpr std::uint64_t encrypt(std::uint64_t x) const {
    const std::uint64_t mask = (std::uint64_t{1} << half_) - 1;
    const auto rotated = [&](std::uint64_t half, int by) { return (half << by | half >> (half_ - by)) & mask; };
    const auto mixed = [&](std::uint64_t half) { return (rotated(half, 1) & rotated(half, 8)) ^ rotated(half, 2); };
    std::uint64_t left = x >> half_, right = x & mask;
    for (std::size_t round = 0; round < 4; round += 2) {
      left ^= mixed(right) ^ (keys_[round] & mask);
      right ^= mixed(left) ^ (keys_[round + 1] & mask);
    }
    return left << half_ | right;
  }

  std::uint64_t size_;
  int half_;  // bits of one half
  std::array<std::uint32_t, 4> keys_;
};

namespace detail {

template <indexed Source>
class shuffled : public dataset<shuffled<Source>> {
 public:
  shuffled(Source source, std::uint32_t seed) : source_(std::move(source)), seed_(seed) {
    if (source_.size() < 1) throw error("shuffle: elements", std::to_string(source_.size()), "1 or more");
  }
  const Source& source() const { return source_; }
  std::int64_t size() const { return source_.size(); }
  element<Source> operator[](std::int64_t index) const {
    const std::int64_t epoch = index / size();
    const permutation order(size(), seed_ + static_cast<std::uint32_t>(epoch));
    return source_[epoch * size() + order(index % size())];
  }
  /// Many elements at once, if the source has that.
  auto gather(std::vector<std::int64_t> indices) const
    requires requires(const Source& s) { s.gather(indices); }
  {
    std::int64_t last = -1;
    std::optional<permutation> order;
    for (std::int64_t& index : indices) {
      const std::int64_t epoch = index / size();
      if (epoch != last) order.emplace(size(), seed_ + static_cast<std::uint32_t>(epoch));
      last = epoch;
      index = epoch * size() + (*order)(index % size());
    }
    return source_.gather(indices);
  }

 private:
  Source source_;
  std::uint32_t seed_;
};

}  // namespace detail

struct shuffle_options {
  std::uint32_t seed = 0;
};

/// All elements of each epoch in a random order that depends on the seed and the epoch, as that of the sum of both.
/// errors  tokamax::error for a source without elements
/// source  grain.MapDataset.shuffle
/// memory  none, whatever the number of elements
inline auto shuffle(shuffle_options options = {}) {
  return stage{[=](auto source) {
    static_assert(random_access<decltype(source)>,
                  "tokamax: shuffle needs elements by index; window_shuffle shuffles streams");
    return detail::shuffled(std::move(source), options.seed);
  }};
}

}  // namespace tokamax::data
