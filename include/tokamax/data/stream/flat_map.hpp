// tokamax/data/stream/flat_map.hpp: any number of elements in place of each one.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/data/stream/stages.cpp
#pragma once

#include <tokamax/data/stream/stream.hpp>  // stream_stage

#include <vector>  // vector

namespace tokamax::data {

/// The state of `flat_map`: that of the source before the element whose list is being given, and how many were given of it.
template <class Source>
struct flat_map_state {
  Source source;
  std::int64_t given = 0;
  bool inside = false;
};

namespace detail {

template <class F, class Element>
using listed_by = std::remove_cvref_t<decltype(*std::begin(std::declval<F&>()(std::declval<Element>())))>;

template <class Source, class F>
class flat_mapping : public makes_at_once<listed_by<const F, made_by<Source>>> {
  using value = listed_by<const F, made_by<Source>>;

 public:
  flat_mapping(Source source, F f) : source_(std::move(source)), f_(std::move(f)), before_{source_.state()} {}
  std::optional<value> take() {
    while (before_.given == static_cast<std::int64_t>(list_.size())) {
      before_ = {source_.state()};
      list_.clear();
      if (!open()) return std::nullopt;
    }
    return list_[static_cast<std::size_t>(before_.given++)];
  }
  flat_map_state<state_of<Source>> state() const { return before_; }
  void set_state(const flat_map_state<state_of<Source>>& state) {
    source_.set_state(state.source);
    before_ = {state.source};
    list_.clear();
    if (!state.inside) return;
    open();
    check_count(state.given, static_cast<std::int64_t>(list_.size()), "flat_map: state");
    before_.given = state.given;
  }

 private:
  bool open() {
    auto ticket = source_.take();
    if (!ticket) return false;
    for (auto&& one : f_(source_.make(std::move(*ticket)))) list_.push_back(std::move(one));
    before_.inside = true;
    return true;
  }

  Source source_;
  F f_;
  std::vector<value> list_;
  flat_map_state<state_of<Source>> before_;
};

}  // namespace detail

/// Replaces each element by those of the list `f(element)`, which may be empty.
/// source  grain.transforms.FlatMap
template <class F>
auto flat_map(F f) {
  return detail::stream_stage<detail::flat_mapping>(std::move(f));
}

}  // namespace tokamax::data
