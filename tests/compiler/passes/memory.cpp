// tests/compiler/passes/memory.cpp: buffers that live at the same time never overlap, whatever the program.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/compiler/passes/memory.hpp>
#include <tokamax/lax/indexing/gather.hpp>
#include <tokamax/numpy/matmul.hpp>
#include <tokamax/transforms/passes/backward.hpp>

#include "support/catch.hpp"
#include "support/random_program.hpp"

using namespace tokamax;
using namespace tokamax::test;

namespace {

/// Empty, or two buffers that overlap. A result may take the place of an operand that dies in the same step. Steps that are
/// joined are one.
std::string overlap(const plan& p) {
  const plan_region& r = p.regions[0];
  struct life {
    int first = 1 << 30, last = -1;
  };
  std::vector<life> lives(static_cast<std::size_t>(r.buffer_count));
  for (int t = 0, s = 0; t < r.step_count; ++t) {
    const plan_step& st = p.steps[r.first_step + t];
    if (t == end_of_joined(p.steps.data() + r.first_step, s)) s = t;
    for (int k = 0; k < st.in_count + st.out_count; ++k) {
      const int b = p.operands[st.operands + k].buffer - r.first_buffer;
      if (p.operands[st.operands + k].buffer < 0) continue;
      life& l = lives[static_cast<std::size_t>(b)];
      if (k < st.in_count && l.first > s && p.buffers[r.first_buffer + b].kind == buffer_kind::arena)
        return "buffer " + std::to_string(b) + " is read before it is written";
      l.first = std::min(l.first, s);
      l.last = std::max(l.last, s);
    }
  }
  for (int a = 0; a < r.buffer_count; ++a) {
    const plan_buffer& x = p.buffers[r.first_buffer + a];
    if (x.kind != buffer_kind::arena || lives[static_cast<std::size_t>(a)].last < 0) continue;
    if (x.offset < 0 || x.offset % 64 != 0 || x.offset + x.bytes > r.arena_bytes)
      return "buffer " + std::to_string(a) + " lies outside";
    for (int b = a + 1; b < r.buffer_count; ++b) {
      const plan_buffer& y = p.buffers[r.first_buffer + b];
      if (y.kind != buffer_kind::arena || x.offset + x.bytes <= y.offset || y.offset + y.bytes <= x.offset) continue;
      const life l = lives[static_cast<std::size_t>(a)], m = lives[static_cast<std::size_t>(b)];
      if (l.last < m.first || m.last < l.first) continue;
      const bool in_place = x.offset == y.offset && x.bytes == y.bytes && (l.last == m.first || m.last == l.first);
      if (!in_place) return "buffers " + std::to_string(a) + " and " + std::to_string(b);
    }
  }
  return {};
}

}  // namespace

TEST_CASE("buffers of random programs and of their gradients do not overlap while they live") {
  for (unsigned seed = 0; seed < 200; ++seed) {
    const plan p = planned_program(lowered_program(random_program(seed)));
    INFO("seed " << seed);
    REQUIRE(overlap(p) == "");
    REQUIRE(p.regions[0].arena_bytes <= p.regions[0].total_bytes);
    const function gradient = [=](const arrays& x) -> arrays {
      const array y = sum(random_program(seed)(x).back());
      return backward(*x[0].trace(), y, array(1.0, y.type()), x);
    };
    const graph g = lowered_program([&](const arrays& x) {
      arrays out;
      for (const array& a : gradient(x)) {
        if (a.exists()) out.push_back(a);
      }
      if (out.empty()) out.push_back(x[0]);
      return out;
    });
    REQUIRE(overlap(planned_program(g)) == "");
  }
}

TEST_CASE("a long chain of kernels needs the memory of a few buffers") {
  const plan p = planned_program(lowered_program([](const arrays& x) -> arrays {
    array y = x[0];
    for (int i = 0; i < 20; ++i) y = tanh(matmul(matmul(y, transpose(x[1])), x[0]));
    return y;
  }));
  CHECK(p.regions[0].total_bytes >= 10 * p.regions[0].arena_bytes);
}

TEST_CASE("rows are added to an operand that dies where it lies, and to a copy of one that lives") {
  const auto in_place = [](bool lives) {
    const graph g = lowered_program([=](const arrays& x) -> arrays {
      const array onto = matmul(matmul(x[0], transpose(x[1])), x[0]);
      const array rows = convert_element_type(reduce_sum(x[1], {1}), i32);
      const array y = matmul(scatter_add(onto, rows, tanh(x[1])), transpose(x[0]));
      return {lives ? y + matmul(onto, transpose(x[1])) : y};
    });
    constexpr std::int64_t symbols[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    const plan p = make_plan(
        g,
        [](const op& o) {
          return kernel_takes{&o == &dot_general_p || &o == &reduce_sum_p || &o == &scatter_add_onto_p};
        },
        symbols);
    REQUIRE(overlap(p) == "");
    for (const plan_step& st : p.steps) {
      if (st.kind != step_kind::kernel || p.ops[st.function] != &scatter_add_onto_p) continue;
      const auto offset = [&](int k) { return p.buffers[p.operands[st.operands + k].buffer].offset; };
      return offset(0) == offset(st.in_count);
    }
    FAIL("no step adds rows");
    return false;
  };
  CHECK(in_place(false));
  CHECK(!in_place(true));
}
