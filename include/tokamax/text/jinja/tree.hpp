// tokamax/text/jinja/tree.hpp: a template after it is read: texts, statements and expressions within each other.
// SPDX-License-Identifier: Apache-2.0
// umbrella: in the map only (the library of `tokamax::text` compiles it)
// tested by tests/text/chat_template.cpp
#pragma once

#include <tokamax/text/jinja/value.hpp>  // value

namespace tokamax::text::jinja {

/// A part of a template. What `parts` holds stands behind each kind.
struct node {
  enum class kind {
    nothing,       // what may be left out and is
    sequence,      // statements
    data,          // constant: a text
    print,         // an expression
    branch,        // conditions and bodies in turn, and a last body if there is else
    loop,          // a target, items, a condition or nothing, a body, and what runs if there is no item
    assign,        // a target, an expression
    capture,       // a target, a body, a chain of filters around `captured` or nothing
    macro,         // name; its signature, a body
    call_block,    // a call, a signature, a body
    filter_block,  // a chain of filters around `captured`, a body
    with,          // targets and expressions in turn, a body
    generation,    // a body
    break_loop,
    continue_loop,
    constant,            // a value
    name,                // name
    field_of_namespace,  // name, field: a target
    list,
    tuple,
    dictionary,  // keys and values in turn
    captured,    // the text of a block
    unary,       // name: - + not; an expression
    binary,      // name: and, or, + - * / // % **; two expressions
    concat,      // texts of expressions
    compare,     // an expression, and then `comparison`s
    comparison,  // name: == != < <= > >= in, not in; an expression
    choice,      // a condition, an expression, and another one or nothing
    attribute,   // name; an expression
    item,        // an expression, an index
    slice,       // an expression, and three or nothing: begin, end, step
    filter,      // name; an expression, and arguments
    test,        // name; an expression, and arguments
    call,        // an expression, and arguments
    named,       // name: an argument; an expression
    spread,      // all items as arguments
    spread_named,
    signature,  // parameters
    parameter,  // name; what it is otherwise, or nothing
  };
  kind is = kind::nothing;
  std::uint32_t line = 0;
  std::string name{}, field{};
  value constant{};
  std::vector<node> parts{};
  unsigned height = 0;                                                  ///< of what is within it
  bool uses_varargs = false, uses_kwargs = false, uses_caller = false;  ///< of a macro's body
};

}  // namespace tokamax::text::jinja
