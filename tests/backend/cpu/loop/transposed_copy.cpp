// tests/backend/cpu/loop/transposed_copy.cpp: copies with axes in any order keep the bits of all elements.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu/loop/transposed_copy.hpp>
#include <tokamax/tokamax.hpp>

#include "support/adversarial.hpp"
#include "support/catch.hpp"
#include "support/threads.hpp"

#include <cstring>

using namespace tokamax;
using namespace tokamax::test;

namespace {
array numbered(const shape& s, dtype t) {
  return astype(rem(iota(i32, s, 0) * 31 + iota(i32, s, s.rank() - 1) * 7, 127), t);
}
/// A matrix transposed element by element.
bool is_transpose(const array& x, const array& y) {
  const auto bytes = static_cast<std::size_t>(size_of(x.dtype()));
  const std::int64_t rows = x.extent(0), columns = x.extent(1);
  const auto *in = static_cast<const std::byte*>(x.storage()->data),
             *out = static_cast<const std::byte*>(y.storage()->data);
  bool same = y.extent(0) == columns && y.extent(1) == rows;
  for (std::int64_t i = 0; same && i < rows; ++i)
    for (std::int64_t j = 0; same && j < columns; ++j)
      same = std::memcmp(in + static_cast<std::size_t>(i * columns + j) * bytes,
                         out + static_cast<std::size_t>(j * rows + i) * bytes, bytes) == 0;
  return same;
}
}  // namespace

TEST_CASE("matrices of every element size and of all edges are transposed") {
  for (const dtype t : {i8, bf16, f32, f64})
    for (const shape& s : {shape{1, 1},
                           {1, 300},
                           {300, 1},
                           {2, 3},
                           {16, 16},
                           {64, 64},
                           {65, 63},
                           {64, 1024},
                           {1024, 64},
                           {1, 70000},
                           {2, 70000},
                           {70000, 3},
                           {257, 1031},
                           {0, 5},
                           {5, 0}}) {
      const array x = numbered(s, t);
      CAPTURE(name(t), s);
      CHECK(is_transpose(x, transpose(x)));
      CHECK(is_transpose(x, jit([](const array& v) { return transpose(v); }, cpu, at_run_time)(x)));
    }
}

TEST_CASE("axes in any order, of arrays that are parts of others") {
  for (const axes& order : {axes{0, 2, 1, 3}, {3, 0, 1, 2}, {0, 1, 3, 2}, {3, 2, 1, 0}, {1, 3, 0, 2}, {2, 3, 0, 1}})
    for (const shape& s : {shape{3, 5, 67, 70}, {2, 66, 1, 65}, {130, 1, 2, 33}, {2, 0, 3, 4}})
      check_threads(
          [=](const arrays& x) -> arrays {
            const array part = slice(x[0], {0, 0, 0, 0}, {s[0], s[1], s[2], s[3] > 1 ? s[3] - 1 : s[3]});
            return {transpose(x[0], order), transpose(part, order)};
          },
          {noise(s, 1)});
}

TEST_CASE("a static program copies as a traced one does") {
  using matrix = tensor<f32, 100, 130>;
  const array x = noise({100, 130}, 3);
  CHECK(is_transpose(x, jit([](const matrix& v) { return transpose(v); }, cpu)(matrix(x))));
}
