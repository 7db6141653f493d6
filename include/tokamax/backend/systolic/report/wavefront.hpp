// tokamax/backend/systolic/report/wavefront.hpp: the cells of an array in each cycle, as pictures and as text.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/systolic/pe_array.hpp>    // pe_array
#include <tokamax/backend/systolic/report/svg.hpp>  // svg

#include <fmt/format.h>  // format

#include <string>  // string
#include <vector>  // vector

namespace tokamax::systolic_backend {

namespace detail {
/// Blue: multiplies. Violet: multiplies with weights that are new. Yellow: a weight moves. White: nothing.
template <class T>
std::string_view colour_of(const cell<T>& c) {
  if (c.active) return c.first ? "#c39be8" : c.shifts ? "#8fc7d8" : "#9cc3f0";
  return c.shifts ? "#f5e6a1" : "#f4f4f4";
}
}  // namespace detail

/// The array after a cycle. A cell shows its sum, and above it activation x weight; small cells (`side` below 24 points) show
/// colours alone, and their numbers to readers who point at them.
template <class T>
std::string wavefront_svg(const pe_array<T>& array, long long cycle, double side = 40) {
  const auto [rows, columns] = array.shape();
  svg picture(static_cast<double>(columns) * side + 20, static_cast<double>(rows) * side + 40);
  picture.words(10, 16, fmt::format("cycle {}", cycle), "start", 12);
  for (long long r = 0; r < rows; ++r)
    for (long long c = 0; c < columns; ++c) {
      const cell<T>& here = array.at(r, c);
      const double x = 10 + static_cast<double>(c) * side, y = 25 + static_cast<double>(r) * side;
      const std::string product = fmt::format("{} x {}", here.activation, here.weight);
      picture.rectangle(x, y, side - 1, side - 1, detail::colour_of(here),
                        here.active   ? fmt::format("row {}: {}, sum {}", here.row, product, here.sum)
                        : here.shifts ? fmt::format("weight {} on its way", here.shadow)
                                      : "");
      if (side < 24) continue;
      if (here.active) {
        picture.words(x + side / 2, y + side * 0.4, product, "middle", side / 5);
        picture.words(x + side / 2, y + side * 0.8, fmt::format("{}", here.sum), "middle", side / 4);
      } else if (here.shifts) {
        picture.words(x + side / 2, y + side * 0.6, fmt::format("{}", here.shadow), "middle", side / 5);
      }
    }
  return picture.text();
}

/// One picture per cycle of a product.
template <class T>
std::vector<std::string> wavefront_frames(const array_shape& shape, const T* a, const T* b, const product_shape& p,
                                          double side = 40) {
  std::vector<std::string> frames;
  pe_array<T> array(shape);
  array.run(a, b, p, [&](long long t, const auto& now) { frames.push_back(wavefront_svg(now, t, side)); });
  return frames;
}

/// The pictures of all cycles on one page, with a slider that chooses the cycle.
inline std::string wavefront_page(const std::vector<std::string>& frames) {
  std::string page = fmt::format(
      "<!doctype html>\n<meta charset=\"utf-8\"><title>a systolic array, cycle by cycle</title>\n"
      "<input type=\"range\" min=\"0\" max=\"{}\" value=\"0\" style=\"width:90%\" oninput=\"for (const d of "
      "document.querySelectorAll('div')) d.hidden = d.id != 'c' + this.value\">\n",
      frames.empty() ? 0 : frames.size() - 1);
  for (std::size_t f = 0; f < frames.size(); ++f)
    page += fmt::format("<div id=\"c{}\"{}>{}</div>\n", f, f == 0 ? "" : " hidden", frames[f]);
  return page;
}

/// The array after a cycle in characters: a digit is the row of the product that a cell multiplies (modulo 10), w is a
/// weight on its way, and a dot is nothing.
template <class T>
std::string wavefront_text(const pe_array<T>& array) {
  std::string s;
  for (long long r = 0; r < array.shape().rows; ++r) {
    for (long long c = 0; c < array.shape().columns; ++c) {
      const cell<T>& here = array.at(r, c);
      s += here.active ? static_cast<char>('0' + here.row % 10) : here.shifts ? 'w' : '.';
    }
    s += '\n';
  }
  return s;
}

}  // namespace tokamax::systolic_backend
