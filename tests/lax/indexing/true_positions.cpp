// tests/lax/indexing/true_positions.cpp: the places of true elements are those that a loop finds.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/lax/indexing/true_positions.hpp>
#include <tokamax/transforms/vmap.hpp>

#include "support/adversarial.hpp"
#include "support/check_op.hpp"
#include "support/threads.hpp"

#include <vector>

using namespace tokamax;
using namespace tokamax::test;

namespace {
/// Truth values of which about one in `every` holds.
array mask_of(std::int64_t n, std::int64_t every) {
  array x = array::uninitialized({bool_, false, {n}});
  for (std::int64_t i = 0; i < n; ++i) x.mutable_data<bool>()[i] = i * 2654435761u % 65537 % every == 0;
  return x;
}
std::vector<std::int32_t> by_loop(const array& mask, std::int64_t size) {
  std::vector<std::int32_t> found;
  for (std::int64_t i = 0; i < mask.size() && std::ssize(found) < size; ++i)
    if (mask.data<bool>()[i]) found.push_back(static_cast<std::int32_t>(i));
  found.resize(static_cast<std::size_t>(size), static_cast<std::int32_t>(mask.size()));
  return found;
}
}  // namespace

TEST_CASE("true_positions keeps the contract") {
  const array mask = mask_of(19, 3);
  check_op(true_positions_p, {{{mask}, pack(true_positions_options{8})},
                              {{mask}, pack(true_positions_options{2})},
                              {{mask}, pack(true_positions_options{0})},
                              {{mask_of(1, 1)}, pack(true_positions_options{3})}});
}

TEST_CASE("true elements are found in masks of all lengths, whether few or many hold") {
  for (const std::int64_t n : {0, 1, 7, 8, 9, 16383, 16384, 16385, 50001})
    for (const std::int64_t every : {1, 2, 3, 50, 100000})
      for (const std::int64_t size : {std::int64_t{0}, std::int64_t{5}, n / 2, n, n + 3}) {
        const array mask = mask_of(n, every);
        CAPTURE(n, every, size);
        const array found = true_positions(mask, size);
        const auto numbers = found.values<std::int32_t>();
        CHECK(std::vector(numbers.begin(), numbers.end()) == by_loop(mask, size));
      }
}

TEST_CASE("the places of true elements do not depend on threads, addresses or strides") {
  for (const std::int64_t n : {0, 1, 1009, 40009})
    check_adversarial([](const arrays& x) -> arrays { return true_positions(x[0], 500); }, {mask_of(n, 3)});
}

TEST_CASE("a mask of another dtype or with more axes is rejected") {
  CHECK_THROWS_WITH(true_positions(zeros({3}), 1), contains("true_positions: operand"));
  CHECK_THROWS_WITH(true_positions(zeros({3, 2}, bool_), 1), contains("true_positions: operand"));
  CHECK_THROWS_WITH(true_positions(zeros({3}, bool_), -1), contains("true_positions: size"));
}
