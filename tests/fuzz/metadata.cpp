// tests/fuzz/metadata.cpp: any bytes as metadata.json, as they are and with a right checksum; and as lines of metrics.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/checkpoint.hpp>
#include <tokamax/train/metrics.hpp>
#include <tokamax/train/run_settings.hpp>

#include "fuzz/fuzz.hpp"

namespace {
namespace checkpoint = tokamax::checkpoint;
void read(std::string_view bytes) {
  const auto folder = file_with(bytes, "metadata.json").parent_path();
  only_errors([&] {
    const checkpoint::metadata about = checkpoint::about(folder);
    for (const auto& [name, entry] : about.entries->items()) {
      only_errors([&] { about.get<double>(name); });
      only_errors([&] { about.get<float>(name); });
      only_errors([&] { about.get<std::int8_t>(name); });
      only_errors([&] { about.get<std::vector<std::string>>(name); });
      only_errors([&] { about.get<tokamax::train::run_settings>(name); });
    }
    only_errors([&] { tokamax::train::require_same({}, about, "here"); });
  });
}
}  // namespace

void fuzz(std::string_view bytes) {
  read(bytes);
  only_errors([&] {
    nlohmann::json json = checkpoint::parse_json(bytes, "bytes");
    if (!json.is_object()) return;
    json.erase("crc32c");
    for (const auto& [name, value] : {std::pair<const char*, nlohmann::json>{"format", 1}, {"step", 7}})
      if (!json.contains(name)) json[name] = value;
    for (const char* name : {"entries", "arrays"})
      if (!json.contains(name)) json[name] = nlohmann::json::object();
    json["crc32c"] = checkpoint::detail::crc32c_of(json.dump());
    read(json.dump());
  });
  const auto lines = file_with(bytes, "metrics.jsonl");
  only_errors([&] {
    tokamax::train::metrics_file metrics(lines, 5);
    metrics.write(6, {{"loss", 1}});
  });
  only_errors([&] {
    if (tokamax::train::metrics_file::series(lines, "loss").empty()) std::abort();
  });
}
