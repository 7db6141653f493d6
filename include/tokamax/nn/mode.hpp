// tokamax/nn/mode.hpp: whether a layer is trained or used.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/tree.hpp>  // for_each_child

#include <type_traits>  // remove_cvref_t, is_same_v

namespace tokamax::nn {

/// A field of layers that do something else while they are trained. It is a constant of the program.
enum class mode { training, evaluation };

/// `model` with another mode in all its layers. Call it in the traced function:
/// `jit([](const network& m, const array& x) { return nn::set_mode(m, nn::mode::evaluation)(x); }, cpu)`.
/// source  flax.nnx.Module.train, eval
template <class Model>
constexpr Model set_mode(Model model, mode m) {
  if constexpr (std::is_same_v<Model, mode>)
    return m;
  else if constexpr (kind_of<Model> != tree_kind::leaf && kind_of<Model> != tree_kind::constant)
    tokamax::detail::for_each_child(
        [m](auto& child) {
          using part = std::remove_cvref_t<decltype(child)>;
          if constexpr (std::is_same_v<part, mode> || kind_of<part> != tree_kind::constant)
            child = set_mode(std::move(child), m);
        },
        model);
  return model;
}

}  // namespace tokamax::nn
