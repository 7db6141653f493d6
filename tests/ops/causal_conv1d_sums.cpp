// tests/ops/causal_conv1d_sums.cpp: sums over windows of tokens, and their gradients without padding.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/ops/causal_conv1d.hpp>
#include <tokamax/transforms/grad.hpp>

#include "support/adversarial.hpp"
#include "support/check_op.hpp"
#include "support/golden.hpp"
#include "support/threads.hpp"

namespace tk = tokamax;
using tk::array;
using tk::test::noise;

namespace {

constexpr auto silu = [](const array& x) { return tk::silu(x); };

}  // namespace

TEST_CASE("causal_conv1d_sums keeps the contract of ops, and their gradients are those of sums with padding") {
  tk::test::check_op(tk::causal_conv1d_sums_p, {{{noise({2, 2, 3}, 1), noise({2, 6, 3}, 2), noise({3, 3}, 3)}},
                                                {{noise({1, 3}, 1), noise({2, 3}, 2), noise({3, 2}, 3)}}});
  for (const std::int64_t tokens : {6, 7, 40}) {  // none between the first and the last ones, one, and many
    const array state = noise({2, 3, 5}, 1), x = noise({2, tokens, 5}, 2), w = noise({5, 4}, 3),
                ct = noise({2, tokens, 5}, 4);
    const auto of_op = [&](const array& s, const array& v, const array& u) {
      return sum(tk::causal_conv1d(v, u, {.state = s}, silu).out * ct);
    };
    const auto padded = [&](const array& s, const array& v, const array& u) {
      const array all = tk::concatenate({s, v}, 1);
      return sum(silu(tk::detail::conv1d_windows(all, transpose(u), tokens, tk::f32)) * ct);
    };
    const auto found = tk::grad<0, 1, 2>(of_op)(state, x, w);
    const auto expected = tk::grad<0, 1, 2>(padded)(state, x, w);
    CHECK(tk::test::distance(std::get<0>(found), std::get<0>(expected)) < 1e-5);
    CHECK(tk::test::distance(std::get<1>(found), std::get<1>(expected)) < 1e-5);
    CHECK(tk::test::distance(std::get<2>(found), std::get<2>(expected)) < 1e-5);
  }
}

TEST_CASE("causal_conv1d_sums without entries or channels, with more channels than a task has, and by any threads") {
  const auto sums = [](const tk::arrays& v) -> tk::arrays {
    const array in[] = {v[0], v[1], v[2]};
    return bind_all(tk::causal_conv1d_sums_p, in, 3, tk::words{}, tk::location{});
  };
  for (const tk::shape& s : {tk::shape{0, 6, 3}, tk::shape{2, 6, 0}}) {
    const tk::arrays y = sums({tk::zeros({s[0], 2, s[2]}), tk::zeros(s), tk::zeros({s[2], 3})});
    CHECK(y[0].shape() == tk::shape{s[0], 2, s[2]});
    CHECK(y[1].shape() == tk::shape{s[0], 4, s[2]});
  }
  tk::test::check_threads(sums, {noise({2, 1, 1030}, 1), noise({2, 131, 1030}, 2), noise({1030, 2}, 3)});
}

TEST_CASE("causal_conv1d_sums of special values are the meaning of the op") {
  for (const tk::dtype t : {tk::f32, tk::bf16})
    for (const std::int64_t tokens : {6, 33})
      tk::test::check_adversarial(
          [](const tk::arrays& v) -> tk::arrays {
            const array in[] = {v[0], v[1], v[2]};
            return bind_all(tk::causal_conv1d_sums_p, in, 3, tk::words{}, tk::location{});
          },
          {tk::test::sprinkled({2, 3, 21}, 1, t, 1e6), tk::test::sprinkled({2, tokens, 21}, 2, t, 1e6),
           noise({21, 4}, 3, t)},
          {.tolerance = t == tk::f32 ? 1e-5 : 2e-2, .floor = 1});
}
