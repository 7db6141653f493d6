// tokamax/checkpoint/json_value.hpp: numbers, texts, vectors and plain records as a JSON value, and back.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/checkpoint/metadata.cpp
#pragma once

#include <tokamax/base/tree/reflect.hpp>  // record, field_name
#include <tokamax/checkpoint/json.hpp>    // json

#include <limits>   // numeric_limits
#include <memory>   // unique_ptr
#include <tuple>    // tuple, apply
#include <utility>  // index_sequence
#include <vector>   // vector

#if defined(TOKAMAX_FILES_COMPILED_ONCE)
  #include <cmath>    // isfinite
  #include <cstdlib>  // strtod
#endif

namespace tokamax::checkpoint {

namespace detail {

template <class T>
inline constexpr bool is_vector = false;
template <class T>
inline constexpr bool is_vector<std::vector<T>> = true;
template <class T>
inline constexpr bool is_tuple = false;
template <class... T>
inline constexpr bool is_tuple<std::tuple<T...>> = true;

// Writing: each function replaces the value `to`. Those with a result return what is to be written next.
void put_bool(nlohmann::json& to, bool value);
void put_signed(nlohmann::json& to, std::int64_t value);
void put_unsigned(nlohmann::json& to, std::uint64_t value);
void put_float(nlohmann::json& to, double value);  // JSON has no NaN and no infinity, so they are texts
void put_text(nlohmann::json& to, std::string_view value);
void put_list(nlohmann::json& to);
void put_record(nlohmann::json& to);
nlohmann::json& new_element(nlohmann::json& list);
nlohmann::json& new_field(nlohmann::json& record, std::string_view name);

// A value that is read: `path` is its name in messages, and `where` the file. The functions throw an error that shows the
// value if it is of another kind.
struct json_place {
  const nlohmann::json& value;
  std::string path, where;
  std::string kind = "metadata ";  // what stands before the name
};
bool bool_at(const json_place& at);
double number_at(const json_place& at, double largest);
std::uint64_t integer_at(const json_place& at, std::int64_t least, std::uint64_t most);  // two's complement
std::string text_at(const json_place& at);
std::size_t list_at(const json_place& at);  // its size
void list_of_size(const json_place& at, std::size_t size);
json_place element_at(const json_place& list, std::size_t i);
json_place field_at(const json_place& record, std::string_view name);

template <class T>
void to_json(const T& value, nlohmann::json& to) {
  if constexpr (std::is_same_v<T, bool>) {
    put_bool(to, value);
  } else if constexpr (std::is_floating_point_v<T>) {
    put_float(to, static_cast<double>(value));
  } else if constexpr (std::is_enum_v<T>) {
    to_json(static_cast<std::underlying_type_t<T>>(value), to);
  } else if constexpr (std::is_signed_v<T>) {
    put_signed(to, value);
  } else if constexpr (std::is_unsigned_v<T>) {
    put_unsigned(to, value);
  } else if constexpr (std::is_convertible_v<T, std::string_view>) {
    put_text(to, value);
  } else if constexpr (is_vector<T>) {
    put_list(to);
    for (const auto& element : value) to_json(element, new_element(to));
  } else if constexpr (is_tuple<T>) {
    put_list(to);
    std::apply([&](const auto&... element) { (to_json(element, new_element(to)), ...); }, value);
  } else {
    static_assert(record<T>, "tokamax: metadata are numbers, texts, vectors, tuples and plain structs of those");
    put_record(to);
    [&]<std::size_t... Index>(std::index_sequence<Index...>) {
      (to_json(std::get<Index>(fields(value)), new_field(to, field_name<T, Index>)), ...);
    }(std::make_index_sequence<field_count<T>>{});
  }
}

template <class T>
void from_json(const json_place& from, T& value) {
  using limits = std::numeric_limits<T>;
  if constexpr (std::is_same_v<T, bool>) {
    value = bool_at(from);
  } else if constexpr (std::is_floating_point_v<T>) {
    value = static_cast<T>(number_at(from, static_cast<double>(limits::max())));
  } else if constexpr (std::is_enum_v<T>) {
    std::underlying_type_t<T> number{};
    from_json(from, number);
    value = static_cast<T>(number);
  } else if constexpr (std::is_integral_v<T>) {
    value = static_cast<T>(integer_at(from, static_cast<std::int64_t>(limits::min()), limits::max()));
  } else if constexpr (std::is_same_v<T, std::string>) {
    value = text_at(from);
  } else if constexpr (is_vector<T>) {
    value.resize(list_at(from));
    for (std::size_t i = 0; i < value.size(); ++i) from_json(element_at(from, i), value[i]);
  } else if constexpr (is_tuple<T>) {
    list_of_size(from, std::tuple_size_v<T>);
    std::size_t i = 0;
    std::apply([&](auto&... element) { (from_json(element_at(from, i++), element), ...); }, value);
  } else {
    static_assert(record<T>, "tokamax: metadata are numbers, texts, vectors, tuples and plain structs of those");
    [&]<std::size_t... Index>(std::index_sequence<Index...>) {
      (from_json(field_at(from, field_name<T, Index>), std::get<Index>(fields(value))), ...);
    }(std::make_index_sequence<field_count<T>>{});
  }
}

}  // namespace detail

/// A JSON value of its own; at first a record without fields. What it holds is a number, an enumerator, a text (UTF-8), a
/// vector of those, or a plain struct of any of those.
class json_value {
 public:
  json_value();
  json_value(const json_value& other);
  json_value(json_value&& other);  // leaves a record without fields
  json_value& operator=(json_value other) noexcept;
  ~json_value();

  /// The value that a text holds; errors as `check_json`.
  static json_value parse(std::string_view text, const std::string& where);
  template <class T>
  static json_value of(const T& value) {
    json_value result;
    detail::to_json(value, *result);
    return result;
  }
  /// Converts it back. Messages call it `name`.
  /// errors  tokamax::error if it is not a `T`
  template <class T>
  T as(const std::string& name, const std::string& where = {}) const {
    T value{};
    detail::from_json({**this, name, where}, value);
    return value;
  }

  /// A field of a record, which must be there if the record is const.
  nlohmann::json& operator[](std::string_view name);
  const nlohmann::json& operator[](std::string_view name) const;
  bool has(std::string_view name) const;
  template <class T>
  void set(std::string_view name, const T& value) {
    detail::to_json(value, (*this)[name]);
  }

  /// The value as a text. With `indent` at least 0, each element has a line.
  std::string text(int indent = -1) const;

  /// The value of the JSON library. A file that uses it includes `<nlohmann/json.hpp>`.
  nlohmann::json& operator*() { return *value_; }
  const nlohmann::json& operator*() const { return *value_; }
  nlohmann::json* operator->() { return value_.get(); }
  const nlohmann::json* operator->() const { return value_.get(); }

 private:
  std::unique_ptr<nlohmann::json> value_;
};

#if defined(TOKAMAX_FILES_COMPILED_ONCE)
TOKAMAX_FILES_COMPILED_ONCE json_value::json_value()
    : value_(std::make_unique<nlohmann::json>(nlohmann::json::object())) {}
TOKAMAX_FILES_COMPILED_ONCE json_value::json_value(const json_value& other)
    : value_(std::make_unique<nlohmann::json>(*other)) {}
TOKAMAX_FILES_COMPILED_ONCE json_value::json_value(json_value&& other) : json_value() { value_.swap(other.value_); }
TOKAMAX_FILES_COMPILED_ONCE json_value& json_value::operator=(json_value other) noexcept {
  value_.swap(other.value_);
  return *this;
}
TOKAMAX_FILES_COMPILED_ONCE json_value::~json_value() = default;
TOKAMAX_FILES_COMPILED_ONCE json_value json_value::parse(std::string_view text, const std::string& where) {
  json_value result;
  *result = parse_json(text, where);
  return result;
}
TOKAMAX_FILES_COMPILED_ONCE nlohmann::json& json_value::operator[](std::string_view name) {
  return (*value_)[std::string(name)];
}
TOKAMAX_FILES_COMPILED_ONCE const nlohmann::json& json_value::operator[](std::string_view name) const {
  return std::as_const(*value_)[std::string(name)];
}
TOKAMAX_FILES_COMPILED_ONCE bool json_value::has(std::string_view name) const {
  return value_->contains(std::string(name));
}
TOKAMAX_FILES_COMPILED_ONCE std::string json_value::text(int indent) const { return value_->dump(indent); }

namespace detail {

TOKAMAX_FILES_COMPILED_ONCE void put_bool(nlohmann::json& to, bool value) { to = value; }
TOKAMAX_FILES_COMPILED_ONCE void put_signed(nlohmann::json& to, std::int64_t value) { to = value; }
TOKAMAX_FILES_COMPILED_ONCE void put_unsigned(nlohmann::json& to, std::uint64_t value) { to = value; }
TOKAMAX_FILES_COMPILED_ONCE void put_float(nlohmann::json& to, double value) {
  if (std::isfinite(value))
    to = value;
  else
    to = std::to_string(value);
}
TOKAMAX_FILES_COMPILED_ONCE void put_text(nlohmann::json& to, std::string_view value) { to = std::string(value); }
TOKAMAX_FILES_COMPILED_ONCE void put_list(nlohmann::json& to) { to = nlohmann::json::array(); }
TOKAMAX_FILES_COMPILED_ONCE void put_record(nlohmann::json& to) { to = nlohmann::json::object(); }
TOKAMAX_FILES_COMPILED_ONCE nlohmann::json& new_element(nlohmann::json& list) {
  list.push_back(nullptr);
  return list.back();
}
TOKAMAX_FILES_COMPILED_ONCE nlohmann::json& new_field(nlohmann::json& record, std::string_view name) {
  return record[std::string(name)];
}

TOKAMAX_FILES_COMPILED_ONCE void expect_at(const json_place& at, bool fits, const char* expected) {
  if (!fits) throw error(error_kind::file, at.kind + at.path, brief(at.value), expected, at.where);
}
TOKAMAX_FILES_COMPILED_ONCE bool bool_at(const json_place& at) {
  expect_at(at, at.value.is_boolean(), "true or false");
  return at.value.get<bool>();
}
TOKAMAX_FILES_COMPILED_ONCE double number_at(const json_place& at, double largest) {
  const nlohmann::json& json = at.value;
  expect_at(at, json.is_number() || json == "nan" || json == "-nan" || json == "inf" || json == "-inf", "a number");
  const double number = json.is_number() ? json.get<double>() : std::strtod(json.get<std::string>().c_str(), nullptr);
  expect_at(at, !std::isfinite(number) || std::abs(number) <= largest, "a number that fits the type");
  return number;
}
TOKAMAX_FILES_COMPILED_ONCE std::uint64_t integer_at(const json_place& at, std::int64_t least, std::uint64_t most) {
  expect_at(at, at.value.is_number_integer(), "an integer");
  const auto bits = at.value.get<std::uint64_t>();
  const bool negative = !at.value.is_number_unsigned() && at.value.get<std::int64_t>() < 0;
  expect_at(at, negative ? at.value.get<std::int64_t>() >= least : bits <= most, "an integer that the type can hold");
  return bits;
}
TOKAMAX_FILES_COMPILED_ONCE std::string text_at(const json_place& at) {
  expect_at(at, at.value.is_string(), "a text");
  return at.value.get<std::string>();
}
TOKAMAX_FILES_COMPILED_ONCE std::size_t list_at(const json_place& at) {
  expect_at(at, at.value.is_array(), "a list");
  return at.value.size();
}
TOKAMAX_FILES_COMPILED_ONCE void list_of_size(const json_place& at, std::size_t size) {
  expect_at(at, list_at(at) == size, "a list of another length");
}
TOKAMAX_FILES_COMPILED_ONCE json_place element_at(const json_place& list, std::size_t i) {
  return {list.value[i], list.path + "[" + std::to_string(i) + "]", list.where, list.kind};
}
TOKAMAX_FILES_COMPILED_ONCE json_place field_at(const json_place& record, std::string_view name) {
  expect_at(record, record.value.is_object(), "a record");
  const std::string key(name);
  if (!record.value.contains(key))
    throw error(error_kind::file, record.kind + record.path, "no " + key, "a record with the field " + key,
                record.where);
  return {record.value[key], record.path + "." + key, record.where, record.kind};
}

}  // namespace detail
#endif

}  // namespace tokamax::checkpoint
