// tokamax/backend/systolic/report/left_out.hpp: what the model says about a number that no constant was fitted to.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/systolic/report/measurements.cpp
#pragma once

#include <tokamax/backend/systolic/report/measurements.hpp>  // measurement, predicted

#include <algorithm>  // none_of
#include <optional>   // optional

namespace tokamax::systolic_backend {

/// A number that was left out: its constant comes from elsewhere, and the model's other constants stay or are fitted again.
struct left_out {
  double predicted = 0;
  std::string constant = {};  ///< that the number fits; "": none
  double value = 0;           ///< of the constant, without the number
  std::string from = {};      ///< what the constant comes from: the id of another number, or a source
};

namespace detail {

/// What a constant would be without a published time: a value and its source.
struct other_source {
  double value = 0;
  std::string_view source;
};

/// A constant of a chip that published times fit, by the name that the numbers use.
struct fitted_constant {
  std::string_view name;
  fact& (*of)(chip&);
  std::optional<other_source> (*without)(const chip&) = [](const chip&) { return std::optional<other_source>(); };
};

constexpr std::string_view at_bandwidth = "1 KiB at the published bandwidth of HBM";
inline std::optional<other_source> slope_of_hbm(const chip& c) {
  return other_source{1024 * c.clock_ghz / c.hbm_gbps, at_bandwidth};
}

/// What is not here is a table (the instructions of functions), or has no other source at all.
inline const fitted_constant fitted_constants[] = {
    {"launch_us", [](chip& c) -> fact& { return c.launch_us; }},
    {"step", [](chip& c) -> fact& { return c.step; },
     [](const chip&) -> std::optional<other_source> { return other_source{0, "v4 shows no cost of a step"}; }},
    {"swap_bubble", [](chip& c) -> fact& { return c.swap_bubble; },
     [](const chip&) -> std::optional<other_source> {
       return other_source{36, "the middle of 18 to 54 cycles, which compiled products of a TPU v4 lose"};
     }},
    {"hbm_to_vmem.fixed", [](chip& c) -> fact& { return c.hbm_to_vmem.fixed; }},
    {"hbm_to_vmem.per_kib", [](chip& c) -> fact& { return c.hbm_to_vmem.per_kib; }, slope_of_hbm},
    {"vmem_to_hbm.fixed", [](chip& c) -> fact& { return c.vmem_to_hbm.fixed; }},
    {"vmem_to_hbm.per_kib", [](chip& c) -> fact& { return c.vmem_to_hbm.per_kib; }, slope_of_hbm},
    {"hbm_to_cmem.fixed", [](chip& c) -> fact& { return c.hbm_to_cmem.fixed; }},
    {"hbm_to_cmem.per_kib", [](chip& c) -> fact& { return c.hbm_to_cmem.per_kib; }, slope_of_hbm},
    {"cmem_to_hbm.fixed", [](chip& c) -> fact& { return c.cmem_to_hbm.fixed; }},
    {"cmem_to_hbm.per_kib", [](chip& c) -> fact& { return c.cmem_to_hbm.per_kib; }, slope_of_hbm},
    {"shared_per_kib", [](chip& c) -> fact& { return c.shared_per_kib; },
     [](const chip& c) -> std::optional<other_source> {
       return other_source{c.hbm_to_vmem.per_kib, "cores share what one of them has alone"};
     }},
    {"product_edge", [](chip& c) -> fact& { return c.product_edge; }},
    {"mxu_near.latency", [](chip& c) -> fact& { return c.mxu_near.latency; }},
    {"mxu_near.interval", [](chip& c) -> fact& { return c.mxu_near.interval; }},
    {"eup.interval", [](chip& c) -> fact& { return c.eup.interval; }},
    {"transpose.interval", [](chip& c) -> fact& { return c.transpose.interval; }},
    {"ici.fixed", [](chip& c) -> fact& { return c.ici.fixed; }},
    {"ici.per_kib", [](chip& c) -> fact& { return c.ici.per_kib; },
     [](const chip& c) -> std::optional<other_source> {
       return other_source{1024 * c.clock_ghz / 45, "1 KiB at the published 45 GB/s of a link"};
     }},
    {"ici_hop", [](chip& c) -> fact& { return c.ici_hop; },
     [](const chip& c) -> std::optional<other_source> {
       if (c.name == v4.name) return other_source{c.cycles_of(1), "1 us per hop, scaling-book 0819a7d"};
       return other_source{c.cycles_of(v4.microseconds(v4.ici_hop)), "the microseconds of a hop of v4"};
     }},
};

inline const fitted_constant* constant_named(std::string_view name) {
  for (const fitted_constant& k : fitted_constants)
    if (k.name == name) return &k;
  return nullptr;
}

/// The change of a prediction for 1 % more of a constant, or for 1 if it is zero.
inline double sensitivity(const measurement& m, chip c, const fitted_constant& k) {
  const double before = predicted(m, c);
  fact& f = k.of(c);
  f.value += std::max(std::abs(f.value) * 0.01, f.value == 0 ? 1.0 : 0.0);
  return predicted(m, c) - before;
}

/// Makes the model meet a number by one of its constants, which is at least 0. The predictions are nearly straight lines, so
/// that a few secants suffice: large products take a while.
inline void fit(chip& c, const fitted_constant& k, const measurement& m) {
  fact& f = k.of(c);
  double x = f.value, y = predicted(m, c);
  const auto meets = [&] { return std::abs(y / m.value - 1) < 1e-4; };
  if (meets()) return;
  double next = x == 0 ? 1.0 : x * 1.01;
  for (int i = 0; i < 4 && !meets() && next != x; ++i) {
    f.value = next;
    const double there = predicted(m, c), slope = (there - y) / (next - x);
    if (slope == 0) break;
    x = next, y = there;
    next = std::max(0.0, x + (m.value - y) / slope);
  }
  f.value = x;
}

/// The number of the same group that fits nothing and tells most about a constant; null: none tells anything.
inline const measurement* witness(std::span<const measurement> all, const measurement& m, const fitted_constant& k) {
  const measurement* best = nullptr;
  double most = 0;
  for (const measurement& other : all) {
    if (other.group != m.group || other.on != m.on || !other.fits.empty() || &other == &m) continue;
    const double s = std::abs(sensitivity(other, *m.on, k)) / other.value;
    if (s > most) best = &other, most = s;
  }
  return best;
}

}  // namespace detail

/// What the model would say about a number if the number did not exist. The constant that it fits comes from another number of
/// its group, which fits nothing else, or from a source that knows no time of this chip. Then the other constants of the group
/// are fitted again to their own numbers. Empty: nothing else tells the constant, so nothing can be said.
///
/// `all` are the published numbers, of which `m` is one.
inline std::optional<left_out> without(std::span<const measurement> all, const measurement& m) {
  if (m.what == measured_case::none) return {};
  if (m.fits.empty()) return left_out{.predicted = predicted(m)};
  const detail::fitted_constant* const k = detail::constant_named(m.fits);
  if (k == nullptr) return {};
  chip c = *m.on;
  left_out r{.constant = m.fits};
  const measurement* const other = detail::witness(all, m, *k);
  if (other != nullptr) {
    r.from = other->id;
  } else if (const auto source = k->without(c)) {
    k->of(c).value = source->value;
    r.from = source->source;
  } else {
    return {};
  }
  for (int round = 0; round < 2; ++round) {
    if (other != nullptr) detail::fit(c, *k, *other);
    for (const measurement& x : all)
      if (const auto* const again =
              x.group == m.group && x.on == m.on && &x != &m ? detail::constant_named(x.fits) : nullptr;
          again != nullptr && again != k)
        detail::fit(c, *again, x);
  }
  r.value = k->of(c).value;
  r.predicted = predicted(m, c);
  return r;
}

/// Each number left out in turn.
inline std::vector<std::optional<left_out>> each_left_out(std::span<const measurement> all) {
  std::vector<std::optional<left_out>> results;
  for (const measurement& m : all) results.push_back(without(all, m));
  return results;
}

/// The errors by group of numbers that were left out. `fitted` counts those whose constant nothing else tells.
inline std::map<std::string, model_error> left_out_errors(std::span<const measurement> all,
                                                          std::span<const std::optional<left_out>> results) {
  std::map<std::string, model_error> groups;
  for (std::size_t i = 0; i < all.size(); ++i) {
    model_error& e = groups[all[i].group];
    if (results[i])
      e.add(std::abs(results[i]->predicted / all[i].value - 1));
    else if (all[i].what != measured_case::none)
      ++e.fitted;
  }
  return groups;
}

/// The constants that were fitted or guessed of the chips that the numbers are of, with their sources: a chip may have one that
/// was fitted to the times of another.
inline std::string constants_text(std::span<const measurement> all) {
  std::string s;
  for (const chip& c : tpus) {
    if (std::ranges::none_of(all, [&](const measurement& m) { return m.on != nullptr && m.on->name == c.name; }))
      continue;
    chip copy = c;
    for (const detail::fitted_constant& k : detail::fitted_constants)
      if (const fact& f = k.of(copy); f.from == provenance::fitted || f.from == provenance::guessed)
        s += fmt::format("{:<6} {:<20} {:>8.6g}  {}: {}\n", c.name, k.name, f.value, name_of(f.from), f.source);
  }
  return s;
}

/// Each number that fits a constant, and what the model says without it, as text. Then the errors by group, of these numbers
/// and of those that fit nothing.
inline std::string left_out_table(std::span<const measurement> all, std::span<const std::optional<left_out>> results) {
  std::string s =
      fmt::format("{:<14} {:<10} {:>11} {:>11} {:>8}\n", "group", "left out", "published", "model", "error");
  for (std::size_t i = 0; i < all.size(); ++i)
    if (const measurement& m = all[i]; results[i] && !m.fits.empty())
      s += fmt::format("{:<14} {:<10} {:>11.6g} {:>11.6g} {:>+7.1f}%  {} {:.4g} from {}\n", m.group, m.id, m.value,
                       results[i]->predicted, 100 * (results[i]->predicted / m.value - 1), results[i]->constant,
                       results[i]->value, results[i]->from);
  for (const auto& [group, e] : left_out_errors(all, results))
    if (e.judged > 0)
      s += fmt::format("{:<14} mean {:.1f}%, worst {:.1f}% of {} numbers, {} more that nothing replaces\n", group,
                       100 * e.mean, 100 * e.worst, e.judged, e.fitted);
  return s;
}

}  // namespace tokamax::systolic_backend
