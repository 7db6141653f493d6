// tokamax/core/leaf_kind.hpp: kinds of leaves, which types tell apart: parameters are trained, others are not.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/core/array.hpp>  // array

#include <type_traits>  // is_base_of_v

namespace tokamax {

/// A second base class of leaves that are not trained. A kind of leaves is a type derived from array, and a model has fields of it:
///
///   struct moving_average : array, not_trained {
///     constexpr moving_average() = default;
///     constexpr moving_average(const array& a) : array(a) {}
///   };
///
/// `grad` gives zeros for such leaves, and optimisers neither keep state for them nor change them. Everything else treats
/// them as any array: traces, donation, vmap and checkpoints.
/// source  flax.nnx.Variable, of which Param alone is trained
struct not_trained {};

/// Is a leaf of this type a parameter? Arrays and tensors are, and kinds without `not_trained`.
template <class Leaf>
inline constexpr bool is_parameter =
    std::is_base_of_v<array, std::remove_cvref_t<Leaf>> && !std::is_base_of_v<not_trained, std::remove_cvref_t<Leaf>>;

}  // namespace tokamax
