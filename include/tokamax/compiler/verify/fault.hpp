// tokamax/compiler/verify/fault.hpp: the names of nodes and steps in errors of the verifier.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/compiler/verify.cpp
#pragma once

#include <tokamax/base/compiled_once.hpp>  // TOKAMAX_COMPILED_ONCE

#if defined(TOKAMAX_COMPILED_ONCE)

  #include <tokamax/compiler/plan.hpp>  // plan_view
  #include <tokamax/core/op.hpp>        // graph, op

  #include <string>  // string

namespace tokamax::detail {

/// What an error says of a node or step: `add %5`, and `blocks[3].attend, model.cpp:17`.
struct named_part {
  std::string name, where;
};

/// The name of a node, its scope and the line of the program that made it, as far as they are known. This is the only place that
/// reads scopes for the verifier.
inline named_part name_of_node(const graph& g, int id) {
  const node& n = g[id];
  named_part p{std::string(n.op ? n.op->name : "input") + " %" + std::to_string(id), {}};
  if (g.names.has(n.scope.name)) p.where = g.name_of(n).view();
  if (n.where.line > 0)
    p.where.append(p.where.empty() ? "" : ", ").append(n.where.file).append(":") += std::to_string(n.where.line);
  return p;
}
/// The name of step s, and that of its node if the lowered graph of its region is known: `step 3 (dot_general %12)`.
inline named_part name_of_step(const plan_view& p, int s, const graph* lowered) {
  const plan_step& st = p.steps[s];
  named_part part;
  if (lowered && st.node >= 0 && st.node < lowered->count())
    part = name_of_node(*lowered, st.node);
  else if (st.scope > 0 && st.scope <= p.scopes.count)
    part.where = p.scope_of(st).name;
  if (st.kind == step_kind::loop)
    part.name = "loop " + std::to_string(st.function) + (part.name.empty() ? "" : " of " + part.name);
  else if (part.name.empty() && st.function >= 0 && st.function < p.op_count)
    part.name = p.ops[st.function]->name;
  part.name = "step " + std::to_string(s) + " (" + part.name + ")";
  return part;
}

/// Throws what all checks of the verifier throw.
[[noreturn]] inline void throw_fault(const std::string& what, const named_part& of, const std::string& found,
                                     const std::string& expected) {
  throw error("verify: " + what + " of " + of.name, found, expected, of.where);
}
/// A type as in messages: `f32[4,6]`.
inline std::string text_of(const array_type& t) { return std::string(message(t).view()); }

}  // namespace tokamax::detail
#endif
