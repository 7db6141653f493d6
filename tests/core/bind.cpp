// tests/core/bind.cpp: where an op goes: into a trace, to the backend, or only to its types.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/lax/indexing/slice.hpp>
#include <tokamax/lax/reduce.hpp>
#include <tokamax/transforms/eval_shape.hpp>  // make_graph

#include "support/contains.hpp"

using namespace tokamax;

namespace {

constexpr array_type row{f32, false, {3}};
template <class F>
constexpr int nodes_of(const F& f) {
  return make_graph(f, array(row)).count();
}

// equal values are one node
static_assert(nodes_of([](const array& x) { return exp(x) + exp(x); }) == 3);
static_assert(nodes_of([](const array& x) { return x * (x + 1.0f) + (1.0f + x) * x; }) == nodes_of([](const array& x) {
                const array y = x * (x + 1.0f);
                return y + y;
              }));
static_assert(nodes_of([](const array& x) { return slice_in_dim(x, 0, 2, 0) + slice_in_dim(x, 1, 3, 0); }) ==
              4);  // attributes count
static_assert(nodes_of([](const array& x) {
                return bind(optimization_barrier_p, {x}, words{}, location{}) +
                       bind(optimization_barrier_p, {x}, words{}, location{});
              }) == 4);

// simplifications
static_assert(nodes_of([](const array& x) { return x + -0.0f; }) == 2);
static_assert(nodes_of([](const array& x) { return x + 0.0f; }) == 3);  // which makes 0 of -0
static_assert(nodes_of([](const array& x) { return x - -0.0f; }) == 3);
static_assert(nodes_of([](const array& x) { return astype(x, i32) + 0; }) == 3);
static_assert(nodes_of([](const array& x) { return sum(exp(x * 1.0f)); }) == 4);
static_assert(nodes_of([](const array& x) { return 1.0f * (-0.0f + x); }) == 3);
static_assert(nodes_of([](const array& x) { return (x - 0.0f) / 1.0f; }) == 3);
static_assert(nodes_of([](const array& x) { return 1.0f / (0.0f - x); }) == 5);
static_assert(nodes_of([](const array& x) { return x + x * 2.0f; }) ==
              nodes_of([](const array& x) { return 2.0f * x + x; }));

// constant expressions fold
constexpr bool folds() {
  const graph g = make_graph([](const array& x) { return x + (array(2.0f) * array(3.0f) - 1.0f); }, array(row));
  for (const node& n : g.nodes)
    if (n.op == &constant_p && as_double(constant_bits(g, n), n.type.dtype) == 5) return true;
  return false;
}
static_assert(folds());

// nothing but types is asked of abstract arrays
static_assert((array(row) + array(row)).is_abstract());
static_assert(sum(array(row)).type() == array_type{f32, false, {}});

// a mistake is kept with its line, the first one only
constexpr diagnostic mistake() {
  graph g;
  array result;
  trace_into(g, [](const array& x) { return slice_in_dim(x, 2, 9, 0) + slice_in_dim(x, 5, 1, 0); }, result, array(row));
  return g.error;
}
static_assert(mistake().failed && mistake().what.view() == "slice: bounds" && mistake().found.view() == "[2]:[9]" &&
              mistake().where.line > 40);

}  // namespace

TEST_CASE("ops on data run at once") {
  const array x = array::from<float>({1, 2, 3});
  CHECK((x + x).values<float>()[2] == 6);
  CHECK(sum(x).item() == 6);
}

TEST_CASE("a value of a trace that has ended is refused") {
  array leaked;
  graph g;
  array result;
  trace_into(g, [&](const array& x) { return leaked = exp(x); }, result, array(row));
  CHECK_THROWS_WITH(make_graph([&](const array& x) { return x + leaked; }, array(row)),
                    contains("array of another trace"));
}

TEST_CASE("an abstract array that a function closes over is refused") {
  const array missing(row);
  CHECK_THROWS_WITH(make_graph([&](const array& x) { return x * missing; }, array(row)),
                    contains("abstract array in a trace: found f32[3]"));
}

TEST_CASE("data that a trace closes over is captured once") {
  const array w = array::from<float>({1, 2, 3});
  const graph g = make_graph([&](const array& x) { return x * w + w; }, array(row));
  CHECK(g.captured.count() == 1);

  std::vector<array> many;
  for (int k = 0; k < 5000; ++k) many.push_back(array::from<float>({1.0f, static_cast<float>(k)}));
  const graph all = make_graph(
      [&](const array& x) {
        array y = x;
        for (int again = 0; again < 2; ++again)
          for (const array& a : many) y = y + a;
        return y + array(many[7].storage(), {f32, false, {1, 2}});  // the same data as another array
      },
      array(array_type{f32, false, {1, 2}}));
  CHECK(all.captured.count() == 5001);
  vec<char> seen(all.captured.size(), 0);
  for (const node& n : all.nodes)
    if (n.op == &captured_p) {
      char& s = seen[all.words_of(n)[0]];
      CHECK(!s);
      s = 1;
    }
}
