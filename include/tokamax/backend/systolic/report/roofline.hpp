// tokamax/backend/systolic/report/roofline.hpp: a run under the three roofs of its chip: HBM, VMEM and the arrays.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/systolic/report/losses.hpp>  // loss_factors
#include <tokamax/backend/systolic/report/svg.hpp>     // svg

#include <fmt/format.h>  // format

#include <algorithm>  // min, max
#include <cmath>      // log10
#include <string>     // string

namespace tokamax::systolic_backend {

/// Operations per byte of HBM, 1e12 operations per second that were reached, and those that each roof allows.
struct roofline_point {
  double intensity = 0, reached = 0, hbm_roof = 0, vmem_roof = 0, mxu_roof = 0;

  double roof() const { return std::min({hbm_roof, vmem_roof, mxu_roof}); }
};

/// The roofs of the cores that ran. VMEM has `vmem_over_hbm` times the bandwidth of HBM, and sees at least the bytes of HBM.
/// The roof of the arrays is lowered by the padding of the run: what blocks of these shapes cannot reach.
inline roofline_point roofline(const timeline& t) {
  roofline_point r;
  const double seconds = t.microseconds() * 1e-6, flops = 2 * t.useful_macs;
  if (seconds <= 0) return r;
  const double share = std::min(1.0, static_cast<double>(t.stalls.size()) / t.on.cores);
  r.intensity = t.hbm_bytes > 0 ? flops / t.hbm_bytes : 0;
  r.reached = flops / seconds * 1e-12;
  r.hbm_roof = r.intensity * t.on.hbm_gbps * 1e-3;
  r.vmem_roof = r.hbm_roof * t.on.vmem_over_hbm;
  r.mxu_roof = t.on.peak(element::bf16) * share * loss_factors(t)[0].kept;
  return r;
}

namespace detail {
/// "utilisation 43.1% = padding 1.000 x ...": the factors of `loss_factors`.
inline std::string factors_text(const timeline& t) {
  std::string s = fmt::format("utilisation {:.1f}% =", 100 * t.utilisation());
  const char* times = "";
  for (const factor& f : loss_factors(t)) {
    s += fmt::format("{} {} {:.3f}", times, f.name, f.kept);
    times = " x";
  }
  return s;
}
}  // namespace detail

/// The same in two lines: what was reached under which roof, and the factors whose product is the utilisation.
inline std::string roofline_text(const timeline& t, std::string_view name) {
  const roofline_point r = roofline(t);
  const double lowest = r.roof();
  const std::string_view roof = lowest == r.mxu_roof ? "MXU" : lowest == r.hbm_roof ? "HBM" : "VMEM";
  return fmt::format(
      "{} on {}: {:.1f} TFLOP/s at {:.0f} operations per byte; roofs HBM {:.1f}, VMEM {:.1f}, MXU {:.1f}: {} is the "
      "lowest\n  {}\n",
      name, t.on.name, r.reached, r.intensity, r.hbm_roof, r.vmem_roof, r.mxu_roof, roof, detail::factors_text(t));
}

/// The roofs and the run on axes of powers of ten, and under them the factors whose product is the utilisation.
inline std::string roofline_svg(const timeline& t, std::string_view name) {
  const roofline_point r = roofline(t);
  constexpr double left = 50, top = 30, width = 480, height = 260;
  // Four decades of intensity from below the ridge of VMEM, and four of rates below the peak.
  const double ridge_of_vmem = t.on.critical_intensity(element::bf16) / t.on.vmem_over_hbm;
  const double x0 = std::floor(std::log10(ridge_of_vmem) - 0.5);
  const double y1 = std::ceil(std::log10(t.on.peak(element::bf16) * 1.01));
  const auto x_of = [&](double v) { return left + width * std::clamp((std::log10(v) - x0) / 4, 0.0, 1.0); };
  const auto y_of = [&](double v) {
    return top + height * std::clamp((y1 - std::log10(std::max(v, 1e-12))) / 4, 0.0, 1.0);
  };
  svg picture(left + width + 20, top + height + 70);
  picture.words(left, 18, fmt::format("{} on {}: {:.1f} TFLOP/s of {:.1f}", name, t.on.name, r.reached, r.roof()),
                "start", 12);
  for (int d = 0; d <= 4; ++d) {
    const double x = left + width * d / 4, y = top + height * d / 4;
    picture.line(x, top, x, top + height, "#e0e0e0"), picture.line(left, y, left + width, y, "#e0e0e0");
    picture.words(x, top + height + 12, fmt::format("1e{:.0f}", x0 + d), "middle");
    picture.words(left - 4, y + 4, fmt::format("1e{:.0f}", y1 - d), "end");
  }
  const auto slope = [&](double per_intensity, std::string_view colour, std::string_view label) {
    const double ridge = r.mxu_roof / per_intensity,
                 lowest = std::max(std::pow(10, x0), std::pow(10, y1 - 4) / per_intensity);
    if (ridge > lowest)
      picture.line(x_of(lowest), y_of(lowest * per_intensity), x_of(ridge), y_of(r.mxu_roof), colour, 2);
    picture.line(x_of(ridge), y_of(r.mxu_roof), left + width, y_of(r.mxu_roof), "#4a90d9", 2);
    picture.words(x_of(ridge) + 4, y_of(r.mxu_roof) + 12, label);
  };
  slope(t.on.hbm_gbps * 1e-3, "#f2a65a", "HBM");
  slope(t.on.hbm_gbps * t.on.vmem_over_hbm * 1e-3, "#6abf69", "VMEM");
  if (r.reached > 0) picture.dot(x_of(r.intensity), y_of(r.reached), 5, "#c0392b");
  picture.words(left + width / 2, top + height + 26, "operations per byte of HBM", "middle");
  picture.words(10, top + height + 46, detail::factors_text(t), "start", 9);
  if (!t.on.timing_is_validated)
    picture.words(10, top + height + 62, "no time of this chip has been compared with a real one");
  return picture.text();
}

}  // namespace tokamax::systolic_backend
