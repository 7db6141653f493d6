// tokamax/checkpoint/json_record.hpp: a JSON record of a file, read field by field, such as the config.json of a model.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (readers of models use it)
#pragma once

#include <tokamax/checkpoint/json_value.hpp>  // json_value

#include <filesystem>  // path

#if defined(TOKAMAX_FILES_COMPILED_ONCE)
  #include <tokamax/base/system/file.hpp>  // read_file
#endif

namespace tokamax::checkpoint {

/// Fields by their names. A field that is null counts as one that is not there. Errors have the path of the field and the file.
class json_record {
 public:
  json_record() = default;  ///< without fields
  /// errors  tokamax::error of the kind `file` if the value is no record
  explicit json_record(json_value value, std::string where, std::string path = {});
  /// errors  the same, and as check_json; a file has at most 16 MiB
  static json_record from_file(const std::filesystem::path& path);

  bool has(std::string_view name) const;
  /// A field: a number, a text, a vector or a plain struct of those.
  /// errors  tokamax::error of the kind `file` if it is missing or no `T`
  template <class T>
  T get(std::string_view name) const {
    T value{};
    detail::from_json(place(name), value);
    return value;
  }
  /// The same with a value for a field that is missing.
  template <class T>
  T get(std::string_view name, T otherwise) const {
    return has(name) ? get<T>(name) : otherwise;
  }
  json_record record(std::string_view name) const;
  /// Is the field one number? It may be a list elsewhere.
  bool is_number(std::string_view name) const;
  template <class T>
  void set(std::string_view name, const T& value) {
    value_.set(name, value);
  }
  void set(std::string_view name, const json_record& fields);
  /// Takes a field out, if it is there.
  void remove(std::string_view name);

  /// Throws an error that names the field.
  [[noreturn]] void refuse(std::string_view name, std::string found, std::string expected) const;
  const std::string& where() const { return where_; }
  /// The record as a text with a line for each field.
  std::string text() const { return value_.text(2) + "\n"; }

 private:
  detail::json_place place(std::string_view name) const;

  json_value value_;
  std::string where_, path_;
};

#if defined(TOKAMAX_FILES_COMPILED_ONCE)
TOKAMAX_FILES_COMPILED_ONCE json_record::json_record(json_value value, std::string where, std::string path)
    : value_(std::move(value)), where_(std::move(where)), path_(std::move(path)) {
  if (!value_->is_object()) throw error(error_kind::file, "config" + path_, detail::brief(*value_), "a record", where_);
}
TOKAMAX_FILES_COMPILED_ONCE json_record json_record::from_file(const std::filesystem::path& path) {
  return json_record(json_value::parse(read_file(path, std::uint64_t{1} << 24), path.string()), path.string());
}
TOKAMAX_FILES_COMPILED_ONCE bool json_record::has(std::string_view name) const {
  return value_.has(name) && !value_[name].is_null();
}
TOKAMAX_FILES_COMPILED_ONCE json_record json_record::record(std::string_view name) const {
  json_value inner;
  *inner = place(name).value;
  return json_record(std::move(inner), where_, path_ + "." + std::string(name));
}
TOKAMAX_FILES_COMPILED_ONCE bool json_record::is_number(std::string_view name) const {
  return value_.has(name) && value_[name].is_number();
}
TOKAMAX_FILES_COMPILED_ONCE void json_record::set(std::string_view name, const json_record& fields) {
  value_[name] = *fields.value_;
}
TOKAMAX_FILES_COMPILED_ONCE void json_record::remove(std::string_view name) { value_->erase(std::string(name)); }
TOKAMAX_FILES_COMPILED_ONCE void json_record::refuse(std::string_view name, std::string found,
                                                     std::string expected) const {
  throw error(error_kind::file, "config" + path_ + "." + std::string(name), std::move(found), std::move(expected),
              where_);
}
TOKAMAX_FILES_COMPILED_ONCE detail::json_place json_record::place(std::string_view name) const {
  return detail::field_at({*value_, path_, where_, "config"}, name);
}
#endif

}  // namespace tokamax::checkpoint
