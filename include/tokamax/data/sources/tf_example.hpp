// tokamax/data/sources/tf_example.hpp: named lists of bytes or numbers, as TensorFlow saves them in records.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/data/sources/sources.cpp
#pragma once

#include <tokamax/core/array.hpp>          // array
#include <tokamax/data/sources/proto.hpp>  // proto_reader, put_bytes

#include <cstring>  // memcpy
#include <map>      // map
#include <string>   // string
#include <variant>  // variant
#include <vector>   // vector

namespace tokamax::data {

/// A message tf.train.Example: texts, floats or integers by name.
class tf_example {
 public:
  using feature = std::variant<std::vector<std::string>, std::vector<float>, std::vector<std::int64_t>>;
  /// errors  tokamax::error if the bytes are no such message
  static tf_example parse(std::string_view bytes);
  /// The bytes that TensorFlow would read.
  std::string text() const;
  tf_example& set(const std::string& name, feature values) {
    features_[name] = std::move(values);
    return *this;
  }
  const std::map<std::string, feature>& features() const { return features_; }
  /// errors  tokamax::error if there is none of this name, or it has values of another kind; the same for those below
  template <class T>
  const std::vector<T>& get(const std::string& name) const {
    const auto found = features_.find(name);
    if (found == features_.end()) throw error(error_kind::file, "tf_example: feature " + name, "none", "a feature");
    if (const auto* values = std::get_if<std::vector<T>>(&found->second)) return *values;
    throw error(error_kind::file, "tf_example: feature " + name, "values of another kind",
                std::is_same_v<T, float>          ? "floats"
                : std::is_same_v<T, std::int64_t> ? "integers"
                                                  : "bytes");
  }
  /// Floats as f32 [n], integers as i32 [n].
  array values(const std::string& name) const {
    const auto found = features_.find(name);
    if (found != features_.end() && std::holds_alternative<std::vector<float>>(found->second))
      return array::from(get<float>(name));
    std::vector<std::int32_t> all;
    for (const std::int64_t one : get<std::int64_t>(name)) {
      if (one != static_cast<std::int32_t>(one))
        throw error(error_kind::file, "tf_example: feature " + name, std::to_string(one), "integers of 32 bits");
      all.push_back(static_cast<std::int32_t>(one));
    }
    return array::from(all);
  }

 private:
  std::map<std::string, feature> features_;
};

namespace detail {

// A list of one kind: field 1 of BytesList, FloatList or Int64List, of which numbers may be packed.
inline tf_example::feature parse_feature(std::string_view bytes) {
  proto_reader message(bytes);
  if (message.empty()) return std::vector<std::string>();
  const proto_reader::field kind = message.next();
  proto_reader list(kind.bytes);
  std::vector<std::string> texts;
  std::vector<float> floats;
  std::vector<std::int64_t> integers;
  const auto add_floats = [&](std::string_view all) {
    if (all.size() % 4 != 0) proto_reader::fail(std::to_string(all.size()) + " bytes", "floats of 4 bytes");
    const std::size_t before = floats.size();
    floats.resize(before + all.size() / 4);
    if (!all.empty()) std::memcpy(floats.data() + before, all.data(), all.size());
  };
  while (!list.empty()) {
    const proto_reader::field value = list.next();
    if (value.number != 1) continue;
    if (kind.number == 1) {
      texts.emplace_back(value.bytes);
    } else if (kind.number == 2) {
      add_floats(value.bytes);
    } else if (value.wire == 0) {
      integers.push_back(static_cast<std::int64_t>(value.value));
    } else {
      for (proto_reader packed(value.bytes); !packed.empty();)
        integers.push_back(static_cast<std::int64_t>(packed.varint()));
    }
  }
  if (kind.number == 1) return texts;
  if (kind.number == 2) return floats;
  if (kind.number == 3) return integers;
  proto_reader::fail("feature of kind " + std::to_string(kind.number), "1 to 3");
}

}  // namespace detail

inline tf_example tf_example::parse(std::string_view bytes) {
  tf_example result;
  for (detail::proto_reader message(bytes); !message.empty();) {
    const auto features = message.next();
    if (features.number != 1) continue;
    for (detail::proto_reader all(features.bytes); !all.empty();) {
      const auto entry = all.next();
      std::string name;
      feature values;
      for (detail::proto_reader pair(entry.bytes); !pair.empty();) {
        const auto part = pair.next();
        if (part.number == 1) name = part.bytes;
        if (part.number == 2) values = detail::parse_feature(part.bytes);
      }
      result.features_[name] = std::move(values);
    }
  }
  return result;
}
inline std::string tf_example::text() const {
  std::string all;
  for (const auto& [name, values] : features_) {
    std::string list;
    if (const auto* texts = std::get_if<0>(&values)) {
      for (const std::string& one : *texts) detail::put_bytes(list, 1, one);
    } else if (const auto* floats = std::get_if<1>(&values)) {
      detail::put_bytes(list, 1, {reinterpret_cast<const char*>(floats->data()), floats->size() * 4});
    } else {
      std::string packed;
      for (const std::int64_t one : std::get<2>(values)) detail::put_varint(packed, static_cast<std::uint64_t>(one));
      detail::put_bytes(list, 1, packed);
    }
    std::string kind, entry;
    detail::put_bytes(kind, static_cast<int>(values.index()) + 1, list);
    detail::put_bytes(entry, 1, name);
    detail::put_bytes(entry, 2, kind);
    detail::put_bytes(all, 1, entry);
  }
  std::string result;
  detail::put_bytes(result, 1, all);
  return result;
}

}  // namespace tokamax::data
