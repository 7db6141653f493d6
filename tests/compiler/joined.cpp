// tests/compiler/joined.cpp: loops that kernels run part by part: fewer steps, less memory, the same bits.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/profile/timeline.hpp>
#include <tokamax/tokamax.hpp>

#include "support/check_op.hpp"
#include "support/random_program.hpp"

#include <cstring>

using namespace tokamax;
using namespace tokamax::test;

namespace {

using owned = std::unique_ptr<detail::owned_program>;
owned make(const graph& g, bool joins = true) {
  kernel_table table = kernel_table_of<cpu_tag>();
  table.joins_loops = joins;
  return detail::owned_program::make(g, table);
}
int joined_steps(const plan& p) {
  int n = 0;
  for (const plan_step& s : p.steps) n += s.produces;
  return n;
}
std::vector<array> run(detail::owned_program& p, const graph& g, const std::vector<array>& in) {
  std::vector<std::byte*> from, to;
  std::vector<array> out;
  for (const array& a : in) from.push_back(a.storage()->data);
  for (int id : g.outputs) {
    out.push_back(array::uninitialized(g[id].type));
    to.push_back(out.back().storage()->data);
  }
  p.code.run(from.data(), to.data());
  return out;
}
bool same_bits(const array& a, const array& b) {
  return a.type() == b.type() && std::memcmp(a.storage()->data, b.storage()->data,
                                             static_cast<std::size_t>(a.size() * size_of(a.dtype()))) == 0;
}
/// The same bits with and without joined loops, for 1 and for 3 threads; how many loops were joined.
int check_joined(const function& f, const std::vector<array>& in) {
  const graph g = trace(f, types_of(in));
  const owned joined = make(g), separate = make(g, false);
  REQUIRE(joined_steps(separate->tables) == 0);
  CHECK(joined->tables.regions[0].total_bytes <= separate->tables.regions[0].total_bytes);
  const std::vector<array> want = run(*separate, g, in);
  for (int threads : {1, 3}) {
    cpu_backend::set_num_threads(threads);
    const std::vector<array> got = run(*joined, g, in);
    for (std::size_t k = 0; k < want.size(); ++k) {
      INFO("result " << k << ", " << threads << " threads");
      CHECK(same_bits(got[k], want[k]));
    }
  }
  cpu_backend::set_num_threads(0);
  return joined_steps(joined->tables);
}
array like(dtype t, const shape& s, unsigned seed) { return convert_element_type(noise(s, seed) * 3.0f, t); }

}  // namespace

TEST_CASE("a reduction runs the loop that makes its operand") {
  const auto f = [](const arrays& x) -> arrays { return {sum(x[0] * x[1])}; };
  const std::vector<array> in{noise({300, 70}, 1), noise({300, 70}, 2)};
  CHECK(check_joined(f, in) == 1);
  check_values(f, in);
  const owned p = make(trace(f, types_of(in)));
  CHECK(p->tables.regions[0].arena_bytes == 0);
  const std::string text = to_text(view(p->tables));
  CHECK(text.find("loop 0          input 0, input 1 -> parts\n") != std::string::npos);
  CHECK(text.find("reduce_sum      parts -> output 0\n") != std::string::npos);
}

TEST_CASE("what else reads the values, or another result of their loop, keeps them in memory") {
  const std::vector<array> in{noise({30, 70}, 1), noise({30, 70}, 2)};
  const auto joins = [&](const function& f) { return check_joined(f, in); };
  CHECK(joins([](const arrays& x) -> arrays {
          const array y = x[0] * x[1];
          return {sum(y), y};
        }) == 0);
  CHECK(joins([](const arrays& x) -> arrays {
          const array y = x[0] * x[1];
          return {sum(y), max(y)};
        }) == 0);
  CHECK(joins([](const arrays& x) -> arrays {
          const array y = tanh(x[0]);
          return {sum(y * x[1]), y};
        }) == 0);
  CHECK(joins([](const arrays& x) -> arrays { return {sum(matmul(x[0], transpose(x[1])))}; }) == 0);
  CHECK(joins([](const arrays& x) -> arrays { return {sum(x[0] * x[1]), sum(x[0] - x[1], {{0}})}; }) == 2);
  CHECK(joins([](const arrays& x) -> arrays { return {sum(reshape(x[0] * x[1], {100, 21}), {{1}})}; }) == 1);
  CHECK(joins([](const arrays& x) -> arrays { return {var(x[0], {{1}}), mean(x[0] * x[0])}; }) >= 2);
}

TEST_CASE("rows that are short and lie apart are not made one by one") {
  CHECK(check_joined([](const arrays& x) -> arrays { return {sum(x[0] * 2.0f, {{0, 2}})}; }, {noise({9, 30, 8}, 1)}) ==
        0);
  CHECK(check_joined([](const arrays& x) -> arrays { return {sum(x[0] * 2.0f, {{0, 2}})}; },
                     {noise({9, 7, 1030}, 1)}) == 1);
  CHECK(check_joined([](const arrays& x) -> arrays { return {sum(x[0] * 2.0f, {{1}})}; }, {noise({9, 30, 8}, 1)}) == 1);
  CHECK(check_joined([](const arrays& x) -> arrays { return {sum(x[0] * 2.0f, {{2}})}; }, {noise({9, 30, 3}, 1)}) == 1);
}

TEST_CASE("all axes, sizes and dtypes have the bits of separate steps") {
  const shape shapes[] = {{0, 5},    {1, 1},    {1, 7},     {3, 0},     {5, 1},
                          {2049, 3}, {3, 2049}, {17, 1024}, {300, 131}, {700, 1500}};
  const axes reduced[] = {{0}, {1}, {0, 1}};
  for (dtype t : {f32, bf16, i32, f64, i8}) {
    for (const shape& s : shapes) {
      if (t != f32 && size(s) > 100000) continue;
      for (const axes& axis : reduced) {
        INFO(name(t) << " " << message(array_type{t, false, s}).view() << " over " << (message() << axis).view());
        const int joined = check_joined(
            [&](const arrays& x) -> arrays {
              return {sum(x[0] * x[1] - x[0], {axis}), reduce_sum(convert_element_type(x[0] + x[1], f32), axis)};
            },
            {like(t, s, 1), like(t, s, 2)});
        if (t == f32 || t == bf16) CHECK(joined == 2);
        if (size(s) == 0) continue;
        check_joined([&](const arrays& x) -> arrays { return {max(x[0] * x[1], {axis}), min(x[0] + x[1], {axis})}; },
                     {like(t, s, 3), like(t, s, 4)});
        check_joined([&](const arrays& x) -> arrays { return {any(x[0] > x[1], {axis}), all(x[0] > x[1], {axis})}; },
                     {like(t, s, 5), like(t, s, 6)});
      }
    }
  }
}

TEST_CASE("producers read views: transposed, broadcast, sliced, and values that count") {
  const std::vector<array> in{noise({130, 70}, 1), noise({70, 130}, 2), noise({70}, 3)};
  CHECK(check_joined(
            [](const arrays& x) -> arrays {
              const array row = broadcast_to(x[2], {130, 70});
              const array count = astype(iota(i32, {130, 70}, 1), f32);
              return {sum(x[0] * transpose(x[1])), sum(x[0] * row, {{0}}),
                      sum(exp(slice(x[0], {3, 1}, {120, 61}, {2, 3})), {{1}}), max(row + count * x[0], {{1}, true})};
            },
            in) == 4);
}

TEST_CASE("a gradient's norm reads each leaf once") {
  const auto f = [](const arrays& x) -> arrays {
    array total = sum(x[0] * x[0]);
    for (int i = 1; i < x.count(); ++i) total = total + sum(x[i] * x[i]);
    const array scale = minimum(1.0f / sqrt(total), 1.0f);
    arrays out;
    for (const array& a : x) out.push_back(a * scale);
    return out;
  };
  CHECK(check_joined(f, {noise({64, 33}, 1), noise({33}, 2), noise({5, 7, 11}, 3)}) == 3);
}

TEST_CASE("a group that is too large for one loop runs before the reduction") {
  const auto f = [](const arrays& x) -> arrays {
    array y = x[0];
    for (int i = 0; i < 600; ++i) y = y * x[1] + 0.001f * static_cast<float>(i);
    return {sum(y)};
  };
  CHECK(check_joined(f, {noise({50, 9}, 1), noise({50, 9}, 2)}) == 0);
}

TEST_CASE("random programs have the bits of separate steps, under grad and vmap too") {
  const std::vector<array> in{noise({4, 6}, 1) * 0.7f, noise({4, 6}, 2) * 0.7f};
  int joined = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    INFO("seed " << seed);
    joined += check_joined(random_program(seed, 20), in);
    const auto total = [=](const array& a, const array& b) {
      array y = zeros({});
      for (const array& r : random_program(seed, 12)(arrays{a, b})) y = y + sum(sin(r) * r);
      return y;
    };
    joined += check_joined([&](const arrays& x) -> arrays { return {grad(total)(x[0], x[1])}; }, in);
  }
  CHECK(joined > 60);
}

namespace {

using matrix = tensor<f32, 130, 70>;
constexpr auto row_terms = [](const matrix& a, const matrix& b) {
  const array d = a - b;
  return std::array<array, 4>{mean(d * d), sum(exp(a * 0.1f), {{1}}), max(a * b, {{0}}), sum(astype(a, bf16) * 2.0f)};
};
constexpr auto of_batches = [](const tensor<f32, dyn(), 70>& a) {
  return std::array<array, 2>{sum(a * a, {{1}}), sum(a * 2.0f, {{0}})};
};

}  // namespace

TEST_CASE("programs traced while compiling and at run time, and single calls, have the same bits") {
  const matrix a(noise({130, 70}, 1)), b(noise({130, 70}, 2));
  const auto known = jit(row_terms, cpu, while_compiling)(a, b), late = jit(row_terms, cpu, at_run_time)(a, b),
             eager = row_terms(a, b);
  for (std::size_t k = 0; k < 4; ++k) {
    INFO("result " << k);
    CHECK(same_bits(known[k], late[k]));
    array value = eager[k];
    value.materialize();
    CHECK(same_bits(known[k], value));
  }
  using program = decltype(jit(row_terms, cpu, while_compiling))::for_types<matrix, matrix>;
  CHECK(program::plan::planned.size.steps == 9);
  CHECK(program::peak_bytes == 64);
}

TEST_CASE("producers of dynamic extents") {
  const auto known = jit(of_batches, cpu, while_compiling);
  for (std::int64_t n : {0, 1, 3, 500}) {
    const array a = noise({n, 70}, 5);
    const auto got = known(tensor<f32, dyn(), 70>(a));
    const auto want = jit(of_batches, cpu, at_run_time)(tensor<f32, dyn(), 70>(a));
    INFO(n);
    CHECK(same_bits(got[0], want[0]));
    CHECK(same_bits(got[1], want[1]));
    array rows = sum(a * a, {{1}});
    rows.materialize();
    CHECK(same_bits(got[0], rows));
  }
}

TEST_CASE("a profile names the producer and counts the bytes that move") {
  const std::vector<array> in{noise({130, 70}, 1), noise({130, 70}, 2)};
  const graph g = trace([](const arrays& x) -> arrays { return {sum(x[0] * x[1] - x[0])}; }, types_of(in));
  const owned p = make(g);
  const profile::timeline t;
  run(*p, g, in);
  REQUIRE(t.events().size() == 1);
  CHECK(t.events()[0].name == "reduce_sum f32[130,70] of mul sub");
  CHECK(t.events()[0].bytes == 2 * 130 * 70 * 4 + 4);
  CHECK(t.events()[0].flops == 2 * 130 * 70 + 130 * 70 - 1);
}
