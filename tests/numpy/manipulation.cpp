// tests/numpy/manipulation.cpp: functions that move elements give what jax.numpy gives.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/numpy.hpp>

#include "support/catch.hpp"
#include "support/golden_cases.hpp"

using namespace tokamax;
using namespace tokamax::test;

namespace {
using options = const case_options&;
int number(options o, const char* name, int otherwise = 0) { return static_cast<int>(o.integer(name, otherwise)); }

array padded(const array& x, options o) {
  const std::map<std::string, pad_mode> modes{
      {"constant", pad_mode::constant}, {"edge", pad_mode::edge},           {"linear_ramp", pad_mode::linear_ramp},
      {"maximum", pad_mode::maximum},   {"mean", pad_mode::mean},           {"minimum", pad_mode::minimum},
      {"reflect", pad_mode::reflect},   {"symmetric", pad_mode::symmetric}, {"wrap", pad_mode::wrap}};
  const shape before = o.list("before"), after = o.list("after");
  vec<pad_width> widths;
  for (int i = 0; i < before.rank(); ++i) widths.push_back({before[i], after[i]});
  return pad(x, widths,
             {modes.at(o.text("mode")), o.number("before_value"), o.number("after_value"), o.integer("stat_length", -1),
              o.flag("odd")});
}
void add_orders(case_functions& table) {
  table["moveaxis"] = [](const arrays& x, options o) -> arrays { return moveaxis(x[0], o.list("from"), o.list("to")); };
  table["rollaxis"] = [](const arrays& x, options o) -> arrays {
    return rollaxis(x[0], o.axis(0), number(o, "start"));
  };
  table["permute_dims"] = [](const arrays& x, options o) -> arrays { return permute_dims(x[0], o.list("axes")); };
  table["matrix_transpose"] = [](const arrays& x, options) -> arrays { return matrix_transpose(x[0]); };
  table["expand_dims"] = [](const arrays& x, options o) -> arrays { return expand_dims(x[0], o.list("axis")); };
  table["squeeze"] = [](const arrays& x, options o) -> arrays {
    return o.has("axis") ? squeeze(x[0], o.list("axis")) : squeeze(x[0]);
  };
  table["ravel"] = [](const arrays& x, options) -> arrays { return ravel(x[0]); };
  table["atleast_1d"] = [](const arrays& x, options) -> arrays { return atleast_1d(x[0]); };
  table["atleast_2d"] = [](const arrays& x, options) -> arrays { return atleast_2d(x[0]); };
  table["atleast_3d"] = [](const arrays& x, options) -> arrays { return atleast_3d(x[0]); };
  table["flip"] = [](const arrays& x, options o) -> arrays {
    return o.has("axis") ? flip(x[0], o.list("axis")) : flip(x[0]);
  };
  table["fliplr"] = [](const arrays& x, options) -> arrays { return fliplr(x[0]); };
  table["flipud"] = [](const arrays& x, options) -> arrays { return flipud(x[0]); };
  table["rot90"] = [](const arrays& x, options o) -> arrays { return rot90(x[0], number(o, "k"), o.list("axes")); };
  table["roll"] = [](const arrays& x, options o) -> arrays {
    return o.has("axis") ? roll(x[0], o.list("shift"), o.list("axis")) : roll(x[0], o.integer("shift"));
  };
  table["roll_by"] = [](const arrays& x, options o) -> arrays { return roll(x[0], x[1], o.list("axis")); };
}
void add_joins(case_functions& table) {
  table["broadcast_arrays"] = [](const arrays& x, options) { return broadcast_arrays(x); };
  table["vstack"] = [](const arrays& x, options) -> arrays { return vstack(x); };
  table["hstack"] = [](const arrays& x, options) -> arrays { return hstack(x); };
  table["dstack"] = [](const arrays& x, options) -> arrays { return dstack(x); };
  table["column_stack"] = [](const arrays& x, options) -> arrays { return column_stack(x); };
  table["append"] = [](const arrays& x, options o) -> arrays {
    return o.has("axis") ? append(x[0], x[1], o.axis(0)) : append(x[0], x[1]);
  };
  table["block"] = [](const arrays& x, options) -> arrays { return block({{x[0], x[1]}, {x[1], x[0]}}); };
  table["array_split"] = [](const arrays& x, options o) { return array_split(x[0], number(o, "parts"), o.axis(0)); };
  table["split_at"] = [](const arrays& x, options o) { return split_at(x[0], o.list("at"), o.axis(0)); };
  table["vsplit"] = [](const arrays& x, options) { return vsplit(x[0], 2); };
  table["hsplit"] = [](const arrays& x, options) { return hsplit(x[0], 2); };
  table["dsplit"] = [](const arrays& x, options) { return dsplit(x[0], 2); };
  table["unstack"] = [](const arrays& x, options o) { return unstack(x[0], o.axis(0)); };
  table["repeat"] = [](const arrays& x, options o) -> arrays {
    return o.has("axis") ? repeat(x[0], o.integer("times"), o.axis(0)) : repeat(x[0], o.integer("times"));
  };
  table["repeat_each"] = [](const arrays& x, options o) -> arrays {
    return repeat(x[0], x[1], o.axis(0), o.integer("total"));
  };
  table["tile"] = [](const arrays& x, options o) -> arrays { return tile(x[0], o.list("reps")); };
  table["resize"] = [](const arrays& x, options o) -> arrays { return resize(x[0], o.list("new_shape")); };
  table["pad"] = [](const arrays& x, options o) -> arrays { return padded(x[0], o); };
}
}  // namespace

TEST_CASE("functions that move elements are those of jax.numpy") {
  case_functions table;
  add_orders(table);
  add_joins(table);
  check_cases("numpy/manipulation.txt", table);
}

TEST_CASE("odd mirror images on both sides go on as the first ones do") {
  const array x = array::from<float>({1, 4, 9});
  const auto is = [](const array& found, std::initializer_list<float> v) {
    return difference(to_values(arrays{found}), to_values(arrays{array::from<float>(v)}), 0) == "";
  };
  const auto odd = [&](pad_mode mode, std::int64_t before, std::int64_t after) {
    return pad(x, {{before, after}}, {.mode = mode, .odd = true});
  };
  // np.pad([1, 4, 9], (b, a), mode, reflect_type="odd") of NumPy 2
  CHECK(is(odd(pad_mode::reflect, 1, 7), {-2, 1, 4, 9, 14, 17, 20, 25, 30, 33, 36}));
  CHECK(is(odd(pad_mode::reflect, 5, 1), {-18, -15, -12, -7, -2, 1, 4, 9, 14}));
  CHECK(is(odd(pad_mode::symmetric, 1, 7), {1, 1, 4, 9, 9, 14, 17, 17, 20, 25, 25}));
}
