// tokamax/data/rows.hpp: the rows of arrays as elements.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/data/sources/sources.cpp
#pragma once

#include <tokamax/base/tree.hpp>     // for_each_leaf
#include <tokamax/core/array.hpp>    // array
#include <tokamax/data/dataset.hpp>  // dataset

#include <cstring>  // memcpy
#include <vector>   // vector

namespace tokamax::data {

/// The rows of the arrays of a record: element i has `leaf[i]` of each. A `batch` takes many of them at once, so that each row
/// is copied once.
template <class Record>
class rows : public dataset<rows<Record>> {
 public:
  /// errors  tokamax::error if the arrays have different numbers of rows, or none
  explicit rows(Record arrays) : all_(std::move(arrays)) {
    for_each_leaf(
        [&](const array& leaf) {
          if (!leaf.is_concrete() || leaf.rank() < 1 || (size_ >= 0 && leaf.extent(0) != size_))
            throw error(error_kind::shape, "rows: array", std::string(message{leaf.type()}.view()),
                        size_ < 0 ? "[n, ...] with data" : std::to_string(size_) + " rows, as in the first");
          size_ = leaf.extent(0);
        },
        all_);
    if (size_ < 0) throw error(error_kind::shape, "rows: arrays", "none", "at least one");
  }
  std::int64_t size() const { return size_; }
  Record operator[](std::int64_t index) const {
    Record result = gather({index});
    for_each_leaf(
        [&](array& leaf) {
          array_type type = leaf.type();
          type.shape = {};
          for (int axis = 1; axis < leaf.rank(); ++axis) type.shape.push_back(leaf.extent(axis));
          leaf = array(leaf.storage(), type);
        },
        result);
    return result;
  }
  /// The rows of these indices in a record of arrays [B, ...].
  Record gather(const std::vector<std::int64_t>& indices) const {
    Record result = all_;
    for_each_leaf(
        [&](array& leaf) {
          array_type type = leaf.type();
          type.shape[0] = static_cast<std::int64_t>(indices.size());
          array some = array::uninitialized(type);
          const auto bytes =
              static_cast<std::size_t>(leaf.size() / std::max<std::int64_t>(size_, 1) * size_of(type.dtype));
          std::byte* to = some.mutable_bytes();
          const std::byte* const from = leaf.bytes();
          for (const std::int64_t index : indices) {
            const std::int64_t row = index < size_ ? index : index % size_;
            std::memcpy(to, from + static_cast<std::size_t>(row) * bytes, bytes);
            to += bytes;
          }
          leaf = some;
        },
        result);
    return result;
  }

 private:
  Record all_;
  std::int64_t size_ = -1;
};

}  // namespace tokamax::data
