// tokamax/text/jinja/sequence_filters.hpp: filters of lists, some of which take the names of other filters and of tests.
// SPDX-License-Identifier: Apache-2.0
// needs <utf8proc.h>
// umbrella: in the map only (the library of `tokamax::text` compiles it)
// tested by tests/text/chat_template.cpp
#pragma once

#include <tokamax/text/jinja/value_tests.hpp>  // apply_test

namespace tokamax::text::jinja {

value apply_filter(limits& run, const std::string& name, const value& v, const arguments& given);

namespace detail {

// A field by its name, or a path with dots, whose numbers are indices; what is not there is `otherwise`, if that is given.
inline value by_path(limits& run, const value& of, const value& path, const value* otherwise = nullptr) {
  if (!path.text()) return item(run, of, path);
  const std::string dot = ".";
  value result = of;
  for (const value& part : split(run, *path.text(), &dot, -1, false)) {
    const std::string& name = *part.text();
    const bool digits = !name.empty() && name.size() < 10 && name.find_first_not_of("0123456789") == std::string::npos;
    result = item(run, result, digits ? value(std::int64_t{std::stoi(name)}) : part);
    if (otherwise && result.is_undefined()) result = *otherwise;
  }
  return result;
}
// What a value is sorted by: itself or a field, texts in small letters unless their case counts.
inline value sort_key(limits& run, const value& v, const bound_arguments& a, std::size_t attribute, bool keeps_case) {
  const value key = a.has(attribute) && !a[attribute].is_none() ? by_path(run, v, a[attribute]) : v;
  if (keeps_case || !key.text()) return key;
  return run.text(in_case(run, *key.text(), letter_case::lower));
}
// Values that are alike keep their order.
inline void sort_by(limits& run, std::vector<std::pair<value, value>>& keyed, bool reverse) {
  const auto before = [&](const auto& x, const auto& y) {
    run.spend(1);
    return reverse ? less(run, y.first, x.first) : less(run, x.first, y.first);
  };
  std::stable_sort(keyed.begin(), keyed.end(), before);
}
inline value second_of(limits& run, std::vector<std::pair<value, value>> keyed) {
  std::vector<value> result;
  for (auto& [key, v] : keyed) result.push_back(std::move(v));
  return run.list(std::move(result));
}

// select, reject, selectattr, rejectattr and map take the name of a test or filter, and arguments for it.
inline value selected(limits& run, const std::string& name, const value& v, arguments given) {
  const bool by_field = name.ends_with("attr"), keep = name.starts_with("select");
  value field;
  const auto take_first = [&](const char* expected) {
    if (given.positional.empty()) run.refuse(name, "no argument", expected);
    value first = std::move(given.positional.front());
    given.positional.erase(given.positional.begin());
    return first;
  };
  if (by_field) field = take_first("the name of a field");
  std::string test;
  if (!given.positional.empty()) {
    const value n = take_first("a test");
    if (!n.text()) refuse_type(run, name, n, "the name of a test");
    test = *n.text();
  }
  std::vector<value> result;
  for (const value& one : truth(v) ? items_of(run, v) : std::vector<value>()) {
    const value asked = by_field ? by_path(run, one, field) : one;
    if ((test.empty() ? truth(asked) : apply_test(run, test, asked, given)) == keep) result.push_back(one);
  }
  return run.list(std::move(result), sequence::kind::generator);
}
// Fields of all items, or what a filter makes of each.
inline value mapped(limits& run, const value& v, arguments given) {
  std::vector<value> result;
  const std::vector<value> items = truth(v) ? items_of(run, v) : std::vector<value>();
  if (given.positional.empty()) {
    const bound_arguments a(run, "map", given, {"attribute", "default"});
    const value* otherwise = a.has(1) && !a[1].is_none() ? &a[1] : nullptr;
    for (const value& one : items) result.push_back(by_path(run, one, a[0], otherwise));
  } else {
    const value filter = given.positional.front();
    if (!filter.text()) refuse_type(run, "map", filter, "the name of a filter");
    given.positional.erase(given.positional.begin());
    for (const value& one : items) result.push_back(apply_filter(run, *filter.text(), one, given));
  }
  return run.list(std::move(result), sequence::kind::generator);
}

// A generator loses its first item by this, as Python's next() takes it.
inline value first_of(limits& run, const value& v) {
  if (const sequence* s = v.list(); s && s->is == sequence::kind::generator)
    return s->taken < s->items.size() ? s->items[s->taken++] : missing(v, "first item");
  const std::vector<value> items = items_of(run, v);
  return items.empty() ? missing(v, "first item") : items.front();
}
inline value last_of(limits& run, const value& v) {
  if (v.list() && v.list()->is == sequence::kind::generator) refuse_type(run, "last", v, "a list or a text");
  require_defined(run, v);
  const std::vector<value> items = items_of(run, v);
  return items.empty() ? missing(v, "last item") : items.back();
}
// The first of those that are alike.
inline value unique(limits& run, const value& v, const bound_arguments& a) {
  std::vector<value> result, keys;
  for (const value& one : items_of(run, v)) {
    value key = sort_key(run, one, a, 1, a.flag(0, false));
    if (std::any_of(keys.begin(), keys.end(), [&](const value& k) { return equal(run, k, key); })) continue;
    keys.push_back(std::move(key));
    result.push_back(one);
  }
  return run.list(std::move(result), sequence::kind::generator);
}
inline value sorted(limits& run, const value& v, const bound_arguments& a) {
  std::vector<std::pair<value, value>> keyed;
  for (const value& one : items_of(run, v)) keyed.emplace_back(sort_key(run, one, a, 2, a.flag(1, false)), one);
  sort_by(run, keyed, a.flag(0, false));
  return second_of(run, std::move(keyed));
}
// Pairs of a dict by their keys or values.
inline value sorted_dict(limits& run, const value& v, const bound_arguments& a) {
  if (!v.dict()) refuse_type(run, "dictsort", v, "a dict");
  const std::string by = a.has(1) ? a.text(1) : "key";
  if (by != "key" && by != "value") run.refuse("dictsort", by, "key or value", error_kind::argument);
  std::vector<std::pair<value, value>> keyed;
  const bound_arguments none_(run, "dictsort", {}, {"attribute"});
  for (const auto& [key, item] : v.dict()->items)
    keyed.emplace_back(sort_key(run, by == "key" ? key : item, none_, 0, a.flag(0, false)),
                       run.list({key, item}, sequence::kind::tuple));
  sort_by(run, keyed, a.flag(2, false));
  return second_of(run, std::move(keyed));
}
// The first of the least or greatest.
inline value extreme(limits& run, const value& v, const bound_arguments& a, bool greatest) {
  const std::vector<value> items = items_of(run, v);
  if (items.empty()) return missing(v, "item");
  const value* best = &items[0];
  value best_key = sort_key(run, items[0], a, 1, a.flag(0, false));
  for (const value& one : items) {
    value key = sort_key(run, one, a, 1, a.flag(0, false));
    if (greatest ? less(run, best_key, key) : less(run, key, best_key)) best = &one, best_key = std::move(key);
  }
  return *best;
}
inline value summed(limits& run, const value& v, const bound_arguments& a) {
  value sum = a.get(1, std::int64_t{0});
  for (const value& one : items_of(run, v))
    sum = arithmetic(run, "+", sum, a.has(0) && !a[0].is_none() ? by_path(run, one, a[0]) : one);
  return sum;
}
inline value reversed(limits& run, const value& v) {
  std::vector<value> items = items_of(run, v);
  std::reverse(items.begin(), items.end());
  if (v.text()) return joined(run, items, "");
  return run.list(std::move(items), sequence::kind::generator);
}
// Lists of `count` items, or `count` lists of as many items each as possible.
inline value grouped(limits& run, const value& v, const bound_arguments& a, bool batches) {
  const std::vector<value> items = items_of(run, v);
  const std::int64_t count = a.integer(0, 0);
  if (count <= 0) run.refuse("a filter", std::to_string(count) + " items", "a positive number", error_kind::argument);
  const auto n = static_cast<std::size_t>(count);
  if (!batches) run.spend(n);
  std::vector<value> result;
  for (std::size_t i = 0, at = 0; batches ? at < items.size() : i < n; ++i) {
    const std::size_t rest = items.size() % n;
    const std::size_t take = batches ? std::min(n, items.size() - at) : items.size() / n + (i < rest);
    std::vector<value> group(items.begin() + static_cast<std::ptrdiff_t>(at),
                             items.begin() + static_cast<std::ptrdiff_t>(at + take));
    at += take;
    if (a.has(1) && !a[1].is_none()) {
      if (batches) run.spend(n - take);
      if (batches) group.resize(n, a[1]);
      if (!batches && rest > 0 && i >= rest) group.push_back(a[1]);
    }
    result.push_back(run.list(std::move(group)));
  }
  return run.list(std::move(result), sequence::kind::generator);
}

}  // namespace detail

}  // namespace tokamax::text::jinja
