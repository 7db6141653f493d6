// tests/transforms/remat.cpp: recomputation leaves every bit as it is.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/lax/dot_general.hpp>
#include <tokamax/lax/reduce.hpp>
#include <tokamax/numpy/matmul.hpp>
#include <tokamax/transforms/grad.hpp>
#include <tokamax/transforms/jvp.hpp>
#include <tokamax/transforms/remat.hpp>
#include <tokamax/transforms/scan.hpp>
#include <tokamax/transforms/vmap.hpp>

#include "support/check_op.hpp"

using namespace tokamax;
using namespace tokamax::test;

namespace {
constexpr auto block = [](const array& x, const array& w) { return tanh(matmul(x, w)) * x; };
constexpr auto plain = [](const array& w, const array& x) { return sum(block(block(x, w), w)); };
constexpr auto saved = [](const array& w, const array& x) {
  const auto again = remat(block);
  return sum(again(again(x, w), w));
};
}  // namespace

TEST_CASE("remat keeps the contract") {
  check_function([](const arrays& a) -> arrays { return remat(block)(a[0], a[1]); },
                 {noise({2, 3}, 1), noise({3, 3}, 2)});
}

TEST_CASE("values and gradients have the same bits with and without remat") {
  const array w = noise({4, 4}, 1), x = noise({3, 4}, 2);
  CHECK(bit_difference({saved(w, x)}, {plain(w, x)}) == "");
  CHECK(bit_difference({grad(saved)(w, x)}, {grad(plain)(w, x)}) == "");
}

TEST_CASE("remat composes with scan, vmap, jvp and itself") {
  const array w = noise({3, 3}, 1), x = noise({4, 3}, 2), t = noise({3, 3}, 3);
  const auto loop = [&](auto body) {
    return [=](const array& v) {
      return sum(scan([=](const array& c, const array& row) { return std::pair{body(c + row, v), nothing{}}; },
                      array(zeros({3})), x)
                     .first);
    };
  };
  CHECK(difference({to_value(grad(loop(remat(block)))(w))}, {to_value(grad(loop(block))(w))}, 1e-6) == "");
  CHECK(difference({to_value(jvp(loop(remat(block)), w, t).second)}, {to_value(jvp(loop(block), w, t).second)}, 1e-6) ==
        "");
  const auto per_row = [&](auto f) {
    return vmap([&, f](const array& row) { return grad([&](const array& v) { return sum(f(row, v)); })(w); })(x);
  };
  CHECK(difference({to_value(per_row(remat(remat(block))))}, {to_value(per_row(block))}, 1e-6) == "");
}

TEST_CASE("remat passes on what its function closes over") {
  const array w = noise({3, 3}, 1), x = noise({2, 3}, 2);
  const auto f = [&](const array& v) { return sum(remat([&](const array& a) { return block(a, v); })(x)); };
  const auto g = [&](const array& v) { return sum(block(x, v)); };
  CHECK(bit_difference({grad(f)(w)}, {grad(g)(w)}) == "");
}
