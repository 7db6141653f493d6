// tests/nn/attention/rotary.cpp: angles of all kinds of scaling, and the turns that they make.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/nn/attention/rotary.hpp>
#include <tokamax/ops/rotary_embedding.hpp>

#include <cmath>

#include "support/catch.hpp"
#include "support/golden.hpp"

namespace tk = tokamax;
namespace nn = tokamax::nn;
using tk::array;

namespace {
array waves(const tk::shape& s) {
  array a = array::uninitialized({tk::f32, false, s});
  for (std::int64_t i = 0; i < a.size(); ++i) a.mutable_data<float>()[i] = std::sin(0.7f * static_cast<float>(i));
  return a;
}
const array positions = array::from<std::int32_t>({0, 1, 5, 700});
}  // namespace

TEST_CASE("without scaling it is rotary_embedding, and features behind are left as they are") {
  const array x = waves({4, 3, 16});
  const nn::rotary turn{.size = 16, .base = 500, .scaling = {}};
  CHECK(tk::test::distance(turn(x, turn.angles(positions)), tk::rotary_embedding(x, positions, {.base = 500})) < 1e-6);
  const nn::rotary some{.size = 6, .base = 500, .scaling = {}};
  const array y = some(x, some.angles(positions));
  CHECK(tk::test::distance(tk::slice_in_dim(y, 6, 16, 2), tk::slice_in_dim(x, 6, 16, 2)) == 0);
  CHECK(tk::test::distance(tk::slice_in_dim(y, 0, 6, 2),
                           tk::rotary_embedding(tk::slice_in_dim(x, 0, 6, 2), positions, {.base = 500})) < 1e-6);
  const nn::rotary pairs{.size = 16, .base = 500, .scaling = {}, .side_by_side = true};
  CHECK(tk::test::distance(pairs(x, pairs.angles(positions)),
                           tk::rotary_embedding(x, positions, {.base = 500, .interleaved = true})) < 1e-6);
  const array half = tk::astype(x, tk::bf16);
  CHECK(turn(half, turn.angles(positions)).dtype() == tk::bf16);
}

TEST_CASE("each kind of scaling changes the frequencies that it shall") {
  const auto frequencies = [](const nn::rope_scaling& s) {
    return nn::rotary{.size = 32, .base = 10000, .scaling = s}.frequencies();
  };
  const auto plain = frequencies({}), linear = frequencies({.kind = nn::rope_kind::linear, .factor = 4}),
             ntk = frequencies({.kind = nn::rope_kind::ntk, .factor = 4}),
             own = frequencies({.kind = nn::rope_kind::by_factor, .factors = std::vector<double>(16, 2.0)});
  const auto llama3 = frequencies({.kind = nn::rope_kind::llama3, .factor = 8, .old_context = 256});
  const auto yarn = frequencies({.kind = nn::rope_kind::yarn, .factor = 8, .old_context = 256});
  REQUIRE(plain.size() == 16);
  for (std::size_t i = 0; i < 16; ++i) {
    CHECK(plain[i] == Approx(std::pow(10000.0, -static_cast<double>(i) / 16)));
    CHECK(linear[i] == Approx(plain[i] / 4));
    CHECK(own[i] == Approx(plain[i] / 2));
    for (const auto& f : {llama3, yarn}) CHECK((f[i] <= plain[i] * 1.0000001 && f[i] >= plain[i] / 8.0000001));
  }
  CHECK(ntk[0] == 1);
  CHECK(ntk[15] == Approx(plain[15] / 4));
  for (const auto& f : {llama3, yarn}) {
    CHECK(f[0] == Approx(plain[0]));        // turns 40 times in the old context
    CHECK(f[15] == Approx(plain[15] / 8));  // does not turn once
  }
  // Turns twice: a third of the way from 1 to 4 turns.
  const nn::rotary one{.size = 2,
                       .base = 10000,
                       .scaling = {.kind = nn::rope_kind::llama3, .factor = 8, .old_context = 4 * 3.14159265358979}};
  CHECK(one.frequencies()[0] == Approx(1.0 / 3 + 2.0 / 3 / 8));
}

TEST_CASE("yarn stretches sines and cosines") {
  nn::rotary turn{.size = 8, .base = 10000, .scaling = {.kind = nn::rope_kind::yarn, .factor = 8, .old_context = 256}};
  CHECK(turn.attention_factor() == Approx(0.1 * std::log(8.0) + 1));
  CHECK(turn.angles(positions).cosine.values<float>()[0] == Approx(0.1 * std::log(8.0) + 1));
  turn.scaling.attention_factor = 1.5;
  CHECK(turn.attention_factor() == 1.5);
  turn.scaling.kind = nn::rope_kind::linear, turn.scaling.attention_factor = 0;
  CHECK(turn.attention_factor() == 1);
}
