// tests/train/loss_curve.cpp: curves as an SVG picture.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/train/loss_curve.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/temporary_folder.hpp"

using namespace tokamax::train;

TEST_CASE("curves go from the top left to the last step, with a legend") {
  const std::string svg =
      draw_curves("loss", {{"training", "#00f", {{0, 4}, {100, 2}}}, {"validation", "#f00", {{50, 3}}}});
  CHECK_THAT(svg, contains("<svg ") && contains("</svg>") && contains(">loss</text>"));
  CHECK_THAT(svg, contains("60.0,40.0 700.0,360.0"));  // highest value at the top, lowest at the bottom
  CHECK_THAT(svg, contains("380.0,200.0") && contains(">training</text>") && contains(">validation</text>"));
}

TEST_CASE("no points, and one point, are drawn too") {
  CHECK_THAT(draw_curves("loss", {{"training", "#00f", {}}}), !contains("polyline") && contains("</svg>"));
  CHECK_THAT(draw_curves("loss", {{"training", "#00f", {{10, 2}}}}), !contains("nan") && !contains("inf"));
}

TEST_CASE("a picture is written to a file") {
  const temporary_folder folder;
  const std::vector<curve> curves{{"training", "#00f", {{0, 4}, {100, 2}}}};
  draw_curves(folder.path / "loss.svg", "loss", curves);
  std::ifstream in(folder.path / "loss.svg");
  CHECK(std::string(std::istreambuf_iterator<char>(in), {}) == draw_curves("loss", curves));
  CHECK_THROWS_WITH(draw_curves(folder.path / "no" / "loss.svg", "loss", curves), contains("No such file"));
}

TEST_CASE("points that are not finite are left out") {
  const std::string svg = draw_curves("loss", {{"training", "#00f", {{0, 4}, {50, NAN}, {60, INFINITY}, {100, 2}}}});
  CHECK_THAT(svg, contains("60.0,40.0 700.0,360.0") && !contains("nan") && !contains("inf"));
}
