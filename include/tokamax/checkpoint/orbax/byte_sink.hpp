// tokamax/checkpoint/orbax/byte_sink.hpp: writes bytes by key, into the files of a folder or into an OCDBT database.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs write for Orbax)
// tested by tests/checkpoint/orbax/save_orbax.cpp
#pragma once

#include <tokamax/base/compiled_once.hpp>  // TOKAMAX_FILES_COMPILED_ONCE

#include <cstddef>     // byte
#include <filesystem>  // path
#include <functional>  // function
#include <memory>      // unique_ptr
#include <span>        // span
#include <string>      // string

#if defined(TOKAMAX_FILES_COMPILED_ONCE)
  #include <tokamax/base/system/folder.hpp>  // make_folders
  #include <tokamax/checkpoint/crc32c.hpp>   // crc32c

  #include <chrono>  // system_clock
  #include <map>     // map
  #include <random>  // random_device
  #include <set>     // set
#endif

namespace tokamax::checkpoint::detail {

using byte_writer = std::function<void(std::span<const std::byte>)>;

// Arrays are handed over in pieces, so that a save needs no memory of their size.
class byte_sink {
 public:
  virtual ~byte_sink() = default;
  /// Writes what `fill` hands to its argument, piece by piece.
  virtual void put(const std::string& key, const std::function<void(const byte_writer&)>& fill) = 0;
  /// Everything is on the disk when this returns.
  virtual void finish() = 0;
};

std::unique_ptr<byte_sink> make_file_sink(const std::filesystem::path& folder);
/// source  as read_ocdbt; a database of one version and one node, without compression
std::unique_ptr<byte_sink> make_ocdbt_sink(const std::filesystem::path& folder);

#if defined(TOKAMAX_FILES_COMPILED_ONCE)
// A file for each key, on the disk as soon as it is written.
class file_sink final : public byte_sink {
 public:
  explicit file_sink(std::filesystem::path folder) : folder_(std::move(folder)) {}
  void put(const std::string& key, const std::function<void(const byte_writer&)>& fill) override {
    const std::filesystem::path path = folder_ / key;
    make_folders(path.parent_path());
    folders_.insert(path.parent_path());
    output_file file(path);
    fill([&](std::span<const std::byte> bytes) { file.write(bytes); });
    file.finish();
  }
  void finish() override {
    for (const std::filesystem::path& folder : folders_) sync_folder(folder);
  }

 private:
  std::filesystem::path folder_;
  std::set<std::filesystem::path> folders_;
};
TOKAMAX_FILES_COMPILED_ONCE std::unique_ptr<byte_sink> make_file_sink(const std::filesystem::path& folder) {
  return std::make_unique<file_sink>(folder);
}

// The values of all keys and then the node lie in one file. Its name is random, as those of TensorStore are, so that databases may be
// merged without two files of one name. The manifest comes last: without it there is no database.
class ocdbt_sink final : public byte_sink {
 public:
  explicit ocdbt_sink(const std::filesystem::path& folder)
      : folder_(folder), name_("d/" + random_text(true)), file_(made(folder) / name_) {}
  void put(const std::string& key, const std::function<void(const byte_writer&)>& fill) override {
    const std::uint64_t begin = at_;
    fill([&](std::span<const std::byte> bytes) { write(bytes); });
    values_[key] = {begin, at_ - begin};
  }
  void finish() override {
    const std::uint64_t values = at_;
    std::string body(1, '\0');  // height 0
    put_table(body);
    put_number(body, values_.size());
    // A node has its fields in columns, of which the first has no entry for the first key.
    std::string suffixes, keys, lengths, kinds, ids, offsets;
    for (const auto& [key, place] : values_) {
      if (!keys.empty()) put_number(body, 0);  // nothing is shared with the key before
      put_number(suffixes, key.size());
      keys += key;
      put_number(lengths, place.second);
      put_number(kinds, 1);  // elsewhere
      put_number(ids, 0);
      put_number(offsets, place.first);
    }
    body += suffixes + keys + lengths + kinds + ids + offsets;
    const std::string node = framed(0x0cdb20de, body);
    write(std::as_bytes(std::span(node)));
    file_.finish();
    sync_folder(folder_ / "d");
    write_manifest(values, node.size());
  }

 private:
  static constexpr std::uint64_t most_in_node = 83'951'616;  // as Orbax has it
  static std::filesystem::path made(const std::filesystem::path& folder) {
    make_folders(folder / "d");
    return folder;
  }
  // 16 random bytes, as text or as they are.
  static std::string random_text(bool text) {
    std::random_device random;
    std::string result;
    for (int i = 0; i < 16; ++i) {
      const unsigned byte = random() & 255;
      if (text)
        result += {"0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 15]};
      else
        result += static_cast<char>(byte);
    }
    return result;
  }
  // Seven bits a byte, the lowest first, as in protocol buffers.
  static void put_number(std::string& to, std::uint64_t value) {
    for (; value >= 128; value >>= 7) to += static_cast<char>(value | 128);
    to += static_cast<char>(value);
  }
  // The list of files, which has one.
  void put_table(std::string& to) const {
    for (const std::uint64_t number : {std::uint64_t{1}, std::uint64_t{name_.size()}, std::uint64_t{0}})
      put_number(to, number);
    to += name_;
  }
  // What surrounds manifests and nodes: a magic number, the length of all, and a checksum.
  static std::string framed(std::uint32_t magic, const std::string& body) {
    std::string all;
    for (int shift = 24; shift >= 0; shift -= 8) all += static_cast<char>(magic >> shift);
    const std::uint64_t size = body.size() + 18;
    all.append(reinterpret_cast<const char*>(&size), 8).append(2, '\0').append(body);  // version and compression 0
    const std::uint32_t crc = crc32c(std::as_bytes(std::span(all)));
    return all.append(reinterpret_cast<const char*>(&crc), 4);
  }
  void write(std::span<const std::byte> bytes) {
    file_.write(bytes);
    at_ += bytes.size();
  }
  // The manifest names the root, and lies in the folder under a name that all readers know.
  void write_manifest(std::uint64_t values, std::uint64_t node) const {
    std::string body = random_text(false);
    for (const std::uint64_t number :
         {std::uint64_t{0}, std::uint64_t{0}, most_in_node, std::uint64_t{4}, std::uint64_t{0}})
      put_number(body, number);  // single, nothing at hand, limits, no compression
    put_table(body);
    for (const std::uint64_t number : {std::uint64_t{1}, std::uint64_t{1}, std::uint64_t{0}, std::uint64_t{0}, values,
                                       node, std::uint64_t{values_.size()}, node, values})
      put_number(body, number);  // one version, generation 1, height 0, and where the node is and what it holds
    const auto time =
        static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch() / std::chrono::nanoseconds(1));
    body.append(reinterpret_cast<const char*>(&time), 8).append(1, '\0');
    output_file file(folder_ / "manifest.ocdbt");
    const std::string all = framed(0x0cdb3a2a, body);
    file.write(std::as_bytes(std::span(all)));
    file.finish();
  }

  std::filesystem::path folder_;
  std::string name_;
  output_file file_;
  std::uint64_t at_ = 0;
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> values_;
};
TOKAMAX_FILES_COMPILED_ONCE std::unique_ptr<byte_sink> make_ocdbt_sink(const std::filesystem::path& folder) {
  return std::make_unique<ocdbt_sink>(folder);
}
#endif

}  // namespace tokamax::checkpoint::detail
