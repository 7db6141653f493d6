// tokamax/data/sources/npy.hpp: arrays in NumPy's files, one or several.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/data/sources/sources.cpp
#pragma once

#include <tokamax/base/codec.hpp>               // deflate_codec
#include <tokamax/data/sources/file_bytes.hpp>  // file_bytes

#include <algorithm>  // find
#include <map>        // map

namespace tokamax::data {

namespace detail {

struct npy_dtype {
  std::string_view name;
  dtype type;
};
inline constexpr npy_dtype npy_dtypes[] = {
    {"|b1", bool_}, {"|i1", i8},  {"|u1", u8},  {"<i2", i16}, {"<u2", u16}, {"<i4", i32},
    {"<u4", u32},   {"<i8", i64}, {"<u8", u64}, {"<f2", f16}, {"<f4", f32}, {"<f8", f64},
};

// Where the data of an array begin, and its type.
struct npy_header {
  std::uint64_t data;
  array_type type;
};

// The text behind `name` in the header, which Python would print as a dict.
inline std::string_view npy_field(const file_bytes& file, std::uint64_t at, std::string_view header,
                                  std::string_view name) {
  const std::size_t found = header.find("'" + std::string(name) + "':");
  if (found == header.npos) file.fail("npy: header", at, "no " + std::string(name), "descr, fortran_order and shape");
  header.remove_prefix(found + name.size() + 3);
  header.remove_prefix(std::min(header.find_first_not_of(' '), header.size()));
  return header;
}
inline shape npy_shape(const file_bytes& file, std::uint64_t at, std::string_view text) {
  const auto wrong = [&] { file.fail("npy: shape", at, std::string(text.substr(0, 60)), "a tuple of numbers"); };
  shape result;
  if (!text.starts_with('(') || text.find(')') == text.npos) wrong();
  std::int64_t extent = -1, elements = 1;
  for (const char c : text.substr(1, text.find(')'))) {
    if (c >= '0' && c <= '9') {
      extent = std::max<std::int64_t>(extent, 0) * 10 + (c - '0');
      if (extent > std::int64_t{1} << 48) wrong();
    } else if (c == ',' || c == ')') {
      if (extent < 0) continue;  // the comma of (3,)
      if (result.rank() == max_rank || (extent > 0 && elements > (std::int64_t{1} << 48) / extent)) wrong();
      if (extent > 0) elements *= extent;
      result.push_back(extent);
      extent = -1;
    } else if (c != ' ' && c != 'L') {
      wrong();
    }
  }
  return result;
}
inline npy_header read_npy_header(const file_bytes& file, std::uint64_t at, std::uint64_t end) {
  using namespace std::string_view_literals;
  const std::string_view magic = file.part(at, 8, "npy: beginning");
  const bool wide = magic[6] != 1;
  if (!magic.starts_with("\x93NUMPY"sv) || magic[6] < 1 || magic[6] > 3)
    file.fail("npy: beginning", at, "other bytes", "\\x93NUMPY and version 1 to 3");
  const std::uint64_t length =
      wide ? file.number<std::uint32_t>(at + 8, "npy: length") : file.number<std::uint16_t>(at + 8, "npy: length");
  const std::uint64_t begin = at + (wide ? 12 : 10);
  const std::string_view header = file.part(begin, length, "npy: header");
  npy_header result{begin + length, {}};
  const std::string_view descr = npy_field(file, at, header, "descr");
  for (const npy_dtype& known : npy_dtypes)
    if (descr.size() > 4 && descr.substr(1, 3) == known.name && (descr[4] == '\'' || descr[4] == '"'))
      result.type.dtype = known.type;
  if (result.type.dtype == dtype::none)
    file.fail("npy: descr", at, std::string(descr.substr(0, 40)), "numbers or bool, little-endian");
  if (npy_field(file, at, header, "fortran_order").starts_with('T'))
    file.fail("npy: order", at, "columns first", "rows first (np.ascontiguousarray)");
  result.type.shape = npy_shape(file, at, npy_field(file, at, header, "shape"));
  const auto bytes = static_cast<std::uint64_t>(size(result.type.shape) * size_of(result.type.dtype));
  if (end - result.data < bytes || result.data > end)
    file.fail("npy: data", result.data, std::to_string(end - std::min(end, result.data)) + " bytes",
              std::to_string(bytes) + " for " + std::string(message{result.type}.view()));
  return result;
}
inline array npy_array(const file_bytes& file, const npy_header& header) {
  if (!file.in_memory() && header.data % static_cast<std::uint64_t>(size_of(header.type.dtype)) == 0 &&
      header.type.dtype != bool_)
    return map_file(file.path(), static_cast<std::size_t>(header.data), header.type);
  array result = array::uninitialized(header.type);
  const auto bytes = static_cast<std::uint64_t>(result.size() * size_of(header.type.dtype));
  std::byte* to = result.mutable_bytes();
  std::memcpy(to, file.part(header.data, bytes, "npy: data").data(), static_cast<std::size_t>(bytes));
  if (header.type.dtype == bool_)
    for (std::uint64_t i = 0; i < bytes; ++i)
      if (to[i] > std::byte{1}) file.fail("npy: bool", header.data + i, "a byte above 1", "0 and 1");
  return result;
}

}  // namespace detail

/// The array of a .npy file. Where its data are aligned they stay in the file, and pages are read when they are used.
/// errors  tokamax::error that names the file and the place: another dtype or order than those here, or a file that is cut off
/// source  numpy.lib.format
inline array read_npy(const std::string& path) {
  const file_bytes file(path);
  return detail::npy_array(file, detail::read_npy_header(file, 0, file.size()));
}

/// The arrays of a .npz file by name, as np.savez writes it, and np.savez_compressed if the program includes tokamax/zlib.hpp.
/// errors  as read_npy; tokamax::error if they are compressed otherwise than by deflate, or by deflate without that header
inline std::map<std::string, array> read_npz(const std::string& path) {
  const file_bytes file(path);
  const std::size_t last = file.view().rfind("PK\x05\x06");
  if (last == std::string_view::npos) file.fail("npz: directory", 0, "none", "a zip file");
  std::uint64_t at = file.number<std::uint32_t>(last + 16, "npz: directory");
  const auto count = file.number<std::uint16_t>(last + 10, "npz: directory");
  std::map<std::string, array> result;
  for (std::uint16_t i = 0; i < count; ++i) {
    if (file.number<std::uint32_t>(at, "npz: entry") != 0x02014b50)
      file.fail("npz: entry", at, "other bytes", "PK 1 2");
    const auto name_size = file.number<std::uint16_t>(at + 28, "npz: entry");
    std::string name(file.part(at + 46, name_size, "npz: name"));
    const auto method = file.number<std::uint16_t>(at + 10, "npz: entry");
    if (method != 0 && method != 8)
      file.fail("npz: method", at, std::to_string(method) + " of " + name, "0 or 8 (np.savez, np.savez_compressed)");
    const std::uint64_t local = file.number<std::uint32_t>(at + 42, "npz: entry");
    const std::uint64_t bytes = file.number<std::uint32_t>(at + 24, "npz: entry");
    const std::uint64_t begin = local + 30 + file.number<std::uint16_t>(local + 26, "npz: local entry") +
                                file.number<std::uint16_t>(local + 28, "npz: local entry");
    const std::string_view stored =
        file.part(begin, method == 0 ? bytes : file.number<std::uint32_t>(at + 20, "npz: entry"), "npz: array");
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    if (method == 0) {
      result[name] = detail::npy_array(file, detail::read_npy_header(file, begin, begin + bytes));
    } else {
      const std::string where = path + ", " + name;
      const file_bytes made(deflate_codec(where).decompress(stored, bytes, where), where);
      if (made.size() != bytes)
        made.fail("npz: array", 0, std::to_string(made.size()) + " bytes", std::to_string(bytes));
      result[name] = detail::npy_array(made, detail::read_npy_header(made, 0, bytes));
    }
    at += 46u + name_size + file.number<std::uint16_t>(at + 30, "npz: entry") +
          file.number<std::uint16_t>(at + 32, "npz: entry");
  }
  return result;
}

/// Writes an array so that np.load reads it.
/// errors  tokamax::error for an array without data, of a dtype that NumPy does not have, or a file that cannot be written
inline void write_npy(const std::string& path, const array& value) {
  const auto* known = std::ranges::find(detail::npy_dtypes, value.dtype(), &detail::npy_dtype::type);
  if (known == std::end(detail::npy_dtypes))
    throw error("write_npy: dtype", std::string(name(value.dtype())), "one that NumPy has", path);
  std::string header = "{'descr': '" + std::string(known->name) + "', 'fortran_order': False, 'shape': (";
  for (const std::int64_t extent : value.shape()) header += std::to_string(extent) + ", ";
  header += "), }";
  header.resize((10 + header.size() + 1 + 63) / 64 * 64 - 10 - 1, ' ');
  header += '\n';
  array all = value;
  all.materialize();
  const auto length = static_cast<std::uint16_t>(header.size());
  const std::string start =
      std::string("\x93NUMPY\x01\0", 8) + std::string{static_cast<char>(length & 255), static_cast<char>(length >> 8)};
  output_file file(path);
  file.write(std::as_bytes(std::span(start)));
  file.write(std::as_bytes(std::span(header)));
  file.write({all.bytes(), static_cast<std::size_t>(all.size() * size_of(all.dtype()))});
  file.finish();
}

}  // namespace tokamax::data
