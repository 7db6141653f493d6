// bench/data.cpp: pipelines beside loops that are written by hand, and what a save in the background costs a step.
// SPDX-License-Identifier: Apache-2.0
//
//   tokamax_bench_data [FOLDER [GIGABYTES]]
//
// Files of records, of lines of JSON and checkpoints of 1 GiB go to FOLDER, and are measured only if there is one. With GIGABYTES, so much JSONL and
// ArrayRecord (half of each, which are deleted afterwards) goes through shuffle, pack, batch and prefetch, and the most memory is shown.
#include <tokamax/backend/cpu.hpp>
#include <tokamax/checkpoint.hpp>
#include <tokamax/data.hpp>

#include <fstream>
#include <numeric>
#include <random>

#include "support/measure.hpp"

namespace tk = tokamax;
namespace data = tokamax::data;

namespace {
struct example {
  tk::array image, label;
};
struct token_list {
  std::vector<std::int32_t> ids;
  std::size_t size() const { return ids.size(); }
};
struct one_text {
  std::string text;
  std::size_t size() const { return text.size(); }
};
tk::array bytes(const tk::shape& extents) {
  tk::array result = tk::array::uninitialized({tk::u8, false, extents});
  std::byte* to = result.mutable_bytes();
  for (std::int64_t i = 0; i < result.size(); ++i) to[i] = static_cast<std::byte>(i * 7 % 251);
  return result;
}

// 60,000 images of 28 x 28 bytes with labels, in batches of 128, each epoch in another order.
void measure_records() {
  constexpr std::int64_t count = 60000, batch = 128, image = 28 * 28;
  const example all{bytes({count, 28, 28}), bytes({count})};
  const auto batches = data::rows(all) | data::shuffle({.seed = 1}) | data::batch<example>(batch);
  std::int64_t epoch = 0;
  std::size_t sum = 0;
  const auto ours = [&] {
    auto reader = batches.from({epoch++, 0});
    for (std::int64_t i = 0; i < batches.size(); ++i)
      sum += static_cast<std::size_t>(reader.next().value.image.bytes()[5]);
  };
  std::mt19937 random(1);
  std::vector<std::int64_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  const auto loop = [&] {
    std::shuffle(order.begin(), order.end(), random);
    for (std::int64_t i = 0; i + batch <= count; i += batch) {
      example one{tk::array::uninitialized({tk::u8, false, {batch, 28, 28}}),
                  tk::array::uninitialized({tk::u8, false, {batch}})};
      std::byte *images = one.image.mutable_bytes(), *labels = one.label.mutable_bytes();
      for (std::int64_t k = 0; k < batch; ++k) {
        const std::int64_t from = order[static_cast<std::size_t>(i + k)];
        std::memcpy(images + k * image, all.image.bytes() + from * image, image);
        labels[k] = all.label.bytes()[from];
      }
      sum += static_cast<std::size_t>(one.image.bytes()[5]);
    }
  };
  const auto seconds = bench::median_seconds_of({ours, loop});
  bench::report("data", "images, shuffled, batches of 128", "tokamax", count / seconds[0] / 1e3, "thousand/s");
  bench::report("data", "images, shuffled, batches of 128", "loop", count / seconds[1] / 1e3, "thousand/s");
  if (sum == 0) fmt::print("\n");
}

// Documents of 1 to 700 tokens in rows of 1024.
void measure_packing() {
  std::vector<tk::array> documents;
  std::int64_t tokens = 0;
  for (int i = 0; i < 5000; ++i) {
    documents.push_back(tk::array::from(std::vector<std::int32_t>(static_cast<std::size_t>(1 + i * 7919 % 700), i)));
    tokens += documents.back().size();
  }
  const auto source = data::list(documents) | data::repeat(1);
  const auto report = [&](const char* name, const auto& pipeline) {
    const double seconds = bench::median_seconds([&] {
      auto reader = pipeline.from();
      while (reader.next()) {}
    });
    bench::report("data", name, "tokamax", static_cast<double>(tokens) / seconds / 1e6, "million tokens/s");
  };
  report("first fit to 1024", source | data::pack(1024));
  report("best fit to 1024", source | data::pack(1024, {.by = data::fit::best}));
  report("concat then split to 1024", source | data::concat_then_split(1024));
}

double seconds_of(const auto& f) {
  const auto begin = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// A number of /proc/self/status in MiB: VmHWM is the most memory so far, and RssAnon what is there without mapped files.
double memory(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(name + ":")) return std::stod(line.substr(name.size() + 1)) / 1024;
  return 0;
}
void reset_most_memory() { std::ofstream("/proc/self/clear_refs") << 5; }

// Records of 1 to 2000 bytes, read in another order than they lie. The file stays for bench/peers/data.py.
void measure_array_record(const std::filesystem::path& folder) {
  constexpr std::int64_t count = 50000;
  const std::string path = (folder / "records.array_record").string();
  data::array_record_writer writer(path);
  for (std::int64_t i = 0; i < count; ++i)
    writer.write(std::string(static_cast<std::size_t>(1 + i * 7919 % 2000), 'a'));
  writer.finish();
  const data::array_record source(path);
  std::size_t bytes = 0;
  const double seconds = bench::median_seconds([&] {
    for (std::int64_t i = 0; i < count; ++i) bytes += source[i * 7919 % count].size();
  });
  bench::report("data", "records of ArrayRecord, one by one", "tokamax", count / seconds / 1e3, "thousand/s");
  if (bytes == 0) fmt::print("\n");
}

// Lines of 3 KB of tokens, and of 3 KB of text, one by one on one thread.
void measure_jsonl(const std::filesystem::path& folder) {
  const std::string path = (folder / "lines.jsonl").string();
  const auto speed = [&](const char* name, const auto& value, auto&& read) {
    std::string all;
    const std::string line = tk::checkpoint::json_value::of(value).text() + "\n";
    while (all.size() < 64 << 20) all += line;
    std::ofstream(path, std::ios::binary) << all;
    const auto source = read();
    std::size_t sum = 0;
    const double seconds = bench::median_seconds([&] {
      for (std::int64_t i = 0; i < source.size(); ++i) sum += source[i].size();
    });
    bench::report("data", name, "tokamax", static_cast<double>(all.size()) / seconds / 1e6, "MB/s");
    std::filesystem::remove(path);
    if (sum == 0) fmt::print("\n");
  };
  token_list ids;
  for (int i = 0; i < 500; ++i) ids.ids.push_back(i * 7919 % 50000);
  speed("JSONL, tokens", ids, [&] { return data::jsonl<token_list>(path); });
  one_text text;
  for (int i = 0; i < 100; ++i) text.text += "Some words of a text, \"a quote\",\nand a line.";
  speed("JSONL, text", text, [&] { return data::jsonl<one_text>(path); });
}

// A pipeline over more data than memory should hold.
void measure_memory(const std::filesystem::path& folder, double gigabytes) {
  using document = token_list;
  const std::string lines = (folder / "long.jsonl").string(), records = (folder / "long.array_record").string();
  const auto half = static_cast<std::int64_t>(gigabytes * 5e8);
  std::int64_t written = 0, number = 0;
  const auto next = [&] {
    std::string text = "{\"ids\": [";
    for (std::int64_t i = 0, n = 100 + number * 7919 % 900; i < n; ++i)
      text += (i ? ", " : "") + std::to_string((number + i) % 50000);
    ++number;
    written += static_cast<std::int64_t>(text.size()) + 2;
    return text + "]}";
  };
  {
    std::string waiting;
    tk::output_file file(lines);
    data::array_record_writer writer(records, {.group_size = 8});
    while (written < half) {
      waiting += next() + "\n";
      if (waiting.size() < 1 << 20) continue;
      file.write(std::as_bytes(std::span(waiting)));
      waiting.clear();
    }
    file.write(std::as_bytes(std::span(waiting)));
    file.finish();
    for (written = 0; written < half;) writer.write(next());
    writer.finish();
  }
  const auto array_of = data::map([](const document& d) { return tk::array::from(d.ids); });
  const auto parsed = data::map(
      [](const std::string& text) { return tk::checkpoint::parse_json_as<document>(text, "record", "record"); });
  const auto through = [&](const auto& source, double& most) {
    const auto batches = source | data::shuffle({.seed = 1}) | array_of | data::repeat(1) | data::pack(1024) |
                         data::batch<data::packed<tk::array>>(32) | data::prefetch({.threads = 2, .elements = 8});
    std::int64_t tokens = 0;
    auto reader = batches.from();
    for (std::int64_t i = 0; auto batch = reader.next(); ++i) {
      tokens += batch->value.values.size();
      if (i % 64 == 0) most = std::max(most, memory("RssAnon"));
    }
    return tokens;
  };
  double most = 0;
  std::int64_t tokens = 0;
  tk::buffer_pool::instance().trim();  // of what was measured before
  const double seconds = seconds_of([&] {
    tokens += through(data::jsonl<document>(lines), most);
    tokens += through(data::array_record(records) | parsed, most);
  });
  const double bytes = static_cast<double>(std::filesystem::file_size(lines) + std::filesystem::file_size(records));
  std::filesystem::remove(lines);
  std::filesystem::remove(records);
  bench::report("data", fmt::format("{:.1f} GB of JSONL and ArrayRecord, memory", bytes / 1e9), "tokamax", most, "MiB");
  bench::report("data", "JSONL and ArrayRecord through shuffle, pack, batch, prefetch", "tokamax",
                bytes / seconds / 1e6, "MB/s");
  bench::report("data", "the same", "tokamax", static_cast<double>(tokens) / seconds / 1e6, "million tokens/s");
}

void measure_checkpoints(const std::filesystem::path& folder) {
  std::vector<tk::array> model;
  for (int i = 0; i < 4; ++i) model.push_back(bytes({std::int64_t{1} << 28}));
  const auto raw = [&] {
    tk::output_file file(folder / "raw");
    for (const tk::array& a : model) file.write({a.bytes(), static_cast<std::size_t>(a.size())});
    file.finish();
    std::filesystem::remove(folder / "raw");
  };
  double more_to_save = 0, to_restore = 0;
  std::vector<double> blocked, saved, written, restored, read;
  for (int round = 0; round < 3; ++round) {
    std::filesystem::remove_all(folder / "run");
    tk::checkpoint::manager manager(folder / "run", {.every = 1, .keep = 1});
    const double before = memory("VmRSS");
    reset_most_memory();
    saved.push_back(seconds_of([&] {
      blocked.push_back(seconds_of([&] { manager.save_async(1, model); }));
      manager.wait();
    }));
    more_to_save = std::max(more_to_save, memory("VmHWM") - before);
    written.push_back(seconds_of(raw));
    const double without = memory("VmRSS") - 1024;
    reset_most_memory();
    restored.push_back(seconds_of([&] { manager.restore(model); }));
    to_restore = std::max(to_restore, (memory("VmHWM") - without) / 1024);
    read.push_back(seconds_of([&] { tk::read_file(folder / "run" / "1" / "arrays.safetensors"); }));
  }
  std::filesystem::remove_all(folder / "run");
  const auto median = [](std::vector<double> all) {
    std::ranges::sort(all);
    return all[all.size() / 2];
  };
  bench::report("data", "save_async of 1 GiB, blocked", "tokamax", 1e3 * median(blocked), "ms");
  bench::report("data", "save of 1 GiB", "tokamax", 1024 / median(saved), "MiB/s");
  bench::report("data", "save of 1 GiB", "write and sync", 1024 / median(written), "MiB/s");
  bench::report("data", "restore of 1 GiB", "tokamax", 1024 / median(restored), "MiB/s");
  bench::report("data", "restore of 1 GiB", "read", 1024 / median(read), "MiB/s");
  bench::report("data", "memory while saving, more", "tokamax", more_to_save, "MiB");
  bench::report("data", "memory while restoring, of the model", "tokamax", to_restore, "times");
}
}  // namespace

int main(int count, char** words) {
  measure_records();
  measure_packing();
  if (count > 1) measure_array_record(words[1]);
  if (count > 1) measure_jsonl(words[1]);
  if (count > 1) measure_checkpoints(words[1]);
  if (count > 2) measure_memory(words[1], std::stod(words[2]));
}
