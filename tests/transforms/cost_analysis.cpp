// tests/transforms/cost_analysis.cpp: what functions cost, by formulas and beside XLA.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/profile/timeline.hpp>
#include <tokamax/tokamax.hpp>

#include <fstream>
#include <functional>
#include <map>
#include <sstream>

#include "support/catch.hpp"
#include "support/contains.hpp"

using namespace tokamax;

namespace {
constexpr array like(const shape& s, dtype t = f32) { return array(array_type{t, false, s}); }
constexpr auto layer = [](const array& x, const array& w) { return tanh(matmul(x, w)); };
// The compiler can count, too.
static_assert(cost_analysis(layer, like({8, 16}), like({16, 32})).flops == 2 * 8 * 16 * 32);
static_assert(cost_analysis(layer, like({8, 16}), like({16, 32})).transcendentals == 8 * 32);

struct row {
  double flops = 0, transcendentals = 0;
  std::string bytes;
};
std::map<std::string, row> rows() {
  std::map<std::string, row> all;
  std::ifstream in(TOKAMAX_ROOT "/tests/golden/costs.txt");
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string name, colon;
    words >> name >> colon;
    words >> all[name].flops >> all[name].transcendentals >> all[name].bytes;
  }
  return all;
}
constexpr auto square_plus = [](const array& v) { return v * v + v; };
}  // namespace

TEST_CASE("small programs cost what XLA says") {
  const array x = like({8, 16}), y = x, v = like({16}), i = like({}, i32), three = like({3}, i32);
  const array a = like({8, 16}), b = like({16, 32}), image = like({2, 9, 9, 3}), window = like({3, 3, 3, 4});
  const std::map<std::string, op_cost> found{
      {"add", cost_analysis([](const array& p, const array& q) { return p + q; }, x, y)},
      {"polynomial", cost_analysis([](const array& p) { return p * p * p + p; }, x)},
      {"functions", cost_analysis([](const array& p) { return exp(p) + tanh(p) * rsqrt(p); }, x)},
      {"erf", cost_analysis([](const array& p) { return erf(p); }, x)},
      {"power", cost_analysis([](const array& p, const array& q) { return power(p, q); }, x, y)},
      {"select", cost_analysis([](const array& p, const array& q) { return select(p < q, p, q); }, x, y)},
      {"convert", cost_analysis([](const array& p) { return astype(p, i32); }, x)},
      {"broadcast", cost_analysis([](const array& p, const array& q) { return p + q; }, x, v)},
      {"transpose", cost_analysis([](const array& p) { return transpose(p); }, x)},
      {"reshape", cost_analysis([](const array& p) { return reshape(p, {16, 8}); }, x)},
      {"concatenate", cost_analysis([](const array& p, const array& q) { return concatenate({p, q}, 0); }, x, y)},
      {"reverse", cost_analysis([](const array& p) { return reverse(p, {0}); }, x)},
      {"slice", cost_analysis([](const array& p) { return slice(p, {2, 3}, {6, 9}); }, x)},
      {"sum", cost_analysis([](const array& p) { return sum(p, {{1}}); }, x)},
      {"max", cost_analysis([](const array& p) { return max(p, {{0}}); }, x)},
      {"dot", cost_analysis([](const array& p, const array& q) { return matmul(p, q); }, a, b)},
      {"batch_dot",
       cost_analysis([](const array& p, const array& q) { return matmul(p, q); }, like({3, 8, 16}), like({3, 16, 32}))},
      {"conv", cost_analysis([](const array& p, const array& q) { return conv2d(p, q, {.padding = padding::valid}); },
                             image, window)},
      {"sort", cost_analysis([](const array& p) { return sort(p); }, like({1000}))},
      {"dynamic_slice",
       cost_analysis([](const array& p, const array& at) { return dynamic_slice(p, {at}, {4}); }, v, i)},
      {"update",
       cost_analysis([](const array& p, const array& u, const array& at) { return dynamic_update_slice(p, u, {at}); },
                     v, like({4}), i)},
      {"gather", cost_analysis([](const array& p, const array& at) { return gather(p, at); }, x, three)},
      {"scatter_add",
       cost_analysis([](const array& p, const array& at, const array& u) { return scatter_add(p, at, u); }, x, three,
                     like({3, 16}))},
      {"softmax", cost_analysis([](const array& p) { return softmax(p); }, x)},
      {"layer", cost_analysis(layer, a, b)},
      {"grad", cost_analysis(grad([](const array& w, const array& p) { return sum(layer(p, w)); }), b, a)},
      {"cond",
       cost_analysis([](const array& p,
                        const array& q) { return cond(p, [](const array& r) { return tanh(r); }, square_plus, q); },
                     like({}, bool_), x)},
      {"while", cost_analysis(
                    [](const array& p) {
                      using carry = std::pair<array, array>;
                      return while_loop([](const carry& s) { return s.second < 8; },
                                        [](const carry& s) { return carry{s.first * s.first, s.second + s.second}; },
                                        carry{p, array(1, {i32, false, {}})})
                          .first;
                    },
                    x)},
  };
  const auto expected = rows();
  CHECK(found.size() == expected.size());
  for (const auto& [name, cost] : found) {
    INFO(name);
    REQUIRE(expected.count(name));
    const row& r = expected.at(name);
    CHECK(cost.flops == r.flops);
    CHECK(cost.transcendentals == r.transcendentals);
    if (r.bytes != "-") CHECK(cost.bytes_accessed == std::stod(r.bytes));
  }
}

TEST_CASE("a scan costs its length times its body, and as much as the loop that it replaces") {
  const auto step = [](const array& s, const array& v) { return std::pair{tanh(s) * v, s}; };
  const auto loop = [&](const array& s, const array& vs) { return scan(step, s, vs); };
  const auto unrolled = [&](array s, const array& v) {
    for (int i = 0; i < 5; ++i) s = step(s, v).first;
    return s;
  };
  const op_cost found = cost_analysis(loop, like({8}), like({5, 8})),
                wanted = cost_analysis(unrolled, like({8}), like({8}));
  CHECK(found.flops == 5 * 8);
  CHECK(found.transcendentals == 5 * 8);
  CHECK(found.bytes_accessed == 5 * 4 * (2 + 3) * 8);
  CHECK(found.flops == wanted.flops);
  CHECK(found.transcendentals == wanted.transcendentals);
  CHECK(found.bytes_accessed == wanted.bytes_accessed);
  const auto nested = [&](const array& s, const array& vs) {
    return scan([&](const array& t, const array& rows) { return std::pair{loop(t, rows).first, t}; }, s, vs).first;
  };
  CHECK(cost_analysis(nested, like({8}), like({3, 5, 8})).flops == 3 * 5 * 8);
}

TEST_CASE("functions with rules of their own and rematerialised ones cost what they compute") {
  const op_cost plain = cost_analysis(square_plus, like({8}));
  CHECK(cost_analysis(remat(square_plus), like({8})).bytes_accessed == plain.bytes_accessed);
  CHECK(cost_analysis(remat(square_plus), like({8})).flops == 2 * 8);
  const auto custom = custom_jvp(square_plus, [](const auto& x, const auto&) { return std::pair{x, x}; });
  CHECK(cost_analysis(custom, like({8})).flops == 2 * 8);
}

TEST_CASE("ops that are composed cost what they are made of, and access their own operands and results") {
  const array x = like({8, 16}), q = like({2, 16, 4, 8});
  const op_cost norm = cost_analysis([](const array& v) { return softmax(v); }, x);
  CHECK(norm.bytes_accessed == 2 * 4 * 8 * 16);
  const op_cost attend = cost_analysis([](const array& v) { return dot_product_attention(v, v, v); }, q);
  CHECK(attend.flops == 2 * 2.0 * 2 * 4 * 16 * 16 * 8);
  CHECK(attend.transcendentals == 2 * 4 * 16 * 16);
  const op_cost turned = cost_analysis([](const array& v) { return rotary_embedding(v, iota(i32, {16}, 0)); }, q);
  CHECK(turned.flops == 3 * 2 * 16 * 4 * 8);
  CHECK(turned.transcendentals == 16 * 8);
  const op_cost pooled = cost_analysis([](const array& v) { return max_pool(v, {2, 2}); }, like({1, 8, 8, 3}));
  CHECK(pooled.flops == 3 * 4 * 4 * 3);
  CHECK(cost_analysis([](const array& v) { return gelu(v, {.approximate = false}); }, x).transcendentals == 128);
  CHECK(cost_analysis([](const array& v) { return cumsum(v); }, x).flops == 128);
  CHECK(cost_analysis([](const array& v) { return argmax(v); }, x).flops == 120);
  CHECK(cost_analysis([](const array& v) { return random::bits(random::key(0), v.shape()); }, x).flops > 128);
}

TEST_CASE("parts of large arrays are counted, bf16 products, nothing, and what no memory could hold") {
  const array table = like({50000, 64}), tokens = like({2, 8}, i32);
  const op_cost rows = cost_analysis([](const array& t, const array& i) { return gather(t, i); }, table, tokens);
  CHECK(rows.bytes_accessed == 2 * 4 * 16 * 64 + 4 * 16);
  CHECK(rows.flops == 0);
  const auto pull = [](const array& t, const array& i) { return scatter_add(i, gather(t, i), 100); };
  CHECK(cost_analysis(pull, table, tokens).bytes_accessed ==
        rows.bytes_accessed + 4 * 100 * 64 + 3 * 4 * 16 * 64 + 4 * 16);
  const auto both = [](const array& a, const array& b) { return std::pair{matmul(a, b), slice(a, {0, 0}, {0, 4})}; };
  const op_cost narrow = cost_analysis(both, like({8, 4}, bf16), like({4, 2}, bf16));
  CHECK(narrow.bfloat16_flops == 2 * 8 * 4 * 2);
  CHECK(narrow.flops == narrow.bfloat16_flops);
  CHECK(narrow.bytes_accessed == 2 * (32 + 8 + 16));
  CHECK(cost_analysis([](const array& a) { return a; }, like({3})).bytes_accessed == 0);
  CHECK(cost_analysis([](const array& a) { return tanh(a); }, like({0, 3})).transcendentals == 0);
  CHECK(cost_analysis([](const array& a) { return sum(a); }, like({0, 3})).flops == 0);
  const array huge = like({std::int64_t{1} << 40, std::int64_t{1} << 18});
  CHECK(cost_analysis([](const array& a) { return a + a; }, huge).flops == 0x1p58);
}

TEST_CASE("the cost of a dynamic extent is not known, and wrong functions are refused") {
  const auto f = [](const tensor<f32, dyn(), 3>& x) { return x + x; };
  CHECK_THROWS_WITH(cost_analysis(f, tensor<f32, dyn(), 3>{}), contains("cost_analysis: dynamic extent"));
  CHECK_THROWS_WITH(cost_analysis(layer, like({2, 3}), like({4, 4})), contains("matmul"));
}

TEST_CASE("steps of programs are counted by the same rules, after fusion") {
  const auto look_up = [](const array& t, const array& i) { return exp(gather(t, i)) * 2.0f; };
  const array table = full({1000, 8}, 0.5), at = iota(i32, {4}, 0);
  const auto steps_of = [](const auto& run) {
    const profile::timeline recording;
    run();
    return recording.events();
  };
  const auto run = jit(look_up, cpu, at_run_time);
  run(table, at);
  const auto steps = steps_of([&] { run(table, at); });
  REQUIRE(steps.size() == 2);
  CHECK(steps[0].bytes == 2 * 4 * 32 + 4 * 4);
  CHECK(steps[0].flops == 0);
  CHECK(steps[1].flops == 32);
  CHECK(steps[1].transcendentals == 32);
  CHECK(steps[1].bytes == 2 * 4 * 32);
  const auto normal = steps_of([&] { softmax(full({8, 16}, 1.0)); });
  REQUIRE(!normal.empty());
  CHECK(normal.back().flops == 8 * (15 + 16 + 15 + 16));
  CHECK(normal.back().transcendentals == 128);
}
