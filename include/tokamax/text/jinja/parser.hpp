// tokamax/text/jinja/parser.hpp: the tree of a template.
// SPDX-License-Identifier: Apache-2.0
// needs <utf8proc.h>
// umbrella: in the map only (the library of `tokamax::text` compiles it)
// tested by tests/text/chat_template.cpp
#pragma once

#include <tokamax/text/jinja/expression_parser.hpp>  // expression_parser

namespace tokamax::text::jinja {

/// Reads the statements of a template.
class parser : expression_parser {
 public:
  using expression_parser::expression_parser;

  /// errors  tokamax::error of the kind `file` with the line of what is not expected
  node whole() {
    node result = statements({});
    if (now().is != token::kind::end) refuse("the end");
    return result;
  }

 private:
  // Statements up to a block that begins with one of these names, which is taken.
  node statements(std::initializer_list<std::string_view> ends) {
    const level l(*this);
    node all = make(kind::sequence);
    while (now().is != token::kind::end) {
      if (now().is == token::kind::data) {
        node text = make(kind::data);
        text.constant = now().text;
        add(all, std::move(text));
        ++at_;
      } else if (now().is == token::kind::print_begin) {
        ++at_;
        node print = make(kind::print);
        add(print, tuple());
        add(all, std::move(print));
        expect(token::kind::print_end, "}}");
      } else {
        expect(token::kind::block_begin, "a text");
        if (now().is == token::kind::name && std::find(ends.begin(), ends.end(), now().text) != ends.end()) return all;
        add(all, statement());
        expect(token::kind::block_end, "%}");
      }
    }
    if (ends.size() > 0) refuse("{% " + std::string(*(ends.end() - 1)) + " %}");
    return all;
  }
  // The body of a statement, and the name of the block that ends it.
  node body(std::initializer_list<std::string_view> ends, std::string* end = nullptr) {
    take_sign(":");
    expect(token::kind::block_end, "%}");
    node result = statements(ends);
    std::string name = expect_name();
    if (end) *end = std::move(name);
    return result;
  }
  // if, for, set, macro, call, filter, with, generation, break, continue
  node statement() {
    node n = make(kind::nothing);
    const std::string name = expect_name();
    if (name == "if") {
      branch(n);
    } else if (name == "for") {
      loop(n);
    } else if (name == "set") {
      add(n, target(true));
      n.is = take_sign("=") ? kind::assign : kind::capture;
      if (n.is == kind::assign) {
        add(n, tuple());
      } else {
        node filters = is_sign("|") ? filter_chain(make(kind::captured)) : make(kind::nothing);
        add(n, body({"endset"}));
        add(n, std::move(filters));
      }
    } else if (name == "macro") {
      n.is = kind::macro;
      n.name = expect_name();
      macro_body(n, "endmacro", true);
    } else if (name == "call") {
      n.is = kind::call_block;
      node parameters = is_sign("(") ? signature() : make(kind::signature);
      add(n, expression());
      if (n.parts[0].is != kind::call) refuse("a call");
      add(n, std::move(parameters));
      macro_body(n, "endcall", false);
    } else if (name == "filter") {
      n.is = kind::filter_block;
      add(n, filter_chain(one_filter(make(kind::captured))));
      add(n, body({"endfilter"}));
    } else if (name == "with") {
      n.is = kind::with;
      while (now().is != token::kind::block_end) {
        if (!n.parts.empty()) expect_sign(",");
        add(n, target(false));
        expect_sign("=");
        add(n, expression());
      }
      add(n, body({"endwith"}));
    } else if (name == "generation") {
      n.is = kind::generation;
      add(n, body({"endgeneration"}));
    } else if ((name == "break" || name == "continue") && loops_ > 0) {
      n.is = name == "break" ? kind::break_loop : kind::continue_loop;
    } else {
      --at_;
      refuse("if, for, set, macro, call, filter, with, raw, generation, or break or continue in a loop");
    }
    return n;
  }
  // if condition ... elif condition ... else ... endif
  void branch(node& n) {
    n.is = kind::branch;
    for (std::string end = "elif"; end == "elif";) {
      add(n, tuple(false));
      add(n, body({"elif", "else", "endif"}, &end));
      if (end == "else") add(n, body({"endif"}));
    }
  }
  // for target in items if condition ... else ... endfor
  void loop(node& n) {
    n.is = kind::loop;
    add(n, target(false));
    if (!take_name("in")) refuse("in");
    add(n, tuple(false));
    add(n, take_name("if") ? expression() : make(kind::nothing));
    if (is_name("recursive")) refuse("a loop that is not recursive");
    std::string end;
    ++loops_;
    add(n, body({"else", "endfor"}, &end));
    --loops_;
    add(n, end == "else" ? body({"endfor"}) : make(kind::nothing));
  }
  // A body that may ask for varargs, kwargs and caller by these names. Loops around it are not its own.
  void macro_body(node& n, std::string_view end, bool with_signature) {
    if (with_signature) add(n, signature());
    macros_.push_back({});
    const unsigned loops = std::exchange(loops_, 0);
    add(n, body({end}));
    loops_ = loops;
    const uses used = macros_.back();
    macros_.pop_back();
    n.uses_varargs = used.varargs, n.uses_kwargs = used.kwargs, n.uses_caller = used.caller;
  }
  // (a, b=1)
  node signature() {
    node n = make(kind::signature);
    expect_sign("(");
    while (!take_sign(")")) {
      if (!n.parts.empty()) expect_sign(",");
      node p = make(kind::parameter);
      p.name = expect_name();
      const bool required = !n.parts.empty() && n.parts.back().parts[0].is != kind::nothing;
      if (required && !is_sign("=")) refuse("= and a value, as the parameter before has");
      add(p, take_sign("=") ? expression() : make(kind::nothing));
      add(n, std::move(p));
    }
    return n;
  }
  unsigned loops_ = 0;
};

}  // namespace tokamax::text::jinja
