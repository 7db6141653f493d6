// tokamax/data/sources/csv.hpp: tables of texts or numbers with a row a line.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/data/sources/sources.cpp
#pragma once

#include <tokamax/data/dataset.hpp>             // dataset
#include <tokamax/data/sources/file_bytes.hpp>  // file_bytes

#include <algorithm>  // find
#include <charconv>   // from_chars
#include <memory>     // shared_ptr
#include <vector>     // vector

namespace tokamax::data {

struct csv_options {
  char separator = ',';
  bool header = true;  ///< the first row has the names of the columns
};

/// The rows of a file as vectors of texts. A field in quotes may hold separators, line ends and, as two quotes, a quote.
/// source  RFC 4180
class csv : public dataset<csv> {
 public:
  /// errors  tokamax::error that names the file and the row if rows have different numbers of fields, or a quote does not end
  explicit csv(const std::string& path, csv_options options = {}) : file_(path), options_(options) {
    auto rows = std::make_shared<std::vector<std::size_t>>();
    std::size_t fields = 0;
    for (std::size_t at = 0; at < file_.size();) {
      const std::size_t begin = at;
      const std::vector<std::string> row = read(at);
      if (row.size() == 1 && row[0].empty()) continue;  // an empty line
      if (fields == 0) {
        fields = row.size();
        if (options.header) {
          columns_ = row;
          continue;
        }
      }
      if (row.size() != fields)
        file_.fail("csv: fields of a row", begin, std::to_string(row.size()), std::to_string(fields));
      rows->push_back(begin);
    }
    rows_ = std::move(rows);
    fields_ = fields;
  }
  std::int64_t size() const { return static_cast<std::int64_t>(rows_->size()); }
  std::vector<std::string> operator[](std::int64_t index) const {
    std::size_t at = (*rows_)[static_cast<std::size_t>(index % size())];
    return read(at);
  }
  const std::vector<std::string>& columns() const { return columns_; }
  /// The index of a column in the rows.
  /// errors  tokamax::error if there is none of this name
  std::size_t column(const std::string& name) const {
    const auto found = std::ranges::find(columns_, name);
    if (found == columns_.end())
      throw error(error_kind::file, "csv: column", "no " + name, "one of the header", file_.path());
    return static_cast<std::size_t>(found - columns_.begin());
  }
  /// The whole table.
  /// shapes  f32 [rows, columns]
  /// errors  tokamax::error that names the place of a field that is no number
  array numbers() const {
    std::vector<float> all;
    for (const std::size_t begin : *rows_) {
      std::size_t at = begin;
      for (const std::string& field : read(at)) all.push_back(number(field, begin));
    }
    return array::from(all, {size(), static_cast<std::int64_t>(fields_)});
  }

 private:
  float number(const std::string& field, std::size_t row) const {
    const std::size_t begin = std::min(field.find_first_not_of(' '), field.size());
    float value = 0;
    const auto [end, failure] = std::from_chars(field.data() + begin, field.data() + field.size(), value);
    if (failure != std::errc() ||
        field.find_first_not_of(' ', static_cast<std::size_t>(end - field.data())) != field.npos)
      file_.fail("csv: field", row, "'" + field + "'", "a number");
    return value;
  }
  // The row at `at`, which moves behind its end.
  std::vector<std::string> read(std::size_t& at) const {
    const std::string_view text = file_.view();
    const std::size_t begin = at;
    std::vector<std::string> row(1);
    bool quoted = false;
    for (; at < text.size(); ++at) {
      const char c = text[at];
      if (quoted) {
        if (c != '"')
          row.back() += c;
        else if (at + 1 < text.size() && text[at + 1] == '"')
          row.back() += text[++at];
        else
          quoted = false;
      } else if (c == '"') {
        quoted = true;
      } else if (c == options_.separator) {
        row.emplace_back();
      } else if (c == '\n') {
        ++at;
        return row;
      } else if (c != '\r') {
        row.back() += c;
      }
    }
    if (quoted) file_.fail("csv: quote", begin, "the end of the file", "the end of the quote");
    return row;
  }

  file_bytes file_;
  csv_options options_;
  std::vector<std::string> columns_;
  std::shared_ptr<const std::vector<std::size_t>> rows_;
  std::size_t fields_ = 0;
};

}  // namespace tokamax::data
