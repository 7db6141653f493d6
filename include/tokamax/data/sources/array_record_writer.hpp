// tokamax/data/sources/array_record_writer.hpp: writes ArrayRecord's files.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/data/sources/sources.cpp
#pragma once

#include <tokamax/data/sources/array_record.hpp>  // riegeli_hash

#include <array>  // array

namespace tokamax::data {

struct array_record_options {
  std::int64_t group_size = 1;  ///< records that are compressed, checked and read together
  bool zstd = false;            ///< compresses groups; needs zstd.hpp
};

/// Writes a file that ArrayRecord and `array_record` read. Memory is that of a group and 1 MiB, and 24 bytes for each group of the file.
/// source  as array_record
class array_record_writer {
 public:
  /// errors  tokamax::error for a group of less than one record, a file that cannot be written, or a program without zstd
  explicit array_record_writer(const std::string& path, array_record_options options = {})
      : path_(path), file_(path), options_(options) {
    if (options.group_size < 1)
      throw error("array_record_writer: group_size", std::to_string(options.group_size), "1 or more", path);
    if (options.zstd) zstd_codec(path);
    put_chunk('s', 0, 0, {});
  }
  void write(std::string_view record) {
    detail::put_varint(sizes_, record.size());
    values_ += record;
    if (++count_ == options_.group_size) end_group();
  }
  /// The file is on the disk when this returns.
  void finish() {
    if (count_ > 0) end_group();
    std::string about, all;
    detail::put_number(about, 1, 1);  // version
    detail::put_number(about, 2, groups_.size());
    detail::put_number(about, 3, records_);
    detail::put_bytes(
        about, 4, "group_size:" + std::to_string(options_.group_size) + (options_.zstd ? ",zstd" : ",uncompressed"));
    detail::put_bytes(all, 1, about);
    const std::size_t groups = groups_.size();
    const std::uint64_t table = at_;
    put_record(all);
    for (std::size_t i = 0; i < groups; ++i) {
      std::string entry;
      detail::put_number(entry, 1, groups_[i].place);
      detail::put_number(entry, 2, groups_[i].bytes);
      detail::put_number(entry, 3, groups_[i].records);
      put_record(entry);
    }
    end_chunk();
    pad();
    std::string last;
    detail::put_number(last, 1, table);
    detail::put_number(last, 2, 0x71930e704fdae05e);
    for (int copy = 0; copy < 3; ++copy) put_record(last);
    end_chunk();
    pad();
    flush();
    file_.finish();
  }

 private:
  struct group {
    std::uint64_t place, bytes, records;
  };

  void put_record(std::string_view record) {
    detail::put_varint(sizes_, record.size());
    values_ += record;
    ++count_;
  }
  void end_group() {
    groups_.push_back({at_, values_.size(), static_cast<std::uint64_t>(count_)});
    records_ += static_cast<std::uint64_t>(count_);
    end_chunk();
  }
  std::string packed(const std::string& part) const {
    if (!options_.zstd) return part;
    std::string result;
    detail::put_varint(result, part.size());
    return result + zstd_codec(path_).compress(part);
  }
  // The records that wait become a chunk.
  void end_chunk() {
    const std::string sizes = packed(sizes_);
    std::string data(1, options_.zstd ? 'z' : '\0');
    detail::put_varint(data, sizes.size());
    data += sizes;
    data += packed(values_);
    put_chunk('r', static_cast<std::uint64_t>(count_), values_.size(), data);
    sizes_.clear();
    values_.clear();
    count_ = 0;
  }
  // The place behind `count` bytes from a place on, with the headers of the blocks between.
  static std::uint64_t behind(std::uint64_t at, std::uint64_t count) {
    while (count > 0) {
      if (at % detail::riegeli_block == 0) at += detail::riegeli_block_header;
      const std::uint64_t piece = std::min(count, detail::riegeli_block - at % detail::riegeli_block);
      at += piece;
      count -= piece;
    }
    return at;
  }
  void put_chunk(char kind, std::uint64_t records, std::uint64_t bytes, std::string_view data) {
    const std::array<std::uint64_t, 4> words{data.size(), detail::riegeli_hash(data),
                                             static_cast<unsigned char>(kind) | records << 8, bytes};
    const std::string_view rest(reinterpret_cast<const char*>(words.data()), sizeof words);
    const std::uint64_t begin = at_, hash = detail::riegeli_hash(rest);
    std::string all(reinterpret_cast<const char*>(&hash), 8);
    all.append(rest).append(data);
    // A chunk is at least as long as the number of its records, each of which has a place of its own.
    std::uint64_t end = behind(begin, all.size());
    for (; end < begin + records; end = behind(begin, all.size())) all.append(begin + records - end, '\0');
    for (std::string_view left = all; !left.empty();) {
      if (at_ % detail::riegeli_block == 0) put_block_header(begin, end);
      const std::uint64_t room = detail::riegeli_block - at_ % detail::riegeli_block;
      put(left.substr(0, static_cast<std::size_t>(room)));
      left.remove_prefix(static_cast<std::size_t>(std::min<std::uint64_t>(room, left.size())));
    }
  }
  void put_block_header(std::uint64_t chunk_begin, std::uint64_t chunk_end) {
    const std::array<std::uint64_t, 2> words{at_ - chunk_begin, chunk_end - at_};
    const std::string_view rest(reinterpret_cast<const char*>(words.data()), sizeof words);
    const std::uint64_t hash = detail::riegeli_hash(rest);
    put(std::string(reinterpret_cast<const char*>(&hash), 8).append(rest));
  }
  void put(std::string_view bytes) {
    at_ += bytes.size();
    waiting_ += bytes;
    if (waiting_.size() >= 1 << 20) flush();
  }
  void flush() {
    file_.write(std::as_bytes(std::span(waiting_)));
    waiting_.clear();
  }
  // Zeros up to the end of the block, or of the next one if they do not have room for the header of a chunk.
  void pad() {
    std::uint64_t length = (detail::riegeli_block - at_ % detail::riegeli_block) % detail::riegeli_block;
    if (length == 0) return;
    if (length < detail::riegeli_chunk_header) length += detail::riegeli_block - detail::riegeli_block_header;
    put_chunk('p', 0, 0, std::string(static_cast<std::size_t>(length - detail::riegeli_chunk_header), '\0'));
  }

  std::string path_;
  output_file file_;
  array_record_options options_;
  std::uint64_t at_ = 0, records_ = 0;
  std::int64_t count_ = 0;
  std::string sizes_, values_, waiting_;
  std::vector<group> groups_;
};

}  // namespace tokamax::data
