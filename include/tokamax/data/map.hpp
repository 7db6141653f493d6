// tokamax/data/map.hpp: a function applied to each element.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/data/counter_hash.hpp>  // counter_hash
#include <tokamax/data/stream/limit.hpp>  // counted_state
#include <tokamax/random/key.hpp>         // key

namespace tokamax::data {

namespace detail {

// Calls a function with the number of the element that a stage gives, and the element.
template <indexed Source, class F>
class mapped : public dataset<mapped<Source, F>> {
 public:
  mapped(Source source, F f) : source_(std::move(source)), f_(std::move(f)) {}
  const Source& source() const { return source_; }
  std::int64_t size() const { return source_.size(); }
  auto operator[](std::int64_t index) const { return f_(index, source_[index]); }

 private:
  Source source_;
  F f_;
};

// The same for streams.
template <class Source, class F>
class mapping {
  using ticket = std::pair<std::int64_t, ticket_of<Source>>;

 public:
  mapping(Source source, F f) : source_(std::move(source)), f_(std::move(f)) {}
  std::optional<ticket> take() {
    auto inner = source_.take();
    if (!inner) return std::nullopt;
    return ticket{count_++, std::move(*inner)};
  }
  auto make(ticket t) const { return f_(t.first, source_.make(std::move(t.second))); }
  counted_state<state_of<Source>> state() const { return {source_.state(), count_}; }
  void set_state(const counted_state<state_of<Source>>& state) {
    check_count(state.count, std::numeric_limits<std::int64_t>::max(), "map: state");
    source_.set_state(state.source);
    count_ = state.count;
  }

 private:
  Source source_;
  F f_;
  std::int64_t count_ = 0;
};

// A key that depends on a seed and the number of an element.
inline random::key key_of_element(std::uint64_t seed, std::int64_t index) {
  const std::uint64_t bits = counter_hash(seed, static_cast<std::uint64_t>(index));
  return random::key(
      array::from<std::uint32_t>({static_cast<std::uint32_t>(bits >> 32), static_cast<std::uint32_t>(bits)}));
}

template <class F>
auto map_stage(F f) {
  return stage{[f = std::move(f)](auto source) {
    if constexpr (stream<decltype(source)>)
      return make_staged<mapping>(std::move(source), f);
    else
      return mapped(std::move(source), f);
  }};
}

}  // namespace detail

/// Replaces each element by `f(element)`. `f` must give equal results for equal elements, so that a run can resume. If a
/// `prefetch` follows, `f` runs on other threads, as many at once as it has.
template <class F>
auto map(F f) {
  return detail::map_stage([f = std::move(f)](std::int64_t, auto&& element) { return f(std::move(element)); });
}

/// Replaces each element by `f(index, element)`; the index counts over all epochs.
/// source  grain.transforms.MapWithIndex
template <class F>
auto map_with_index(F f) {
  return detail::map_stage(
      [f = std::move(f)](std::int64_t index, auto&& element) { return f(index, std::move(element)); });
}

struct random_map_options {
  std::uint64_t seed = 0;
};

/// Replaces each element by `f(element, key)`. The key is that of its number, so that an element has the same one for any
/// number of threads and after each restart, and another one in each epoch.
/// source  grain.transforms.RandomMap
template <class F>
auto random_map(F f, random_map_options options = {}) {
  return detail::map_stage([f = std::move(f), seed = options.seed](std::int64_t index, auto&& element) {
    return f(std::move(element), detail::key_of_element(seed, index));
  });
}

}  // namespace tokamax::data
