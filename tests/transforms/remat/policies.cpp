// tests/transforms/remat/policies.cpp: each policy keeps the values that it is to keep, and changes no bit.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/lax/dot_general.hpp>
#include <tokamax/lax/reduce.hpp>
#include <tokamax/numpy/matmul.hpp>
#include <tokamax/transforms/grad.hpp>
#include <tokamax/transforms/remat/policies.hpp>
#include <tokamax/transforms/vjp.hpp>
#include <tokamax/transforms/vmap.hpp>

#include "support/check_op.hpp"

using namespace tokamax;
using namespace tokamax::test;

namespace {
/// sin, a product without batch axes, cos with the name "hidden", a product with a batch axis, tanh with the name "last".
constexpr auto layer = [](const array& x) {
  const array p = dot_general(sin(x), x, {{1}, {0}});
  const array hidden = checkpoint_name(cos(p), "hidden");
  const array products = dot_general(hidden, x, {{1}, {1}, {0}, {0}});  // [3]
  return checkpoint_name(tanh(products), "last") * x[0];
};
/// How many results of its remat are kept for the backward pass.
int kept(const auto& policy) {
  const graph g = trace([&](const arrays& x) -> arrays { return remat(layer, policy)(x[0]); }, {{f32, false, {3, 3}}});
  for (const node& n : g.nodes)
    if (n.op == &remat_p) return unpack<remat_attributes>(g.words_of(n)).saved;
  return -1;
}
/// The ops of the gradient that compute values again: how often each of them is there.
int count(const auto& policy, const op& o) {
  const graph g = trace(vjp_of([&](const arrays& x) -> arrays { return remat(layer, policy)(x[0]); }, 1),
                        {{f32, false, {3, 3}}, {f32, false, {3}}});
  const vec<char> live = live_nodes(g);
  int n = 0;
  for (int i = 0; i < g.count(); ++i) n += live[i] && g[i].op == &o;
  return n;
}
}  // namespace

TEST_CASE("policies keep what they name") {
  CHECK(kept(nothing_saveable) == 0);
  CHECK(kept(dots_saveable) == 2);
  CHECK(kept(dots_with_no_batch_dims_saveable) == 1);
  CHECK(kept(save_only_these_names("hidden")) == 1);
  CHECK(kept(save_only_these_names("hidden", "last")) == 2);
  CHECK(kept(save_only_these_names("hid", "lasting", "")) == 0);
  CHECK(kept(save_any_names_but_these("hidden")) == 1);
  CHECK(kept(save_any_names_but_these("hidden", "last")) == 0);
  CHECK(kept(save_from_both_policies(dots_saveable, save_only_these_names("last"))) == 3);
  const int all = kept(everything_saveable);
  CHECK(kept(save_anything_except_these_names("hidden")) == all - 1);
  CHECK(kept(save_anything_except_these_names("none")) == all);
}

TEST_CASE("a value that is kept is not computed again") {
  CHECK(count(nothing_saveable, tanh_p) == 1);
  CHECK(count(save_only_these_names("last"), tanh_p) == 0);
  CHECK(count(save_only_these_names("last"), cos_p) > 0);
  CHECK(count(save_anything_except_these_names("last"), tanh_p) == 1);
  CHECK(count(everything_saveable, tanh_p) == 0);
}

TEST_CASE("policies and names change no bit") {
  const array x = noise({3, 3}, 1);
  const auto gradient = [&](const auto& f) { return grad([&](const array& v) { return sum(f(v)); })(x); };
  const array expected = gradient(layer);
  CHECK(bit_difference({gradient(remat(layer, save_only_these_names("hidden")))}, {expected}) == "");
  CHECK(bit_difference({gradient(remat(layer, save_any_names_but_these("hidden")))}, {expected}) == "");
  CHECK(bit_difference({gradient(remat(layer, save_anything_except_these_names("hidden")))}, {expected}) == "");
  CHECK(bit_difference({gradient(remat(layer, dots_with_no_batch_dims_saveable))}, {expected}) == "");
  const auto both = save_from_both_policies(dots_saveable, save_only_these_names("last"));
  CHECK(bit_difference({gradient(remat(layer, both))}, {expected}) == "");
}
