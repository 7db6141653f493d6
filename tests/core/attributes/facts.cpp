// tests/core/attributes/facts.cpp: facts of an op are found by the kind of its attributes, wherever they stand in the record.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/core/attributes/facts.hpp>

#include <tokamax/tokamax.hpp>

#include "support/check_op.hpp"

using namespace tokamax;
using namespace tokamax::test;

namespace {

// Ops whose options records have their facts in unusual places. Each does what an op of the library does.
struct product_options {
  vec<std::int64_t> before;
  dot_algorithm algorithm = dot_algorithm::unspecified;
  text_attribute note;
  int after = 0;
};
inline constexpr op product_p{
    .name = "product",
    .precision = {.product_operands = 2},
    .attributes = schema<product_options>,
    .infer = [](const call& c) -> array_type { return {f32, false, {c[0].extent(0), c[1].extent(1)}}; },
    .compose = [](const call& c) -> arrays {
      return dot_general(c[0], c[1], {{1}, {0}, {}, {}, f32, c.attrs<product_options>().algorithm});
    },
};
struct stack_options {
  text_attribute note;
  int before = 0;
  axis_number axis = {};
};
inline constexpr op join_p{
    .name = "join",
    .memory = {.joins = true},
    .attributes = schema<stack_options>,
    .infer = [](const call& c) -> array_type {
      const int axis = c.attrs<stack_options>().axis;
      array_type t = c[0].type();
      for (int k = 1; k < c.count; ++k) t.shape[axis] += c[k].extent(axis);
      return t;
    },
    .compose = [](const call& c) -> arrays { return concatenate(c.operands(), c.attrs<stack_options>().axis); },
};
struct sum_options {
  double scale = 1;
  axes over;
  text_attribute note;
};
inline constexpr op sum_p{
    .name = "scaled_sum",
    .reduction = {combiner::add},
    .attributes = schema<sum_options>,
    .infer = [](const call& c) -> array_type { return c.self->compose(c)[0].type(); },
    .compose = [](const call& c) -> arrays {
      const auto o = c.attrs<sum_options>();
      return reduce_sum(c[0], o.over) * o.scale;
    },
};
struct entry_options {
  int scale = 1;
  axis_name along;
};
inline constexpr op entry_p{
    .name = "entry_times",
    .axis = axis_role::differs,
    .attributes = schema<entry_options>,
    .infer = [](const call&) -> array_type { return {i32, false, {}}; },
    .batch = [](const call& c) -> arrays {
      return iota(i32, {c.batch_size}, 0) * array(c.attrs<entry_options>().scale);
    },
};
struct twice_options {
  int before = 0;
  vec<body_index> bodies;
};
inline constexpr op twice_p{
    .name = "twice",
    .unique = true,
    .attributes = schema<twice_options>,
    .infer_all = [](const call& c) -> types { return tokamax::detail::types_of_first_body(c); },
    .compose = [](const call& c) -> arrays {
      const graph first(c.body(0)), second(c.body(1));
      const arrays once = inline_graph(*c.trace, first, c.inputs);
      return inline_graph(*c.trace, second, once.data());
    },
};

bool same_bits(const array& a, const array& b) { return difference({to_value(a)}, {to_value(b)}, 0).empty(); }

array twice(const array& x) {
  graph& g = *current_context.trace;
  vec<body_index> bodies;
  for (const double factor : {2.0, 3.0}) {
    graph body;
    const array in = tokamax::detail::body_input(body, x.type());
    body.outputs.push_back(lift(body, in * factor).id());
    bodies.push_back(tokamax::detail::add_body(g, std::move(body)));
  }
  return bind_all(twice_p, &x, 1, pack(twice_options{5, bodies}), location{})[0];
}
const product_options noted{{1, 2, 3}, dot_algorithm::unspecified, "a note of some length", 4};
}  // namespace

TEST_CASE("a precision policy finds the algorithm of a product") {
  static_assert(has_algorithm(product_p) && !has_algorithm(join_p));
  const array a = noise({3, 4}, 1), b = noise({4, 2}, 2);
  const auto f = [](const array& x, const array& y) { return bind(product_p, {x, y}, noted, location{}); };
  const graph g = make_graph(with_precision<bf16_products>(f), a, b);
  int products = 0;
  for (const node& n : g.nodes)
    if (n.op == &product_p) {
      ++products;
      const auto o = unpack<product_options>(g.words_of(n));
      CHECK(o.algorithm == dot_algorithm::bf16_bf16_f32);
      CHECK(o.note.view() == "a note of some length");
      CHECK(o.before.count() == 3);
      CHECK(o.after == 4);
    }
  CHECK(products == 1);
  const array narrow = jit(with_precision<bf16_products>(f), cpu, at_run_time)(a, b);
  const auto plain = [](const array& x, const array& y) { return dot_general(x, y, {{1}, {0}}); };
  CHECK(same_bits(narrow, jit(with_precision<bf16_products>(plain), cpu, at_run_time)(a, b)));
  CHECK(same_bits(jit(f, cpu, at_run_time)(a, b), jit(plain, cpu, at_run_time)(a, b)));
}

TEST_CASE("joins and reductions find their axes") {
  const graph g = make_graph(
      [](const array& x) {
        const array y = bind(join_p, {x, x}, stack_options{"n", 3, 1}, location{});
        return bind(sum_p, {y}, sum_options{2.0, {0}, "n"}, location{});
      },
      array(array_type{f32, false, {2, 3}}));
  for (const node& n : g.nodes) {
    if (n.op == &join_p) CHECK(joined_axis(g, n) == 1);
    if (n.op == &sum_p) CHECK(reduced_axes(*n.op, g.words_of(n)) == axes{0});
    if (n.op == &join_p) CHECK(reduced_axes(*n.op, g.words_of(n)).rank() == 0);
  }
  const auto f = [](const array& x) {
    return bind(sum_p, {bind(join_p, {x, x}, stack_options{"n", 3, 1}, location{})}, sum_options{2.0, {0}, "n"},
                location{});
  };
  const array x = noise({2, 3}, 1);
  CHECK(same_bits(jit(f, cpu, at_run_time)(x), reduce_sum(concatenate({x, x}, 1), {0}) * 2.0));
}

TEST_CASE("vmap finds the axis that an op names, by the whole text of the name") {
  const auto f = [](const array& x) {
    const array inner = bind(entry_p, {}, entry_options{10, "a long name of an axis, inner"}, location{});
    const array outer = bind(entry_p, {}, entry_options{1, "a long name of an axis, outer"}, location{});
    return x + astype(inner + outer, f32);
  };
  const auto g =
      vmap(vmap(f, {.axis_name = "a long name of an axis, inner"}), {.axis_name = "a long name of an axis, outer"});
  const array x = zeros({2, 3});
  const array y = g(x);
  for (int i = 0; i < 2; ++i)
    for (int k = 0; k < 3; ++k) CHECK(y[i][k].item<float>() == static_cast<float>(10 * k + i));
}

TEST_CASE("bodies in a list behind other attributes are carried, frozen and run") {
  const array x = noise({3}, 1);
  CHECK(same_bits(jit(twice, cpu, at_run_time)(x), x * 2.0 * 3.0));
  CHECK(
      same_bits(jit([](const array& v) { return remat(twice)(v) + 1.0f; }, cpu, at_run_time)(x), x * 2.0 * 3.0 + 1.0f));
  const graph g = make_graph(twice, array(x.type()));
  const node* call = nullptr;
  for (const node& n : g.nodes)
    if (n.op == &twice_p) call = &n;
  REQUIRE(call);
  CHECK(body_count(g, *call) == 2);
  CHECK(body_of(g, *call, 1).outputs.count() == 1);
  CHECK(unpack<twice_options>(g.words_of(*call)).before == 5);
  check_text(g);
}
