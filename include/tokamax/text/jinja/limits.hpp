// tokamax/text/jinja/limits.hpp: where a template runs, and how many steps and bytes it may still take.
// SPDX-License-Identifier: Apache-2.0
// umbrella: in the map only (the library of `tokamax::text` compiles it)
// tested by tests/text/chat_template.cpp
#pragma once

#include <tokamax/base/error.hpp>        // error_kind
#include <tokamax/text/jinja/value.hpp>  // value

namespace tokamax::text::jinja {

/// The place of a template that runs, for messages, and what is left to it.
class limits {
 public:
  static constexpr std::size_t most_steps = 10'000'000, most_bytes = std::size_t{1} << 26, deepest_call = 600;

  explicit limits(const std::string& where) : where_(where) {}
  std::uint32_t line = 1;

  /// Takes steps; what makes or reads bytes takes one for sixteen of them.
  void spend(std::size_t steps) {
    if (steps > left_) refuse("steps", "more", "at most " + std::to_string(most_steps), error_kind::resource);
    left_ -= steps;
  }
  void spend_bytes(std::size_t bytes) {
    if (bytes > most_bytes)
      refuse("a text", std::to_string(bytes) + " bytes", "at most " + std::to_string(most_bytes), error_kind::resource);
    spend(bytes / 16);
  }
  [[noreturn]] void refuse(const std::string& what, const std::string& found, const std::string& expected,
                           error_kind kind = error_kind::file) const {
    throw error(kind, "chat template: " + what, found, expected, where_ + ":" + std::to_string(line));
  }
  value list(std::vector<value> items, sequence::kind kind = sequence::kind::list) {
    spend(items.size());
    return value::of(sequence{kind, std::move(items)}, [this] { too_deep(); });
  }
  value dict(dictionary d) {
    spend(d.items.size());
    return value::of(std::move(d), [this] { too_deep(); });
  }
  value text(std::string s) {
    spend_bytes(s.size());
    return value(std::move(s));
  }

  /// Counts expressions within expressions.
  class level {
   public:
    explicit level(limits& l) : limits_(l) {
      if (++l.depth_ > deepest_call)
        l.refuse("depth", "more", "at most " + std::to_string(deepest_call), error_kind::resource);
    }
    ~level() { --limits_.depth_; }
    level(const level&) = delete;
    level& operator=(const level&) = delete;

   private:
    limits& limits_;
  };

 private:
  [[noreturn]] void too_deep() const {
    refuse("depth of a value", "more", "at most " + std::to_string(deepest_value), error_kind::resource);
  }
  const std::string& where_;
  std::size_t left_ = most_steps, depth_ = 0;
};

}  // namespace tokamax::text::jinja
