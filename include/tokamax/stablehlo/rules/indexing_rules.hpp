// tokamax/stablehlo/rules/indexing_rules.hpp: rules of gather and scatter with any dimension numbers and any body.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (part of program)
// tested by tests/stablehlo/rules/rules.cpp
#pragma once

#include <tokamax/lax/indexing/scatter.hpp>           // gather, scatter, scatter_add
#include <tokamax/lax/indexing/search_sorted.hpp>     // search_sorted
#include <tokamax/lax/indexing/slice.hpp>             // slice
#include <tokamax/lax/shapes/concatenate.hpp>         // concatenate
#include <tokamax/lax/sort.hpp>                       // argsort
#include <tokamax/stablehlo/rules/bodies.hpp>         // combiner_of
#include <tokamax/stablehlo/rules/control_rules.hpp>  // in_this_trace

#include <span>  // span

namespace tokamax::stablehlo::detail {

/// What the dimension numbers of gather and scatter say. The operand's axes that indices name come first and are joined to rows; a
/// window of several rows is many rows. The other axes of the operand are the elements of a row.
struct row_numbers {
  axes indexed, rest;     ///< axes of the operand
  axes batch;             ///< axes of the operand that are axes of the indices
  axes batch_of_indices;  ///< those axes
  axes collapsed;         ///< axes of the operand that windows have not
  axes offset;            ///< axes of the result or of the updates that are axes of windows
  axes named;             ///< for each component of an index the axis of the operand
  int vector = 0;         ///< the axis of the indices that holds the components
  shape window;           ///< extents of a window along each axis of the operand
};

/// A list of axes that an attribute holds.
inline axes list_of(const rule_call& c, std::string_view name) {
  axes a;
  for (std::int64_t v : c.integers(name)) a.push_back(v);
  return a;
}
/// The axes of the operand in their order: those with an index or a batch, then the others.
inline void split_axes(const rule_call& c, row_numbers& n, const shape& operand, const array& indices) {
  const int rank = operand.rank();
  for (const axes* a : {&n.batch, &n.collapsed, &n.named})
    for (std::int64_t v : *a)
      if (v < 0 || v >= rank) refuse(c.op, "axis " + std::to_string(v), "an axis of rank " + std::to_string(rank));
  for (std::int64_t v : n.batch_of_indices)
    if (v < 0 || v >= indices.rank())
      refuse(c.op, "axis " + std::to_string(v) + " of the indices", "one that they have");
  const bool scalar = n.vector == indices.rank();  // each index is a number
  if (n.vector < 0 || n.vector > indices.rank() || n.batch.rank() != n.batch_of_indices.rank() ||
      (scalar ? 1 : indices.extent(n.vector)) != n.named.rank())
    refuse(c.op, "dimension numbers that do not fit the indices", "one axis for each component of an index");
  for (int i = 0; i < rank; ++i) {
    if (n.named.contains(i) || n.batch.contains(i))
      n.indexed.push_back(i);
    else
      n.rest.push_back(i);
  }
}
/// The axes of the indices but for that of the components.
inline shape index_extents(const row_numbers& n, const array& indices) {
  shape s;
  for (int i = 0; i < indices.rank(); ++i)
    if (i != n.vector) s.push_back(indices.extent(i));
  return s;
}
/// The number of a row of the joined operand for each index and each row of its window: [index..., window of indexed axes...].
/// `inside` says for each whether the window fits; without it starts are moved so that it does.
inline array row_of(const rule_call& c, const row_numbers& n, const shape& operand, const array& given, array* inside) {
  const array indices = tokamax::detail::integers_in_i32(given, {});
  const shape lead = index_extents(n, indices);
  shape all = lead;
  for (std::int64_t a : n.indexed) all.push_back(n.window[static_cast<int>(a)]);
  std::int64_t rows = 1;
  for (std::int64_t a : n.indexed) rows = mul_extent(rows, operand[static_cast<int>(a)]);
  if (rows > most_indices) refuse(c.op, std::to_string(rows) + " rows", "at most " + std::to_string(most_indices));
  array row = array(0, {i32, false, all}), fits = array(true, {bool_, false, lead});
  std::int64_t stride = 1;
  for (int k = n.indexed.rank() - 1; k >= 0; --k) {
    const auto axis = static_cast<int>(n.indexed[k]);
    const std::int64_t extent = operand[axis], last = extent - n.window[axis];
    array start = array(0, {i32, false, lead});
    for (int j = 0; j < n.batch.rank(); ++j) {
      if (n.batch[j] != axis) continue;
      auto of_lead = static_cast<int>(n.batch_of_indices[j]);
      if (of_lead > n.vector) --of_lead;
      start = iota(i32, lead, of_lead);
    }
    for (int j = 0; j < n.named.rank(); ++j) {
      if (n.named[j] != axis) continue;
      array part = indices;
      if (n.vector < indices.rank()) part = reshape(slice_in_dim(indices, j, j + 1, n.vector), lead);
      if (inside)
        fits = logical_and(fits,
                           logical_and(part >= array(0), part <= array(static_cast<double>(last), {i32, false, {}})));
      start = start + minimum(maximum(part, array(0)),
                              array(static_cast<double>(std::max<std::int64_t>(last, 0)), {i32, false, {}}));
    }
    const array position = broadcast_in_dim(start, all, iota_axes(lead.rank())) + iota(i32, all, lead.rank() + k);
    row = row + position * array(static_cast<double>(stride), {i32, false, {}});
    stride *= extent;
  }
  if (inside) *inside = broadcast_in_dim(fits, all, iota_axes(lead.rank()));
  return row;
}
/// The operand as rows [rows, rest...].
inline array as_rows(const array& x, const row_numbers& n) {
  axes order = n.indexed;
  shape s{1};
  for (std::int64_t a : n.indexed) s[0] *= x.extent(static_cast<int>(a));
  for (std::int64_t a : n.rest) {
    order.push_back(a);
    s.push_back(x.extent(static_cast<int>(a)));
  }
  return reshape(transpose(x, order), s);
}
/// Rows as the operand that they were made of.
inline array from_rows(const array& rows, const row_numbers& n, const shape& operand) {
  axes order = n.indexed, back;
  for (std::int64_t a : n.rest) order.push_back(a);
  shape s;
  for (std::int64_t a : order) s.push_back(operand[static_cast<int>(a)]);
  for (int i = 0; i < operand.rank(); ++i)
    for (int k = 0; k < order.rank(); ++k)
      if (order[k] == i) back.push_back(k);
  return transpose(reshape(rows, s), back);
}
/// For each axis of [index..., windows of indexed axes..., rest...], without the collapsed ones, the axis of the result of gather.
inline axes places_of_result(const rule_call& c, const row_numbers& n, int lead) {
  axes of_axis;  // the place of each axis of the operand among the offsets; -1: it has none
  int offset = 0;
  const int rank = n.indexed.rank() + n.rest.rank();
  for (int i = 0; i < rank; ++i) of_axis.push_back(n.collapsed.contains(i) || n.batch.contains(i) ? -1 : offset++);
  if (offset != n.offset.rank())
    refuse(c.op, std::to_string(n.offset.rank()) + " axes of windows", std::to_string(offset));
  axes places;
  for (int i = 0, at = 0; i < lead; ++i, ++at) {
    while (n.offset.contains(at)) ++at;
    places.push_back(at);
  }
  for (const axes* a : {&n.indexed, &n.rest})
    for (std::int64_t axis : *a)
      if (const std::int64_t k = of_axis[static_cast<int>(axis)]; k >= 0)
        places.push_back(n.offset[static_cast<int>(k)]);
  return places;
}
/// The permutation that undoes another one.
inline axes inverse(const axes& p) {
  axes back;
  for (int i = 0; i < p.rank(); ++i)
    for (int k = 0; k < p.rank(); ++k)
      if (p[k] == i) back.push_back(k);
  return back;
}

/// Windows at the places that indices name, as rows of the operand.
inline values gathered(const rule_call& c) {
  row_numbers n;
  const array& indices = c[1];
  const shape operand = c.at(0).re.shape();
  n.batch = list_of(c, "operand_batching_dims");
  n.batch_of_indices = list_of(c, "start_indices_batching_dims");
  n.collapsed = list_of(c, "collapsed_slice_dims");
  n.offset = list_of(c, "offset_dims");
  n.named = list_of(c, "start_index_map");
  n.vector = static_cast<int>(c.integer("index_vector_dim", 0));
  n.window = c.list("slice_sizes", operand.rank(), 1);
  split_axes(c, n, operand, indices);
  for (int i = 0; i < operand.rank(); ++i)
    if (n.window[i] < 0 || n.window[i] > operand[i])
      refuse(c.op, "slice_sizes of " + std::to_string(n.window[i]), "at most " + std::to_string(operand[i]));
  const array rows = row_of(c, n, operand, indices, nullptr);
  const int lead = index_extents(n, indices).rank();
  // Axes without an index are cut first.
  shape zero, cut;
  for (int i = 0; i < operand.rank(); ++i) {
    zero.push_back(0);
    cut.push_back(n.rest.contains(i) ? n.window[i] : operand[i]);
  }
  const axes places = places_of_result(c, n, lead);
  shape s;  // [index..., windows..., rest...] without collapsed axes
  for (int i = 0; i < lead; ++i) s.push_back(rows.extent(i));
  for (const axes* a : {&n.indexed, &n.rest})
    for (std::int64_t axis : *a)
      if (!n.collapsed.contains(axis) && !n.batch.contains(axis)) s.push_back(n.window[static_cast<int>(axis)]);
  const axes order = inverse(places);
  const auto part = [&](const array& x) {
    if (size(s) == 0 || x.size() == 0) {
      shape ordered;
      for (std::int64_t k : order) ordered.push_back(s[static_cast<int>(k)]);
      return zeros(ordered, x.dtype());
    }
    array table = as_rows(slice(x, zero, cut), n);
    const dtype given = table.dtype();
    return astype(transpose(reshape(gather(table, rows), s), order), given);
  };
  return {each_part(part, c.at(0))};
}

/// Combines those of the updates [n, ...] that have the same row, and returns for each row its last place and the combined value.
/// The updates are brought into the order of their rows; a place takes what lies 1, 2, 4, ... places before it.
inline values combined_by_row(const rule_call& c, const array& sorted_rows, values updates) {
  const std::int64_t n = sorted_rows.size();
  for (std::int64_t step = 1; step < n; step *= 2) {
    const auto before = [&](const array& x) {  // x moved by `step` places
      return concatenate({slice_in_dim(x, 0, step, 0), slice_in_dim(x, 0, n - step, 0)}, 0);
    };
    const array same = logical_and(before(sorted_rows) == sorted_rows,
                                   iota(i32, {n}, 0) >= array(static_cast<double>(step), {i32, false, {}}));
    values both;
    for (const value& v : updates) both.push_back(each_part(before, v));
    both.insert(both.end(), updates.begin(), updates.end());
    values joined = run_on_elements(c, 0, both, updates.size());
    for (std::size_t k = 0; k < updates.size(); ++k) {
      const auto chosen = [&](const array& a, const array& b) {
        return select(tokamax::detail::over_rows(same, a), a, b);
      };
      updates[k] = {chosen(joined[k].re, updates[k].re),
                    joined[k].is_complex() ? chosen(joined[k].im, updates[k].im) : array()};
    }
  }
  return updates;
}

/// A scatter whose dimension numbers have been read: tables of rows, and rows of updates for them.
struct scatter_rows {
  row_numbers n;
  axes places;  ///< the order of the axes of the updates: those of the indices, of windows of indexed axes, of the rest
  array rows;   ///< for each update the number of its row; -1: its window does not fit
  shape zero, cut;     ///< the part of the operand that windows cover along axes without an index
  bool covers = true;  ///< is it the whole?

  array table(const array& x) const { return as_rows(slice(x, zero, cut), n); }
  array updates(const array& u) const {
    shape s{rows.size()};
    for (std::int64_t a : n.rest) s.push_back(n.window[static_cast<int>(a)]);
    return reshape(transpose(u, places), s);
  }
  array put_back(const array& changed, const array& x) const {
    const array y = from_rows(changed, n, cut);
    return covers ? y : dynamic_update_slice(x, y, arrays(static_cast<std::size_t>(x.rank()), array(0)));
  }
};
/// Reads the dimension numbers, and finds the rows of the updates.
inline scatter_rows rows_of_scatter(const rule_call& c, int inputs) {
  scatter_rows s;
  row_numbers& n = s.n;
  const array& indices = c[inputs];
  const shape operand = c.at(0).re.shape(), of_updates = c.at(inputs + 1).re.shape();
  n.batch = list_of(c, "input_batching_dims");
  n.batch_of_indices = list_of(c, "scatter_indices_batching_dims");
  n.collapsed = list_of(c, "inserted_window_dims");
  n.offset = list_of(c, "update_window_dims");
  n.named = list_of(c, "scatter_dims_to_operand_dims");
  n.vector = static_cast<int>(c.integer("index_vector_dim", 0));
  split_axes(c, n, operand, indices);
  for (int i = 0, k = 0; i < operand.rank(); ++i) {
    const bool gone = n.collapsed.contains(i) || n.batch.contains(i);
    if (!gone && (k >= n.offset.rank() || n.offset[k] < 0 || n.offset[k] >= of_updates.rank()))
      refuse(c.op, "update_window_dims that do not fit", "one for each axis of a window");
    n.window.push_back(gone ? 1 : of_updates[static_cast<int>(n.offset[k++])]);
    if (!gone && n.window[i] > operand[i]) refuse(c.op, "updates that are larger than the operand", "windows that fit");
    s.zero.push_back(0);
    s.cut.push_back(n.rest.contains(i) ? n.window[i] : operand[i]);
    s.covers = s.covers && s.cut[i] == operand[i];
  }
  s.places = places_of_result(c, n, index_extents(n, indices).rank());
  if (s.places.rank() != of_updates.rank())
    refuse(c.op, "updates of rank " + std::to_string(of_updates.rank()), std::to_string(s.places.rank()));
  array inside;
  const array rows = row_of(c, n, operand, indices, &inside);
  s.rows = reshape(select(inside, rows, array(-1)), {rows.size()});
  return s;
}
/// Tables [rows, ...] with what the body makes of some rows and an update for each. Row -1 is none, and others are there once.
inline values with_updates(const rule_call& c, const values& tables, const array& rows, const values& updates) {
  values now;
  for (const value& v : tables)
    now.push_back(each_part([&](const array& x) { return gather(x, maximum(rows, array(0))); }, v));
  now.insert(now.end(), updates.begin(), updates.end());
  const values joined = run_on_elements(c, 0, now, tables.size());
  values out;
  for (std::size_t k = 0; k < tables.size(); ++k)
    out.push_back({scatter(tables[k].re, rows, joined[k].re),
                   tables[k].is_complex() ? scatter(tables[k].im, rows, joined[k].im) : array()});
  return out;
}
/// Updates in the order of their rows, of which each but the first one of a row waits for those before it.
inline values with_updates_in_turn(const rule_call& c, const values& tables, const array& rows, const values& updates) {
  const array turn = iota(i32, rows.shape(), 0) - search_sorted(rows, rows);
  const array turns = max(select(rows >= 0, turn + 1, zeros_like(turn)));
  const std::vector<char> complex = which_are_complex(tables);
  std::vector<array> init{in_this_trace(array(0, {i32, false, {}}))};
  for (const array& a : flat(tables)) init.push_back(in_this_trace(a));
  const auto step = [&](const std::vector<array>& now) {
    arrays in;
    for (std::size_t k = 1; k < now.size(); ++k) in.push_back(now[k]);
    const array chosen = select(turn == now[0], rows, full_like(rows, -1.0));
    std::vector<array> next{now[0] + 1};
    for (const array& a : flat(with_updates(c, unflat(in, complex), chosen, updates))) next.push_back(a);
    return next;
  };
  const std::vector<array> last =
      while_loop([&](const std::vector<array>& now) -> array { return now[0] < turns; }, step, init);
  arrays out;
  for (std::size_t k = 1; k < last.size(); ++k) out.push_back(last[k]);
  return unflat(out, complex);
}
/// Updates by any body. Those of one row are combined first, and then with the row, where the body lets them; else they take
/// their turns.
inline values combined_with_rows(const rule_call& c, int inputs, scatter_rows s) {
  values tables, updates;
  for (int i = 0; i < inputs; ++i) {
    tables.push_back(each_part([&](const array& x) { return s.table(x); }, c.at(i)));
    updates.push_back(each_part([&](const array& x) { return s.updates(x); }, c.at(inputs + 1 + i)));
  }
  array rows = s.rows;
  if (rows.size() > 1 && c.integer("unique_indices", 0) == 0) {
    const array order = argsort(rows, 0);
    rows = gather(rows, order);
    for (value& v : updates) v = each_part([&](const array& x) { return gather(x, order); }, v);
    if (is_associative(c.body(0))) {
      updates = combined_by_row(c, rows, std::move(updates));
      // Only the last update of a row has all of them.
      const array after = concatenate({slice_in_dim(rows, 1, rows.size(), 0), array(-2, {i32, false, {1}})}, 0);
      tables = with_updates(c, tables, select(rows != after, rows, array(-1)), updates);
    } else {
      tables = with_updates_in_turn(c, tables, rows, updates);
    }
  } else {
    tables = with_updates(c, tables, rows, updates);
  }
  values out;
  for (int i = 0; i < inputs; ++i) {
    const value &table = tables[static_cast<std::size_t>(i)], &x = c.at(i);
    out.push_back({s.put_back(table.re, x.re), table.is_complex() ? s.put_back(table.im, x.im) : array()});
  }
  return out;
}
/// Updates that replace or are added have ops of their own.
inline values scattered(const rule_call& c) {
  const int inputs = (c.count() - 1) / 2;
  if (inputs < 1 || c.count() != 2 * inputs + 1)
    refuse(c.op, std::to_string(c.count()) + " operands", "inputs, indices, updates");
  const scatter_rows s = rows_of_scatter(c, inputs);
  if (c.at(inputs + 1).re.size() == 0 || c.at(0).re.size() == 0) return values(c.in.begin(), c.in.begin() + inputs);
  const std::string how = inputs == 1 ? combiner_of(c.body(0)) : "";
  const bool replaces = how == "second", adds = how == "stablehlo.add" && c.at(0).re.dtype() != bool_;
  if (!replaces && !adds) return combined_with_rows(c, inputs, s);
  const auto one = [&](const array& x, const array& u) {
    const array table = s.table(x), updates = s.updates(u);
    return s.put_back(replaces ? scatter(table, s.rows, updates) : scatter_add(table, s.rows, updates), x);
  };
  if (!c.is_complex()) return {{one(c[0], c[2]), {}}};
  const complex_parts x = c.parts(0), u = c.parts(2);
  return {{one(x.re, u.re), one(x.im, u.im)}};
}

inline std::span<const rule_entry> indexing_rules() {
  static constexpr rule_entry all[] = {
      {"stablehlo.gather", "gather of rows", gathered},
      {"stablehlo.scatter", "scatter, scatter_add; else sorted and combined", scattered},
  };
  return all;
}

}  // namespace tokamax::stablehlo::detail
