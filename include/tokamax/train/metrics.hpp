// tokamax/train/metrics.hpp: numbers of a run as lines of JSON, one a step, that a resumed run continues.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (what a run prints and writes; programs that do so include this header)
#pragma once

#include <tokamax/base/error.hpp>  // error

#include <charconv>    // from_chars
#include <filesystem>  // path
#include <fstream>     // ofstream
#include <initializer_list>
#include <string>   // string
#include <utility>  // pair
#include <vector>   // vector

namespace tokamax::train {

/// A file with lines such as {"step": 10, "loss": 2.5}.
class metrics_file {
 public:
  /// Opens the file and drops the lines after step `last_step`: what a resumed run will write again.
  metrics_file(std::filesystem::path path, std::int64_t last_step) : path_(std::move(path)) {
    std::string kept;
    for (const std::string& line : lines(path_))
      if (number(line, "step") <= static_cast<double>(last_step)) kept += line + '\n';
    file_.open(path_, std::ios::binary | std::ios::trunc);
    file_ << kept << std::flush;
    if (!file_) throw error("metrics", "a file that cannot be written", "a writable file", path_.string());
  }
  void write(std::int64_t step, std::initializer_list<std::pair<const char*, double>> values) {
    file_ << "{\"step\": " << step;
    char text[32];
    for (const auto& [name, value] : values) {
      const auto end = std::to_chars(text, text + sizeof text, value).ptr;
      file_ << ", \"" << name << "\": " << std::string_view(text, static_cast<std::size_t>(end - text));
    }
    file_ << "}\n" << std::flush;
  }

  /// The (step, value) pairs of one number, from the lines that have it.
  static std::vector<std::pair<double, double>> series(const std::filesystem::path& path, const std::string& name) {
    std::vector<std::pair<double, double>> points;
    for (const std::string& line : lines(path))
      if (line.find('"' + name + '"') != std::string::npos)
        points.emplace_back(number(line, "step"), number(line, name));
    return points;
  }

 private:
  static std::vector<std::string> lines(const std::filesystem::path& path) {
    std::vector<std::string> all;
    std::ifstream in(path, std::ios::binary);
    for (std::string line; std::getline(in, line);)
      if (line.size() > 1 && line.back() == '}') all.push_back(line);  // a line cut short by a kill is dropped
    return all;
  }
  static double number(const std::string& line, const std::string& name) {
    const auto at = line.find('"' + name + "\": ");
    double value = 0;
    if (at != std::string::npos) std::from_chars(line.data() + at + name.size() + 4, line.data() + line.size(), value);
    return value;
  }
  std::filesystem::path path_;
  std::ofstream file_;
};

}  // namespace tokamax::train
