// tokamax/profile/files/to_xspace.hpp: a recording as an XSpace, from which XProf makes its tables and charts.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/profile/files/xspace.cpp
#pragma once

#include <tokamax/profile/analysis/nesting.hpp>         // duration
#include <tokamax/profile/analysis/step_breakdown.hpp>  // breakdown_of
#include <tokamax/profile/files/xplane_builder.hpp>     // xplane_builder
#include <tokamax/profile/roofline.hpp>                 // roofline

#include <algorithm>    // any_of, clamp, upper_bound
#include <cmath>        // isnan
#include <string>       // string
#include <string_view>  // string_view
#include <utility>      // move

namespace tokamax::profile {

namespace detail {
/// The category by which XProf knows an op; an op that contains others has one that its tables do not count twice.
inline std::string category_of(const event& e) {
  const std::string_view kind = kind_of(e.name);
  if (e.outer) return "while";
  if (kind.starts_with("dot") || kind.starts_with("conv_")) return "convolution";
  if (kind == "loop") return "loop fusion";
  return std::string(kind);
}
/// Picoseconds, and whole numbers of others; what does not fit is the greatest that does.
inline std::int64_t ps(std::int64_t ns) {
  constexpr std::int64_t most = 9'000'000'000'000'000;
  return std::clamp(ns, -most, most) * 1000;
}
inline std::int64_t whole(double v) {
  return std::isnan(v) ? 0 : static_cast<std::int64_t>(std::clamp(v, -0x1p62, 0x1p62));
}

/// What one kind of steps does, for all of its events.
inline xevent_kind described(xplane_builder& p, const recording& all, const record& r, const event& e) {
  const std::vector<std::string>& places = all.tables.at(r.table)->places;
  xevent_kind k{e.name, std::string(kind_of(e.name)) + '.' + std::to_string(r.step)};
  const auto flops = whole(e.outer ? 0 : e.flops + e.bfloat16_flops);
  k.stats = {
      p.stat("hlo_category", category_of(e)),
      p.stat("program_id", std::uint64_t{r.table}),
      p.stat("symbol_id", std::uint64_t{r.step} + 1),
      p.stat("flops", flops),
      p.stat("model_flops", flops),
      p.stat("bytes_accessed", whole(e.outer ? 0 : e.bytes)),
      p.stat("tf_op", (e.scope.empty() ? std::string("program") : e.scope) + '/' + std::string(kind_of(e.name)) + ':'),
      p.stat("source", r.step < places.size() ? places[r.step] : std::string())};
  // What XProf has no names for, so that our reader has the whole recording again.
  k.stats.push_back(p.stat("scope", e.scope));
  if (e.bfloat16_flops > 0) k.stats.push_back(p.stat("bfloat16_flops", e.bfloat16_flops));
  if (e.transcendentals > 0) k.stats.push_back(p.stat("transcendentals", e.transcendentals));
  if (e.outer) k.stats.push_back(p.stat("outer", std::int64_t{1}));
  return k;
}

/// The plane of a track that runs programs. XProf has op statistics of planes with the name of a TPU only; the true name of
/// the device is in a stat.
inline xplane device_plane(const recording& all, const track& t, const step_breakdown& steps, const roofline& limits,
                           std::int64_t number) {
  xplane_builder p(number + 1, "/device:TPU:" + std::to_string(number));
  bool narrow = false;
  for (const auto& [id, table] : all.tables)
    narrow |= std::ranges::any_of(table->steps, [](const event& e) { return e.bfloat16_flops > 0; });
  p.add_stat("peak_teraflops_per_second", (narrow ? limits.bfloat16_flops : limits.flops) * 1e-12);
  p.add_stat("peak_hbm_bw_gigabytes_per_second", limits.bytes * 1e-9);
  p.add_stat("peak_sram_rd_bw_gigabytes_per_second", limits.bytes * 1e-9);
  p.add_stat("peak_sram_wr_bw_gigabytes_per_second", limits.bytes * 1e-9);
  p.add_stat("peak_flops", limits.flops);
  p.add_stat("peak_bfloat16_flops", limits.bfloat16_flops);
  p.add_stat("peak_bytes", limits.bytes);
  p.add_stat("device_type_string", "tokamax " + t.name);
  p.add_stat("recorded_by", std::string("tokamax"));
  p.add_stat("is_device", std::int64_t{t.device});
  p.add_stat("dropped", t.dropped);
  const auto step_of = [&](std::int64_t time) {
    for (auto i = std::ranges::upper_bound(steps.steps, time, {}, [](const step_times& s) { return s.time.begin; });
         i != steps.steps.begin();)
      if ((--i)->time.end > time) return std::int64_t{i - steps.steps.begin()};
    return std::int64_t{-1};
  };
  xline ops{1, "XLA Ops", t.name, all.begin};
  for (const record& r : t.records)
    if (const event* e = all.work(r)) {
      const std::string key = std::to_string(r.table) + ':' + std::to_string(r.step);
      xevent to{p.kind(key, [&] { return described(p, all, r, *e); }), ps(r.begin - all.begin), ps(duration(r))};
      if (const std::int64_t step = step_of(r.begin); step >= 0) to.stats.push_back(p.stat("group_id", step));
      ops.events.push_back(std::move(to));
    }
  p.line("XLA Ops", t.name, all.begin) = std::move(ops);
  xline& modules = p.line("XLA Modules", "", all.begin);
  for (std::size_t i = 0; i < steps.steps.size(); ++i) {
    const step_times& s = steps.steps[i];
    modules.events.push_back({p.kind("steps(1)"),
                              ps(s.time.begin - all.begin),
                              ps(s.length()),
                              {p.stat("group_id", std::int64_t(i)), p.stat("run_id", std::int64_t(i))}});
  }
  xline& marks = p.line("Steps", "", all.begin);
  for (std::size_t i = 0; i < steps.steps.size(); ++i) {
    const step_times& s = steps.steps[i];
    const auto step = whole(s.number);
    marks.events.push_back({p.kind(std::to_string(step)),
                            ps(s.time.begin - all.begin),
                            ps(s.length()),
                            {p.stat("step_num", step), p.stat("group_id", std::int64_t(i))}});
  }
  return std::move(p).plane();
}

/// The marks of the user. Waits for data have the stats by which XProf's input analysis knows a stage.
inline xplane host_plane(const recording& all, std::int64_t id) {
  xplane_builder p(id, "/host:CPU");
  p.add_stat("recorded_by", std::string("tokamax"));
  p.add_stat("begin", all.begin);
  p.add_stat("end", all.end);
  for (const track& t : all.tracks) {
    xline* l = nullptr;
    for (const record& r : t.records) {
      const mark_name* m = all.mark(r);
      if (!m) continue;
      if (!l) l = &p.line("python", t.name, all.begin);
      xevent to{p.kind(m->name), ps(r.begin - all.begin), ps(duration(r))};
      to.stats = {p.stat("mark_kind", static_cast<std::int64_t>(m->kind)), p.stat("value", r.value)};
      // Without the stat "_r" of a root: with it XProf would group the ops anew, by the host, and find no steps.
      if (m->kind == mark_kind::step) to.stats.push_back(p.stat("step_num", whole(r.value)));
      if (activity_of(all, r) == activity::input) {
        to.stats.push_back(p.stat("input_pipeline_stage_id", std::int64_t{1}));
        to.stats.push_back(p.stat("input_pipeline_stage_category", std::string("preprocessing")));
      }
      l->events.push_back(std::move(to));
    }
  }
  return std::move(p).plane();
}
}  // namespace detail

/// An XSpace of a recording: a plane for each track that runs programs, and one for the marks of all threads. XProf opens its
/// bytes as `FOLDER/plugins/profile/RUN/NAME.xplane.pb`.
inline xspace to_xspace(const recording& all, const roofline& limits, const std::string& host = "localhost") {
  const step_breakdown steps = breakdown_of(all);
  xspace result{{}, {host}};
  std::int64_t number = 0;
  for (const track& t : all.tracks)
    if (std::ranges::any_of(t.records, [&](const record& r) { return all.work(r) != nullptr; }))
      result.planes.push_back(detail::device_plane(all, t, steps, limits, number++));
  result.planes.push_back(detail::host_plane(all, number + 1));
  return result;
}

}  // namespace tokamax::profile
