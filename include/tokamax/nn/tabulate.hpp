// tokamax/nn/tabulate.hpp: the layers of a model as a table: shapes, parameters, bytes and operations.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs use it)
#pragma once

#include <tokamax/core/graph/cost.hpp>        // operations_of
#include <tokamax/core/leaf_kind.hpp>         // is_parameter
#include <tokamax/nn/part_values.hpp>         // values_of_part
#include <tokamax/transforms/eval_shape.hpp>  // make_graph

namespace tokamax::nn {

/// A layer of a model and what it does in one call.
struct layer_summary {
  std::string path, type;       ///< "blocks[3].attend", "attention"
  std::string inputs, outputs;  ///< types: "f32[8,64,256]"; empty if it is not called
  std::int64_t parameters = 0;  ///< elements that are trained
  std::int64_t other = 0;       ///< elements that are not, such as statistics
  std::int64_t bytes = 0;       ///< of both
  double flops = 0;             ///< of the call, as cost_analysis counts them, with those of the layers in it
};

/// Which layers `tabulate` shows.
struct tabulate_options {
  int depth = -1;  ///< so many levels below the model; -1: all
};

namespace detail {
/// The name of a type without namespaces and arguments.
template <class T>
std::string name_of_type() {
  std::string_view s = __PRETTY_FUNCTION__;  // "... [with T = app::network; std::string = ...]"
  s = s.substr(s.find("T = ") + 4);
  s = s.substr(0, s.find_first_of(";]<"));
  return std::string(s.substr(s.rfind(':') + 1));
}
struct cost_of_name {
  std::string name;
  double flops;
};
/// The operations of each node of a program that runs `times` times. Those of a body belong to its nodes.
inline void append_costs(const graph& g, double times, std::vector<cost_of_name>& to) {
  const vec<char> live = live_nodes(g);
  for (int i = 0; i < g.count(); ++i) {
    const node& n = g[i];
    if (!live[i] || !n.op || n.operand_count == 0) continue;
    arrays in;
    for (int k = 0; k < n.operand_count; ++k) in.push_back(array(g[g.operand(n, k)].type));
    call c = call_of(g, n, in, const_cast<graph*>(&g));
    if (n.op->attributes.has_bodies() && !n.op->cost.operations) {
      const double runs = n.op->bodies.repeats ? static_cast<double>(n.op->bodies.repeats(c.attributes)) : 1;
      for (int b = 0; b < body_count(c); ++b) append_costs(c.body(b), times * runs, to);
      continue;
    }
    if (n.op->infer_all) c.type = n.op->infer_all(c)[0];
    to.push_back({std::string(g.name_of(n).view()), times * operations_of(c).flops});
  }
}
inline std::string types_of(const graph& g, const std::vector<int>& nodes) {
  std::string s;
  for (const int id : nodes)
    if (g[id].type.dtype != dtype::none) s.append(s.empty() ? "" : " ").append(message(g[id].type).view());
  return s;
}
/// Digits in groups of three: 124,439,808.
inline std::string grouped(double n) {
  std::string s = std::to_string(static_cast<std::int64_t>(n));
  for (std::size_t at = s.size(); at > 3;) s.insert(at -= 3, ",");
  return s;
}
inline int depth_of(std::string_view path) {
  int parts = path.empty() ? 0 : 1;
  for (const char c : path) parts += c == '.' || c == '[';
  return parts;
}
}  // namespace detail

/// The layers of a model from the outermost one on, as they are called for arguments like these. The values of the arrays do not
/// matter, so the model needs none. Nothing is computed: the program is traced once.
///
/// errors  those of the model
template <class Model, class... Args>
std::vector<layer_summary> summarize(const Model& model, const Args&... args) {
  const graph g = make_graph(
      [](const Model& m, const Args&... a) {
        Model called = copy_tree(m);
        return called(a...);
      },
      model, args...);
  const std::vector<std::string> names = tokamax::detail::names_of_nodes(g, 0);
  const std::vector<int> results(g.outputs.begin(), g.outputs.end());
  std::vector<detail::cost_of_name> costs;
  detail::append_costs(g, 1, costs);
  std::vector<layer_summary> rows;
  for_each_record_with_path(
      [&]<class Layer>(std::string_view path, const Layer& layer) {
        layer_summary row;
        row.path = std::string(path);
        row.type = detail::name_of_type<Layer>();
        for_each_leaf(
            [&](const auto& leaf) {
              (is_parameter<decltype(leaf)> ? row.parameters : row.other) += leaf.size();
              row.bytes += static_cast<std::int64_t>(bytes_of(leaf.type()));
            },
            layer);
        if (row.bytes == 0) return;
        const part_values values = values_of_part(g, path, 0, names, results);
        row.inputs = detail::types_of(g, values.inputs);
        row.outputs = detail::types_of(g, values.outputs);
        for (const detail::cost_of_name& c : costs)
          if (tokamax::detail::is_within(c.name, path)) row.flops += c.flops;
        rows.push_back(std::move(row));
      },
      model);
  return rows;
}

/// These layers as a table of text, with the model itself as its first row.
/// source  flax.nnx.tabulate
template <class Model, class... Args>
std::string tabulate(tabulate_options o, const Model& model, const Args&... args) {
  std::vector<std::vector<std::string>> table{
      {"path", "layer", "inputs", "outputs", "parameters", "other", "bytes", "flops"}};
  for (const layer_summary& r : summarize(model, args...))
    if (o.depth < 0 || detail::depth_of(r.path) <= o.depth)
      table.push_back({r.path, r.type, r.inputs, r.outputs, detail::grouped(static_cast<double>(r.parameters)),
                       detail::grouped(static_cast<double>(r.other)), detail::grouped(static_cast<double>(r.bytes)),
                       detail::grouped(r.flops)});
  std::string text;
  for (const auto& row : table) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      std::size_t width = 0;
      for (const auto& other : table) width = std::max(width, other[c].size());
      const std::string space(width - row[c].size(), ' ');
      line += c < 4 ? row[c] + space : space + row[c];  // numbers stand on the right
      if (c + 1 < row.size()) line += "  ";
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}
template <class Model, class... Args>
  requires(!std::is_same_v<Model, tabulate_options>)
std::string tabulate(const Model& model, const Args&... args) {
  return tabulate(tabulate_options{}, model, args...);
}

}  // namespace tokamax::nn
