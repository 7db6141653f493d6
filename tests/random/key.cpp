// tests/random/key.cpp: keys and what is made of them, bit for bit as in JAX.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/random/samplers.hpp>
#include <tokamax/runtime/jit.hpp>
#include <tokamax/transforms/vmap.hpp>

#include "support/check_op.hpp"
#include "support/contains.hpp"
#include "support/golden.hpp"

using namespace tokamax;
using namespace tokamax::test;

namespace {
array row(const std::string& name) { return golden("random.txt", name); }
std::string bits_differ(array found, const array& expected) {
  found.materialize();
  return bit_difference({found}, {expected});
}
constexpr auto from_seed = [](array x) {
  return x + astype(random::bits(random::split(random::key(42))[1], {2}), f32);
};
}  // namespace

TEST_CASE("keys come from seeds") {
  CHECK(bits_differ(random::key(0), row("key_0")) == "");
  CHECK(bits_differ(random::key(42), row("key_42")) == "");
  CHECK(bits_differ(random::key(-1), row("key_minus_1")) == "");
  static_assert(random::key().type() == array_type{u32, false, {2}});
  static_assert(random::key(7).type() == array_type{u32, false, {2}});
  static_assert(random::key_impl(random::key(7)) == "threefry2x32");
}

TEST_CASE("split, fold_in and bits") {
  const random::key k(42);
  for (int n : {1, 2, 3, 5}) CHECK(bits_differ(random::split(k, {n}), row("split_key42_" + std::to_string(n))) == "");
  CHECK(bits_differ(random::split(k, {2, 3}), row("split_key42_2x3")) == "");
  for (int data : {0, 1, 7, 1000000})
    CHECK(bits_differ(random::fold_in(k, data), row("fold_in_key42_" + std::to_string(data))) == "");
  CHECK(bits_differ(random::fold_in(random::split(k)[1], 7), row("fold_in_of_split1_7")) == "");
  for (int n : {1, 2, 3, 7, 10}) CHECK(bits_differ(random::bits(k, {n}), row("bits_" + std::to_string(n))) == "");
  CHECK(bits_differ(random::bits(k), row("bits_scalar")) == "");
  CHECK(bits_differ(random::bits(k, {3, 4}), row("bits_3x4")) == "");
}

TEST_CASE("a key may be made inside of a compiled function, and mapped over") {
  const array x = array::from<float>({1, 2});
  CHECK(bit_difference({jit(from_seed, cpu_tag{})(x)}, {from_seed(x)}) == "");
  CHECK(bit_difference({jit(from_seed, cpu_tag{}, at_run_time)(x)}, {from_seed(x)}) == "");
  const random::key k(3);
  const array mapped = vmap([](random::key one) { return random::bits(one, {4}); })(random::key(random::split(k, {3})));
  CHECK(bits_differ(slice_in_dim(mapped, 2, 3, 0), reshape(random::bits(random::split<3>(k)[2], {4}), {1, 4})) == "");
}

TEST_CASE("a key that is used twice is found, and both places are named") {
  const random::key k(9);
  CHECK_NOTHROW(random::bits(k, {2}) + random::bits(k, {2}));  // nobody watches
  const random::key_reuse_check watch;
  random::bits(k, {2});
  CHECK_THROWS_WITH(random::bits(k, {2}), contains("key reuse: found a key that ") && contains("key.cpp:") &&
                                              contains("used, expected one of split or fold_in"));
  CHECK_THROWS_WITH(random::split(random::key(9)), contains("key reuse"));  // the same value
  CHECK_NOTHROW(random::split(random::fold_in(k, 1)));
  const auto [a, b] = random::split(random::key(10));
  CHECK_NOTHROW(random::normal(a, {3}));
  CHECK_NOTHROW(random::normal(b, {3}));
  CHECK_THROWS_WITH(random::normal(b, {3}, f64), contains("key reuse"));
  // all keys of a batch count
  const array many = random::split(random::key(11), {3});
  CHECK_NOTHROW(vmap([](const random::key& one) { return random::bits(one, {4}); })(random::key(many)));
  CHECK_NOTHROW(random::bits(random::key(many)));
  CHECK_THROWS_WITH(random::bits(random::key(squeeze(slice_in_dim(many, 1, 2, 0), 0))), contains("key reuse"));
}

TEST_CASE("in a function that is traced, a key counts within the trace") {
  const auto twice = [](const random::key& k) { return random::uniform(k, {3}) + random::uniform(k, {3}); };
  const auto once = [](const random::key& k) {
    const auto [a, b] = random::split(k);
    return random::uniform(a, {3}) + random::uniform(b, {3});
  };
  const random::key_reuse_check watch;
  CHECK_THROWS_WITH(jit(twice, cpu_tag{}, at_run_time)(random::key(1)), contains("key reuse"));
  CHECK_NOTHROW(jit(once, cpu_tag{}, at_run_time)(random::key(1)));
  CHECK_NOTHROW(jit(once, cpu_tag{}, at_run_time)(random::key(2)));
}
