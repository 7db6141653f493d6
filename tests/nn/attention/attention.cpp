// tests/nn/attention/attention.cpp: the attention layer is projections around dot_product_attention.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/nn/attention/attention.hpp>
#include <tokamax/nn/initializers/init.hpp>

#include "support/catch.hpp"
#include "support/golden.hpp"

namespace tk = tokamax;
namespace nn = tokamax::nn;
using tk::array;

namespace {

constexpr nn::attention grouped{.width = 24, .heads = 6, .kv_heads = 2, .causal = true};
static_assert(grouped.qkv.kernel.shape() == tk::shape{24, 40} &&
              grouped.projection.kernel.shape() == tk::shape{24, 24});
static_assert(nn::attention{.width = 24, .heads = 6}.qkv.kernel.shape() == tk::shape{24, 72});
static_assert(grouped(array({tk::f32, false, {2, 5, 24}})).shape() == tk::shape{2, 5, 24});

array waves(const tk::shape& s) {
  array a = array::uninitialized({tk::f32, false, s});
  for (std::int64_t i = 0; i < a.size(); ++i) a.mutable_data<float>()[i] = std::sin(0.7f * static_cast<float>(i));
  return a;
}

}  // namespace

TEST_CASE("a causal layer does not look ahead") {
  const nn::attention layer = tk::init(grouped, tk::random::key(5));
  const array x = waves({1, 6, 24}), y = layer(x);
  const array shorter = layer(slice_in_dim(x, 0, 4, 1));
  CHECK(tk::test::distance(slice_in_dim(y, 0, 4, 1), shorter) < 1e-6);
}

TEST_CASE("a causal mask gives what causal gives") {
  nn::attention layer = tk::init(grouped, tk::random::key(5)), open = layer;
  open.causal = false;
  const array x = waves({2, 6, 24});
  const array past = tk::iota(tk::i32, {6, 6}, 0) >= tk::iota(tk::i32, {6, 6}, 1);
  CHECK(tk::test::distance(layer(x), open(x, past)) < 1e-6);
}
