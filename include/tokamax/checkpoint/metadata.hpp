// tokamax/checkpoint/metadata.hpp: numbers, texts and plain records that are saved beside the arrays.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/error.hpp>             // error
#include <tokamax/checkpoint/json_value.hpp>  // json_value

namespace tokamax::checkpoint {

/// The data that is saved beside the arrays: the step, and named entries such as the position of the data pipeline.
struct metadata {
  std::int64_t step = 0;
  json_value entries;

  /// Sets an entry to a number, an enumerator, a text (UTF-8), a vector of those, or a plain struct of any of those.
  template <class T>
  metadata& set(const std::string& name, const T& value) {
    entries.set(name, value);
    return *this;
  }
  bool has(const std::string& name) const { return entries.has(name); }
  /// errors  tokamax::error that names the entry if it is missing or is not a `T`
  template <class T>
  T get(const std::string& name) const {
    if (!has(name)) throw error("metadata " + name, "nothing", "an entry with this name");
    T value{};
    detail::from_json({entries[name], name, {}}, value);
    return value;
  }
};

}  // namespace tokamax::checkpoint
