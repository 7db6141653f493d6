// tokamax/quant/weight_only.hpp: matrices of a model as integers with scales, without a change of the model.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few models have quantised numbers)
#pragma once

#include <tokamax/core/trace.hpp>                   // ambient_trace
#include <tokamax/ops/quantized/dot_general.hpp>    // dot_general
#include <tokamax/ops/quantized/quantize.hpp>       // quantize
#include <tokamax/quant/rule.hpp>                   // rule
#include <tokamax/transforms/rewrite/leaf_cut.hpp>  // rewritten_graph

namespace tokamax::quant {

/// A pass for `rewrite`: weights that rules select by their paths become integers with scales, one scale for each column
/// (or tile of it), and products read these:
///
///   const auto small = rewrite(f, quant::weight_only{{{.module_path = "blocks[*].attend"}}});
///
/// A weight is a float leaf that is the right operand of a product. Its leaf "PATH" becomes "PATH.qvalue" and "PATH.scale".
/// Other uses of the same leaf, such as rows that are looked up, keep the floats beside them. Results are those of
/// `matmul(x, quantize(w, ...))`.
///
/// errors  those of quantize: a tile size that does not divide an axis
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
    mutable std::vector<quantized_leaf> known = {};  // a leaf is quantised once, for its first product

    bool handles(const op& o) const { return &o == &dot_general_p; }
    arrays operator()(const call& c) const {
      const node& weight = c.trace->nodes[c[1].id()];
      if (weight.op || weight.first_word >= leaves || !is_floating(c[1].dtype())) return {};
      const std::string path(c.trace->name_of(weight).view());
      const rule* const by = find_rule(rules, path);
      if (!by || by->weight_qtype == dtype::none) return {};
      const auto dimensions = c.attrs<dot_dimensions>();
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
  };
  std::vector<rule> rules_;
};

}  // namespace tokamax::quant
