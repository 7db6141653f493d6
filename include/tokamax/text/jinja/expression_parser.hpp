// tokamax/text/jinja/expression_parser.hpp: the trees of a template's expressions.
// SPDX-License-Identifier: Apache-2.0
// needs <utf8proc.h>
// umbrella: in the map only (the library of `tokamax::text` compiles it)
// tested by tests/text/chat_template.cpp
#pragma once

#include <tokamax/text/jinja/lexer.hpp>  // lexer
#include <tokamax/text/jinja/tree.hpp>   // node

namespace tokamax::text::jinja {

/// Reads expressions by descent. Nested parts are bounded, so that no text exhausts the stack.
/// source  github.com/pallets/jinja, parser.py
class expression_parser {
 public:
  expression_parser(std::string_view source, const std::string& where)
      : where_(where), tokens_(lexer(source, where).tokens) {}

 protected:
  using kind = node::kind;
  static constexpr unsigned deepest = 150, highest = 300;

  const token& now() const { return tokens_[at_]; }
  const token& behind() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  [[noreturn]] void refuse(const std::string& expected) const {
    throw error(error_kind::file, "chat template: text", now().text, expected,
                where_ + ":" + std::to_string(now().line));
  }
  bool is(token::kind k, std::string_view text) const { return now().is == k && now().text == text; }
  bool is_sign(std::string_view text) const { return is(token::kind::sign, text); }
  bool is_name(std::string_view text) const { return is(token::kind::name, text); }
  bool take(token::kind k, std::string_view text) {
    const bool found = is(k, text);
    at_ += found;
    return found;
  }
  bool take_sign(std::string_view text) { return take(token::kind::sign, text); }
  bool take_name(std::string_view text) { return take(token::kind::name, text); }
  void expect_sign(const std::string& text) {
    if (!take_sign(text)) refuse(text);
  }
  void expect(token::kind k, const char* text) {
    if (now().is != k) refuse(text);
    ++at_;
  }
  std::string expect_name() {
    if (now().is != token::kind::name) refuse("a name");
    return tokens_[at_++].text;
  }
  node make(kind k, std::string name = {}) const { return {k, now().line, std::move(name)}; }
  // Chains such as a + b + c are as high as they are long.
  void add(node& to, node part) {
    to.height = std::max(to.height, part.height + 1);
    if (to.height > highest) refuse("fewer parts within each other");
    to.parts.push_back(std::move(part));
  }
  class level {
   public:
    explicit level(expression_parser& p) : parser_(p) {
      if (++p.depth_ > deepest) p.refuse("fewer parts within each other");
    }
    ~level() { --parser_.depth_; }
    level(const level&) = delete;
    level& operator=(const level&) = delete;

   private:
    expression_parser& parser_;
  };

  // Names, a field of a namespace, or a list of these.
  node target(bool fields) {
    const auto one = [&] {
      node n = make(kind::name, expect_name());
      for (const char* word : {"true", "false", "none", "True", "False", "None"})
        if (n.name == word) refuse("a name that is no constant");
      if (fields && take_sign(".")) n.is = kind::field_of_namespace, n.field = expect_name();
      return n;
    };
    const auto group = [&] {
      if (!take_sign("(")) return one();
      node n = make(kind::tuple);
      while (!take_sign(")")) {
        add(n, one());
        if (!is_sign(")")) expect_sign(",");
      }
      return n;
    };
    node first = group();
    if (!is_sign(",")) return first;
    node all = make(kind::tuple);
    add(all, std::move(first));
    while (take_sign(",") && now().is != token::kind::block_end && !is_sign("=") && !is_name("in")) add(all, group());
    return all;
  }

  // An expression, or several with commas between.
  node tuple(bool with_choice = true, bool in_brackets = false) {
    const auto ends = [&] {
      return now().is == token::kind::print_end || now().is == token::kind::block_end || is_sign(")") ||
             is_name("recursive");
    };
    node all = make(kind::tuple);
    if (in_brackets && ends()) return all;
    add(all, expression(with_choice));
    if (!is_sign(",")) {
      node only = std::move(all.parts[0]);
      return only;
    }
    while (take_sign(",") && !ends()) add(all, expression(with_choice));
    return all;
  }
  // a if condition else b
  node expression(bool with_choice = true) {
    const level l(*this);
    node left = either();
    while (with_choice && take_name("if")) {
      node condition = either();
      node other = take_name("else") ? expression() : make(kind::nothing);
      node n = make(kind::choice);
      add(n, std::move(condition));
      add(n, std::move(left));
      add(n, std::move(other));
      left = std::move(n);
    }
    return left;
  }
  // Operators of one rank, from the left.
  template <class Next, class Is>
  node from_left(Next next, Is is_operator) {
    node left = next();
    while (is_operator()) {
      node n = make(kind::binary, tokens_[at_++].text);
      add(n, std::move(left));
      add(n, next());
      left = std::move(n);
    }
    return left;
  }
  // a or b
  node either() {
    return from_left([&] { return both(); }, [&] { return is_name("or"); });
  }
  // a and b
  node both() {
    return from_left([&] { return negation(); }, [&] { return is_name("and"); });
  }
  // not a
  node negation() {
    if (!is_name("not")) return comparisons();
    const level l(*this);
    node n = make(kind::unary, "not");
    ++at_;
    add(n, negation());
    return n;
  }
  // a < b <= c, a in b, a not in b
  node comparisons() {
    node first = sum();
    node all = make(kind::compare);
    for (;;) {
      node one = make(kind::comparison);
      if (now().is == token::kind::sign &&
          (now().text == "==" || now().text == "!=" || now().text[0] == '<' || now().text[0] == '>'))
        one.name = tokens_[at_++].text;
      else if (take_name("in"))
        one.name = "in";
      else if (is_name("not") && behind().is == token::kind::name && behind().text == "in")
        one.name = "not in", at_ += 2;
      else
        break;
      add(one, sum());
      if (all.parts.empty()) add(all, std::move(first));
      add(all, std::move(one));
    }
    return all.parts.empty() ? std::move(first) : std::move(all);
  }
  // a + b - c
  node sum() {
    return from_left([&] { return concatenation(); }, [&] { return is_sign("+") || is_sign("-"); });
  }
  // a ~ b: the texts of both
  node concatenation() {
    node first = product();
    if (!is_sign("~")) return first;
    node all = make(kind::concat);
    add(all, std::move(first));
    while (take_sign("~")) add(all, product());
    return all;
  }
  // a * b / c % d, and division towards minus infinity
  node product() {
    return from_left([&] { return power(); },
                     [&] { return is_sign("*") || is_sign("/") || is_sign("//") || is_sign("%"); });
  }
  // a ** b, from the left as well
  node power() {
    return from_left([&] { return unary(true); }, [&] { return is_sign("**"); });
  }
  // -a, and then fields, calls, filters and tests
  node unary(bool with_filters) {
    const level l(*this);
    node n = make(kind::unary);
    if (is_sign("-") || is_sign("+")) {
      n.name = tokens_[at_++].text;
      add(n, unary(false));
    } else {
      n = primary();
    }
    n = postfix(std::move(n), false);
    return with_filters ? postfix(std::move(n), true) : std::move(n);
  }
  // A name, a constant, or something in brackets.
  node primary() {
    node n = make(kind::constant);
    const token& t = now();
    if (t.is == token::kind::name) {
      ++at_;
      if (t.text == "true" || t.text == "True" || t.text == "false" || t.text == "False") {
        n.constant = t.text == "true" || t.text == "True";
      } else if (t.text == "none" || t.text == "None") {
        n.constant = none{};
      } else {
        n.is = kind::name, n.name = t.text;
        for (uses& u : macros_) {
          u.varargs |= t.text == "varargs", u.kwargs |= t.text == "kwargs", u.caller |= t.text == "caller";
        }
      }
    } else if (t.is == token::kind::text) {
      std::string all;
      while (now().is == token::kind::text) all += tokens_[at_++].text;
      n.constant = std::move(all);
    } else if (t.is == token::kind::integer || t.is == token::kind::real) {
      n.constant = t.is == token::kind::real ? value(t.real) : value(t.integer);
      ++at_;
    } else if (take_sign("(")) {
      n = tuple(true, true);
      expect_sign(")");
    } else if (take_sign("[")) {
      n.is = kind::list;
      elements(n, "]", [&] { add(n, expression()); });
    } else if (take_sign("{")) {
      n.is = kind::dictionary;
      elements(n, "}", [&] {
        add(n, expression());
        expect_sign(":");
        add(n, expression());
      });
    } else {
      refuse("an expression");
    }
    return n;
  }
  template <class F>
  void elements(const node& n, const char* end, F one) {
    while (!take_sign(end)) {
      if (!n.parts.empty()) expect_sign(",");
      if (!n.parts.empty() && take_sign(end)) return;
      one();
    }
  }

  // Fields, indices and calls, or else filters, tests and calls.
  node postfix(node n, bool filters) {
    for (;;) {
      if (!filters && (is_sign(".") || is_sign("[")))
        n = subscript(std::move(n));
      else if (is_sign("("))
        n = with_arguments(make(kind::call), std::move(n));
      else if (filters && take_sign("|"))
        n = one_filter(std::move(n));
      else if (filters && is_name("is"))
        n = test(std::move(n));
      else
        return n;
    }
  }
  // .name, .0, [index] or [begin:end:step]
  node subscript(node of) {
    node n = make(kind::attribute);
    if (take_sign(".")) {
      if (now().is == token::kind::integer) {
        n.is = kind::item;
        add(n, std::move(of));
        add(n, primary());
        return n;
      }
      n.name = expect_name();
      add(n, std::move(of));
      return n;
    }
    expect_sign("[");
    add(n, std::move(of));
    add(n, is_sign(":") ? make(kind::nothing) : expression());
    n.is = is_sign(":") ? kind::slice : kind::item;
    if (n.is == kind::slice) {
      expect_sign(":");
      add(n, is_sign(":") || is_sign("]") ? make(kind::nothing) : expression());
      add(n, take_sign(":") && !is_sign("]") ? expression() : make(kind::nothing));
    }
    expect_sign("]");
    return n;
  }
  // (a, *b, name=c, **d), which may be left out of a filter
  node with_arguments(node n, node of) {
    add(n, std::move(of));
    if (!take_sign("(")) return n;
    bool named = false;
    while (!take_sign(")")) {
      if (n.parts.size() > 1) expect_sign(",");
      if (n.parts.size() > 1 && take_sign(")")) break;
      node one = make(kind::named);
      if (take_sign("*")) {
        one.is = kind::spread;
      } else if (take_sign("**")) {
        one.is = kind::spread_named;
      } else if (now().is == token::kind::name && behind().is == token::kind::sign && behind().text == "=") {
        one.name = expect_name();
        ++at_;
      } else {
        if (named) refuse("name = value, as the argument before has");
        add(n, expression());
        continue;
      }
      named = true;
      add(one, expression());
      add(n, std::move(one));
    }
    return n;
  }
  // name(arguments)
  node one_filter(node of) {
    node n = make(kind::filter, dotted_name());
    return with_arguments(std::move(n), std::move(of));
  }
  node filter_chain(node of) {
    while (take_sign("|")) of = one_filter(std::move(of));
    return of;
  }
  std::string dotted_name() {
    std::string name = expect_name();
    while (take_sign(".")) (name += '.') += expect_name();
    return name;
  }
  // is name, is not name, is name(argument) or is name argument
  node test(node of) {
    ++at_;
    const bool negated = take_name("not");
    node n = make(kind::test, dotted_name());
    const token& t = now();
    const bool constant = t.is == token::kind::text || t.is == token::kind::integer || t.is == token::kind::real;
    const bool other_name =
        t.is == token::kind::name && t.text != "else" && t.text != "or" && t.text != "and" && t.text != "is";
    if (is_sign("(")) {
      n = with_arguments(std::move(n), std::move(of));
    } else {
      add(n, std::move(of));
      if (is_name("is")) refuse("no second test; (a is b) is c");
      if (constant || other_name || is_sign("[") || is_sign("{")) add(n, postfix(primary(), false));
    }
    if (!negated) return n;
    node result = make(kind::unary, "not");
    add(result, std::move(n));
    return result;
  }

  struct uses {
    bool varargs = false, kwargs = false, caller = false;
  };
  const std::string& where_;
  std::vector<token> tokens_;
  std::size_t at_ = 0;
  unsigned depth_ = 0;
  std::vector<uses> macros_;  // that are read, the outermost first
};

}  // namespace tokamax::text::jinja
