// tokamax/serve/http/metrics_text.hpp: counters, gauges and histograms in the text format of Prometheus.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/serve/http/protocol.cpp
#pragma once

#include <tokamax/base/requirements.hpp>

#include <fmt/core.h>  // format

#include <algorithm>    // lower_bound
#include <cstdint>      // uint64_t
#include <string>       // string
#include <string_view>  // string_view
#include <vector>       // vector

namespace tokamax::serve {

/// How many values were at most so large, for each of some limits.
class histogram {
 public:
  explicit histogram(std::vector<double> limits) : limits_(std::move(limits)), counts_(limits_.size() + 1) {}
  void add(double value) {
    ++counts_[static_cast<std::size_t>(std::lower_bound(limits_.begin(), limits_.end(), value) - limits_.begin())];
    sum_ += value;
  }
  const std::vector<double>& limits() const { return limits_; }
  const std::vector<std::uint64_t>& counts() const { return counts_; }
  double sum() const { return sum_; }

 private:
  std::vector<double> limits_;
  std::vector<std::uint64_t> counts_;  // of the values up to each limit and above the one before; the last has the rest
  double sum_ = 0;
};

/// Writes metrics. `labels` of all of them are such as `model_name="m"`.
class metrics_text {
 public:
  explicit metrics_text(std::string labels) : labels_(std::move(labels)) {}
  /// A text as the value of a label.
  static std::string quoted(std::string_view value) {
    std::string text = "\"";
    for (const char c : value)
      text += c == '\n' ? "\\n" : c == '"' || c == '\\' ? std::string{'\\', c} : std::string(1, c);
    return text + "\"";
  }
  void gauge(const std::string& name, const std::string& about, double value) {
    head(name, about, "gauge");
    line(name, "", value);
  }
  /// The name ends with _total.
  void counter(const std::string& name, const std::string& about, double value) {
    head(name, about, "counter");
    line(name, "", value);
  }
  /// One counter for each value of a label.
  void counters(const std::string& name, const std::string& about, const std::string& label,
                const std::vector<std::pair<std::string, double>>& values) {
    head(name, about, "counter");
    for (const auto& [value, count] : values) line(name, label + "=" + quoted(value), count);
  }
  void put(const std::string& name, const std::string& about, const histogram& h) {
    head(name, about, "histogram");
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < h.counts().size(); ++i) {
      count += h.counts()[i];
      const std::string limit = i < h.limits().size() ? fmt::format("{}", h.limits()[i]) : "+Inf";
      line(name + "_bucket", "le=\"" + limit + "\"", static_cast<double>(count));
    }
    line(name + "_sum", "", h.sum());
    line(name + "_count", "", static_cast<double>(count));
  }
  const std::string& text() const { return text_; }

 private:
  void head(const std::string& name, const std::string& about, const char* type) {
    text_ += "# HELP " + name + " " + about + "\n# TYPE " + name + " " + type + "\n";
  }
  void line(const std::string& name, const std::string& more, double value) {
    const std::string both = labels_ + (labels_.empty() || more.empty() ? "" : ",") + more;
    text_ += name + (both.empty() ? "" : "{" + both + "}") + fmt::format(" {}\n", value);
  }
  std::string labels_, text_;
};

}  // namespace tokamax::serve
