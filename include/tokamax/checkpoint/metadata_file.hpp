// tokamax/checkpoint/metadata_file.hpp: metadata, and the checksums of the arrays, as a JSON file with a checksum of its own.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/checkpoint/state.cpp
#pragma once

#include <tokamax/checkpoint/crc32c.hpp>    // crc32c
#include <tokamax/checkpoint/metadata.hpp>  // metadata

#include <filesystem>  // path
#include <map>         // map
#include <span>        // as_bytes

#if defined(TOKAMAX_FILES_COMPILED_ONCE)
  #include <tokamax/base/system/file.hpp>  // read_file, output_file
#endif

namespace tokamax::checkpoint::detail {

inline constexpr std::uint64_t format_version = 1;

/// The content of metadata.json.
struct stored_metadata {
  metadata about;
  std::map<std::string, std::uint32_t> checksums;  // of the arrays, by name
};

inline std::uint32_t crc32c_of(const std::string& text) { return crc32c(std::as_bytes(std::span(text))); }

/// errors  tokamax::error if a text is not in UTF-8, the entries are deeper or more than `read_metadata` takes, or the
///         file cannot be written
void write_metadata(const std::filesystem::path& path, const stored_metadata& all);

/// errors  tokamax::error that names the file unless it is what `write_metadata` wrote
stored_metadata read_metadata(const std::filesystem::path& path);

#if defined(TOKAMAX_FILES_COMPILED_ONCE)
TOKAMAX_FILES_COMPILED_ONCE void write_metadata(const std::filesystem::path& path, const stored_metadata& all) {
  std::string text;
  try {
    nlohmann::json json = {{"format", format_version},
                           {"step", all.about.step},
                           {"entries", *all.about.entries},
                           {"arrays", all.checksums}};
    json["crc32c"] = crc32c_of(json.dump());
    text = json.dump(2) + "\n";
  } catch (const nlohmann::json::exception& e) {
    throw error("metadata", e.what(), "texts in UTF-8", path.string());
  }
  check_json(text, path.string());
  output_file file(path);
  file.write(std::as_bytes(std::span(text)));
  file.finish();
}
TOKAMAX_FILES_COMPILED_ONCE stored_metadata read_metadata(const std::filesystem::path& path) {
  const std::string where = path.string();
  nlohmann::json json = parse_json(read_file(path, json_limits{}.bytes), where);
  const auto expect = [&](bool fits, const std::string& found, const std::string& expected) {
    if (!fits) throw error(error_kind::file, "checkpoint: damaged metadata", found, expected, where);
  };
  expect(json.is_object() && json.size() == 5, brief(json), "a record of format, crc32c, step, entries and arrays");
  for (const char* name : {"format", "crc32c", "step", "entries", "arrays"})
    expect(json.contains(name), std::string("no ") + name, "the text that was saved");
  if (natural(json["format"]) != format_version)
    throw error(error_kind::file, "checkpoint: format", brief(json["format"]), std::to_string(format_version), where);
  const std::optional<std::uint64_t> expected = natural(json["crc32c"]);
  json.erase("crc32c");
  expect(expected == crc32c_of(json.dump()), "another checksum", "the one that was saved");

  expect(json["step"].is_number_integer(), "step " + brief(json["step"]), "an integer");
  expect(json["entries"].is_object() && json["arrays"].is_object(), "another type", "records of entries and arrays");
  stored_metadata result;
  from_json({json["step"], "step", where}, result.about.step);
  for (const auto& [name, checksum] : json["arrays"].items())
    from_json({checksum, "checksum of " + name, where}, result.checksums[name]);
  *result.about.entries = std::move(json["entries"]);
  return result;
}
#endif

}  // namespace tokamax::checkpoint::detail
