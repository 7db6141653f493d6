// tokamax/serve/grammar.hpp: all of serve/grammar: answers that are held to schemas and grammars, for programs that link tokamax::text.
// SPDX-License-Identifier: Apache-2.0
// needs <pcre2.h>
// umbrella: no (it needs PCRE2 and utf8proc, which few programs need)
//
//   serve/grammar/byte_program.hpp       a grammar as nodes that read bytes, call rules and return from them.
//   serve/grammar/byte_states.hpp        where a text may stand in a grammar, as states that are made when they are first met.
//   serve/grammar/ebnf.hpp               grammars as texts of rules, in the notation of llama.cpp and XGrammar.
//   serve/grammar/expression.hpp         sets of texts, made of literals, characters, sequences, choices, repetitions and rules.
//   serve/grammar/grammar_filter.hpp     holds the tokens of an answer to a grammar.
//   serve/grammar/json_schema.hpp        the JSON texts that a schema takes.
//   serve/grammar/json_texts.hpp         strings, numbers and values of JSON as sets of texts, bounded where JSON is not.
//   serve/grammar/regex.hpp              regular expressions as sets of texts.
//   serve/grammar/schema_formats.hpp     the formats of strings that JSON schemas name.
//   serve/grammar/schema_keywords.hpp    the keywords of a JSON schema, one by one, with their path in refusals.
//   serve/grammar/schema_parts.hpp       JSON schemas as data: references, two schemas as one, and whether two have a value in common.
//   serve/grammar/structured_output.hpp  what an answer must be, and the filter that holds it to that.
//   serve/grammar/token_trie.hpp         the tokens of a vocabulary by their bytes.
//   serve/grammar/utf8_ranges.hpp        the bytes of ranges of code points.
#pragma once

#include <tokamax/serve/grammar/byte_program.hpp>
#include <tokamax/serve/grammar/byte_states.hpp>
#include <tokamax/serve/grammar/ebnf.hpp>
#include <tokamax/serve/grammar/expression.hpp>
#include <tokamax/serve/grammar/grammar_filter.hpp>
#include <tokamax/serve/grammar/json_schema.hpp>
#include <tokamax/serve/grammar/json_texts.hpp>
#include <tokamax/serve/grammar/regex.hpp>
#include <tokamax/serve/grammar/schema_formats.hpp>
#include <tokamax/serve/grammar/schema_keywords.hpp>
#include <tokamax/serve/grammar/schema_parts.hpp>
#include <tokamax/serve/grammar/structured_output.hpp>
#include <tokamax/serve/grammar/token_trie.hpp>
#include <tokamax/serve/grammar/utf8_ranges.hpp>
