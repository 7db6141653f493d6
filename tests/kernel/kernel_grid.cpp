// tests/kernel/kernel_grid.cpp: axes of grids with names, and with a number of steps that only a run knows.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/kernel.hpp>
#include <tokamax/kernel/check/check_kernel.hpp>
#include <tokamax/lax/reduce.hpp>
#include <tokamax/numpy/where.hpp>
#include <tokamax/transforms/vmap.hpp>

#include "support/check_op.hpp"

#include "checked_kernels.hpp"

using namespace tokamax;
using namespace tokamax::test;

namespace {
/// 100 x the number of rows of the grid + 10 x the row + the column, for a grid of rows and columns.
array numbered(const kernel_grid& grid, std::string_view rows, std::string_view columns) {
  const std::int64_t m = grid.extents()[0], n = grid.extents()[1];
  return kernel_call(
      [=](const auto& p, const auto& o) {
        const array at = p.program_count(rows) * 100 + p.program_id(rows) * 10 + p.program_id(columns);
        o.set(astype(at + static_cast<std::int32_t>(p.num_programs(rows) - p.num_programs(0)), f32));
      },
      {.grid = grid, .out = {{{f32, false, {m, n}}, {{squeezed, squeezed}, {0, 1}}}}})();
}
/// x + 1 in the first steps of `axis`, as many as a number says, and x in the others.
arrays first_steps(const arrays& a, std::int64_t block, bool by_map = false) {
  const std::int64_t n = a[1].extent(0) / block;
  const block_spec named{{block}, {0}};
  const block_spec mapped{{block}, {}, [](const arrays& i) -> arrays { return {i[0]}; }};
  return kernel_call(
      [](const auto& p, const auto&, const auto& in, const auto& out) {
        out.set(in.get() + astype(p.program_count("parts") - p.program_id(0), f32));
      },
      {.grid = {up_to(n, 0, "parts")},
       .in = {by_map ? mapped : named},
       .out = {{a[1].type(), by_map ? mapped : named, 1}},
       .prefetch = 1})(a[0], a[1]);
}
array number(std::int32_t n) { return array(static_cast<double>(n), {i32, false, {}}); }
}  // namespace

TEST_CASE("program_id and num_programs take the names of axes") {
  const array expected = reshape(array::from<float>({200, 201, 202, 210, 211, 212}), {2, 3});
  CHECK(bit_difference({numbered({{"rows", 2}, {"columns", 3}}, "rows", "columns")}, {expected}) == "");
  CHECK(kernel_grid({{"i", 2}, 3}).axis_of("i") == 0);
  CHECK(kernel_grid({{"i", 2}, 3}).axis_of("") == -1);
  CHECK(kernel_grid(shape{2, 3}).extents() == shape{2, 3});
  CHECK_THROWS_WITH(numbered({{"rows", 2}, {"columns", 3}}, "rows", "column"),
                    contains("program_id: axis: found column, expected one of rows, columns"));
  CHECK_THROWS_WITH(numbered({2, 3}, "rows", "columns"), contains("expected a number, because no axis has a name"));
  CHECK_THROWS_WITH(numbered({{"rows", 2}, {"rows", 3}}, "rows", "rows"),
                    contains("kernel_call: grid: found two axes rows, expected axes of different names"));
}
TEST_CASE("one kernel on several grids sees the extents of each, by number and by name") {
  const auto sizes = [](const auto& p, const auto& o) {
    o.set(array(static_cast<double>(p.num_programs("steps") * 10 + p.num_programs(0)), {f32, false, {}}));
  };
  for (const std::int64_t n : {2, 5, 3, 4}) {
    const array y = kernel_call(sizes, {.grid = {{"steps", n}}, .out = {{{f32, false, {n}}, {{squeezed}, {0}}}}})();
    CHECK(bit_difference({y}, {full({n}, static_cast<float>(11 * n))}) == "");
  }
}
TEST_CASE("a run says how many steps of an axis there are") {
  const array x = noise({8}, 1);
  for (const bool by_map : {false, true})
    for (const std::int32_t n : {0, 1, 3, 4, 9, -2}) {
      const auto steps = static_cast<float>(std::clamp(n, 0, 4));
      const array part = array::from<float>({0, 0, 1, 1, 2, 2, 3, 3}), more = steps - part;
      const arrays y = first_steps({number(n), x}, 2, by_map);
      INFO(n);
      CHECK(bit_difference(listed(y), {where(more > 0.0f, x + more, x)}) == "");
    }
  for (const bool by_map : {false, true})
    check_function([=](const arrays& a) { return first_steps(a, 2, by_map); }, {number(3), x},
                   {.differentiate = false});
  for (const copy_mode mode : {copy_mode::eager, copy_mode::torn})
    CHECK(check_kernel(
              kernel_check_options{.copies = mode},
              [](const array& n, const array& v) { return array(first_steps({n, v}, 2)[0]); }, number(2), x)
              .text() == "");
}
TEST_CASE("numbers of steps that no prefetched scalar gives are refused") {
  const array x = noise({8}, 1), two = array::from<std::int32_t>({2, 3});
  const auto run = [&](const array& n, int by, int prefetch) {
    return kernel_call([](const auto& p, const auto&, const auto& in,
                          const auto& out) { out.set(in.get() * static_cast<float>(p.num_programs(0))); },
                       {.grid = {up_to(4, by)}, .out = {{{f32, false, {8}}}}, .prefetch = prefetch})(n, x);
  };
  CHECK_THROWS_WITH(run(number(1), 1, 1), contains("kernel_call: grid: found argument 1 of 1 prefetched ones"));
  CHECK_THROWS_WITH(run(number(1), 0, 0), contains("an integer scalar that is prefetched, for axis 0"));
  CHECK_THROWS_WITH(run(two, 0, 1), contains("kernel_call: grid: found argument 0"));
  CHECK_THROWS_WITH(run(number(1), 0, 1),
                    contains("num_programs: axis: found up to 4 steps along axis 0, expected program_count"));
}
