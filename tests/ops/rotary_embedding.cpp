// tests/ops/rotary_embedding.cpp: types, values, gradients and batches of rotary_embedding.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/core/tensor.hpp>
#include <tokamax/lax/reduce.hpp>
#include <tokamax/lax/shapes/concatenate.hpp>
#include <tokamax/lax/shapes/split.hpp>
#include <tokamax/numpy/arange.hpp>
#include <tokamax/ops/rotary_embedding.hpp>
#include <tokamax/runtime/jit.hpp>
#include <tokamax/transforms/grad.hpp>
#include <tokamax/transforms/jvp.hpp>
#include <tokamax/transforms/vjp.hpp>
#include <tokamax/transforms/vmap.hpp>

#include "support/check_op.hpp"
#include "support/golden.hpp"
#include "support/threads.hpp"

#include <cmath>

namespace tk = tokamax;
using tk::array;
using tk::test::noise;
using options = tk::rotary_embedding_options;

namespace {

constexpr tk::array_type floats(const tk::shape& s) { return {tk::f32, false, s}; }
constexpr tk::array_type integers(const tk::shape& s) { return {tk::i32, false, s}; }

constexpr auto total = [](const array& x, const array& positions) { return sum(tk::rotary_embedding(x, positions)); };
static_assert(tk::rotary_embedding(array({tk::bf16, false, {2, 5, 3, 8}}), array(integers({5}))).type() ==
              tk::array_type{tk::bf16, false, {2, 5, 3, 8}});
static_assert(tk::grad(total)(array(floats({2, 5, 3, 8})), array(integers({2, 5}))).type() == floats({2, 5, 3, 8}));
static_assert(tk::rotary_embedding(array(floats({tk::dyn(), 7, 3, 8})), array(integers({tk::dyn(), 7}))).type() ==
              floats({tk::dyn(), 7, 3, 8}));

// The formula in double: x [T, N, H], positions [T].
array by_formula(const array& x, const std::vector<std::int32_t>& positions, const options& o) {
  const std::int64_t heads = x.extent(1), features = x.extent(2), half = features / 2;
  array y = array::uninitialized(x.type());
  for (std::int64_t r = 0; r < x.extent(0) * heads; ++r)
    for (std::int64_t i = 0; i < half; ++i) {
      const double frequency = std::pow(o.base, -2.0 * static_cast<double>(i) / static_cast<double>(features));
      const double angle = positions[static_cast<std::size_t>(r / heads)] * frequency * (o.inverse ? -1 : 1);
      const std::int64_t first = r * features + (o.interleaved ? 2 * i : i),
                         second = first + (o.interleaved ? 1 : half);
      const double a = static_cast<double>(x.data<float>()[first]), b = static_cast<double>(x.data<float>()[second]);
      y.mutable_data<float>()[first] = static_cast<float>(a * std::cos(angle) - b * std::sin(angle));
      y.mutable_data<float>()[second] = static_cast<float>(b * std::cos(angle) + a * std::sin(angle));
    }
  return y;
}

array at(std::int32_t position) { return array::from<std::int32_t>({position}); }

}  // namespace

TEST_CASE("rotary_embedding turns halves, or neighbours where it is interleaved") {
  const array x = array::from<float>({1, 2, 3, 4}, {1, 1, 4});
  // base 16: the second pair turns by a quarter of a radian; sin 2 = 0.909297, cos 2 = -0.416147, sin 0.5 = 0.479426
  const array halves = tk::rotary_embedding(x, at(2), {.base = 16});
  const array neighbours = tk::rotary_embedding(x, at(2), {.base = 16, .interleaved = true});
  CHECK(tk::test::distance(
            halves, array::from<float>({-3.1440391f, -0.16253708f, -0.33914309f, 4.4691815f}, {1, 1, 4})) < 2e-7);
  CHECK(tk::test::distance(neighbours,
                           array::from<float>({-2.2347417f, 0.077003757f, 0.71504552f, 4.9486069f}, {1, 1, 4})) < 2e-7);
  CHECK(tk::test::distance(tk::rotary_embedding(x, at(0)), x) == 0);
}

TEST_CASE("rotary_embedding is the formula in double, at every position and for every size of heads") {
  const std::vector<std::int32_t> positions{0, 1, -3, 77, 4096, 131071, 1000000, 2147483647, -2147483647 - 1};
  const array p = array::from<std::int32_t>({0, 1, -3, 77, 4096, 131071, 1000000, 2147483647, -2147483647 - 1});
  for (const std::int64_t features : {2, 4, 6, 8, 10, 16, 18, 34, 64, 80, 128, 250})
    for (const bool interleaved : {false, true})
      for (const bool inverse : {false, true})
        for (const double base : {1.0, 10000.0, 5e5}) {
          CAPTURE(features, interleaved, inverse, base);
          const options o{base, interleaved, inverse};
          const array x = noise({9, 3, features}, 1);
          CHECK(tk::test::distance(tk::rotary_embedding(x, p, o), by_formula(x, positions, o)) < 1e-6);
        }
}

TEST_CASE("rotary_embedding takes positions of each sequence, of all, or one") {
  const array x = noise({2, 3, 4, 6}, 1);
  const auto rows = [&](std::int64_t b) { return reshape(slice_in_dim(x, b, b + 1, 0), {3, 4, 6}); };
  const array all = array::from<std::int32_t>({5, 6, 7}), each = array::from<std::int32_t>({5, 6, 7, 0, 9, 2}, {2, 3});
  const array second = array::from<std::int32_t>({0, 9, 2});
  const array of_all = tk::concatenate({tk::rotary_embedding(rows(0), all), tk::rotary_embedding(rows(1), all)});
  const array of_each = tk::concatenate({tk::rotary_embedding(rows(0), all), tk::rotary_embedding(rows(1), second)});
  CHECK(tk::test::distance(reshape(tk::rotary_embedding(x, all), {6, 4, 6}), of_all) == 0);
  CHECK(tk::test::distance(reshape(tk::rotary_embedding(x, each), {6, 4, 6}), of_each) == 0);
  const array one_each = array::from<std::int32_t>({5, 9}, {2, 1});
  const array spread = array::from<std::int32_t>({5, 5, 5, 9, 9, 9}, {2, 3});
  CHECK(tk::test::distance(tk::rotary_embedding(x, one_each), tk::rotary_embedding(x, spread)) == 0);
  CHECK(tk::test::distance(tk::rotary_embedding(x, array(7.0, integers({}))),
                           tk::rotary_embedding(x, array(7.0, integers({2, 3})))) == 0);
}

TEST_CASE("rotary_embedding turns back by its inverse, which is its gradient") {
  const array x = noise({2, 5, 3, 10}, 1), ct = noise({2, 5, 3, 10}, 2), p = tk::arange(5) * 1000;
  for (const bool interleaved : {false, true}) {
    const auto turned = [=](const array& v) { return tk::rotary_embedding(v, p, {.interleaved = interleaved}); };
    const auto back = [=](const array& v) {
      return tk::rotary_embedding(v, p, {.interleaved = interleaved, .inverse = true});
    };
    CHECK(tk::test::distance(back(turned(x)), x) < 5e-7);
    CHECK(tk::test::distance(tk::vjp(turned, x).second(ct), back(ct)) == 0);
    CHECK(tk::test::distance(tk::vjp(back, x).second(ct), turned(ct)) == 0);
    CHECK(tk::test::distance(tk::jvp(turned, x, ct).second, turned(ct)) == 0);
  }
}

TEST_CASE("products of what rotary_embedding has turned depend on the distance of positions") {
  const array q = noise({1, 1, 64}, 1), k = noise({1, 1, 64}, 2);
  for (const bool interleaved : {false, true}) {
    const auto product = [&](std::int32_t m, std::int32_t n) {
      const array a = tk::rotary_embedding(q, at(m), {.interleaved = interleaved});
      return sum(a * tk::rotary_embedding(k, at(n), {.interleaved = interleaved})).values<float>()[0];
    };
    for (const std::int32_t far : {10, 1000, 100000, 1000000}) {
      CAPTURE(interleaved, far);
      CHECK(product(far + 7, far) == Approx(product(7, 0)).margin(1e-5));
      CHECK(product(far, far) == Approx(product(0, 0)).margin(1e-5));
    }
    CHECK(std::fabs(product(7, 0) - product(6, 0)) > 1e-3f);
  }
}

TEST_CASE("rotary_embedding of bfloat16 is computed in f32 and rounded once") {
  const array x = noise({7, 3, 22}, 1, tk::bf16), p = tk::arange(7) * 12345;
  for (const bool interleaved : {false, true}) {
    const array wide = tk::rotary_embedding(astype(x, tk::f32), p, {.interleaved = interleaved});
    const array found = tk::rotary_embedding(x, p, {.interleaved = interleaved});
    CHECK(found.dtype() == tk::bf16);
    CHECK(tk::test::distance(astype(found, tk::f32), astype(astype(wide, tk::bf16), tk::f32)) == 0);
  }
}

TEST_CASE("rotary_embedding reads parts of a projection as they lie") {
  for (const tk::dtype t : {tk::f32, tk::bf16}) {
    const array qkv = noise({2, 5, 48}, 1, t), p = array::from<std::int32_t>({4, 5, 6, 7, 8, 1, 2, 3, 4, 5}, {2, 5});
    const auto part = [](const array& x) { return reshape(split(x, 3)[1], {2, 5, 2, 8}); };
    const auto spread = [](const array& x) { return transpose(reshape(x, {2, 5, 8, 6}), {0, 1, 3, 2}); };
    const auto turned = [=](const auto& of) {
      return tk::jit([=](const array& x, const array& at) { return astype(tk::rotary_embedding(of(x), at), tk::f32); },
                     tk::cpu)(qkv, p);
    };
    CHECK(tk::test::distance(turned(part), astype(tk::rotary_embedding(part(qkv), p), tk::f32)) == 0);
    CHECK(tk::test::distance(turned(spread), astype(tk::rotary_embedding(spread(qkv), p), tk::f32)) == 0);
  }
}

TEST_CASE("rotary_embedding has the same bits called at once, compiled, and compiled late") {
  using heads = tk::tensor<tk::f32, 2, 5, 3, 10>;
  constexpr auto f = [](const heads& x, const tk::tensor<tk::i32, 5>& p) {
    return tk::grad([&](const array& v) { return sum(square(tk::rotary_embedding(v, p, {.interleaved = true})) * v); })(
        x);
  };
  const heads x(noise({2, 5, 3, 10}, 1));
  const tk::tensor<tk::i32, 5> p(tk::arange(5) * 300);
  const array at_once = f(x, p);
  CHECK(tk::test::distance(tk::jit(f, tk::cpu, tk::while_compiling)(x, p), at_once) == 0);
  CHECK(tk::test::distance(tk::jit(f, tk::cpu, tk::at_run_time)(x, p), at_once) == 0);
}

TEST_CASE("rotary_embedding of a batch is the batch of rotary_embeddings") {
  const array x = noise({3, 2, 5, 2, 4}, 1), p = noise({3, 5}, 2) * 100.0;
  const array positions = astype(p, tk::i32);
  const auto f = [](const std::pair<array, array>& a) { return tk::rotary_embedding(a.first, a.second); };
  const array expected = tk::rotary_embedding(x, reshape(positions, {3, 1, 5}));
  CHECK(tk::test::distance(tk::vmap(f)(std::pair{x, positions}), expected) == 0);
}

TEST_CASE("rotary_embedding has the same bits for any number of threads") {
  for (const tk::dtype t : {tk::f32, tk::bf16})
    for (const bool interleaved : {false, true})
      tk::test::check_threads(
          [=](const tk::arrays& v) -> tk::arrays {
            return tk::rotary_embedding(v[0], v[1], {.interleaved = interleaved});
          },
          {noise({3, 70, 5, 34}, 1, t), tk::arange(70)});
}

TEST_CASE("rotary_embedding past the caches has the bits of small ones") {
  for (const bool interleaved : {false, true}) {
    const array x = noise({4099, 8, 128}, 1), p = tk::arange(4099);  // more than 16 MB
    const array found = tk::rotary_embedding(x, p, {.interleaved = interleaved});
    for (const std::int64_t t : {0, 2000, 4090}) {
      const array piece =
          tk::rotary_embedding(slice_in_dim(x, t, t + 9, 0), tk::arange(9) + t, {.interleaved = interleaved});
      CHECK(tk::test::distance(slice_in_dim(found, t, t + 9, 0), piece) == 0);
    }
  }
}

TEST_CASE("rotary_embedding of no rows is empty") {
  CHECK(tk::rotary_embedding(noise({2, 0, 3, 4}, 1), tk::arange(0)).shape() == tk::shape{2, 0, 3, 4});
  CHECK(tk::rotary_embedding(noise({2, 5, 0, 4}, 1), tk::arange(5)).shape() == tk::shape{2, 5, 0, 4});
}

TEST_CASE("rotary_embedding says what is wrong with its operands") {
  const array x(floats({2, 5, 3, 8})), positions(integers({5}));
  CHECK_THROWS_WITH(tk::rotary_embedding(array(floats({2, 5, 3, 7})), positions),
                    contains("rotary_embedding: x") && contains("f32[2,5,3,7]") && contains("H = 2, 4, ..."));
  CHECK_THROWS_WITH(tk::rotary_embedding(array(floats({5, 8})), positions), contains("rotary_embedding: x"));
  CHECK_THROWS_WITH(tk::rotary_embedding(array(floats({2, 5, 3, tk::dyn()})), positions),
                    contains("rotary_embedding: x"));
  CHECK_THROWS_WITH(tk::rotary_embedding(array(integers({2, 5, 3, 8})), positions),
                    contains("rotary_embedding: x") && contains("f32, bf16 or f64"));
  CHECK_THROWS_WITH(tk::rotary_embedding(x, array(floats({5}))),
                    contains("rotary_embedding: positions") && contains("f32[5]") && contains("i32 that fits [2,5]"));
  CHECK_THROWS_WITH(tk::rotary_embedding(x, array(integers({4}))),
                    contains("rotary_embedding: positions") && contains("i32[4]"));
  CHECK_THROWS_WITH(tk::rotary_embedding(x, array(integers({3, 2, 5}))), contains("rotary_embedding: positions"));
  CHECK_THROWS_WITH(tk::rotary_embedding(array(floats({1, 5, 3, 8})), array(integers({2, 5}))),
                    contains("rotary_embedding: positions"));
  CHECK_THROWS_WITH(tk::rotary_embedding(x, positions, {.base = 0.5}),
                    contains("rotary_embedding: base") && contains("at least 1"));
}

TEST_CASE("rotary_embedding keeps the contract of ops") {
  const array positions = array::from<std::int32_t>({3, 0, 100000});
  const array each = array::from<std::int32_t>({3, 0, 7, -2, 1000000, 5}, {2, 3});
  for (const bool interleaved : {false, true}) {
    const tk::words o = tk::pack(options{.interleaved = interleaved}), back = tk::pack(options{5e5, interleaved, true});
    for (const tk::dtype t : {tk::f32, tk::bf16})
      tk::test::check_op(tk::rotary_embedding_p, {{{noise({3, 2, 4}, 1, t), positions}, o}});
    tk::test::check_op(tk::rotary_embedding_p, {{{noise({2, 3, 2, 6}, 1), positions}, back}});
    tk::test::check_op(tk::rotary_embedding_p, {{{noise({2, 3, 1, 6}, 1), each}, o}});
  }
}
