// tests/fuzz/data_files.cpp: any bytes as files of data; the first byte says of which kind, unless the environment's
// TOKAMAX_FUZZ_KIND does.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/data.hpp>
#if __has_include(<zlib.h>)
  #include <tokamax/zlib.hpp>
#endif
#if __has_include(<zstd.h>)
  #include <tokamax/zstd.hpp>
#endif

#include "fuzz/fuzz.hpp"

namespace data = tokamax::data;

namespace {
struct record {
  std::string text;
  std::vector<int> ids;
  double number;
};
void read_all(const auto& source) {
  for (std::int64_t i = 0; i < source.size(); ++i) only_errors([&] { source[i]; });
}
// Blocks of 64 KiB, of which ArrayRecord's files are made. Each begins with a part of the input, behind its length.
std::string in_blocks(std::string_view bytes) {
  std::string result;
  for (int block = 0; block < 3 && bytes.size() > 2; ++block) {
    const std::size_t size = static_cast<unsigned char>(bytes[0]) + 256u * static_cast<unsigned char>(bytes[1]);
    result += bytes.substr(2, size);
    result.resize((static_cast<std::size_t>(block) + 1) << 16);
    bytes.remove_prefix(std::min(size + 2, bytes.size()));
  }
  return result;
}
}  // namespace

void fuzz(std::string_view bytes) {
  if (bytes.empty()) return;
  static const char* const chosen = std::getenv("TOKAMAX_FUZZ_KIND");
  const int kind = (chosen ? std::atoi(chosen) : bytes.front()) % 9;
  bytes.remove_prefix(1);
  const std::string path = kind == 7 ? file_with(in_blocks(bytes)) : file_with(bytes);
  only_errors([&] {
    switch (kind) {
      case 0:
        return read_all(data::lines(path));
      case 1: {  // what is read from the bytes is what is read by json_value
        const data::lines source(path);
        for (std::int64_t i = 0; i < source.size(); ++i) {
          record quick;
          if (!tokamax::checkpoint::detail::json_text(source[i].text).whole(quick)) continue;
          const auto slow = tokamax::checkpoint::json_value::parse(source[i].text, "").as<record>("record");
          if (quick.text != slow.text || quick.ids != slow.ids || quick.number != slow.number) std::abort();
        }
        return read_all(data::jsonl<record>(path));
      }
      case 2: {
        const data::csv table(path);
        read_all(table);
        if (static_cast<std::size_t>(table.numbers().size()) > bytes.size()) std::abort();
        return;
      }
      case 3: {
        const tokamax::array a = data::read_npy(path);
        if (static_cast<std::size_t>(a.size() * tokamax::size_of(a.dtype())) > bytes.size()) std::abort();
        return;
      }
      case 4:
        data::read_npz(path);
        return;
      case 5:
        return read_all(data::tfrecord(path));
      case 6:
        data::tf_example::parse(bytes);
        return;
      case 7:
        return read_all(data::array_record(path));
      case 8:
        return read_all(data::bagz(path));
    }
  });
}
