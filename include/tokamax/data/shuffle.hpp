// tokamax/data/shuffle.hpp: a random order of any number of elements, another one in each epoch, without a table.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/data/counter_hash.hpp>  // counter_hash
#include <tokamax/data/dataset.hpp>       // dataset, stage

#include <algorithm>  // max
#include <bit>        // bit_width

namespace tokamax::data {

/// A random permutation of 0 ... size - 1 that computes each value by itself. It is a Feistel cipher on the smallest even
/// number of bits that holds the size (at least 8), and it is applied again while its result is not below the size.
/// source  Black, Rogaway 2002, "Ciphers with arbitrary finite domains" (cycle walking)
class permutation {
 public:
  constexpr permutation(std::int64_t size, std::uint64_t seed)
      : size_(static_cast<std::uint64_t>(size)),
        half_((std::max(static_cast<int>(std::bit_width(size_ - 1)), 8) + 1) / 2),
        seed_(seed) {
    if (size < 1) throw error("permutation: size", std::to_string(size), "1 or more");
  }
  constexpr std::int64_t operator()(std::int64_t index) const {
    auto x = static_cast<std::uint64_t>(index);
    do {
      x = encrypt(x);
    } while (x >= size_);
    return static_cast<std::int64_t>(x);
  }

 private:
  constexpr std::uint64_t encrypt(std::uint64_t x) const {
    const std::uint64_t mask = (std::uint64_t{1} << half_) - 1;
    std::uint64_t left = x >> half_, right = x & mask;
    for (std::uint64_t round = 0; round < 6; ++round) {
      const std::uint64_t next = left ^ (counter_hash(seed_ + round, right) & mask);
      left = right;
      right = next;
    }
    return left << half_ | right;
  }

  std::uint64_t size_;
  int half_;  // bits of one half
  std::uint64_t seed_;
};

namespace detail {

template <indexed Source>
class shuffled : public dataset<shuffled<Source>> {
 public:
  shuffled(Source source, std::uint64_t seed) : source_(std::move(source)), seed_(seed) {
    if (source_.size() < 1) throw error("shuffle: elements", std::to_string(source_.size()), "1 or more");
  }
  std::int64_t size() const { return source_.size(); }
  element<Source> operator[](std::int64_t index) const {
    const std::int64_t epoch = index / size();
    const permutation order(size(), counter_hash(seed_, static_cast<std::uint64_t>(epoch)));
    return source_[epoch * size() + order(index % size())];
  }

 private:
  Source source_;
  std::uint64_t seed_;
};

}  // namespace detail

struct shuffle_options {
  std::uint64_t seed = 0;
};

/// All elements of each epoch in a random order that depends on the seed and the epoch.
/// errors  tokamax::error for a source without elements
/// memory  none, whatever the number of elements
inline auto shuffle(shuffle_options options = {}) {
  return stage{[=](auto source) { return detail::shuffled(std::move(source), options.seed); }};
}

}  // namespace tokamax::data
