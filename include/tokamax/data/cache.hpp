// tokamax/data/cache.hpp: elements that are made once and kept in memory.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/data/stream/stages.cpp
#pragma once

#include <tokamax/data/dataset.hpp>  // dataset, stage

#include <memory>  // shared_ptr
#include <mutex>   // once_flag
#include <vector>  // vector

namespace tokamax::data {

namespace detail {

template <indexed Source>
class cached : public dataset<cached<Source>> {
 public:
  explicit cached(Source source)
      : source_(std::move(source)), slots_(std::make_shared<std::vector<slot>>(source_.size())) {}
  const Source& source() const { return source_; }
  std::int64_t size() const { return source_.size(); }
  element<Source> operator[](std::int64_t index) const {
    slot& s = (*slots_)[static_cast<std::size_t>(index % size())];
    std::call_once(s.once, [&] { s.value.emplace(source_[index % size()]); });
    return *s.value;
  }

 private:
  struct slot {
    std::once_flag once;
    std::optional<element<Source>> value;
  };
  Source source_;
  std::shared_ptr<std::vector<slot>> slots_;
};

}  // namespace detail

/// Keeps each element of the first epoch when it is read first, and gives it again in later epochs. All readers of a pipeline
/// share what is kept. Elements of arrays share their data.
/// source  grain.experimental.CacheIterDataset
inline auto cache() {
  return stage{[](auto source) {
    static_assert(random_access<decltype(source)>, "tokamax: cache needs elements by index");
    return detail::cached(std::move(source));
  }};
}

}  // namespace tokamax::data
