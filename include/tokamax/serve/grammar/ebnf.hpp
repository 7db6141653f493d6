// tokamax/serve/grammar/ebnf.hpp: grammars as texts of rules, in the notation of llama.cpp and XGrammar.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/serve/grammar/ebnf.cpp
#pragma once

#include <tokamax/serve/grammar/regex.hpp>  // regex_parser

#include <map>  // map
#include <set>  // set

namespace tokamax::serve {

/// Reads rules such as
///
///   root ::= "(" sum ")"   # a comment
///   sum  ::= [0-9]+ ("+" sum)?
class ebnf_parser {
 public:
  explicit ebnf_parser(std::string_view source) : text_(source) {}

  /// errors  tokamax::error with the byte of what is not possible, or the name of a rule that is missing or there twice
  grammar_rules parse() {
    if (text_.size() > most_bytes)
      throw error("grammar", std::to_string(text_.size()) + " bytes", "at most " + std::to_string(most_bytes));
    rule_of("root");
    for (skip(); !done(); skip()) {
      const std::string name = word();
      skip();
      if (!take("::=")) refuse("::= behind the name of a rule");
      const int rule = rule_of(name);
      if (!defined_.insert(rule).second) throw error("grammar: rule", "'" + name + "' twice", "one of this name");
      grammar_.rules[static_cast<std::size_t>(rule)] = alternatives();
    }
    for (const auto& [name, rule] : rules_)
      if (!defined_.contains(rule)) throw error("grammar: rule", "no '" + name + "'", "one of this name");
    return std::move(grammar_);
  }

 private:
  static constexpr int deepest = 100;
  static constexpr std::size_t most_bytes = std::size_t{1} << 18;

  bool done() const { return at_ == text_.size(); }
  char peek() const { return done() ? '\0' : text_[at_]; }
  bool take(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  [[noreturn]] void refuse(const std::string& expected) const {
    throw error("grammar",
                done() ? "the end" : "'" + std::string(text_.substr(at_, 8)) + "' at byte " + std::to_string(at_),
                expected);
  }
  // White space and comments.
  void skip() {
    for (;;) {
      while (!done() && (peek() == ' ' || (peek() >= '\t' && peek() <= '\r'))) ++at_;
      if (peek() != '#') return;
      while (!done() && peek() != '\n') ++at_;
    }
  }
  static bool in_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.';
  }
  std::string word() {
    const std::size_t begin = at_;
    while (!done() && in_word(peek())) ++at_;
    if (at_ == begin) refuse("the name of a rule");
    return std::string(text_.substr(begin, at_ - begin));
  }
  // The number of a rule, which may be defined later.
  int rule_of(const std::string& name) {
    const auto [at, fresh] = rules_.emplace(name, 0);
    if (fresh) at->second = grammar_.add(name);
    return at->second;
  }
  // Does the next rule begin here?
  bool at_rule() {
    const std::size_t begin = at_;
    while (!done() && in_word(peek())) ++at_;
    const bool is_word = at_ != begin;
    skip();
    const bool found = is_word && text_.substr(at_, 3) == "::=";
    at_ = begin;
    return found;
  }

  // A rule, or what stands between ( and ).
  expression alternatives() {
    if (++depth_ > deepest) refuse("at most " + std::to_string(deepest) + " groups within each other");
    std::vector<expression> all;
    do {
      std::vector<expression> parts;
      for (skip(); !done() && peek() != '|' && peek() != ')' && !at_rule(); skip()) parts.push_back(counted(term()));
      all.push_back(joined(std::move(parts)));
    } while (take("|"));
    --depth_;
    return any_of(std::move(all));
  }
  // A group, a class, any character, a literal or the name of a rule.
  expression term() {
    if (take("(")) {
      expression e = alternatives();
      if (!take(")")) refuse(")");
      return e;
    }
    const auto raw = [](std::vector<code_range> r) { return codes(std::move(r)); };
    if (peek() == '[') {  // classes are those of regular expressions
      const std::size_t begin = at_++;
      for (bool first = true; !done() && (first || peek() != ']'); first = false) {
        if (first && peek() == '^') ++at_;
        at_ += peek() == '\\' ? 2 : 1;
        at_ = std::min(at_, text_.size());
      }
      if (!take("]")) refuse("]");
      return regex_parser(text_.substr(begin, at_ - begin), raw).parse(false);
    }
    if (take(".")) return codes({{0, last_code}});
    if (peek() == '"' || peek() == '\'') return quoted();
    return use_rule(rule_of(word()));
  }
  // A literal, in which escapes are those of regular expressions.
  expression quoted() {
    const char quote = text_[at_++];
    std::vector<expression> parts;
    while (peek() != quote) {
      if (done()) refuse("the end of a literal");
      const std::size_t begin = at_;
      if (take("\\")) {
        const std::size_t size = peek() == 'x' ? 3 : peek() == 'u' ? 5 : 1;
        const std::string_view rest = text_.substr(at_, size);
        at_ = std::min(at_ + size, text_.size());
        parts.push_back(regex_parser("\\" + std::string(rest), [](std::vector<code_range> r) {
                          return codes(std::move(r));
                        }).parse(false));
      } else {
        while (!done() && peek() != quote && peek() != '\\') ++at_;
        parts.push_back(literal(text_.substr(begin, at_ - begin)));
      }
    }
    ++at_;
    return joined(std::move(parts));
  }
  expression counted(expression e) {
    for (;;) {
      if (take("*")) {
        e = repeat(std::move(e), 0);
      } else if (take("+")) {
        e = repeat(std::move(e), 1);
      } else if (take("?")) {
        e = optional_text(std::move(e));
      } else if (take("{")) {
        const int least = number();
        skip();
        int most = least;
        if (take(",")) {
          skip();
          most = peek() == '}' ? expression::no_limit : number();
        }
        skip();
        if (!take("}") || (most != expression::no_limit && most < least)) refuse("a count such as {2,4}");
        e = repeat(std::move(e), least, most);
      } else {
        return e;
      }
    }
  }
  int number() {
    skip();
    int n = 0;
    const std::size_t begin = at_;
    for (; peek() >= '0' && peek() <= '9'; ++at_)
      if ((n = n * 10 + (peek() - '0')) > 10'000) refuse("a count of at most 10000");
    if (at_ == begin) refuse("a number");
    return n;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
  grammar_rules grammar_;
  std::map<std::string, int> rules_;
  std::set<int> defined_;
};

/// The texts of the rule "root".
inline grammar_rules ebnf_grammar(std::string_view source) { return ebnf_parser(source).parse(); }

}  // namespace tokamax::serve
