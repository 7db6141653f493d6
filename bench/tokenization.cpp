// bench/tokenization.cpp: how fast texts become tokens and tokens texts, on one thread.
// SPDX-License-Identifier: Apache-2.0
//
//   tokamax_bench_tokenization TEXTS TOKENIZER.json...
//   tokamax_bench_tokenization --tokens TEXTS TOKENIZER     writes "ID:BEGIN-END ..." of each document, or the ids alone of a .model
//
// TEXTS has documents with a zero byte behind each. bench/peers/tokenization.py writes it and runs the Python package beside this;
// tests/golden/compare_tokenizers.py compares the tokens.
#include <tokamax/base/system/file.hpp>
#include <tokamax/text/tokenizer.hpp>

#include <filesystem>

#include "support/measure.hpp"

namespace {

std::vector<std::string_view> documents_of(std::string_view all) {
  std::vector<std::string_view> texts;
  for (std::size_t begin = 0; begin < all.size();) {
    const std::size_t end = std::min(all.find('\0', begin), all.size());
    texts.push_back(all.substr(begin, end - begin));
    begin = end + 1;
  }
  return texts;
}

void write_tokens(const std::filesystem::path& path, const std::vector<std::string_view>& texts) {
  using tokamax::text::tokenizer;
  const bool model = path.extension() == ".model";
  const tokenizer t = model ? tokenizer::from_sentencepiece(path) : tokenizer::from_file(path);
  for (const std::string_view text : texts) {
    const tokamax::text::encoding e = t.encode(text);
    for (std::size_t i = 0; i < e.size(); ++i) {
      fmt::print("{}{}", i == 0 ? "" : " ", e.ids[i]);
      if (!model) fmt::print(":{}-{}", e.offsets[i].begin, e.offsets[i].end);
    }
    fmt::print("\n");
  }
}

}  // namespace

int main(int count, char** words) {
  const bool tokens = count > 1 && std::string_view(words[1]) == "--tokens";
  if (count < (tokens ? 4 : 3)) {
    fmt::print("tokamax_bench_tokenization [--tokens] TEXTS TOKENIZER.json...\n");
    return 0;
  }
  const std::string all = tokamax::read_file(words[tokens ? 2 : 1]);
  const std::vector<std::string_view> texts = documents_of(all);
  if (tokens) {
    write_tokens(words[3], texts);
    return 0;
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
