// tokamax/data/check_restores.hpp: checks that a pipeline goes on after a restore with the elements that would have followed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/tree.hpp>           // for_each_leaf
#include <tokamax/core/array.hpp>          // array
#include <tokamax/data/stream/stream.hpp>  // cursor_of

#include <cstring>  // memcmp
#include <vector>   // vector

namespace tokamax::data {

/// The first element of a pipeline, with its arrays as types without data; nothing if there is no element.
/// source  grain.experimental.get_element_spec
template <readable Source>
std::optional<element_of<Source>> element_spec(const Source& source) {
  auto cursor = detail::cursor_of(source);
  auto ticket = cursor.take();
  if (!ticket) return std::nullopt;
  std::optional<element_of<Source>> first(cursor.make(std::move(*ticket)));
  if constexpr (record<element_of<Source>> || std::derived_from<element_of<Source>, array>)
    for_each_leaf([](array& leaf) { leaf = array(leaf.type()); }, *first);
  return first;
}

namespace detail {
inline bool same_bytes(const array& a, const array& b) {
  return a.type() == b.type() &&
         std::memcmp(a.bytes(), b.bytes(), static_cast<std::size_t>(a.size() * size_of(a.dtype()))) == 0;
}
template <class Element>
bool same_element(const Element& a, const Element& b) {
  if constexpr (std::equality_comparable<Element> && !std::derived_from<Element, array>) {
    return a == b;
  } else {
    bool same = true;
    for_each_leaf([&](const array& x, const array& y) { same = same && same_bytes(x, y); }, a, b);
    return same;
  }
}
}  // namespace detail

/// Throws unless the pipeline, restored at each place before its first `most` elements, gives the elements that follow there. Elements
/// are records of arrays, or can be compared. Functions that read a clock or count their calls are found so.
/// errors  tokamax::error that names the place and the element; those of the pipeline
/// source  grain.experimental.assert_equal_output_after_checkpoint
template <readable Source>
void check_restores(const Source& source, std::int64_t most = 50) {
  auto cursor = detail::cursor_of(source);
  std::vector<decltype(cursor.state())> places{cursor.state()};
  std::vector<element_of<Source>> elements;
  while (std::ssize(elements) < most) {
    auto ticket = cursor.take();
    if (!ticket) break;
    elements.push_back(cursor.make(std::move(*ticket)));
    places.push_back(cursor.state());
  }
  for (std::size_t place = 0; place < places.size(); ++place) {
    auto again = detail::cursor_of(source);
    again.set_state(places[place]);
    for (std::size_t i = place; i < elements.size(); ++i) {
      auto ticket = again.take();
      if (!ticket || !detail::same_element(again.make(std::move(*ticket)), elements[i]))
        throw error(
            "check_restores: element " + std::to_string(i) + " after a restore before element " + std::to_string(place),
            ticket ? "another one" : "the end", "that of a reader that went through");
    }
  }
}

}  // namespace tokamax::data
