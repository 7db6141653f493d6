// tokamax/core/structural_ops.hpp: the ops that a graph has of itself: constants, captured data, and results of several.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/core/bind.cpp
#pragma once

#include <tokamax/core/op.hpp>  // op

namespace tokamax {

/// One value in every element.
inline constexpr op constant_p{.name = "constant", .stablehlo = "stablehlo.constant"};
/// A table of known elements, which are packed into the attribute words as in memory.
inline constexpr op dense_p{.name = "dense"};
/// A concrete array that a run-time trace closed over.
inline constexpr op captured_p{.name = "captured", .unique = true};
/// Picks one output of a node with several.
struct get_attributes {
  int output = -1;
};
inline constexpr op get_p{.name = "get", .memory = {.kind = op_kind::alias}, .attributes = schema<get_attributes>};

/// Stands for a value that is not known yet, in a trace that will be discarded (see core/graph/open_graph.hpp).
inline constexpr op stand_in_p{.name = "stand_in", .unique = true};

/// The value of a constant.
constexpr element_bits constant_bits(const graph& g, const node& n) {
  return {static_cast<std::uint64_t>(g.words[n.first_word])};
}

/// The number of the result that a `get` picks.
constexpr int picked_output(const graph& g, const node& n) { return static_cast<int>(g.words[n.first_word]); }
/// The data of a captured array.
constexpr const handle& captured_data_of(const graph& g, const node& n) { return g.captured[g.words[n.first_word]]; }

}  // namespace tokamax
