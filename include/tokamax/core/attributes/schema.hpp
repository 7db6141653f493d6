// tokamax/core/attributes/schema.hpp: what an op's options record tells about its attribute words.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/core/attributes/pack.hpp>  // pack

#include <string_view>  // string_view
#include <utility>      // index_sequence

namespace tokamax {

/// The name and kind of an attribute.
struct attribute_field {
  std::string_view name;
  attribute_kind kind = attribute_kind::integer;
  bool fixed = true;                  ///< has it a known number of words?
  vec<std::string_view> enumerators;  ///< the names of the values 0, 1, ... of an enum
  vec<attribute_field> parts;         ///< the fields of a record, in the order of declaration; the element of a list
};

/// The fields of an options record in the order of declaration, and the words of a default-made record.
struct attribute_list {
  vec<attribute_field> fields;
  vec<std::int64_t> defaults;
};

/// Where facts are among the attribute words of an op. Places are known while compiling, from the kinds alone.
struct attribute_schema {
  static constexpr int most_bodies = 6;
  attribute_list (*describe)() = nullptr;  ///< names and kinds; null if the op has no options record
  std::int16_t algorithm = -1;             ///< the word of the first dot_algorithm
  std::int16_t axis = -1;                  ///< the word of the first axis_number
  std::int16_t first_list = 0;             ///< the word where attributes without a known number of words begin
  attribute_kind list =
      attribute_kind::record;  ///< the kind of the first of these; record: it is none of the following
  std::int8_t body_count = 0;
  std::int8_t bodies[most_bodies] = {};  ///< the words of the bodies

  constexpr bool has_bodies() const { return body_count > 0 || list == attribute_kind::body; }
  /// The number of bodies, for these words. A list of bodies has as many as it says.
  constexpr int bodies_in(const std::int64_t* w) const {
    return list == attribute_kind::body ? static_cast<int>(w[first_list]) : body_count;
  }
  /// The place of the word that is body b.
  constexpr int body_place(int b) const { return list == attribute_kind::body ? first_list + 1 + b : bodies[b]; }
};

namespace detail {

// The name of an enumerator is cut out of __PRETTY_FUNCTION__, which has a number in its place if there is none.
template <class Enum, Enum Value>
constexpr std::string_view name_of_enumerator() {
  std::string_view s = __PRETTY_FUNCTION__;  // "... Value = tokamax::padding::same; std::string_view = ...]"
  s = s.substr(s.rfind("Value = ") + 8);
  s = s.substr(0, s.find_first_of(";]"));
  s = s.substr(s.find_last_of(":)") + 1);
  return s.empty() || (s[0] >= '0' && s[0] <= '9') || s[0] == '-' ? std::string_view() : s;
}
template <class Enum>
vec<std::string_view> names_of_enumerators() {
  vec<std::string_view> names;
  if constexpr (std::is_same_v<Enum, dtype>) return names;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (names.push_back(name_of_enumerator<Enum, static_cast<Enum>(I)>()), ...);
  }(std::make_index_sequence<16>{});
  while (!names.empty() && names.back().empty()) names.pop_back();
  return names;
}

template <class Record>
vec<attribute_field> fields_of_record();
template <class T>
attribute_field field_of(std::string_view name) {
  attribute_field f{name, kind_of_attribute<T>(), fixed_words<T>() >= 0, {}, {}};
  if constexpr (std::is_enum_v<T>)
    f.enumerators = names_of_enumerators<T>();
  else if constexpr (is_list_attribute<T>)
    f.parts.push_back(field_of<typename T::value_type>(""));
  else if constexpr (kind_of_attribute<T>() == attribute_kind::record)
    f.parts = fields_of_record<T>();
  return f;
}
template <class Record>
vec<attribute_field> fields_of_record() {
  const Record record{};
  return visit_fields(record, []<class... Fields>(const Fields&...) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return vec<attribute_field>{field_of<Fields>(name_of_field<Record, I>())...};
    }(std::index_sequence_for<Fields...>{});
  });
}

/// Notes where an attribute of type T is that begins at the word `at`, and goes on behind it. After the first attribute
/// without a known number of words, `at` is -1.
template <class T>
constexpr void note_place(attribute_schema& s, int& at) {
  using enum attribute_kind;
  constexpr attribute_kind k = kind_of_attribute<T>();
  if constexpr (fixed_words<T>() >= 0) {
    if (k == attribute_kind::algorithm && s.algorithm < 0) s.algorithm = static_cast<std::int16_t>(at);
    if (k == attribute_kind::axis && s.axis < 0) s.axis = static_cast<std::int16_t>(at);
    if (k == body) s.bodies[s.body_count++] = static_cast<std::int8_t>(at);
    at += fixed_words<T>();
  } else {
    constexpr bool bodies = std::is_same_v<T, vec<body_index>>;
    if (at >= 0 && bodies) s.list = body;
    if (at >= 0 && (k == axis_name || k == axes)) s.list = k;
    if (at < 0 && (bodies || k == axis_name))
      throw "tokamax: bodies and axis_name stand before other lists of a record";
    at = -1;
  }
}
template <class Options>
constexpr attribute_schema places_in() {
  attribute_schema s;
  const Options options{};
  visit_fields(options, [&s]<class... Fields>(const Fields&...) {
    int at = 0;
    ((fixed_words<Fields>() >= 0 ? note_place<Fields>(s, at) : void()), ...);
    s.first_list = static_cast<std::int16_t>(at);
    ((fixed_words<Fields>() < 0 ? note_place<Fields>(s, at) : void()), ...);
  });
  return s;
}

/// The number of words of an attribute that begins at `w`.
inline int words_of_field(const attribute_field& f, const std::int64_t* w) {
  using enum attribute_kind;
  int n = 1;
  switch (f.kind) {
    case shape:
    case axes:
    case permutation:
      return 1 + static_cast<int>(*w);
    case type:
      return 3 + static_cast<int>(w[2]);
    case text:
    case axis_name:
      return words_of_text(*w);
    case list:
      for (std::int64_t k = 0; k < *w; ++k) n += words_of_field(f.parts[0], w + n);
      return n;
    case record:
      n = 0;
      for (const bool fixed : {true, false})
        for (const attribute_field& part : f.parts)
          if (part.fixed == fixed) n += words_of_field(part, w + n);
      return n;
    default:
      return 1;
  }
}
/// Where the attributes `fields` of a record begin whose words begin at `w`.
inline vec<const std::int64_t*> places_of(const vec<attribute_field>& fields, const std::int64_t* w) {
  vec<const std::int64_t*> places(fields.size());
  for (const bool fixed : {true, false})
    for (int k = 0; k < fields.count(); ++k)
      if (fields[k].fixed == fixed) {
        places[k] = w;
        w += words_of_field(fields[k], w);
      }
  return places;
}
}  // namespace detail

/// The names and kinds of an op's attributes, and the words of a default-made record.
template <class Options>
attribute_list describe_attributes() {
  return {detail::fields_of_record<Options>(), pack(Options{})};
}

namespace detail {
template <class Options>
constexpr attribute_schema schema_of() {
  attribute_schema s = places_in<Options>();
  s.describe = describe_attributes<Options>;
  return s;
}
}  // namespace detail

/// What an options record tells about an op's attributes: `.attributes = schema<dot_dimensions>`.
template <class Options>
inline constexpr attribute_schema schema = detail::schema_of<Options>();

}  // namespace tokamax
