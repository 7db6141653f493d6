// tests/support/reference.cpp: rules of the leaf ops in double precision.
// SPDX-License-Identifier: Apache-2.0
#include "support/reference.hpp"

#include <tokamax/backend/cpu.hpp>
#include <tokamax/kernel/kernel_rules.hpp>
#include <tokamax/lax/cumulative.hpp>
#include <tokamax/lax/dot_general.hpp>
#include <tokamax/lax/elementwise/division.hpp>
#include <tokamax/lax/indexing/dynamic_slice.hpp>
#include <tokamax/lax/indexing/gather.hpp>
#include <tokamax/lax/indexing/slice.hpp>
#include <tokamax/lax/reduce.hpp>
#include <tokamax/lax/shapes/concatenate.hpp>
#include <tokamax/lax/shapes/reverse.hpp>
#include <tokamax/lax/sort.hpp>
#include <tokamax/lax/stop_gradient.hpp>
#include <tokamax/lax/windows/conv.hpp>
#include <tokamax/ops/quantized/quantize.hpp>
#include <tokamax/transforms/control_flow/cond_rules.hpp>
#include <tokamax/transforms/control_flow/scan_rules.hpp>
#include <tokamax/transforms/control_flow/while_rules.hpp>
#include <tokamax/transforms/remat/checkpoint_name.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tokamax::test {

value zeros_of(const array_type& type) {
  return {type, std::vector<double>(static_cast<std::size_t>(size(type.shape)), 0.0)};
}

value to_value(array a) {
  value v = zeros_of(a.type());
  a.materialize();
  dispatch(a.dtype(), [&]<dtype T>() {
    for (std::size_t i = 0; i < v.data.size(); ++i)
      v.data[i] = as_double(element_bits::of(a.data<element_t<T>>()[i]), T);
  });
  return v;
}

array to_array(const value& v) {
  array a = array::uninitialized({v.type.dtype, false, v.type.shape});
  dispatch(v.type.dtype, [&]<dtype T>() {
    auto* to = a.mutable_data<element_t<T>>();
    for (double x : v.data) *to++ = kept(x, T).template as<element_t<T>>();
  });
  return a;
}
double wrap(double x, dtype t) {
  if (t == bool_) return x != 0;
  if (!is_integer(t) || !std::isfinite(x)) return x;
  const double all = highest_of(t) - lowest_of(t) + 1;
  const double m = std::fmod(std::trunc(x), all), positive = m < 0 ? m + all : m;
  return positive > highest_of(t) ? positive - all : positive;
}

void for_each_place(const shape& s, const std::function<void(const shape&, std::size_t)>& f) {
  shape at = s;
  for (int i = 0; i < s.rank(); ++i) at[i] = 0;
  const std::int64_t n = size(s);
  for (std::int64_t k = 0; k < n; ++k) {
    f(at, static_cast<std::size_t>(k));
    for (int i = s.rank() - 1; i >= 0 && ++at[i] == s[i]; --i) at[i] = 0;
  }
}
std::size_t place(const shape& s, const shape& at) {
  std::int64_t k = 0;
  for (int i = 0; i < s.rank(); ++i) k = k * s[i] + at[i];
  return static_cast<std::size_t>(k);
}
namespace {
shape pick(const shape& at, const axes& which) {
  shape s;
  for (std::int64_t a : which) s.push_back(at[static_cast<int>(a)]);
  return s;
}

namespace reference {

values broadcast_in_dim(const asked& a) {
  const auto o = a.attrs<broadcast_options>();
  value y = zeros_of(a.n.type);
  for_each_place(o.extents, [&](const shape& at, std::size_t k) {
    shape from = pick(at, o.dimensions);
    for (int i = 0; i < from.rank(); ++i)
      if (a.in[0].extent(i) == 1) from[i] = 0;
    y.data[k] = a.in[0].data[place(a.in[0].type.shape, from)];
  });
  return {y};
}
values reshape(const asked& a) { return {{a.n.type, a.in[0].data}}; }
values transpose(const asked& a) {
  const axes p = a.attrs<transpose_options>().permutation;
  value y = zeros_of(a.n.type);
  for_each_place(y.type.shape, [&](const shape& at, std::size_t k) {
    shape from = at;
    for (int i = 0; i < p.rank(); ++i) from[static_cast<int>(p[i])] = at[i];
    y.data[k] = a.in[0].data[place(a.in[0].type.shape, from)];
  });
  return {y};
}
values slice(const asked& a) {
  const auto o = a.attrs<slice_options>();
  value y = zeros_of(a.n.type);
  for_each_place(y.type.shape, [&](const shape& at, std::size_t k) {
    shape from = at;
    for (int i = 0; i < at.rank(); ++i) from[i] = o.start[i] + at[i] * o.stride[i];
    y.data[k] = a.in[0].data[place(a.in[0].type.shape, from)];
  });
  return {y};
}
values reverse(const asked& a) {
  const axes dimensions = a.attrs<reverse_options>().dimensions;
  value y = zeros_of(a.n.type);
  for_each_place(y.type.shape, [&](const shape& at, std::size_t k) {
    shape from = at;
    for (std::int64_t i : dimensions)
      from[static_cast<int>(i)] = y.extent(static_cast<int>(i)) - 1 - from[static_cast<int>(i)];
    y.data[k] = a.in[0].data[place(y.type.shape, from)];
  });
  return {y};
}
values cumsum(const asked& a) {
  const auto [axis, reverse] = a.attrs<cumulative_options>();
  value y = {a.n.type, a.in[0].data};
  const std::int64_t n = y.extent(axis);
  for_each_place(y.type.shape, [&](const shape& at, std::size_t) {
    const std::int64_t i = at[axis];
    if (i == 0) return;
    shape here = at, before = at;
    here[axis] = reverse ? n - 1 - i : i;
    before[axis] = reverse ? n - i : i - 1;
    double& sum = y.data[place(y.type.shape, here)];
    sum = wrap(sum + y.data[place(y.type.shape, before)], y.type.dtype);
  });
  return {y};
}
/// All operands as a stable sort of the first one moves them. NaN counts as the largest value.
values sort(const asked& a) {
  const auto [axis, descending] = a.attrs<sort_options>();
  values out(a.in.begin(), a.in.end());
  const value& key = a.in[0];
  for_each_place(key.type.shape, [&](const shape& at, std::size_t) {
    if (at[axis] != 0) return;
    std::vector<std::size_t> line;
    for (shape here = at; here[axis] < key.extent(axis); ++here[axis]) line.push_back(place(key.type.shape, here));
    const auto less = [&](std::size_t i, std::size_t j) {
      const double x = key.data[i], y = key.data[j];
      return x < y || (std::isnan(y) && !std::isnan(x));
    };
    std::vector<std::size_t> sorted = line;
    std::stable_sort(sorted.begin(), sorted.end(), [&, turned = descending](std::size_t i, std::size_t j) {
      return turned ? less(j, i) : less(i, j);
    });
    for (std::size_t k = 0; k < out.size(); ++k)
      for (std::size_t i = 0; i < line.size(); ++i) out[k].data[line[i]] = a.in[k].data[sorted[i]];
  });
  return out;
}
values pad(const asked& a) {
  const auto o = a.attrs<pad_options>();
  value y = zeros_of(a.n.type);
  for (double& v : y.data) v = a.in[1].data[0];
  for_each_place(a.in[0].type.shape, [&](const shape& at, std::size_t k) {
    shape to = at;
    for (int i = 0; i < at.rank(); ++i) {
      to[i] = o.low[i] + at[i] * (o.interior[i] + 1);
      if (to[i] < 0 || to[i] >= y.extent(i)) return;
    }
    y.data[place(y.type.shape, to)] = a.in[0].data[k];
  });
  return {y};
}

values concatenate(const asked& a) {
  const int axis = a.attrs<concatenate_options>().axis;
  value out = zeros_of(a.n.type);
  std::int64_t first = 0;
  for (const value& x : a.in) {
    for_each_place(x.type.shape, [&](shape at, std::size_t i) {
      at[axis] += first;
      out.data[place(out.type.shape, at)] = x.data[i];
    });
    first += x.extent(axis);
  }
  return {out};
}
values reduce(const asked& a, double start, double (*join)(double, double)) {
  const axes kept = other_axes(a.in[0].rank(), a.attrs<reduce_attributes>().axis);
  value y = zeros_of(a.n.type);
  for (double& v : y.data) v = start;
  for_each_place(a.in[0].type.shape, [&](const shape& at, std::size_t k) {
    double& v = y.data[place(y.type.shape, pick(at, kept))];
    v = wrap(join(v, a.in[0].data[k]), y.type.dtype);
  });
  return {y};
}
/// The least (sign -1: greatest) value of the dtype.
double extreme(dtype t, int sign) {
  if (is_floating(t)) return sign * std::numeric_limits<double>::infinity();
  return t == bool_ ? sign > 0 : sign > 0 ? highest_of(t) : lowest_of(t);
}
values argument(const asked& a, int sign) {
  const int axis = a.attrs<arg_attributes>().axis;
  value y = zeros_of(a.n.type);
  std::vector<double> best(y.data.size(), 0);
  for_each_place(a.in[0].type.shape, [&](const shape& at, std::size_t k) {
    const std::size_t to = place(y.type.shape, pick(at, other_axes(at.rank(), {axis})));
    const double x = sign * a.in[0].data[k];
    if (at[axis] > 0 && (std::isnan(best[to]) || !(x > best[to] || std::isnan(x)))) return;
    best[to] = x;
    y.data[to] = static_cast<double>(at[axis]);
  });
  return {y};
}
values dot_general(const asked& a) {
  const auto d = a.attrs<dot_dimensions>();
  const value &l = a.in[0], &r = a.in[1];
  const axes lf = other_axes(l.rank(), tokamax::detail::merged(d.lhs_contracting, d.lhs_batch)),
             rf = other_axes(r.rank(), tokamax::detail::merged(d.rhs_contracting, d.rhs_batch));
  const shape inner = pick(l.type.shape, d.lhs_contracting);
  value y = zeros_of(a.n.type);
  for_each_place(y.type.shape, [&](const shape& at, std::size_t k) {
    shape li = l.type.shape, ri = r.type.shape;
    int axis = 0;
    for (int i = 0; i < d.lhs_batch.rank(); ++i, ++axis)
      li[static_cast<int>(d.lhs_batch[i])] = ri[static_cast<int>(d.rhs_batch[i])] = at[axis];
    for (std::int64_t i : lf) li[static_cast<int>(i)] = at[axis++];
    for (std::int64_t i : rf) ri[static_cast<int>(i)] = at[axis++];
    double total = 0;
    std::uint64_t bits = 0;  // sums of integer products, which need more bits than a double has
    for_each_place(inner, [&](const shape& c, std::size_t) {
      for (int i = 0; i < c.rank(); ++i)
        li[static_cast<int>(d.lhs_contracting[i])] = ri[static_cast<int>(d.rhs_contracting[i])] = c[i];
      const double x = l.data[place(l.type.shape, li)], z = r.data[place(r.type.shape, ri)];
      total += x * z;
      bits += static_cast<std::uint64_t>(static_cast<std::int64_t>(is_integer(l.type.dtype) ? x : 0)) *
              static_cast<std::uint64_t>(static_cast<std::int64_t>(is_integer(l.type.dtype) ? z : 0));
    });
    y.data[k] =
        is_integer(l.type.dtype) ? wrap(static_cast<double>(static_cast<std::uint32_t>(bits)), y.type.dtype) : total;
  });
  return {y};
}
values conv(const asked& a) {
  const auto o = a.attrs<conv_options>();
  const int d = o.strides.rank();
  const value &x = a.in[0], &w = a.in[1];
  value y = zeros_of(a.n.type);
  shape window = w.type.shape;  // [window..., channels of a group]
  window.count = static_cast<std::int8_t>(d + 1);
  for_each_place(y.type.shape, [&](const shape& at, std::size_t k) {
    const std::int64_t feature = at[d + 1], features = y.extent(d + 1);
    double total = 0;
    for_each_place(window, [&](const shape& in, std::size_t) {
      shape from = at, weight = in;
      bool inside = true;
      weight.push_back(feature);
      from[0] += feature / (features / o.batch_groups) * y.extent(0);
      from[d + 1] = feature / (features / o.feature_groups) * window[d] + in[d];
      for (int i = 0; i < d; ++i) {
        const std::int64_t n = at[i + 1] * o.strides[i] + in[i] * o.rhs_dilation[i] - o.low[i];
        inside = inside && n >= 0 && n % o.lhs_dilation[i] == 0 && n / o.lhs_dilation[i] < x.extent(i + 1);
        from[i + 1] = n / o.lhs_dilation[i];
      }  // zeros of padding and dilation are multiplied too: times infinity they give NaN
      total += (inside ? x.data[place(x.type.shape, from)] : 0) * w.data[place(w.type.shape, weight)];
    });
    y.data[k] = wrap(total, y.type.dtype);
  });
  return {y};
}
values gather(const asked& a) {
  const value& table = a.in[0];
  value y = zeros_of(a.n.type);
  const std::size_t row = a.in[1].data.empty() ? 0 : y.data.size() / a.in[1].data.size();
  const double outside = is_floating(table.type.dtype) ? std::numeric_limits<double>::quiet_NaN()
                         : table.type.dtype == u32     ? extreme(u32, 1)
                                                       : extreme(table.type.dtype, table.type.dtype == bool_ ? 1 : -1);
  for (std::size_t k = 0; k < y.data.size(); ++k) {
    const double i = a.in[1].data[k / row];
    y.data[k] = i >= 0 && i < static_cast<double>(table.extent(0))
                    ? table.data[static_cast<std::size_t>(i) * row + k % row]
                    : outside;
  }
  return {y};
}
values scatter_add(const asked& a) {
  value y = zeros_of(a.n.type);
  const std::size_t row = a.in[0].data.empty() ? 0 : a.in[1].data.size() / a.in[0].data.size();
  for (std::size_t k = 0; k < a.in[1].data.size(); ++k) {
    const double i = a.in[0].data[k / row];
    if (i >= 0 && i < static_cast<double>(y.extent(0)))
      y.data[static_cast<std::size_t>(i) * row + k % row] += a.in[1].data[k];
  }
  for (double& v : y.data) v = wrap(v, y.type.dtype);
  return {y};
}
values iota(const asked& a) {
  const auto o = a.attrs<iota_attributes>();
  value y = zeros_of(a.n.type);
  for_each_place(o.extents, [&](const shape& at, std::size_t k) {
    y.data[k] = wrap(static_cast<double>(o.start + (o.dimension < 0 ? 0 : at[o.dimension])), o.type);
  });
  return {y};
}
values convert(const asked& a) {
  value y = {a.n.type, a.in[0].data};
  if (is_floating(y.type.dtype)) return {y};
  for (double& v : y.data)
    v = as_double(converted(kept(v, a.in[0].type.dtype), a.in[0].type.dtype, y.type.dtype), y.type.dtype);
  return {y};
}
values bitcast(const asked& a) {
  if (a.in[0].type.dtype == a.n.type.dtype) return {a.in[0]};
  value y = zeros_of(a.n.type);
  for (std::size_t k = 0; k < y.data.size(); ++k) {
    const double x = a.in[0].data[k];
    const auto bits = is_integer(a.in[0].type.dtype) ? static_cast<std::uint32_t>(static_cast<std::int64_t>(x))
                                                     : std::bit_cast<std::uint32_t>(static_cast<float>(x));
    y.data[k] = y.type.dtype == f32 ? static_cast<double>(std::bit_cast<float>(bits))
                                    : wrap(static_cast<double>(bits), y.type.dtype);
  }
  return {y};
}
/// Calls f(place in the array, place in the box) for every element of the box.
void each_in_box(const asked& a, std::size_t first, const shape& whole, const shape& box, int batch,
                 const std::function<void(std::size_t, std::size_t)>& f) {
  for_each_place(box, [&](shape at, std::size_t i) {
    shape entry;
    for (int k = 0; k < batch; ++k) entry.push_back(at[k]);
    for (int k = batch; k < at.rank(); ++k) {
      const value& start = a.in[first + static_cast<std::size_t>(k - batch)];
      auto from = static_cast<std::int64_t>(start.data[place(start.type.shape, entry)]);
      if (from < 0) from += whole[k];
      at[k] += std::clamp<std::int64_t>(from, 0, whole[k] - box[k]);
    }
    f(place(whole, at), i);
  });
}
values dynamic_slice(const asked& a) {
  value out = zeros_of(a.n.type);
  each_in_box(a, 1, a.in[0].type.shape, a.n.type.shape, a.attrs<dynamic_slice_options>().batch,
              [&](std::size_t at, std::size_t i) { out.data[i] = a.in[0].data[at]; });
  return {out};
}
values dynamic_update_slice(const asked& a) {
  value out = a.in[0];
  each_in_box(a, 2, out.type.shape, a.in[1].type.shape, a.attrs<dynamic_slice_options>().batch,
              [&](std::size_t at, std::size_t i) { out.data[at] = a.in[1].data[i]; });
  return {out};
}
values scan(const asked& a) {
  const auto w = a.attrs<scan_attributes>();
  const graph& body = a.g.bodies[w.body];
  values out(a.in.begin(), a.in.begin() + w.carries);
  for (int k = 0; k < w.stacked; ++k)
    out.push_back(zeros_of(tokamax::detail::stacked_type(body[body.outputs[w.carries + k]].type, w.length)));
  for (std::int64_t i = 0; i < w.length; ++i) {
    const auto at = static_cast<std::size_t>(w.reverse ? w.length - 1 - i : i);
    values in(out.begin(), out.begin() + w.carries);
    for (int k = w.carries; k < static_cast<int>(a.in.size()); ++k) {
      const value& x = a.in[static_cast<std::size_t>(k)];
      if (k >= w.carries + w.sequences) {
        in.push_back(x);
        continue;
      }
      const auto n = static_cast<std::ptrdiff_t>(x.data.size() / static_cast<std::size_t>(w.length)),
                 from = n * static_cast<std::ptrdiff_t>(at);
      in.push_back({tokamax::detail::entry_type(x.type), {x.data.begin() + from, x.data.begin() + from + n}});
    }
    const values y = evaluate(body, in);
    for (std::size_t k = 0; k < y.size(); ++k) {
      if (k < static_cast<std::size_t>(w.carries))
        out[k].data = y[k].data;
      else
        std::copy(y[k].data.begin(), y[k].data.end(),
                  out[k].data.begin() + static_cast<std::ptrdiff_t>(at * y[k].data.size()));
    }
  }
  return out;
}

values while_loop(const asked& a) {
  const auto w = a.attrs<while_attributes>();
  values state = a.in;
  while (evaluate(a.g.bodies[w.predicate], state)[0].data[0] != 0) {
    const values next = evaluate(a.g.bodies[w.body], state);
    std::copy(next.begin(), next.end(), state.begin());
  }
  state.resize(static_cast<std::size_t>(w.carries));
  return state;
}
values cond(const asked& a) {
  const auto branch = static_cast<int>(a.in[0].data[0]);
  return evaluate(body_of(a.g, a.n, branch), values(a.in.begin() + 1, a.in.end()));
}

values same(const asked& a) { return {a.in[0]}; }
values elementwise(const asked& a) {
  value y = zeros_of(a.n.type);
  for (std::size_t k = 0; k < y.data.size(); ++k) {
    double x[3] = {};
    element_bits whole[3] = {};
    const bool exact = a.n.op->algebra.fold_integers && !is_floating(a.in[0].type.dtype);
    for (std::size_t i = 0; i < a.in.size(); ++i) {
      x[i] = a.in[i].data[k];
      if (exact) whole[i] = kept(x[i], a.in[i].type.dtype);
    }
    if (exact)
      y.data[k] = as_double(kept(a.n.op->algebra.fold_integers(whole, a.in[0].type.dtype), y.type.dtype), y.type.dtype);
    else if (a.n.op == &rem_p && is_integer(y.type.dtype) && x[1] == 0)
      y.data[k] = x[0];  // the value that the documentation promises
    else
      y.data[k] = wrap(a.n.op->algebra.fold(x), y.type.dtype);
  }
  return {y};
}
/// Evaluates an op by its own definition in smaller ops.
values composed(const asked& a) {
  graph inner;
  vec<array> in;
  for (const value& v : a.in) in.push_back(array(&inner, inner.input(v.type), v.type));
  const words w = carry_words(a.g, a.n, inner);
  call c = call_of(*a.n.op, in, w, &inner);
  c.type = a.n.type;
  const ambient_trace around(inner);  // for what bodies of loops close over
  const arrays out = a.n.op->compose(c);
  for (const array& y : out) inner.outputs.push_back(lift(inner, y).id());
  return evaluate(inner, a.in);
}

}  // namespace reference
}  // namespace

std::map<const op*, reference_rule>& reference_rules() {
  namespace r = reference;
  static std::map<const op*, reference_rule> rules{
      {&broadcast_in_dim_p, r::broadcast_in_dim},
      {&reshape_p, r::reshape},
      {&transpose_p, r::transpose},
      {&slice_p, r::slice},
      {&dynamic_slice_p, r::dynamic_slice},
      {&dynamic_update_slice_p, r::dynamic_update_slice},
      {&reverse_p, r::reverse},
      {&pad_p, r::pad},
      {&concatenate_p, r::concatenate},
      {&reduce_sum_p, [](const asked& a) { return r::reduce(a, 0, [](double x, double y) { return x + y; }); }},
      {&reduce_max_p,
       [](const asked& a) {
         return r::reduce(a, r::extreme(a.n.type.dtype, -1),
                          [](double x, double y) { return x > y || std::isnan(x) ? x : y; });
       }},
      {&reduce_min_p,
       [](const asked& a) {
         return r::reduce(a, r::extreme(a.n.type.dtype, 1),
                          [](double x, double y) { return x < y || std::isnan(x) ? x : y; });
       }},
      {&reduce_and_p,
       [](const asked& a) { return r::reduce(a, 1, [](double x, double y) { return double(x != 0 && y != 0); }); }},
      {&reduce_or_p,
       [](const asked& a) { return r::reduce(a, 0, [](double x, double y) { return double(x != 0 || y != 0); }); }},
      {&argmax_p, [](const asked& a) { return r::argument(a, 1); }},
      {&argmin_p, [](const asked& a) { return r::argument(a, -1); }},
      {&dot_general_p, r::dot_general},
      {&conv_general_dilated_p, r::conv},
      {&cumsum_p, r::cumsum},
      {&sort_p, r::sort},
      {&gather_p, r::gather},
      {&scatter_add_p, r::scatter_add},
      {&iota_p, r::iota},
      {&convert_element_type_p, r::convert},
      {&bitcast_convert_type_p, r::bitcast},
      {&scan_p, r::scan},
      {&while_loop_p, r::while_loop},
      {&cond_p, r::cond},
      {&kernel_call_p, kernel_call_by_steps},
      {&stop_gradient_p, r::same},
      {&quantized_scale_p, r::same},
      {&variable_p, r::same},
      {&checkpoint_name_p, r::same},
      {&optimization_barrier_p, r::same}};
  return rules;
}

values evaluate(const graph& g, const values& inputs) {
  const vec<char> live = live_nodes(g);
  std::vector<values> results(g.nodes.size());
  for (std::size_t k = 0; k < inputs.size(); ++k) results[static_cast<std::size_t>(g.inputs[k])] = {inputs[k]};
  for (int i = 0; i < g.count(); ++i) {
    const node& n = g[i];
    if (!live[i] || !n.op) continue;
    values in;
    for (int k = 0; k < n.operand_count; ++k)
      in.push_back(results[static_cast<std::size_t>(g.operand(n, k))]
                          [n.op == &get_p ? static_cast<std::size_t>(picked_output(g, n)) : 0]);
    values& out = results[static_cast<std::size_t>(i)];
    const asked a{n, g, in};
    const auto rule = reference_rules().find(n.op);
    if (n.op == &get_p)
      out = in;
    else if (n.op == &constant_p)
      out = {{n.type, std::vector<double>(static_cast<std::size_t>(size(n.type.shape)),
                                          as_double(constant_bits(g, n), n.type.dtype))}};
    else if (n.op == &dense_p) {
      value v = zeros_of(n.type);
      const auto* from = reinterpret_cast<const std::byte*>(g.words_of(n));
      dispatch(n.type.dtype, [&]<dtype T>() {
        for (std::size_t k = 0; k < v.data.size(); ++k)
          v.data[k] = as_double(element_bits::of(reinterpret_cast<const element_t<T>*>(from)[k]), T);
      });
      out = {v};
    } else if (n.op == &captured_p)
      out = {to_value(array(captured_data_of(g, n), n.type))};
    else if (rule != reference_rules().end())
      out = rule->second(a);
    else if (n.op->memory.kind == op_kind::elementwise && (n.op->algebra.fold || n.op->algebra.fold_integers))
      out = reference::elementwise(a);
    else if (n.op->compose)
      out = reference::composed(a);
    else
      throw error("reference", std::string(n.op->name), "a rule, an element function or compose");
  }
  values out;
  for (int o : g.outputs) out.push_back(results[static_cast<std::size_t>(o)][0]);
  return out;
}

}  // namespace tokamax::test
