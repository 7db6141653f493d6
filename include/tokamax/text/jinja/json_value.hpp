// tokamax/text/jinja/json_value.hpp: a JSON text as a value of templates, whose records keep their order.
// SPDX-License-Identifier: Apache-2.0
// umbrella: in the map only (the library of `tokamax::text` compiles it)
// tested by tests/text/chat_template.cpp
#pragma once

#include <tokamax/text/jinja/limits.hpp>  // limits

#include <nlohmann/json.hpp>  // json_sax

namespace tokamax::text::jinja {

namespace detail {

// Takes the parts of a JSON text in order. No part calls another, so that depth costs no stack.
class value_sax : public nlohmann::json_sax<nlohmann::json> {
 public:
  value_sax(limits& run, const std::string& what) : run_(run), what_(what) {}
  value result;

  bool null() override { return put(none{}); }
  bool boolean(bool v) override { return put(v); }
  bool number_integer(std::int64_t v) override { return put(v); }
  bool number_unsigned(std::uint64_t v) override {
    if (v > INT64_MAX) refuse(std::to_string(v), "integers of 64 bits");
    return put(static_cast<std::int64_t>(v));
  }
  bool number_float(double v, const std::string&) override { return put(v); }
  bool string(std::string& v) override { return put(run_.text(std::move(v))); }
  bool binary(nlohmann::json::binary_t&) override { return false; }
  bool key(std::string& name) override {
    open_.back().key = std::move(name);
    return true;
  }
  bool start_object(std::size_t) override { return start(true); }
  bool start_array(std::size_t) override { return start(false); }
  bool end_object() override { return end(); }
  bool end_array() override { return end(); }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception& e) override {
    refuse(e.what(), "a text of the format");
  }

 private:
  struct part {
    bool record;
    std::string key{};
    dictionary fields{};
    std::map<std::string, std::size_t> places{};  // of the fields
    std::vector<value> items{};
  };
  [[noreturn]] void refuse(const std::string& found, const std::string& expected) const {
    run_.refuse("json of " + what_, found, expected, error_kind::argument);
  }
  bool start(bool record) {
    if (open_.size() >= deepest_value / 2)
      refuse("lists within each other", "at most " + std::to_string(deepest_value / 2));
    open_.push_back({record});
    return true;
  }
  bool end() {
    part p = std::move(open_.back());
    open_.pop_back();
    return put(p.record ? run_.dict(std::move(p.fields)) : run_.list(std::move(p.items)));
  }
  bool put(value v) {
    run_.spend(1);
    if (open_.empty()) {
      result = std::move(v);
    } else if (part& p = open_.back(); !p.record) {
      p.items.push_back(std::move(v));
    } else if (const auto [at, fresh] = p.places.emplace(p.key, p.fields.items.size()); fresh) {
      p.fields.items.emplace_back(value(p.key), std::move(v));
    } else {
      p.fields.items[at->second].second = std::move(v);  // the last one counts, as in Python
    }
    return true;
  }

  limits& run_;
  const std::string& what_;
  std::vector<part> open_;
};

}  // namespace detail

/// The value of a JSON text. Messages call it `what`.
/// errors  tokamax::error of the kind `argument` if it is no JSON, is too deep, or is no UTF-8
inline value value_of_json(limits& run, std::string_view json, const std::string& what) {
  run.spend_bytes(json.size());
  detail::value_sax sax(run, what);
  nlohmann::json::sax_parse(json, &sax);
  return sax.result;
}

}  // namespace tokamax::text::jinja
