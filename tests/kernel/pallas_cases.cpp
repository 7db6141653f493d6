// tests/kernel/pallas_cases.cpp: the cases that Pallas tests, and those that its users reported, as kernels here.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/kernel.hpp>
#include <tokamax/kernel/ops/ragged_dot.hpp>
#include <tokamax/lax/dot_general.hpp>
#include <tokamax/lax/reduce.hpp>
#include <tokamax/numpy/matmul.hpp>
#include <tokamax/numpy/where.hpp>
#include <tokamax/ops/ragged_dot.hpp>
#include <tokamax/runtime/jit.hpp>
#include <tokamax/transforms/control_flow/cond.hpp>
#include <tokamax/transforms/control_flow/while_loop.hpp>
#include <tokamax/transforms/debug_print.hpp>

#include <span>

#include "support/check_op.hpp"

#include "checked_kernels.hpp"

using namespace tokamax;
using namespace tokamax::test;

namespace {
constexpr auto copied = [](const auto&, const auto& in, const auto& out) { out.set(in.get()); };
array number(std::int32_t n) { return array(static_cast<double>(n), {i32, false, {}}); }
/// A product of arrays of any dtype in blocks, whose sums have the dtype `out`.
array product_of(const array& a, const array& b, const shape& block, dtype out) {
  const auto body = [=](const auto& p, const auto& x, const auto& y, const auto& o, const auto& sum) {
    p.when(p.program_id(2) == 0, [&] { sum.set(zeros(sum.shape(), out)); });
    sum += matmul(x.get(), y.get(), {.preferred_element_type = out});
    p.when(p.program_id(2) == p.num_programs(2) - 1, [&] { o.set(sum.get()); });
  };
  const std::int64_t m = a.extent(0), k = a.extent(1), n = b.extent(1);
  return kernel_call(body, {.grid = {m / block[0], n / block[2], k / block[1]},
                            .in = {{{block[0], block[1]}, {0, 2}}, {{block[1], block[2]}, {2, 1}}},
                            .out = {{{out, false, {m, n}}, {{block[0], block[2]}, {0, 1}}}},
                            .scratch = {{{out, false, {block[0], block[2]}}}},
                            .semantics = {parallel, parallel}})(a, b);
}
}  // namespace

TEST_CASE("add one in 0, 1, 2 and 3 axes, of each kind of dtype") {
  for (const dtype t : {f32, bf16, f16, f64, i8, i16, i32, u8, u32, i4, bool_})
    for (const auto& [extents, block] : {std::pair<shape, shape>{{}, {}},
                                         {{8}, {2}},
                                         {{8}, {8}},
                                         {{4, 6}, {2, 3}},
                                         {{2, 4, 6}, {1, 4, 2}},
                                         {{7}, {4}},
                                         {{0, 4}, {2, 4}}}) {
      INFO(name(t) << " of rank " << extents.rank());
      const array x = astype(noise(extents, 1) * 3.0f, t);
      const auto f = [=](const array& v) { return t == bool_ ? logical_not(v) : array(v + astype(array(1), t)); };
      CHECK(bit_difference(listed(by_blocks(f, x, block)), {f(x)}) == "");
    }
}
TEST_CASE("products on grids of any shape, of floats, integers and 8-bit floats") {
  struct row {
    std::int64_t m, n, k, bm, bn, bk;
  };
  for (const row& r : {row{16, 16, 16, 16, 16, 16},
                       {32, 16, 8, 8, 16, 8},
                       {8, 32, 24, 8, 8, 12},
                       {24, 8, 6, 4, 2, 3},
                       {4, 4, 64, 4, 4, 1},
                       {1, 8, 8, 1, 8, 2}}) {
    INFO(r.m << " " << r.n << " " << r.k);
    const array a = noise({r.m, r.k}, 1), b = noise({r.k, r.n}, 2);
    const shape block{r.bm, r.bk, r.bn};
    CHECK(difference(to_values(product_of(a, b, block, f32)), to_values(matmul(a, b)), 1e-5) == "");
    const array ia = astype(a * 20.0f, i8), ib = astype(b * 20.0f, i8);
    CHECK(bit_difference({product_of(ia, ib, block, i32)}, {matmul(ia, ib, {.preferred_element_type = i32})}) == "");
    for (const dtype t : {f8e4m3fn, f8e5m2, bf16, f16}) {
      const array na = astype(a, t), nb = astype(b, t);
      CHECK(difference(to_values(product_of(na, nb, block, f32)), to_values(matmul(astype(na, f32), astype(nb, f32))),
                       1e-5) == "");
    }
  }
}
TEST_CASE("what hangs over is NaN when it is read, or the least integer") {
  const auto last_sum = [](const array& x) {
    return kernel_call([](const auto&, const auto& in, const auto& out) { out.set(in.get()); },
                       {.grid = {2}, .in = {{{4}, {0}}}, .out = {{{x.dtype(), false, {8}}, {{4}, {0}}}}})(x);
  };
  const array f = last_sum(noise({5}, 1)), i = last_sum(astype(noise({5}, 1) * 9.0f, i32));
  CHECK(!std::isnan(f[4].item()));
  for (int k = 5; k < 8; ++k) {
    CHECK(std::isnan(f[k].item()));
    CHECK(i[k].item<std::int32_t>() == std::numeric_limits<std::int32_t>::min());
  }
}
TEST_CASE("blocks that begin at any element overlap, and hang over at the end") {
  const array x = noise({10}, 1);
  const auto windows = [](const arrays& a) -> arrays {  // 4 elements from 3 i on
    return kernel_call(
        copied,
        {.grid = {3},
         .in = {{.block = {4}, .index_map = [](const arrays& i) -> arrays { return {i[0] * 3}; }, .elements = {0}}},
         .out = {{{f32, false, {3, 4}}, {{squeezed, 4}, {0, first_block}}}}})(a[0]);
  };
  check_function(windows, {x}, {.differentiate = false});
  const array y = windows({x})[0];
  for (int s = 0; s < 3; ++s)
    for (int k = 0; k < 4; ++k)
      CHECK((3 * s + k < 10 ? y[s][k].item() == x[3 * s + k].item() : std::isnan(y[s][k].item())));
}
TEST_CASE("an operand that no step reads changes nothing, nor does one of another shape") {
  const array x = noise({6}, 1);
  for (const array& unused : {noise({6}, 2), noise({3, 5}, 3), noise({0}, 4), number(7)}) {
    const auto run = [](const array& a, const array& b) {
      return kernel_call([](const auto&, const auto& in, const auto&, const auto& out) { out.set(in.get() * 2.0f); },
                         {.grid = {3}, .in = {{{2}, {0}}, {}}, .out = {{a.type(), {{2}, {0}}}}})(a, b);
    };
    CHECK(bit_difference({run(x, unused)}, {x * 2.0f}) == "");
    // The operand is computed in the same program.
    const auto whole = [&](const array& a, const array& b) { return array(run(a, b + b)); };
    CHECK(bit_difference({jit(whole, cpu, at_run_time)(x, unused)}, {x * 2.0f}) == "");
  }
}
TEST_CASE("rows and numbers are broadcast to blocks of any extents") {
  for (const shape& s : {shape{128, 128}, {137, 193}, {128, 256}, {128, 384}}) {
    const array row = noise({1, s[1]}, 1), column = noise({s[0], 1}, 2), x = noise(s, 3);
    const auto body = [=](const auto&, const auto& r, const auto& c, const auto& v, const auto& out) {
      out.set(v.get() + r.get() * 2.0f + broadcast_in_dim(c.get(), s, {0, 1}));
    };
    const array y = kernel_call(body, {.out = {{x.type()}}})(row, column, x);
    CHECK(bit_difference({y}, {x + row * 2.0f + column}) == "");
  }
}
TEST_CASE("outputs that begin with arguments: a number, a vector, and both beside others") {
  const array x = noise({4}, 1), y = noise({2, 3}, 2), n = array(5.0f);
  const auto [a, b, c] = kernel_call<3>(
      [](const auto&, const auto&, const auto& v, const auto&, const auto& first, const auto& second,
         const auto& third) {
        first += 1.0f;
        second.set(v.get() * 2.0f);
        third += 3.0f;
      },
      {.out = {{x.type(), {}, 0}, {y.type()}, {{f32, false, {}}, {}, 2}}})(x, y, n);
  CHECK(bit_difference({a, b, c}, {array(x + 1.0f), array(y * 2.0f), array(n + 3.0f)}) == "");
  const auto with = [&](int alias, const array_type& t, int prefetch) {
    return kernel_call<1>([](const auto&, const auto&, const auto&, const auto& out) { out += 1.0f; },
                          {.out = {{t, {}, alias}}, .prefetch = prefetch})(number(1), x);
  };
  CHECK(bit_difference({with(1, x.type(), 1)}, {x + 1.0f}) == "");
  CHECK_THROWS_WITH(with(1, {f32, false, {5}}, 1), contains("kernel_call: alias: found f32[4], expected f32[5]"));
  CHECK_THROWS_WITH(with(1, {bf16, false, {4}}, 1), contains("kernel_call: alias: found f32[4], expected bf16[4]"));
  CHECK_THROWS_WITH(with(0, x.type(), 1), contains("kernel_call: alias: found 0, expected the number of an input"));
  CHECK_THROWS_WITH(with(2, x.type(), 0), contains("kernel_call: alias: found 2, expected the number of an input"));
}
TEST_CASE("index maps and specs that are wrong are named") {
  const array x = noise({4, 4}, 1);
  struct row {
    block_spec spec;
    const char* expected;
  };
  for (const row& r : std::vector<row>{
           {{{4}, {0}}, "block_spec: block: found [4], expected one extent for each axis of f32[4,4]"},
           {{{4, 4, 4}, {0, 0, 0}}, "block_spec: block: found [4,4,4]"},
           {{{2, 4}, {0}}, "block_spec: index: found [0], expected one grid axis for each axis of f32[4,4]"},
           {{{2, 4}, {0, 1}}, "block_spec: index: found 1, expected an axis of the grid [2]"},
           {{{0, 4}, {0, first_block}}, "block_spec: block: found [0,4], expected extents from 1 on"},
           {{{4, 4}, {0, first_block}}, "block_spec: index: found block 1 of axis 0"},
           {{{2, 4}, {}, [](const arrays& i) -> arrays { return {i[0]}; }},
            "block_spec: index_map: found 1 numbers, expected one for each axis of f32[4,4]"},
           {{{2, 4}, {}, [](const arrays&) -> arrays { return {array(1.5f), array(0)}; }},
            "block_spec: index_map: found f32[], expected integer scalars"},
           {{{2, 4}, {}, [](const arrays& i) -> arrays { return {i[0] + array(iota(i32, {2}, 0)), array(0)}; }},
            "block_spec: index_map: found i32[2], expected integer scalars"},
           {{{2, 4}, {}, [](const arrays& i) -> arrays { return {i[0] + 1, array(0)}; }},
            "block_spec: index_map: found block 2 of axis 0"},
           {{{2, 4}, {}, [](const arrays& i) -> arrays { return {i[0] - 1, array(0)}; }},
            "block_spec: index_map: found block -1 of axis 0"}}) {
    const block_spec rows{{2, 4}, {0, first_block}};
    const auto run = [&](const block_spec& in, const block_spec& out) {
      return kernel_call([](const auto&, const auto&, const auto& o) { o.set(0.0f); },
                         {.grid = {2}, .in = {in}, .out = {{x.type(), out}}})(x);
    };
    CHECK_THROWS_WITH(run(r.spec, rows), contains(r.expected));
    CHECK_THROWS_WITH(run(rows, r.spec), contains(r.expected));
  }
}
TEST_CASE("blocks are multiples of tiles, or whole, where a kernel asks for tiles") {
  const auto run = [](const shape& extents, const shape& block, const shape& tile) {
    block_spec spec{.block = block};
    for (int i = 0; i < block.rank(); ++i) spec.index.push_back(i + 1 == block.rank() ? 0 : first_block);
    const std::int64_t steps = (extents[extents.rank() - 1] + block[block.rank() - 1] - 1) / block[block.rank() - 1];
    const array x = noise(extents, 1);
    const array y = kernel_call(copied, {.grid = {steps}, .in = {spec}, .out = {{x.type(), spec}}, .tile = tile})(x);
    return bit_difference({y}, {x}) == "";
  };
  CHECK(run({16, 256}, {16, 128}, {8, 128}));
  CHECK(run({5, 384}, {5, 128}, {8, 128}));                 // all rows
  CHECK_NOTHROW(run({3, 16, 100}, {3, 8, 100}, {8, 128}));  // a part of the rows
  CHECK(run({300}, {128}, {8, 128}));                       // the last block hangs over
  CHECK(run({16, 100}, {16, 10}, {}));
  CHECK_THROWS_WITH(run({16, 256}, {16, 64}, {8, 128}),
                    contains("block_spec: block: found [16,64], expected multiples of [8,128], or whole axes of "
                             "f32[16,256]"));
  CHECK_THROWS_WITH(run({300}, {100}, {8, 128}), contains("found [100], expected multiples of [8,128]"));
  CHECK_THROWS_WITH(run({16, 256}, {12, 128}, {8, 128}), contains("found [12,128]"));
  CHECK_THROWS_WITH(run({16, 256}, {16, 128}, {0, 128}), contains("kernel_call: tile: found [0,128]"));
}
TEST_CASE("branches of two and three ways in each other, and loops of values, in kernels") {
  const array x = noise({9}, 1);
  const auto f = [](const arrays& a) -> arrays {
    return kernel_call(
        [](const auto& p, const auto& in, const auto& out) {
          const array i = p.program_id(0), v = in.get();
          const array chosen = switch_(
              rem(i, 3),
              std::array{+[](const array& u) { return array(u + 1.0f); },
                         +[](const array& u) { return array(u * 2.0f); }, +[](const array& u) { return array(-u); }},
              v);
          // Doubled until it is at least 4, or is not positive.
          const array doubled = while_loop([](const array& u) { return logical_and(u < 4.0f, u > 0.0f); },
                                           [](const array& u) { return array(u * 2.0f); }, chosen);
          p.when(i < 6, [&] {
            p.when(i < 3, [&] { out.set(doubled); });
            p.when(i >= 3, [&] { out.set(chosen); });
          });
          p.when(i >= 6, [&] {
            out.set(cond(
                v > 0.0f, [](const array& u) { return array(u * 10.0f); },
                [](const array& u) { return array(u - 10.0f); }, v));
          });
        },
        {.grid = {9}, .in = {{{squeezed}, {0}}}, .out = {{{f32, false, {9}}, {{squeezed}, {0}}}}})(a[0]);
  };
  std::vector<float> expected;
  for (int i = 0; i < 9; ++i) {
    const float v = x[i].item(), chosen = i % 3 == 0 ? v + 1.0f : i % 3 == 1 ? v * 2.0f : -v;
    float doubled = chosen;
    while (doubled < 4.0f && doubled > 0.0f) doubled *= 2.0f;
    expected.push_back(i < 3 ? doubled : i < 6 ? chosen : v > 0 ? v * 10.0f : v - 10.0f);
  }
  for (int i = 0; i < 9; ++i) CHECK(f({x})[0][i].item() == expected[static_cast<std::size_t>(i)]);
  check_function(f, {x}, {.differentiate = false});
}
TEST_CASE("a kernel without outputs does what its steps do") {
  static std::string printed;
  printed.clear();
  const auto before = std::exchange(debug_print_sink, [](std::string_view line) { printed.append(line); });
  const array x = array::from<std::int32_t>({3, 5, 8});
  const auto none =
      kernel_call<0>([](const auto& p, const auto& in) { debug_print("{} {}", p.program_id(0), in.get()); },
                     {.grid = {3}, .in = {{{squeezed}, {0}}}})(x);
  debug_print_sink = before;
  CHECK(none.size() == 0);
  CHECK(printed == "0 3\n1 5\n2 8\n");
}
TEST_CASE("a step that fails ends the kernel, whichever thread runs it") {
  const array x = noise({64, 4}, 1);
  std::vector<std::int32_t> rows(64);
  for (int i = 0; i < 64; ++i) rows[static_cast<std::size_t>(i)] = i == 40 ? 64 : 63 - i;
  const block_spec row{{squeezed, 4}, {}, [](const arrays& i) -> arrays {
                         return {dynamic_index_in_dim(i[1], i[0], 0, false), array(0)};
                       }};
  const auto gather = [&](const array& numbers) {
    return kernel_call([](const auto&, const auto&, const auto& in, const auto& out) { out.set(in.get()); },
                       {.grid = {64},
                        .in = {row},
                        .out = {{{f32, false, {64, 4}}, {{squeezed, 4}, {0, first_block}}}},
                        .prefetch = 1,
                        .semantics = {parallel}})(numbers, x);
  };
  CHECK_THROWS_WITH(gather(array::from<std::int32_t>(std::span<const std::int32_t>(rows), {64})),
                    contains("block_spec: index_map") && contains("block 64 of axis 0"));
  rows[40] = 23;
  CHECK(gather(array::from<std::int32_t>(std::span<const std::int32_t>(rows), {64}))[40][1].item() == x[23][1].item());
}
TEST_CASE("ragged products of random groups, some of them empty") {
  std::uint32_t state = 7;
  const auto random = [&](std::uint32_t n) { return (state = state * 1664525u + 1013904223u) / 65536u % n; };
  for (const int groups : {1, 2, 5, 8, 32}) {
    const array x = noise({128, 16}, 1), w = noise({groups, 16, 8}, 2);
    std::vector<std::int32_t> ends{0, 128}, sizes;
    for (int g = 1; g < groups; ++g) ends.push_back(static_cast<std::int32_t>(random(129)));
    std::sort(ends.begin(), ends.end());
    for (int g = 0; g < groups; ++g)
      sizes.push_back(ends[static_cast<std::size_t>(g) + 1] - ends[static_cast<std::size_t>(g)]);
    const array s = array::from<std::int32_t>(std::span<const std::int32_t>(sizes), {groups});
    for (const std::int64_t tile : {128, 32, 8}) {
      INFO(groups << " groups, tiles of " << tile);
      const array y = kernel_ops::ragged_dot(x, w, s, {.block = {tile, 16, 8}});
      CHECK(difference(to_values(y), to_values(ragged_dot(x, w, s)), 1e-5) == "");
    }
  }
}
