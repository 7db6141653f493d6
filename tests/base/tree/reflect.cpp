// SPDX-License-Identifier: Apache-2.0
#include <tokamax/base/tree/reflect.hpp>

#include "support/catch.hpp"

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

using namespace tokamax;

namespace plain {

struct empty {};
struct one {
  int only;
};
struct linear {
  float weight, bias;
};
struct with_array {
  std::array<int, 3> a;
  int b;
};
struct only_array {
  std::array<float, 5> a;
};
struct with_c_arrays {
  int a[3];
  float b;
  double c[2][2];
  linear d[2];
};
struct nested {
  linear up{1, 2}, down{3, 4};
  with_array tail{};
  int last = 7;
};
class constructed {  // no default: the number of initialisers has a lower bound as well
 public:
  constexpr constructed(int in, int out) : size(in * out) {}
  int size;
};
struct mlp {
  constructed up{784, 128}, down{128, 10};
};
struct no_default {
  int a = 0;
  constructed up, down;
};
struct immovable {
  immovable() = default;
  immovable(immovable&&) = delete;
};
struct odd_members {
  std::string name;
  std::vector<int> list;
  std::vector<linear> layers;
  std::map<int, std::string> table;
  std::unique_ptr<int> owner;
  std::function<void()> action;
  immovable fixed;
  const char* text = "x";
  int (*function)(int) = nullptr;
  empty nothing;
};
struct greedy_members {
  std::optional<int> maybe;
  std::tuple<linear> single;
  std::tuple<int, float> two;
  std::optional<std::tuple<std::optional<int>>> deep;
  int last;
};
struct widest {
  int a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21, a22, a23;
};
struct another_empty {};
struct derived : linear {
  float extra;
};
struct derived_from_empty : empty {
  float extra;
};
struct derived_from_empties : empty, another_empty {
  int extra[3];
  linear last;
};
struct derived_without_fields : with_c_arrays {};
struct derived_from_mlp : mlp {
  int size() const { return up.size; }
};
struct derived_twice : derived_without_fields {};
struct derived_from_two : linear, with_array {};
struct derived_and_empty : empty {};
template <class Self>
struct mixin {
  constexpr float area() const { return static_cast<const Self&>(*this).width * 2; }
};
struct mixed : mixin<mixed> {
  float width = 3;
};
// clang-format off
struct of_64 {
  int a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21, a22, a23, a24,
      a25, a26, a27, a28, a29, a30, a31, a32, a33, a34, a35, a36, a37, a38, a39, a40, a41, a42, a43, a44, a45, a46, a47,
      a48, a49, a50, a51, a52, a53, a54, a55, a56, a57, a58, a59, a60, a61, a62, a63;
};
// clang-format on
struct long_array {
  char name[200];
  int last;
};
template <class T>
struct generic {
  T value, other;
};
constexpr auto relu = [](float x) { return x > 0 ? x : 0; };
struct with_callable {
  decltype(relu) activation = relu;
  float slope = 0;
};
union either {
  int a;
  float b;
};

}  // namespace plain

namespace described {

class scaling {
 public:
  constexpr explicit scaling(float scale) : scale_(scale), shift_(1) {}
  constexpr int calls() const { return calls_; }
  static constexpr auto tokamax_fields(auto& self) { return std::tie(self.scale_, self.shift_); }

 private:
  float scale_, shift_;
  int calls_ = 0;
};

struct extended : plain::linear {
  float extra = 3;
  static constexpr auto tokamax_fields(auto& self) {
    return std::tuple_cat(base_fields<plain::linear>(self), std::tie(self.extra));
  }
};

struct renamed {
  int a, b;
  static constexpr auto tokamax_fields(auto& self) { return std::tie(self.b); }
  static constexpr std::array<std::string_view, 1> tokamax_field_names{"shown"};
};

}  // namespace described

namespace {

struct in_unnamed_namespace {
  int first_field, second_field;
};

static_assert(field_count<plain::empty> == 0 && field_count<plain::one> == 1 && field_count<plain::linear> == 2);
static_assert(field_count<plain::with_array> == 2 && field_count<plain::only_array> == 1);
static_assert(field_count<plain::with_c_arrays> == 4);
static_assert(field_count<plain::nested> == 4 && field_count<const plain::nested> == 4);
static_assert(field_count<plain::mlp> == 2 && field_count<plain::no_default> == 3);
static_assert(field_count<plain::odd_members> == 10 && field_count<plain::widest> == 24);
static_assert(field_count<plain::greedy_members> == 5);
static_assert(field_count<plain::generic<plain::nested>> == 2 && field_count<plain::with_callable> == 2);
static_assert(field_count<described::scaling> == 2 && field_count<described::renamed> == 1);

static_assert(aggregate_record<plain::linear> && !aggregate_record<described::scaling> && record<described::scaling>);
static_assert(!record<plain::derived> && !record<plain::derived_from_two>,
              "fields in two classes are not named in one go");
static_assert(!record<plain::derived_twice>);
static_assert(field_count<plain::derived_from_empty> == 1 && field_count<plain::derived_from_empties> == 2);
static_assert(field_count<plain::derived_without_fields> == 4 && field_count<plain::derived_from_mlp> == 2);
static_assert(field_count<plain::derived_and_empty> == 0 && field_count<plain::mixed> == 1);
static_assert(field_count<described::extended> == 3 && field_count<plain::of_64> == 64);
static_assert(field_count<plain::long_array> == 2);
static_assert(!record<std::array<int, 3>> && !record<std::string> && !record<int> && !record<plain::either>);
static_assert(!record<plain::constructed> && !record<int[3]> && !record<std::vector<int>>);

static_assert(field_name<plain::linear, 0> == "weight" && field_name<plain::linear, 1> == "bias");
static_assert(field_name<const plain::with_array, 0> == "a" && field_name<plain::with_array, 1> == "b");
static_assert(field_name<plain::with_c_arrays, 0> == "a" && field_name<plain::with_c_arrays, 2> == "c");
static_assert(field_name<plain::nested, 1> == "down" && field_name<plain::nested, 2> == "tail");
static_assert(field_name<plain::odd_members, 3> == "table" && field_name<plain::odd_members, 8> == "function");
static_assert(field_name<plain::odd_members, 9> == "nothing" && field_name<plain::greedy_members, 1> == "single");
static_assert(field_name<plain::widest, 23> == "a23" && field_name<plain::mlp, 0> == "up");
static_assert(field_name<plain::generic<plain::linear>, 1> == "other");
static_assert(field_name<plain::with_callable, 0> == "activation");
static_assert(field_name<in_unnamed_namespace, 1> == "second_field");
static_assert(field_name<plain::generic<in_unnamed_namespace>, 0> == "value");
static_assert(field_name<plain::derived_from_empties, 1> == "last" && field_name<plain::mixed, 0> == "width");
static_assert(field_name<plain::derived_from_mlp, 1> == "down" && field_name<plain::of_64, 63> == "a63");
static_assert(field_name<described::extended, 0> == "weight" && field_name<described::extended, 2> == "extra");
static_assert(field_name<described::scaling, 0> == "scale_" && field_name<described::scaling, 1> == "shift_");
static_assert(field_name<described::renamed, 0> == "shown");

constexpr plain::nested changed() {
  plain::nested it;
  auto [up, down, tail, last] = fields(it);
  std::get<1>(fields(up)) = 20;
  tail.a[2] = 30;
  last = 40;
  down = up;
  return it;
}
static_assert(changed().up.bias == 20 && changed().down.bias == 20 && changed().tail.a[2] == 30);
static_assert(changed().last == 40);
static_assert(std::is_same_v<decltype(fields(std::declval<plain::linear&>())), std::tuple<float&, float&>>);
static_assert(
    std::is_same_v<decltype(fields(std::declval<const plain::linear&>())), std::tuple<const float&, const float&>>);

constexpr float sum(const auto& it) {
  return visit_fields(it, [](const auto&... field) { return (0.0f + ... + static_cast<float>(field)); });
}
static_assert(sum(described::extended{{1, 2}}) == 6 && sum(plain::mixed{}) == 3);
static_assert(sum(plain::linear{2, 3}) == 5 && sum(described::scaling(4)) == 5 && sum(plain::empty{}) == 0);

}  // namespace

TEST_CASE("reflection sees a struct that is local to a function") {
  struct local {
    int rows;
    std::string name;
  };
  STATIC_REQUIRE(field_count<local> == 2);
  local it{3, "x"};
  std::get<1>(fields(it)) += "y";
  CHECK(it.name == "xy");
#ifndef __CUDACC__
  CHECK(field_name<local, 0> == "rows");
  CHECK(field_name<local, 1> == "name");
#endif
}
