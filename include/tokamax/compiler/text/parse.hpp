// tokamax/compiler/text/parse.hpp: graphs from their text.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/compiled_once.hpp>  // TOKAMAX_COMPILED_ONCE
#include <tokamax/core/op.hpp>             // graph, op

#include <string_view>  // string_view

namespace tokamax {

/// The ops of this library. A program with ops of its own adds them.
vec<const op*> library_ops();

/// The graph whose text, as `to_text(graph)` prints it, is `text`. Ops are found by name; the last one in `ops` counts.
/// The types in the text must be those that the ops infer. `captured` has the data that the text only mentions, as
/// `captured_arrays(graph)` lists it. The nodes have no source lines.
///
/// errors  "graph" with line and column, for text that is not a graph, for unknown ops, values and attributes, for types
///         that the op does not have, and for captured data that is missing or has another type
graph parse_graph(std::string_view text, const vec<const op*>& ops = library_ops(), const arrays& captured = {});

}  // namespace tokamax

#if defined(TOKAMAX_COMPILED_ONCE)

  #include <tokamax/compiler/text/text_reader.hpp>  // text_reader
  #include <tokamax/core/bind.hpp>                  // dense_p, captured_p, get_attributes

  #include <string>  // string
  #include <vector>  // vector

namespace tokamax {
namespace detail {

/// Reads a text from its beginning to its end.
class graph_parser : text_reader {
 public:
  graph_parser(std::string_view text, const vec<const op*>& ops, const arrays& captured)
      : text_reader(text), ops_(ops), captured_(captured) {}
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

  /// Reads bodies, then nodes, then the results.
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
  /// Gives node `id` the number k, which nobody has.
  void define(std::vector<int>& list, int k, int id, std::size_t begin) {
    const auto at = static_cast<std::size_t>(k);
    if (at > text_.size()) fail_at(begin, "numbers in order", std::to_string(k));
    if (list.size() <= at) list.resize(at + 1, -1);
    if (list[at] >= 0) fail_at(begin, "a new value", std::to_string(k));
    list[at] = id;
  }
  /// Reads a line: an input, or a value and what it is of.
  void read_node(graph& g, values& known) {
    const std::size_t begin = at_;
    expect("%");
    const bool input = accept("in");
    const int k = place("the number of a value");
    if (input) {
      expect(":");
      const int id = g.input(type());
      g.nodes[id].first_word = k;
      g.nodes[id].scope = read_scope(g);
      define(known.inputs, k, id, begin);
    } else {
      expect("=");
      const int id = accept("constant ") ? constant(g) : accept("captured ") ? captured(g) : use_of_op(g, known);
      define(known.nodes, k, id, begin);
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
  /// Data that the text does not hold, by its number.
  int captured(graph& g) {
    skip_spaces();
    const std::size_t begin = at_;
    const int k = place("the number of captured data");
    if (k >= captured_.count())
      fail_at(begin, "captured data, of which " + std::to_string(captured_.count()) + " were given", std::to_string(k));
    expect(":");
    skip_spaces();
    const std::size_t at_type = at_;
    const array_type t = type(), &given = captured_[k].type();
    if (!captured_[k].is_concrete() || !(t == given)) fail_at(at_type, type_text(given), type_text(t));
    g.captured.push_back(captured_[k].storage());
    return add_node(g, captured_p, nullptr, 0, {g.captured.count() - 1}, t, {});
  }
  int use_of_op(graph& g, values& known) {
    skip_spaces();
    const std::size_t begin = at_;
    const std::string_view called = name_of_op();
    const op* kind = nullptr;
    for (const op* o : ops_)
      if (called.starts_with(o->name) && op_text(*o) == called) kind = o;
    if (!kind) fail_at(begin, "the name of an op", std::string(called));
    if (kind == &captured_p) fail_at(begin, "captured and a number", "a call");
    expect("(");
    vec<int> operands;
    bool more = !accept(")");
    while (more && (skip_spaces(), peek() == '%')) {
      operands.push_back(value(g, known, kind == &get_p));
      more = accept(",");
      if (!more) expect(")");
    }
    words attributes = read_attributes(*kind, more);
    for (int b = 0; b < kind->attributes.bodies_in(attributes.data()); ++b)
      if (const std::int64_t k = body_word(*kind, attributes, b); k < 0 || k >= g.bodies.count())
        fail_at(begin, "the number of a body", std::to_string(k));
    return add(g, *kind, operands, attributes, begin);
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
    g.scope = read_scope(g);
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
    const int k = unpack<get_attributes>(attributes.data()).output;
    if (k < 0 || k >= all.count())
      throw error("get", std::to_string(k), "one of " + std::to_string(all.count()) + " results");
    return all[k];
  }

  const vec<const op*>& ops_;
  const arrays& captured_;
};

}  // namespace detail

TOKAMAX_COMPILED_ONCE graph parse_graph(std::string_view text, const vec<const op*>& ops, const arrays& captured) {
  return detail::graph_parser(text, ops, captured).run();
}

}  // namespace tokamax
#endif
