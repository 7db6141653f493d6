// tests/core/attributes/pack.cpp: options records of all kinds as attribute words.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/core/attributes/pack.hpp>

#include "support/catch.hpp"

#include <string>

using namespace tokamax;

namespace {
enum class mode { slow, fast };
struct options {
  std::int64_t rows = 0;
  bool causal = false;
  mode how = mode::slow;
  double scale = 0;
  shape extents;
  axes empty;
  dtype type = dtype::none;
};
constexpr options sample{-7, true, mode::fast, -0.125, {2, dyn(), 3}, {}, bf16};

constexpr bool returns() {
  const words w = pack(sample);
  const options o = unpack<options>(w.data());
  return o.rows == -7 && o.causal && o.how == mode::fast && o.scale == -0.125 && o.extents == shape{2, dyn(), 3} &&
         o.empty.rank() == 0 && o.type == bf16;
}
static_assert(returns());
static_assert(pack(sample).count() == 6 + 3 + 1);

struct part {
  text_attribute name;
  axis_number axis = {};
  vec<mode> modes;
  constexpr bool operator==(const part& o) const {
    return name == o.name && axis == o.axis && modes.count() == o.modes.count();
  }
};
struct pair_of_numbers {
  int first = 1;
  double second = 2;
};
struct everything {
  vec<words> lists;
  axis_name along;
  body_index body = {};
  vec<body_index> bodies;
  dot_algorithm algorithm = dot_algorithm::unspecified;
  permutation order;
  array_type type;
  vec<part> parts;
  pair_of_numbers numbers;
  vec<text_attribute> texts;
};
constexpr everything made() {
  everything e;
  e.lists = {words{1, 2}, words{}, words{3}};
  e.along = "batch";
  e.body = 3;
  e.bodies = {4, 5};
  e.algorithm = dot_algorithm::tf32_tf32_f32;
  e.order = axes{1, 0};
  e.type = {bf16, true, {2, 3}};
  e.parts = {part{"first", 1, {mode::fast}}, part{"", 0, {}}};
  e.numbers = {7, -0.5};
  e.texts = {"a name of more than eight characters", "eight ch", "\xff\x80 bytes"};
  return e;
}
constexpr bool keeps_everything() {
  const words w = pack(made());
  const everything e = unpack<everything>(w.data());
  const everything was = made();
  bool same = e.lists.count() == 3 && e.lists[0].count() == 2 && e.lists[0][1] == 2 && e.lists[2][0] == 3;
  same = same && e.along == was.along && e.body == 3 && e.bodies.count() == 2 && e.bodies[1] == 5;
  same = same && e.algorithm == was.algorithm && e.order == was.order && e.type == was.type && e.type.weak;
  same = same && e.parts.count() == 2 && e.parts[0] == was.parts[0] && e.parts[1] == was.parts[1];
  same = same && e.parts[0].modes[0] == mode::fast && e.numbers.first == 7 && e.numbers.second == -0.5;
  for (int k = 0; k < 3; ++k) same = same && e.texts[k] == was.texts[k];
  return same;
}
static_assert(keeps_everything());
// what has a known number of words comes first: body, algorithm, numbers
static_assert(pack(made())[0] == 3 && pack(made())[1] == static_cast<std::int64_t>(dot_algorithm::tf32_tf32_f32) &&
              pack(made())[2] == 7 && pack(made())[4] == 3);
}  // namespace

TEST_CASE("texts of every length and with every byte are kept") {
  std::string s;
  for (int n = 0; n <= 300; ++n) {
    struct one {
      text_attribute text;
      int after = 0;
      axis_name name;
    };
    const words w = pack(one{s, n, std::string_view(s).substr(static_cast<std::size_t>(n / 2))});
    const one back = unpack<one>(w.data());
    REQUIRE(back.text.view() == s);
    REQUIRE(back.name.view() == s.substr(static_cast<std::size_t>(n / 2)));
    REQUIRE(back.after == n);
    REQUIRE(tokamax::detail::is_text(w.data() + 1, s));
    REQUIRE_FALSE(tokamax::detail::is_text(w.data() + 1, s + "x"));
    if (n > 0) REQUIRE_FALSE(tokamax::detail::is_text(w.data() + 1, "x" + s.substr(1)));
    s += static_cast<char>(255 - n);
  }
}

TEST_CASE("empty records and lists") {
  struct none {};
  struct lists {
    vec<vec<vec<std::int64_t>>> deep;
    vec<none> empty;
  };
  CHECK(pack(none{}).empty());
  CHECK(pack(lists{}).count() == 2);
  const words w = pack(lists{{{}, {{1}, {}}}, {none{}, none{}}});
  const lists l = unpack<lists>(w.data());
  CHECK(l.deep.count() == 2);
  CHECK(l.deep[1][0][0] == 1);
  CHECK(l.empty.count() == 2);
}
