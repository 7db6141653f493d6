// tokamax/transforms/debug_print.hpp: values printed while a program runs.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/transforms/callback.cpp
#pragma once

#include <tokamax/base/compiled_once.hpp>   // TOKAMAX_COMPILED_ONCE
#include <tokamax/core/print.hpp>           // to_string
#include <tokamax/transforms/callback.hpp>  // operands_of, call_one_by_one

#include <concepts>     // convertible_to
#include <cstdio>       // fwrite
#include <string>       // string
#include <string_view>  // string_view

namespace tokamax {

/// Where debug_print writes its lines; at first the standard output.
inline void (*debug_print_sink)(std::string_view line) = [](std::string_view line) {
  std::fwrite(line.data(), 1, line.size(), stdout);
};

/// The attributes of debug_print.
struct debug_print_attributes {
  text_attribute text = {};
};

namespace detail {
void run_debug_print(const kernel_arguments& a);
#if defined(TOKAMAX_COMPILED_ONCE)
TOKAMAX_COMPILED_ONCE void run_debug_print(const kernel_arguments& a) {
  const arrays in = operands_of(a);
  const auto said = a.attrs<debug_print_attributes>();
  std::string line;
  int next = 0;
  for (std::string_view rest = said.text.view(); !rest.empty();) {
    const bool braces = rest.starts_with("{}") && next < in.count();
    if (braces)
      line += to_string(in[next++]);
    else
      line += rest[0];
    rest.remove_prefix(braces ? 2 : 1);
  }
  line += '\n';
  debug_print_sink(line);
}
#endif
}  // namespace detail

inline constexpr op debug_print_p{
    .name = "debug_print",
    .effect = effect_kind::debug,
    .attributes = schema<debug_print_attributes>,
    .infer_all = [](const call&) -> types { return types(); },
    .vjp = [](const call& c) -> arrays { return arrays(static_cast<std::size_t>(c.count)); },
    .jvp = [](const call&) -> arrays { return arrays(); },
    .batch = [](const call& c) -> arrays { return detail::call_one_by_one(c); },
    .run = detail::run_debug_print,
};

/// The text of debug_print, and where it stands in the source.
struct print_format {
  std::string_view text;
  location where;
  template <class Text>
    requires std::convertible_to<const Text&, std::string_view>
  constexpr print_format(const Text& t, source_line l = source_line::current()) : text(t), where(l) {}
};

namespace detail {
/// The trace that a line belongs to: that of its operands, or the innermost one within it. A branch prints what was computed
/// outside of it, too, and only if it is taken. While compiling only operands tell.
constexpr graph* trace_of_line(const arrays& in) {
  handle owner;
  graph* const of_operands = trace_of(in.data(), in.count(), owner);
  if (std::is_constant_evaluated() || of_operands == nullptr) return of_operands;
  for (graph* around = current_context.trace; around != nullptr; around = around->parent)
    if (around == of_operands) return current_context.trace;
  return of_operands;
}
}  // namespace detail

/// Prints a line when the program runs, with the values of `args` in place of the braces `{}` in `line`. A line is printed
/// each time the program comes to it, in the program's order. Under vmap it is printed for each example; if examples take
/// different branches, all of them print both, and those that have left a loop print until all have left it. Derivatives
/// print where values are computed first, not where remat and loops compute them again. While compiling, one of the
/// arguments must belong to the trace; `jit` traces a program at run time in which a line has none; and in a
/// branch or loop one of them must be computed there.
///
/// errors  "debug_print: arguments" if there are not as many as braces
/// source  jax.debug.print(ordered=True); which prints twice under remat, and only what the rules print of a custom_vjp
template <class... Args>
constexpr void debug_print(const print_format& line, const Args&... args) {
  const std::string_view format = line.text;
  const arrays in{array(args)...};
  const words w = pack(debug_print_attributes{format});
  int braces = 0;
  for (std::size_t k = 0; k < format.size(); ++k) braces += format.substr(k, 2) == "{}";
  if (braces != in.count())
    reject(in.data(), in.count(), line.where, "debug_print: arguments", message() << in.count(), message() << braces);
  if (graph* const g = detail::trace_of_line(in); g != nullptr && !g->floating)
    detail::emit_op(*g, described<debug_print_p>(), in.data(), in.count(), w, line.where);
  else
    bind_all(described<debug_print_p>(), in.data(), in.count(), w, line.where);
}

}  // namespace tokamax
