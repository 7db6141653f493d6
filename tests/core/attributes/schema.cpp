// tests/core/attributes/schema.cpp: names, kinds and places of attributes.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/core/attributes/schema.hpp>

#include "support/catch.hpp"

using namespace tokamax;

namespace {
enum class mode { slow, fast, third = 5, far = 77 };
struct nested {
  text_attribute name;
  mode how = mode::fast;
};
struct options {
  axes over;
  body_index first = {}, second = {};
  vec<nested> parts;
  dot_algorithm algorithm = dot_algorithm::unspecified;
  axis_number axis = 2, other = {};
  vec<mode> modes;
};
struct branches {
  vec<int> weights_behind;
  int number = 0;
};
struct named {
  int size = 0;
  axis_name name;
  shape extents;
};
struct listed {
  bool first = false;
  vec<body_index> bodies;
};

constexpr attribute_schema s = schema<options>;
static_assert(s.bodies_in(nullptr) == 2 && s.body_place(0) == 0 && s.body_place(1) == 1);
static_assert(s.algorithm == 2 && s.axis == 3 && s.first_list == 5 && s.list == attribute_kind::axes);
static_assert(schema<branches>.list == attribute_kind::record && !schema<branches>.has_bodies());
static_assert(schema<named>.list == attribute_kind::axis_name && schema<named>.first_list == 1);
constexpr std::int64_t three[] = {0, 3, 7, 8, 9};
static_assert(schema<listed>.has_bodies() && schema<listed>.bodies_in(three) == 3 && schema<listed>.body_place(2) == 4);
static_assert(schema<named>.algorithm < 0 && schema<named>.axis < 0);
}  // namespace

TEST_CASE("a record tells the names and kinds of its fields, and the names of enumerators") {
  const attribute_list list = schema<options>.describe();
  REQUIRE(list.fields.count() == 8);
  const char* const names[] = {"over", "first", "second", "parts", "algorithm", "axis", "other", "modes"};
  for (int k = 0; k < 8; ++k) CHECK(list.fields[k].name == names[k]);
  CHECK(list.fields[0].kind == attribute_kind::axes);
  CHECK(list.fields[1].kind == attribute_kind::body);
  CHECK(list.fields[4].enumerators[2] == "bf16_bf16_f32");
  const attribute_field& parts = list.fields[3];
  CHECK(parts.kind == attribute_kind::list);
  CHECK(parts.parts[0].kind == attribute_kind::record);
  CHECK(parts.parts[0].parts[0].kind == attribute_kind::text);
  const vec<std::string_view>& modes = parts.parts[0].parts[1].enumerators;
  REQUIRE(modes.count() == 6);  // values from 16 on have no names
  CHECK(modes[1] == "fast");
  CHECK(modes[2].empty());
  CHECK(modes[5] == "third");
}

TEST_CASE("attributes are found in words, whatever stands before them") {
  const options o{{0, 2}, 4, 5,          {{"a longer name than a word", mode::slow}, {}}, dot_algorithm::f32_f32_f32,
                  1,      0, {mode::far}};
  const words w = pack(o);
  const attribute_list list = schema<options>.describe();
  const auto places = tokamax::detail::places_of(list.fields, w.data());
  int total = 0;
  for (int k = 0; k < list.fields.count(); ++k) total += tokamax::detail::words_of_field(list.fields[k], places[k]);
  CHECK(total == w.count());
  CHECK(*places[1] == 4);
  CHECK(*places[5] == 1);
  CHECK(places[0][2] == 2);
  CHECK(places[7][1] == 77);
}
