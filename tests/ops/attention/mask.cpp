// tests/ops/attention/mask.cpp: masks of attention as booleans, and their intersections.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/lax/shapes/concatenate.hpp>
#include <tokamax/ops/attention/mask.hpp>

#include "support/contains.hpp"
#include "support/golden.hpp"

namespace tk = tokamax;
using tk::array;
using tk::attention_mask;

namespace {

/// Rows of a mask without batch and heads, such as "100 110".
std::string text(const array& mask) {
  std::string t;
  for (std::int64_t i = 0; i < mask.size(); ++i) {
    if (i > 0 && i % mask.extent(-1) == 0) t += ' ';
    t += mask.data<bool>()[i] ? '1' : '0';
  }
  return t;
}

static_assert(!attention_mask{}.as_array(4, 3).exists());
static_assert(tk::causal_mask.is_causal && (tk::causal_mask & attention_mask{}).is_causal);

}  // namespace

TEST_CASE("masks are ranges of keys for queries and of queries for keys") {
  const array start{0, 0, 1, 2}, end{1, 2, 3, 4};
  CHECK(text(attention_mask{.k_start = start, .k_end = end}.as_array(4, 3)) == "100 110 011 001");
  CHECK(text(attention_mask{.q_end = array{1, 3, 0}}.as_array(4, 3)) == "110 010 010 000");
  CHECK(text(attention_mask{.q_start = array{1, 3, 0}}.as_array(4, 3)) == "001 101 101 111");
  CHECK(text(tk::causal_mask.as_array(4, 3)) == "100 110 111 111");
  CHECK(attention_mask{.k_end = 2}.as_array(4, 3).shape() == tk::shape{1, 4, 3});
}

TEST_CASE("masks see what all of their fields see") {
  const attention_mask blocks{.k_start = array{0, 0, 2, 2}, .k_end = array{2, 2, 4, 4}};
  CHECK(text((tk::causal_mask & blocks).as_array(4, 4)) == "1000 1100 0010 0011");
  const attention_mask a{.k_start = array{1, 2}, .k_end = array{4, 3}, .is_causal = false};
  const attention_mask b{.k_start = array{2, 0}, .k_end = array{3, 4}, .is_causal = true};
  const attention_mask c = a & b;
  CHECK(c.is_causal);
  CHECK(c.k_start.values<std::int32_t>()[0] == 2);
  CHECK(c.k_start.values<std::int32_t>()[1] == 2);
  CHECK(c.k_end.values<std::int32_t>()[0] == 3);
  CHECK(c.k_end.values<std::int32_t>()[1] == 3);
  const array left = tk::full({1, 1, 2, 2}, 1, tk::bool_), right = tk::iota(tk::i32, {1, 1, 2, 2}, 3) == 0;
  const array both = (attention_mask{.bool_mask = left} & attention_mask{.bool_mask = right}).as_array(2, 2);
  CHECK(text(both) == "10 10");
  CHECK(both.shape() == tk::shape{1, 1, 2, 2});
}

TEST_CASE("windows, chunks and segments, their unions and intersections") {
  CHECK(text(tk::local_mask(1, 0).as_array(4, 3)) == "100 110 011 001");
  CHECK(text(tk::local_mask(-1, 1).as_array(3, 4)) == "1100 1110 1111");
  CHECK(text(tk::chunked_mask(2).as_array(4, 4)) == "1100 1100 0011 0011");
  CHECK(text((tk::chunked_mask(2) & tk::causal_mask).as_array(4, 4)) == "1000 1100 0010 0011");
  CHECK(text((tk::chunked_mask(2) & tk::chunked_mask(3)).as_array(4, 4)) == "1100 1100 0010 0001");
  CHECK(text(tk::segment_mask(array{0, 1, 0}, array{1, 0, 0, 2}).as_array(3, 4)) == "0110 1000 0110");
  const attention_mask split = tk::segment_mask(array{0, 0, 1, 1}) & tk::segment_mask(array{0, 1, 1, 0});
  CHECK(text(split.as_array(4, 4)) == "1000 0100 0010 0001");
  const attention_mask local = tk::local_mask(1, 1) & tk::local_mask(-1, 0), first{.k_end = 1};
  CHECK(text(local.as_array(3, 3)) == "100 110 011");
  CHECK(text((local | first).as_array(4, 4)) == "1000 1100 1110 1011");
  CHECK(text(((local | first) & tk::chunked_mask(2)).as_array(4, 4)) == "1000 1100 0010 0011");
  CHECK(text((tk::chunked_mask(2) & (local | first)).as_array(4, 4)) == "1000 1100 0010 0011");
  CHECK(!(local | attention_mask{}).as_array(4, 4).exists());
}

TEST_CASE("masks are those of JAX's splash attention, at any positions") {
  const auto check = [](const std::string& name, const attention_mask& mask, std::int64_t queries, std::int64_t keys,
                        int offset) {
    const std::string row =
        name + "_" + std::to_string(queries) + "x" + std::to_string(keys) + "_" + std::to_string(offset);
    CAPTURE(row);
    const array expected = tk::test::golden("masks.txt", row);
    const array positions = tk::iota(tk::i32, {queries}, 0) + offset;
    CHECK(text(mask.as_array(positions, tk::iota(tk::i32, {keys}, 0))) == text(expected));
    if (offset == 0) CHECK(text(mask.as_array(queries, keys)) == text(expected));
  };
  for (const auto& [queries, keys] : {std::pair{1, 1}, {4, 4}, {4, 6}, {6, 4}}) {
    for (const int offset : {-1, 0, 2}) {
      check("causal", tk::causal_mask, queries, keys, offset);
      check("or", tk::causal_mask | tk::local_mask(1, 2), queries, keys, offset);
      check("and", tk::causal_mask & tk::local_mask(1, 2), queries, keys, offset);
      check("local_1_none", tk::local_mask(1, -1), queries, keys, offset);
      check("local_none_2", tk::local_mask(-1, 2), queries, keys, offset);
      check("local_1_1", tk::local_mask(1, 1), queries, keys, offset);
      check("local_1_0", tk::local_mask(1, 0), queries, keys, offset);
      check("local_0_2", tk::local_mask(0, 2), queries, keys, offset);
    }
    for (const int size : {1, 2, 3, 8})
      check("chunked_" + std::to_string(size), tk::chunked_mask(size) & tk::causal_mask, queries, keys, 0);
  }
}

TEST_CASE("positions replace the numbers of queries and keys") {
  const array queries{3, 0, 2}, keys{1, 0, 2, 3};
  CHECK(text(tk::causal_mask.as_array(queries, keys)) == "1111 0100 1110");
  const array two = tk::stack({queries, queries - 1}, 0);
  const array seen = tk::causal_mask.as_array(two, keys);
  CHECK(seen.shape() == tk::shape{2, 1, 3, 4});
  CHECK(text(seen) == "1111 0100 1110 1110 0000 1100");
}

TEST_CASE("fields of other extents are refused") {
  const attention_mask wrong{.bool_mask = tk::full({2, 2}, 1, tk::bool_)};
  CHECK_THROWS_WITH(wrong.as_array(3, 4), contains("attention_mask: extents"));
  CHECK_THROWS_WITH((attention_mask{.k_end = array{1, 2}}.as_array(3, 4)), contains("attention_mask: extents"));
}
