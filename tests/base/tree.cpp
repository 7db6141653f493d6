// SPDX-License-Identifier: Apache-2.0
#include <tokamax/base/tree.hpp>

#include "support/catch.hpp"

#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <variant>

using namespace tokamax;

namespace zoo {

struct leaf {
  float value = 0;
  constexpr leaf() = default;
  constexpr leaf(float v) : value(v) {}
  constexpr bool operator==(const leaf&) const = default;
};
struct other_leaf {
  int value = 0;
};

}  // namespace zoo

template <>
inline constexpr bool tokamax::is_leaf<zoo::leaf> = true;
template <>
inline constexpr bool tokamax::is_leaf<zoo::other_leaf> = true;

namespace zoo {

enum class mode { train, test };
constexpr auto relu = [](float x) { return x > 0 ? x : 0; };
struct gelu {};

struct linear {
  leaf weight{1.0f}, bias{2.0f};
  int in = 3;
};
struct block {
  linear up{4.0f, 5.0f}, down{6.0f, 7.0f};
  decltype(relu) activation = relu;
  gelu other{};
};
class scaling {
 public:
  constexpr scaling(float s, float e) : scale(s), eps(e) {}
  static constexpr auto tokamax_fields(auto& self) { return std::tie(self.scale, self.eps); }
  leaf scale;
  float eps;
};
struct model {
  linear embed;
  std::array<block, 2> blocks;
  scaling last{8.0f, 1e-5f};
  std::pair<leaf, int> pair{9.0f, 1};
  std::tuple<leaf, linear> tuple{10.0f, linear{}};
  leaf grid[2] = {11.0f, 12.0f};
  mode phase = mode::train;
  const char* name = "gpt";
  float (*function)(float) = nullptr;
};
struct stack {
  std::vector<linear> layers;
  std::string name;
  std::vector<bool> mask;
};
struct recursive {
  leaf value;
  std::vector<recursive> children;
};
template <class Leaf>
struct generic {
  Leaf x;
  std::array<Leaf, 2> y;
};
struct adapter {
  leaf low{3.0f}, high{4.0f};
};
struct with_containers {
  std::optional<leaf> bias;
  std::optional<linear> projection;
  std::map<std::string, linear> heads;
  std::variant<int, leaf, adapter> kind;
  std::unique_ptr<with_containers> next;
};
struct extended : adapter {};
struct capturing {
  decltype([x = 1] { return x; }) f;
};

}  // namespace zoo

namespace {

using namespace zoo;

static_assert(kind_of<leaf> == tree_kind::leaf && kind_of<const leaf> == tree_kind::leaf);
static_assert(kind_of<linear> == tree_kind::record && kind_of<scaling> == tree_kind::record);
static_assert(kind_of<std::pair<int, leaf>> == tree_kind::record && kind_of<std::tuple<>> == tree_kind::record);
static_assert(kind_of<std::array<int, 2>> == tree_kind::sequence && kind_of<leaf[3]> == tree_kind::sequence);
static_assert(kind_of<bool> == tree_kind::constant && kind_of<mode> == tree_kind::constant);
static_assert(kind_of<decltype(relu)> == tree_kind::constant && kind_of<gelu> == tree_kind::record);
static_assert(kind_of<int (*)(int)> == tree_kind::constant && kind_of<std::string> == tree_kind::constant);
static_assert(kind_of<bfloat16> == tree_kind::constant && kind_of<int scaling::*> == tree_kind::constant);
static_assert(!tree_node<int*> && !tree_node<decltype(capturing::f)> && !tree_node<std::map<int, int>>);
static_assert(kind_of<std::optional<leaf>> == tree_kind::optional &&
              kind_of<std::unique_ptr<linear>> == tree_kind::optional);
static_assert(kind_of<std::map<std::string, leaf>> == tree_kind::map && kind_of<extended> == tree_kind::record);
static_assert(kind_of<std::variant<leaf, linear>> == tree_kind::variant && !tree_node<std::unique_ptr<leaf[]>>);
static_assert(!tree_node<std::shared_ptr<leaf>> && !tree_node<void*> && tree_node<const model&>);

constexpr model start{};
static_assert(count_leaves(start) == 2 + 2 * 4 + 1 + 1 + 3 + 2);
static_assert(count_leaves(leaf{}) == 1 && count_leaves(3) == 0 && count_leaves(std::tuple<>{}) == 0);

constexpr float sum(const auto& tree) {
  float total = 0;
  for_each_leaf([&](const leaf& x) { total += x.value; }, tree);
  return total;
}
static_assert(sum(start) == 3 + 2 * 22 + 8 + 9 + 10 + 3 + 23);

constexpr auto doubled = tree_map([](const leaf& x) { return leaf(2 * x.value); }, start);
static_assert(sum(doubled) == 2 * sum(start) && doubled.phase == mode::train && doubled.last.eps == 1e-5f);
static_assert(std::is_same_v<decltype(doubled), const model>);

constexpr auto combined =
    tree_map([](leaf a, leaf b, leaf c, leaf d) { return leaf(a.value + b.value + 2 * c.value - d.value); }, start,
             doubled, start, doubled);
static_assert(sum(combined) == 3 * sum(start));

constexpr model updated_in_place() {
  model m;
  const model gradients = doubled;
  for_each_leaf([](leaf& p, const leaf& g) { p.value -= g.value; }, m, gradients);
  return m;
}
static_assert(sum(updated_in_place()) == -sum(start));

// Two record types of one structure, with different leaves.
constexpr int dot() {
  const generic<leaf> a{1.0f, {2.0f, 3.0f}};
  const generic<other_leaf> b{{4}, {{{5}, {6}}}};
  int total = 0;
  for_each_leaf([&](const leaf& x, const other_leaf& y) { total += static_cast<int>(x.value) * y.value; }, a, b);
  return total;
}
static_assert(dot() == 32);

// Where the first tree has a leaf, the others may hold anything: here a switch per parameter.
static_assert(tree_map([](leaf x, bool on) { return on ? x : leaf(); }, generic<leaf>{1.0f, {2.0f, 4.0f}},
                       generic<bool>{true, {false, true}})
                  .y[1]
                  .value == 4);

static_assert(tree_reduce([](float total, leaf x) { return total + x.value; }, start, 0.0f) == sum(start));
static_assert(tree_all([](leaf x) { return x.value > 0; }, start) &&
              !tree_all([](leaf x) { return x.value > 1; }, start));
static_assert(tree_any([](leaf x) { return x.value == 12; }, start) &&
              !tree_any([](leaf x) { return x.value > 12; }, start));
static_assert(tree_all([](leaf a, leaf b) { return 2 * a.value == b.value; }, start, doubled));
static_assert(sum(tree_map_with_path([](std::string_view path, leaf x, leaf y) { return path == "last.scale" ? y : x; },
                                     start, doubled)) == sum(start) + 8);

constexpr std::size_t collected() {
  std::size_t count = 0;
  for (const leaf* x : tree_leaves<std::vector<const leaf*>>(start)) count += x->value > 0;
  return count;
}
static_assert(collected() == count_leaves(start));

constexpr bool differs(auto change) {
  model m;
  change(m);
  return !same_static(m, start);
}
static_assert(!differs([](model&) {}) && !differs([](model& m) { m.embed.bias = 100.0f; }));
static_assert(differs([](model& m) { m.blocks[1].up.in = 4; }) && differs([](model& m) { m.phase = mode::test; }));
static_assert(differs([](model& m) { m.name = "bert"; }) && differs([](model& m) { m.name = nullptr; }));
static_assert(differs([](model& m) { m.last.eps = 0; }) && differs([](model& m) { m.function = relu; }));
static_assert(equal_static(std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::quiet_NaN()));
constexpr char gpt_again[] = "gpt";
static_assert(!differs([](model& m) { m.name = gpt_again; }), "texts compare by content");

constexpr float grown_in_a_constant_expression() {
  std::vector<linear> layers(3, linear{});
  for_each_leaf([](leaf& x) { x.value += 1; }, layers);
  return sum(layers);
}
static_assert(grown_in_a_constant_expression() == 15);

constexpr float optional_in_a_constant_expression() {
  std::pair<std::optional<linear>, std::variant<int, leaf>> tree{linear{}, 4.0f};
  std::get<1>(tree) = leaf(5.0f);
  for_each_leaf([](leaf& x) { x.value *= 2; }, tree);
  const float both = sum(tree);
  return 100 * both + sum(tree_map([](leaf x) { return leaf(x.value + 1); }, tree));
}
static_assert(optional_in_a_constant_expression() == 1619);

// Paths are known in constant expressions too.
constexpr bool selects(std::string_view wanted) {
  bool found = false;
  for_each_leaf_with_path([&](std::string_view path, const leaf&) { found = found || path == wanted; }, start, "m");
  return found;
}
static_assert(selects("m.blocks[1].down.bias") && selects("m.grid[0]") && !selects("m.blocks[2].down.bias"));
constexpr bool numbers_are_paths() {
  int place = 0;
  bool last = false;
  for_each_leaf_with_path([&](std::string_view path, const leaf&) { last = ++place == 120 && path == "[119]"; },
                          std::array<leaf, 120>{});
  return last;
}
static_assert(numbers_are_paths());

with_containers filled() {
  with_containers t{leaf(1.0f), std::nullopt, {}, adapter{}, nullptr};
  t.heads["value"] = {2.0f, 3.0f};
  t.heads["policy"] = {4.0f, 5.0f};
  t.heads["a.b"] = {6.0f, 7.0f};
  t.next = std::make_unique<with_containers>();
  t.next->kind = leaf(10.0f);
  return t;
}

std::vector<std::string> paths(const auto& tree, std::string_view root = {}) {
  std::vector<std::string> result;
  for_each_leaf_with_path([&](std::string_view path, const leaf&) { result.emplace_back(path); }, tree, root);
  return result;
}

}  // namespace

TEST_CASE("leaves have paths") {
  CHECK(paths(model{}, "model") ==
        std::vector<std::string>{"model.embed.weight", "model.embed.bias", "model.blocks[0].up.weight",
                                 "model.blocks[0].up.bias", "model.blocks[0].down.weight", "model.blocks[0].down.bias",
                                 "model.blocks[1].up.weight", "model.blocks[1].up.bias", "model.blocks[1].down.weight",
                                 "model.blocks[1].down.bias", "model.last.scale", "model.pair[0]", "model.tuple[0]",
                                 "model.tuple[1].weight", "model.tuple[1].bias", "model.grid[0]", "model.grid[1]"});
  CHECK(paths(linear{}) == std::vector<std::string>{"weight", "bias"});
  CHECK(paths(leaf{}, "x") == std::vector<std::string>{"x"});
  CHECK(paths(std::vector<leaf>(2)) == std::vector<std::string>{"[0]", "[1]"});
}

TEST_CASE("vectors are trees of any length") {
  const stack deep{std::vector<linear>(3), "deep", {true, false}};
  CHECK(count_leaves(deep) == 6);
  CHECK(paths(deep, "m").back() == "m.layers[2].bias");
  CHECK(sum(tree_map([](leaf a, leaf b) { return leaf(a.value + b.value); }, deep, deep)) == 18);

  stack writable = deep;
  for (leaf* x : tree_leaves<std::vector<leaf*>>(writable)) x->value = 1;
  CHECK(sum(writable) == 6);
  CHECK(tree_leaves<std::vector<leaf>>(writable) == std::vector<leaf>(6, leaf(1.0f)));

  const recursive tree{1.0f, {{2.0f, {{3.0f, {}}}}, {4.0f, {}}}};
  CHECK(sum(tree) == 10);
  CHECK(paths(tree)[2] == "children[0].children[0].value");
}

TEST_CASE("vectors of different lengths do not walk in lockstep") {
  const stack two{std::vector<linear>(2), {}, {}}, three{std::vector<linear>(3), {}, {}};
  try {
    for_each_leaf([](const leaf&, const leaf&) {}, two, three);
    FAIL("no error");
  } catch (const error& e) {
    CHECK(std::string(e.what()).find("length of a vector: found 3, expected 2") != std::string::npos);
  }
}

TEST_CASE("a static difference has a path") {
  model a, b;
  CHECK(first_static_difference(a, b, "model").empty());
  b.embed.weight = 50.0f;
  CHECK(first_static_difference(a, b, "model").empty());
  b.phase = mode::test;
  CHECK(first_static_difference(a, b, "model") == "model.phase");
  b.blocks[1].down.in = 0;
  CHECK(first_static_difference(a, b, "model") == "model.blocks[1].down.in");

  const stack two{std::vector<linear>(2), "x", {}}, three{std::vector<linear>(3), "y", {}};
  CHECK_FALSE(same_static(two, three));
  CHECK(first_static_difference(two, three) == "layers");
  const stack renamed{std::vector<linear>(2), "z", {}}, masked{std::vector<linear>(2), "x", {true}};
  CHECK(first_static_difference(two, renamed) == "name");
  CHECK(first_static_difference(two, masked, "s") == "s.mask");
}

TEST_CASE("optionals, variants, maps and what unique_ptrs own are trees") {
  const with_containers t = filled();
  CHECK(paths(t, "t") == std::vector<std::string>{"t.bias", "t.heads[\"a.b\"].weight", "t.heads[\"a.b\"].bias",
                                                  "t.heads.policy.weight", "t.heads.policy.bias",
                                                  "t.heads.value.weight", "t.heads.value.bias", "t.kind.low",
                                                  "t.kind.high", "t.next.kind"});
  CHECK(count_leaves(t) == 10);
  CHECK(sum(t) == 1 + 27 + 7 + 10);
  CHECK(sum(extended{}) == 7);
  CHECK(paths(extended{}) == std::vector<std::string>{"low", "high"});

  with_containers twice = tree_map([](leaf a, leaf b) { return leaf(a.value + b.value); }, t, t);
  CHECK(sum(twice) == 2 * sum(t));
  CHECK(sum(t) == 45);
  CHECK(same_static(t, twice));

  const auto differs_at = [&](auto change) {
    with_containers other = filled();
    change(other);
    CHECK_FALSE(same_static(t, other));
    CHECK_THROWS_AS(for_each_leaf([](const leaf&, const leaf&) {}, t, other), error);
    return first_static_difference(t, other);
  };
  CHECK(differs_at([](with_containers& o) { o.bias.reset(); }) == "bias");
  CHECK(differs_at([](with_containers& o) { o.projection = linear{}; }) == "projection");
  CHECK(differs_at([](with_containers& o) { o.kind = leaf{}; }) == "kind");
  CHECK(differs_at([](with_containers& o) { o.heads.erase("value"); }) == "heads");
  CHECK(differs_at([](with_containers& o) { o.heads.erase("value"), o.heads["zero"] = {}; }) == "heads.value");
  CHECK(differs_at([](with_containers& o) { o.next.reset(); }) == "next");
  CHECK(differs_at([](with_containers& o) { o.next->kind = 3; }) == "next.kind");
  with_containers other = filled();
  std::get<int>(other.next->kind = 3) = 4, twice.next->kind = 3;
  CHECK(first_static_difference(twice, other) == "next.kind");
}

TEST_CASE("keys of maps that are no names stand in quotes") {
  const std::map<std::string, leaf> m{{"", {}}, {"a", {}}, {"a b", {}}, {"x[0]", {}}};
  CHECK(paths(m) == std::vector<std::string>{"[\"\"]", "a", "[\"a b\"]", "[\"x[0]\"]"});
}
