// tokamax/data/sources/lines.hpp: the lines of a text file, and records of JSON, one a line.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/data/sources/sources.cpp
#pragma once

#include <tokamax/checkpoint/json_text.hpp>     // parse_json_as
#include <tokamax/data/map.hpp>                 // map
#include <tokamax/data/sources/file_bytes.hpp>  // file_bytes

#include <memory>  // shared_ptr
#include <vector>  // vector

namespace tokamax::data {

/// A line of a file, without its end.
struct line {
  std::string text;
  std::int64_t number;  ///< from 1 on
  std::shared_ptr<const std::string> file;
  std::string where() const { return *file + ", line " + std::to_string(number); }
};

/// The lines of a file that are not empty. Their places are found when it is opened, 16 bytes of memory a line.
class lines : public dataset<lines> {
 public:
  explicit lines(const std::string& path)
      : file_(path), name_(std::make_shared<const std::string>(path)), places_(find(file_.view())) {}
  std::int64_t size() const { return static_cast<std::int64_t>(places_->size()); }
  line operator[](std::int64_t index) const {
    const place& at = (*places_)[static_cast<std::size_t>(index % size())];
    std::string_view text = file_.view().substr(at.begin);
    text = text.substr(0, text.find('\n'));
    if (text.ends_with('\r')) text.remove_suffix(1);
    return {std::string(text), at.number, name_};
  }

 private:
  struct place {
    std::size_t begin;
    std::int64_t number;
  };
  static std::shared_ptr<const std::vector<place>> find(std::string_view text) {
    auto result = std::make_shared<std::vector<place>>();
    std::int64_t number = 1;
    for (std::size_t begin = 0; begin < text.size(); ++number) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      const std::string_view one = text.substr(begin, end - begin);
      if (one.find_first_not_of(" \t\r") != std::string_view::npos) result->push_back({begin, number});
      begin = end + 1;
    }
    return result;
  }

  file_bytes file_;
  std::shared_ptr<const std::string> name_;
  std::shared_ptr<const std::vector<place>> places_;
};

/// Records of a file with a JSON value in each line, by index. A record is a plain struct of numbers, texts, vectors and
/// such structs; fields of the file that it does not have are left out.
/// errors  tokamax::error that names the file; those of a line name its number and the field when it is read
template <class Record>
auto jsonl(const std::string& path) {
  return lines(path) | map([](const line& one) {
           return checkpoint::parse_json_as<Record>(one.text, "record", [&] { return one.where(); });
         });
}

}  // namespace tokamax::data
