// tokamax/profile/analysis/rules/work_rules.hpp: rules on what the steps of programs do.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/profile/analysis/suggestions.cpp
#pragma once

#include <tokamax/profile/analysis/suggestion.hpp>  // findings, suggestion

#include <fmt/format.h>  // format

#include <algorithm>    // max
#include <map>          // map
#include <string>       // string
#include <string_view>  // string_view

namespace tokamax::profile::rules {

namespace detail {
/// The extents in the name of a loop: "[512,768]" of `loop [512,768] mul tanh`; empty if it is no loop.
constexpr std::string_view loop_extents(std::string_view name) {
  if (!name.starts_with("loop [")) return {};
  return name.substr(5, name.find(']') - 4);
}
/// The self times of loops that run right after another loop of the same extents and program, by their names. Between them the
/// track does nothing else.
inline std::map<std::string, double> unfused_loops(const recording& all) {
  std::map<std::string, double> times;
  for (const track& t : all.tracks) {
    const nesting n = nesting_of(t);
    std::string_view before;
    for (const std::size_t i : n.order) {
      const event* e = all.work(t.records[i]);
      if (!e || e->outer) {
        before = {};
        continue;
      }
      const std::string_view here = loop_extents(e->name);
      if (!here.empty() && here == before) times[e->name] += static_cast<double>(n.self[i]);
      before = here;
    }
  }
  return times;
}
/// A product that is computed in full f32.
inline bool is_wide_product(const op_row& o) {
  const std::string_view kind = kind_of(o.name);
  return (kind.starts_with("dot") || kind.starts_with("conv_") || kind.starts_with("attention")) && o.work.flops > 0 &&
         o.work.bfloat16_flops == 0;
}
}  // namespace detail

/// Loops that could be one take more than 10 % of the time of steps.
inline suggestion unfused(const findings& f) {
  suggestion s{
      "unfused", 0, 0.10, {}, "Put the ops into one `jit` program, and no `optimization_barrier` between them.", 0};
  double time = 0;  // of the later loop of each pair, which fusion would save
  for (const auto& [name, self] : detail::unfused_loops(f.all)) {
    time += self;
    s.ops.push_back(name);
  }
  s.value = time / f.total();
  s.saving = time;
  s.text =
      fmt::format("Loops that follow a loop of the same extents take {:.1f} % of the time of steps.", 100 * s.value);
  return s;
}

/// Loops that move bytes at 70 % of the machine's bandwidth or more take more than 20 % of the time of steps.
inline suggestion memory_bound(const findings& f) {
  suggestion s{"memory-bound loop",
               0,
               0.20,
               {},
               "Store these arrays as bf16, fuse the loops with their neighbours, or work on smaller parts that stay "
               "in the cache.",
               0};
  const auto unfused = detail::unfused_loops(f.all);
  double time = 0;
  for (const op_row& o : f.ops) {
    if (kind_of(o.name) != "loop" || std::string_view(o.bound_by) != "memory" || o.roof < 0.7 ||
        unfused.contains(o.name))
      continue;
    time += static_cast<double>(o.self);
    s.ops.push_back(o.name);
  }
  s.value = time / f.total();
  s.saving = time / 2;  // bf16 has half the bytes
  s.text = fmt::format("Loops at the limit of the memory take {:.1f} % of the time of steps.", 100 * s.value);
  return s;
}

/// With bf16 products more than 10 % of the time of steps may be saved, by the limits of the machine.
inline suggestion wide_product(const findings& f) {
  suggestion s{"f32 product",
               0,
               0.10,
               {},
               "Try `with_precision<bf16_products>`: sums stay in f32, and training with it is common.",
               0};
  for (const op_row& o : f.ops) {
    if (!detail::is_wide_product(o) || f.limits.bfloat16_flops <= 0) continue;
    event narrow = o.work;  // the same work with products of bf16
    narrow.bfloat16_flops = narrow.flops;
    narrow.flops = 0;
    const double part = o.best > 0 ? 1e9 * f.limits.bound(narrow) / o.best : 1;
    if (part >= 1) continue;
    s.saving += static_cast<double>(o.self) * (1 - part);
    s.ops.push_back(o.name);
  }
  s.value = s.saving / f.total();
  s.text = fmt::format(
      "Products of f32 could save {:.1f} % of the time of steps, because bf16 is {:.1f} times as fast here.",
      100 * s.value, f.limits.flops > 0 ? f.limits.bfloat16_flops / f.limits.flops : 0);
  return s;
}

/// Steps of programs that take less than 10 us spend more than 20 % of the time of steps beyond what their work needs.
inline suggestion tiny_steps(const findings& f) {
  suggestion s{"many tiny steps",
               0,
               0.20,
               {},
               "Do more at once: larger batches, `vmap` instead of a loop, or several training steps in one `scan`.",
               0};
  double count = 0;
  for (const op_row& o : f.ops) {
    const double mean = static_cast<double>(o.self) / static_cast<double>(std::max<std::int64_t>(1, o.count));
    if (mean >= 10'000) continue;
    s.saving += std::max(0.0, static_cast<double>(o.self) - o.best);
    count += static_cast<double>(o.count);
    s.ops.push_back(o.name);
  }
  s.value = s.saving / f.total();
  s.text =
      fmt::format("{:.0f} steps of programs take less than 10 us, and spend {:.1f} % of the time of steps on overhead.",
                  count, 100 * s.value);
  return s;
}

}  // namespace tokamax::profile::rules
