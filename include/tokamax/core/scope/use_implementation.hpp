// tokamax/core/scope/use_implementation.hpp: names the implementation of an op for a part of a program.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/runtime/choice.cpp
#pragma once

#include <tokamax/core/trace.hpp>  // trace_of

#include <initializer_list>  // initializer_list

namespace tokamax {

/// Names of implementations in the order in which they are tried: `"compose"`, or `{"onednn", "kernel"}`. No name leaves the
/// choice to the library. The characters must outlive the object, as those of literals do.
struct implementation_names {
  static constexpr int most = 4;
  std::string_view names[most] = {};
  int count = 0;  ///< may be above `most`, which use_implementation refuses

  constexpr implementation_names() = default;
  constexpr implementation_names(const char* one) : implementation_names(std::string_view(one)) {}  // NOLINT: a name
  constexpr implementation_names(std::string_view one) : names{one}, count(1) {}                    // NOLINT: a name
  constexpr implementation_names(std::initializer_list<std::string_view> list) {
    for (const std::string_view name : list) {
      if (count < most) names[count] = name;
      ++count;
    }
  }
  constexpr bool empty() const { return count == 0; }
  /// Is this one of the names, or is there none?
  constexpr bool allows(std::string_view name) const {
    for (int i = 0; i < count && i < most; ++i)
      if (names[i] == name) return true;
    return empty();
  }
};

namespace detail {
constexpr bool is_word(std::string_view name) {
  for (const char c : name)
    if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_')) return false;
  return !name.empty();
}
}  // namespace detail

/// Names the implementation of an op, and of its gradient, for the nodes that are traced during the lifetime of this object
/// and for eager calls:
///
///   const use_implementation plain("attention", "compose", x);         // the op, what it should use, an array of the trace
///   const use_implementation one("dot_general", {"onednn", "kernel"}); // the first that can compute a call
///
/// Every op with a kernel has the implementation `kernel`, which is what runs if nothing else is chosen, and an op with a
/// `compose` rule has `compose`, which runs the smaller ops. A device may have more. The innermost object wins, and what it
/// names goes before all that was measured (see autotuning_scope). Equal nodes are still made once, by the implementation that
/// the first one names.
///
/// errors  "implementation: name" for what is not a word of a to z, 0 to 9 and _, or for too many names. When the program runs
///         for the first time: "NAME: implementation", with all reasons, if none of them can compute the call
/// source  the argument `implementation` of tokamax's functions
class use_implementation {
 public:
  template <class... Trees>
  constexpr use_implementation(std::string_view op, const implementation_names& names, const Trees&... arrays)
      : graph_(names.empty() ? nullptr : trace_of(arrays...)) {
    if (names.empty()) return;
    const vec<char> asked = written(graph_, op, names);
    const std::string_view text(asked.data(), asked.size());
    if (graph_ && graph_->floating && !graph_->open) graph_ = nullptr;  // constants have no implementations
    if (graph_) {
      before_ = graph_->scope.decisions;
      graph_->scope.decisions = graph_->decided.join(text, graph_->decided.implementations(before_));
    } else if (!std::is_constant_evaluated()) {
      eager_ = asked;
      eager_before_ = std::exchange(current_context.implementations, &eager_);
      if (!eager_before_) return;
      eager_.push_back(';');
      for (const char c : *eager_before_) eager_.push_back(c);
    }
  }
  constexpr ~use_implementation() {
    if (graph_) graph_->scope.decisions = before_;
    if (!eager_.empty()) current_context.implementations = eager_before_;
  }
  use_implementation(const use_implementation&) = delete;

 private:
  static constexpr vec<char> written(graph* g, std::string_view op, const implementation_names& list) {
    vec<char> text(op.data(), op.size());
    bool fits = detail::is_word(op);
    for (int i = 0; i < list.count && i < implementation_names::most; ++i) {
      fits = fits && detail::is_word(list.names[i]);
      text.push_back(i == 0 ? '=' : '|');
      for (const char c : list.names[i]) text.push_back(c);
    }
    if (!fits || list.count > implementation_names::most)
      reject(g, {}, "implementation: name", std::string_view(text.data(), text.size()),
             "up to 4 words of a to z, 0 to 9 and _");
    return text;
  }

  graph* graph_;
  int before_ = 0;
  vec<char> eager_{};  // for eager ops: what is asked here, and around
  const vec<char>* eager_before_ = nullptr;
};

}  // namespace tokamax
