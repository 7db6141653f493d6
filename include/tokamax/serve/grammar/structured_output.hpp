// tokamax/serve/grammar/structured_output.hpp: what an answer must be, and the filter that holds it to that.
// SPDX-License-Identifier: Apache-2.0
// needs <pcre2.h>
// tested by tests/serve/grammar/grammar.cpp
#pragma once

#include <tokamax/serve/grammar/ebnf.hpp>            // ebnf_grammar
#include <tokamax/serve/grammar/grammar_filter.hpp>  // grammar_filter
#include <tokamax/serve/grammar/json_schema.hpp>     // json_schema_grammar

#include <list>  // list

namespace tokamax::serve {

/// What an answer must be.
struct structured_output {
  enum class kind { schema, object, regex, choice, grammar };
  kind what = kind::object;
  std::string text = {};                  ///< a JSON schema, a regular expression or a grammar
  std::vector<std::string> choices = {};  ///< or texts, of which it is one
  std::string param = {};                 ///< how messages call the field that asks for it
};

/// The grammar of a structure.
/// errors  tokamax::error that names the place in a schema, expression or grammar
inline grammar_rules rules_of(const structured_output& s) {
  using kind = structured_output::kind;
  switch (s.what) {
    case kind::schema:
      return json_schema_grammar(s.text);
    case kind::object:
      return json_schema_reader::any_object();
    case kind::regex:
      return regex_grammar(s.text);
    case kind::grammar:
      return ebnf_grammar(s.text);
    case kind::choice:
      break;
  }
  std::vector<expression> all;
  for (const std::string& one : s.choices) all.push_back(literal(one));
  grammar_rules g;
  g.add("choice", any_of(std::move(all)));
  return g;
}

/// Compiles structures, and keeps the last ones. Any thread may use it.
class grammar_cache {
 public:
  explicit grammar_cache(std::shared_ptr<const vocabulary> v, std::size_t most = 64)
      : vocabulary_(std::move(v)), most_(most) {}
  /// A filter at the beginning of an answer.
  /// errors  tokamax::error of the kind `argument` or `file` that names the place in a schema, expression or grammar
  std::shared_ptr<token_filter> filter(const structured_output& s) {
    std::string key = std::to_string(static_cast<int>(s.what)) + s.text;
    for (const std::string& one : s.choices) key += '\0' + one;
    {
      const std::lock_guard lock(mutex_);
      for (auto i = known_.begin(); i != known_.end(); ++i) {
        if (i->first != key) continue;
        if (i->second->is_large()) {
          known_.erase(i);
          break;
        }
        known_.splice(known_.begin(), known_, i);
        return std::make_shared<grammar_filter>(known_.front().second);
      }
    }
    auto masks = std::make_shared<token_masks>(byte_program(rules_of(s)), vocabulary_);
    const std::lock_guard lock(mutex_);
    known_.emplace_front(std::move(key), masks);
    if (known_.size() > most_) known_.pop_back();
    return std::make_shared<grammar_filter>(std::move(masks));
  }

 private:
  std::shared_ptr<const vocabulary> vocabulary_;
  std::size_t most_;
  std::mutex mutex_;
  std::list<std::pair<std::string, std::shared_ptr<token_masks>>> known_;  // the last used ones first
};

}  // namespace tokamax::serve
