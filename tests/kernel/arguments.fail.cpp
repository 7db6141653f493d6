// tests/kernel/arguments.fail.cpp: kernels that are refused while compiling.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/kernel.hpp>

#include "support/wrong_program.hpp"

using namespace wrong;
using tk::array;
using tk::arrays;
using tk::block_spec;
using tk::first_block;
using tk::kernel_call;
using tk::kernel_options;

using table = tk::tensor<tk::f32, 8, 8>;
constexpr auto copy = [](const auto&, const auto& in, const auto& out) { out.set(in.get()); };
constexpr block_spec rows(std::int64_t n = 4, std::int64_t axis = 0) { return {{n, 8}, {axis, first_block}}; }
constexpr kernel_options by_rows(const block_spec& in, const block_spec& out, const tk::shape& grid = {2}) {
  return {.grid = grid, .in = {in}, .out = {{{tk::f32, false, {8, 8}}, out}}};
}
constexpr kernel_options limited(std::int64_t bytes) {
  kernel_options o = by_rows(rows(), rows());
  o.vmem_limit = bytes;
  return o;
}
constexpr kernel_options tiled(std::int64_t rows_of_tile) {
  kernel_options o = by_rows(rows(), rows());
  o.tile = {rows_of_tile, 128};  // columns of 8 are whole
  return o;
}
constexpr kernel_options ordered(tk::dimension_semantics first) {
  kernel_options o = by_rows(rows(), rows(), {2, 1});
  o.semantics = {first, tk::dimension_semantics::parallel};
  return o;
}
constexpr kernel_options with_more(int inputs, int scratch) {
  kernel_options o = by_rows(rows(), rows());
  for (int i = 0; i < inputs; ++i) o.in.push_back(rows());
  for (int i = 0; i < scratch; ++i) o.scratch.push_back({{tk::f32, false, {8}}});
  return o;
}
constexpr arrays one_or_two(const arrays& i) {
  arrays numbers{i[0]};
  if (pick(1, 2) == 2) numbers.push_back(array(0));
  return numbers;
}

int main() {
  // expects: "block_spec: block".*"\[4\]".*"one extent for each axis of f32\[8,8\]"
  trace<table>([](array x) { return kernel_call(copy, by_rows(pick(block_spec{{4}, {0, -1}}, rows()), rows()))(x); });
  // expects: "block_spec: index".*"\[0\]".*"one grid axis for each axis of f32\[
  trace<table>([](array x) { return kernel_call(copy, by_rows(pick(block_spec{{4, 8}, {0}}, rows()), rows()))(x); });
  // expects: "block_spec: index".*"1".*"an axis of the grid \[2\]"
  trace<table>([](array x) { return kernel_call(copy, by_rows(rows(4, pick(1, 0)), rows()))(x); });
  // expects: "block_spec: index".*"block 2 of axis 0, f32\[4,8\]".*"a block of f32\[8,8\]"
  trace<table>([](array x) { return kernel_call(copy, by_rows(rows(), rows(), {pick(3, 2)}))(x); });
  // expects: "block_spec: block".*"\[0,8\]".*"extents from 1 on
  trace<table>([](array x) { return kernel_call(copy, by_rows(rows(pick(0, 4)), rows()))(x); });
  // expects: "block_spec: index_map".*"1 numbers".*"one for each axis of f32\[8,8\]"
  trace<table>([](array x) { return kernel_call(copy, by_rows({{4, 8}, {}, one_or_two}, rows()))(x); });
  // expects: "ref_set: value".*"f32\[4,8\]".*"f32\[2,8\]"
  trace<table>([](array x) {
    return kernel_call([](auto&, auto& in, auto& out) { out.set(in.get()); }, by_rows(rows(), rows(pick(2, 4))))(x);
  });
  // expects: "ref_set: value".*"i32\[4,8\]".*"f32\[4,8\]"
  trace<table>([](array x) {
    return kernel_call(
        [](const auto&, const auto& in, const auto& out) { out.set(astype(in.get(), pick(tk::i32, tk::f32))); },
        by_rows(rows(), rows()))(x);
  });
  // expects: "ref_set: read-only".*"a ref of an input"
  trace<table>([](array x) {
    return kernel_call([](const auto&, const auto& in, const auto& out) { pick(in, out).set(in.get()); },
                       by_rows(rows(), rows()))(x);
  });
  // expects: "ref_get: box".*"\[2, 6\) of axis 0".*"inside of f32\[4,8\]"
  trace<table>([](array x) {
    return kernel_call([](const auto&, const auto& in, const auto& out) { out.set(in.get({tk::ds(pick(2, 0), 4)})); },
                       by_rows(rows(), rows()))(x);
  });
  // expects: "kernel_call: vmem".*"512 bytes of blocks.*"at most 511"
  trace<table>([](array x) { return kernel_call(copy, limited(pick(511, 512)))(x); });
  // expects: "block_spec: block".*"\[4,8\]".*"multiples of \[8,128\], or whole axe
  trace<table>([](array x) { return kernel_call(copy, tiled(pick(8, 4)))(x); });
  // expects: "kernel_call: semantics".*"a parallel axis 1".*"parallel axes before
  trace<table>([](array x) {
    return kernel_call(copy, ordered(pick(tk::dimension_semantics::arbitrary, tk::dimension_semantics::parallel)))(x);
  });
  // expects: "kernel_call: arguments".*"1".*"2 block_specs"
  trace<table>([](array x) { return kernel_call(copy, with_more(pick(1, 0), 0))(x); });
  // expects: "kernel_call: refs of the body".*"1 outputs, 0 scratch".*"1 outputs, 1 scratch"
  trace<table>([](array x) { return kernel_call(copy, with_more(0, pick(1, 0)))(x); });
  // expects: "kernel_call: alias".*"f32\[8,8\]".*"f32\[8,9\]"
  trace<table>([](array x) {
    return kernel_call(
        copy, {.grid = {2}, .in = {rows()}, .out = {{{tk::f32, false, {8, pick(9, 8)}}, {{4, 8}, {0, -1}}, 0}}})(x);
  });
  // expects: "kernel_call: body".*"a value that it closes over".*"arguments of the kernel"
  trace<table>([](array x) {
    return kernel_call(
        [&](const auto&, const auto& in, const auto& out) {
          out.set(pick(1, 0) ? in.get() + tk::slice(x, {0, 0}, {4, 8}) : in.get());
        },
        by_rows(rows(), rows()))(x);
  });
  // expects: "when: predicate".*"i32\[\]".*"a bool scalar"
  trace<table>([](array x) {
    const auto body = [](auto& p, auto& in, auto& out) {
      p.when(pick(p.program_id(0), p.program_id(0) == 0), [&] { out.set(in.get()); });
    };
    return kernel_call(body, by_rows(rows(), rows()))(x);
  });
  // expects: "program_id: axis".*"1".*"an axis of the grid \[2\]"
  trace<table>([](array x) {
    return kernel_call([](const auto& p, const auto& in,
                          const auto& out) { out.set(in.get() * tk::astype(p.program_id(pick(1, 0)), tk::f32)); },
                       by_rows(rows(), rows()))(x);
  });
  return 0;
}
