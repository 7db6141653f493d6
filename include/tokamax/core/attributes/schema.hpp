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
  [&]<std::size_t... Index>(std::index_sequence<Index...>) {
    for (std::string_view (*const name)() : {name_of_enumerator<Enum, static_cast<Enum>(Index)>...})
      names.push_back(name());
  }(std::make_index_sequence<16>{});
  while (!names.empty() && names.back().empty()) names.pop_back();
  return names;
}

// Names are cut out by functions that are called at run time. The compiler would keep an entry for each step of a cut.
inline vec<attribute_field> named_fields(std::string_view (*const* names)(),
                                         attribute_field (*const* fields)(std::string_view)) {
  vec<attribute_field> all;
  for (; *fields; ++fields, ++names) all.push_back((*fields)((*names)()));
  return all;
}
template <class Record, std::size_t... Index>
vec<attribute_field> fields_of_record(std::index_sequence<Index...>);
template <class T>
attribute_field field_of(std::string_view name) {
  attribute_field f{name, kind_of_attribute<T>(), fixed_words<T>() >= 0, {}, {}};
  if constexpr (std::is_enum_v<T>)
    f.enumerators = names_of_enumerators<T>();
  else if constexpr (is_list_attribute<T>)
    f.parts.push_back(field_of<typename T::value_type>(""));
  else if constexpr (kind_of_attribute<T>() == attribute_kind::record)
    f.parts = fields_of_record<T>(std::make_index_sequence<field_count<T>>{});
  return f;
}
template <class Record, std::size_t... Index>
vec<attribute_field> fields_of_record(std::index_sequence<Index...>) {
  const Record record{};
  return visit_fields(record, []<class... Fields>(const Fields&...) {
    using name_function = std::string_view (*)();
    using field_function = attribute_field (*)(std::string_view);
    constexpr name_function names[] = {name_of_field<Record, Index>..., nullptr};
    constexpr field_function fields[] = {field_of<Fields>..., nullptr};
    return named_fields(names, fields);
  });
}

/// What the C++ type of a field tells about its place.
struct placed_field {
  attribute_kind kind = attribute_kind::integer;
  int words = 1;        // -1: not known
  bool bodies = false;  // a list of them
};
template <class T>
inline constexpr placed_field placed{kind_of_attribute<T>(), fixed_words<T>(), std::is_same_v<T, vec<body_index>>};

constexpr attribute_schema places_of_facts(const placed_field* fields, int count) {
  using enum attribute_kind;
  attribute_schema s;
  const auto note = [](std::int16_t& place, int at) {
    if (place < 0) place = static_cast<std::int16_t>(at);
  };
  int at = 0;
  for (int k = 0; k < count; ++k) {
    const placed_field& f = fields[k];
    if (f.words < 0) continue;
    if (f.kind == algorithm) note(s.algorithm, at);
    if (f.kind == axis) note(s.axis, at);
    if (f.kind == body) s.bodies[s.body_count++] = static_cast<std::int8_t>(at);
    at += f.words;
  }
  s.first_list = static_cast<std::int16_t>(at);
  bool first = true;
  for (int k = 0; k < count; ++k) {
    const placed_field& f = fields[k];
    if (f.words >= 0) continue;
    if (first && f.bodies) s.list = body;
    if (first && (f.kind == axis_name || f.kind == axes)) s.list = f.kind;
    if (!first && (f.bodies || f.kind == axis_name)) throw "tokamax: bodies and axis_name stand before other lists";
    first = false;
  }
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
  return {detail::fields_of_record<Options>(std::make_index_sequence<field_count<Options>>{}), pack(Options{})};
}

namespace detail {
template <class Options>
constexpr attribute_schema schema_of() {
  const Options options{};
  attribute_schema s = visit_fields(options, []<class... Fields>(const Fields&...) {
    const placed_field fields[] = {placed<Fields>..., {}};
    return places_of_facts(fields, static_cast<int>(sizeof...(Fields)));
  });
  s.describe = describe_attributes<Options>;
  return s;
}
}  // namespace detail

/// What an options record tells about an op's attributes: `.attributes = schema<dot_dimensions>`.
template <class Options>
inline constexpr attribute_schema schema = detail::schema_of<Options>();

}  // namespace tokamax
