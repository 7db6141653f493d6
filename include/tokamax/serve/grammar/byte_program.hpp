// tokamax/serve/grammar/byte_program.hpp: a grammar as nodes that read bytes, call rules and return from them.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/serve/grammar/grammar.cpp
#pragma once

#include <tokamax/base/error.hpp>                 // error
#include <tokamax/serve/grammar/expression.hpp>   // grammar_rules
#include <tokamax/serve/grammar/utf8_ranges.hpp>  // for_utf8_ranges

#include <cstdint>  // int32_t

namespace tokamax::serve {

/// What stands at a node. `range` reads a byte from `low` to `high`; `fork` goes on at both nodes; `call` goes through the rule that
/// begins at `other`, and then on; `back` ends a rule. A node -1 is none.
struct byte_node {
  enum class kind : std::uint8_t { range, fork, call, back };
  kind what;
  std::uint8_t low = 0, high = 0;
  std::int32_t next = -1, other = -1;
};

/// The nodes of a grammar's rules.
class byte_program {
 public:
  static constexpr std::size_t most_nodes = std::size_t{1} << 19, most_rules = 10'000;

  /// errors  "grammar: states" of the kind `resource` for more nodes than that; "grammar: rule" if a rule begins with itself
  explicit byte_program(const grammar_rules& g) : starts_(g.rules.size()) {
    if (g.rules.size() > most_rules)
      throw error(error_kind::resource, "grammar: rules", std::to_string(g.rules.size()),
                  "at most " + std::to_string(most_rules));
    require_first_bytes(g);
    for (std::size_t i = 0; i < g.rules.size(); ++i) starts_[i] = put({byte_node::kind::fork});
    for (std::size_t i = 0; i < g.rules.size(); ++i) {
      const std::int32_t end = put({byte_node::kind::back});
      nodes_[index(starts_[i])].next = compile(g.rules[i], end);
    }
  }
  const byte_node& operator[](std::int32_t i) const { return nodes_[index(i)]; }
  std::size_t size() const { return nodes_.size(); }
  std::int32_t start() const { return starts_.front(); }

 private:
  static std::size_t index(std::int32_t i) { return static_cast<std::size_t>(i); }
  // Nodes are made from the end of a text to its beginning.
  std::int32_t put(byte_node n) {
    if (nodes_.size() >= most_nodes) refuse();
    nodes_.push_back(n);
    return static_cast<std::int32_t>(nodes_.size()) - 1;
  }
  std::int32_t fork(std::int32_t a, std::int32_t b) {
    return a == -1 ? b : put({.what = byte_node::kind::fork, .next = a, .other = b});
  }
  std::int32_t range(char low, char high, std::int32_t next) {
    return put({byte_node::kind::range, static_cast<std::uint8_t>(low), static_cast<std::uint8_t>(high), next});
  }

  [[noreturn]] static void refuse() {
    throw error(error_kind::resource, "grammar: states", "more", "at most " + std::to_string(most_nodes));
  }

  // The node where e begins, behind which `next` follows.
  std::int32_t compile(const expression& e, std::int32_t next) {
    using kind = expression::kind;
    if (++parts_ > 4 * most_nodes) refuse();  // parts may be many and have no nodes
    switch (e.what) {
      case kind::literal:
        for (auto c = e.text.rbegin(); c != e.text.rend(); ++c) next = range(*c, *c, next);
        return next;
      case kind::codes:
        return compile_codes(e, next);
      case kind::sequence:
        for (auto p = e.parts.rbegin(); p != e.parts.rend(); ++p) next = compile(*p, next);
        return next;
      case kind::choice: {
        std::int32_t all = -1;
        for (auto p = e.parts.rbegin(); p != e.parts.rend(); ++p) all = fork(compile(*p, next), all);
        return all == -1 ? put({byte_node::kind::fork}) : all;  // a fork without nodes reads nothing and leads nowhere
      }
      case kind::repeat:
        return compile_repeat(e, next);
      case kind::rule:
        return put({.what = byte_node::kind::call, .next = next, .other = starts_[index(e.rule)]});
    }
    return next;
  }
  // Optional parts behind those that must be there; without a limit, a loop.
  std::int32_t compile_repeat(const expression& e, std::int32_t next) {
    std::int32_t at = next;
    if (e.most == expression::no_limit) {
      at = put({.what = byte_node::kind::fork, .other = next});
      const std::int32_t body = compile(e.parts[0], at);
      nodes_[index(at)].next = body;
    } else {
      for (int i = e.least; i < e.most; ++i) at = fork(compile(e.parts[0], at), next);
    }
    for (int i = 0; i < e.least; ++i) at = compile(e.parts[0], at);
    return at;
  }
  // Parts of a set that end with the same bytes share their nodes.
  std::int32_t compile_codes(const expression& e, std::int32_t next) {
    struct tail {
      std::string lows, highs;
      std::int32_t node;
    };
    std::vector<tail> tails;
    std::int32_t all = -1;
    const auto add = [&](const std::string& lows, const std::string& highs) {
      std::int32_t at = next;
      for (std::size_t i = lows.size(); i-- > 1;) {
        const std::string low = lows.substr(i), high = highs.substr(i);
        const auto known =
            std::find_if(tails.begin(), tails.end(), [&](const tail& t) { return t.lows == low && t.highs == high; });
        if (known != tails.end()) {
          at = known->node;
        } else {
          at = range(low[0], high[0], at);
          tails.push_back({low, high, at});
        }
      }
      all = fork(range(lows[0], highs[0], at), all);
    };
    for (const code_range& r : e.ranges) for_utf8_ranges(r.first, r.last, add);
    return all == -1 ? put({byte_node::kind::fork}) : all;
  }

  // Refuses a rule that calls itself before it has read a byte, since that has no end.
  static void require_first_bytes(const grammar_rules& g) {
    std::vector<std::uint8_t> empty(g.rules.size());
    std::vector<std::vector<std::size_t>> first(g.rules.size());  // the rules that each one may call first
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t r = g.rules.size(); r-- > 0;) {
        first[r].clear();
        if (first_of(g.rules[r], empty, first[r]) && !empty[r]) empty[r] = changed = true;
      }
    }
    enum : std::uint8_t { fresh, open, closed };
    std::vector<std::uint8_t> state(g.rules.size(), fresh);
    for (std::size_t rule = 0; rule < g.rules.size(); ++rule) {
      if (state[rule] != fresh) continue;
      std::vector<std::pair<std::size_t, std::size_t>> path{
          {rule, 0}};  // rules that are open, and the next call of each
      state[rule] = open;
      while (!path.empty()) {
        auto& [r, next] = path.back();
        if (next == first[r].size()) {
          state[r] = closed;
          path.pop_back();
          continue;
        }
        const std::size_t called = first[r][next++];
        if (state[called] == open)
          throw error("grammar: rule", "'" + g.names[called] + "' at its own beginning",
                      "a byte before it is used again");
        if (state[called] == fresh) state[called] = open, path.emplace_back(called, 0);
      }
    }
  }
  // May e be the empty text? The rules that it may call first are added to `calls`.
  static bool first_of(const expression& e, const std::vector<std::uint8_t>& empty, std::vector<std::size_t>& calls) {
    using kind = expression::kind;
    switch (e.what) {
      case kind::literal:
        return e.text.empty();
      case kind::codes:
        return false;
      case kind::sequence:
        for (const expression& p : e.parts)
          if (!first_of(p, empty, calls)) return false;
        return true;
      case kind::choice: {
        bool any = false;
        for (const expression& p : e.parts) any |= first_of(p, empty, calls);
        return any;
      }
      case kind::repeat:
        return first_of(e.parts[0], empty, calls) || e.least == 0;
      case kind::rule:
        calls.push_back(index(e.rule));
        return empty[index(e.rule)] != 0;
    }
    return true;
  }

  std::size_t parts_ = 0;
  std::vector<byte_node> nodes_;
  std::vector<std::int32_t> starts_;
};

}  // namespace tokamax::serve
