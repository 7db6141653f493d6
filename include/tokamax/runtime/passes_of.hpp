// tokamax/runtime/passes_of.hpp: what each pass makes of a program, as text and as drawings.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/compiled_once.hpp>              // TOKAMAX_COMPILED_ONCE
#include <tokamax/runtime/program/traced_program.hpp>  // owned_program

#include <string>  // string
#include <vector>  // vector

namespace tokamax {

/// A program as a pass has left it.
struct program_stage {
  std::string pass;  ///< "trace", "lower", "join_sums" (for devices with such kernels), "fuse", "plan"
  std::string text;  ///< what to_text gives; after "fuse": the groups and kernels of each phase
  std::string dot;   ///< a drawing in the language of Graphviz
};

/// The stages of a traced graph on a device with these kernels.
std::vector<program_stage> passes_of(const graph& traced, const kernel_table& kernels);

/// The stages of f on arguments like `args`, traced now: the traced graph, the graph after each pass, and the plan.
///
///   for (const auto& [pass, text, dot] : passes_of(step, cpu, w, x)) std::ofstream(pass + ".dot") << dot;
///
/// errors  those of tracing f
template <class F, class Device, class... Args>
std::vector<program_stage> passes_of(const F& f, const Device&, const Args&... args) {
  std::remove_cvref_t<std::invoke_result_t<const F&, const Args&...>> result;
  graph g;
  trace_into(g, f, result, args...);
  return passes_of(g, kernel_table_of<detail::tag_of<Device>>());
}

}  // namespace tokamax

#if defined(TOKAMAX_COMPILED_ONCE)

  #include <tokamax/compiler/text/draw.hpp>   // to_dot
  #include <tokamax/compiler/text/print.hpp>  // to_text

namespace tokamax {
namespace detail {
/// The groups and kernels of a lowered graph, one line a phase.
inline std::string groups_text(const graph& g, const fusion& f) {
  std::string s;
  int phase = -1;
  for (const int i : f.order) {
    if (!g[i].op || is_free(g[i]) || (f.root[i] >= 0 && f.root[i] != i)) continue;
    if (f.phase[i] != phase) s.append(s.empty() ? "" : "\n").append(numbered("phase ", phase = f.phase[i])).append(":");
    s.append(" ").append(op_name(g[i])).append("(").append(node_name(g, i));
    for (int m = i + 1; f.root[i] == i && m < g.count(); ++m)
      if (f.root[m] == i) s.append(", ").append(node_name(g, m));
    s += ")";
  }
  return s + "\n";
}
}  // namespace detail

TOKAMAX_COMPILED_ONCE std::vector<program_stage> passes_of(const graph& traced, const kernel_table& kernels) {
  std::vector<program_stage> stages{{"trace", to_text(traced), to_dot(traced)}};
  class writer final : public detail::owned_program::pass_viewer {
   public:
    explicit writer(std::vector<program_stage>& to) : to_(to) {}
    void after(const char* pass, const graph& g) override { to_.push_back({pass, to_text(g), to_dot(g)}); }

   private:
    std::vector<program_stage>& to_;
  } writes(stages);
  const auto p = detail::owned_program::make(traced, kernels, &writes);
  const fusion groups(p->lowered);
  stages.push_back({"fuse", detail::groups_text(p->lowered, groups), to_dot(p->lowered, groups)});
  stages.push_back({"plan", to_text(view(p->tables)), to_dot(view(p->tables))});
  return stages;
}

}  // namespace tokamax
#endif
