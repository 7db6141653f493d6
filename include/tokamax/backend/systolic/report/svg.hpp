// tokamax/backend/systolic/report/svg.hpp: a picture as text: rectangles, lines, words.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/error.hpp>  // error

#include <fmt/format.h>  // format_to

#include <filesystem>   // path
#include <fstream>      // ofstream
#include <iterator>     // back_inserter
#include <string>       // string
#include <string_view>  // string_view

namespace tokamax::systolic_backend {

/// An SVG file of `width` x `height` points, which any browser shows. It has no scripts, fonts or links.
class svg {
 public:
  svg(double width, double height) {
    fmt::format_to(
        out(),
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:g} {1:g}\" width=\"{0:g}\" height=\"{1:g}\" "
        "font-family=\"sans-serif\" font-size=\"10\">\n<rect width=\"{0:g}\" height=\"{1:g}\" fill=\"white\"/>\n",
        width, height);
  }

  /// A rectangle. `title` is what a reader sees who points at it.
  void rectangle(double x, double y, double width, double height, std::string_view colour,
                 std::string_view title = {}) {
    fmt::format_to(out(), "<rect x=\"{:.6g}\" y=\"{:.6g}\" width=\"{:.6g}\" height=\"{:.6g}\" fill=\"{}\"", x, y, width,
                   height, colour);
    if (title.empty()) {
      text_ += "/>\n";
    } else {
      fmt::format_to(out(), "><title>{}</title></rect>\n", escaped(title));
    }
  }
  void line(double x1, double y1, double x2, double y2, std::string_view colour, double thickness = 1) {
    fmt::format_to(
        out(), "<line x1=\"{:.6g}\" y1=\"{:.6g}\" x2=\"{:.6g}\" y2=\"{:.6g}\" stroke=\"{}\" stroke-width=\"{:g}\"/>\n",
        x1, y1, x2, y2, colour, thickness);
  }
  void dot(double x, double y, double radius, std::string_view colour) {
    fmt::format_to(out(), "<circle cx=\"{:.6g}\" cy=\"{:.6g}\" r=\"{:g}\" fill=\"{}\"/>\n", x, y, radius, colour);
  }
  /// Words whose `anchor` (start, middle or end) is at (x, y).
  void words(double x, double y, std::string_view text, std::string_view anchor = "start", double size = 10) {
    fmt::format_to(out(), "<text x=\"{:.6g}\" y=\"{:.6g}\" text-anchor=\"{}\" font-size=\"{:g}\">{}</text>\n", x, y,
                   anchor, size, escaped(text));
  }

  std::string text() const { return text_ + "</svg>\n"; }

 private:
  std::back_insert_iterator<std::string> out() { return std::back_inserter(text_); }
  static std::string escaped(std::string_view text) {
    std::string s;
    for (const char c : text) {
      if (c == '&')
        s += "&amp;";
      else if (c == '<')
        s += "&lt;";
      else if (c == '>')
        s += "&gt;";
      else
        s += c;
    }
    return s;
  }

  std::string text_;
};

/// Writes a picture or a trace to a file.
///
/// errors  tokamax::error for a file that cannot be written
inline void write_file(const std::filesystem::path& file, std::string_view text) {
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  out << text << std::flush;
  if (!out)
    throw error(error_kind::file, "systolic report", "a file that cannot be written", "a writable file", file.string());
}

}  // namespace tokamax::systolic_backend
