// tests/core/print.cpp: arrays as text, against NumPy's.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/core/format.hpp>
#include <tokamax/core/print.hpp>
#include <tokamax/core/tensor.hpp>

#include "support/catch.hpp"
#include "support/golden.hpp"

#include <fstream>  // ifstream
#include <sstream>  // istringstream
#include <vector>   // vector

using namespace tokamax;
using test::array_of;

namespace {
/// A case of tests/golden/print.txt, whose first line is `head`: "dtype extents... : values".
array made_from(const std::string& head) {
  std::istringstream in(head);
  std::string type, word;
  in >> type;
  shape s;
  while (in >> word && word != ":") s.push_back(std::stoll(word));
  std::vector<double> values;
  while (in >> word)
    if (word == "count")
      for (std::int64_t i = 0; i < size(s); ++i) values.push_back(static_cast<double>(i));
    else
      values.push_back(std::stod(word));
  return array_of(type, s, values);
}
}  // namespace

TEST_CASE("arrays are printed as NumPy prints them") {
  std::ifstream in(TOKAMAX_ROOT "/tests/golden/print.txt");
  std::string head, expected;
  int cases = 0;
  const auto check = [&] {
    if (head.empty()) return;
    INFO(head);
    CHECK(to_string(made_from(head)) == expected);
    ++cases;
  };
  for (std::string line; std::getline(in, line);) {
    if (line[0] != '|') {
      check();
      head = line;
      expected.clear();
    } else {
      expected += (expected.empty() ? "" : "\n") + line.substr(1);
    }
  }
  check();
  CHECK(cases > 40);
}

TEST_CASE("an array without data prints its type and what it is") {
  CHECK(to_string(array()) == "array()");
  CHECK(to_string(array(array_type{f32, false, {2, 3}})) == "f32[2,3] (abstract)");
  graph g;
  CHECK(to_string(array(&g, g.input({i32, false, {2}}), {i32, false, {2}})) == "i32[2] (traced)");
  array a = array::from<float>({1});
  const array b = std::move(a);
  CHECK(to_string(a) == "f32[1] (moved from)");
}

TEST_CASE("literals, bf16 and other ways to print") {
  CHECK(to_string(0.5f) == "0.5");
  CHECK(to_string(array(0.0, {f32, false, {2}})) == "[0. 0.]");
  CHECK(to_string(array(0.1, {bf16, false, {2}})) == "[0.10009766 0.10009766]");
  const tensor<f32, 2> x(array::from<float>({1, 2.5f}));
  CHECK(fmt::format("{}", x) == "[1.  2.5]");
  CHECK(fmt::format("{:>10}", array(3)) == "         3");
  std::ostringstream out;
  out << x << 1;
  CHECK(out.str() == "[1.  2.5]1");
}
