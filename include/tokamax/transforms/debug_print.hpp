// tokamax/transforms/debug_print.hpp: values printed while a program runs.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/transforms/callback.cpp
#pragma once

#include <tokamax/base/compiled_once.hpp>   // TOKAMAX_COMPILED_ONCE
#include <tokamax/core/print.hpp>           // to_string
#include <tokamax/transforms/callback.hpp>  // operands_of, call_one_by_one

#include <cstdio>       // fwrite
#include <string>       // string
#include <string_view>  // string_view

namespace tokamax {

/// Where debug_print writes its lines; at first the standard output.
inline void (*debug_print_sink)(std::string_view line) = [](std::string_view line) {
  std::fwrite(line.data(), 1, line.size(), stdout);
};

namespace detail {
void run_debug_print(const kernel_arguments& a);
#if defined(TOKAMAX_COMPILED_ONCE)
TOKAMAX_COMPILED_ONCE void run_debug_print(const kernel_arguments& a) {
  const arrays in = operands_of(a);
  std::string line;
  int next = 0;
  for (int k = 0; k < a.attribute_count; ++k) {
    const char c = static_cast<char>(a.attributes[k]);
    if (c == '{' && k + 1 < a.attribute_count && a.attributes[k + 1] == '}' && next < in.count()) {
      line += to_string(in[next++]);
      ++k;
    } else {
      line += c;
    }
  }
  line += '\n';
  debug_print_sink(line);
}
#endif
}  // namespace detail

inline constexpr op debug_print_p{
    .name = "debug_print",
    .effect = effect_kind::ordered,
    .infer_all = [](const call&) -> types { return types(); },
    .vjp = [](const call& c) -> arrays { return arrays(static_cast<std::size_t>(c.count)); },
    .jvp = [](const call&) -> arrays { return arrays(); },
    .batch = [](const call& c) -> arrays { return detail::call_one_by_one(c); },
    .run = detail::run_debug_print,
};

/// Prints a line when the program runs, with the values of `args` in place of the braces `{}` in `format`. Lines are
/// printed once and in the order of the program. Under vmap a line is printed for each example, and in derivatives it is
/// printed where the values are computed. While compiling, one of the arguments must belong to the trace, because the
/// line belongs to that program.
///
/// errors  "debug_print: arguments" if there are not as many as braces
/// source  jax.debug.print(ordered=True)
template <class... Args>
constexpr void debug_print(std::string_view format, const Args&... args) {
  const arrays in{array(args)...};
  words w;
  int braces = 0;
  for (std::size_t k = 0; k < format.size(); ++k) {
    braces += format.substr(k, 2) == "{}";
    w.push_back(format[k]);
  }
  if (braces != in.count())
    reject(in.data(), in.count(), {}, "debug_print: arguments", text() << in.count(), text() << braces);
  bind_all(debug_print_p, in.data(), in.count(), w, {});
}

}  // namespace tokamax
