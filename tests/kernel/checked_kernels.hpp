// tests/kernel/checked_kernels.hpp: kernels that are right, and the same with one mistake each.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/kernel.hpp>
#include <tokamax/lax/reduce.hpp>
#include <tokamax/numpy/matmul.hpp>
#include <tokamax/numpy/where.hpp>

#include "support/check_op.hpp"

namespace tokamax::test {

constexpr auto parallel = dimension_semantics::parallel;
inline const block_spec outside{.space = memory_space::any};

/// What is wrong with `doubled`.
enum class copy_bug {
  none,
  no_wait,           // the block is read before its copy has ended
  shared_semaphore,  // both slots count on one semaphore, and the next copy starts before the wait
  wrong_slot,        // reads the slot that is being filled
  same_slot,         // the next block arrives where the step reads
  no_store_wait,     // the result is overwritten while it is copied out
  late_store_wait,   // the store of the step before is waited for after the write
  waits_twice,
  never_starts,  // waits for a copy that only some steps start
  one_too_many,  // the last step starts a copy that nobody waits for
  half_a_wait,   // waits for half of the bytes
  outside_box,   // begins two rows too late
  reads_nothing  // adds to memory that was never written
};

/// Doubles an array that lies outside, four rows at a time, with two buffers.
inline arrays doubled(const arrays& a, copy_bug bug = copy_bug::none) {
  using enum copy_bug;
  const array_type part{f32, false, {4, 8}};
  const int parts = static_cast<int>(a[0].extent(0) / 4);
  const auto body = [=](const auto& p, const auto& x, const auto& out) {
    p.run_scoped({{{f32, false, {2, 4, 8}}}, semaphores({2}), {part}, semaphores()}, [&](auto& in, auto& arrived,
                                                                                         auto& made, auto& left) {
      const auto fetch = [&](const array& i) {
        const array slot = rem(i, 2), counter = bug == shared_semaphore ? array(0) : slot;
        array row = bug == one_too_many ? rem(i, parts) * 4 : array(i * 4);
        if (bug == outside_box) row = row + 2;
        return make_async_copy(x.at({ds(row, 4)}), in.at({bug == same_slot ? array(0) : slot}), arrived.at({counter}));
      };
      const auto store = [&](const array& i) { return make_async_copy(made, out.at({ds(i * 4, 4)}), left); };
      fetch(array(0)).start();
      p.fori_loop(0, parts, [&](const array& i) {
        if (bug == one_too_many)
          fetch(i + 1).start();
        else
          p.when(bug == never_starts ? i + 1 < parts - 1 : i + 1 < parts, [&] { fetch(i + 1).start(); });
        if (bug == half_a_wait)
          make_async_copy(x.at({ds(i * 4, 2)}), in.at({rem(i, 2), ds(0, 2)}), arrived.at({rem(i, 2)})).wait();
        else if (bug != no_wait)
          fetch(i).wait();
        if (bug == waits_twice) fetch(i).wait();
        const array value = in.get({rem(bug == wrong_slot ? i + 1 : i, 2)});
        if (bug == reads_nothing)
          made += value * 2.0f;
        else
          made.set(value * 2.0f);
        if (bug == late_store_wait) p.when(i > 0, [&] { store(i - 1).wait(); });
        store(i).start();
        if (bug != no_store_wait && bug != late_store_wait) store(i).wait();
      });
      if (bug == no_store_wait) p.fori_loop(0, parts, [&](const array& i) { store(i).wait(); });
      if (bug == late_store_wait) store(array(parts - 1)).wait();
    });
  };
  return kernel_call(body, {.in = {outside}, .out = {{a[0].type(), outside}}})(a[0]);
}

/// What is wrong with `product`.
enum class product_bug {
  none,
  no_zero,        // the sum begins with what the memory held
  no_result,      // the result is written in a step that does not exist
  parallel_sum,   // steps that add to one block run at the same time
  outer_sum,      // a block of the result comes again after all others
  wrong_map,      // the index map is one too far
  parallel_once,  // scratch memory is set by the first of parallel steps only
};

/// A product in blocks, summed over the last grid axis in scratch memory.
inline arrays product(const arrays& a, product_bug bug = product_bug::none, std::int64_t b = 4) {
  using enum product_bug;
  const std::int64_t m = a[0].extent(0), k = a[0].extent(1), n = a[1].extent(1);
  if (bug == parallel_sum || bug == outer_sum) {  // [k, i, j]
    const auto body = [](const auto& p, const auto& x, const auto& y, const auto& o) {
      p.when(p.program_id(0) == 0, [&] { o.set(0.0f); });
      o += matmul(x.get(), y.get());
    };
    kernel_options options{.grid = {k / b, m / b, n / b},
                           .in = {{{b, b}, {1, 0}}, {{b, b}, {0, 2}}},
                           .out = {{{f32, false, {m, n}}, {{b, b}, {1, 2}}}}};
    if (bug == parallel_sum) options.semantics = {parallel};
    return kernel_call(body, options)(a[0], a[1]);
  }
  const auto body = [=](const auto& p, const auto& x, const auto& y, const auto& o, const auto& sum) {
    const array step = p.program_id(2);
    if (bug == parallel_once)
      p.when(p.program_id(0) + p.program_id(1) + step == 0, [&] { sum.set(0.0f); });
    else if (bug != no_zero)
      p.when(step == 0, [&] { sum.set(0.0f); });
    sum += matmul(x.get(), y.get());
    p.when(step == p.num_programs(2) - (bug == no_result ? 0 : 1), [&] { o.set(sum.get()); });
  };
  const block_spec left{{b, b}, {0, 2}};
  const block_spec shifted{{b, b}, {}, [](const arrays& i) -> arrays { return {i[0], i[2] + 1}; }};
  return kernel_call(body, {.grid = {m / b, n / b, k / b},
                            .in = {bug == wrong_map ? shifted : left, {{b, b}, {2, 1}}},
                            .out = {{{f32, false, {m, n}}, {{b, b}, {0, 1}}}},
                            .scratch = {{{f32, false, {b, b}}}},
                            .semantics = {parallel, parallel}})(a[0], a[1]);
}

/// Sums of rows, in blocks of three rows and four columns, the last of which hang over.
inline arrays row_sums(const arrays& a, bool masked) {
  const std::int64_t rows = a[0].extent(0), columns = a[0].extent(1);
  const auto body = [=](const auto& p, const auto& x, const auto& o) {
    array v = x.get();
    if (masked)
      v = where(p.program_id(1) * 4 + array(iota(i32, {3, 4}, 1)) < static_cast<std::int32_t>(columns), v, 0.0f);
    p.when(p.program_id(1) == 0, [&] { o.set(0.0f); });
    o += sum(v, {.axis = {1}, .keepdims = true});
  };
  return kernel_call(body, {.grid = {(rows + 2) / 3, (columns + 3) / 4},
                            .in = {{{3, 4}, {0, 1}}},
                            .out = {{{f32, false, {rows, 1}}, {{3, 1}, {0, first_block}}}},
                            .semantics = {parallel}})(a[0]);
}

/// Adds one in place. With `shifted` a step reads the block that the step before has written.
inline arrays in_place(const arrays& a, bool shifted) {
  const block_spec here{{2}, {0}};
  const block_spec before{{2}, {}, [](const arrays& i) -> arrays { return {maximum(i[0] - 1, 0)}; }};
  return kernel_call(
      [](const auto&, const auto& x, const auto& o) { o.set(x.get() + 1.0f); },
      {.grid = {a[0].extent(0) / 2}, .in = {shifted ? before : here}, .out = {{a[0].type(), here, 0}}})(a[0]);
}

/// Two copies that count on one semaphore. Both waits come first, or one of them after the read.
inline arrays two_copies(const arrays& a, bool early) {
  const array_type half{f32, false, {a[0].extent(0) / 2}};
  const std::int64_t n = half.shape[0];
  const auto body = [=](const auto& p, const auto& x, const auto& o) {
    p.run_scoped({{half}, {half}, semaphores()}, [&](auto& low, auto& high, auto& both) {
      const auto first = make_async_copy(x.at({ds(0, n)}), low, both),
                 second = make_async_copy(x.at({ds(n, n)}), high, both);
      first.start();
      second.start();
      first.wait();
      if (!early) second.wait();
      o.set(low.get() + high.get());
      if (early) second.wait();
    });
  };
  return kernel_call(body, {.in = {outside}, .out = {{half}}})(a[0]);
}

/// Takes the rows that prefetched numbers name, and adds the number that stands `ahead` of its own.
inline arrays gather(const arrays& a, int ahead) {
  const std::int64_t n = a[0].extent(0), columns = a[1].extent(1);
  const block_spec row{{squeezed, columns}, {}, [](const arrays& i) -> arrays {
                         return {dynamic_index_in_dim(i[1], i[0], 0, false), array(0)};
                       }};
  return kernel_call([=](const auto& p, const auto& numbers, const auto& x,
                         const auto& o) { o.set(x.get() + astype(numbers.get({p.program_id(0) + ahead}), f32)); },
                     {.grid = {n},
                      .in = {row},
                      .out = {{{f32, false, {n, columns}}, {{squeezed, columns}, {0, first_block}}}},
                      .prefetch = 1})(a[0], a[1]);
}

/// Running sums of rows, `rows` of them in a loop.
inline arrays running_sums(const arrays& a, int rows) {
  return kernel_call(
      [=](const auto& p, const auto& in, const auto& out, const auto& last) {
        p.when(p.program_id(0) == 0, [&] { last.set(0.0f); });
        p.fori_loop(0, rows, [&](const array& i) {
          last += in.get({i});
          out.set(last.get(), {i});
        });
      },
      {.grid = {a[0].extent(0) / 4},
       .in = {{{4, 4}, {0, first_block}}},
       .out = {{a[0].type(), {{4, 4}, {0, first_block}}}},
       .scratch = {{{f32, false, {4}}}}})(a[0]);
}

/// Attention of heads [H, T, D], with keys in blocks and the running maximum and sum of the softmax in scratch memory.
inline arrays flash_attention(const arrays& a, std::int64_t block, bool begins = true) {
  const std::int64_t heads = a[0].extent(0), t = a[0].extent(1), d = a[0].extent(2), keys = a[1].extent(1);
  const auto body = [=](const auto& p, const auto& q, const auto& k, const auto& v, const auto& o, const auto& most,
                        const auto& sums, const auto& acc) {
    const array j = p.program_id(2);
    p.when(j == 0, [&] {
      if (begins) most.set(-1e30f);
      sums.set(0.0f);
      acc.set(0.0f);
    });
    const array s = matmul(q.get(), swapaxes(k.get(), 0, 1)) / std::sqrt(static_cast<float>(d));
    const array m = maximum(most.get(), max(s, {.axis = {1}, .keepdims = true})), e = exp(s - m);
    const array scale = exp(most.get() - m);
    sums.set(sums.get() * scale + sum(e, {.axis = {1}, .keepdims = true}));
    acc.set(acc.get() * scale + matmul(e, v.get()));
    most.set(m);
    p.when(j == p.num_programs(2) - 1, [&] { o.set(acc.get() / sums.get()); });
  };
  const block_spec queries{{squeezed, block, d}, {0, 1, first_block}}, some{{squeezed, block, d}, {0, 2, first_block}};
  return kernel_call(body,
                     {.grid = {heads, t / block, keys / block},
                      .in = {queries, some, some},
                      .out = {{a[0].type(), queries}},
                      .scratch = {{{f32, false, {block, 1}}}, {{f32, false, {block, 1}}}, {{f32, false, {block, d}}}},
                      .semantics = {parallel, parallel}})(a[0], a[1], a[2]);
}

/// A product whose blocks arrive in a pipeline inside of the kernel.
inline arrays pipelined_product(const arrays& a, int buffers = 2) {
  const auto body = [=](const auto& p, const auto& x, const auto& y, const auto& out) {
    p.run_scoped({{{f32, false, {}}}}, [&](auto& step) {
      step.set(0.0f);
      emit_pipeline(
          p,
          [&](auto& xb, auto& yb, auto& ob) {
            p.when(rem(step.get(), 3.0f) == 0.0f, [&] { ob.set(0.0f); });
            ob += matmul(xb.get(), yb.get());
            step += 1.0f;
          },
          {.grid = {2, 2, 3},
           .in = {{.block = {2, 2}, .index = {0, 2}, .buffers = buffers}, {{2, 4}, {2, 1}}},
           .out = {{{2, 4}, {0, 1}}}},
          x, y, out);
    });
  };
  return kernel_call(body, {.in = {outside, outside}, .out = {{{f32, false, {4, 8}}, outside}}})(a[0], a[1]);
}

/// Applies `f` to blocks of any array, the last of which may hang over.
template <class F>
constexpr arrays by_blocks(const F& f, const array& x, const shape& block) {
  shape grid;
  axes index;
  for (int i = 0; i < block.rank(); ++i) {
    index.push_back(i);
    grid.push_back((x.extent(i) + block[i] - 1) / block[i]);
  }
  const block_spec spec{block, index};
  return kernel_call([=](const auto&, const auto& in, const auto& out) { out.set(f(in.get())); },
                     {.grid = grid, .in = {spec}, .out = {{x.type(), spec}}})(x);
}

/// A copy of each step's block to an output that lies outside. With `one_place` all steps copy to the same place.
inline arrays copied_blocks(const arrays& a, bool one_place) {
  const std::int64_t n = a[0].extent(0) / 2;
  const auto body = [=](const auto& p, const auto& x, const auto& o, const auto& done) {
    const array i = one_place ? rem(p.program_id(0), static_cast<std::int32_t>(n / 2)) : p.program_id(0);
    const auto copy = make_async_copy(x, o.at({ds(i * 2, 2)}), done);
    copy.start();
    copy.wait();
  };
  const std::int64_t size = one_place ? n / 2 * 2 : 2 * n;
  return kernel_call(body, {.grid = {n},
                            .in = {{{2}, {0}}},
                            .out = {{{f32, false, {size}}, outside}},
                            .scratch = {semaphores()},
                            .semantics = {parallel}})(a[0]);
}

}  // namespace tokamax::test
