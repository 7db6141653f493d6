// SPDX-License-Identifier: Apache-2.0
#include <tokamax/base/fixed_string.hpp>

#include "support/catch.hpp"

#include <string>
#include <type_traits>

using tokamax::fixed_string;
using namespace std::string_view_literals;

namespace {

template <fixed_string Name>
struct named {
  static constexpr std::string_view name = Name.view();
};

template <fixed_string<16> Name>
struct bounded {
  static constexpr std::string_view name = Name;
};

static_assert(fixed_string("matmul").capacity() == 6);
static_assert(named<"matmul">::name == "matmul");
static_assert(std::is_same_v<named<"a">, named<"a">> && !std::is_same_v<named<"a">, named<"b">>);
static_assert(bounded<"dot">::name == "dot");
static_assert(std::is_same_v<bounded<"dot">, bounded<fixed_string<16>("dot"sv)>>);
static_assert(fixed_string<6>("matmul", 3) == "mat");
static_assert(fixed_string("").empty() && fixed_string<4>().size() == 0);

static_assert(fixed_string<4>("layer_norm"sv) == "laye");
static_assert(fixed_string<4>("ab"sv).view() == "ab" && fixed_string<4>("ab"sv).c_str()[2] == '\0');
static_assert(!std::is_convertible_v<const char (&)[9], fixed_string<4>>,
              "a literal that is too long does not convert");
static_assert(!std::is_convertible_v<std::string_view, fixed_string<4>>, "truncation is asked for by name");

static_assert(fixed_string("abc") == fixed_string<8>("abc"));
static_assert(fixed_string("abc") != "abd" && "abc" == fixed_string("abc") && fixed_string("abc") < "abd"sv);
static_assert(fixed_string("ab") < fixed_string("abc") && fixed_string("b") > fixed_string("abc"));

}  // namespace

TEST_CASE("fixed_string takes text known at run time") {
  const std::string text = "a name longer than the room for it";
  const fixed_string<6> name{std::string_view(text)};
  CHECK(name.view() == "a name");
  CHECK(std::string(name.c_str()) == "a name");
}
