// tokamax/data/map.hpp: a function applied to each element.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/data/dataset.hpp>  // dataset, stage

namespace tokamax::data {

namespace detail {

template <indexed Source, class F>
class mapped : public dataset<mapped<Source, F>> {
 public:
  mapped(Source source, F f) : source_(std::move(source)), f_(std::move(f)) {}
  std::int64_t size() const { return source_.size(); }
  auto operator[](std::int64_t index) const { return f_(source_[index]); }

 private:
  Source source_;
  F f_;
};

}  // namespace detail

/// Replaces each element by `f(element)`. `f` must give equal results for equal elements, so that a run can resume. If a
/// `prefetch` follows, `f` runs on another thread.
template <class F>
auto map(F f) {
  return stage{[f = std::move(f)](auto source) { return detail::mapped(std::move(source), f); }};
}

}  // namespace tokamax::data
