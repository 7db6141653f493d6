// tests/support/check_op.hpp: the contract of every op and every function of arrays, checked on examples.
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

/// Checks a function of arrays at the point `inputs`:
///   for every op in it, infer gives the type of compose;
///   the CPU's results, op by op, as one graph and through jit, are those of the reference in double;
///   vjp agrees with the rule derived from compose and with central differences, and so do jvp and their derivatives;
///   <ct, jvp(t)> = <vjp(ct), t>;
///   vmap, also of the gradient, agrees with a loop over slices, whichever inputs carry the axis;
///   the text of the graph, and of its gradient's graph, reads back as an equal graph.
void check_function(const function& f, const std::vector<array>& inputs, const check_options& options = {});

/// Checks that the text of a graph reads back as an equal graph.
void check_text(const graph& g);
/// The graph that is read from the text of g and the data that g captured.
graph read_back(const graph& g);

/// An op's operands and attributes, `pack(...)` of its record.
struct example {
  std::vector<array> inputs;
  words attributes = {};
};
/// The same for one op at several points.
void check_op(const op& o, const std::vector<example>& examples, const check_options& options = {});

/// Checks the CPU's results against the reference: as one graph, and if `everywhere` also op by op and through jit.
void check_values(const function& f, const std::vector<array>& inputs, double tolerance = 3e-6, bool everywhere = true);

/// Compares f with JAX. On the rows `name`.in0, `name`.in1 and so on of tests/golden/`file` it must give `name`.out, and
/// for the cotangent `name`.ct the gradients `name`.grad0 and so on. NaN and infinities must be at the same places.
void check_golden(const std::string& name, const function& f, int inputs = 1, double tolerance = 2e-6,
                  const std::string& file = "ops.txt");

}  // namespace tokamax::test
