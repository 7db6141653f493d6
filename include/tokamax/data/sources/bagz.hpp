// tokamax/data/sources/bagz.hpp: files of records with an index at their end.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/data/sources/sources.cpp
#pragma once

#include <tokamax/data/dataset.hpp>             // dataset
#include <tokamax/data/sources/file_bytes.hpp>  // file_bytes

#include <vector>  // vector

namespace tokamax::data {

/// The records of a Bagz file that is not compressed (.bag), by index. It takes no memory for their places.
/// source  github.com/google-deepmind/bagz, "Format": the records, then the end of each in 8 bytes
class bagz : public dataset<bagz> {
 public:
  /// errors  tokamax::error that names the file and the byte if the index is damaged; so does reading a record
  explicit bagz(const std::string& path) : file_(path) {
    if (file_.size() == 0) return;
    const std::uint64_t last = file_.size() < 8 ? 0 : file_.size() - 8;
    index_ = file_.number<std::uint64_t>(last, "bagz: index");
    if (index_ > last || (file_.size() - index_) % 8 != 0)
      file_.fail("bagz: index", last, "byte " + std::to_string(index_), "a place of whole numbers before the end");
    size_ = static_cast<std::int64_t>((file_.size() - index_) / 8);
  }
  std::int64_t size() const { return size_; }
  std::string operator[](std::int64_t index) const {
    const auto i = static_cast<std::uint64_t>(index % size_);
    const std::uint64_t begin = i == 0 ? 0 : end(i - 1), last = end(i);
    if (begin > last || last > index_)
      file_.fail("bagz: record " + std::to_string(i), index_ + 8 * i,
                 std::to_string(begin) + " to " + std::to_string(last), "an increasing end before the index");
    return std::string(file_.part(begin, last - begin, "bagz: record"));
  }

 private:
  std::uint64_t end(std::uint64_t i) const { return file_.number<std::uint64_t>(index_ + 8 * i, "bagz: index"); }

  file_bytes file_;
  std::uint64_t index_ = 0;
  std::int64_t size_ = 0;
};

/// Writes a Bagz file without compression.
class bagz_writer {
 public:
  explicit bagz_writer(const std::string& path) : file_(path) {}
  void write(std::string_view record) {
    file_.write(std::as_bytes(std::span(record)));
    ends_.push_back((ends_.empty() ? 0 : ends_.back()) + record.size());
  }
  /// The file is on the disk when this returns.
  void finish() {
    file_.write(std::as_bytes(std::span(ends_)));
    file_.finish();
  }

 private:
  output_file file_;
  std::vector<std::uint64_t> ends_;
};

}  // namespace tokamax::data
