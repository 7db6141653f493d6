// tokamax/data/slice.hpp: a part of a dataset.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/data/stream/stages.cpp
#pragma once

#include <tokamax/data/dataset.hpp>  // dataset, stage

#include <algorithm>  // clamp

namespace tokamax::data {

namespace detail {

template <indexed Source>
class sliced : public dataset<sliced<Source>> {
 public:
  sliced(Source source, std::int64_t first, std::int64_t end, std::int64_t stride)
      : source_(std::move(source)),
        first_(std::clamp<std::int64_t>(first, 0, source_.size())),
        stride_(stride),
        size_(std::max<std::int64_t>(0, std::min(end, source_.size()) - first_ + stride - 1) / stride) {}
  const Source& source() const { return source_; }
  std::int64_t size() const { return size_; }
  element<Source> operator[](std::int64_t index) const {
    return source_[index / size_ * source_.size() + first_ + index % size_ * stride_];
  }

 private:
  Source source_;
  std::int64_t first_, stride_, size_;
};

}  // namespace detail

/// Elements `first`, `first + stride`, ... below `end` of each epoch; those that are not there are left out. Every third one
/// for the second of three processes is `slice(1, all, 3)`.
/// errors  tokamax::error for a negative number or a stride of 0
/// source  grain.MapDataset.slice
inline auto slice(std::int64_t first, std::int64_t end, std::int64_t stride = 1) {
  if (first < 0 || end < 0 || stride < 1)
    throw error("slice: first, end, stride",
                std::to_string(first) + ", " + std::to_string(end) + ", " + std::to_string(stride),
                "first and end from 0, stride from 1 on");
  return stage{[=](auto source) {
    static_assert(random_access<decltype(source)>,
                  "tokamax: slice needs elements by index; limit and shard take streams");
    return detail::sliced(std::move(source), first, end, stride);
  }};
}

}  // namespace tokamax::data
