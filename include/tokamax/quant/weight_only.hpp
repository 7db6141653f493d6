// tokamax/quant/weight_only.hpp: matrices of a model as integers with scales, without a change of the model.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few models have quantised numbers)
#pragma once

#include <tokamax/core/trace.hpp>                   // ambient_trace
#include <tokamax/ops/quantized/dot_general.hpp>    // dot_general
#include <tokamax/ops/quantized/quantize.hpp>       // quantize
#include <tokamax/quant/pack.hpp>                   // pack
#include <tokamax/quant/rule.hpp>                   // rule
#include <tokamax/transforms/rewrite/leaf_cut.hpp>  // rewritten_graph

namespace tokamax::quant {

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
/// errors  those of quantize and pack: a tile size that does not divide an axis, or for packed weights is no multiple of 8
/// source  qwix.quantize_model with a PtqProvider, weights only
class weight_only {
 public:
  explicit weight_only(std::vector<rule> rules) : rules_(std::move(rules)) {}

  rewritten_graph operator()(const graph& g, int leaves) const {
    rewritten_graph r;
    graph& to = r.program;
    arrays in;
    for (const int id : g.inputs) {
      const int path = to.names.import(0, g.names, g[id].scope.name);
      in.push_back(array(&to, to.input(g[id].type, path), g[id].type));
    }
    const ambient_trace scope(to);
    const replace_products replace{rules_, leaves, r};
    for (const array& y : inline_graph(to, g, in.data(), replace)) to.outputs.push_back(lift(to, y).id());
    return r;
  }

 private:
  struct replace_products {
    const std::vector<rule>& rules;
    int leaves;
    rewritten_graph& r;
    struct quantized_leaf {
      int id = -1;
      quantized_array value;
    };
    struct packed_leaf {
      int id = -1;
      axes order;  // a matrix that is read by rows and by columns is packed twice
      packed_weights value;
    };
    mutable std::vector<quantized_leaf> known = {};  // a leaf is quantised once, for its first product
    mutable std::vector<packed_leaf> known_packed = {};

    bool handles(const op& o) const { return &o == &dot_general_p; }
    arrays operator()(const call& c) const {
      const node& weight = c.trace->nodes[c[1].id()];
      if (weight.op || weight.first_word >= leaves || !is_floating(c[1].dtype())) return {};
      const std::string path(c.trace->name_of(weight).view());
      const rule* const by = find_rule(rules, path);
      if (!by || by->weight_qtype == dtype::none) return {};
      const auto dimensions = c.attrs<dot_dimensions>();
      if (by->packed) return {packed_product(c, *by, dimensions, path)};
      const quantized_array& w = quantized(c[1], *by, dimensions.rhs_contracting, path);
      return {astype(dot_general(c[0], w, dimensions), c.type.dtype)};
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
    array packed_product(const call& c, const rule& by, const dot_dimensions& d, const std::string& path) const {
      using tokamax::detail::merged;
      const array &x = c[0], &w = c[1];
      const axes of_x = other_axes(x.rank(), merged(d.lhs_batch, d.lhs_contracting)),
                 of_w = other_axes(w.rank(), merged(d.rhs_batch, d.rhs_contracting));
      std::int64_t batch = 1, k = 1;
      for (const std::int64_t i : d.lhs_batch) batch = mul_extent(batch, x.extent(static_cast<int>(i)));
      for (const std::int64_t i : d.lhs_contracting) k = mul_extent(k, x.extent(static_cast<int>(i)));
      shape rows = batch == 1 ? shape{} : shape{batch};
      for (const std::int64_t i : of_x) rows.push_back(x.extent(static_cast<int>(i)));
      rows.push_back(k);
      const packed_weights& p = packed(w, by, merged(merged(d.rhs_batch, d.rhs_contracting), of_w), {batch, k}, path);
      const array flat = reshape(transpose(x, merged(merged(d.lhs_batch, of_x), d.lhs_contracting)), rows);
      return astype(reshape(packed_dot(flat, p), c.type.shape), c.type.dtype);
    }
    // The leaf as matrices [batch, k, the rest], whose axes are in this order.
    const packed_weights& packed(const array& w, const rule& by, const axes& order, const shape& batch_and_k,
                                 const std::string& path) const {
      for (const packed_leaf& known_leaf : known_packed)
        if (known_leaf.id == w.id() && known_leaf.order == order) return known_leaf.value;
      const std::int64_t b = batch_and_k[0], k = batch_and_k[1];
      const array matrix = reshape(transpose(w, order), {b, k, div_extent(w.size(), mul_extent(b, k))});
      const quantize_options o{
          .type = by.weight_qtype, .tiles = {1, by.tile_size, 1}, .asymmetric = by.weight_qtype == u4};
      known_packed.push_back({w.id(), order, pack(quantize(matrix, o), source_line::current())});
      const packed_weights& p = known_packed.back().value;
      r.cuts.push_back({p.codes.id(), path + ".codes"});
      r.cuts.push_back({p.scale.id(), path + ".scale"});
      if (p.has_offset()) r.cuts.push_back({p.offset.id(), path + ".offset"});
      return p;
    }
  };
  std::vector<rule> rules_;
};

}  // namespace tokamax::quant
