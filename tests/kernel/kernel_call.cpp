// tests/kernel/kernel_call.cpp: kernels on blocks, against their meaning on whole arrays.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/kernel.hpp>
#include <tokamax/lax/dot_general.hpp>
#include <tokamax/lax/reduce.hpp>
#include <tokamax/numpy/matmul.hpp>
#include <tokamax/numpy/where.hpp>
#include <tokamax/ops/attention.hpp>
#include <tokamax/ops/layer_norm.hpp>
#include <tokamax/ops/softmax.hpp>
#include <tokamax/runtime/describe.hpp>
#include <tokamax/runtime/jit.hpp>
#include <tokamax/transforms/debug_print.hpp>
#include <tokamax/transforms/grad.hpp>
#include <tokamax/transforms/vmap.hpp>

#include "support/check_op.hpp"
#include "support/kernel_sources.hpp"
#include "support/threads.hpp"

#include "checked_kernels.hpp"

using namespace tokamax;
using namespace tokamax::test;

namespace {
constexpr array add_one(const array& x, const shape& block) {
  return by_blocks([](const array& v) { return v + 1.0f; }, x, block)[0];
}
constexpr array blocked_matmul(const array& a, const array& b, std::int64_t bm, std::int64_t bn, std::int64_t bk) {
  const auto body = [](const auto& p, const auto& x, const auto& y, const auto& o, const auto& sum) {
    p.when(p.program_id(2) == 0, [&] { sum.set(0.0f); });
    sum += matmul(x.get(), y.get());
    p.when(p.program_id(2) == p.num_programs(2) - 1, [&] { o.set(sum.get()); });
  };
  const std::int64_t m = a.extent(0), n = b.extent(1), k = a.extent(1);
  return kernel_call(body, {.grid = {m / bm, n / bn, k / bk},
                            .in = {{{bm, bk}, {0, 2}}, {{bk, bn}, {2, 1}}},
                            .out = {{{f32, false, {m, n}}, {{bm, bn}, {0, 1}}}},
                            .scratch = {{{f32, false, {bm, bn}}}},
                            .semantics = {parallel, parallel}})(a, b);
}
constexpr array blocked_norm(const array& x, const array& scale, const array& offset, std::int64_t rows) {
  const auto body = [](const auto&, const auto& in, const auto& s, const auto& t, const auto& out) {
    const array v = in.get(), c = v - mean(v, {.axis = {1}, .keepdims = true});
    out.set(c * rsqrt(mean(square(c), {.axis = {1}, .keepdims = true}) + 1e-6f) * s.get() + t.get());
  };
  const block_spec some{{rows, x.extent(1)}, {0, first_block}};
  return kernel_call(body, {.grid = {(x.extent(0) + rows - 1) / rows},
                            .in = {some, {}, {}},
                            .out = {{x.type(), some}},
                            .semantics = {parallel}})(x, scale, offset);
}
/// Attention of heads [H, T, D], with keys in blocks and the running maximum and sum of the softmax in scratch memory.
constexpr array flash_attention(const array& q, const array& k, const array& v, std::int64_t block, bool causal) {
  const std::int64_t heads = q.extent(0), t = q.extent(1), d = q.extent(2), keys = k.extent(1);
  const auto body = [=](const auto& p, const auto& qr, const auto& kr, const auto& vr, const auto& o, const auto& most,
                        const auto& sums, const auto& acc) {
    const array i = p.program_id(1), j = p.program_id(2);
    p.when(j == 0, [&] {
      most.set(-1e30f);
      sums.set(0.0f);
      acc.set(0.0f);
    });
    const auto visit = [&] {
      const int b = static_cast<int>(block);
      array s = matmul(qr.get(), swapaxes(kr.get(), 0, 1)) * (1.0f / std::sqrt(static_cast<float>(d)));
      if (causal) {
        const array row = i * b + iota(i32, {block, block}, 0), column = j * b + iota(i32, {block, block}, 1);
        s = where(row >= column, s, -1e30f);
      }
      const array m = maximum(most.get(), max(s, {.axis = {1}, .keepdims = true})), e = exp(s - m);
      const array scale = exp(most.get() - m);
      sums.set(sums.get() * scale + sum(e, {.axis = {1}, .keepdims = true}));
      acc.set(acc.get() * scale + matmul(e, vr.get()));
      most.set(m);
    };
    if (causal)
      p.when(j <= i, visit);
    else
      visit();
    p.when(j == p.num_programs(2) - 1, [&] { o.set(acc.get() / sums.get()); });
  };
  const block_spec queries{{squeezed, block, d}, {0, 1, first_block}},
      some_keys{{squeezed, block, d}, {0, 2, first_block}};
  return kernel_call(body,
                     {.grid = {heads, t / block, keys / block},
                      .in = {queries, some_keys, some_keys},
                      .out = {{q.type(), queries}},
                      .scratch = {{{f32, false, {block, 1}}}, {{f32, false, {block, 1}}}, {{f32, false, {block, d}}}},
                      .semantics = {parallel, parallel}})(q, k, v);
}
array plain_attention(const array& q, const array& k, const array& v, bool causal) {
  array s = matmul(q, swapaxes(k, 1, 2)) / std::sqrt(static_cast<float>(q.extent(2)));
  if (causal) s = where(iota(i32, s.shape(), 1) >= iota(i32, s.shape(), 2), s, -1e30f);
  return matmul(softmax(s), v);
}
}  // namespace

TEST_CASE("elementwise kernels keep the contract: values, derivatives, batches") {
  check_function([](const arrays& a) { return by_blocks([](const array& v) { return v * sin(v); }, a[0], {2, 3}); },
                 {noise({4, 6}, 1)}, {.tolerance = 1e-5});
  check_function([](const arrays& a) -> arrays { return add_one(a[0], {4}); }, {noise({12}, 1)});
  check_function([](const arrays& a) -> arrays { return add_one(a[0], {}); }, {noise(shape{}, 1)});
}
TEST_CASE("blocks that hang over are padded when they are read and cut when they are written") {
  for (const shape& s : {shape{5, 7}, {4, 8}, {1, 1}, {3, 9}})
    check_function([](const arrays& a) -> arrays { return add_one(a[0], {2, 4}); }, {noise(s, 1)}, {.order = 1});
  const array x = add_one(noise({5}, 1), {4});
  CHECK(difference(to_values(x), to_values(noise({5}, 1) + 1.0f), 0) == "");
}
TEST_CASE("blocks of the last axis, for several rows and numbers of blocks") {
  for (const std::int64_t rows : {1, 2, 4})
    for (const std::int64_t blocks : {1, 2, 3, 4, 8}) {
      const array x = noise({rows, 128 * blocks}, 1);
      CHECK(bit_difference(listed(by_blocks([](const array& v) { return v; }, x, {rows, 128})), {x}) == "");
    }
}
TEST_CASE("an empty grid, empty arrays, and a kernel without a grid") {
  CHECK(add_one(noise({0, 4}, 1), {2, 4}).shape() == shape{0, 4});
  const array x = noise({3, 2}, 1);
  const array y = kernel_call([](const auto&, const auto& in, const auto& out) { out.set(in.get() * 2.0f); },
                              {.out = {{x.type()}}})(x);
  CHECK(bit_difference({y}, {x * 2.0f}) == "");
}
TEST_CASE("bools, integers and bf16, and several results") {
  const array b = noise({8}, 1) > 0.0f, i = astype(noise({8}, 2) * 100.0f, i32), h = astype(noise({8}, 3), bf16);
  const block_spec s{{4}, {0}};
  const auto [nb, ni, nh] = kernel_call<3>(
      [](const auto&, const auto& x, const auto& y, const auto& z, const auto& ox, const auto& oy, const auto& oz) {
        ox.set(logical_not(x.get()));
        oy.set(y.get() * 3);
        oz.set(z.get() + z.get());
      },
      {.grid = {2}, .in = {s, s, s}, .out = {{b.type(), s}, {i.type(), s}, {h.type(), s}}})(b, i, h);
  CHECK(bit_difference({nb, ni, nh}, {logical_not(b), array(i * 3), array(h + h)}) == "");
}
TEST_CASE("a product, summed over the last grid axis in scratch memory") {
  const array a = noise({16, 24}, 1), b = noise({24, 32}, 2);
  check_function([](const arrays& x) -> arrays { return blocked_matmul(x[0], x[1], 8, 16, 8); }, {a, b},
                 {.tolerance = 1e-5, .differentiate = false});
  CHECK(difference(to_values(blocked_matmul(a, b, 8, 16, 8)), to_values(matmul(a, b)), 1e-5) == "");
  check_same_bits([](const arrays& x) -> arrays { return blocked_matmul(x[0], x[1], 8, 16, 8); }, {a, b});
}
TEST_CASE("layer norm by rows, whose gradients of scale and offset are summed over the steps") {
  const std::vector<array> in{noise({6, 5}, 1), noise({5}, 2), noise({5}, 3)};
  check_function([](const arrays& a) -> arrays { return blocked_norm(a[0], a[1], a[2], 2); }, in,
                 {.tolerance = 1e-5, .order = 1});
  CHECK(difference(to_values(blocked_norm(in[0], in[1], in[2], 2)), to_values(layer_norm(in[0], in[1], in[2])), 1e-5) ==
        "");
  CHECK(difference(to_values(blocked_norm(in[0], in[1], in[2], 4)), to_values(layer_norm(in[0], in[1], in[2])), 1e-5) ==
        "");
}
TEST_CASE("flash attention is attention") {
  const array q = noise({2, 16, 8}, 1), k = noise({2, 16, 8}, 2), v = noise({2, 16, 8}, 3);
  for (const bool causal : {false, true}) {
    const function f = [=](const arrays& a) -> arrays { return flash_attention(a[0], a[1], a[2], 4, causal); };
    CHECK(difference(to_values(f({q, k, v})), to_values(plain_attention(q, k, v, causal)), 1e-5) == "");
    check_function(f, {q, k, v}, {.tolerance = 1e-5, .differentiate = false});
    check_same_bits(f, {q, k, v});
  }
}
TEST_CASE("index maps read scalars that are prefetched") {
  const array x = noise({4, 2, 3}, 1), rows = array::from<std::int32_t>({2, 0, 3, 3, 1});
  const function gather = [](const arrays& a) -> arrays {
    return kernel_call([](const auto& p, const auto& i, const auto& in,
                          const auto& out) { out.set(in.get() + astype(i.get({p.program_id(0)}), f32)); },
                       {.grid = {a[0].extent(0)},
                        .in = {{{squeezed, 2, 3},
                                {},
                                [](const arrays& i) -> arrays {
                                  return {dynamic_index_in_dim(i[1], i[0], 0, false), array(0), array(0)};
                                }}},
                        .out = {{{f32, false, {5, 2, 3}}, {{squeezed, 2, 3}, {0, first_block, first_block}}}},
                        .prefetch = 1})(a[0], a[1]);
  };
  check_function(gather, {rows, x}, {.differentiate = false});
  CHECK(gather({rows, x})[0][1][0][0].item() == x[0][0][0].item());
  CHECK_THROWS_WITH(gather({array::from<std::int32_t>({2, 0, 4, 3, 1}), x}),
                    contains("block_spec: index_map") && contains("block 4 of axis 0"));
}
TEST_CASE("one body on several grids sees their sizes") {
  for (const std::int64_t n : {2, 5, 3, 4}) {
    const array y =
        kernel_call([](const auto& p, const auto& o) { o.set(astype(p.num_programs(0) * 10 + p.program_id(0), f32)); },
                    {.grid = {n}, .out = {{{f32, false, {n}}, {{squeezed}, {0}}}}})();
    for (std::int64_t i = 0; i < n; ++i) CHECK(y[static_cast<int>(i)].item() == static_cast<float>(10 * n + i));
  }
}
TEST_CASE("an output that begins with an argument keeps the blocks that no step writes") {
  const array x = noise({6}, 1);
  const function f = [](const arrays& a) -> arrays {
    return kernel_call([](const auto&, const auto& in, const auto& out) { out.set(in.get() * 2.0f); },
                       {.grid = {2}, .in = {{{2}, {0}}}, .out = {{a[0].type(), {{2}, {0}}, 0}}})(a[0]);
  };
  check_function(f, {x}, {.differentiate = false});
  CHECK(difference(to_values(f({x})), to_values(where(array(iota(i32, {6}, 0) < 4), x * 2.0f, x)), 0) == "");
}
TEST_CASE("loops in kernels read and write parts of refs") {
  const array x = noise({8, 4}, 1);
  const function running = [](const arrays& a) -> arrays {  // running sums of rows, eight rows a step
    return kernel_call(
        [](const auto& p, const auto& in, const auto& n, const auto& out, const auto& last) {
          p.when(p.program_id(0) == 0, [&] { last.set(0.0f); });
          p.fori_loop(0, n.get({0}), [&](const array& i) {
            last += in.get({i});
            out.set(last.get(), {i});
          });
          const arrays total = p.fori_loop(0, 4, {array(0.0f)}, [&](const array& i, const arrays& s) -> arrays {
            return {s[0] + sum(in.get({ds(i, 1)}))};
          });
          p.when(total[0] > 1e9f, [&] { out.set(total[0]); });
        },
        {.grid = {2},
         .in = {{{4, 4}, {0, first_block}}, {}},
         .out = {{a[0].type(), {{4, 4}, {0, first_block}}}},
         .scratch = {{{f32, false, {4}}}}})(a[0], a[1]);
  };
  const array four = array::from<std::int32_t>({4});
  CHECK(difference(to_values(running({x, four})), to_values(cumsum(x, 0)), 1e-6) == "");
  check_function(running, {x, four}, {.differentiate = false});
}
TEST_CASE("forward mode of a kernel with scratch memory is a kernel on values and tangents") {
  const array a = noise({4, 6}, 1), b = noise({6, 4}, 2), da = noise({4, 6}, 3), db = noise({6, 4}, 4);
  const function f = [](const arrays& x) -> arrays { return blocked_matmul(x[0], x[1], 2, 2, 3); };
  const arrays d = execute_graph(trace(jvp_of(f, 2), types_of(std::vector{a, b, da, db})), {a, b, da, db});
  CHECK(difference(to_values(d), to_values(matmul(da, b) + matmul(a, db)), 1e-5) == "");
}
TEST_CASE("a kernel is part of a program that is compiled") {
  using square_matrix = tensor<f32, 8, 8>;
  constexpr auto f = [](const square_matrix& a, const square_matrix& b) {
    return blocked_matmul(a, b, 4, 4, 2) + add_one(a, {4, 4});
  };
  const array a = noise({8, 8}, 1), b = noise({8, 8}, 2);
  const auto known = jit(f, cpu, while_compiling);
  const auto late = jit(f, cpu, at_run_time);
  CHECK(describe<decltype(known)::for_types<square_matrix, square_matrix>>().find("grid_loop body") !=
        std::string::npos);
  CHECK(bit_difference({known(square_matrix(a), square_matrix(b))}, {late(square_matrix(a), square_matrix(b))}) == "");
  CHECK(difference(to_values(known(square_matrix(a), square_matrix(b))), to_values(matmul(a, b) + a + 1.0f), 1e-5) ==
        "");
}
TEST_CASE("wrong kernels are refused at run time too") {
  const array x = noise({4, 4}, 1);
  CHECK_THROWS_WITH(add_one(x, {3}), contains("block_spec"));
  CHECK_THROWS_WITH(grad([](const array& a) { return sum(blocked_matmul(a, a, 2, 2, 2)); })(x),
                    contains("kernel_call: reverse mode: found scratch memory"));
  CHECK_THROWS_WITH(kernel_call([&](const auto&, const auto& o) { o.set(x); }, {.out = {{x.type()}}})(),
                    contains("kernel_call: body: found a value that it closes over"));
}
TEST_CASE("the kernels of kernel_ops and their gradients have their meaning") {
  unsigned seed = 0;
  const auto made = [&](const shape& e) { return noise(e, ++seed); };
  for (const auto& some : {sources::all(made), sources::more(made)})
    for (const auto& s : some) {
      INFO(s.name);
      CHECK(difference(to_values(s.kernel(s.in)), to_values(s.meaning(s.in)), 1e-5) == "");
    }
  const array x = noise({5, 6}, 1), scale = noise({6}, 2);
  check_function([](const arrays& a) -> arrays { return kernel_ops::rms_norm(a[0], a[1], {.rows = 5}); }, {x, scale},
                 {.tolerance = 1e-5, .order = 1});
  const array q{array_type{f32, false, {1, 12, 4}}};
  CHECK_THROWS_WITH(kernel_ops::flash_attention(q, q, q, {.queries = 5}),
                    contains("flash_attention: block: found 5 queries, 12 keys, expected divisors of 12 and 12"));
}
TEST_CASE("products of kernel_ops sum bf16 in f32 and bytes in i32, and split f32 into passes") {
  const array x = noise({24, 40}, 1), w = noise({40, 16}, 2);
  const kernel_ops::matmul_options blocks{.block = {8, 16, 8}, .out = f32};
  const array bx = astype(x, bf16), bw = astype(w, bf16), ix = astype(x * 40.0f, i8), iw = astype(w * 40.0f, i8);
  CHECK(difference(to_values(kernel_ops::matmul(bx, bw, blocks)),
                   to_values(matmul(bx, bw, {.preferred_element_type = f32})), 1e-5) == "");
  CHECK(kernel_ops::matmul(bx, bw).dtype() == bf16);
  CHECK(bit_difference({kernel_ops::matmul(ix, iw, {.block = {8, 16, 8}})},
                       {matmul(ix, iw, {.preferred_element_type = i32})}) == "");
  // 8, 16 and 24 bits of f32, against sums of f64
  const array exact = matmul(astype(x, f64), astype(w, f64));
  const auto error = [&](const array& y) { return max(abs(astype(y, f64) - exact)).item<double>(); };
  const double one = error(kernel_ops::matmul(bx, bw, blocks)),
               three = error(kernel_ops::matmul(x, w, {.block = {8, 16, 8}, .passes = 3})),
               six = error(kernel_ops::matmul(x, w, {.block = {8, 16, 8}, .passes = 6}));
  CHECK(three < one / 50);
  CHECK(six < three / 5);
  CHECK(six < 1e-5);
}
std::string printed;
TEST_CASE("a line in a branch of a kernel is printed by the steps that take it") {
  const array x = noise({8}, 1);
  const auto before = std::exchange(debug_print_sink, [](std::string_view line) { printed.append(line); });
  const array y = kernel_call(
      [](const auto& p, const auto& in, const auto& out) {
        p.when(p.program_id(0) == 2, [&] { debug_print("only {}", p.program_id(0)); });
        p.when(p.program_id(0) != 2, [&] {
          debug_print("all but {}", p.program_id(0) - p.program_id(0) + 2);
          out.set(in.get());
        });
        p.when(p.program_id(0) == 2, [&] { out.set(0.0f); });
      },
      {.grid = {4}, .in = {{{2}, {0}}}, .out = {{x.type(), {{2}, {0}}}}})(x);
  debug_print_sink = before;
  CHECK(printed == "all but 2\nall but 2\nonly 2\nall but 2\n");
  CHECK(y[1].item() == x[1].item());
  CHECK(y[5].item() == 0);
}
TEST_CASE("buffers change no values, and count as memory") {
  const array x = noise({8, 4}, 1);
  const auto run = [&](int buffers, std::int64_t limit) {
    const block_spec some{.block = {2, 4}, .index = {0, first_block}, .buffers = buffers};
    return kernel_call([](const auto&, const auto& in, const auto& out) { out.set(in.get() + 1.0f); },
                       {.grid = {4}, .in = {some}, .out = {{x.type(), some}}, .vmem_limit = limit})(x);
  };
  for (const int buffers : {1, 2, 3}) {
    CHECK(bit_difference({run(buffers, 2 * 32 * buffers)}, {x + 1.0f}) == "");
    CHECK_THROWS_WITH(run(buffers, 2 * 32 * buffers - 1), contains("kernel_call: vmem"));
  }
  CHECK_THROWS_WITH(run(0, 0), contains("block_spec: buffers: found 0, expected at least 1"));
}
