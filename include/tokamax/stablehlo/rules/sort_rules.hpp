// tokamax/stablehlo/rules/sort_rules.hpp: the rule of sort: by keys where the comparator compares keys, else by a network.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (part of program)
// tested by tests/stablehlo/rules/rules.cpp
#pragma once

#include <tokamax/lax/sort.hpp>                // sort
#include <tokamax/numpy/take_along_axis.hpp>   // take_along_axis
#include <tokamax/stablehlo/rules/bodies.hpp>  // rule_call

#include <bit>   // bit_ceil
#include <span>  // span

namespace tokamax::stablehlo::detail {

/// What a comparator orders by: the operand with number `key`.
struct sort_key {
  int key = -1;
  bool descending = false;
};

/// Recognises comparators of keys: `a < b`, in total order of floats whose zeros and NaN were made equal, or of integers, and
/// `a < b or (a == b and ...)` of several keys.
class comparator {
 public:
  comparator(const region& r, const frame& around) : r_(r), around_(around) {
    for (const operation& o : r.operations)
      for (int id : o.results) made_by_.emplace_back(id, &o);
  }
  /// The keys, the most important one first; none for other comparators.
  std::vector<sort_key> keys() const {
    std::vector<sort_key> found;
    const operation& end = r_.operations.back();
    if (end.operands.size() != 1 || !read(end.operands[0], found)) found.clear();
    return found;
  }

 private:
  /// The operation that made a value; null for arguments.
  const operation* maker(int id) const {
    for (const auto& [made, o] : made_by_)
      if (made == id) return o;
    return nullptr;
  }
  /// The number of an argument; -1 for other values.
  int argument(int id) const {
    for (std::size_t k = 0; k < r_.arguments.size(); ++k)
      if (r_.arguments[k] == id) return static_cast<int>(k);
    return -1;
  }
  /// How a comparison compares.
  std::string direction(const operation& o) const {
    const attribute* const a = o.attributes.find("comparison_direction");
    return a ? a->text : "";
  }
  /// Is a value a constant for which something holds?
  bool is_constant(int id, bool (*holds)(double)) const {
    const operation* const o = maker(id);
    const value* v = nullptr;
    if (!o && argument(id) < 0) v = &around_[static_cast<std::size_t>(id)];  // bytecode has constants outside of bodies
    if (o && o->name.ends_with(".constant"))
      if (const attribute* const a = o->attributes.find("value")) v = &a->elements;
    return v && !v->is_complex() && v->re.is_concrete() && v->re.size() == 1 && holds(v->re.item<double>());
  }
  /// The argument of which a value is, with equal zeros and equal NaN; `canonical` says whether both were made so.
  int key_of(int id, bool& zeros, bool& nans) const {
    if (const int k = argument(id); k >= 0) return k;
    const operation* const o = maker(id);
    if (!o || o->name != "stablehlo.select" || o->operands.size() != 3) return -1;
    const operation* const p = maker(o->operands[0]);
    if (!p || p->name != "stablehlo.compare" || p->operands.size() != 2) return -1;
    const int k = key_of(o->operands[2], zeros, nans), of_test = argument(p->operands[0]);
    if (k < 0 || of_test != k) return -1;
    if (direction(*p) == "EQ" && is_constant(p->operands[1], [](double v) { return v == 0; }) &&
        is_constant(o->operands[1], [](double v) { return v == 0; }))
      return zeros = true, k;
    if (direction(*p) == "NE" && argument(p->operands[1]) == k &&
        is_constant(o->operands[1], [](double v) { return v != v; }))
      return nans = true, k;
    return -1;
  }
  /// Reads a comparison of the two arguments of one operand by < or > (or ==, if `equal`).
  bool read_key(const operation& o, bool equal, sort_key& found) const {
    if (o.name != "stablehlo.compare" || o.operands.size() != 2) return false;
    const std::string how = direction(o);
    if (equal ? how != "EQ" : how != "LT" && how != "GT") return false;
    bool zeros[2] = {}, nans[2] = {};
    const int a = key_of(o.operands[0], zeros[0], nans[0]), b = key_of(o.operands[1], zeros[1], nans[1]);
    if (a < 0 || b < 0 || a / 2 != b / 2 || a == b) return false;
    const dtype t = r_.types[static_cast<std::size_t>(a)].dtype;
    if (r_.types[static_cast<std::size_t>(a)].complex) return false;
    if (is_floating(t)) {
      const attribute* const type = o.attributes.find("compare_type");
      const bool total = type && type->text == "TOTALORDER";
      if (!total || !(zeros[0] && zeros[1] && nans[0] && nans[1])) return false;
    }
    found = {a / 2, (how == "GT") != (a > b)};
    return true;
  }
  /// Reads the keys from the most important one on.
  bool read(int id, std::vector<sort_key>& found) const {
    const operation* const o = maker(id);
    if (!o) return false;
    sort_key first;
    if (read_key(*o, false, first)) return found.push_back(first), true;
    if (o->name != "stablehlo.or" || o->operands.size() != 2) return false;
    const operation *const less = maker(o->operands[0]), *const rest = maker(o->operands[1]);
    if (!less || !rest || !read_key(*less, false, first) || rest->name != "stablehlo.and" || rest->operands.size() != 2)
      return false;
    sort_key same;
    const operation* const tie = maker(rest->operands[0]);
    if (!tie || !read_key(*tie, true, same) || same.key != first.key) return false;
    found.push_back(first);
    return read(rest->operands[1], found);
  }

  const region& r_;
  const frame& around_;
  std::vector<std::pair<int, const operation*>> made_by_;
};

/// Batcher's network of comparisons: any comparator, applied to all pairs of a step at once. Places that are told apart by
/// nothing else keep their order.
inline values sorted_by_network(const rule_call& c, int axis) {
  const std::int64_t n = c.at(0).re.extent(axis);
  shape s = c.at(0).re.shape();
  values x = c.in;
  x.push_back({iota(i32, s, axis), {}});  // where each element came from
  if (n < 2) return c.in;
  const auto size_of_network = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(n)));
  const array place = iota(i32, s, axis);
  for (std::int64_t p = 1; p < size_of_network; p *= 2)
    for (std::int64_t k = p; k >= 1; k /= 2) {
      // Which places are the lower ones of a pair at a distance of k, and which the upper ones.
      std::vector<std::int64_t> partner(static_cast<std::size_t>(n));
      for (std::int64_t i = 0; i < n; ++i) partner[static_cast<std::size_t>(i)] = i;
      for (std::int64_t j = k % p; j <= size_of_network - 1 - k; j += 2 * k)
        for (std::int64_t i = 0; i <= std::min(k - 1, size_of_network - j - k - 1); ++i)
          if ((i + j) / (2 * p) == (i + j + k) / (2 * p) && i + j + k < n) {
            partner[static_cast<std::size_t>(i + j)] = i + j + k;
            partner[static_cast<std::size_t>(i + j + k)] = i + j;
          }
      array with = array::uninitialized({i32, false, {n}});
      for (std::int64_t i = 0; i < n; ++i)
        with.mutable_data<std::int32_t>()[i] = static_cast<std::int32_t>(partner[static_cast<std::size_t>(i)]);
      const array to = broadcast_in_dim(with, s, {axis}), lower = place<to, upper = place> to;
      values other;
      for (const value& v : x)
        other.push_back(each_part([&](const array& a) { return take_along_axis(a, to, axis); }, v));
      const auto less = [&](const values& a, const values& b) {
        values in;
        for (int i = 0; i < c.count(); ++i) {
          in.push_back(a[static_cast<std::size_t>(i)]);
          in.push_back(b[static_cast<std::size_t>(i)]);
        }
        return run_on_elements(c, 0, in, 1)[0].re;
      };
      const array after = less(other, x), before = less(x, other);  // is the partner before this element, or behind it?
      const array tie = logical_not(logical_or(after, before)), earlier = other.back().re < x.back().re;
      const array partner_first = logical_or(after, logical_and(tie, earlier));
      const array moves = logical_or(logical_and(lower, partner_first), logical_and(upper, logical_not(partner_first)));
      for (std::size_t i = 0; i < x.size(); ++i)
        x[i] = {select(moves, other[i].re, x[i].re), x[i].is_complex() ? select(moves, other[i].im, x[i].im) : array()};
    }
  x.pop_back();
  return x;
}

/// Sorting by several keys is sorting by each of them, the least important one first, because equal keys keep their order.
inline values sorted(const rule_call& c) {
  if (c.count() == 0) refuse(c.op, "no operands", "one or more");
  const int rank = c.at(0).re.rank();
  std::int64_t axis = c.integer("dimension", -1);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) refuse(c.op, "dimension " + std::to_string(axis), "an axis");
  const auto along = static_cast<int>(axis);
  for (const value& v : c.in)
    if (v.re.shape() != c.at(0).re.shape()) refuse(c.op, "operands of several shapes", "one shape");
  if (c.body(0).operations.empty() || static_cast<int>(c.body(0).arguments.size()) != 2 * c.count())
    refuse(c.op, "a comparator of " + std::to_string(c.body(0).arguments.size()) + " values",
           std::to_string(2 * c.count()));
  const std::vector<sort_key> keys = comparator(c.body(0), c.around).keys();
  if (keys.empty() || c.lanes) return sorted_by_network(c, along);
  arrays x = flat(c.in);
  std::vector<int> first;  // the place of each operand among the arrays
  for (int k = 0, at = 0; k < c.count(); at += c.at(k).is_complex() ? 2 : 1, ++k) first.push_back(at);
  for (std::size_t k = keys.size(); k-- > 0;) {  // a stable sort by the last key first
    arrays in{x[first[static_cast<std::size_t>(keys[k].key)]]};
    for (const array& a : x) in.push_back(a);
    const arrays out = sort(in, along, keys[k].descending);
    for (int i = 0; i < x.count(); ++i) x[i] = out[i + 1];
  }
  return unflat(x, which_are_complex(c.in));
}

inline std::span<const rule_entry> sort_rules() {
  static constexpr rule_entry all[] = {{"stablehlo.sort", "sort by keys; else a network of the comparator", sorted}};
  return all;
}

}  // namespace tokamax::stablehlo::detail
