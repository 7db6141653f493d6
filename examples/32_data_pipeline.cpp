// examples/32_data_pipeline.cpp: from lines of JSON to packed batches. New here: streams, packing, states, shards.
#include <tokamax/checkpoint.hpp>
#include <tokamax/data.hpp>
#include <tokamax/tokamax.hpp>

#include <fmt/core.h>

#include <fstream>

namespace tk = tokamax;
namespace data = tokamax::data;

// A line of the file: fields are found by their names.
struct document {
  std::string text;
  int quality;
};
using batch = data::packed<tk::array>;  // arrays values, segment_ids and positions, here [2, 24]

tk::array tokens(const document& d) {  // the bytes of the text; lesson 27 has better tokens
  return tk::array::from(std::vector<std::int32_t>(d.text.begin(), d.text.end()));
}
std::string line(const tk::array& row) {
  std::string result;
  for (const std::int32_t token : row.values<std::int32_t>()) result += token == 0 ? '.' : static_cast<char>(token);
  return result;
}

int main() {
  const std::string path = (std::filesystem::temp_directory_path() / "tokamax_32_data.jsonl").string();
  std::ofstream file(path);
  const char* const words[] = {"snow", "a quiet river", "stone", "cloud over the sea", "wind", "old bridge", "rain"};
  for (int i = 0; i < 21; ++i) file << fmt::format("{{\"quality\": {}, \"text\": \"{}\"}}\n", i % 4, words[i % 7]);
  file.close();

  // Up to `shuffle` each element has an index. `filter` and `pack` give theirs in order only, and are streams.
  const auto rows = data::jsonl<document>(path) | data::shuffle({.seed = 1}) | data::repeat(1) |
                    data::filter([](const document& d) { return d.quality > 0; }) | data::map(tokens) |
                    data::pack(24, {.bins = 3});
  const auto batches = rows | data::batch<batch>(2) | data::prefetch({.threads = 2, .elements = 4});

  auto reader = batches.from();
  using state = decltype(reader)::state_type;
  const auto show = [](const auto& next) {
    for (std::int64_t i : {0, 1})
      fmt::print("batch {}  {}  {} sequences\n", next.step, line(next.value.values[i]),
                 tk::max(next.value.segment_ids[i]).template item<int>());
  };
  show(*reader.next());
  // The place is a plain record: a checkpoint has it among its metadata.
  const auto saved = tk::checkpoint::metadata{}.set("data", reader.state());
  show(*reader.next());

  fmt::print("resumed\n");
  auto resumed = batches.from(saved.get<state>("data"));
  for (const auto& next : resumed) show(next);

  // Processes take turns at the rows. The place holds nothing of their number, so a run may go on with more of them.
  for (const std::int64_t index : {0, 1}) {
    std::int64_t count = 0, length = 0;
    for (auto one = (rows | data::shard({.index = index, .count = 2, .keep_rest = true})).from();
         const auto& [step, row] : one) {
      ++count;
      for (const std::int32_t id : row.segment_ids.values<std::int32_t>()) length += id != 0;
    }
    fmt::print("shard {}: {} rows, {:.0f} % of their places are used\n", index, count,
               100.0 * static_cast<double>(length) / static_cast<double>(24 * count));
  }
  std::filesystem::remove(path);
}
