// tokamax/stablehlo/reader/read_text.hpp: StableHLO programs from their text.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (part of program)
#pragma once

#include <tokamax/stablehlo/reader/operation_reader.hpp>  // operation_reader

namespace tokamax::stablehlo {

namespace detail {

/// Functions, and names of attributes, types and resources.
class module_reader : operation_reader {
 public:
  using operation_reader::operation_reader;

  program_module run() {
    program_module m;
    read_resources();
    while (peek() != '\0') {
      // The functions stand in a module, or alone.
      if (comes("module") || comes("builtin.module")) {
        word("");
        if (peek() == '@') m.name = name('@');
        if (accept("attributes")) m.attributes = dictionary();
        expect("{");
        while (!accept("}")) part(m);
        if (accept("loc")) expect("("), balanced(")"), expect(")");
      } else {
        part(m);
      }
    }
    return m;
  }

 private:
  /// A function, a name, or something of another dialect.
  void part(program_module& m) {
    // Names of attributes and types stand before what uses them.
    if (peek() == '#') {
      std::string called = name('#');
      expect("=");
      names_[std::move(called)] = value_of_attribute();
    } else if (peek() == '!') {
      std::string called = name('!');
      expect("=");
      type_names_[std::move(called)] = type();
    } else if (accept("{-#")) {
      at_ = text_.find("#-}", at_);
      if (at_ == text_.npos) at_ = text_.size(), fail("\"#-}\"");
      at_ += 3;
    } else if (comes("func.func") || comes("func")) {
      word("");
      m.functions.push_back(read_function());
    } else if (comes("sdy.mesh")) {  // how arrays would lie on several devices
      word("");
      name('@');
      expect("=");
      peek() == '<' ? in_brackets() : void(value_of_attribute());
      if (comes("{")) dictionary();
    } else {
      fail("a function");
    }
  }
  function read_function() {
    function f;
    f.where = here();
    if (accept("private"))
      f.is_public = false;
    else
      accept("public");
    skip();
    // The values of each function have names and numbers of their own.
    f.name = name('@');
    values_ = 0;
    scopes_.assign(1, {});
    expect("(");
    while (!accept(")")) {
      if (!f.argument_attributes.empty()) expect(",");
      f.argument_attributes.emplace_back();
      // A declaration has types only.
      if (peek() == '%') {
        f.argument_names.push_back(name('%'));
        expect(":");
      } else {
        f.argument_names.emplace_back();
      }
      const value_type t = type();
      argument(f.body, f.argument_names.back().empty() ? "in " + std::to_string(values_) : f.argument_names.back(), t);
      if (comes("{")) f.argument_attributes.back() = dictionary();
      if (accept("loc")) expect("("), balanced(")"), expect(")");
    }
    // Several results stand in parentheses, where they may have attributes.
    if (accept("->")) {
      if (accept("(")) {
        while (!accept(")")) {
          if (!f.results.empty()) expect(",");
          f.results.push_back(type());
          f.result_attributes.push_back(comes("{") ? dictionary() : attribute_list{});
        }
      } else {
        f.results.push_back(type());
        f.result_attributes.emplace_back();
      }
    }
    if (accept("attributes")) dictionary();
    if (comes("{")) {
      f.has_body = true;
      region body = read_region();
      f.body.operations = std::move(body.operations);
    }
    if (accept("loc")) expect("("), balanced(")"), expect(")");
    f.value_count = values_;
    return f;
  }
  /// Finds the data of `dense_resource` attributes, which stands at the end of a text.
  void read_resources() {
    const std::size_t last = text_.find_last_not_of(" \r\n\t");
    if (last == text_.npos || !text_.substr(0, last + 1).ends_with("#-}")) return;
    const std::size_t found = text_.rfind("{-#");
    if (found == text_.npos) return;
    at_ = found + 3;
    while (!accept("#-}")) {
      if (peek() == '"' || is_word(next())) {
        const std::string called = next() == '"' ? quoted() : std::string(word(""));
        expect(":");
        if (peek() == '"') {
          const std::size_t quote = at_;
          resources_[called] = {quoted_raw(), quote};
        }
      } else if (!accept("{") && !accept("}") && !accept(",")) {
        fail("a resource");
      }
    }
    at_ = 0;
  }
};

}  // namespace detail

/// The module that a text is.
///
/// errors  "stablehlo" with line and column, for what is no StableHLO
inline program_module read_text(std::string_view text) { return detail::module_reader(text).run(); }

}  // namespace tokamax::stablehlo
