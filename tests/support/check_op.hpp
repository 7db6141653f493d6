// tests/support/check_op.hpp: the contract that every op and every function of arrays keeps, checked from examples.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/cpu.hpp>

#include "support/contains.hpp"
#include "support/functions.hpp"

namespace tokamax::test {

struct check_options {
  double tolerance = 3e-6;    ///< of results, relative to the largest one; the bound for bf16 is 8192 times as large
  bool differentiate = true;  ///< compare derivatives with finite differences
  bool batch = true;          ///< compare vmap with a loop
  int order = 2;              ///< derivatives of derivatives down to this order are checked
  double step = 1e-4;         ///< of finite differences
};

/// What holds for a function of arrays at the point `inputs`:
///   what infer says of every op in it is the type of its compose,
///   the CPU's results, called op by op, as one graph and through jit, are those of the reference in double,
///   vjp = the rule derived from compose = central differences, and the same for jvp and their derivatives,
///   <ct, jvp(t)> = <vjp(ct), t>,
///   vmap, also of the gradient, is the loop over slices, whichever inputs carry the axis,
///   the text of the graph, and of its gradient's, reads back as an equal graph.
void check_function(const function& f, const std::vector<array>& inputs, const check_options& options = {});

/// The text of a graph is that of an equal one.
void check_text(const graph& g);

/// An op's operands and attributes, `pack(...)` of its record.
struct example {
  std::vector<array> inputs;
  words attributes = {};
};
/// The same for one op at several points.
void check_op(const op& o, const std::vector<example>& examples, const check_options& options = {});

/// The CPU's results, called as one graph (and `everywhere`: op by op and through jit), are those of the reference.
void check_values(const function& f, const std::vector<array>& inputs, double tolerance = 3e-6, bool everywhere = true);

/// f on the rows `name`.in0, in1, ... of tests/data/ops.txt gives `name`.out, and with the cotangent `name`.ct the
/// gradients `name`.grad0, ...; NaN and infinities must be where they are there.
void check_golden(const std::string& name, const function& f, int inputs = 1, double tolerance = 2e-6);

}  // namespace tokamax::test
