// tokamax/train/loss_curve.hpp: draw series of numbers over steps as an SVG picture.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (what a run prints and writes; programs that do so include this header)
#pragma once

#include <tokamax/base/system/file.hpp>  // replace_file

#include <fmt/format.h>  // format

#include <algorithm>  // min, max
#include <cmath>      // isfinite
#include <string>     // string
#include <utility>    // pair
#include <vector>     // vector

namespace tokamax::train {

/// One curve of a picture.
struct curve {
  std::string name, colour;
  std::vector<std::pair<double, double>> points;  ///< (step, value)
};

/// An SVG picture, 720 x 400, of some curves over a common step axis. Empty curves are left out, and so are points that
/// are not finite.
inline std::string draw_curves(const std::string& title, std::vector<curve> curves) {
  for (curve& c : curves)
    std::erase_if(c.points, [](const auto& p) { return !std::isfinite(p.first) || !std::isfinite(p.second); });
  double last = 1, low = 1e300, high = -1e300;
  for (const curve& c : curves)
    for (const auto& [step, value] : c.points) {
      last = std::max(last, step);
      low = std::min(low, value);
      high = std::max(high, value);
    }
  if (high < low) low = 0, high = 1;
  if (high - low < 1e-9) high = low + 1;
  constexpr double left = 60, right = 700, top = 40, bottom = 360;
  auto x = [&](double step) { return left + (right - left) * step / last; };
  auto y = [&](double value) { return bottom - (bottom - top) * (value - low) / (high - low); };
  std::string s = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"720\" height=\"400\" font-family=\"sans-serif\" "
      "font-size=\"12\">\n"
      "<rect width=\"720\" height=\"400\" fill=\"white\"/>\n<text x=\"60\" y=\"24\" font-size=\"15\">{}</text>\n",
      title);
  for (int i = 0; i <= 4; ++i) {
    const double value = low + (high - low) * i / 4, step = last * i / 4;
    s += fmt::format("<line x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#ddd\"/>\n", left, right, y(value),
                     y(value));
    s += fmt::format("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{:.2f}</text>\n", left - 6, y(value) + 4, value);
    s += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{:.0f}</text>\n", x(step), bottom + 18, step);
  }
  double legend = left + 200;
  for (const curve& c : curves) {
    if (c.points.empty()) continue;
    s += fmt::format("<polyline fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\" points=\"", c.colour);
    for (const auto& [step, value] : c.points) s += fmt::format("{:.1f},{:.1f} ", x(step), y(value));
    s += fmt::format("\"/>\n<text x=\"{}\" y=\"24\" fill=\"{}\">{}</text>\n", legend += 120, c.colour, c.name);
  }
  return s + "</svg>\n";
}

/// Writes the picture to a file, whole or not at all.
/// errors  tokamax::error if it cannot be written
inline void draw_curves(const std::filesystem::path& path, const std::string& title, const std::vector<curve>& curves) {
  replace_file(path, draw_curves(title, curves));
}

}  // namespace tokamax::train
