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
