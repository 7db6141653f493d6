// tests/kernel/async_copy.cpp: copies that a kernel starts and waits for, in memory of its own.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/kernel.hpp>
#include <tokamax/lax/reduce.hpp>
#include <tokamax/numpy/matmul.hpp>

#include "support/adversarial.hpp"
#include "support/check_op.hpp"

using namespace tokamax;
using namespace tokamax::test;

namespace {
/// Doubles an array that lies outside, with two buffers: the next part arrives while the last one is computed.
arrays doubled(const arrays& a) {
  const array_type part{f32, false, {4, 8}};
  const int parts = static_cast<int>(a[0].extent(0) / 4);
  const auto body = [=](const auto& p, const auto& x, const auto& out) {
    const kernel_scratch two{{f32, false, {2, 4, 8}}};
    p.run_scoped({two, semaphores({2}), {part}, semaphores()}, [&](auto& in, auto& arrived, auto& made, auto& left) {
      const auto fetch = [&](const array& i) {
        const array slot = rem(i, 2);
        return make_async_copy(x.at({ds(i * 4, 4)}), in.at({slot}), arrived.at({slot}));
      };
      fetch(array(0)).start();
      p.fori_loop(0, parts, [&](const array& i) {
        p.when(i + 1 < parts, [&] { fetch(i + 1).start(); });
        fetch(i).wait();
        made.set(in.get({rem(i, 2)}) * 2.0f);
        const auto store = make_async_copy(made, out.at({ds(i * 4, 4)}), left);
        store.start();
        store.wait();
      });
    });
  };
  const block_spec outside{.space = memory_space::any};
  return kernel_call(body, {.in = {outside}, .out = {{a[0].type(), outside}}})(a[0]);
}
}  // namespace

TEST_CASE("copies with two buffers bring all of an array in and out") {
  const array x = noise({12, 8}, 1);
  CHECK(difference(to_values(doubled({x})), to_values(x * 2.0f), 0) == "");
  check_function(doubled, {x}, {.differentiate = false});
}
TEST_CASE("memory that was not written is NaN, the least integer, and zero of a semaphore") {
  const auto [f, i, s] = kernel_call<3>(
      [](const auto& p, const auto& of, const auto& oi, const auto& os) {
        p.run_scoped({{{f32, false, {2}}}, {{i32, false, {2}}}, semaphores({2})}, [&](auto& rf, auto& ri, auto& rs) {
          of.set(rf.get());
          oi.set(ri.get());
          os.set(rs.get());
        });
      },
      {.out = {{{f32, false, {2}}}, {{i32, false, {2}}}, {{i32, false, {2}}}}})();
  CHECK(std::isnan(f[0].item()));
  CHECK(i[1].item<std::int32_t>() == std::numeric_limits<std::int32_t>::min());
  CHECK(s[1].item<std::int32_t>() == 0);
}
TEST_CASE("copies between refs of other types, and without a semaphore, are refused") {
  const auto copy = [](const kernel_scratch& to, const kernel_scratch& semaphore) {
    return [=](const auto& p, const auto& x, const auto& out) {
      p.run_scoped({to, semaphore}, [&](auto& memory, auto& arrived) { make_async_copy(x, memory, arrived).start(); });
      out.set(x.get());
    };
  };
  const array x = noise({4}, 1);
  const auto run = [&](const kernel_scratch& to, const kernel_scratch& semaphore) {
    return kernel_call(copy(to, semaphore), {.out = {{x.type()}}})(x);
  };
  const kernel_scratch four{{f32, false, {4}}}, five{{f32, false, {5}}};
  CHECK_THROWS_WITH(run(five, semaphores()), contains("async_copy: types: found f32[4], expected f32[5]"));
  CHECK_THROWS_WITH(run(four, {{i32, false, {}}}), contains("async_copy: semaphore"));
  CHECK_NOTHROW(run(four, semaphores()));
}
TEST_CASE("a pipeline in a kernel: a product of blocks that arrive while others are computed") {
  const function product = [](const arrays& a) -> arrays {
    const block_spec outside{.space = memory_space::any};
    const auto body = [](const auto& p, const auto& x, const auto& y, const auto& out) {
      p.run_scoped({{{f32, false, {}}}}, [&](auto& step) {
        step.set(0.0f);
        emit_pipeline(
            p,
            [&](auto& xb, auto& yb, auto& ob) {
              p.when(rem(step.get(), 3.0f) == 0.0f, [&] { ob.set(0.0f); });
              ob += matmul(xb.get(), yb.get());
              step += 1.0f;
            },
            {.grid = {2, 2, 3}, .in = {{{2, 2}, {0, 2}}, {{2, 4}, {2, 1}}}, .out = {{{2, 4}, {0, 1}}}}, x, y, out);
      });
    };
    return kernel_call(body, {.in = {outside, outside}, .out = {{{f32, false, {4, 8}}, outside}}})(a[0], a[1]);
  };
  const array x = noise({4, 6}, 1), y = noise({6, 8}, 2);
  CHECK(difference(to_values(product({x, y})), to_values(matmul(x, y)), 1e-5) == "");
}
TEST_CASE("copy_start and copy_wait bring special values with their bits, in parts and in other orders") {
  const function f = [](const arrays& a) -> arrays {
    const array_type t{a[0].dtype(), false, a[0].shape()}, part{t.dtype, false, {2, 5}};
    const auto body = [=](const auto& p, const auto& x, const auto& y, const auto& z) {
      p.run_scoped({{part}, {t}, semaphores({2})}, [&](auto& some, auto& all, auto& arrived) {
        make_async_copy(x, all, arrived.at({0})).start();
        p.fori_loop(0, 3, [&](const array& i) {
          const auto fetch = make_async_copy(x.at({ds(i * 2, 2)}), some, arrived.at({1}));
          fetch.start();
          fetch.wait();
          const auto store = make_async_copy(some, y.at({ds(4 - i * 2, 2)}), arrived.at({1}));
          store.start();
          store.wait();
        });
        make_async_copy(x, all, arrived.at({0})).wait();
        z.set(all.get());
      });
    };
    const block_spec outside{.space = memory_space::any};
    const auto [y, z] = kernel_call<2>(body, {.in = {outside}, .out = {{t, outside}, {t}}})(a[0]);
    return {y, z};
  };
  for (const dtype t : every_dtype)
    for (const array& x : {adversarial({6, 5}, 3, t), reshape(specials(t, 30), {6, 5})}) check_adversarial(f, {x});
}
