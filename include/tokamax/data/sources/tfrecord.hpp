// tokamax/data/sources/tfrecord.hpp: TensorFlow's files of records.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/data/sources/sources.cpp
#pragma once

#include <tokamax/checkpoint/crc32c.hpp>        // crc32c
#include <tokamax/data/dataset.hpp>             // dataset
#include <tokamax/data/sources/file_bytes.hpp>  // file_bytes

#include <memory>  // shared_ptr
#include <vector>  // vector

namespace tokamax::data {

namespace detail {
// The checksum as these files have it, so that that of a text with its checksum behind it is not always the same.
inline std::uint32_t masked_crc(std::string_view bytes) {
  const std::uint32_t crc = checkpoint::crc32c(std::as_bytes(std::span(bytes)));
  return (crc >> 15 | crc << 17) + 0xa282ead8u;
}
}  // namespace detail

/// The records of a TFRecord file, by index. Opening it reads the length of each record, and 8 bytes of memory a record keep
/// their places.
/// source  tensorflow.org, "TFRecord and tf.train.Example", "TFRecords format details"
class tfrecord : public dataset<tfrecord> {
 public:
  /// errors  tokamax::error that names the file and the byte if it is cut off or a length is damaged
  explicit tfrecord(const std::string& path) : file_(path) {
    auto places = std::make_shared<std::vector<std::uint64_t>>();
    for (std::uint64_t at = 0; at < file_.size();) {
      places->push_back(at);
      at += length(at) + 16;
    }
    places_ = std::move(places);
  }
  std::int64_t size() const { return static_cast<std::int64_t>(places_->size()); }
  /// errors  tokamax::error if the checksum shows that the record is damaged
  std::string operator[](std::int64_t index) const {
    const std::uint64_t at = (*places_)[static_cast<std::size_t>(index % size())], bytes = length(at);
    const std::string_view data = file_.part(at + 12, bytes, "tfrecord: record");
    if (file_.number<std::uint32_t>(at + 12 + bytes, "tfrecord: checksum") != detail::masked_crc(data))
      file_.fail("tfrecord: record", at, "another checksum", "that of its bytes");
    return std::string(data);
  }

 private:
  std::uint64_t length(std::uint64_t at) const {
    const std::string_view bytes = file_.part(at, 8, "tfrecord: length");
    if (file_.number<std::uint32_t>(at + 8, "tfrecord: checksum of a length") != detail::masked_crc(bytes))
      file_.fail("tfrecord: length", at, "another checksum", "that of its bytes");
    const auto result = file_.number<std::uint64_t>(at, "tfrecord: length");
    if (result > file_.size())
      file_.fail("tfrecord: length", at, std::to_string(result) + " bytes", "less than the file");
    file_.part(at, result + 16, "tfrecord: record");
    return result;
  }

  file_bytes file_;
  std::shared_ptr<const std::vector<std::uint64_t>> places_;
};

/// Writes a TFRecord file.
class tfrecord_writer {
 public:
  explicit tfrecord_writer(const std::string& path) : file_(path) {}
  void write(std::string_view record) {
    const std::uint64_t length = record.size();
    std::string frame(reinterpret_cast<const char*>(&length), 8);
    const std::uint32_t of_length = detail::masked_crc(frame), of_record = detail::masked_crc(record);
    frame.append(reinterpret_cast<const char*>(&of_length), 4).append(record);
    frame.append(reinterpret_cast<const char*>(&of_record), 4);
    file_.write(std::as_bytes(std::span(frame)));
  }
  /// The file is on the disk when this returns.
  void finish() { file_.finish(); }

 private:
  output_file file_;
};

}  // namespace tokamax::data
