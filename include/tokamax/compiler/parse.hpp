// tokamax/compiler/parse.hpp: graphs from their text.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/compiled_once.hpp>  // TOKAMAX_COMPILED_ONCE
#include <tokamax/core/op.hpp>             // graph, op

#include <string_view>  // string_view

namespace tokamax {

/// The ops of this library. A program with ops of its own adds them.
vec<const op*> library_ops();

/// The graph whose text, as `to_text(graph)` prints it, is `text`. Ops are found by name; the last one in `ops` counts.
/// The types in the text must be those that the ops infer. The nodes have no source lines.
///
/// errors  "graph" with line and column, for text that is not a graph, for unknown ops, values and attributes, for types
///         that the op does not have, and for arrays that a trace closed over, because the text does not contain them
graph parse_graph(std::string_view text, const vec<const op*>& ops = library_ops());

}  // namespace tokamax

#if defined(TOKAMAX_COMPILED_ONCE)

  #include <tokamax/compiler/attribute_text.hpp>  // type_text
  #include <tokamax/compiler/scope_text.hpp>      // read_scope
  #include <tokamax/core/bind.hpp>                // constant_p

  #include <charconv>  // from_chars
  #include <string>    // string
  #include <vector>    // vector

namespace tokamax {
namespace detail {

/// Reads a text from its beginning to its end.
class graph_parser {
 public:
  graph_parser(std::string_view text, const vec<const op*>& ops) : text_(text), ops_(ops) {}
  graph run() {
    graph g;
    values known;
    read_graph(g, known);
    skip_blank();
    if (at_ != text_.size()) fail("the end of the text");
    return g;
  }

 private:
  /// The node ids of the names %0, %1, ... and %in0, %in1, ...; -1 for names that have not occurred.
  struct values {
    std::vector<int> nodes, inputs;
  };

  // --- characters and words
  [[noreturn]] void fail(const std::string& expected, std::string found = {}) const {
    std::size_t line = 1, column = 1;
    for (std::size_t i = 0; i < at_; ++i) text_[i] == '\n' ? (++line, column = 1) : ++column;
    if (found.empty()) found = at_ == text_.size() ? "the end" : std::string(text_.substr(at_, 1));
    if (found == "\n") found = "the end of the line";
    throw error("graph", found, expected, "line " + std::to_string(line) + ", column " + std::to_string(column));
  }
  /// Reports an error in the text that begins at `begin`.
  [[noreturn]] void fail_at(std::size_t begin, const std::string& expected, const std::string& found) {
    at_ = begin;
    fail(expected, found);
  }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void skip_spaces() {
    while (peek() == ' ') ++at_;
  }
  void skip_blank() {
    while (peek() == ' ' || peek() == '\n') ++at_;
  }
  bool accept(std::string_view s) {
    skip_spaces();
    if (text_.substr(at_, s.size()) != s) return false;
    at_ += s.size();
    return true;
  }
  void expect(std::string_view s) {
    if (!accept(s)) fail("\"" + std::string(s) + "\"");
  }
  void end_line() {
    skip_spaces();
    if (peek() != '\n') fail("the end of the line");
    ++at_;
  }
  static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  }
  /// The name of an op: everything up to its operands.
  std::string_view name_of_op() {
    skip_spaces();
    const std::size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != '(' && text_[at_] != '\n') ++at_;
    return text_.substr(begin, at_ - begin);
  }
  std::string_view word() {
    skip_spaces();
    const std::size_t begin = at_;
    while (is_word(peek())) ++at_;
    return text_.substr(begin, at_ - begin);
  }
  template <class T>
  T number(const char* expected, int base = 10) {
    skip_spaces();
    T v{};
    const char* const begin = text_.data() + at_;
    std::from_chars_result r{};
    if constexpr (std::is_floating_point_v<T>)
      r = std::from_chars(begin, text_.data() + text_.size(), v);
    else
      r = std::from_chars(begin, text_.data() + text_.size(), v, base);
    if (r.ec != std::errc{}) fail(expected);
    at_ += static_cast<std::size_t>(r.ptr - begin);
    return v;
  }
  int place(const char* expected) {
    const std::size_t begin = at_;
    const auto v = number<std::int64_t>(expected);
    if (v < 0 || v > 1 << 30) fail_at(begin, expected, std::to_string(v));
    return static_cast<int>(v);
  }
  /// An integer or a dynamic extent: "-1", "n", "4n".
  std::int64_t extent() {
    skip_spaces();
    const std::size_t begin = at_;
    std::int64_t v = peek() >= 'n' && peek() <= 'u' ? 1 : number<std::int64_t>("an integer");
    while (peek() >= 'n' && peek() <= 'u') v = mul_extent(v, dynamic_extent(1, 1u << 2 * (text_[at_++] - 'n')));
    if (v == no_extent) fail_at(begin, "an extent", "one that is too large");
    return v;
  }
  words list() {
    words w;
    expect("[");
    if (accept("]")) return w;
    do w.push_back(extent());
    while (accept(","));
    expect("]");
    return w;
  }
  dtype read_dtype() {
    skip_spaces();
    const std::size_t begin = at_;
    const std::string_view s = word();
    for (int t = 0; t < dtype_count; ++t)
      if (name(static_cast<dtype>(t)) == s) return static_cast<dtype>(t);
    fail_at(begin, "a dtype", std::string(s));
  }
  array_type type() {
    array_type t;
    t.weak = accept("weak ");
    skip_spaces();
    const std::size_t begin = at_;
    t.dtype = read_dtype();
    const words w = list();
    if (w.count() > max_rank) fail_at(begin, "at most 16 axes", std::to_string(w.count()));
    for (std::int64_t e : w) t.shape.push_back(e);
    if (const char* const wanted = unmet(t); wanted || t.dtype == dtype::none)
      fail_at(begin, wanted ? wanted : "the dtype of an array", type_text(t));
    return t;
  }

  // --- graphs
  void read_graph(graph& g, values& known) {
    for (skip_blank(); text_.substr(at_, 5) == "body "; skip_blank()) {
      accept("body ");
      const std::size_t begin = at_;
      if (const int b = place("the number of a body"); b != g.bodies.count())
        fail_at(begin, std::to_string(g.bodies.count()), std::to_string(b));
      expect("{");
      graph body;
      values inside;
      read_graph(body, inside);
      skip_blank();
      expect("}");
      g.bodies.push_back(std::move(body));
    }
    for (skip_blank(); !accept("return"); skip_blank()) read_node(g, known);
    g.scope = {};
    for (int k = 0; k < g.inputs.count(); ++k) {  // the inputs that a body closes over may come in any order
      const int id = known.inputs[static_cast<std::size_t>(k)];
      if (id < 0) fail_at(at_ - 6, "%in" + std::to_string(k), "return");
      g.inputs[k] = id;
    }
    if (!accept("\n")) {
      do g.outputs.push_back(value(g, known));
      while (accept(","));
      end_line();
    }
  }
  /// Reads `%5` or `%in0`, which must be known. Only `get` may use a node with several results.
  int value(const graph& g, const values& known, bool tuple = false) {
    skip_spaces();
    const std::size_t begin = at_;
    expect("%");
    const bool input = accept("in");
    const auto k = static_cast<std::size_t>(place("the number of a value"));
    const std::vector<int>& list = input ? known.inputs : known.nodes;
    const std::string found(text_.substr(begin, at_ - begin));
    if (k >= list.size() || list[k] < 0) fail_at(begin, "a value above", found);
    if ((g[list[k]].type.dtype == dtype::none) != tuple)
      fail_at(begin, tuple ? "a value of several results" : "one result", found);
    return list[k];
  }
  void define(std::vector<int>& list, int k, int id, std::size_t begin) {
    const auto at = static_cast<std::size_t>(k);
    if (at > text_.size()) fail_at(begin, "numbers in order", std::to_string(k));
    if (list.size() <= at) list.resize(at + 1, -1);
    if (list[at] >= 0) fail_at(begin, "a new value", std::to_string(k));
    list[at] = id;
  }
  void read_node(graph& g, values& known) {
    const std::size_t begin = at_;
    expect("%");
    const bool input = accept("in");
    const int k = place("the number of a value");
    if (input) {
      expect(":");
      const int id = g.input(type());
      g.nodes[id].first_word = k;
      g.nodes[id].scope = read_scope(g, text_, at_);
      define(known.inputs, k, id, begin);
    } else {
      expect("=");
      define(known.nodes, k, accept("constant ") ? constant(g) : use_of_op(g, known), begin);
    }
    end_line();
  }
  int constant(graph& g) {
    skip_spaces();
    const std::size_t begin = at_;
    while (peek() != '\0' && peek() != '\n' && peek() != ':') ++at_;  // the type behind the constant is read first
    expect(":");
    const array_type t = type();
    const std::size_t end = at_;
    at_ = begin;
    vec<element_bits> all;
    const bool dense = accept("[");
    if (!dense || !accept("]")) {
      do all.push_back(element(t.dtype));
      while (dense && accept(","));
      if (dense) expect("]");
    }
    skip_spaces();
    if (peek() != ':') fail("\":\"");
    at_ = end;
    if (!dense) return add_constant(g, all[0], t, {});
    if (all.count() != size(t.shape)) fail_at(begin, type_text(t), std::to_string(all.count()) + " elements");
    const words w = packed_elements(t.dtype, all);
    return add_node(g, dense_p, nullptr, 0, w, t, {});
  }
  element_bits element(dtype t) {
    if (accept("0x")) return {number<std::uint64_t>("bits", 16)};
    if (is_floating(t)) return converted_to(t, number<double>("a number"));
    if (t == u64) return {number<std::uint64_t>("an integer")};
    return {static_cast<std::uint64_t>(number<std::int64_t>("an integer"))};
  }
  int use_of_op(graph& g, values& known) {
    skip_spaces();
    const std::size_t begin = at_;
    const std::string_view called = name_of_op();
    const op* kind = nullptr;
    for (const op* o : ops_)
      if (o->name == called) kind = o;
    if (!kind) fail_at(begin, "the name of an op", std::string(called));
    if (kind == &captured_p) fail_at(begin, "data that the text holds", "an array that a trace closed over");
    expect("(");
    vec<int> operands;
    bool more = !accept(")");
    while (more && (skip_spaces(), peek() == '%')) {
      operands.push_back(value(g, known, kind == &get_p));
      more = accept(",");
      if (!more) expect(")");
    }
    const words attributes = read_attributes(*kind, more);
    for (int b = 0; b < kind->bodies.of(attributes.count()); ++b)
      if (attributes[b] < 0 || attributes[b] >= g.bodies.count())
        fail_at(begin, "the number of a body", std::to_string(attributes[b]));
    return add(g, *kind, operands, attributes, begin);
  }
  /// Reads `axis=1, keep=true)` if there are `more` than operands. Attributes that are not written have their defaults.
  words read_attributes(const op& kind, bool more) {
    attribute_schema schema;
    if (kind.attributes) schema = kind.attributes();
    if (!kind.attributes) schema.fields.push_back({"words", attribute_kind::rest});
    std::vector<words> parts;  // the words of each field
    const std::int64_t* w = schema.defaults.data();
    int left = schema.defaults.count();
    for (const attribute_field& f : schema.fields) {
      const int count = left || f.kind != attribute_kind::rest ? words_of_field(f.kind, w, left) : 0;
      parts.emplace_back(w, static_cast<std::size_t>(count));
      w += count, left -= count;
    }
    std::vector<bool> given(parts.size());
    while (more) {
      skip_spaces();
      const std::size_t begin = at_;
      const std::string_view called = word();
      int k = 0;
      while (k < schema.fields.count() && schema.fields[k].name != called) ++k;
      const auto place = static_cast<std::size_t>(k);
      if (k == schema.fields.count() || given[place])
        fail_at(begin, "an operand or attribute of " + std::string(kind.name), std::string(called));
      given[place] = true;
      expect("=");
      parts[place] = read_attribute(schema.fields[k].kind);
      more = accept(",");
      if (!more) expect(")");
    }
    words all;
    for (const words& p : parts)
      for (std::int64_t v : p) all.push_back(v);
    return all;
  }
  words read_attribute(attribute_kind kind) {
    switch (kind) {
      case attribute_kind::boolean:
        if (accept("true")) return {1};
        expect("false");
        return {0};
      case attribute_kind::real:
        return {std::bit_cast<std::int64_t>(number<double>("a number"))};
      case attribute_kind::dtype:
        return {static_cast<std::int64_t>(read_dtype())};
      case attribute_kind::list: {
        const std::size_t begin = at_;
        const words w = list();
        if (w.count() > max_rank) fail_at(begin, "at most 16 integers", std::to_string(w.count()));
        words with_count{w.count()};
        for (std::int64_t v : w) with_count.push_back(v);
        return with_count;
      }
      case attribute_kind::rest:
        return list();
      case attribute_kind::integer:
        break;
    }
    return {extent()};
  }

  /// Adds a node, if its op takes these operands and attributes and infers this type.
  int add(graph& g, const op& kind, const vec<int>& operands, const words& attributes, std::size_t begin) {
    arrays in;
    for (int id : operands) in.push_back(array(g[id].type));
    const int count = in.count();
    in.resize(in.size() + 8);  // if operands are missing, a rule finds arrays without a dtype
    call c = call_of(kind, in.data(), count, attributes.data(), attributes.count(), &g);
    types inferred;
    try {
      if (kind.operands >= 0 && count != kind.operands)
        throw error(std::string(kind.name) + ": operands", std::to_string(count), std::to_string(kind.operands));
      if (kind.infer_all) {
        inferred = kind.infer_all(c);
      } else if (&kind == &get_p) {
        inferred.push_back(type_of_result(g, operands, attributes));
      } else if (kind.infer) {
        inferred.push_back(kind.infer(c));
      }
    } catch (const error& e) {
      fail_at(begin, e.expected, e.subject + ": " + e.found);
    }
    array_type t;
    if (!kind.infer_all) {
      expect(":");
      skip_spaces();
      const std::size_t at_type = at_;
      t = type();
      if (!inferred.empty() && !(t == inferred[0])) fail_at(at_type, type_text(inferred[0]), type_text(t));
    }
    g.scope = read_scope(g, text_, at_);
    const int id = add_node(g, kind, operands.data(), operands.count(), attributes, t, {});
    if (has_effect(c)) g.effects.push_back(id);
    return id;
  }
  /// The type of one result of a node with several.
  array_type type_of_result(graph& g, const vec<int>& operands, const words& attributes) {
    if (operands.count() != 1) throw error("get", std::to_string(operands.count()) + " operands", "one");
    const node& n = g[operands[0]];
    arrays in;
    for (int k = 0; k < n.operand_count; ++k) in.push_back(array(g[g.operand(n, k)].type));
    const types all = n.op->infer_all(call_of(g, n, in, &g));
    if (attributes[0] < 0 || attributes[0] >= all.count())
      throw error("get", std::to_string(attributes[0]), "one of " + std::to_string(all.count()) + " results");
    return all[attributes[0]];
  }

  std::string_view text_;
  const vec<const op*>& ops_;
  std::size_t at_ = 0;
};

}  // namespace detail

TOKAMAX_COMPILED_ONCE graph parse_graph(std::string_view text, const vec<const op*>& ops) {
  return detail::graph_parser(text, ops).run();
}

}  // namespace tokamax
#endif
