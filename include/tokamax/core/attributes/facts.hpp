// tokamax/core/attributes/facts.hpp: facts among the attributes of nodes and calls, found by their kind.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/core/op.hpp>  // op, call

namespace tokamax {

/// The number of bodies of a node or call, and one of them.
constexpr int body_count(const graph& g, const node& n) { return n.op->attributes.bodies_in(g.words_of(n)); }
constexpr int body_count(const call& c) { return c.self->attributes.bodies_in(c.attributes); }
constexpr std::int64_t body_index_of(const graph& g, const node& n, int b) {
  return g.words_of(n)[n.op->attributes.body_place(b)];
}
constexpr const graph& body_of(const graph& g, const node& n, int b) { return g.bodies[body_index_of(g, n, b)]; }
constexpr graph& body_of(graph& g, const node& n, int b) { return g.bodies[body_index_of(g, n, b)]; }
/// The same for attribute words that belong to no node yet.
constexpr std::int64_t& body_word(const op& o, words& w, int b) { return w[o.attributes.body_place(b)]; }

/// Appends the attribute words of a node to a list.
constexpr void append_words(words& to, const graph& g, const node& n) {
  const std::int64_t* const w = g.words_of(n);
  for (int k = 0; k < n.word_count; ++k) to.push_back(w[k]);
}

/// Has an op products that a dot_algorithm describes?
constexpr bool has_algorithm(const op& o) { return o.attributes.algorithm >= 0; }
constexpr dot_algorithm algorithm_of(const op& o, const std::int64_t* w) {
  return static_cast<dot_algorithm>(w[o.attributes.algorithm]);
}
constexpr void set_algorithm(const op& o, words& w, dot_algorithm algorithm) {
  w[o.attributes.algorithm] = static_cast<std::int64_t>(algorithm);
}

/// The axis along which a node joins its operands.
constexpr int joined_axis(const graph& g, const node& n) {
  return static_cast<int>(g.words_of(n)[n.op->attributes.axis]);
}
/// The axes along which a reduction combines elements; none if the op has no such attribute.
constexpr axes reduced_axes(const op& o, const std::int64_t* w) {
  axes a;
  if (o.attributes.list != attribute_kind::axes) return a;
  w += o.attributes.first_list;
  detail::unpack_value(w, a);
  return a;
}
/// Is the axis that an op names the one of this name?
constexpr bool names_axis(const op& o, const std::int64_t* w, std::string_view name) {
  return o.axis != axis_role::none && o.attributes.list == attribute_kind::axis_name &&
         detail::is_text(w + o.attributes.first_list, name);
}

}  // namespace tokamax
