// tokamax/train/metrics.hpp: numbers of a run as lines of JSON, one a step, that a resumed run continues.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (what a run prints and writes; programs that do so include this header)
#pragma once

#include <tokamax/base/system/folder.hpp>  // replace_file, output_file

#include <algorithm>         // min
#include <charconv>          // from_chars
#include <cmath>             // isfinite
#include <initializer_list>  // initializer_list
#include <optional>          // optional
#include <string>            // string
#include <string_view>       // string_view
#include <utility>           // pair
#include <vector>            // vector

namespace tokamax::train {

namespace detail {

// The content of a line such as {"step": 10, "loss": 2.5}.
struct metrics_line {
  std::int64_t step = 0;
  std::vector<std::pair<std::string, double>> values;
};

// Reads a line from its beginning, piece by piece.
class line_reader {
 public:
  explicit line_reader(std::string_view line) : left_(line) {}
  bool take(std::string_view text) {
    if (!left_.starts_with(text)) return false;
    left_.remove_prefix(text.size());
    return true;
  }
  template <class Number>
  bool take_number(Number& value) {
    const auto [end, failure] = std::from_chars(left_.data(), left_.data() + left_.size(), value);
    if (failure != std::errc()) return false;
    left_.remove_prefix(static_cast<std::size_t>(end - left_.data()));
    return true;
  }
  bool take_until(char end, std::string& text) {
    const std::size_t length = left_.find(end);
    if (length == std::string_view::npos) return false;
    text = left_.substr(0, length);
    left_.remove_prefix(length + 1);
    return true;
  }
  bool at_end() const { return left_.empty(); }

 private:
  std::string_view left_;
};

// The content of a line; nothing if the line is not whole, because a kill cut it short or a full disk joined it to another.
inline std::optional<metrics_line> read_line(std::string_view line) {
  metrics_line result;
  line_reader in(line);
  if (!in.take("{\"step\": ") || !in.take_number(result.step)) return std::nullopt;
  while (in.take(", \"")) {
    auto& [name, value] = result.values.emplace_back();
    if (!in.take_until('"', name) || !in.take(": ")) return std::nullopt;
    const bool quoted = in.take("\"");  // nan and inf are quoted, because JSON does not have them
    if (!in.take_number(value) || (quoted && !in.take("\""))) return std::nullopt;
  }
  if (!in.take("}") || !in.at_end()) return std::nullopt;
  return result;
}

inline std::string write_line(std::int64_t step, std::initializer_list<std::pair<const char*, double>> values) {
  std::string line = "{\"step\": " + std::to_string(step);
  for (const auto& [name, value] : values) {
    char text[32];
    const auto end = std::to_chars(text, text + sizeof text, value).ptr;
    const char* quote = std::isfinite(value) ? "" : "\"";
    line.append(", \"").append(name).append("\": ").append(quote).append(text, end).append(quote);
  }
  return line + "}\n";
}

// Calls `f(text, line)` for every whole line.
template <class F>
void for_each_line(const std::string& bytes, const F& f) {
  for (std::size_t begin = 0, end = 0; begin < bytes.size(); begin = end + 1) {
    end = std::min(bytes.find('\n', begin), bytes.size());
    const std::string_view text = std::string_view(bytes).substr(begin, end - begin);
    if (const auto line = read_line(text)) f(text, *line);
  }
}

}  // namespace detail

/// A file with lines such as {"step": 10, "loss": 2.5}. Its lines are never lost, neither when the process is killed nor
/// when the disk is full for a while.
class metrics_file {
 public:
  /// Opens the file. Lines after step `last_step` are dropped, because a resumed run writes them again, and so are lines
  /// that are not whole. The file changes as a whole or not at all.
  /// errors  tokamax::error if there is a file that cannot be read, or one that cannot be written
  metrics_file(const std::filesystem::path& path, std::int64_t last_step) : file_(keep(path, last_step)) {}

  /// Adds a line.
  /// errors  tokamax::error if it cannot be written. The line is kept, and the next call of `write` or `sync` tries again
  void write(std::int64_t step, std::initializer_list<std::pair<const char*, double>> values) {
    waiting_ += detail::write_line(step, values);
    write_waiting();
  }
  /// Returns when all lines are on the disk; errors as `write`.
  void sync() {
    write_waiting();
    file_.sync();
  }

  /// The (step, value) pairs of one number, from the whole lines that have it.
  /// errors  tokamax::error if the file cannot be read
  static std::vector<std::pair<double, double>> series(const std::filesystem::path& path, const std::string& name) {
    std::vector<std::pair<double, double>> points;
    detail::for_each_line(read_file(path), [&](std::string_view, const detail::metrics_line& line) {
      for (const auto& [key, value] : line.values)
        if (key == name) points.emplace_back(static_cast<double>(line.step), value);
    });
    return points;
  }

 private:
  static output_file keep(const std::filesystem::path& path, std::int64_t last_step) {
    const bool there = file_exists(path);
    const std::string bytes = there ? read_file(path) : "";
    std::string kept;
    detail::for_each_line(bytes, [&](std::string_view text, const detail::metrics_line& line) {
      if (line.step <= last_step) kept.append(text).append("\n");
    });
    if (!there || kept != bytes) replace_file(path, kept);
    return output_file(path, output_file::start::at_the_end);
  }
  void write_waiting() {
    if (waiting_.empty()) return;
    file_.write(std::as_bytes(std::span(waiting_)));
    waiting_.clear();
  }

  output_file file_;
  std::string waiting_;
};

}  // namespace tokamax::train
