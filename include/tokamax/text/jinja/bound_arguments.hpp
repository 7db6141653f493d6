// tokamax/text/jinja/bound_arguments.hpp: the arguments of a filter, test, method or function, by its parameters.
// SPDX-License-Identifier: Apache-2.0
// umbrella: in the map only (the library of `tokamax::text` compiles it)
// tested by tests/text/chat_template.cpp
#pragma once

#include <tokamax/text/jinja/operators.hpp>  // refuse_type

namespace tokamax::text::jinja {

/// Values by the places of parameters.
class bound_arguments {
 public:
  /// errors  tokamax::error if there are more arguments than parameters, or one of another name
  bound_arguments(limits& run, std::string_view of, const arguments& given, std::vector<std::string_view> names)
      : run_(run), of_(of), names_(std::move(names)), values_(names_.size()) {
    if (given.positional.size() > names_.size())
      run.refuse(std::string(of), std::to_string(given.positional.size()) + " arguments",
                 "at most " + std::to_string(names_.size()));
    for (std::size_t i = 0; i < given.positional.size(); ++i) values_[i] = given.positional[i];
    for (const auto& [name, v] : given.named) {
      const auto at = std::find(names_.begin(), names_.end(), name);
      const auto i = static_cast<std::size_t>(at - names_.begin());
      if (at == names_.end() || values_[i]) run.refuse(std::string(of), "the argument " + name, "another one");
      values_[i] = v;
    }
  }
  bool has(std::size_t i) const { return values_[i].has_value(); }
  /// An argument that must be there.
  const value& operator[](std::size_t i) const {
    if (!values_[i]) run_.refuse(std::string(of_), "no " + std::string(names_[i]), "that argument");
    return *values_[i];
  }
  /// One that may be left out.
  value get(std::size_t i, value otherwise) const { return values_[i] ? *values_[i] : otherwise; }
  const std::string& text(std::size_t i) const {
    const value& v = (*this)[i];
    if (!v.text()) refuse_type(run_, std::string(of_), v, "a text as " + std::string(names_[i]));
    return *v.text();
  }
  /// A text, or null for none.
  const std::string* text_or_none(std::size_t i) const {
    return !values_[i] || values_[i]->is_none() ? nullptr : &text(i);
  }
  std::int64_t integer(std::size_t i, std::int64_t otherwise) const {
    if (!values_[i] || values_[i]->is_none()) return otherwise;
    const auto n = as_integer(*values_[i]);
    if (!n) refuse_type(run_, std::string(of_), *values_[i], "an integer as " + std::string(names_[i]));
    return *n;
  }
  bool flag(std::size_t i, bool otherwise) const { return values_[i] ? truth(*values_[i]) : otherwise; }

 private:
  limits& run_;
  std::string_view of_;
  std::vector<std::string_view> names_;
  std::vector<std::optional<value>> values_;
};

}  // namespace tokamax::text::jinja
