// SPDX-License-Identifier: Apache-2.0
#include <tokamax/base/hana.hpp>
#include <tokamax/base/tree.hpp>

#include "support/catch.hpp"

#include <boost/hana/adapt_struct.hpp>
#include <boost/hana/define_struct.hpp>

namespace hana = boost::hana;
using namespace tokamax;

namespace zoo {

struct leaf {
  float value = 0;
};
class scaling {
 public:
  constexpr explicit scaling(float s) : scale{s} {}
  leaf scale;
  float eps = 0.5f;
  int not_adapted = 0;
};
struct chain {
  hana::tuple<scaling> one{scaling(1.0f)};
  hana::tuple<scaling, leaf, int> more{scaling(2.0f), leaf{3.0f}, 4};
};
struct aggregate {
  BOOST_HANA_DEFINE_STRUCT(aggregate, (leaf, left), (leaf, right));
};

}  // namespace zoo

BOOST_HANA_ADAPT_STRUCT(zoo::scaling, scale, eps);

template <>
inline constexpr bool tokamax::is_leaf<zoo::leaf> = true;

namespace {

using namespace zoo;

static_assert(record<scaling> && field_count<scaling> == 2 && field_count<const scaling> == 2);
static_assert(field_name<scaling, 0> == "scale" && field_name<scaling, 1> == "eps");
static_assert(field_count<hana::tuple<leaf, int>> == 2 && field_count<hana::tuple<>> == 0);
static_assert(field_count<chain> == 2 && field_name<chain, 0> == "one");
static_assert(field_count<aggregate> == 2 && field_name<aggregate, 1> == "right");
static_assert(std::is_same_v<decltype(fields(std::declval<const scaling&>())), std::tuple<const leaf&, const float&>>);
static_assert(count_leaves(chain{}) == 3 && count_leaves(aggregate{}) == 2);

constexpr chain doubled = tree_map([](leaf x) { return leaf{2 * x.value}; }, chain{});
static_assert(hana::at_c<0>(doubled.one).scale.value == 2 && hana::at_c<1>(doubled.more).value == 6);
static_assert(same_static(doubled, chain{}) && hana::at_c<2>(doubled.more) == 4);

constexpr bool differs() {
  scaling a(1.0f), b(1.0f);
  b.not_adapted = 1;
  const bool before = same_static(a, b);
  b.eps = 0;
  return before && !same_static(a, b);
}
static_assert(differs());

}  // namespace

TEST_CASE("Hana's structs and tuples have paths") {
  std::vector<std::string> paths;
  for_each_leaf_with_path([&](std::string_view path, const leaf&) { paths.emplace_back(path); }, chain{}, "state");
  CHECK(paths == std::vector<std::string>{"state.one[0].scale", "state.more[0].scale", "state.more[1]"});
}
