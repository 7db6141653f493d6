// tokamax/quant/weight_only.hpp: matrices of a model as integers with scales, without a change of the model.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few models have quantised numbers)
#pragma once

#include <tokamax/core/trace.hpp>                       // ambient_trace
#include <tokamax/lax/indexing/gather.hpp>              // gather_p
#include <tokamax/ops/quantized/dot_general.hpp>        // dot_general
#include <tokamax/ops/quantized/packed_ragged_dot.hpp>  // packed_ragged_dot
#include <tokamax/ops/quantized/packed_rows.hpp>        // packed_rows
#include <tokamax/ops/quantized/quantize.hpp>           // quantize
#include <tokamax/quant/pack.hpp>                       // pack
#include <tokamax/quant/rule.hpp>                       // rule
#include <tokamax/transforms/rewrite/leaf_cut.hpp>      // rewritten_graph
#include <tokamax/transforms/rewrite/rewritten.hpp>     // rewritten

namespace tokamax::quant {

/// A matrix of a model that is packed already, in place of a leaf [K, N], or of a leaf [N, K] whose rows are also looked up. Those of
/// experts take the place of a leaf [G, K, N].
struct packed_leaf {
  packed_weights weights;
  bool by_rows = false;  ///< is the leaf [N, K]?
};
using packed_leaves = std::map<std::string, packed_leaf>;  ///< by path

/// A pass for `rewrite`: weights that rules select by their paths become integers with scales, one scale for each column
/// (or tile of it), and products read these:
///
///   const auto small = rewrite(f, quant::weight_only{{{.module_path = "blocks[*].attend"}}});
///
/// A weight is a float leaf that is the right operand of a product. Its leaf "PATH" becomes "PATH.qvalue" and "PATH.scale", or
/// with `packed` "PATH.codes", "PATH.scale" and for u4 "PATH.offset".
/// Other uses of the same leaf, such as rows that are looked up, keep the floats beside them. Results are those of
/// `matmul(x, quantize(w, ...))`.
///
/// Matrices that are `packed` already are read by products and look-ups in place of their leaves, which need no values then:
/// `with_packed` makes the argument that `prepare` would make.
///
/// errors  those of quantize and pack: a tile size that does not divide an axis, or for packed weights is no multiple of 8
/// source  qwix.quantize_model with a PtqProvider, weights only
class weight_only {
 public:
  explicit weight_only(std::vector<rule> rules, packed_leaves packed = {})
      : rules_(std::move(rules)), packed_(std::move(packed)) {}

  rewritten_graph operator()(const graph& g, int leaves) const {
    rewritten_graph r;
    graph& to = r.program;
    arrays in;
    for (const int id : g.inputs) {
      const int path = to.names.import(0, g.names, g[id].scope.name);
      in.push_back(array(&to, to.input(g[id].type, path), g[id].type));
    }
    const ambient_trace scope(to);
    const replace_products replace{rules_, packed_, leaves, r};
    for (const array& y : inline_graph(to, g, in.data(), replace)) to.outputs.push_back(lift(to, y).id());
    return r;
  }

 private:
  struct replace_products {
    const std::vector<rule>& rules;
    const packed_leaves& given;
    int leaves;
    rewritten_graph& r;
    struct quantized_leaf {
      int id = -1;
      quantized_array value;
    };
    struct packed_here {
      int id = -1;
      axes order;  // a matrix that is read by rows and by columns is packed twice
      packed_weights value;
    };
    mutable std::vector<quantized_leaf> known = {};  // a leaf is quantised once, for its first product
    mutable std::vector<packed_here> known_packed = {};

    bool handles(const op& o) const {
      return &o == &dot_general_p || (!given.empty() && (&o == &gather_p || &o == &ragged_dot_p));
    }
    arrays operator()(const call& c) const {
      const bool looks_up = c.self == &gather_p;
      const node& weight = leaf_of(c, c[looks_up ? 0 : 1]);
      if (weight.op || weight.first_word >= leaves || !is_floating(weight.type.dtype)) return {};
      const std::string path(c.trace->name_of(weight).view());
      if (const auto found = given.find(path); found != given.end()) return read_given(c, found->second, path);
      if (c.self != &dot_general_p) return {};
      const rule* const by = find_rule(rules, path);
      if (!by || by->weight_qtype == dtype::none) return {};
      const auto dimensions = c.attrs<dot_dimensions>();
      if (by->packed) return {packed_product(c, *by, dimensions, path)};
      const quantized_array& w = quantized(c[1], *by, dimensions.rhs_contracting, path);
      return {astype(dot_general(c[0], w, dimensions), c.type.dtype)};
    }
    // The matrices of experts get an axis of one before the product.
    static const node& leaf_of(const call& c, const array& x) {
      const node& n = c.trace->nodes[x.id()];
      return c.self == &ragged_dot_p && n.op == &reshape_p ? c.trace->nodes[c.trace->operand(n, 0)] : n;
    }
    static bool is_constant(const graph& g, int id) {
      const node& n = g.nodes[id];
      bool constant = n.op != nullptr;
      for (int i = 0; constant && i < n.operand_count; ++i) constant = is_constant(g, g.operand(n, i));
      return constant;
    }
    arrays read_given(const call& c, const packed_leaf& leaf, const std::string& path) const {
      if (c.self == &gather_p) return {astype(packed_rows(cut(leaf.weights, path), c[1]), c.type.dtype)};
      if (c.self == &ragged_dot_p) {
        const bool whole = is_constant(*c.trace, c[3].id());  // else rhs has some of the groups
        if (!whole || c.attrs<ragged_dot_attributes>().form != ragged_dot_form::standard) return {};
        const array rows = reshape(c[0], {c[0].extent(1), c[0].extent(2)}), sizes = reshape(c[2], {c[2].extent(1)});
        return {astype(reshape(packed_ragged_dot(rows, cut(leaf.weights, path), sizes), c.type.shape), c.type.dtype)};
      }
      const auto d = c.attrs<dot_dimensions>();
      if (d.rhs_batch.rank() != 0 || !(d.rhs_contracting == axes(leaf.by_rows ? 1 : 0))) return {};
      return {product(c, d, cut(leaf.weights, path))};
    }
    // The arrays of packed weights as leaves of their own.
    packed_weights cut(packed_weights p, const std::string& path) const {
      const auto as_leaf = [&](array& a, const char* name) {
        a = lift(r.program, a);
        for (const leaf_cut& c : r.cuts)
          if (c.node == a.id()) return;
        r.cuts.push_back({a.id(), path + name});
      };
      as_leaf(p.codes, ".codes"), as_leaf(p.scale, ".scale");
      if (p.has_offset()) as_leaf(p.offset, ".offset");
      return p;
    }
    const quantized_array& quantized(const array& w, const rule& by, const axes& contracted,
                                     const std::string& path) const {
      for (const quantized_leaf& k : known)
        if (k.id == w.id()) return k.value;
      quantize_options o{.type = by.weight_qtype};
      for (int i = 0; i < w.rank(); ++i) o.tiles.push_back(1);
      for (const std::int64_t i : contracted) o.tiles[static_cast<int>(i)] = by.tile_size;
      known.push_back({w.id(), quantize(w, o)});
      const quantized_array& q = known.back().value;
      r.cuts.push_back({q.qvalue.id(), path + ".qvalue"});
      r.cuts.push_back({q.scale.id(), path + ".scale"});
      return q;
    }
    // How many matrices the right operand is, and how many terms their columns have.
    static shape batch_and_terms(const array& x, const dot_dimensions& d) {
      std::int64_t batch = 1, k = 1;
      for (const std::int64_t i : d.lhs_batch) batch = mul_extent(batch, x.extent(static_cast<int>(i)));
      for (const std::int64_t i : d.lhs_contracting) k = mul_extent(k, x.extent(static_cast<int>(i)));
      return {batch, k};
    }
    static array product(const call& c, const dot_dimensions& d, const packed_weights& p) {
      using tokamax::detail::merged;
      const array& x = c[0];
      const axes of_x = other_axes(x.rank(), merged(d.lhs_batch, d.lhs_contracting));
      const shape s = batch_and_terms(x, d);
      shape rows = s[0] == 1 ? shape{} : shape{s[0]};
      for (const std::int64_t i : of_x) rows.push_back(x.extent(static_cast<int>(i)));
      rows.push_back(s[1]);
      const array flat = reshape(transpose(x, merged(merged(d.lhs_batch, of_x), d.lhs_contracting)), rows);
      return astype(reshape(packed_dot(flat, p), c.type.shape), c.type.dtype);
    }
    array packed_product(const call& c, const rule& by, const dot_dimensions& d, const std::string& path) const {
      using tokamax::detail::merged;
      const axes of_w = other_axes(c[1].rank(), merged(d.rhs_batch, d.rhs_contracting));
      const axes order = merged(merged(d.rhs_batch, d.rhs_contracting), of_w);
      return product(c, d, packed(c[1], by, order, batch_and_terms(c[0], d), path));
    }
    // The leaf as matrices [batch, k, the rest], whose axes are in this order.
    const packed_weights& packed(const array& w, const rule& by, const axes& order, const shape& batch_and_k,
                                 const std::string& path) const {
      for (const packed_here& known_leaf : known_packed)
        if (known_leaf.id == w.id() && known_leaf.order == order) return known_leaf.value;
      const std::int64_t b = batch_and_k[0], k = batch_and_k[1];
      const array matrix = reshape(transpose(w, order), {b, k, div_extent(w.size(), mul_extent(b, k))});
      const quantize_options o{
          .type = by.weight_qtype, .tiles = {1, by.tile_size, 1}, .asymmetric = by.weight_qtype == u4};
      const packed_weights p = pack(quantize(matrix, o), source_line::current());
      known_packed.push_back({w.id(), order, cut(detail::with_scales(p, by.scale_dtype, {}), path)});
      return known_packed.back().value;
    }
  };
  std::vector<rule> rules_;
  packed_leaves packed_;
};

/// A model as a function that `rewrite` has changed by `weight_only{{}, packed}` takes it: with packed matrices in place of
/// their leaves, and all other leaves as they are.
template <class Tree>
rewritten<Tree> with_packed(const Tree& tree, const packed_leaves& packed) {
  rewritten<Tree> out{abstract_tree<Tree>(tree), {}};
  for_each_leaf_with_path(
      [&](std::string_view path, const auto& a) {
        if (!packed.contains(std::string(path))) out.leaves.emplace(path, a);
      },
      tree);
  for (const auto& [path, leaf] : packed) {
    out.leaves[path + ".codes"] = leaf.weights.codes;
    out.leaves[path + ".scale"] = leaf.weights.scale;
    if (leaf.weights.has_offset()) out.leaves[path + ".offset"] = leaf.weights.offset;
  }
  return out;
}

}  // namespace tokamax::quant
