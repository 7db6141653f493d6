// tokamax/data/windows.hpp: pieces of a token sequence, all with the same length.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/data/counter_hash.hpp>  // counter_hash
#include <tokamax/data/dataset.hpp>       // dataset, stage

#include <string>  // string, to_string

namespace tokamax::data {

/// `size()` tokens from `start` on. They stay in the sequence and are not copied.
template <indexed Tokens>
struct window {
  Tokens tokens;
  std::int64_t start, length;
  std::int64_t size() const { return length; }
  std::int32_t operator[](std::int64_t i) const { return tokens[start + i]; }
};

namespace detail {

// How many windows of `length` tokens start at 0, stride, 2 stride...
template <indexed Tokens>
std::int64_t count_windows(const Tokens& tokens, std::int64_t length, std::int64_t stride) {
  if (length < 1 || stride < 1)
    throw error("windows: length and stride", std::to_string(length) + " and " + std::to_string(stride), "1 or more");
  if (tokens.size() < length) {
    std::string where;
    if constexpr (requires { tokens.name(); }) where = tokens.name();
    throw error(
        "windows: length of the text", std::to_string(tokens.size()) + " tokens",
        std::to_string(length) + " or more (a context of " + std::to_string(length - 1) + " and the token after it)",
        where);
  }
  return (tokens.size() - length) / stride + 1;
}

template <indexed Tokens>
class windowed : public dataset<windowed<Tokens>> {
 public:
  windowed(Tokens tokens, std::int64_t length, std::int64_t stride)
      : tokens_(std::move(tokens)), length_(length), stride_(stride), size_(count_windows(tokens_, length, stride)) {}
  std::int64_t size() const { return size_; }
  window<Tokens> operator[](std::int64_t index) const { return {tokens_, index % size_ * stride_, length_}; }

 private:
  Tokens tokens_;
  std::int64_t length_, stride_, size_;
};

template <indexed Tokens>
class randomly_windowed : public dataset<randomly_windowed<Tokens>> {
 public:
  randomly_windowed(Tokens tokens, std::int64_t length, std::uint64_t seed)
      : tokens_(std::move(tokens)), length_(length), size_(count_windows(tokens_, length, 1)), seed_(seed) {}
  std::int64_t size() const { return size_; }
  window<Tokens> operator[](std::int64_t index) const {
    const std::uint64_t bits = counter_hash(seed_, static_cast<std::uint64_t>(index));
    return {tokens_, static_cast<std::int64_t>(bits % static_cast<std::uint64_t>(size_)), length_};
  }

 private:
  Tokens tokens_;
  std::int64_t length_, size_;
  std::uint64_t seed_;
};

}  // namespace detail

struct windows_options {
  std::int64_t stride = 1;  ///< distance between two starts; `length - 1` gives contexts that do not overlap
};

/// All windows of `length` tokens, in the order of their starts. A context of n tokens and their targets are a window of
/// length n + 1.
/// errors  tokamax::error that names the text and both lengths if the text is shorter than a window
inline auto windows(std::int64_t length, windows_options options = {}) {
  return stage{[=](auto tokens) { return detail::windowed(std::move(tokens), length, options.stride); }};
}

struct random_windows_options {
  std::uint64_t seed = 0;
};

/// Windows with uniformly random starts, drawn with replacement: window i is a function of (seed, i) alone.
/// errors  as `windows`
/// source  the batches of nanoGPT
inline auto random_windows(std::int64_t length, random_windows_options options = {}) {
  return stage{[=](auto tokens) { return detail::randomly_windowed(std::move(tokens), length, options.seed); }};
}

}  // namespace tokamax::data
