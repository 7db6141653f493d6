// tests/lax/pool.cpp: pooling and its gradients against JAX.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/lax/pool.hpp>
#include <tokamax/transforms/vjp.hpp>

#include "support/catch.hpp"
#include "support/golden.hpp"

namespace tk = tokamax;
using tk::array;

namespace {

array row(const std::string& name) { return tk::test::golden("ops.txt", name); }

template <class F>
void check_case(const std::string& name, F f) {
  CAPTURE(name);
  const auto [y, g] = tk::vjp(f, row(name + ".in0"), row(name + ".ct"));
  CHECK(tk::test::distance(y, row(name + ".out")) < 1e-6);
  CHECK(tk::test::distance(g, row(name + ".grad0")) < 1e-6);
}

}  // namespace

TEST_CASE("pooling agrees with JAX") {
  check_case("max_pool", [](array x) { return tk::max_pool(x, {2, 2}); });
  check_case("max_pool_tie", [](array x) { return tk::max_pool(x, {2, 2}); });
  check_case("sum_pool", [](array x) { return tk::sum_pool(x, {2, 2}); });
}

TEST_CASE("pooling pads with what does not count") {
  const array x = array::from<float>({-1, -2, -3, -4, -5, -6, -7, -8, -9}, {1, 3, 3, 1});
  const array m = tk::max_pool(x, {2, 2}, {.padding = tk::padding::same});
  const array a = tk::avg_pool(x, {3, 3}, {.strides = {1, 1}, .padding = tk::padding::same});
  CHECK(m.shape() == tk::shape{1, 2, 2, 1});
  CHECK(tk::test::distance(m, array::from<float>({-1, -3, -7, -9}, {1, 2, 2, 1})) == 0);
  CHECK(a.shape() == x.shape());
  const array small = tk::max_pool(tk::astype(x, tk::i8) - 100, {2, 2}, {.padding = tk::padding::same});
  CHECK(small.values<std::int8_t>()[3] == -109);
  CHECK(a.values<float>()[4] == Approx(-5.0f));
  CHECK(a.values<float>()[0] == Approx(-12.0f / 9));
}
