// tests/lax/pack_int4.cpp: integers of 4 bits two to a byte.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/lax/pack_int4.hpp>
#include <tokamax/numpy/matmul.hpp>

#include "support/adversarial.hpp"
#include "support/check_op.hpp"

using namespace tokamax;
using namespace tokamax::test;

namespace {
array counted(const shape& s, dtype t) { return astype(reshape(specials(i32, size(s)), s), t); }

const bool known = (reference_rules()[&pack_int4_p] = [](const asked& a) -> values {
  value out = zeros_of(a.n.type);
  for (std::size_t i = 0; i < out.data.size(); ++i) {
    const auto low = static_cast<int>(a.in[0].data[2 * i]), high = static_cast<int>(a.in[0].data[2 * i + 1]);
    out.data[i] = (low & 15) + 16 * (high & 15);
  }
  return {out};
}, reference_rules()[&unpack_int4_p] = [](const asked& a) -> values {
  value out = zeros_of(a.n.type);
  for (std::size_t i = 0; i < out.data.size(); ++i) {
    const int half = static_cast<int>(a.in[0].data[i / 2]) >> (i % 2 ? 4 : 0) & 15;
    out.data[i] = a.n.type.dtype == i4 && half > 7 ? half - 16 : half;
  }
  return {out};
}, true);
}  // namespace

TEST_CASE("pack_int4 and unpack_int4 keep the contract") {
  check_op(pack_int4_p, {{{counted({3, 8}, i4)}, {}}, {{counted({2, 3, 2}, u4)}, {}}, {{counted({4, 0}, i4)}, {}}});
  check_op(unpack_int4_p, {{{counted({3, 5}, u8)}, pack(unpack_int4_options{i4})},
                           {{counted({7}, u8)}, pack(unpack_int4_options{u4})},
                           {{counted({0, 3}, u8)}, pack(unpack_int4_options{i4})}});
}

TEST_CASE("the low half of a byte comes first, as in JAX") {
  const array bytes = array::from<std::uint8_t>({0x21, 0xf3});
  CHECK(to_string(unpack_int4(bytes)) == "[ 1  2  3 -1]");
  CHECK(to_string(unpack_int4(bytes, u4)) == "[ 1  2  3 15]");
  CHECK(to_string(pack_int4(unpack_int4(bytes))) == to_string(bytes));
}

TEST_CASE("what is packed comes back") {
  for (const dtype t : {i4, u4})
    for (const shape& s : {shape{83, 38}, {1, 70002}, {5, 0}, {53, 2}}) {
      const array x = adversarial(s, 1, t);
      CHECK(pack_int4(x).size() * 2 == x.size());
      check_adversarial([t](const arrays& v) -> arrays { return {unpack_int4(pack_int4(v[0]), t), pack_int4(v[0])}; },
                        {x});
    }
}

TEST_CASE("packed weights are half a byte an element of a product's operand") {
  const array w = counted({6, 4}, i4), x = counted({3, 6}, i8);
  const array packed = pack_int4(w);
  const auto f = [](const array& a, const array& b) { return matmul(a, astype(unpack_int4(b), i8)); };
  for (const array& y : {jit(f, cpu, at_run_time)(x, packed), f(x, packed)})
    CHECK(to_string(y) == to_string(matmul(x, astype(w, i8))));
}

TEST_CASE("wrong operands are named") {
  CHECK_THROWS_WITH(pack_int4(counted({3}, i4)), contains("pack_int4: last extent: found i4[3], expected an even"));
  CHECK_THROWS_WITH(pack_int4(counted({4}, i8)), contains("pack_int4: dtype: found i8[4], expected i4 or u4"));
  CHECK_THROWS_WITH(unpack_int4(counted({4}, i8)), contains("unpack_int4: bytes: found i8[4]"));
  CHECK_THROWS_WITH(unpack_int4(counted({4}, u8), i8), contains("unpack_int4: result: found i8"));
  CHECK_THROWS_WITH(counted({2}, i4) + counted({2}, i8), contains("i4"));
}
