// tokamax/compiler/scope_text.hpp: the scopes of a graph's nodes as text: ` in blocks[3].attend using attention=compose`.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/core/scope/named_scope.cpp
#pragma once

#include <tokamax/base/compiled_once.hpp>  // TOKAMAX_COMPILED_ONCE
#include <tokamax/core/graph.hpp>          // graph

#if defined(TOKAMAX_COMPILED_ONCE)

  #include <string>  // string

namespace tokamax::detail {

/// Can a name stand in a text as it is? Others stand in quotes.
inline bool is_plain_name(std::string_view name) {
  if (name.starts_with('"')) return false;
  for (const char c : name)
    if (static_cast<unsigned char>(c) <= ' ' || c == '\\' || c == '\x7f') return false;
  return true;
}
/// A name as it stands between quotes: quotes, backslashes and the ends of lines have a backslash before them.
inline void append_escaped(std::string& s, std::string_view name) {
  for (const char c : name) {
    if (c == '"' || c == '\\' || c == '\n') s += '\\';
    s += c == '\n' ? 'n' : c;
  }
}
inline void append_scope(std::string& s, scope_view scope) {
  if (!scope.name.empty()) {
    s += " in ";
    if (is_plain_name(scope.name))
      s += scope.name;
    else
      append_escaped(s += '"', scope.name), s += '"';
  }
  if (!scope.implementations.empty()) s.append(" using ").append(scope.implementations);
}
inline void append_scope(std::string& s, const graph& g, const node& n) {
  const name_text name = g.name_of(n);
  append_scope(s, {name, g.decided.implementations(n.scope.decisions)});
}

/// Reads what `append_scope` wrote from position `at` of a text on, if it goes on like that.
inline node_scope read_scope(graph& g, std::string_view text, std::size_t& at) {
  const auto accept = [&](std::string_view word) {
    const bool found = text.substr(at).starts_with(word);
    if (found) at += word.size();
    return found;
  };
  const auto word = [&] {
    const std::size_t begin = at;
    at = std::min(text.find_first_of(" \n", at), text.size());
    return text.substr(begin, at - begin);
  };
  node_scope s;
  if (accept(" in \"")) {
    std::string name;
    for (; at < text.size() && text[at] != '"'; ++at) {
      if (text[at] == '\\' && at + 1 < text.size())
        name += text[++at] == 'n' ? '\n' : text[at];
      else
        name += text[at];
    }
    accept("\"");
    s.name = g.names.read(0, name);
  } else if (accept(" in ")) {
    s.name = g.names.read(0, word());
  }
  if (accept(" using ")) s.decisions = g.decided.find_or_add(word());
  return s;
}

}  // namespace tokamax::detail
#endif
