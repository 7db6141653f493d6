// tests/numpy/indexing.cpp: parts of arrays by indices of every kind, and arrays with parts changed, are those of JAX.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/numpy.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/golden_cases.hpp"

#include <deque>
#include <sstream>

using namespace tokamax;
using namespace tokamax::test;

namespace {
using options = const case_options&;

/// The part of x that "1|::2|new|dots|x0|m1.5" names: number, range, new axis, ellipsis, array 0, mask 1 of 5 elements.
indexed_part part(const array& x, const arrays& given, options o) {
  std::deque<index_expression> list;
  std::deque<masked> masks;
  std::istringstream in(o.text("at"));
  for (std::string word; std::getline(in, word, '|');) {
    if (word == "new") {
      list.emplace_back(newaxis);
    } else if (word == "dots") {
      list.emplace_back(ellipsis);
    } else if (word[0] == 'x') {
      list.emplace_back(given[std::stoi(word.substr(1))]);
    } else if (word[0] == 'm') {
      masks.emplace_back(given[std::stoi(word.substr(1))], std::stoll(word.substr(word.find('.') + 1)));
      list.emplace_back(masks.back());
    } else if (word.find(':') != std::string::npos) {
      std::vector<std::string> bounds;
      std::istringstream numbers(word + ":");
      for (std::string number; std::getline(numbers, number, ':');) bounds.push_back(number);
      bounds.resize(3);
      range r = every(bounds[2].empty() ? 1 : std::stoll(bounds[2]));
      if (!bounds[0].empty()) r.start = std::stoll(bounds[0]);
      if (!bounds[1].empty()) r.stop = std::stoll(bounds[1]);
      list.emplace_back(r);
    } else {
      list.emplace_back(std::stoll(word));
    }
  }
  std::vector<const index_expression*> pointers;
  for (const index_expression& e : list) pointers.push_back(&e);
  return indexed_part(x, pointers.data(), static_cast<int>(pointers.size()));
}
arrays from(const arrays& x, int first) {
  arrays rest;
  for (int k = first; k < x.count(); ++k) rest.push_back(x[k]);
  return rest;
}
at_options how(options o) {
  const std::map<std::string, index_mode> modes{{"clip", index_mode::clip},
                                                {"fill", index_mode::fill},
                                                {"drop", index_mode::drop},
                                                {"promise_in_bounds", index_mode::promise_in_bounds},
                                                {"", index_mode::by_default}};
  return {modes.at(o.text("mode")), o.number("fill_value", at_options{}.fill_value)};
}
case_functions updates() {
  case_functions table;
  table["get"] = [](const arrays& x, options o) -> arrays { return part(x[0], from(x, 1), o).get(how(o)); };
  using update = array (indexed_part::*)(const array&, at_options) const;
  const std::pair<const char*, update> functions[] = {
      {"set", &indexed_part::set},           {"add", &indexed_part::add},     {"subtract", &indexed_part::subtract},
      {"multiply", &indexed_part::multiply}, {"min", &indexed_part::min},     {"max", &indexed_part::max},
      {"divide", &indexed_part::divide},     {"power", &indexed_part::power},
  };
  for (const auto& [name, f] : functions)
    table[name] = [f = f](const arrays& x, options o) -> arrays {
      return (part(x[0], from(x, 2), o).*f)(x[1], how(o));
    };
  return table;
}
}  // namespace

TEST_CASE("parts of arrays are those of JAX") { check_cases("numpy/indexing.txt", updates()); }

TEST_CASE("an index reads like C++ and like NumPy") {
  const array x = reshape(arange(24), {2, 3, 4}), i = array::from<std::int32_t>({2, 0});
  CHECK(x(1, range{0, 2}, -1).shape() == shape{2});
  CHECK(x(1, 2, 3).item<int>() == 23);
  CHECK(x(ellipsis, newaxis, 0).shape() == shape{2, 3, 1});
  CHECK(x(whole, every(-1))(0, 0, 0).item<int>() == 8);
  CHECK(x(whole, i).shape() == shape{2, 2, 4});
  CHECK(x(x > 20).shape() == shape{3});
  CHECK(x(masked(x > 20, 5)).shape() == shape{5});
  CHECK(x.at(0, i).set(-1)(0, 2, 3).item<int>() == -1);
  CHECK(x.at(1, 1, 1).apply([](const array& v) { return v * v; })(1, 1, 1).item<int>() == 17 * 17);
}

TEST_CASE("wrong indices are rejected where they stand") {
  const array x = zeros({2, 3});
  CHECK_THROWS_WITH(x(0, 1, 2), contains("index: number of indices") && contains("indexing.cpp"));
  CHECK_THROWS_WITH(x(ellipsis, ellipsis), contains("index: ellipsis"));
  CHECK_THROWS_WITH(x(zeros({2})), contains("index: dtype"));
  CHECK_THROWS_WITH(x(every(0)), contains("index: step"));
  CHECK_THROWS_WITH(x(zeros({3}, bool_)), contains("index: mask"));
  CHECK_THROWS_WITH(x.at(0).set(zeros({2})), contains("broadcast_to: shape"));
}

TEST_CASE("parts are known while compiling") {
  static constexpr auto f = [](const array& x) { return x(every(-1), newaxis).at(0).add(1.0f); };
  static_assert(std::is_same_v<decltype(f(array())), array>);
  CHECK(f(arange(3)).shape() == shape{3, 1});
}

TEST_CASE("indices of any integer dtype mean what they say") {
  const array x = array::from<float>({1, 2, 3, 4});
  const auto set = [&](const array& i) { return to_values(arrays{x.at(i).set(9.0f)}); };
  const auto is = [](const values& found, std::initializer_list<float> v) {
    return difference(found, to_values(arrays{array::from<float>(v)}), 0) == "";
  };
  CHECK(is(set(array::from<std::uint32_t>({4294967295u})), {1, 2, 3, 4}));
  CHECK(is(set(array::from<std::uint64_t>({4294967297u})), {1, 2, 3, 4}));
  CHECK(is(set(array::from<std::int64_t>({4294967297})), {1, 2, 3, 4}));
  CHECK(is(set(array::from<std::uint8_t>({1})), {1, 9, 3, 4}));
  CHECK(is(set(array::from<std::int64_t>({-1})), {1, 2, 3, 9}));
  CHECK(is(to_values(arrays{x(array::from<std::uint32_t>({4294967295u, 1u}))}), {4, 2}));  // the nearest one
  CHECK(is(to_values(arrays{choose(array::from<std::uint32_t>({4294967295u}), {array(1.0f), array(2.0f)})}), {2}));
  CHECK(is(to_values(arrays{choose(array::from<std::int64_t>({4294967296}), {array(1.0f), array(2.0f)})}), {2}));
  CHECK(is(to_values(arrays{roll(x, array::from<std::int64_t>({4294967297}, {}), {0})}), {4, 1, 2, 3}));
  CHECK(is(to_values(arrays{ldexp(x, array::from<std::int64_t>({-4294967296}, {}))}), {0, 0, 0, 0}));
  CHECK(is(to_values(arrays{take(x, array::from<std::int64_t>({std::int64_t{1} << 32}))}),
           {std::numeric_limits<float>::quiet_NaN()}));
}

TEST_CASE("places in tables of more than 2^31 rows are i64") {
  const std::int64_t n = std::int64_t{1} << 31;
  const array x(array_type{i8, false, {n + 8}}), wide(array_type{i8, false, {1 << 16, 1 << 16}}),
      few(array_type{i8, false, {4, 5}});
  const array i(array_type{i64, false, {3}}), narrow(array_type{i32, false, {3}});
  const auto type_of_places = [](const array& a, std::initializer_list<index_expression> list) {
    vec<const index_expression*> each;
    for (const index_expression& e : list) each.push_back(&e);
    return tokamax::detail::places_of_plan(tokamax::detail::plan_of(a, each.data(), each.count()), a, index_mode::drop)
        .rows.dtype();
  };
  CHECK(type_of_places(x, {i}) == i64);
  CHECK(type_of_places(wide, {narrow, narrow}) == i64);
  CHECK(type_of_places(wide, {narrow}) == i32);
  CHECK(type_of_places(few, {i, i}) == i32);
}

TEST_CASE("an ellipsis that stands for no axis still lies between arrays") {
  const array x = reshape(arange(24), {2, 3, 4}), i = array::from<std::int32_t>({1, 0, 1, 1, 0}), j = i;
  CHECK(x(whole, i, ellipsis, j).shape() == shape{5, 2});
  CHECK(x(whole, i, j).shape() == shape{2, 5});
  CHECK(x(whole, i, j, ellipsis).shape() == shape{2, 5});
  CHECK(x(ellipsis, whole, i, j).shape() == shape{2, 5});
  CHECK(x(i, ellipsis, j).shape() == shape{5, 3});
}

TEST_CASE("a quotient is one division, and repeated exponents are multiplied") {
  vec<float> whole_numbers;
  for (int k = 1; k <= 200; ++k) whole_numbers.push_back(static_cast<float>(k));
  const array k = array::from<float>(std::span<const float>(whole_numbers.data(), 200), {200}), all = arange(200);
  CHECK(difference(to_values(arrays{k.at(all).divide(k)}), to_values(arrays{ones({200})}), 0) == "");
  const array seven = array::from<std::int32_t>({7, 8}).at(0).divide(2);
  CHECK(difference(to_values(arrays{seven}), to_values(arrays{array::from<float>({3.5f, 8})}), 0) == "");
  const array twice = array::from<std::int32_t>({1, 1});
  const array x = array::from<float>({5, 3});
  CHECK(difference(to_values(arrays{x.at(twice).power(2.0f)}), to_values(arrays{array::from<float>({5, 81})}), 1e-6) ==
        "");
  CHECK(difference(to_values(arrays{x.at(twice).divide(2.0f)}), to_values(arrays{array::from<float>({5, 0.75f})}), 0) ==
        "");
  CHECK(array::from<std::int32_t>({5, 3}).at(twice).power(2)(1).item<int>() == 81);
}
