// bench/tokenization.cpp: how fast texts become tokens and tokens texts, on one thread.
// SPDX-License-Identifier: Apache-2.0
//
//   tokamax_bench_tokenization TEXTS TOKENIZER.json...
//
// TEXTS has documents with a zero byte behind each. bench/peers/tokenization.py writes it and runs the Python package beside this.
#include <tokamax/base/system/file.hpp>
#include <tokamax/text/tokenizer.hpp>

#include <filesystem>

#include "support/measure.hpp"

int main(int count, char** words) {
  if (count < 3) {
    fmt::print("tokamax_bench_tokenization TEXTS TOKENIZER.json...\n");
    return 0;
  }
  const std::string all = tokamax::read_file(words[1]);
  std::vector<std::string_view> texts;
  for (std::size_t begin = 0; begin < all.size();) {
    const std::size_t end = std::min(all.find('\0', begin), all.size());
    texts.push_back(std::string_view(all).substr(begin, end - begin));
    begin = end + 1;
  }
  const double megabytes = static_cast<double>(all.size()) / 1e6;
  for (int i = 2; i < count; ++i) {
    const std::filesystem::path path = words[i];
    const std::string name = path.parent_path().filename().string() + "/" + path.stem().string();
    const auto report = [&](const char* what, double seconds) {
      bench::report("tokenization", name + ", " + what, "tokamax", megabytes / seconds, "MB/s");
    };
    const auto t = tokamax::text::tokenizer::from_file(path);
    bench::report("tokenization", name + ", load", "tokamax",
                  1e3 * bench::median_seconds([&] { tokamax::text::tokenizer::from_file(path); }, 3), "ms");
    std::vector<std::vector<std::int32_t>> ids;
    for (const std::string_view text : texts) ids.push_back(t.ids(text));
    std::size_t sum = 0;
    report("encode", bench::median_seconds([&] {
             for (const std::string_view text : texts) sum += t.encode(text).size();
           }));
    report("ids", bench::median_seconds([&] {
             for (const std::string_view text : texts) sum += t.ids(text).size();
           }));
    report("decode", bench::median_seconds([&] {
             for (const auto& one : ids) sum += t.decode(one).size();
           }));
    if (sum == 0) return 1;
  }
}
