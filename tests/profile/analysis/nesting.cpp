// tests/profile/analysis/nesting.cpp: the own times of records that contain others.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/profile/analysis/nesting.hpp>

#include "support/catch.hpp"

namespace {
using namespace tokamax::profile;
constexpr int none = -1;

struct row {
  std::vector<std::pair<int, int>> records;
  std::vector<int> self, parent, depth;
};
}  // namespace

TEST_CASE("records lie within each other or beside each other") {
  const std::vector<row> rows = {
      {{}, {}, {}, {}},
      {{{0, 10}}, {10}, {none}, {0}},
      {{{0, 10}, {10, 20}}, {10, 10}, {none, none}, {0, 0}},
      {{{2, 5}, {0, 10}}, {3, 7}, {1, none}, {1, 0}},
      {{{0, 10}, {2, 5}}, {7, 3}, {none, 0}, {0, 1}},
      {{{2, 5}, {5, 8}, {0, 10}}, {3, 3, 4}, {2, 2, none}, {1, 1, 0}},
      {{{3, 4}, {2, 5}, {0, 10}}, {1, 2, 7}, {1, 2, none}, {2, 1, 0}},
      // equal records: the later one ended after the earlier one, so it is the outer one
      {{{0, 10}, {0, 10}}, {10, 0}, {1, none}, {1, 0}},
      {{{0, 10}, {0, 10}, {0, 10}}, {10, 0, 0}, {1, 2, none}, {2, 1, 0}},
      {{{0, 5}, {0, 10}}, {5, 5}, {1, none}, {1, 0}},
      {{{5, 10}, {0, 10}}, {5, 5}, {1, none}, {1, 0}},
      // a moment within another, and one at the end
      {{{5, 5}, {0, 10}}, {0, 10}, {1, none}, {1, 0}},
      {{{0, 10}, {10, 10}}, {10, 0}, {none, none}, {0, 0}},
      // a clock that steps back
      {{{9, 3}}, {0}, {none}, {0}},
      {{{9, 3}, {0, 10}}, {0, 10}, {1, none}, {1, 0}},
      // records that overlap: what both share is the later one's
      {{{0, 10}, {5, 15}}, {5, 10}, {none, 0}, {0, 1}},
      {{{2, 5}, {0, 10}, {12, 15}, {11, 20}}, {3, 7, 3, 6}, {1, none, 3, none}, {1, 0, 1, 0}},
  };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CAPTURE(i);
    track t;
    for (const auto& [begin, end] : rows[i].records) t.records.push_back({begin, end, 0, 0, 0});
    const nesting n = nesting_of(t);
    CHECK(std::vector<int>(n.self.begin(), n.self.end()) == rows[i].self);
    std::vector<int> parent;
    for (const std::size_t p : n.parent) parent.push_back(p == nesting::none ? none : static_cast<int>(p));
    CHECK(parent == rows[i].parent);
    CHECK(n.depth == rows[i].depth);
  }
}

TEST_CASE("deep and long tracks are nested in time that grows with their number") {
  track deep;
  for (int i = 100'000; i > 0; --i) deep.records.push_back({100'000 - i, 100'000 + i, 0, 0, 0});
  const nesting n = nesting_of(deep);
  CHECK(n.depth.back() == 99'999);
  CHECK(n.self.front() == 2);
}
