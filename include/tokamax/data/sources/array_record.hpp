// tokamax/data/sources/array_record.hpp: ArrayRecord's files, in which records are found by their number.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/data/sources/sources.cpp
#pragma once

#include <tokamax/base/codec.hpp>                 // zstd_codec
#include <tokamax/data/dataset.hpp>               // dataset
#include <tokamax/data/sources/file_bytes.hpp>    // file_bytes
#include <tokamax/data/sources/highway_hash.hpp>  // highway_hash
#include <tokamax/data/sources/proto.hpp>         // proto_reader

#include <algorithm>  // upper_bound
#include <memory>     // shared_ptr
#include <vector>     // vector

namespace tokamax::data {

namespace detail {
inline std::uint64_t riegeli_hash(std::string_view bytes) {
  constexpr std::uint64_t first = 0x2f696c6567656952, second = 0x0a7364726f636572;  // "Riegeli/", "records\n"
  return highway_hash(bytes, {first, second, first, second});
}
inline constexpr std::uint64_t riegeli_block = 1 << 16, riegeli_block_header = 24, riegeli_chunk_header = 40;
}  // namespace detail

/// The records of an ArrayRecord file, by index, without compression or with zstd (zstd.hpp) in groups of any size. Opening it
/// reads the table at its end; each read checks the hashes of the group in which the record lies.
/// source  github.com/google/array_record; github.com/google/riegeli, "Riegeli/records file format specification"
class array_record : public dataset<array_record> {
 public:
  /// errors  tokamax::error that names the file and the byte where it is not in the format, damaged, or compressed otherwise
  explicit array_record(const std::string& path) : file_(path) {
    constexpr std::uint64_t block = detail::riegeli_block;
    if (file_.size() < block)
      file_.fail("array_record: file", 0, std::to_string(file_.size()) + " bytes", "blocks of 64 KiB");
    const std::vector<std::string> last = read((file_.size() - 1) / block * block);
    if (last.empty()) file_.fail("array_record: postscript", file_.size(), "none", "a record");
    std::vector<std::string> table = read(field(last[0], 1));
    auto groups = std::make_shared<std::vector<group>>();
    for (std::size_t i = 1; i < table.size(); ++i) {  // the first one has options of the writer
      const std::uint64_t count = field(table[i], 3);
      if (count > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max() - size_))
        file_.fail("array_record: records", 0, std::to_string(count), "less than 2^63 in all");
      size_ += static_cast<std::int64_t>(count);
      groups->push_back({field(table[i], 1), size_});
    }
    groups_ = std::move(groups);
  }
  std::int64_t size() const { return size_; }
  std::string operator[](std::int64_t index) const {
    const std::int64_t within = index % size_;
    const auto at = std::ranges::upper_bound(*groups_, within, {}, &group::end);
    const std::int64_t first = at == groups_->begin() ? 0 : std::prev(at)->end;
    std::vector<std::string> records = read(at->place);
    const auto i = static_cast<std::size_t>(within - first);
    if (i >= records.size())
      file_.fail("array_record: group", at->place, std::to_string(records.size()) + " records", "more");
    return std::move(records[i]);
  }

 private:
  struct group {
    std::uint64_t place;
    std::int64_t end;  // records before its end
  };

  static std::uint64_t field(std::string_view message, std::uint64_t number) {
    for (detail::proto_reader fields(message); !fields.empty();)
      if (const auto one = fields.next(); one.number == number) return one.value;
    return 0;
  }
  // Bytes that go on behind the header of 24 bytes of each block.
  std::string take(std::uint64_t& at, std::uint64_t count, const char* what) const {
    if (count > file_.size()) file_.fail(what, at, std::to_string(count) + " bytes", "less than the file");
    std::string result;
    while (result.size() < count) {
      constexpr std::uint64_t block = detail::riegeli_block;
      if (at % block == 0) at += detail::riegeli_block_header;
      const std::uint64_t piece = std::min<std::uint64_t>(count - result.size(), block - at % block);
      result += file_.part(at, piece, what);
      at += piece;
    }
    return result;
  }
  // A part of a chunk, as it was before it was compressed.
  std::string unpacked(std::string_view part, char compression, std::uint64_t place) const {
    if (compression == 0) return std::string(part);
    constexpr std::uint64_t most = std::uint64_t{1} << 30;  // the format allows 4 GiB
    detail::proto_reader fields(part);
    const std::uint64_t size = fields.varint();
    if (size > most)
      file_.fail("array_record: group", place, std::to_string(size) + " bytes", "at most " + std::to_string(most));
    std::string result =
        zstd_codec(file_.path()).decompress(fields.rest(), size, file_.path() + ", byte " + std::to_string(place));
    if (result.size() != size)
      file_.fail("array_record: group", place, std::to_string(result.size()) + " bytes", std::to_string(size));
    return result;
  }
  // The records of the chunk at a place.
  std::vector<std::string> read(std::uint64_t place) const {
    std::uint64_t at = place;
    const std::string header = take(at, detail::riegeli_chunk_header, "array_record: header");
    std::uint64_t words[5];  // hash of the header, size, hash of the data, kind and number of records, bytes of records
    std::memcpy(words, header.data(), sizeof words);
    if (words[0] != detail::riegeli_hash(std::string_view(header).substr(8)))
      file_.fail("array_record: header", place, "another hash", "that of its bytes");
    const std::string data = take(at, words[1], "array_record: chunk");
    if (words[2] != detail::riegeli_hash(data))
      file_.fail("array_record: chunk", place, "another hash", "that of its bytes");
    if ((words[3] & 255) != 'r') file_.fail("array_record: chunk", place, "another kind", "one of records");
    const std::uint64_t count = words[3] >> 8;
    detail::proto_reader chunk(data);
    const char compression = chunk.take(1)[0];
    if (compression != 0 && compression != 'z')
      file_.fail("array_record: chunk", place, std::string("compression ") + compression,
                 "a writer with the option uncompressed or zstd");
    const std::string lengths = unpacked(chunk.take(chunk.varint()), compression, place),
                      values = unpacked(chunk.rest(), compression, place);
    detail::proto_reader sizes(lengths), bytes(values);
    std::vector<std::string> result;
    for (std::uint64_t i = 0; i < count; ++i) result.emplace_back(bytes.take(sizes.varint()));
    return result;
  }

  file_bytes file_;
  std::shared_ptr<const std::vector<group>> groups_;
  std::int64_t size_ = 0;
};

}  // namespace tokamax::data
