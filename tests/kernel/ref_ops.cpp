// tests/kernel/ref_ops.cpp: reads and writes of refs keep the bits of special values: ref_get, ref_set, ref_empty.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/kernel/ref_ops.hpp>

#include <tokamax/kernel.hpp>
#include <tokamax/lax/reduce.hpp>

#include "support/adversarial.hpp"

using namespace tokamax;
using namespace tokamax::test;

TEST_CASE("ref_get and ref_set move whole refs, boxes and single elements with their bits") {
  const function f = [](const arrays& a) -> arrays {
    const auto body = [](const auto& p, const auto& x, const auto& whole, const auto& turned, const auto& parts) {
      whole.set(x.get());
      p.fori_loop(0, 7, [&](const array& i) { turned.set(x.get({6 - i}), {i}); });
      parts.set(x.get());  // overwritten but for the border
      parts.set(x.get({ds(array(0), 3), ds(array(2), 5)}), {ds(array(2), 3), ds(array(1), 5)});
      parts.set(x.get({6, 8}), {0, 0});
    };
    const array_type t{a[0].dtype(), false, a[0].shape()};
    const auto [x, y, z] = kernel_call<3>(body, {.out = {{t}, {t}, {t}}})(a[0]);
    return {x, y, z};
  };
  for (const dtype t : every_dtype)
    for (const array& x : {adversarial({7, 9}, 3, t), reshape(specials(t, 63), {7, 9})}) check_adversarial(f, {x});
}
TEST_CASE("ref_empty holds NaN or the least integer until ref_set writes") {
  const function f = [](const arrays& a) -> arrays {
    const array_type t{a[0].dtype(), false, a[0].shape()};
    const auto body = [t](const auto& p, const auto& x, const auto& first, const auto& second) {
      p.run_scoped({{{t}}}, [&](auto& memory) {
        first.set(memory.get());
        memory.set(x.get({ds(array(1), 2)}), {ds(array(3), 2)});
        second.set(memory.get());
      });
    };
    const auto [x, y] = kernel_call<2>(body, {.out = {{t}, {t}}})(a[0]);
    return {x, y};
  };
  for (const dtype t : every_dtype) check_adversarial(f, {adversarial({7, 9}, 5, t)});
}
