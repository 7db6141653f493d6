// tests/ops/quantized/ragged_dot.cpp: ragged dots of quantised arrays are those of the numbers that they stand for.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/ops/activations.hpp>
#include <tokamax/ops/quantized/ragged_dot.hpp>
#include <tokamax/runtime/jit.hpp>
#include <tokamax/transforms/grad.hpp>

#include "support/contains.hpp"
#include "support/functions.hpp"
#include "support/golden.hpp"
#include "support/steps_of.hpp"

namespace tk = tokamax;
using tk::array;
using tk::ragged_dot_form;
using tk::test::noise;

namespace {

array sizes_of(const std::vector<std::int32_t>& sizes) {
  return array::from<std::int32_t>(sizes, {static_cast<std::int64_t>(sizes.size())});
}
/// None, relu or tanh, which is known when the program runs.
struct activation {
  int which;
  array operator()(const array& x) const { return which == 0 ? x : which == 1 ? tk::relu(x) : array(tanh(x)); }
};
double apart(const array& found, const array& expected) {
  REQUIRE(found.shape() == expected.shape());
  return tk::test::distance(array(astype(found, tk::f32)), array(astype(expected, tk::f32)));
}

}  // namespace

TEST_CASE("ragged_dot of quantised operands, with the tiles of tokamax's tests") {
  constexpr std::int64_t groups = 8, m = 512, k = 256, n = 512;
  const array x = noise({m, k}, 1), w = noise({groups, k, n}, 2), even = tk::full({groups}, 64, tk::i32);
  const struct {
    tk::shape lhs;  // none: floats
    tk::shape rhs;
    bool integers;
  } cases[] = {{{}, {1, 1, 16}, false},       {{}, {1, 1, 128}, false},       {{}, {1, 256, 1}, false},
               {{}, {1, 16, 1}, false},       {{1, 128}, {1, 1, 16}, false},  {{1, 128}, {1, 1, 128}, false},
               {{1, 128}, {1, 256, 1}, true}, {{1, 128}, {1, 16, 1}, true},   {{1, 16}, {1, 1, 16}, false},
               {{1, 16}, {1, 1, 128}, false}, {{1, 16}, {1, 256, 1}, true},   {{1, 16}, {1, 16, 1}, true},
               {{256, 1}, {1, 1, 16}, false}, {{256, 1}, {1, 1, 128}, false}, {{256, 1}, {1, 256, 1}, false},
               {{256, 1}, {1, 16, 1}, false}, {{16, 1}, {1, 1, 16}, false},   {{16, 1}, {1, 1, 128}, false},
               {{16, 1}, {1, 256, 1}, false}, {{16, 1}, {1, 16, 1}, false},   {{16, 128}, {8, 64, 16}, true}};
  int round = 0;
  for (const auto& c : cases)
    for (const tk::dtype type : {tk::i8, tk::i4}) {
      const activation f{round++ % 3};
      const tk::as_quantized right{w, {.type = type, .tiles = c.rhs}}, left{x, {.type = type, .tiles = c.lhs}};
      const tk::quantized_array b = tk::quantize(w, right.options), a = tk::quantize(x, left.options);
      const bool floats = c.lhs.rank() == 0;
      CAPTURE(c.lhs, c.rhs, static_cast<int>(type), f.which);
      const auto run = [&] { return floats ? tk::ragged_dot(x, b, even, {}, f) : tk::ragged_dot(a, b, even, {}, f); };
      CHECK((tk::test::steps_of(run).find("ragged_scaled_dot") != std::string::npos) == c.integers);
      const array y = run();
      const array expected = tk::ragged_dot(floats ? x : array(dequantize(a)), array(dequantize(b)), even, {}, f);
      CHECK(apart(y, expected) < 1e-5);
      const array entry = floats ? tk::ragged_dot(x, right, even, {}, f) : tk::ragged_dot(left, right, even, {}, f);
      CHECK(tk::test::bit_difference({y}, {entry}) == "");
    }
}

TEST_CASE("ragged dots of quantised operands in all forms, traced, with empty groups and an offset") {
  const auto a = tk::quantize(noise({20, 32}, 1), {.tiles = {1, 16}});
  const auto b = tk::quantize(noise({3, 32, 7}, 2), {.type = tk::i4, .tiles = {1, 0, 1}});
  const array floats = noise({20, 7}, 3), all = sizes_of({3, 0, 4, 2, 5, 1}), offset = array::from<std::int32_t>({2});
  const tk::quantized_array turned = transpose(b, {0, 2, 1});
  const auto check = [](const auto& run, const array& expected) {
    CHECK(apart(run(), expected) < 1e-5);
    CHECK(tk::test::bit_difference({tk::jit(run, tk::cpu, tk::at_run_time)()}, {array(run())}) == "");
  };
  const tk::ragged_dot_options o{.group_offset = offset};
  check([&] { return tk::ragged_dot(a, b, all, o); },
        tk::ragged_dot(array(dequantize(a)), array(dequantize(b)), all, o));
  check([&] { return ragged_dot_general(a, turned, all, ragged_dot_form::transposed_rhs, o); },
        tk::ragged_dot(array(dequantize(a)), array(dequantize(b)), all, o));
  check([&] { return ragged_dot_general(a, floats, all, ragged_dot_form::ragged_contracting); },
        ragged_dot_general(array(dequantize(a)), floats, all, ragged_dot_form::ragged_contracting));
  const array narrow = tk::ragged_dot(a, b, all, {.group_offset = offset, .preferred_element_type = tk::bf16});
  CHECK(narrow.dtype() == tk::bf16);
  for (const int threads : {1, 3}) {
    const array y = tk::ragged_dot(a, b, all, o);
    tk::cpu_backend::set_num_threads(threads);
    CHECK(tk::test::bit_difference({tk::ragged_dot(a, b, all, o)}, {y}) == "");
    tk::cpu_backend::set_num_threads(0);
  }
}

TEST_CASE("ragged_dot of quantised weights has the gradients of their floats") {
  const array x = noise({12, 32}, 1), w = noise({3, 32, 5}, 2), sizes = sizes_of({5, 0, 6});
  const auto b = tk::quantize(w, {.tiles = {1, 16, 1}});
  const array dense = dequantize(b);
  const auto loss = [&](const auto& left, const auto& right) {
    return tk::sum(tk::square(tk::ragged_dot(left, right, sizes)));
  };
  const array found = tk::grad([&](const array& v) { return loss(v, b); })(x);
  const array expected = tk::grad([&](const array& v) { return loss(v, dense); })(x);
  CHECK(tk::test::distance(found, expected) < 1e-6);
  const auto a = tk::quantize(x, {.tiles = {1, 16}});
  const array of_scale = tk::grad([&](const array& s) { return loss(a, tk::quantized_array{b.qvalue, s}); })(b.scale);
  const array in_floats =
      tk::grad([&](const array& s) { return loss(array(dequantize(a)), tk::dequantize({b.qvalue, s})); })(b.scale);
  CHECK(tk::test::distance(of_scale, in_floats) < 1e-4);
}

TEST_CASE("what ragged_dot quantises on entry gets the gradients of the product of the rounded numbers") {
  const array x = noise({12, 32}, 1), w = noise({3, 32, 5}, 2), sizes = sizes_of({5, 0, 6});
  const tk::quantize_options rows{.tiles = {1, 16}}, columns{.tiles = {1, 16, 1}},
      whole{.type = tk::i4, .tiles = {1, 0}};
  const auto relu = [](const array& a) { return tk::relu(a); };
  const auto b = tk::quantize(w, columns);
  using pair = std::array<array, 2>;
  const auto gradients = [&](auto left, auto right, const pair& p) {
    return tk::grad([&](const pair& v) {
      return tk::sum(tk::square(tk::ragged_dot(left(v[0]), right(v[1]), sizes, {}, relu)));
    })(p);
  };
  const auto as_is = [](const array& v) { return v; };
  const auto on_entry = [](const tk::quantize_options& o) {
    return [o](const array& v) { return tk::as_quantized{v, o}; };
  };
  const auto rounded = [](const tk::quantize_options& o) {
    return [o](const array& v) { return tk::fake_quantize(v, o); };
  };
  const auto given = [&](const array&) { return b; };
  const auto floats = [&](const array&) { return array(dequantize(b)); };
  const pair both{x, w};
  const auto same = [](const pair& found, const pair& expected) {
    for (std::size_t k = 0; k < 2; ++k) CHECK(tk::test::distance(found[k], expected[k]) < 1e-5);
  };
  same(gradients(on_entry(rows), on_entry(columns), both), gradients(rounded(rows), rounded(columns), both));
  same(gradients(on_entry(rows), given, both), gradients(rounded(rows), floats, both));
  same(gradients(as_is, on_entry(columns), both), gradients(as_is, rounded(columns), both));
  same(gradients(on_entry(whole), as_is, both), gradients(rounded(whole), as_is, both));
  const auto traced =
      tk::jit([&](const pair& p) { return gradients(on_entry(rows), on_entry(columns), p); }, tk::cpu, tk::at_run_time);
  same(traced(both), gradients(rounded(rows), rounded(columns), both));
  const auto scale = [&](const auto& side) {
    return tk::grad([&](const array& s) {
      return tk::sum(tk::square(tk::ragged_dot(side(x), tk::quantized_array{b.qvalue, s}, sizes)));
    })(b.scale);
  };
  CHECK(tk::test::distance(scale(on_entry(rows)), scale(rounded(rows))) < 1e-4);
}

TEST_CASE("ragged_dot says what is wrong with quantised operands") {
  const array x = noise({6, 32}, 1), sizes = sizes_of({3, 3});
  const auto a = tk::quantize(x), b = tk::quantize(noise({2, 32, 5}, 2)), c = tk::quantize(noise({2, 30, 5}, 2));
  CHECK_THROWS_WITH(tk::ragged_dot(a, c, sizes), contains("with the K of f32[6,32]"));
  CHECK_THROWS_WITH(tk::ragged_dot(x, a, sizes), contains("ragged_dot: rhs"));
  CHECK_THROWS_WITH(tk::ragged_dot(a, b, sizes_of({6})), contains("one size for each group"));
  CHECK_THROWS_WITH(tk::ragged_dot(a, b, sizes, {.group_offset = x}), contains("ragged_dot: group_offset"));
  CHECK_THROWS_WITH(tk::ragged_dot(a, tk::quantized_array{b.qvalue, tk::ones({3, 1, 1})}, sizes),
                    contains("quantized_array: scale"));
  CHECK_THROWS_WITH(tk::ragged_dot(x, tk::as_quantized{x, {.type = tk::f32}}, sizes), contains("quantize: type"));
}
