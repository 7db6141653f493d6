// tokamax/checkpoint/orbax/ocdbt.hpp: the keys and values of a database of TensorStore.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs read what Orbax wrote)
// tested by tests/zstd/orbax.cpp
#pragma once

#include <tokamax/checkpoint/orbax/byte_store.hpp>  // byte_store

#if defined(TOKAMAX_FILES_COMPILED_ONCE)
  #include <tokamax/base/codec.hpp>         // zstd_codec
  #include <tokamax/base/system/file.hpp>   // read_file
  #include <tokamax/checkpoint/crc32c.hpp>  // crc32c

  #include <set>     // set
  #include <vector>  // vector
#endif

namespace tokamax::checkpoint::detail {

/// All keys of the database whose manifest lies in the folder, in its latest version. The files of its nodes and values may lie
/// in folders below, such as those of several processes. Nodes take at most 128 MiB of memory in all.
///
/// errors  tokamax::error that names the file if it is missing or damaged, leads out of the folder, or a node is met twice
/// source  google.github.io/tensorstore/kvstore/ocdbt, "Storage format"
byte_store read_ocdbt(const std::filesystem::path& folder);

#if defined(TOKAMAX_FILES_COMPILED_ONCE)
// Numbers and texts of a manifest or node. A count is compared with the bytes that are left before memory is taken for it, because
// each number takes at least one of them.
class ocdbt_cursor {
 public:
  ocdbt_cursor(std::string_view bytes, const std::string& where) : bytes_(bytes), where_(where) {}
  std::string_view take(std::uint64_t count) {
    if (count > bytes_.size()) fail(std::to_string(bytes_.size()) + " bytes", std::to_string(count));
    const std::string_view result = bytes_.substr(0, static_cast<std::size_t>(count));
    bytes_.remove_prefix(result.size());
    return result;
  }
  std::string_view rest() const { return bytes_; }
  std::uint8_t byte() { return static_cast<std::uint8_t>(take(1)[0]); }
  template <class Number>
  Number number() {
    Number result;
    std::memcpy(&result, take(sizeof result).data(), sizeof result);
    return result;
  }
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const std::uint64_t part = byte();
      value |= (part & 127) << shift;
      if (part < 128) return value;
    }
    fail("a number of more than 64 bits", "a shorter one");
  }
  std::vector<std::uint64_t> varints(std::uint64_t count) {
    if (count > bytes_.size()) fail(std::to_string(bytes_.size()) + " bytes", std::to_string(count) + " numbers");
    std::vector<std::uint64_t> result(static_cast<std::size_t>(count));
    for (std::uint64_t& value : result) value = varint();
    return result;
  }
  [[noreturn]] void fail(const std::string& found, const std::string& expected) const {
    throw error(error_kind::file, "ocdbt", found, expected, where_);
  }

 private:
  std::string_view bytes_;
  const std::string& where_;
};

// Reads a database. Nodes have heights that decrease, and none is read twice, so that the work is bounded by their size.
class ocdbt_reader {
 public:
  explicit ocdbt_reader(const std::filesystem::path& folder) : folder_(folder) {}
  byte_store read() {
    const std::filesystem::path path = folder_ / "manifest.ocdbt";
    where_ = path.string();
    const std::string body = body_of(read_file(path, most_memory), 0x0cdb3a2a);
    ocdbt_cursor c(body, where_);
    c.take(16);  // an identifier
    if (c.varint() != 0) c.fail("numbered manifests", "a single one");
    c.varint(), c.varint(), c.byte();  // sizes that a writer keeps to
    if (c.varint() == 1) c.take(4);    // a level of compression
    const file_table files = table_of(c, "");
    // The versions lie in columns: all generations, all heights, and so on. The last one is the newest.
    const std::uint64_t versions = c.varint();
    if (versions == 0) return {};
    c.varints(versions);
    std::string heights(c.take(versions));
    const auto ids = c.varints(versions), offsets = c.varints(versions), lengths = c.varints(versions);
    node(files, ids.back(), offsets.back(), lengths.back(), static_cast<std::uint8_t>(heights.back()), "");
    return std::move(found_);
  }

 private:
  static constexpr std::uint64_t most_memory = std::uint64_t{1} << 27;
  // The files that a node names: paths below the folder, of which the first `base` letters are the place of the names within.
  struct file_table {
    std::vector<std::string> paths;
    std::vector<std::uint64_t> base;
  };

  // Counts memory that the sizes in files ask for, before it is kept.
  void spend(std::uint64_t bytes) {
    spent_ += std::min(bytes, most_memory);
    if (spent_ > most_memory)
      throw error(error_kind::file, "ocdbt: memory", "more", std::to_string(most_memory) + " bytes of nodes", where_);
  }
  // Takes off what surrounds manifests and nodes: a magic number, the length of all, a version, a kind of compression, and at the end
  // a checksum of all of that. What is compressed may become no larger than the memory that is left for nodes.
  std::string body_of(const std::string& all, std::uint32_t magic) {
    ocdbt_cursor c(all, where_);
    std::uint32_t found = 0;
    for (int i = 0; i < 4; ++i) found = found << 8 | c.byte();
    if (found != magic || c.number<std::uint64_t>() != all.size() || all.size() < 18)
      c.fail("other bytes", "a header with the length of all");
    const std::size_t end = all.size() - 4;
    std::uint32_t checksum = 0;
    std::memcpy(&checksum, all.data() + end, 4);
    if (checksum != crc32c(std::as_bytes(std::span(all)).first(end))) c.fail("another checksum", "that of its bytes");
    if (c.varint() != 0) c.fail("another version", "version 0");
    const std::uint64_t compression = c.varint();
    if (compression > 1 || c.rest().size() < 4) c.fail("another compression", "none or zstd");
    const std::string_view body = c.rest().substr(0, c.rest().size() - 4);
    std::string result =
        compression == 0 ? std::string(body) : zstd_codec(where_).decompress(body, most_memory - spent_, where_);
    spend(result.size());
    return result;
  }
  // Texts that share their beginnings with those before.
  std::vector<std::string> texts(ocdbt_cursor& c, const std::vector<std::uint64_t>& shared,
                                 const std::vector<std::uint64_t>& lengths) {
    std::vector<std::string> result;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      std::string text;
      if (i > 0) {
        if (shared[i - 1] > result[i - 1].size()) c.fail("a beginning longer than a text", "a part of it");
        text = result[i - 1].substr(0, static_cast<std::size_t>(shared[i - 1]));
      }
      text += c.take(lengths[i]);
      spend(text.size() + sizeof text);
      result.push_back(std::move(text));
    }
    return result;
  }
  file_table table_of(ocdbt_cursor& c, const std::string& base) {
    const std::uint64_t count = c.varint();
    const auto shared = c.varints(count == 0 ? 0 : count - 1), lengths = c.varints(count);
    file_table result{{}, c.varints(count)};
    for (std::uint64_t& length : result.base) length += base.size();
    for (const std::string& text : texts(c, shared, lengths)) {
      // A database may come from anybody, and must not make us read files of the machine.
      const std::filesystem::path path = base + text;
      bool leaves = path.is_absolute() || text.find('\0') != text.npos;
      for (const auto& part : path) leaves = leaves || part == "..";
      if (leaves || result.base[result.paths.size()] > path.string().size())
        c.fail("the file " + shown(path.string()), "one below the folder");
      result.paths.push_back(path.string());
    }
    return result;
  }
  static std::string shown(std::string text) {
    for (char& letter : text)
      if (static_cast<unsigned char>(letter) < ' ') letter = '?';
    return text.substr(0, 200);
  }
  const std::string& path_at(const file_table& files, std::uint64_t id) const {
    if (id >= files.paths.size())
      throw error(error_kind::file, "ocdbt: file", std::to_string(id), std::to_string(files.paths.size()) + " files",
                  where_);
    return files.paths[static_cast<std::size_t>(id)];
  }
  // Reads a node of a height and all below it. `before` is what all of its keys begin with.
  void node(const file_table& files, std::uint64_t id, std::uint64_t offset, std::uint64_t length, int height,
            const std::string& before) {
    const std::string path = path_at(files, id);
    // A node that names itself, or one above it, would be read for ever.
    where_ = (folder_ / path).string();
    if (!seen_.insert({path, offset}).second || length > most_memory)
      throw error(error_kind::file, "ocdbt: node", "one at byte " + std::to_string(offset) + " again, or a long one",
                  "distinct nodes", where_);
    const std::string body = body_of(byte_place{folder_ / path, offset, length}.read(), 0x0cdb20de);
    ocdbt_cursor c(body, where_);
    if (c.byte() != height) c.fail("another height", std::to_string(height));
    const file_table inner = table_of(c, path.substr(0, static_cast<std::size_t>(files.base[id])));
    const std::uint64_t count = c.varint();
    if (count == 0) c.fail("a node without keys", "at least one");
    const auto shared = c.varints(count - 1), suffixes = c.varints(count);
    if (height == 0) return leaf(c, inner, before, shared, suffixes);
    // A node above others has for each of them its least key, and how many letters of it all of its keys begin with.
    const auto common = c.varints(count);
    const std::vector<std::string> keys = texts(c, shared, suffixes);
    const auto ids = c.varints(count), offsets = c.varints(count), lengths = c.varints(count);
    const std::string here = where_;
    for (std::size_t i = 0; i < count; ++i) {
      if (common[i] > keys[i].size()) c.fail("a beginning longer than a key", "a part of it");
      node(inner, ids[i], offsets[i], lengths[i], height - 1,
           before + keys[i].substr(0, static_cast<std::size_t>(common[i])));
      where_ = here;
    }
  }
  // The keys of a node of height 0, and their values: at hand, or in one of its files.
  void leaf(ocdbt_cursor& c, const file_table& files, const std::string& before,
            const std::vector<std::uint64_t>& shared, const std::vector<std::uint64_t>& suffixes) {
    const std::vector<std::string> keys = texts(c, shared, suffixes);
    const auto lengths = c.varints(keys.size()), kinds = c.varints(keys.size());
    // Places follow only for the values that are elsewhere, behind the lengths of all.
    std::uint64_t elsewhere = 0;
    for (const std::uint64_t kind : kinds) {
      if (kind > 1) c.fail("a value of kind " + std::to_string(kind), "0 or 1");
      elsewhere += kind;
    }
    const auto ids = c.varints(elsewhere), offsets = c.varints(elsewhere);
    for (std::size_t i = 0, k = 0; i < keys.size(); ++i) {
      spend(before.size());
      byte_place& place = found_[before + keys[i]];
      if (kinds[i] == 0) {
        place.at_hand = c.take(lengths[i]);
      } else {
        place = {folder_ / path_at(files, ids[k]), offsets[k], lengths[i]};
        spend(place.file.native().size());
        ++k;
      }
    }
  }

  std::filesystem::path folder_;
  std::string where_;
  std::uint64_t spent_ = 0;
  std::set<std::pair<std::string, std::uint64_t>> seen_;
  byte_store found_;
};
TOKAMAX_FILES_COMPILED_ONCE byte_store read_ocdbt(const std::filesystem::path& folder) {
  return ocdbt_reader(folder).read();
}
#endif

}  // namespace tokamax::checkpoint::detail
