// tokamax/data/stream/filter.hpp: the elements for which a function holds.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/data/stream/stages.cpp
#pragma once

#include <tokamax/data/stream/stream.hpp>  // stream_stage

namespace tokamax::data {

struct filter_options {
  std::int64_t longest_gap =
      1'000'000;  ///< so many elements in a row for which the function does not hold are an error
};

namespace detail {

template <class Source, class F, class Options>
class filtering : public makes_at_once<made_by<Source>> {
 public:
  filtering(Source source, F f, Options options) : source_(std::move(source)), f_(std::move(f)), options_(options) {}
  std::optional<made_by<Source>> take() {
    for (std::int64_t dropped = 0; dropped < options_.longest_gap; ++dropped) {
      auto ticket = source_.take();
      if (!ticket) return std::nullopt;
      made_by<Source> e = source_.make(std::move(*ticket));
      if (f_(std::as_const(e))) return e;
    }
    throw error("filter: elements that are kept", "none of " + std::to_string(options_.longest_gap) + " in a row",
                "some, or a larger longest_gap");
  }
  state_of<Source> state() const { return source_.state(); }
  void set_state(const state_of<Source>& state) { source_.set_state(state); }

 private:
  Source source_;
  F f_;
  Options options_;
};

}  // namespace detail

/// Keeps the elements for which `keep(element)` is true.
/// errors  tokamax::error where a long gap shows that nothing fits, which without an end of the data would never return
/// source  grain.transforms.Filter
template <class F>
auto filter(F keep, filter_options options = {}) {
  detail::at_least_one(options.longest_gap, "filter: longest_gap");
  return detail::stream_stage<detail::filtering>(std::move(keep), options);
}

}  // namespace tokamax::data
