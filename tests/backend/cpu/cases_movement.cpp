// tests/backend/cpu/cases_movement.cpp: ops that move elements keep the bits of all of them, in every dtype.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/lax/indexing/gather.hpp>
#include <tokamax/lax/indexing/slice.hpp>
#include <tokamax/lax/pack_int4.hpp>
#include <tokamax/lax/shapes/reverse.hpp>
#include <tokamax/random/threefry.hpp>

#include "cases.hpp"

namespace tokamax::test {

std::vector<adversarial_case> movement_cases() {
  std::vector<adversarial_case> cases;
  const auto add = [&](const char* name, dtype t, const function& f, const std::vector<array>& in,
                       const adversarial_options& o = {}) { cases.push_back({named(name, t), f, in, o}); };
  const array index = array::from<std::int32_t>({0, 6, -1, 99, 3, 5, 5, 2, 6, 1, 0, 0x7fffffff, -0x7fffffff - 1});
  for (const dtype t : every_dtype) {
    for (const shape& s : {shape{83, 37}, {53, 1}, {1, 1009}, {7, 0}}) {
      const array x = adversarial(s, 1, t), fill = reshape(adversarial({1}, 1, t), {});
      add("gather", t, [](const arrays& v) -> arrays { return gather(v[0], v[1]); }, {x, index});
      add("transpose", t, [](const arrays& v) -> arrays { return {transpose(v[0]), reshape(v[0], {v[0].size()})}; },
          {x});
      add("reverse", t, [](const arrays& v) -> arrays { return {reverse(v[0], {0}), reverse(v[0], {0, 1})}; }, {x});
      add("broadcast_in_dim", t,
          [](const arrays& v) -> arrays {
            return broadcast_in_dim(v[0], {3, v[0].extent(0), 2, v[0].extent(1)}, {1, 3});
          },
          {x});
      add("pad", t,
          [](const arrays& v) -> arrays {
            return {pad(v[0], v[1], {1, 2}, {3, 1}, {0, 2}), pad(v[0], v[1], {0, 0}, {3, 1}),
                    pad(v[0], v[1], {0, 1}, {-1, 0}, {2, 0})};
          },
          {x, fill}, {.views = false});
      add("constant", t, [](const arrays& v) -> arrays { return {select(v[0] == 0, 1, v[0]), full_like(v[0], 1)}; },
          {x});
    }
    add("slice", t, [](const arrays& v) -> arrays { return slice(v[0], {1, 2}, {80, 35}, {3, 5}); },
        {adversarial({83, 37}, 3, t)});
    const adversarial_options sums{.tolerance = t == bf16 ? 8e-3 : is_floating(t) ? 3e-6 : 0, .floor = 1};
    const array updates = adversarial({index.size(), 37}, 13, t);
    if (t != bool_) {
      add(
          "scatter_add", t, [](const arrays& v) -> arrays { return scatter_add(v[0], v[1], 7); }, {index, updates},
          sums);
      add(
          "scatter_add onto an operand", t, [](const arrays& v) -> arrays { return scatter_add(v[2], v[0], v[1]); },
          {index, updates, adversarial({7, 37}, 5, t)}, sums);
    }
  }
  for (const dtype t : {i4, u4})
    for (const shape& s : {shape{83, 38}, {1, 70002}, {7, 0}}) {
      const array x = adversarial(s, 1, t);
      add("pack_int4", t, [](const arrays& v) -> arrays { return pack_int4(v[0]); }, {x});
      add("unpack_int4", t, [t](const arrays& v) -> arrays { return unpack_int4(v[0], t); }, {pack_int4(x)});
    }
  const array counters = array::from<std::uint32_t>({0u, 0xffffffffu, 0xfffffff0u, 1u, 0x80000000u});
  for (const std::int64_t n : {0, 1, 13, 4099})
    for (const bool pairs : {false, true})
      add("threefry2x32", u32, [=](const arrays& v) -> arrays { return threefry2x32(v[0], v[1], {n}, pairs); },
          {reshape(specials(u32, 10), {5, 2}), counters});
  return cases;
}

}  // namespace tokamax::test
