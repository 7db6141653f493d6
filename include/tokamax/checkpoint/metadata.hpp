// tokamax/checkpoint/metadata.hpp: numbers, texts and plain records that are saved beside the arrays.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/tree/reflect.hpp>  // record, field_name
#include <tokamax/checkpoint/json.hpp>    // json

#include <cmath>    // isfinite
#include <cstdlib>  // strtod
#include <limits>   // numeric_limits
#include <string>   // string
#include <utility>  // in_range
#include <vector>   // vector

namespace tokamax::checkpoint {

namespace detail {

template <class T>
inline constexpr bool is_vector = false;
template <class T>
inline constexpr bool is_vector<std::vector<T>> = true;

template <class T>
nlohmann::json to_json(const T& value) {
  if constexpr (std::is_floating_point_v<T>) {
    if (!std::isfinite(value)) return std::to_string(value);  // JSON has no NaN and no infinity, so they are texts
    return static_cast<double>(value);
  } else if constexpr (std::is_enum_v<T>) {
    return static_cast<std::underlying_type_t<T>>(value);
  } else if constexpr (std::is_arithmetic_v<T>) {
    return value;
  } else if constexpr (std::is_convertible_v<T, std::string_view>) {
    return std::string(std::string_view(value));
  } else if constexpr (is_vector<T>) {
    nlohmann::json result = nlohmann::json::array();
    for (const auto& element : value) result.push_back(to_json(element));
    return result;
  } else {
    static_assert(record<T>, "tokamax: metadata are numbers, texts, vectors and plain structs of those");
    nlohmann::json result = nlohmann::json::object();
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      ((result[std::string(field_name<T, I>)] = to_json(std::get<I>(fields(value)))), ...);
    }(std::make_index_sequence<field_count<T>>{});
    return result;
  }
}

template <class T>
void from_json(const nlohmann::json& json, T& value, const std::string& path, const std::string& where = {}) {
  const auto expect = [&](bool fits, const char* expected) {
    if (!fits) throw error("metadata " + path, brief(json), expected, where);
  };
  if constexpr (std::is_same_v<T, bool>) {
    expect(json.is_boolean(), "true or false");
    value = json.get<bool>();
  } else if constexpr (std::is_floating_point_v<T>) {
    expect(json.is_number() || json == "nan" || json == "-nan" || json == "inf" || json == "-inf", "a number");
    const double number = json.is_number() ? json.get<double>() : std::strtod(json.get<std::string>().c_str(), nullptr);
    expect(!std::isfinite(number) || std::abs(number) <= std::numeric_limits<T>::max(), "a number that fits the type");
    value = static_cast<T>(number);
  } else if constexpr (std::is_enum_v<T>) {
    std::underlying_type_t<T> number{};
    from_json(json, number, path, where);
    value = static_cast<T>(number);
  } else if constexpr (std::is_integral_v<T>) {
    expect(json.is_number_integer(), "an integer");
    const bool fits = json.is_number_unsigned() ? std::in_range<T>(json.get<std::uint64_t>())
                                                : std::in_range<T>(json.get<std::int64_t>());
    expect(fits, "an integer that the type can hold");
    value = json.get<T>();
  } else if constexpr (std::is_same_v<T, std::string>) {
    expect(json.is_string(), "a text");
    value = json.get<std::string>();
  } else if constexpr (is_vector<T>) {
    expect(json.is_array(), "a list");
    value.resize(json.size());
    for (std::size_t i = 0; i < json.size(); ++i)
      from_json(json[i], value[i], path + "[" + std::to_string(i) + "]", where);
  } else {
    static_assert(record<T>, "tokamax: metadata are numbers, texts, vectors and plain structs of those");
    expect(json.is_object(), "a record");
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      const auto field = [&](const std::string& name, auto& to) {
        if (!json.contains(name))
          throw error("metadata " + path, "no " + name, "a record with the field " + name, where);
        from_json(json[name], to, path + "." + name, where);
      };
      (field(std::string(field_name<T, I>), std::get<I>(fields(value))), ...);
    }(std::make_index_sequence<field_count<T>>{});
  }
}

}  // namespace detail

/// The data that is saved beside the arrays: the step, and named entries such as the position of the data pipeline.
struct metadata {
  std::int64_t step = 0;
  nlohmann::json entries = nlohmann::json::object();

  /// Sets an entry to a number, an enumerator, a text (UTF-8), a vector of those, or a plain struct of any of those.
  template <class T>
  metadata& set(const std::string& name, const T& value) {
    entries[name] = detail::to_json(value);
    return *this;
  }
  bool has(const std::string& name) const { return entries.contains(name); }
  /// errors  tokamax::error that names the entry if it is missing or is not a `T`
  template <class T>
  T get(const std::string& name) const {
    if (!has(name)) throw error("metadata " + name, "nothing", "an entry with this name");
    T value{};
    detail::from_json(entries[name], value, name);
    return value;
  }
};

}  // namespace tokamax::checkpoint
