// tokamax/compiler/verify/graph.hpp: checks that a graph is well formed, traced or lowered.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/compiler/verify.cpp
#pragma once

#include <tokamax/base/compiled_once.hpp>  // TOKAMAX_COMPILED_ONCE

#if defined(TOKAMAX_COMPILED_ONCE)

  #include <tokamax/compiler/verify/device_facts.hpp>  // device_facts
  #include <tokamax/compiler/verify/fault.hpp>         // throw_fault
  #include <tokamax/core/attributes/facts.hpp>         // body_of
  #include <tokamax/core/effect.hpp>                   // has_effect
  #include <tokamax/core/graph/inline.hpp>             // live_nodes

  #include <map>     // map
  #include <string>  // string
  #include <vector>  // vector

namespace tokamax::detail {

/// One graph, traced or lowered. Its checks throw at the first fault, in the order of the nodes, so that a check may rely on all
/// that were made before: operands are known to be earlier nodes when their types are asked for.
class graph_verifier {
 public:
  graph_verifier(const graph& g, const device_facts* device) : g_(g), device_(device), is_input_(g.nodes.size(), 0) {}

  void run() {
    for (int k = 0; k < g_.inputs.count(); ++k) check_input(k);
    for (int i = 0; i < g_.count(); ++i) check_node(i);
    for (const int o : g_.outputs)
      if (o < 0 || o >= g_.count() || g_[o].type.dtype == dtype::none)
        fail(o, "output", "%" + std::to_string(o), "a node with one result");
    check_effects();
  }

 private:
  /// Throws the fault of a node. An id that is not one of a node is a fault of the graph.
  [[noreturn]] void fail(int id, const std::string& what, const std::string& found, const std::string& expected) const {
    const bool known = id >= 0 && id < g_.count();
    throw_fault(what, known ? name_of_node(g_, id) : named_part{"a graph", {}}, found, expected);
  }
  /// Are these places of a pool? Sums of bad numbers might wrap around, so nothing is added.
  static bool is_range(int first, int count, int size) { return first >= 0 && count >= 0 && first <= size - count; }

  /// An input is a node without an op, and is in the list once.
  void check_input(int k) {
    const int id = g_.inputs[k];
    if (id < 0 || id >= g_.count() || g_[id].op || is_input_[id])
      fail(id, "input", "%" + std::to_string(id), "a node without an op, once");
    is_input_[id] = 1;
  }
  /// First that the numbers of the node lie in the graph's pools, then what they mean.
  void check_node(int i) {
    const node& n = g_[i];
    if (!n.op) {
      if (!is_input_[i] || n.operand_count != 0) fail(i, "node", "no op", "an input of the graph");
      return check_possible(i);
    }
    if (!is_range(n.first_operand, n.operand_count, g_.operands.count()))
      fail(i, "operands", "another range", "one in the pool");
    if (!is_range(n.first_word, n.word_count, g_.words.count()))
      fail(i, "attribute words", "another range", "one in the pool");
    if (!g_.names.has(n.scope.name) || n.scope.decisions < 0 || n.scope.decisions > g_.decided.count())
      fail(i, "scope", std::to_string(n.scope.name), "a scope of the graph");
    for (int k = 0; k < n.operand_count; ++k) {
      const int o = g_.operand(n, k);
      if (o < 0 || o >= i) fail(i, "operand " + std::to_string(k), "%" + std::to_string(o), "an earlier node");
      if (n.op != &get_p && g_[o].type.dtype == dtype::none)
        fail(i, "operand " + std::to_string(k), "all results of %" + std::to_string(o), "one of them");
    }
    has_effects_ = has_effects_ || n.op->effect != effect_kind::none;
    check_attributes(i);
    check_bodies(i);
    if (device_) check_lowered(i);
    check_type(i);
  }
  /// Can an array have the type?
  void check_possible(int i) const {
    const array_type& t = g_[i].type;
    if (t.dtype == dtype::none) fail(i, "type", "no dtype", "a dtype");
    if (const char* const expected = unmet(t)) fail(i, "type", text_of(t), expected);
  }

  // --- attributes
  /// Schemas are made when they are asked for, which is dear. The functions that make them live as long as the process.
  static const attribute_list& schema_of(const op& o) {
    static thread_local std::map<attribute_list (*)(), attribute_list> known;
    const auto found = known.find(o.attributes.describe);
    return found != known.end() ? found->second
                                : known.emplace(o.attributes.describe, o.attributes.describe()).first->second;
  }
  /// Reads the words as printing does, field by field. What a word means for its op is checked by infer.
  void check_attributes(int i) {
    const node& n = g_[i];
    if (n.op == &constant_p || n.op == &dense_p || n.op == &captured_p) return check_data(i);
    if (!n.op->attributes.describe) return;
    const attribute_list& list = schema_of(*n.op);
    const std::int64_t *const w = g_.words_of(n), *const end = w + n.word_count;
    if (const std::int64_t* const last = check_fields(i, list.fields, w, end); last != end)
      fail(i, "attribute words", std::to_string(n.word_count), std::to_string(last - w) + ", as in the schema");
  }
  /// Checks attributes whose words begin at `w`, and returns their end.
  const std::int64_t* check_fields(int i, const vec<attribute_field>& fields, const std::int64_t* w,
                                   const std::int64_t* end) const {
    for (const bool fixed : {true, false})
      for (const attribute_field& f : fields)
        if (f.fixed == fixed) w = check_field(i, f, w, end);
    return w;
  }
  /// The same for one attribute. Lists and texts begin with their length, which may be any number here, and must not lead
  /// beyond the words of the node.
  const std::int64_t* check_field(int i, const attribute_field& f, const std::int64_t* w,
                                  const std::int64_t* end) const {
    const auto refuse = [&](const std::string& found, const char* expected) {
      fail(i, "attribute " + std::string(f.name), found, expected);
    };
    const auto after = [&](const std::int64_t* first, std::int64_t count, std::int64_t most) {
      if (count < 0 || count > most || count > end - first)
        refuse(std::to_string(count) + " numbers", "those of a list");
      return first + count;
    };
    if (f.kind == attribute_kind::record) return check_fields(i, f.parts, w, end);
    if (w == end) refuse("no word", "one");
    switch (f.kind) {
      case attribute_kind::boolean:
        if (*w != 0 && *w != 1) refuse(std::to_string(*w), "0 or 1");
        return w + 1;
      case attribute_kind::dtype:
        if (*w < 0 || *w >= dtype_count) refuse(std::to_string(*w), "a dtype");
        return w + 1;
      case attribute_kind::shape:  // the number of entries, then the entries
      case attribute_kind::axes:
      case attribute_kind::permutation:
        return after(w + 1, *w, max_rank);
      case attribute_kind::type:  // dtype, weakness, and a shape
        if (end - w < 3) refuse("no words", "those of a type");
        w += 2;
        return after(w + 1, *w, max_rank);
      case attribute_kind::text:  // the number of characters, then eight of them in each word
      case attribute_kind::axis_name:
        if (*w < 0 || *w > 8 * (end - w)) refuse(std::to_string(*w) + " characters", "those of a text");
        return after(w, words_of_text(*w), end - w);
      case attribute_kind::list: {  // the number of elements, then their words
        const std::int64_t count = *w++;
        if (count < 0 || count > end - w) refuse(std::to_string(count) + " elements", "those of a list");
        for (std::int64_t k = 0; k < count; ++k) w = check_field(i, f.parts[0], w, end);
        return w;
      }
      default:  // any number is right, or infer and check_bodies know more
        return w + 1;
    }
  }
  /// Constants have one word, tables as many as their elements take, and captured arrays are in the graph's list.
  void check_data(int i) const {
    const node& n = g_[i];
    const std::int64_t bytes = mul_extent(size(n.type.shape), size_of(n.type.dtype));
    const bool dense = n.op == &dense_p;
    const std::int64_t wanted = dense && !is_dyn(bytes) ? (bytes + 7) / 8 : 1;
    if (n.word_count != wanted || n.operand_count != 0)
      fail(i, "elements", std::to_string(n.word_count) + " words", std::to_string(wanted));
    if (n.op != &captured_p) return;
    const std::int64_t k =
        static_cast<std::int64_t>(constant_bits(g_, n).value);  // its number among the captured arrays
    if (k < 0 || k >= g_.captured.count()) fail(i, "captured array", std::to_string(k), "one of the graph");
    if (const handle& data = captured_data_of(g_, n); data && static_cast<std::int64_t>(data->bytes) < bytes)
      fail(i, "captured array", std::to_string(data->bytes) + " bytes", text_of(n.type));
  }

  // --- types
  /// The node as a call, on its first operands.
  call call_with(const node& n, arrays& in, int operands) const {
    for (int k = 0; k < operands; ++k) {
      const int o = g_.operand(n, k);
      in.push_back(array(const_cast<graph*>(&g_), o, g_[o].type));  // only read
    }
    return call_of(g_, n, in, const_cast<graph*>(&g_));
  }
  /// Calls infer, on wider operands of a product if `widened`. False if it refuses the operands.
  bool infer(int i, int operands, bool widened, types& results, std::string& refusal) {
    const node& n = g_[i];
    in_.clear();
    const call c = call_with(n, in_, operands);
    for (int k = 0; widened && k < n.op->precision.product_operands && k < operands; ++k)
      if (in_[k].dtype() == bf16) in_[k] = array({f32, false, in_[k].shape()});
    try {
      results = n.op->infer_all ? n.op->infer_all(c) : types{n.op->infer(c)};
      return true;
    } catch (const error& e) {
      refusal = e.what();
      return false;
    }
  }
  /// The types that infer gives. The operands of a lowered product may be rounded already, all or some of them; then they count as
  /// f32, unless that contradicts the node.
  types inferred(int i, int operands, bool (*fits)(const types&, const node&)) {
    types results, widened;
    std::string refusal;
    const bool plain = infer(i, operands, false, results, refusal);
    if (plain && fits(results, g_[i])) return results;
    const bool rounded = device_ && g_[i].op->precision.product_operands > 0;
    if (rounded && infer(i, operands, true, widened, refusal) && (!plain || fits(widened, g_[i]))) return widened;
    if (!plain) fail(i, "operands", refusal, "those that infer takes");
    return results;
  }
  /// Results have the types that infer gives. Joined sums have further operands, which are like the result.
  void check_type(int i) {
    const node& n = g_[i];
    if (n.op == &get_p) return check_get(i);
    if (!n.op->infer && !n.op->infer_all) return check_possible(i);
    if (n.op->infer_all) {
      if (n.type.dtype != dtype::none) fail(i, "type", text_of(n.type), "none, because it has several results");
      results_.resize(g_.nodes.size());
      results_[static_cast<std::size_t>(i)] =
          inferred(i, n.operand_count, [](const types&, const node&) { return true; });
      return;
    }
    check_possible(i);
    const bool sums = device_ && device_->takes(*n.op).sums;
    const int own = sums && n.operand_count > 2 ? 2 : n.operand_count;
    for (int k = own; k < n.operand_count; ++k)
      if (!(type_of(n, k) == n.type)) fail(i, "operand " + std::to_string(k), text_of(type_of(n, k)), text_of(n.type));
    array_type t = inferred(i, own, [](const types& found, const node& wanted) { return found[0] == wanted.type; })[0];
    if (sums && own > 0 && n.type.dtype == type_of(n, 0).dtype) t.dtype = n.type.dtype;
    if (!(t == n.type)) fail(i, "type", text_of(n.type), text_of(t));
  }
  /// It picks a result that exists. The results of products may be those of wider operands.
  void check_get(int i) {
    const node& n = g_[i];
    const int from = n.operand_count == 1 ? g_.operand(n, 0) : -1;
    if (from < 0 || !g_[from].op || !g_[from].op->infer_all)
      fail(i, "operand", "another", "a node with several results");
    const types& all = results_[static_cast<std::size_t>(from)];
    const int k = picked_output(g_, n);
    if (k < 0 || k >= all.count())
      fail(i, "number of the result", std::to_string(k), "one below " + std::to_string(all.count()));
    if (all[k] == n.type) return;
    types widened;
    std::string refusal;
    const bool rounded = device_ && g_[from].op->precision.product_operands > 0;
    if (!rounded || !infer(from, g_[from].operand_count, true, widened, refusal) || !(widened[k] == n.type))
      fail(i, "type", text_of(n.type), text_of(all[k]));
  }

  // --- bodies
  /// Bodies are graphs like this one. Only those of nodes count: passes leave others behind.
  void check_bodies(int i) {
    const node& n = g_[i];
    const int count = body_count(g_, n);
    for (int b = 0; b < count; ++b) {
      const std::int64_t w = body_index_of(g_, n, b);
      if (w < 0 || w >= g_.bodies.count()) fail(i, "body " + std::to_string(b), std::to_string(w), "one of the graph");
      const graph& body = g_.bodies[w];
      if (body.captures.count() > body.inputs.count())
        fail(i, "body " + std::to_string(b), std::to_string(body.captures.count()) + " captures", "as many inputs");
      graph_verifier(body, device_).run();
    }
    if (count == 0) return;
    if (n.op->bodies.branches)
      for (int b = 0; b < count; ++b) check_branch(i, b);
    if (n.op->bodies.carries)
      for (int b = 0; b < count; ++b) check_loop(i, b, b + 1 == count);
  }
  const array_type& type_of(const node& n, int k) const { return g_[g_.operand(n, k)].type; }
  /// An input of a body is like the operand, or for sequences like an entry of it.
  void check_input_of(int i, const graph& body, int k, const array_type& given, bool or_entry) const {
    const array_type& t = body[body.inputs[k]].type;
    array_type entry{given.dtype, false, {}};
    for (int a = 1; a < given.shape.rank(); ++a) entry.shape.push_back(given.shape[a]);
    if (!(t == given) && !(or_entry && given.shape.rank() > 0 && t == entry))
      fail(i, "input " + std::to_string(k) + " of the body", text_of(t), text_of(given));
  }
  /// A branch takes the operands but for the first, and all branches return the same types.
  void check_branch(int i, int b) const {
    const node& n = g_[i];
    const graph &body = body_of(g_, n, b), &first = body_of(g_, n, 0);
    if (body.inputs.count() + 1 != n.operand_count)
      fail(i, "inputs of the body", std::to_string(body.inputs.count()), std::to_string(n.operand_count - 1));
    for (int k = 1; k < n.operand_count; ++k) check_input_of(i, body, k - 1, type_of(n, k), false);
    if (body.outputs.count() != first.outputs.count())
      fail(i, "outputs of the body", std::to_string(body.outputs.count()), std::to_string(first.outputs.count()));
    for (int k = 0; k < body.outputs.count(); ++k)
      if (const array_type &t = body[body.outputs[k]].type, &wanted = first[first.outputs[k]].type; !(t == wanted))
        fail(i, "output " + std::to_string(k) + " of the body", text_of(t), text_of(wanted));
  }
  /// The bodies of a loop take all operands, and the last one returns the carries first, with their types.
  void check_loop(int i, int b, bool last) const {
    const node& n = g_[i];
    const graph& body = body_of(g_, n, b);
    const int carries = n.op->bodies.carries(g_.words_of(n));
    if (carries < 0 || carries > n.operand_count)
      fail(i, "carries", std::to_string(carries), "at most " + std::to_string(n.operand_count));
    if (body.inputs.count() != n.operand_count)
      fail(i, "inputs of the body", std::to_string(body.inputs.count()), std::to_string(n.operand_count));
    for (int k = 0; k < n.operand_count; ++k) check_input_of(i, body, k, type_of(n, k), k >= carries);
    if (last && body.outputs.count() < carries)
      fail(i, "outputs of the body", std::to_string(body.outputs.count()), "at least " + std::to_string(carries));
    for (int k = 0; last && k < carries; ++k)
      if (const array_type& t = body[body.outputs[k]].type; !(t == type_of(n, k)))
        fail(i, "output " + std::to_string(k) + " of the body", text_of(t), text_of(type_of(n, k)));
  }

  // --- order and kinds
  /// Later passes walk the list beside the nodes, so it must be sorted, and a live node beside it would be dropped.
  void check_effects() const {
    if (g_.effects.empty() && !has_effects_) return;
    const vec<char> live = live_nodes(g_);
    vec<char> listed(g_.nodes.size(), 0);
    int before = -1;
    for (const int e : g_.effects) {
      if (e <= before || e >= g_.count()) fail(e, "effect", "after %" + std::to_string(before), "a later node");
      arrays in;
      if (!g_[e].op || !has_effect(call_with(g_[e], in, 0))) fail(e, "effect", "no effect", "an op or a body with one");
      listed[e] = 1;
      before = e;
    }
    for (int i = 0; i < g_.count(); ++i)
      if (live[i] && g_[i].op && g_[i].op->effect != effect_kind::none && !listed[i])
        fail(i, "effect", "a node beside the list", "one in the list of effects");
  }
  /// What lowering should have replaced. An op that has neither kernel nor meaning is the user's mistake, and reported later.
  void check_lowered(int i) const {
    const op& o = *g_[i].op;
    if ((o.memory.kind == op_kind::alias && &o != &get_p) || &o == &captured_p || &o == &stand_in_p)
      fail(i, "lowered node", std::string(o.name), "no marker");
    if (o.memory.kind == op_kind::general && o.compose && !device_->has_kernel(o))
      fail(i, "lowered node", "no kernel", "one, or the ops that it is made of");
    if ((o.memory.kind == op_kind::view || o.memory.kind == op_kind::counting) && !o.memory.strides)
      fail(i, "strides", "no rule", "memory.strides");
  }

  const graph& g_;
  const device_facts* device_;
  bool has_effects_ = false;  // is there an op with an effect?
  vec<char> is_input_;
  std::vector<types> results_;  // of nodes with several
  arrays in_;
};

}  // namespace tokamax::detail
#endif
