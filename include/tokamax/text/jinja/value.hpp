// tokamax/text/jinja/value.hpp: the values of templates, which are Python's.
// SPDX-License-Identifier: Apache-2.0
// umbrella: in the map only (the library of `tokamax::text` compiles it)
// tested by tests/text/chat_template.cpp
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

#include <algorithm>  // max
#include <cstdint>    // int64_t
#include <map>        // map
#include <memory>     // shared_ptr
#include <utility>    // pair
#include <variant>    // variant
#include <vector>     // vector

namespace tokamax::text::jinja {

struct value;
struct node;
struct scope;

/// What a name or a field that is not there gives, and why.
struct undefined {
  std::shared_ptr<const std::string> why;
};
struct none {};

/// Several values in order. Only lists, tuples and ranges have places; a generator gives each value once.
struct sequence {
  enum class kind { list, tuple, range, view, generator };
  kind is = kind::list;
  std::vector<value> items;
  unsigned depth = 1;             ///< one more than that of the deepest item
  mutable std::size_t taken = 0;  ///< what a generator gave
};

/// Keys and values, in the order in which they were put in.
struct dictionary {
  std::vector<std::pair<value, value>> items;
  unsigned depth = 1;
};

/// The one value whose fields a template may set. The run owns it, so that it may hold itself.
struct name_space {
  std::map<std::string, value> fields;
};

/// A loop that runs.
struct loop_state {
  std::shared_ptr<const sequence> items;
  std::size_t at = 0;
  std::vector<value> last;  ///< what loop.changed saw
};

struct callable;

struct value {
  using text_pointer = std::shared_ptr<const std::string>;
  std::variant<undefined, none, bool, std::int64_t, double, text_pointer, std::shared_ptr<const sequence>,
               std::shared_ptr<const dictionary>, name_space*, std::shared_ptr<loop_state>,
               std::shared_ptr<const callable>>
      is;

  bool safe = false;  ///< a text that is HTML: what is joined to it by + is escaped

  value() = default;
  value(none n) : is(n) {}
  value(undefined u) : is(std::move(u)) {}
  value(bool b) : is(b) {}
  value(std::int64_t i) : is(i) {}
  value(double d) : is(d) {}
  value(std::string s) : is(std::make_shared<const std::string>(std::move(s))) {}
  value(std::string_view s) : value(std::string(s)) {}
  value(const char* s) : value(std::string(s)) {}
  value(name_space* n) : is(n) {}
  value(std::shared_ptr<loop_state> l) : is(std::move(l)) {}
  value(callable c);
  /// A value of others; `refuse_depth()` is called if they are too deep.
  template <class F>
  static value of(sequence s, F refuse_depth);
  template <class F>
  static value of(dictionary d, F refuse_depth);

  bool is_undefined() const { return std::holds_alternative<undefined>(is); }
  bool is_none() const { return std::holds_alternative<none>(is); }
  const bool* flag() const { return std::get_if<bool>(&is); }
  const std::string* text() const {
    const text_pointer* p = std::get_if<text_pointer>(&is);
    return p ? p->get() : nullptr;
  }
  const sequence* list() const {
    const auto* p = std::get_if<std::shared_ptr<const sequence>>(&is);
    return p ? p->get() : nullptr;
  }
  /// A list that has places.
  const sequence* places() const {
    const sequence* s = list();
    return s && s->is <= sequence::kind::range ? s : nullptr;
  }
  const dictionary* dict() const {
    const auto* p = std::get_if<std::shared_ptr<const dictionary>>(&is);
    return p ? p->get() : nullptr;
  }
  const callable* function() const {
    const auto* p = std::get_if<std::shared_ptr<const callable>>(&is);
    return p ? p->get() : nullptr;
  }
  /// An integer, also of a flag.
  const std::int64_t* integer() const { return std::get_if<std::int64_t>(&is); }
  const double* real() const { return std::get_if<double>(&is); }
  unsigned depth() const;
};

/// A function by its name, a method of a value, a macro, or the body of a call block.
struct callable {
  enum class kind { function, method, macro };
  kind is = kind::function;
  std::string name;
  value self{};                   ///< of a method
  const node* body = nullptr;     ///< of a macro
  std::weak_ptr<scope> around{};  ///< where a macro is defined
};

/// Arguments of a call.
struct arguments {
  std::vector<value> positional;
  std::vector<std::pair<std::string, value>> named;
};

inline constexpr unsigned deepest_value = 100;

inline value::value(callable c) : is(std::make_shared<const callable>(std::move(c))) {}

inline unsigned value::depth() const {
  if (const sequence* s = list()) return s->depth;
  if (const dictionary* d = dict()) return d->depth;
  if (const callable* c = function()) return c->self.depth() + 1;
  if (const auto* l = std::get_if<std::shared_ptr<loop_state>>(&is)) return (*l)->items->depth + 1;
  return 0;
}

template <class F>
value value::of(sequence s, F refuse_depth) {
  for (const value& v : s.items) s.depth = std::max(s.depth, v.depth() + 1);
  if (s.depth > deepest_value) refuse_depth();
  value result;
  result.is = std::make_shared<const sequence>(std::move(s));
  return result;
}
template <class F>
value value::of(dictionary d, F refuse_depth) {
  for (const auto& [k, v] : d.items) d.depth = std::max({d.depth, v.depth() + 1, k.depth() + 1});
  if (d.depth > deepest_value) refuse_depth();
  value result;
  result.is = std::make_shared<const dictionary>(std::move(d));
  return result;
}

}  // namespace tokamax::text::jinja
