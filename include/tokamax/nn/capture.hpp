// tokamax/nn/capture.hpp: what layers of a model return, beside the result of a function that calls them.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs use it)
#pragma once

#include <tokamax/core/scope/layer_scope.hpp>            // first_leaf
#include <tokamax/nn/part_values.hpp>                    // values_of_part
#include <tokamax/transforms/remat/checkpoint_name.hpp>  // checkpoint_name_p

#include <map>  // map

namespace tokamax::nn {

/// Values by the paths of the layers that returned them.
using captured_values = std::map<std::string, array>;

namespace detail {
/// Adds what the layers of `model` that `chosen` selects return, in the program from node `first` on.
template <class Model, class Filter>
void collect(graph& g, int first, const Model& model, const Filter& chosen, const std::vector<int>& results,
             captured_values& to) {
  const std::vector<std::string> names = tokamax::detail::names_of_nodes(g, first);
  const auto add = [&](const std::string& path, int id) { to[path] = array(&g, id, g[id].type); };
  for_each_record_with_path(
      [&](std::string_view path, const auto& layer) {
        array leaf;
        int levels = 0;
        if (!chosen(path) || !tokamax::detail::first_leaf(layer, leaf, levels)) return;
        const int of_leaf = tokamax::detail::leaf_path_in(g, leaf);
        if (!of_leaf) return;
        const std::string part(g.names.text(g.names.join(g.scope.name, g.names.around(of_leaf, levels))).view());
        int last = -1;  // a layer ends with its result; other values that are used elsewhere come before
        for (const int id : values_of_part(g, part, first, names, results).outputs)
          if (g[id].type.dtype != dtype::none) last = std::max(last, id);
        if (last >= 0) add(std::string(path), last);
      },
      model);
  for (int i = first; i < g.count(); ++i) {
    if (g[i].op != &checkpoint_name_p) continue;
    const auto name = unpack<checkpoint_name_attributes>(g.words_of(g[i])).name;
    const std::string& part = names[static_cast<std::size_t>(i)];
    const std::string path = part + (part.empty() ? "" : ".") + std::string(name.view());
    if (chosen(std::string_view(path))) add(path, i);
  }
}
}  // namespace detail

/// The function (model, args...) -> pair{f(model, args...), values}, where the values are what the layers under the paths that `chosen`
/// selects return, by path. Values to which `checkpoint_name` gives a name are among them, as "path.name".
///
///   const auto [logits, values] = nn::capture(forward, matching("blocks[*].attend"))(model, ids);
///   values.at("blocks[3].attend")
///
/// A layer that is called more than once has the last value. Layers without arrays have no path, and values in the bodies of
/// loops cannot leave them.
///
/// gradients  as f; under grad with has_aux the values come beside the gradient
/// source  flax.nnx.capture, Module.sow, linen's capture_intermediates
template <class F, class Filter>
auto capture(F f, Filter chosen) {
  return [f, chosen]<class Model, class... Args>(const Model& model, const Args&... args) {
    using result_type = std::remove_cvref_t<std::invoke_result_t<const F&, const Model&, const Args&...>>;
    return in_trace(
        [&f, &chosen](graph& g, const Model& m, const Args&... a) {
          const int first = g.count();
          std::pair<result_type, captured_values> out{f(m, a...), {}};
          std::vector<int> results;
          for_each_leaf([&](const array& y) { results.push_back(lift(g, y).id()); }, out.first);
          detail::collect(g, first, m, chosen, results, out.second);
          return out;
        },
        model, args...);
  };
}

}  // namespace tokamax::nn
