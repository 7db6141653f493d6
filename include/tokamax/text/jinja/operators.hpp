// tokamax/text/jinja/operators.hpp: what Python's operators make of values.
// SPDX-License-Identifier: Apache-2.0
// umbrella: in the map only (the library of `tokamax::text` compiles it)
// tested by tests/text/chat_template.cpp
#pragma once

#include <tokamax/text/jinja/limits.hpp>  // limits
#include <tokamax/text/utf8.hpp>          // decode_utf8, for_each_code

#include <algorithm>  // all_of, any_of, equal, max, min
#include <cmath>      // pow
#include <optional>   // optional

namespace tokamax::text::jinja {

/// The name of a value's type.
inline std::string type_name(const value& v) {
  constexpr const char* names[] = {"undefined", "None", "bool",      "int",  "float",   "str",
                                   "",          "dict", "Namespace", "loop", "function"};
  if (const sequence* s = v.list()) {
    constexpr const char* kinds[] = {"list", "tuple", "range", "view of a dict", "generator"};
    return kinds[static_cast<int>(s->is)];
  }
  return names[v.is.index()];
}

/// Says that a value that is not defined is used.
inline void require_defined(limits& run, const value& v) {
  if (const undefined* u = std::get_if<undefined>(&v.is))
    run.refuse("a value", u->why ? *u->why : "nothing", "a value that is defined", error_kind::argument);
}
[[noreturn]] inline void refuse_type(limits& run, const std::string& what, const value& v,
                                     const std::string& expected) {
  require_defined(run, v);
  run.refuse(what, "a value of type " + type_name(v), expected, error_kind::argument);
}

/// Flags and integers as an integer.
inline std::optional<std::int64_t> as_integer(const value& v) {
  if (const bool* b = v.flag()) return *b;
  if (const std::int64_t* i = v.integer()) return *i;
  return std::nullopt;
}
/// Any number.
inline std::optional<double> as_real(const value& v) {
  if (const double* d = v.real()) return *d;
  if (const auto i = as_integer(v)) return static_cast<double>(*i);
  return std::nullopt;
}

/// Is it true as a condition? Empty things, zero and none are not; a generator always is.
inline bool truth(const value& v) {
  if (v.is_undefined() || v.is_none()) return false;
  if (const auto d = as_real(v)) return *d != 0;
  if (const std::string* s = v.text()) return !s->empty();
  if (const sequence* l = v.list()) return l->is == sequence::kind::generator || !l->items.empty();
  if (const dictionary* d = v.dict()) return !d->items.empty();
  return true;
}

inline bool equal(limits& run, const value& a, const value& b);

/// The value of a key, or null.
inline const value* find(limits& run, const dictionary& d, const value& key) {
  for (const auto& [k, v] : d.items)
    if (equal(run, k, key)) return &v;
  return nullptr;
}
/// The same for a text.
inline const value* find(const dictionary& d, std::string_view key) {
  for (const auto& [k, v] : d.items)
    if (k.text() && *k.text() == key) return &v;
  return nullptr;
}

/// Numbers are equal by value, lists, tuples and dicts by their items, and namespaces and functions if they are the same one.
inline bool equal(limits& run, const value& a, const value& b) {
  run.spend(1);
  if (const auto x = as_integer(a), y = as_integer(b); x && y) return *x == *y;
  if (const auto x = as_real(a), y = as_real(b); x && y) return *x == *y;
  if (a.is.index() != b.is.index()) return false;
  const auto same = [&](const value& x, const value& y) { return equal(run, x, y); };
  if (const std::string* s = a.text()) return *s == *b.text();
  if (const sequence* l = a.list()) {
    const sequence* m = b.list();
    return l == m || (l->is == m->is && l->is <= sequence::kind::range &&
                      std::equal(l->items.begin(), l->items.end(), m->items.begin(), m->items.end(), same));
  }
  if (const dictionary* d = a.dict())
    return d->items.size() == b.dict()->items.size() &&
           std::all_of(d->items.begin(), d->items.end(), [&](const auto& item) {
             const value* other = find(run, *b.dict(), item.first);
             return other && same(item.second, *other);
           });
  if (std::holds_alternative<name_space*>(a.is)) return std::get<name_space*>(a.is) == std::get<name_space*>(b.is);
  if (const callable* f = a.function()) return f == b.function();
  return true;
}

/// Is a < b?
inline bool less(limits& run, const value& a, const value& b) {
  if (const auto x = as_integer(a), y = as_integer(b); x && y) return *x < *y;
  if (const auto x = as_real(a), y = as_real(b); x && y) return *x < *y;
  if (a.text() && b.text()) return *a.text() < *b.text();
  const sequence *l = a.places(), *m = b.places();
  if (!l || !m || l->is != m->is || l->is == sequence::kind::range) {
    require_defined(run, a), require_defined(run, b);
    run.refuse("<", type_name(a) + " and " + type_name(b), "two numbers, texts or lists", error_kind::argument);
  }
  for (std::size_t i = 0; i < std::min(l->items.size(), m->items.size()); ++i) {
    run.spend(1);
    if (!equal(run, l->items[i], m->items[i])) return less(run, l->items[i], m->items[i]);
  }
  return l->items.size() < m->items.size();
}

/// A text as HTML; one that is HTML stays as it is.
inline std::string escaped(const value& v) {
  if (v.safe) return *v.text();
  std::string result;
  for (const char c : *v.text()) {
    constexpr std::string_view plain = "&<>'\"";
    constexpr const char* with[] = {"&amp;", "&lt;", "&gt;", "&#39;", "&#34;"};
    const std::size_t at = plain.find(c);
    at == std::string_view::npos ? void(result += c) : void(result += with[at]);
  }
  return result;
}
/// The same value as HTML.
inline value as_safe(value v, bool safe = true) {
  v.safe = safe;
  return v;
}

namespace detail {
// Integers have 64 bits, where Python's have no end: one that does not fit is refused.
inline value arithmetic_of_integers(limits& run, const std::string& op, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  bool fits = true;
  if (op == "+") fits = !__builtin_add_overflow(a, b, &result);
  if (op == "-") fits = !__builtin_sub_overflow(a, b, &result);
  if (op == "*") fits = !__builtin_mul_overflow(a, b, &result);
  if (op == "//" || op == "%") {  // towards minus infinity
    if (b == 0) run.refuse(op, "a division by 0", "another number", error_kind::argument);
    fits = b != -1 || a != INT64_MIN;
    const std::int64_t quotient = fits ? a / b : 0, rest = fits ? a % b : 0;
    const bool down = rest != 0 && (rest < 0) != (b < 0);
    result = op == "%" ? rest + (down ? b : 0) : quotient - down;
  }
  if (op == "**") {
    const std::int64_t times =
        a >= -1 && a <= 1 && b > 2 ? 2 + b % 2 : b;  // more change nothing, or there are too many
    result = 1;
    for (std::int64_t i = 0; i < times && fits; ++i) fits = !__builtin_mul_overflow(result, a, &result);
  }
  if (!fits) run.refuse(op, "a greater number", "integers of 64 bits", error_kind::resource);
  return result;
}
// A text or list several times.
inline value repeated(limits& run, const value& v, std::int64_t count) {
  const auto times = static_cast<std::size_t>(std::max<std::int64_t>(count, 0));
  const std::size_t size = v.text() ? v.text()->size() : v.list()->items.size();
  if (size > 0) {
    if (times > limits::most_bytes / size) run.spend_bytes(limits::most_bytes + 1);
    run.spend(v.text() ? times : times * size);
  }
  if (const std::string* s = v.text()) {
    std::string result;
    if (size > 0)
      for (std::size_t i = 0; i < times; ++i) result += *s;
    return run.text(std::move(result));
  }
  std::vector<value> items;
  if (size > 0)
    for (std::size_t i = 0; i < times; ++i) items.insert(items.end(), v.list()->items.begin(), v.list()->items.end());
  return run.list(std::move(items), v.list()->is);
}
}  // namespace detail

/// a op b for +, -, *, /, //, % and **.
inline value arithmetic(limits& run, const std::string& op, const value& a, const value& b) {
  require_defined(run, a), require_defined(run, b);
  const auto i = as_integer(a), j = as_integer(b);
  if (i && j && op != "/" && !(op == "**" && *j < 0)) return detail::arithmetic_of_integers(run, op, *i, *j);
  if (const auto x = as_real(a), y = as_real(b); x && y) {
    if (op == "+") return *x + *y;
    if (op == "-") return *x - *y;
    if (op == "*") return *x * *y;
    if (op != "**" && *y == 0) run.refuse(op, "a division by 0", "another number", error_kind::argument);
    if (op == "/") return *x / *y;
    if (op == "//") return std::floor(*x / *y);
    if (op == "%") return *x - *y * std::floor(*x / *y);
    if (*x == 0 && *y < 0) run.refuse(op, "a division by 0", "another number", error_kind::argument);
    return std::pow(*x, *y);
  }
  const auto is_plain = [](const value& v) { return v.text() || (v.list() && v.list()->is <= sequence::kind::tuple); };
  if (op == "+" && a.text() && b.text()) {
    const bool safe = a.safe || b.safe;
    return as_safe(run.text(safe ? escaped(a) + escaped(b) : *a.text() + *b.text()), safe);
  }
  if (op == "+" && a.list() && b.list() && is_plain(a) && a.list()->is == b.list()->is) {
    std::vector<value> items = a.list()->items;
    items.insert(items.end(), b.list()->items.begin(), b.list()->items.end());
    return run.list(std::move(items), a.list()->is);
  }
  if (op == "*" && is_plain(a) && j) return as_safe(detail::repeated(run, a, *j), a.safe);
  if (op == "*" && is_plain(b) && i) return as_safe(detail::repeated(run, b, *i), b.safe);
  run.refuse(op, type_name(a) + " and " + type_name(b), "numbers, or two texts or lists to be joined",
             error_kind::argument);
}

/// The values that a loop goes over: items, characters or keys.
inline std::vector<value> items_of(limits& run, const value& v) {
  if (v.is_undefined()) return {};
  std::vector<value> result;
  if (const sequence* s = v.list()) {
    run.spend(s->items.size());
    const std::size_t from = s->is == sequence::kind::generator ? std::exchange(s->taken, s->items.size()) : 0;
    return {s->items.begin() + static_cast<std::ptrdiff_t>(from), s->items.end()};
  }
  if (const dictionary* d = v.dict()) {
    run.spend(d->items.size());
    for (const auto& [key, unused] : d->items) result.push_back(key);
    return result;
  }
  const std::string* s = v.text();
  if (!s) refuse_type(run, "a loop", v, "a list, a dict or a text");
  run.spend(s->size());
  for_each_code(*s, [&](char32_t, std::size_t at) {
    result.push_back(value(std::string_view(*s).substr(at, decode_utf8(*s, at).length)));
  });
  return result;
}

/// Is `item` in `where`?
inline bool contains(limits& run, const value& where, const value& item) {
  if (const std::string* s = where.text()) {
    if (!item.text()) refuse_type(run, "in a text", item, "a text");
    run.spend_bytes(s->size());
    return s->find(*item.text()) != std::string::npos;
  }
  if (const dictionary* d = where.dict()) {
    run.spend(d->items.size());
    return find(run, *d, item) != nullptr;
  }
  if (!where.list() && !where.is_undefined()) refuse_type(run, "in", where, "a list, a dict or a text");
  const std::vector<value> items = items_of(run, where);
  return std::any_of(items.begin(), items.end(), [&](const value& v) { return equal(run, v, item); });
}

/// The number of items or characters.
inline std::size_t length(limits& run, const value& v) {
  if (v.is_undefined()) return 0;
  if (const dictionary* d = v.dict()) return d->items.size();
  if (const sequence* s = v.list(); s && s->is != sequence::kind::generator) return s->items.size();
  if (const auto* l = std::get_if<std::shared_ptr<loop_state>>(&v.is)) return (*l)->items->items.size();
  const std::string* s = v.text();
  if (!s) refuse_type(run, "length", v, "a list, a dict or a text");
  run.spend_bytes(s->size());
  return static_cast<std::size_t>(std::count_if(s->begin(), s->end(), [](char c) { return !continues_code_point(c); }));
}

}  // namespace tokamax::text::jinja
