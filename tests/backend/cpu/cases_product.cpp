// tests/backend/cpu/cases_product.cpp: products, convolutions and pools carry special values where their sums do.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/lax/dot_general.hpp>
#include <tokamax/lax/windows/conv.hpp>
#include <tokamax/lax/windows/pool.hpp>
#include <tokamax/ops/ragged_dot.hpp>

#include "cases.hpp"

namespace tokamax::test {

namespace {

using case_list = std::vector<adversarial_case>;

/// f32 numbers that bf16 has, too, so that rounding them again changes nothing.
array representable(const array& a) { return astype(astype(a, bf16), f32); }
array special(const shape& s, unsigned seed, dtype t) {
  return is_floating(t) ? sprinkled(s, seed, t, 1e4) : adversarial(s, seed, t);
}
adversarial_options sums_of(dtype t) { return {.tolerance = t == bf16 ? 8e-3 : t == f32 ? 5e-6 : 0, .floor = 10}; }

/// f of a and b, special values in one of them at a time, and its gradients.
void add_pair(case_list& cases, const std::string& name, const function& f, const array& a, const array& b) {
  const auto s = [](const array& x, unsigned seed) { return special(x.shape(), seed, x.dtype()); };
  const adversarial_options o = sums_of(a.dtype());
  cases.push_back({name + ", left", f, {s(a, 3), b}, o});
  cases.push_back({name + ", right", f, {a, s(b, 0)}, o});
  if (!is_floating(a.dtype())) return;
  const array_type y = trace(f, types_of({a, b})).nodes[trace(f, types_of({a, b})).outputs[0]].type;
  const array ct = noise(y, 7);
  const function g = vjp_of(f, 2);
  cases.push_back({"vjp of " + name + ", left", g, {s(a, 3), b, ct}, o});
  cases.push_back({"vjp of " + name + ", right", g, {a, s(b, 0), ct}, o});
  cases.push_back({"vjp of " + name + ", cotangent", g, {a, b, s(ct, 1)}, o});
}

void add_dots(case_list& cases) {
  const auto product = [](dtype sum, dot_algorithm algorithm) {
    return [=](const arrays& x) -> arrays {
      dot_dimensions d{.lhs_contracting = {x[0].rank() - 1},
                       .rhs_contracting = {x[1].rank() - 2},
                       .preferred_element_type = sum,
                       .algorithm = algorithm};
      for (int i = 0; i + 2 < x[0].rank(); ++i) d.lhs_batch.push_back(i), d.rhs_batch.push_back(i);
      return dot_general(x[0], x[1], d);
    };
  };
  const struct {
    shape a, b;
  } sizes[] = {{{83, 37}, {37, 29}},    {{1, 101}, {101, 1}},     {{53, 1}, {1, 67}},
               {{0, 5}, {5, 3}},        {{5, 0}, {0, 3}},         {{1, 257}, {257, 61}},
               {{131, 257}, {257, 61}}, {{3, 7, 11}, {3, 11, 5}}, {{16, 64}, {64, 96}}};
  for (const auto& s : sizes) {
    for (const dtype t : {f32, bf16, i8, i32, u32}) {
      const array a = is_floating(t) ? noise(s.a, 4, t) : adversarial(s.a, 4, t),
                  b = is_floating(t) ? noise(s.b, 8, t) : adversarial(s.b, 8, t);
      add_pair(cases, named("dot_general", t), product(dtype::none, dot_algorithm::unspecified), a, b);
      if (t == i8) add_pair(cases, "dot_general i8 in i32", product(i32, dot_algorithm::unspecified), a, b);
      if (t == bf16) add_pair(cases, "dot_general bf16 in f32", product(f32, dot_algorithm::unspecified), a, b);
    }
    const array a = representable(noise(s.a, 4)), b = representable(noise(s.b, 8));
    const function rounded = product(dtype::none, dot_algorithm::bf16_bf16_f32);
    cases.push_back({"dot_general f32 in bf16, left", rounded, {representable(special(s.a, 3, f32)), b}, sums_of(f32)});
    cases.push_back(
        {"dot_general f32 in bf16, right", rounded, {a, representable(special(s.b, 5, f32))}, sums_of(f32)});
  }
}

void add_convolutions(case_list& cases) {
  const conv_options plain{
      .strides = {1, 1}, .low = {1, 1}, .high = {1, 1}, .lhs_dilation = {1, 1}, .rhs_dilation = {1, 1}};
  struct {
    const char* name;
    conv_options o;
    shape x, w;
  } of[] = {{"", plain, {2, 7, 9, 3}, {3, 3, 3, 5}},
            {"of many channels", plain, {1, 5, 31, 17}, {3, 3, 17, 19}},
            {"strided", plain, {2, 9, 8, 3}, {3, 2, 3, 4}},
            {"dilated", plain, {1, 9, 11, 2}, {3, 3, 2, 4}},
            {"of holes", plain, {1, 5, 6, 3}, {3, 3, 3, 4}},
            {"cut", plain, {1, 9, 7, 3}, {2, 3, 3, 4}},
            {"in groups", plain, {2, 5, 7, 4}, {3, 3, 2, 6}},
            {"depthwise", plain, {2, 5, 7, 11}, {3, 3, 1, 11}},
            {"depthwise, twice", plain, {1, 5, 7, 3}, {3, 3, 1, 6}},
            {"in groups of the batch", plain, {4, 5, 6, 3}, {3, 3, 3, 4}},
            {"of nothing", plain, {0, 5, 6, 3}, {3, 3, 3, 4}},
            {"without channels", plain, {2, 5, 6, 0}, {3, 3, 0, 4}}};
  of[2].o.strides = {2, 3};
  of[3].o.rhs_dilation = {2, 3};
  of[4].o.lhs_dilation = {2, 3};
  of[5].o.low = {-1, 2}, of[5].o.high = {2, -2};
  of[6].o.feature_groups = 2;
  of[7].o.feature_groups = 11;
  of[8].o.feature_groups = 3;
  of[9].o.batch_groups = 2;
  for (const auto& c : of)
    for (const dtype t : {f32, bf16})
      add_pair(
          cases, named("conv " + std::string(c.name), t),
          [o = c.o](const arrays& x) -> arrays { return conv_general_dilated(x[0], x[1], o); }, noise(c.x, 1, t),
          noise(c.w, 2, t));
  const conv_options line{.strides = {2}, .low = {2}, .high = {1}, .lhs_dilation = {1}, .rhs_dilation = {1}};
  add_pair(
      cases, "conv of one axis", [=](const arrays& x) -> arrays { return conv_general_dilated(x[0], x[1], line); },
      noise({2, 101, 3}, 1), noise({5, 3, 4}, 2));
}

void add_pools(case_list& cases) {
  const struct {
    shape window;
    pool_options o;
    shape x;
  } of[] = {{{2, 2}, {}, {2, 8, 6, 37}},
            {{3, 3}, {.strides = {2, 2}, .padding = padding::same}, {1, 9, 7, 5}},
            {{3, 2}, {.strides = {1, 1}, .padding = padding::same}, {2, 5, 6, 16}},
            {{2, 2}, {}, {0, 4, 4, 3}}};
  for (const auto& c : of) {
    const function f = [=](const arrays& x) -> arrays { return max_pool(x[0], c.window, c.o); };
    for (const dtype t : {i8, i32, u32, bf16, f32}) {
      const array x = special(c.x, 3, t);
      cases.push_back({named("max_pool", t), f, {x}});
      if (!is_floating(t)) continue;
      const array y = f(arrays{x})[0];
      cases.push_back({named("vjp of max_pool", t), vjp_of(f, 1), {x, special(y.shape(), 4, t)}, sums_of(t)});
    }
  }
}

}  // namespace

void add_ragged(case_list& cases) {
  const array sizes = array::from<std::int32_t>({3, 0, 17, 1, 40, 0, 9}, {1, 7}),
              first = array::from<std::int32_t>({2});
  for (const dtype t : {f32, bf16})
    for (const auto form :
         {ragged_dot_form::standard, ragged_dot_form::transposed_rhs, ragged_dot_form::ragged_contracting}) {
      const shape rhs = form == ragged_dot_form::standard         ? shape{1, 7, 37, 29}
                        : form == ragged_dot_form::transposed_rhs ? shape{1, 7, 29, 37}
                                                                  : shape{1, 83, 29};
      add_pair(
          cases, named("ragged_dot", t),
          [=](const arrays& x) -> arrays {
            return bind(ragged_dot_p, {x[0], x[1], sizes, first}, ragged_dot_attributes{.form = form}, location{});
          },
          noise({1, 83, 37}, 4, t), noise(rhs, 8, t));
    }
}

case_list product_cases() {
  case_list cases;
  add_dots(cases);
  add_ragged(cases);
  add_convolutions(cases);
  add_pools(cases);
  return cases;
}

}  // namespace tokamax::test
