// tokamax/checkpoint/safetensors.hpp: arrays by name in one file, in the format of Hugging Face.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/system/file.hpp>         // input_file, output_file
#include <tokamax/checkpoint/array_source.hpp>  // array_source
#include <tokamax/checkpoint/crc32c.hpp>        // crc32c

#include <algorithm>   // sort
#include <bit>         // endian
#include <functional>  // function

#if defined(TOKAMAX_FILES_COMPILED_ONCE)
  #include <tokamax/core/memory/foreign_memory.hpp>  // map_file
#endif

namespace tokamax::checkpoint {

static_assert(std::endian::native == std::endian::little, "tokamax: safetensors files are little-endian");

struct named_array {
  std::string name;
  array value;
};

namespace detail {

inline std::span<const std::byte> bytes_of(const array& a) {
  return {a.bytes(), static_cast<std::size_t>(a.size()) * static_cast<std::size_t>(size_of(a.dtype()))};
}
// Calls f(bytes) with the elements of an array that has data, piece by piece. Those of a device come through a few MiB of the host's
// memory, so that a saved model does not lie there as a whole too.
void for_each_piece(const array& a, const std::function<void(std::span<const std::byte>)>& f);

inline constexpr std::uint64_t longest_header = 100'000'000;  // the format's own limit
inline constexpr json_limits header_limits{.bytes = longest_header, .values = std::size_t{1} << 22, .depth = 3};

}  // namespace detail

/// Writes arrays that have data. Wide dtypes come first, so that each array lies at a multiple of its element size, and
/// arrays of one width are ordered by name. When the function returns, the file is on the disk. `notes` are the free texts
/// that the format allows.
///
/// errors  tokamax::error if an array has no data, a name occurs twice or is `__metadata__`, a text is not in UTF-8, or
///         the file cannot be written
/// source  github.com/huggingface/safetensors, "Format"
void write_safetensors(const std::filesystem::path& path, std::vector<named_array> arrays,
                       const std::map<std::string, std::string>& notes = {});

/// A safetensors file, opened for reading; only the header is kept in memory.
class safetensors_file final : public array_source {
 public:
  /// errors  tokamax::error that names the file if it is missing, cut off, or not in the format. The header is read
  ///         strictly; it has at most 100 MB and 2^22 values, and takes memory in proportion
  explicit safetensors_file(const std::filesystem::path& path);
  ~safetensors_file() override;
  const std::filesystem::path& path() const override { return file_.path(); }
  const std::map<std::string, stored_array>& arrays() const override { return arrays_; }
  const std::map<std::string, std::string>& notes() const { return notes_; }

  array read(const std::string& name) const override;
  /// The same array with its elements in the file, as `map_file` has them; it is read if it lies there otherwise than in memory. The
  /// file must not change as long as the array is used.
  array map(const std::string& name) const;
  /// It takes a few MiB of memory for most dtypes.
  std::uint32_t checksum(const std::string& name) const override;

 private:
  [[noreturn]] void fail(std::string found, std::string expected) const;
  const stored_array& known(const std::string& name) const;
  array read_packed(const stored_array& stored, array& result) const;
  void parse(const nlohmann::json& header);
  void check_extent() const;

  input_file file_;
  std::uint64_t data_ = 0;  // where the header ends
  std::map<std::string, stored_array> arrays_;
  std::map<std::string, std::string> notes_;
};

#if defined(TOKAMAX_FILES_COMPILED_ONCE)
namespace detail {

TOKAMAX_FILES_COMPILED_ONCE void for_each_piece(const array& a,
                                                const std::function<void(std::span<const std::byte>)>& f) {
  constexpr std::size_t most = std::size_t{1} << 22;
  const buffer_block& block = *a.storage();
  if (!block.where) return f(bytes_of(a));
  const std::size_t bytes = static_cast<std::size_t>(a.size()) * static_cast<std::size_t>(size_of(a.dtype()));
  const handle room(buffer_pool::instance().allocate(std::min(bytes, most)));
  for (std::size_t at = 0; at < bytes; at += most) {
    const std::span piece(room->data, std::min(bytes - at, most));
    tokamax::detail::read_on_host(block, at, piece.data(), piece.size());
    f(piece);
  }
}

// Writes the elements as a file has them. Pieces have even numbers of elements, but for the last one.
TOKAMAX_FILES_COMPILED_ONCE void write_elements(output_file& file, const array& a) {
  for_each_piece(a, [&](std::span<const std::byte> elements) {
    if (!is_packed(a.dtype())) return file.write(elements);
    std::vector<std::byte> packed(stored_bytes(a.dtype(), elements.size()));
    pack_nibbles(elements.data(), static_cast<std::int64_t>(elements.size()), packed.data());
    file.write(packed);
  });
}

// The header of a file with these arrays. Their names are checked as readers of the format check them.
TOKAMAX_FILES_COMPILED_ONCE std::string make_header(const std::vector<named_array>& arrays,
                                                    const std::map<std::string, std::string>& notes,
                                                    const std::filesystem::path& path) {
  nlohmann::json header = nlohmann::json::object();
  if (!notes.empty()) header["__metadata__"] = notes;
  std::uint64_t offset = 0;
  for (const auto& [name, value] : arrays) {
    if (name == "__metadata__") throw error("safetensors: name of an array", name, "any other name", path.string());
    if (header.contains(name))
      throw error("safetensors: name of an array", name + " twice", "distinct names", path.string());
    header[name] = stored_entry(value.type(), offset);
    offset += stored_bytes(value.dtype(), static_cast<std::uint64_t>(value.size()));
  }
  try {
    std::string text = header.dump();
    check_json(text, path.string(), header_limits);
    text.resize((text.size() + 7) / 8 * 8, ' ');
    return text;
  } catch (const nlohmann::json::exception& e) {
    throw error("safetensors: names and notes", e.what(), "texts in UTF-8", path.string());
  }
}

}  // namespace detail

TOKAMAX_FILES_COMPILED_ONCE void write_safetensors(const std::filesystem::path& path, std::vector<named_array> arrays,
                                                   const std::map<std::string, std::string>& notes) {
  std::ranges::sort(arrays, [](const named_array& a, const named_array& b) {
    const std::int64_t wide = size_of(a.value.dtype()) - size_of(b.value.dtype());
    return wide != 0 ? wide > 0 : a.name < b.name;
  });
  for (auto& [name, value] : arrays) {
    if (!value.is_concrete())
      throw error("safetensors: array without data", std::string(message{value.type()}.view()), "a concrete array",
                  name);
    value.materialize();
  }
  const std::string header = detail::make_header(arrays, notes, path);
  const std::uint64_t length = header.size();
  output_file file(path);
  file.write(std::as_bytes(std::span(&length, 1)));
  file.write(std::as_bytes(std::span(header)));
  for (const named_array& a : arrays) detail::write_elements(file, a.value);
  file.finish();
}

TOKAMAX_FILES_COMPILED_ONCE safetensors_file::safetensors_file(const std::filesystem::path& path) : file_(path) {
  std::uint64_t length = 0;
  if (file_.size() < sizeof length) fail(std::to_string(file_.size()) + " bytes", "8 or more");
  file_.read(0, std::as_writable_bytes(std::span(&length, 1)));
  if (length > std::min(detail::longest_header, file_.size() - sizeof length))
    fail("a header of " + std::to_string(length) + " bytes",
         "one that fits into the file's " + std::to_string(file_.size()));
  std::string start(static_cast<std::size_t>(length), ' ');
  file_.read(sizeof length, std::as_writable_bytes(std::span(start)));
  data_ = sizeof length + length;
  if (!start.starts_with('{')) fail("another first byte", "a header that opens with {");
  start.resize(start.find_last_not_of(' ') + 1);
  if (!start.ends_with('}')) fail("another last byte", "a header that closes with } and blanks");
  parse(parse_json(start, path.string(), detail::header_limits));
  check_extent();
}
TOKAMAX_FILES_COMPILED_ONCE safetensors_file::~safetensors_file() = default;
TOKAMAX_FILES_COMPILED_ONCE const stored_array& safetensors_file::known(const std::string& name) const {
  const auto found = arrays_.find(name);
  if (found == arrays_.end())
    throw error(error_kind::file, "safetensors: array " + name, "nothing", "an array", path().string());
  const stored_array& stored = found->second;
  if (stored.type.dtype == dtype::none)
    throw error(error_kind::file, "safetensors: type of " + name, stored.text,
                "a known dtype, at most " + std::to_string(max_rank) + " axes", path().string());
  return stored;
}
TOKAMAX_FILES_COMPILED_ONCE std::uint32_t safetensors_file::checksum(const std::string& name) const {
  const stored_array& stored = known(name);
  if (is_packed(stored.type.dtype) || stored.type.dtype == bool_) return crc32c(detail::bytes_of(read(name)));
  std::vector<std::byte> piece(std::min<std::uint64_t>(std::uint64_t{1} << 22, stored.end - stored.begin));
  std::uint32_t crc = 0;
  for (std::uint64_t at = stored.begin; at < stored.end; at += piece.size()) {
    const auto bytes = std::span(piece).first(std::min<std::uint64_t>(piece.size(), stored.end - at));
    file_.read(data_ + at, bytes);
    crc = crc32c(bytes, crc);
  }
  return crc;
}
TOKAMAX_FILES_COMPILED_ONCE array safetensors_file::read(const std::string& name) const {
  const stored_array& stored = known(name);
  array result = array::uninitialized(stored.type);
  if (is_packed(stored.type.dtype)) return read_packed(stored, result);
  const std::span bytes(result.mutable_bytes(), static_cast<std::size_t>(stored.end - stored.begin));
  file_.read(data_ + stored.begin, bytes);
  if (stored.type.dtype == bool_ && std::ranges::any_of(bytes, [](std::byte b) { return b > std::byte{1}; }))
    throw error(error_kind::file, "safetensors: values of " + name, "a byte above 1", "0 and 1", path().string());
  return result;
}
TOKAMAX_FILES_COMPILED_ONCE array safetensors_file::map(const std::string& name) const {
  const stored_array& stored = known(name);
  const dtype type = stored.type.dtype;
  const std::uint64_t begin = data_ + stored.begin;
  const bool differs = is_packed(type) || type == bool_;  // bytes of bool_ are checked
  if (differs || begin % static_cast<std::uint64_t>(size_of(type)) != 0) return read(name);
  return map_file(path(), begin, stored.type);
}
TOKAMAX_FILES_COMPILED_ONCE void safetensors_file::fail(std::string found, std::string expected) const {
  throw error(error_kind::file, "safetensors", std::move(found), std::move(expected), path().string());
}
TOKAMAX_FILES_COMPILED_ONCE array safetensors_file::read_packed(const stored_array& stored, array& result) const {
  std::vector<std::byte> packed(static_cast<std::size_t>(stored.end - stored.begin));
  file_.read(data_ + stored.begin, packed);
  if (stored.type.dtype == i4)
    unpack_nibbles(packed.data(), result.size(), result.mutable_data<int4>());
  else
    unpack_nibbles(packed.data(), result.size(), result.mutable_data<uint4>());
  return result;
}
TOKAMAX_FILES_COMPILED_ONCE void safetensors_file::parse(const nlohmann::json& header) {
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") {
      const bool texts = entry.is_object() && std::ranges::all_of(entry, [](const auto& e) { return e.is_string(); });
      if (!texts) fail("__metadata__: " + detail::brief(entry), "texts by name");
      notes_ = entry.get<std::map<std::string, std::string>>();
    } else {
      arrays_.emplace(name, parse_stored(name, entry, path().string()));
    }
  }
}
// The arrays must fill the rest of the file, without gaps.
TOKAMAX_FILES_COMPILED_ONCE void safetensors_file::check_extent() const {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> parts;
  for (const auto& [name, stored] : arrays_) parts.emplace_back(stored.begin, stored.end);
  std::ranges::sort(parts);
  std::uint64_t end = 0;
  for (const auto& part : parts) {
    if (part.first != end || part.second < end)
      fail("an array at byte " + std::to_string(part.first), "one at " + std::to_string(end));
    end = part.second;
  }
  if (file_.size() - data_ != end)
    fail(std::to_string(file_.size()) + " bytes",
         std::to_string(data_) + " and " + std::to_string(end) + ", as the header says");
}
#endif

}  // namespace tokamax::checkpoint
