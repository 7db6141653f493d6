// tests/backend/systolic/graph_program.cpp: traced functions become the instructions that one would write by hand.
#include <tokamax/backend/systolic/graph_program.hpp>

#include <tokamax/backend/systolic/chips.hpp>
#include <tokamax/backend/systolic/pipeline.hpp>
#include <tokamax/backend/systolic/simulate.hpp>
#include <tokamax/tokamax.hpp>

#include <map>

#include "support/catch.hpp"

namespace tk = tokamax;
namespace sys = tokamax::systolic_backend;
using tk::array;

namespace {

array like(const tk::shape& s, tk::dtype t = tk::f32) { return array(tk::array_type{t, false, s}); }

/// Work by unit: how many instructions, and of how many registers in all.
struct work {
  int count = 0;
  double amount = 0;
};
template <class F, class... Args>
std::map<sys::unit, work> units_of(const F& f, const Args&... args) {
  sys::program p;
  sys::append_graph(p, sys::v4, tk::make_graph(f, args...));
  std::map<sys::unit, work> all;
  for (const sys::instruction& i : p.instructions())
    if (i.on != sys::unit::scalar) ++all[i.on].count, all[i.on].amount += i.amount;
  return all;
}

}  // namespace

TEST_CASE("products have the sizes of their operands, whatever their axes", "[systolic]") {
  const auto shape_of = [](const auto& f, const array& a, const array& b) {
    sys::program p;
    sys::append_graph(p, sys::v4, tk::make_graph(f, a, b));
    int products = 0;
    sys::product_shape s;
    for (const sys::instruction& i : p.instructions())
      if (i.on == sys::unit::mxu) ++products, s = p.product(i);
    return std::pair(products, s);
  };
  const auto matmul = [](const array& a, const array& b) { return tk::matmul(a, b); };
  CHECK(shape_of(matmul, like({48, 128}, tk::bf16), like({128, 256}, tk::bf16)) ==
        std::pair(1, sys::product_shape{48, 128, 256}));
  CHECK(shape_of(matmul, like({3, 8, 16}), like({3, 16, 24})) == std::pair(3, sys::product_shape{8, 16, 24}));
  const auto transposed = [](const array& a, const array& b) { return tk::einsum("mk,nk->mn", a, b); };
  CHECK(shape_of(transposed, like({48, 128}), like({256, 128})) == std::pair(1, sys::product_shape{48, 128, 256}));
  CHECK(sys::element_of(tk::bf16) == sys::element::bf16);
  CHECK(sys::element_of(tk::i8) == sys::element::int8);
  CHECK(sys::element_of(tk::f8e4m3fn) == sys::element::fp8);
  CHECK(sys::element_of(tk::f32) == sys::element::f32);
}

TEST_CASE("elementwise functions, reductions and compositions", "[systolic]") {
  const auto adds = units_of([](const array& x) { return x + x * x; }, like({64, 128}));
  CHECK(adds.at(sys::unit::vpu).amount == 2 * 8);
  CHECK(units_of([](const array& x) { return tk::exp(x); }, like({64, 128})).at(sys::unit::eup).amount == 8);
  const auto rows = units_of([](const array& x) { return tk::sum(x, {{1}}); }, like({64, 256}));
  CHECK(rows.at(sys::unit::vpu).amount == 16);
  CHECK(rows.at(sys::unit::xlu).amount == 8);
  CHECK(units_of([](const array& x) { return tk::sum(x, {{0}}); }, like({64, 256})).count(sys::unit::xlu) == 0);
  const auto softmax = units_of([](const array& x) { return tk::softmax(x); }, like({64, 128}));
  CHECK(softmax.at(sys::unit::xlu).count == 2);  // the largest element, and the sum
  CHECK(softmax.at(sys::unit::eup).count >= 1);
  CHECK(units_of([](const array& x) { return x; }, like({64, 128})).empty());
}

TEST_CASE("loops repeat, and of branches the most expensive one runs", "[systolic]") {
  const auto loop = [](const array& x) {
    return tk::fori_loop(0, 5, [](const array&, const array& v) { return v + v; }, x);
  };
  CHECK(units_of(loop, like({8, 128})).at(sys::unit::vpu).amount >= 5);
  const auto branch = [](const array& x) {
    return tk::cond(tk::sum(x) > 0.0f, [](const array& v) { return v; }, [](const array& v) { return tk::exp(v); }, x);
  };
  CHECK(units_of(branch, like({8, 128})).at(sys::unit::eup).count == 1);
}

TEST_CASE("a traced step runs in the pipeline of a grid", "[systolic]") {
  const auto body = tk::make_graph([](const array& a, const array& b) { return tk::relu(tk::matmul(a, b)); },
                                   like({512, 1024}, tk::bf16), like({1024, 1024}, tk::bf16));
  sys::program p;
  sys::run_pipeline(
      p, {{"a", 1 << 20, {0, 1, 2, 3}}, {"b", 1 << 21, {0, 0, 0, 0}}, {"out", 1 << 20, {0, 1, 2, 3}, 2, true}},
      {0, "layer"}, [&](int, sys::event_id ready) { return sys::append_graph(p, sys::v5e, body, ready); });
  const sys::timeline t = sys::simulate(sys::v5e, p);
  CHECK(t.useful_macs == 4.0 * 512 * 1024 * 1024);
  CHECK(t.utilisation() > 0.5);
  CHECK(t.stalls[0].total() == Approx(t.cycles));
}
