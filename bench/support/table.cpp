// bench/support/table.cpp: prints the JSON lines of benchmarks as a table, with the peers' figures beside ours.
// SPDX-License-Identifier: Apache-2.0
//
// Reads a file of lines, each an object with suite, case, impl, value and unit; other lines are left out. Figures of one
// case stand together, in the order in which they were measured. Each impl whose name begins with tokamax gets a ratio: how
// many times better it is than the best peer. Units with "/s" are better when larger, others when smaller.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace {

struct figure {
  std::string impl;
  double value;
  bool ours() const { return impl.starts_with("tokamax"); }
};

struct row {
  std::string title;
  bool larger_is_better;
  std::vector<figure> figures;
};

std::vector<row> read_rows(std::ifstream& lines) {
  std::vector<row> rows;
  for (std::string line; std::getline(lines, line);) {
    const auto read = nlohmann::json::parse(line, nullptr, false);
    if (!read.is_object()) continue;
    const std::string unit = read.at("unit");
    const std::string title =
        read.at("suite").get<std::string>() + ": " + read.at("case").get<std::string>() + ", " + unit;
    auto found = std::find_if(rows.begin(), rows.end(), [&](const row& r) { return r.title == title; });
    if (found == rows.end()) found = rows.insert(found, row{title, unit.find("/s") != std::string::npos, {}});
    found->figures.push_back({read.at("impl"), read.at("value")});
  }
  return rows;
}

/// The figure of the best peer, or null.
const figure* best_peer(const row& r) {
  const figure* best = nullptr;
  for (const figure& f : r.figures)
    if (!f.ours() && (!best || (r.larger_is_better ? f.value > best->value : f.value < best->value))) best = &f;
  return best;
}

void print(const row& r) {
  std::printf("%s\n", r.title.c_str());
  for (const figure& f : r.figures) std::printf("  %-29s %.2f\n", f.impl.c_str(), f.value);
  const figure* const peer = best_peer(r);
  for (const figure& f : r.figures) {
    if (!peer || !f.ours() || f.value <= 0 || peer->value <= 0) continue;
    const double ratio = r.larger_is_better ? f.value / peer->value : peer->value / f.value;
    const std::string label = "ratio" + f.impl.substr(std::string("tokamax").size());
    std::printf("  %-29s %.2f\n", label.c_str(), ratio);
  }
}

}  // namespace

int main(int count, char** words) {
  std::ifstream lines(count > 1 ? words[1] : "");
  if (!lines) {
    std::fprintf(stderr, "found no file of figures, expected: table FILE\n");
    return 1;
  }
  try {
    for (const row& r : read_rows(lines)) print(r);
  } catch (const nlohmann::json::exception& e) {
    std::fprintf(stderr, "found a line of other fields (%s), expected suite, case, impl, value, unit\n", e.what());
    return 1;
  }
}
