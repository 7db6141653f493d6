// tokamax/text/tokenizer_json.hpp: the JSON of a tokenizer, read within bounds, its long lists apart from the rest.
// SPDX-License-Identifier: Apache-2.0
// umbrella: in the map only (the library of `tokamax::text` compiles it)
// tested by tests/text/tokenizer.cpp
#pragma once

#include <tokamax/base/error.hpp>  // error

#include <nlohmann/json.hpp>  // json

#include <algorithm>  // min
#include <array>      // array
#include <cstdint>    // uint32_t
#include <utility>    // pair
#include <vector>     // vector

namespace tokamax::text {

/// A value of a JSON text, with its place for messages.
class json_field {
 public:
  json_field(const nlohmann::json& value, std::string path, const std::string& where)
      : value_(&value), path_(std::move(path)), where_(&where) {}

  const nlohmann::json& value() const { return *value_; }
  const std::string& where() const { return *where_; }
  bool absent() const { return value_->is_null(); }
  /// A field of a record; one that is not there is null.
  json_field operator[](const char* name) const {
    static const nlohmann::json nothing;
    if (!value_->is_object()) refuse("a record with the field " + std::string(name));
    const auto at = value_->find(name);
    return {at == value_->end() ? nothing : *at, path_.empty() ? name : path_ + "." + name, *where_};
  }
  std::string text() const {
    if (!value_->is_string()) refuse("a text");
    return value_->get<std::string>();
  }
  std::string text(const char* otherwise) const { return absent() ? otherwise : text(); }
  bool flag(bool otherwise) const {
    if (absent()) return otherwise;
    if (!value_->is_boolean()) refuse("true or false");
    return value_->get<bool>();
  }
  /// An integer from 0 to `most`.
  std::uint32_t natural(std::uint32_t most) const {
    const bool natural =
        value_->is_number_unsigned() || (value_->is_number_integer() && value_->get<std::int64_t>() >= 0);
    if (!natural || value_->get<std::uint64_t>() > most) refuse("an integer from 0 to " + std::to_string(most));
    return value_->get<std::uint32_t>();
  }
  std::vector<json_field> elements() const {
    if (!value_->is_array()) refuse("a list");
    std::vector<json_field> all;
    for (std::size_t i = 0; i < value_->size(); ++i)
      all.emplace_back((*value_)[i], path_ + "[" + std::to_string(i) + "]", *where_);
    return all;
  }
  [[noreturn]] void refuse(const std::string& expected) const {
    std::string found = value_->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    if (absent()) found = "nothing";
    throw error(error_kind::file, "tokenizer: " + (path_.empty() ? "the whole" : path_), found, expected, *where_);
  }

 private:
  const nlohmann::json* value_;
  std::string path_;
  const std::string* where_;
};

/// A tokenizer's file. `rest` lacks model.vocab and model.merges, which may have some hundred thousand entries.
struct tokenizer_json {
  nlohmann::json rest;
  std::vector<std::string> tokens;                          ///< of model.vocab, in the order of the file
  std::vector<std::uint32_t> ids;                           ///< of a vocab that is a record
  std::vector<double> scores;                               ///< of a vocab that is a list of [token, score]
  std::vector<std::pair<std::string, std::string>> merges;  ///< the two halves, best first
  std::vector<std::array<std::uint32_t, 3>>
      ranked_merges;  ///< ids of two tokens and of both together, which is the rank
};

/// No token has a greater id, and none is greater than the bytes of the file and 2^16, so that a few bytes cannot ask for
/// much memory.
inline constexpr std::uint32_t largest_token_id = (1u << 24) - 1;

namespace detail {

class tokenizer_sax : public nlohmann::json_sax<nlohmann::json> {
 public:
  tokenizer_sax(tokenizer_json& to, const std::string& where, std::uint32_t largest_id)
      : to_(to), where_(where), largest_id_(largest_id) {}

  bool null() override { return put(nullptr, "null"); }
  bool boolean(bool value) override { return put(value, "a flag"); }
  bool number_integer(std::int64_t value) override {
    if (in_scores()) return number_float(static_cast<double>(value), {});
    return put(value, "a negative integer");
  }
  bool number_unsigned(std::uint64_t value) override {
    if (list_ == list::vocab && open_.size() == vocab_depth) {
      if (value > largest_id_)
        refuse("model.vocab", std::to_string(value), "an id from 0 to " + std::to_string(largest_id_));
      to_.ids.push_back(static_cast<std::uint32_t>(value));
      return true;
    }
    if (in_scores()) return number_float(static_cast<double>(value), {});
    return put(value, "an integer");
  }
  bool number_float(double value, const std::string&) override {
    if (!in_scores() || to_.scores.size() + 1 != to_.tokens.size()) return put(value, "a number");
    to_.scores.push_back(value);
    return true;
  }
  bool string(std::string& value) override {
    if (in_scores() && to_.scores.size() == to_.tokens.size()) {
      to_.tokens.push_back(std::move(value));
      return true;
    }
    if (list_ == list::merges) {
      merge(std::move(value));
      return true;
    }
    return put(std::move(value), "a text");
  }
  bool binary(nlohmann::json::binary_t&) override { return false; }
  bool key(std::string& name) override {
    if (list_ == list::vocab && open_.size() == vocab_depth) {
      to_.tokens.push_back(std::move(name));
      return true;
    }
    if (open_.back()->contains(name)) refuse("a name", name + " twice", "distinct names");
    if (open_.size() == 2 && model_ && (name == "vocab" || name == "merges"))
      next_ = name == "vocab" ? list::vocab : list::merges;
    if (open_.size() == 1) model_ = name == "model";
    name_ = std::move(name);
    return true;
  }
  bool start_object(std::size_t) override { return start(nlohmann::json::object()); }
  bool start_array(std::size_t) override { return start(nlohmann::json::array()); }
  bool end_object() override { return end(); }
  bool end_array() override {
    const bool whole = half_.empty() && halves_ != 1 && (!in_scores() || to_.scores.size() == to_.tokens.size());
    if (!whole) refuse("model", "half an entry", "pairs");
    halves_ = 0;
    return end();
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception& e) override {
    refuse("json", e.what(), "a text of the format");
  }

 private:
  enum class list { none, vocab, merges };
  static constexpr std::size_t vocab_depth = 3, most_depth = 64, most_values = std::size_t{1} << 20;

  [[noreturn]] void refuse(const std::string& what, const std::string& found, const std::string& expected) const {
    throw error(error_kind::file, "tokenizer: " + what, found, expected, where_);
  }
  bool in_scores() const { return list_ == list::vocab && open_.size() == vocab_depth + 1; }
  // A merge is "left right" in older files, and ["left", "right"] in newer ones.
  void merge(std::string value) {
    if (open_.size() == vocab_depth) {
      if (value.starts_with("#version")) return;
      const std::size_t space = value.find(' ');
      if (space == std::string::npos || value.find(' ', space + 1) != std::string::npos)
        refuse("model.merges", value, "two tokens with a space between");
      to_.merges.emplace_back(value.substr(0, space), value.substr(space + 1));
    } else if (open_.size() == vocab_depth + 1 && halves_ < 2) {
      if (halves_++ == 0)
        half_ = std::move(value), half_ += '\0';  // the mark of a half, also of an empty one
      else
        half_.pop_back(), to_.merges.emplace_back(std::exchange(half_, {}), std::move(value));
    } else {
      refuse("model.merges", "a list of more texts", "two tokens");
    }
  }
  nlohmann::json* put(nlohmann::json value) {
    if (++values_ > most_values) refuse("json: values", "more", "at most " + std::to_string(most_values));
    if (open_.empty()) return &(to_.rest = std::move(value));
    if (open_.back()->is_array()) {
      open_.back()->push_back(std::move(value));
      return &open_.back()->back();
    }
    return &((*open_.back())[name_] = std::move(value));
  }
  bool put(nlohmann::json value, const char* found) {
    if (list_ != list::none) refuse(list_ == list::vocab ? "model.vocab" : "model.merges", found, "an entry");
    next_ = list::none;
    put(std::move(value));
    return true;
  }
  bool start(nlohmann::json empty) {
    if (open_.size() >= most_depth) refuse("json: depth", "more", "at most " + std::to_string(most_depth));
    if (list_ != list::none) {  // an entry of a list
      if (open_.size() != vocab_depth || !empty.is_array() || !open_.back()->is_array())
        refuse(list_ == list::vocab ? "model.vocab" : "model.merges", "a list or record", "an entry");
      open_.push_back(open_.back());
      return true;
    }
    const bool record = empty.is_object();
    open_.push_back(put(std::move(empty)));
    list_ = std::exchange(next_, list::none);
    if (list_ == list::merges && record) refuse("model.merges", "a record", "a list");
    return true;
  }
  bool end() {
    if (list_ == list::vocab && open_.size() == vocab_depth && open_.back()->is_object() &&
        to_.ids.size() != to_.tokens.size())
      refuse("model.vocab", "a token without an id", "an id");
    if (open_.size() == vocab_depth) list_ = list::none;
    open_.pop_back();
    return true;
  }

  tokenizer_json& to_;
  const std::string& where_;
  std::uint32_t largest_id_;
  std::vector<nlohmann::json*> open_;  // records and lists that are not at their end
  std::string name_;                   // of the next value
  list list_ = list::none, next_ = list::none;
  bool model_ = false;
  std::string half_;  // the first half of a merge
  int halves_ = 0;
  std::size_t values_ = 0;
};

}  // namespace detail

/// Reads the JSON of a tokenizer. Messages call it `where`.
/// errors  tokamax::error of the kind `file` if it is no JSON, too deep, or has a name twice in a record
inline tokenizer_json parse_tokenizer_json(std::string_view bytes, const std::string& where) {
  constexpr std::size_t most_bytes = std::size_t{1} << 28;
  if (bytes.size() > most_bytes)
    throw error(error_kind::file, "tokenizer: json", std::to_string(bytes.size()) + " bytes",
                "at most " + std::to_string(most_bytes), where);
  if (const std::size_t zero = bytes.find('\0'); zero != std::string_view::npos)
    throw error(error_kind::file, "tokenizer: json", "a zero byte at " + std::to_string(zero), "a text", where);
  tokenizer_json result;
  const std::size_t most = std::min<std::size_t>(bytes.size() + 65536, largest_token_id);
  detail::tokenizer_sax sax(result, where, static_cast<std::uint32_t>(most));
  nlohmann::json::sax_parse(bytes, &sax);
  return result;
}

}  // namespace tokamax::text
