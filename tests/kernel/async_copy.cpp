// tests/kernel/async_copy.cpp: copies that a kernel starts and waits for, in memory of its own.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/kernel.hpp>
#include <tokamax/lax/reduce.hpp>
#include <tokamax/numpy/matmul.hpp>

#include "support/adversarial.hpp"
#include "support/check_op.hpp"

#include "checked_kernels.hpp"

using namespace tokamax;
using namespace tokamax::test;

TEST_CASE("copies with two buffers bring all of an array in and out") {
  const array x = noise({12, 8}, 1);
  CHECK(difference(to_values(doubled({x})), to_values(x * 2.0f), 0) == "");
  check_function([](const arrays& a) { return doubled(a); }, {x}, {.differentiate = false});
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
TEST_CASE("copies that are waited for at once, in a loop with a step") {
  const array x = noise({12, 8}, 1);
  const auto run = [&](std::int32_t step) {
    return kernel_call(
        [=](const auto& p, const auto& in, const auto& out) {
          p.run_scoped({{{f32, false, {4, 8}}}}, [&](auto& part) {
            p.loop(0, 11, step, [&](const array& i) {  // 0, 4, 8
              sync_copy(p, in.at({ds(i, 4)}), part);
              part += 1.0f;
              sync_copy(p, part, out.at({ds(i, 4)}));
            });
          });
        },
        {.in = {outside}, .out = {{x.type(), outside}}})(x);
  };
  CHECK(bit_difference({run(4)}, {x + 1.0f}) == "");
  CHECK_THROWS_WITH(run(0), contains("loop: step: found 0, expected at least 1"));
}
TEST_CASE("a pipeline in a kernel: a product of blocks that arrive while others are computed") {
  const array x = noise({4, 6}, 1), y = noise({6, 8}, 2);
  for (const int buffers : {1, 2, 3, 20})  // of one of the factors: more than there are steps, too
    CHECK(difference(to_values(pipelined_product({x, y}, buffers)), to_values(matmul(x, y)), 1e-5) == "");
  CHECK_THROWS_WITH(pipelined_product({x, y}, 0), contains("block_spec: buffers"));
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
