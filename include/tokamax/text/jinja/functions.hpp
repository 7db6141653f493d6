// tokamax/text/jinja/functions.hpp: the functions that templates may call: range, namespace, dict, raise_exception, strftime_now.
// SPDX-License-Identifier: Apache-2.0
// umbrella: in the map only (the library of `tokamax::text` compiles it)
// tested by tests/text/chat_template.cpp
#pragma once

#include <tokamax/text/jinja/bound_arguments.hpp>  // bound_arguments
#include <tokamax/text/jinja/print.hpp>            // to_text

#include <ctime>  // strftime

namespace tokamax::text::jinja {

namespace detail {

// Python's range, with the bound that Jinja's sandbox has.
inline value range_of(limits& run, const arguments& given) {
  constexpr std::int64_t most = 100'000;
  const bool one = given.positional.size() == 1;
  const bound_arguments a = one ? bound_arguments(run, "range", given, {"stop"})
                                : bound_arguments(run, "range", given, {"start", "stop", "step"});
  a[!one];  // it must be there
  const std::int64_t first = one ? 0 : a.integer(0, 0), last = a.integer(!one, 0), step = one ? 1 : a.integer(2, 1);
  if (step == 0) run.refuse("range", "the step 0", "another step", error_kind::argument);
  std::vector<value> all;
  for (std::int64_t i = first; step > 0 ? i < last : i > last;) {
    if (static_cast<std::int64_t>(all.size()) == most)
      run.refuse("range", "more", "at most " + std::to_string(most), error_kind::resource);
    all.push_back(i);
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  return run.list(std::move(all), sequence::kind::range);
}

// The local time.
inline value time_text(limits& run, const std::string& format, std::time_t now) {
  if (format.empty() || format.size() > 200)
    run.refuse("strftime_now", std::to_string(format.size()) + " bytes", "a form of 1 to 200 bytes",
               error_kind::argument);
  std::tm parts{};
  localtime_r(&now, &parts);
  std::array<char, 4096> text{};
  return std::string(text.data(), std::strftime(text.data(), text.size(), format.c_str(), &parts));
}

// The fields of a dict and of named arguments.
inline dictionary fields_of(limits& run, const std::string& of, const arguments& given) {
  dictionary d;
  for (const value& v : given.positional) {
    if (given.positional.size() > 1 || !v.dict()) refuse_type(run, of, v, "one dict, or name = value");
    d = *v.dict();
  }
  for (const auto& [name, v] : given.named) {
    const auto is_it = [&](const auto& item) { return item.first.text() && *item.first.text() == name; };
    const auto at = std::find_if(d.items.begin(), d.items.end(), is_it);
    at != d.items.end() ? void(at->second = v) : void(d.items.emplace_back(value(name), v));
  }
  return d;
}

}  // namespace detail

/// Functions by their names, with what they own until the run ends.
class functions {
 public:
  functions(limits& run, std::time_t now) : run_(run), now_(now) {}

  static bool knows(std::string_view name) {
    return name == "range" || name == "namespace" || name == "dict" || name == "raise_exception" ||
           name == "strftime_now";
  }
  value call(const std::string& name, const arguments& given) {
    if (name == "range") return detail::range_of(run_, given);
    if (name == "dict") return run_.dict(detail::fields_of(run_, name, given));
    if (name == "namespace") {
      run_.spend(64);
      auto made = std::make_unique<name_space>();
      for (auto& [key, v] : detail::fields_of(run_, name, given).items) {
        if (!key.text()) refuse_type(run_, "namespace", key, "names");
        made->fields.emplace(*key.text(), v);
      }
      owned_.push_back(std::move(made));
      return owned_.back().get();
    }
    if (name == "strftime_now") {
      const bound_arguments a(run_, name, given, {"format"});
      return detail::time_text(run_, a.text(0), now_);
    }
    const bound_arguments a(run_, name, given, {"message"});
    run_.refuse("raise_exception", to_text(run_, a[0]), "messages that the template takes", error_kind::argument);
  }

 private:
  limits& run_;
  std::time_t now_;
  std::vector<std::unique_ptr<name_space>> owned_;
};

}  // namespace tokamax::text::jinja
