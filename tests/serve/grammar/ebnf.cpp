// tests/serve/grammar/ebnf.cpp: texts that grammars have and have not, and what is refused.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/serve/grammar/ebnf.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/error_of.hpp"
#include "support/grammar_checks.hpp"

using namespace tokamax;
using test::has_text;

TEST_CASE("Grammars have the texts of their root") {
  const struct {
    const char* grammar;
    std::vector<std::string> yes, no;
  } rows[] = {
      {"root ::= \"a\"", {"a"}, {"", "aa"}},
      {"root ::= sum  # a comment\nsum ::= product (\"+\" product)*\nproduct ::= item (\"*\" item)*\n"
       "item ::= [0-9]+ | \"(\" sum \")\"",
       {"1", "1+2*3", "((1+2)*34)", "(((((7)))))"},
       {"", "1+", "(1", "1)", "()"}},
      {"root ::= \"(\" root \")\" | \"\"", {"", "()", "((()))"}, {"(", ")("}},
      {"list ::= \"a\" list | \"a\"\nroot ::= list", {"a", std::string(500, 'a')}, {"", "b"}},
      {"root ::= \"\\x41\\n\\\"\" 'q\"' [^\\]a]{2,3}", {"A\n\"q\"bc", "A\n\"q\"bcé"}, {"A\n\"q\"b", "A\n\"q\"ab"}},
      {"root::=a b?\na::=\"x\"{2}\nb::=.", {"xx", "xxé"}, {"x", "xxyy"}},
      {"root ::= a | b\na ::= \"1\"\n\nb ::=\n  \"2\"\n  \"3\"", {"1", "23"}, {"2", "123"}},
      {"root ::= (\"a\" | \"b\")+ \"\"", {"ab"}, {""}},
  };
  for (const auto& row : rows) {
    INFO(row.grammar);
    test::check_texts(serve::ebnf_grammar(row.grammar), row.yes, row.no);
  }
}

TEST_CASE("A grammar that is none is refused with its place") {
  const std::pair<std::string, const char*> rows[] = {
      {"", "grammar: rule: found no 'root', expected one of this name"},
      {"root ::= a", "found no 'a'"},
      {"root ::= \"a\"\nroot ::= \"b\"", "found 'root' twice"},
      {"root = \"a\"", "expected ::= behind the name of a rule"},
      {"root ::= \"a", "expected the end of a literal"},
      {"root ::= [a", "expected ]"},
      {"root ::= (\"a\"", "expected )"},
      {"root ::= \"a\")", "expected the name of a rule"},
      {"root ::= \"a\"{3,1}", "a count such as {2,4}"},
      {"root ::= \"a\"{}", "expected a number"},
      {"root ::= *", "expected the name of a rule"},
      {"root ::= root \"a\" | \"b\"", "grammar: rule: found 'root' at its own beginning"},
      {"root ::= e a\na ::= e root\ne ::= \"\" | \"x\"", "at its own beginning"},
      {"root ::= " + std::string(200, '(') + "\"a\"" + std::string(200, ')'), "at most 100 groups"}};
  for (const auto& [grammar, message] : rows) {
    INFO(grammar);
    CHECK_THAT(test::error_of([&, g = grammar] { serve::byte_program p(serve::ebnf_grammar(g)); }), contains(message));
  }
}
