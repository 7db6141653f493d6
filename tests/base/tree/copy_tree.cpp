// tests/base/tree/copy_tree.cpp: copies share nothing with what they were made of.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/base/tree/copy_tree.hpp>

#include "support/catch.hpp"

#include <map>
#include <memory>
#include <optional>
#include <variant>

using namespace tokamax;

namespace {

struct list {
  int value = 0;
  std::unique_ptr<list> next;
};
struct plain {
  std::vector<plain> children;  // a recursive type that C++ copies
  int value = 0;
};
struct holder {
  std::vector<std::unique_ptr<list>> many;
  std::map<std::string, std::unique_ptr<int>> named;
  std::optional<std::unique_ptr<int>> maybe;
  std::variant<int, std::unique_ptr<int>> either;
  std::array<std::unique_ptr<int>, 2> two;
  std::unique_ptr<int> grid[2];
  plain last;
};

static_assert(detail::copies<plain>() && detail::copies<std::array<std::vector<int>, 2>>());
static_assert(!detail::copies<list>() && !detail::copies<holder>() && !detail::copies<std::vector<list>>());
static_assert(!detail::copies<std::pair<int, std::vector<std::unique_ptr<int>>>>());
static_assert(copy_tree(std::pair{1, 2.0f}).second == 2);

}  // namespace

TEST_CASE("what unique_ptrs own is copied") {
  list three{1, std::make_unique<list>(list{2, std::make_unique<list>(list{3, nullptr})})};
  const list copy = copy_tree(three);
  three.next->next->value = 30;
  CHECK(copy.next->next->value == 3);
  CHECK(!copy.next->next->next);
}

TEST_CASE("what containers of unique_ptrs own is copied") {
  holder h;
  h.many.push_back(std::make_unique<list>(list{7, nullptr}));
  h.many.push_back(nullptr);
  h.named["a"] = std::make_unique<int>(8);
  h.maybe = std::make_unique<int>(9);
  h.either = std::make_unique<int>(10);
  h.two[1] = std::make_unique<int>(11);
  h.grid[0] = std::make_unique<int>(12);
  h.last.children.resize(2);
  const holder copy = copy_tree(h);
  CHECK((copy.many[0]->value == 7 && !copy.many[1] && copy.many.size() == 2));
  CHECK((*copy.named.at("a") == 8 && **copy.maybe == 9 && *std::get<1>(copy.either) == 10));
  CHECK((!copy.two[0] && *copy.two[1] == 11 && *copy.grid[0] == 12 && copy.last.children.size() == 2));
  CHECK(copy.many[0].get() != h.many[0].get());
  CHECK(!copy_tree(holder{}).maybe);
}
