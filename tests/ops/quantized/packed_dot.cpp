// tests/ops/quantized/packed_dot.cpp: rows times packed weights: all formats, shapes, numbers of rows and of threads.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/ops/quantized/packed_dot.hpp>

#include <tokamax/quant/pack.hpp>
#include <tokamax/tokamax.hpp>
#include <tokamax/transforms/grad.hpp>
#include <tokamax/transforms/vmap.hpp>

#include "support/adversarial.hpp"
#include "support/golden.hpp"

namespace tk = tokamax;
using tk::array, tk::packed_format;
using tk::test::noise;

namespace {

constexpr packed_format formats[] = {packed_format::int_8, packed_format::int_4, packed_format::uint_4,
                                     packed_format::nf4,   packed_format::fp8,   packed_format::fp4};

tk::packed_weights packed(const tk::shape& s, packed_format f, std::int64_t group, unsigned seed = 2,
                          tk::dtype scales = tk::f32) {
  return tk::quant::pack(noise(s, seed), {f, group, scales});
}
tk::arrays operands(const array& x, const tk::packed_weights& w) {
  tk::arrays in{x};
  in.push_back(w.codes);
  in.push_back(w.scale);
  if (w.has_offset()) in.push_back(w.offset);
  return in;
}
tk::words attributes(const tk::packed_weights& w) { return tk::pack(tk::packed_dot_options{w.format, w.columns}); }
std::vector<float> values(array a) {
  const auto v = a.values<float>();
  return {v.begin(), v.end()};
}

}  // namespace

TEST_CASE("packed_dot keeps the contract of ops") {
  for (const packed_format f : formats)
    for (const tk::dtype scales : {tk::f32, tk::f16}) {
      const tk::packed_weights w = packed({2, 16, 5}, f, 8, 2, scales);
      const tk::arrays in = operands(noise({2, 3, 16}, 1), w);
      const tk::test::check_options o{.tolerance = scales == tk::f16 ? 2e-3 : 3e-6};
      if (f == packed_format::fp8)  // codes that are floats have derivatives of few bits: here they are constants
        tk::test::check_function(
            [&](const tk::arrays& v) {
              const tk::arrays all{v[0], w.codes, v[1]};
              return bind_all(tk::packed_dot_p, all.data(), all.count(), attributes(w), {});
            },
            {in[0], in[2]}, o);
      else
        tk::test::check_op(tk::packed_dot_p, {{{in.begin(), in.end()}, attributes(w)}}, o);
    }
}

TEST_CASE("packed_dot gives the values of the product with unpacked weights") {
  const struct {
    std::int64_t k, n, group;
  } shapes[] = {{64, 64, 32}, {96, 130, 16}, {640, 70, 128}, {1100, 33, 0},
                {77, 131, 0}, {1, 1, 0},     {9, 0, 0},      {0, 9, 0}};
  for (const packed_format f : formats)
    for (const auto& s : shapes) {
      const tk::packed_weights w = packed({2, s.k, s.n}, f, s.group, 2, s.k % 3 == 1 ? tk::f16 : tk::f32);
      const array plain = unpack(w);
      REQUIRE(plain.shape() == tk::shape{2, s.k, s.n});
      for (const std::int64_t m : {0, 1, 2, 3, 4, 5, 7, 16, 17, 40}) {
        CAPTURE(static_cast<int>(f), m, s.k, s.n);
        const array x = noise({2, m, s.k}, 1), y = packed_dot(x, w);
        REQUIRE(y.shape() == tk::shape{2, m, s.n});
        if (y.size() == 0) continue;
        const array exact = dot_general(astype(x, tk::f64), astype(plain, tk::f64), {{2}, {1}, {0}, {0}});
        CHECK(tk::test::distance(y, astype(exact, tk::f32)) < 2e-6);
        if (!w.has_offset()) CHECK(values(y) == values(dot_general(x, plain, {{2}, {1}, {0}, {0}})));
      }
    }
}

TEST_CASE("a row has the same bits among any others and with any number of threads") {
  const struct {
    std::int64_t k, n, group;
  } shapes[] = {{1056, 200, 32}, {300, 70, 0}};
  for (const packed_format f : formats)
    for (const auto& s : shapes) {
      const tk::packed_weights w = packed({s.k, s.n}, f, s.group, 2, s.group == 32 ? tk::f16 : tk::f32);
      const array x = noise({160, s.k}, 1);
      const std::vector<float> all = values(packed_dot(x, w));
      for (const int threads : {1, 2, 3, 8}) {
        const tk::cpu_backend::thread_team team(threads);
        for (const std::int64_t m : {1, 2, 3, 4, 5, 6, 9, 14, 16, 17, 33, 64, 100, 159, 160})
          for (const std::int64_t first : {std::int64_t{0}, 160 - m}) {
            CAPTURE(static_cast<int>(f), threads, m, first);
            const auto part = values(packed_dot(slice(x, {first, 0}, {first + m, s.k}), w));
            CHECK(part == std::vector<float>(all.begin() + first * s.n, all.begin() + (first + m) * s.n));
          }
      }
    }
}

TEST_CASE("packed_dot carries special values, on odd and empty extents") {
  const struct {
    std::int64_t m, k, n;
  } sizes[] = {{4, 257, 61}, {1, 38, 200}, {11, 64, 29}, {3, 1, 7}, {0, 8, 3}, {3, 0, 8}, {3, 8, 0}};
  for (const packed_format f : formats)
    for (const auto& s : sizes) {
      const tk::packed_weights w = packed({2, s.k, s.n}, f, 0);
      const tk::arrays in = operands(tk::test::sprinkled({2, s.m, s.k}, 1, tk::f32, 1e4), w);
      tk::test::check_adversarial(
          [&](const tk::arrays& x) { return bind_all(tk::packed_dot_p, x.data(), x.count(), attributes(w), {}); },
          {in.begin(), in.end()}, {.tolerance = 5e-6, .floor = 1e5});
    }
}

TEST_CASE("rows of any axes and dtype, of a vmap and of a gradient meet packed weights with one meaning") {
  const tk::packed_weights w = packed({64, 70}, packed_format::int_4, 32),
                           many = packed({3, 64, 70}, packed_format::nf4, 16);
  const array plain = reshape(unpack(w), {64, 70}), x = noise({3, 5, 64}, 1);
  CHECK(values(packed_dot(x, w)) == values(matmul(x, plain)));
  CHECK(values(packed_dot(x[0][0], w)) == values(matmul(x[0][0], plain)));
  CHECK(values(packed_dot(x, many)) == values(dot_general(x, unpack(many), {{2}, {1}, {0}, {0}})));
  CHECK(values(tk::vmap([&](const array& row) { return packed_dot(row, w); })(x)) == values(matmul(x, plain)));
  CHECK(packed_dot(astype(x, tk::bf16), w).dtype() == tk::bf16);
  const auto loss = [&](const array& v) { return tk::sum(tk::square(packed_dot(v, w))); };
  const auto in_floats = [&](const array& v) { return tk::sum(tk::square(matmul(v, plain))); };
  CHECK(tk::test::distance(array(tk::grad(loss)(x)), array(tk::grad(in_floats)(x))) < 5e-6);
  CHECK(values(tk::jit([](const array& v, const tk::packed_weights& p) { return packed_dot(v, p); }, tk::cpu)(x, w)) ==
        values(packed_dot(x, w)));
}

TEST_CASE("each code of floats is its number, in products of few and of many rows") {
  for (const packed_format f : {packed_format::fp8, packed_format::fp4})
    for (int c = 0; c < (f == packed_format::fp8 ? 256 : 16); ++c) {
      tk::packed_weights w = tk::quant::pack(array::from<float>({1}, {1, 1}), {f, 0});
      w.scale = array::filled({tk::f32, false, {1, 1, 1, 64}}, 0.5);
      w.codes.mutable_bytes()[0] = static_cast<std::byte>(c);
      const float number = f == packed_format::fp4
                               ? tk::detail::fp4_levels[c]
                               : static_cast<float>(tk::float8_e4m3fn::from_bits(static_cast<std::uint8_t>(c)));
      for (const std::int64_t m : {1, 4, 17}) {
        CAPTURE(c, m);
        const float found = packed_dot(array::filled({tk::f32, false, {m, 1}}, 2.0), w).values<float>()[0];
        CHECK((found == number || (std::isnan(found) && std::isnan(number))));
      }
    }
}

TEST_CASE("packed_dot says what is wrong") {
  const tk::packed_weights w = packed({16, 5}, packed_format::int_4, 8);
  CHECK_THROWS_WITH(packed_dot(noise({3, 15}, 1), w), contains("packed_dot: x"));
  CHECK_THROWS_WITH(packed_dot(astype(noise({3, 16}, 1), tk::i32), w), contains("packed_dot: x"));
  const auto call = [&](const tk::arrays& in, const tk::packed_dot_options& o) {
    return bind_all(tk::packed_dot_p, in.data(), in.count(), tk::pack(o), tk::location{});
  };
  const array x = noise({1, 3, 16}, 1);
  CHECK_THROWS_WITH(call(operands(x, w), {packed_format::int_8, 5}), contains("packed_dot: operands"));
  CHECK_THROWS_WITH(call(operands(x, w), {packed_format::int_4, 65}), contains("packed_dot: operands"));
  CHECK_THROWS_WITH(call(operands(noise({1, 3, 32}, 1), w), {packed_format::int_4, 5}),
                    contains("packed_dot: operands"));
}
