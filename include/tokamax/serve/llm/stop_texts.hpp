// tokamax/serve/llm/stop_texts.hpp: ends a text that comes in parts where it contains one of some texts.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (programs that serve models use it)
#pragma once

#include <tokamax/base/requirements.hpp>  // before all else

#include <algorithm>    // min
#include <optional>     // optional
#include <string>       // string
#include <string_view>  // string_view
#include <utility>      // exchange
#include <vector>       // vector

namespace tokamax::serve {

/// Passes a text on, up to the first of its ends. What may be the beginning of an end is kept back until it is clear. The first end is the
/// one whose last byte comes first, and of these the longest, so that it does not matter into which parts the text is cut.
class stop_texts {
 public:
  /// If `include`, the end is passed on, too.
  explicit stop_texts(std::vector<std::string> ends, bool include = false)
      : ends_(std::move(ends)), include_(include) {}

  /// What can be passed on of the text so far. Nothing follows an end. If not `looks`, no end is looked for in this part.
  std::string put(std::string_view part, bool looks = true) {
    if (found_) return {};
    std::string text = std::exchange(kept_, {});
    text += part;
    if (!looks) return text;
    std::size_t begin = 0, end = std::string::npos;
    for (const std::string& s : ends_) {
      const std::size_t at = text.find(s);
      if (at == std::string::npos || at + s.size() > end || (at + s.size() == end && at >= begin)) continue;
      begin = at, end = at + s.size();
      found_ = s;
    }
    if (found_) {
      text.resize(include_ ? end : begin);
      return text;
    }
    std::size_t open = 0;
    for (const std::string& s : ends_)
      for (std::size_t n = std::min(s.size() - 1, text.size()); n > open; --n)
        if (text.ends_with(std::string_view(s).substr(0, n))) open = n;
    kept_ = text.substr(text.size() - open);
    text.resize(text.size() - open);
    return text;
  }
  /// What was kept back, at the end of the text.
  std::string finish() { return std::exchange(kept_, {}); }
  /// The end that was found.
  const std::optional<std::string>& found() const { return found_; }

 private:
  std::vector<std::string> ends_;
  bool include_;
  std::string kept_;
  std::optional<std::string> found_;
};

}  // namespace tokamax::serve
