// tests/backend/cpu/attention/few_queries.cpp: attention of few queries, row by row, against blocked products.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu/attention/attention.hpp>

#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include "support/catch.hpp"

namespace cpu_backend = tokamax::cpu_backend;
using cpu_backend::attention_shape, cpu_backend::heads_view;
using floats = std::vector<float>;

namespace {

std::mt19937 engine(3);

floats random_floats(std::int64_t n, float size = 2) {
  std::uniform_real_distribution<float> numbers(-size, size);
  floats x(static_cast<std::size_t>(n));
  for (float& v : x) v = numbers(engine);
  return x;
}
std::vector<std::uint16_t> halves(const floats& x) {
  std::vector<std::uint16_t> y;
  for (const float v : x) y.push_back(std::bit_cast<std::uint16_t>(tokamax::bfloat16(v)));
  return y;
}

/// Numbers of all heads, which lie side by side or one after the other.
template <class T>
heads_view<void> view(std::vector<T>& x, std::int64_t length, std::int64_t heads, std::int64_t size, bool heads_first) {
  const std::int64_t all = length * heads * size;
  if (heads_first) return {x.data(), all, size, length * size, sizeof(T) == 2};
  return {x.data(), all, heads * size, size, sizeof(T) == 2};
}

struct found {
  floats out, lse, correction;
  explicit found(const attention_shape& s)
      : out(static_cast<std::size_t>(s.batch * s.queries * s.heads * s.values()), NAN),
        lse(static_cast<std::size_t>(s.batch * s.heads * s.queries), NAN),
        correction(lse) {}
  heads_view<void> result(const attention_shape& s) { return view(out, s.queries, s.heads, s.values(), false); }
};

found by_rows(const attention_shape& s, const heads_view<void>& q, const heads_view<void>& k,
              const heads_view<void>& v) {
  found y(s);
  cpu_backend::detail::few_query_attention(s, q, k, v, y.result(s), {y.lse.data(), y.correction.data()});
  return y;
}
found by_blocks(const attention_shape& s, const heads_view<void>& q, const heads_view<void>& k,
                const heads_view<void>& v) {
  found y(s);
  const auto kernels =
      cpu_backend::detail::attention_kernels_for(cpu_backend::best_gemm_machine(), cpu_backend::gemm_precision::f32);
  cpu_backend::detail::attention_forward(s, kernels, q, k, v, y.result(s), {y.lse.data(), y.correction.data()});
  return y;
}
double distance(const floats& a, const floats& b) {
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    most = std::isnan(a[i]) ? 1e300 : std::fmax(most, std::fabs(a[i] - b[i]) / std::fmax(1.0f, std::fabs(b[i])));
  return most;
}
void check_same(const found& a, const found& b) {
  CHECK(distance(a.out, b.out) < 2e-6);
  CHECK(distance(a.lse, b.lse) < 2e-6);
  CHECK(distance(a.correction, b.correction) < 2e-6);
}

const attention_shape shapes[] = {
    {1, 1, 1, 1, 1, 1, 1.0f, false},    {2, 1, 300, 4, 4, 64, 0.1f, false},   {2, 1, 777, 8, 2, 40, 0.1f, false},
    {3, 2, 513, 2, 2, 7, -0.3f, false}, {1, 5, 64, 6, 2, 33, 0.2f, true},     {1, 8, 260, 2, 1, 128, 0.1f, true},
    {2, 23, 100, 1, 1, 20, 0.2f, true}, {1, 3, 1100, 64, 64, 8, 0.3f, false}, {2, 2, 0, 2, 1, 4, 0.5f, false},
    {0, 1, 5, 1, 1, 4, 0.5f, false},    {1, 4, 2, 1, 1, 3, 0.5f, true},       {1, 1, 70, 16, 1, 16, 0.2f, true}};

}  // namespace

TEST_CASE("few queries get from rows what they get from blocked products, with the same bits for any threads") {
  for (const attention_shape& s : shapes)
    for (const bool heads_first : {false, true}) {
      CAPTURE(s.batch, s.queries, s.keys, s.heads, s.kv_heads, s.head_size, s.causal, heads_first);
      floats q = random_floats(s.batch * s.queries * s.heads * s.head_size);
      floats k = random_floats(s.batch * s.keys * s.kv_heads * s.head_size), v = random_floats(std::ssize(k));
      const auto of_q = view(q, s.queries, s.heads, s.head_size, heads_first);
      const auto of_k = view(k, s.keys, s.kv_heads, s.head_size, heads_first);
      const auto of_v = view(v, s.keys, s.kv_heads, s.head_size, heads_first);
      const found y = by_rows(s, of_q, of_k, of_v);
      check_same(y, by_blocks(s, of_q, of_k, of_v));
      for (const int threads : {1, 3}) {
        cpu_backend::set_num_threads(threads);
        const found again = by_rows(s, of_q, of_k, of_v);
        CHECK(again.out == y.out);
        CHECK(again.lse == y.lse);
      }
      cpu_backend::set_num_threads(0);
      auto half_k = halves(k), half_v = halves(v);  // of either type
      const auto narrow_k = view(half_k, s.keys, s.kv_heads, s.head_size, heads_first);
      const auto narrow_v = view(half_v, s.keys, s.kv_heads, s.head_size, heads_first);
      check_same(by_rows(s, of_q, narrow_k, narrow_v), by_blocks(s, of_q, narrow_k, narrow_v));
      check_same(by_rows(s, of_q, of_k, narrow_v), by_blocks(s, of_q, of_k, narrow_v));
    }
}

TEST_CASE("biases, caps, windows, masks, ranges and segments of few queries are those of blocked products") {
  for (int i = 0; i < 200; ++i) {
    const auto once_in = [](std::uint32_t n) { return engine() % n == 0; };
    const std::int64_t group = once_in(2) ? 1 : 3, keys = 1 + engine() % 400, queries = 1 + engine() % 7;
    attention_shape s{2, queries, keys, 2 * group, 2, 12, 0.3f, once_in(3)};
    CAPTURE(i, queries, keys, group, s.causal);
    floats q = random_floats(s.batch * s.queries * s.heads * s.head_size);
    floats k = random_floats(s.batch * keys * s.kv_heads * s.head_size), v = random_floats(std::ssize(k));
    const floats bias = random_floats(s.heads * queries * keys);
    std::vector<char> mask(static_cast<std::size_t>(s.heads * queries * keys));
    for (char& x : mask) x = once_in(3) ? 0 : 1;
    std::vector<std::int32_t> ranges, q_segments, k_segments;
    for (std::int64_t j = 0; j < 2 * queries * 4; ++j)
      ranges.push_back(static_cast<std::int32_t>(engine() % (keys + 1)));
    for (std::int64_t j = 0; j < queries; ++j) q_segments.push_back(static_cast<std::int32_t>(engine() % 3));
    for (std::int64_t j = 0; j < keys; ++j) k_segments.push_back(static_cast<std::int32_t>(j * 3 / keys));
    if (once_in(2)) s.left = engine() % 20;
    if (once_in(2)) s.right = engine() % 300;
    if (once_in(3)) s.soft_cap = 1.5f;
    if (once_in(3)) s.bias = {bias.data(), 0, queries * keys, keys, 1};
    if (once_in(3)) s.mask = {reinterpret_cast<const bool*>(mask.data()), 0, queries * keys, keys, 1};
    if (once_in(3)) s.range_count = 2, s.ranges = {ranges.data(), queries * 4, 0, 4, 1};
    if (once_in(3)) s.q_segments = {q_segments.data(), 0, 0, 1, 0}, s.k_segments = {k_segments.data(), 0, 0, 0, 1};
    const auto of_q = view(q, queries, s.heads, s.head_size, false);
    const auto of_k = view(k, keys, s.kv_heads, s.head_size, false);
    const auto of_v = view(v, keys, s.kv_heads, s.head_size, false);
    check_same(by_rows(s, of_q, of_k, of_v), by_blocks(s, of_q, of_k, of_v));
  }
}

TEST_CASE("few queries are not reached by keys and values that they do not see, and by all that they see") {
  const attention_shape s{1, 4, 150, 2, 1, 10, 0.3f, true, -1, -1};
  floats q = random_floats(s.queries * s.heads * s.head_size), k = random_floats(s.keys * s.head_size);
  floats v = random_floats(s.keys * s.head_size);
  const auto attend = [&](const attention_shape& shape) {
    return by_rows(shape, view(q, s.queries, s.heads, s.head_size, false), view(k, s.keys, 1, s.head_size, false),
                   view(v, s.keys, 1, s.head_size, false));
  };
  const found clean = attend(s);
  for (const float wrong : {NAN, INFINITY, -INFINITY})
    for (floats* x : {&k, &v}) {
      const floats before = *x;
      for (std::size_t i = 3 * 10; i < x->size(); ++i) (*x)[i] = wrong;  // key 3 is seen by the last query alone
      const found y = attend(s);
      CHECK(std::equal(y.out.begin(), y.out.begin() + 3 * 20, clean.out.begin()));
      if (std::isnan(wrong))
        CHECK(std::all_of(y.out.begin() + 3 * 20, y.out.end(), [](float o) { return std::isnan(o); }));
      *x = before;
    }
  attention_shape only = s;  // one key that is NaN is all that a query sees
  only.causal = false;
  const std::int32_t range[] = {70, 71};
  only.range_count = 1, only.ranges = {range, 0, 0, 0, 1};
  k[70 * 10] = NAN;
  const found y = attend(only);
  CHECK(std::all_of(y.out.begin(), y.out.end(), [](float o) { return std::isnan(o); }));
}
