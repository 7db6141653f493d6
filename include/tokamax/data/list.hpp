// tokamax/data/list.hpp: elements that are in memory, and numbers.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/data/stream/stages.cpp
#pragma once

#include <tokamax/data/dataset.hpp>  // dataset

#include <memory>  // shared_ptr
#include <vector>  // vector

namespace tokamax::data {

/// The elements of a vector, which copies share.
/// source  grain.MapDataset.source
template <class T>
class list : public dataset<list<T>> {
 public:
  explicit list(std::vector<T> elements) : elements_(std::make_shared<const std::vector<T>>(std::move(elements))) {}
  std::int64_t size() const { return static_cast<std::int64_t>(elements_->size()); }
  T operator[](std::int64_t index) const { return (*elements_)[static_cast<std::size_t>(index % size())]; }

 private:
  std::shared_ptr<const std::vector<T>> elements_;
};

/// The numbers from `first` to below `end`.
/// source  grain.MapDataset.range
class range : public dataset<range> {
 public:
  explicit range(std::int64_t end) : range(0, end) {}
  range(std::int64_t first, std::int64_t end, std::int64_t stride = 1)
      : first_(first), stride_(stride), size_(stride < 1 || end < first ? 0 : (end - first + stride - 1) / stride) {
    if (stride < 1) throw error("range: stride", std::to_string(stride), "1 or more");
  }
  std::int64_t size() const { return size_; }
  std::int64_t operator[](std::int64_t index) const { return first_ + index % size_ * stride_; }

 private:
  std::int64_t first_, stride_, size_;
};

}  // namespace tokamax::data
