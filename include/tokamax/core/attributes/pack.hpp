// tokamax/core/attributes/pack.hpp: options records as lists of 64-bit words, in which graphs keep attributes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/core/attributes/kinds.hpp>  // fixed_words

#include <bit>  // bit_cast

namespace tokamax {

using words = vec<std::int64_t>;

namespace detail {

// Attributes with a known number of words come first, so that each has a place that is known while compiling; lists, texts
// and so on follow. Within both parts the order is that of the record. A number is one word; a list begins with its length.

template <class T>
constexpr void pack_value(words& w, const vec<T>& list);
template <aggregate_record T>
constexpr void pack_value(words& w, const T& record);
template <class T>
constexpr void unpack_value(const std::int64_t*& w, vec<T>& list);
template <aggregate_record T>
constexpr void unpack_value(const std::int64_t*& w, T& record);

constexpr void pack_value(words& w, const shape& s) {
  w.push_back(s.rank());
  for (std::int64_t v : s) w.push_back(v);
}
constexpr void pack_value(words& w, double v) { w.push_back(std::bit_cast<std::int64_t>(v)); }
template <class T>
  requires std::is_integral_v<T> || std::is_enum_v<T>
constexpr void pack_value(words& w, T v) {
  w.push_back(static_cast<std::int64_t>(v));
}
constexpr void pack_value(words& w, axis_number a) { w.push_back(a.value); }
constexpr void pack_value(words& w, body_index b) { w.push_back(b.value); }
constexpr void pack_value(words& w, const array_type& t) {
  w.push_back(static_cast<std::int64_t>(t.dtype));
  w.push_back(t.weak);
  pack_value(w, t.shape);
}
constexpr void pack_value(words& w, const text_attribute& t) {
  w.push_back(t.count());
  for (int k = 0; k < t.count(); ++k) {
    if (k % 8 == 0) w.push_back(0);
    w.back() = static_cast<std::int64_t>(static_cast<std::uint64_t>(w.back()) |
                                         std::uint64_t{static_cast<unsigned char>(t[k])} << 8 * (k % 8));
  }
}
template <class T>
constexpr void pack_value(words& w, const vec<T>& list) {
  w.push_back(list.count());
  for (const T& v : list) pack_value(w, v);
}

constexpr void unpack_value(const std::int64_t*& w, shape& s) {
  const auto n = *w++;
  for (std::int64_t i = 0; i < n; ++i) s.push_back(*w++);
}
constexpr void unpack_value(const std::int64_t*& w, double& v) { v = std::bit_cast<double>(*w++); }
template <class T>
  requires std::is_integral_v<T> || std::is_enum_v<T>
constexpr void unpack_value(const std::int64_t*& w, T& v) {
  v = static_cast<T>(*w++);
}
constexpr void unpack_value(const std::int64_t*& w, axis_number& a) { a.value = static_cast<int>(*w++); }
constexpr void unpack_value(const std::int64_t*& w, body_index& b) { b.value = *w++; }
constexpr void unpack_value(const std::int64_t*& w, array_type& t) {
  t.dtype = static_cast<dtype>(*w++);
  t.weak = *w++ != 0;
  t.shape = {};
  unpack_value(w, t.shape);
}
constexpr void unpack_value(const std::int64_t*& w, text_attribute& t) {
  t.resize(static_cast<std::size_t>(*w));
  for (int k = 0; k < t.count(); ++k) t[k] = character_of(w, k);
  w += words_of_text(*w);
}
template <class T>
constexpr void unpack_value(const std::int64_t*& w, vec<T>& list) {
  list = vec<T>(static_cast<std::size_t>(*w++));
  for (T& v : list) unpack_value(w, v);
}

/// Do all attributes with a known number of words stand before the others in the record, so that one walk packs them?
template <class... Fields>
consteval bool are_ordered() {
  bool variable = false, ordered = true;
  ((fixed_words<Fields>() < 0 ? void(variable = true) : void(ordered = ordered && !variable)), ...);
  return ordered;
}
template <bool Fixed, class T>
constexpr void pack_if(words& w, const T& v) {
  if constexpr ((fixed_words<T>() >= 0) == Fixed) pack_value(w, v);
}
template <bool Fixed, class T>
constexpr void unpack_if(const std::int64_t*& w, T& v) {
  if constexpr ((fixed_words<T>() >= 0) == Fixed) unpack_value(w, v);
}
template <class Record>
constexpr void pack_record(words& w, const Record& r) {
  binding<field_count<Record>>::visit(r, [&]<class... Fields>(const Fields&... field) {
    if constexpr (are_ordered<Fields...>())
      (pack_value(w, field), ...);
    else
      (pack_if<true>(w, field), ...), (pack_if<false>(w, field), ...);
  });
}
template <class Record>
constexpr void unpack_record(const std::int64_t*& w, Record& r) {
  binding<field_count<Record>>::visit(r, [&]<class... Fields>(Fields&... field) {
    if constexpr (are_ordered<Fields...>())
      (unpack_value(w, field), ...);
    else
      (unpack_if<true>(w, field), ...), (unpack_if<false>(w, field), ...);
  });
}

template <aggregate_record T>
constexpr void pack_value(words& w, const T& record) {
  pack_record(w, record);
}
template <aggregate_record T>
constexpr void unpack_value(const std::int64_t*& w, T& record) {
  unpack_record(w, record);
}
}  // namespace detail

/// The attribute words of an options record; attribute_kind lists what its fields may be.
template <class Options>
constexpr words pack(const Options& options) {
  words w;
  w.reserve(sizeof(Options) / sizeof(std::int64_t) + 8);
  detail::pack_record(w, options);
  return w;
}

/// An options record from its attribute words.
template <class Options>
constexpr Options unpack(const std::int64_t* w) {
  Options o{};
  detail::unpack_record(w, o);
  return o;
}

}  // namespace tokamax
