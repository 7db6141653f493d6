// tests/optim/microbatching.cpp: parts of batches give what whole batches do.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/optim/microbatching.hpp>

#include <tokamax/tokamax.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/golden.hpp"

namespace tk = tokamax;
namespace optim = tokamax::optim;
using optim::accumulation;
using tk::array;
using tk::test::distance;

namespace {
struct model {
  array w;
};
const model m{array::from<float>({1, -2, 0.5f})};
const array batch = tk::reshape(tk::astype(tk::iota(tk::i32, {24}, 0), tk::f32), {8, 3}) / 10.0;
constexpr auto scores = [](const model& p, const array& x) { return tk::matmul(x, p.w); };
constexpr auto loss = [](const model& p, const array& x) { return tk::sum(tk::square(tk::sum(p.w * x) - 1.0)); };
}  // namespace

TEST_CASE("sums, means and results of parts are those of the batch") {
  const auto total = [](const model& p, const array& x) { return tk::sum(scores(p, x)); };
  const array whole = total(m, batch);
  CHECK(distance(optim::microbatch(total, 2)(m, batch), whole) < 1e-5);
  CHECK(distance(optim::microbatch(total, 8)(m, batch), whole) < 1e-5);
  CHECK(distance(optim::microbatch(total, 2, accumulation::mean)(m, batch), whole / 4.0) < 1e-5);
  CHECK(distance(optim::microbatch(scores, 2, accumulation::concat)(m, batch), scores(m, batch)) < 1e-6);
  const auto run = tk::jit(optim::microbatch(total, 4), tk::cpu);
  CHECK(distance(run(m, batch), whole) < 1e-5);
}

TEST_CASE("examples are mapped in parts") {
  CHECK(distance(optim::micro_vmap(loss, 4)(m, batch), tk::vmap([](const array& x) { return loss(m, x); })(batch)) <
        1e-5);
  const array sum = optim::micro_vmap(loss, 2, accumulation::sum)(m, batch);
  CHECK(distance(sum, tk::sum(optim::micro_vmap(loss, 1)(m, batch))) < 1e-5);
  CHECK(distance(optim::micro_vmap(loss, 2, accumulation::mean)(m, batch), sum / 8.0) < 1e-5);
}

TEST_CASE("gradients of examples are summed, after a transform of each") {
  const auto all = [](const model& p) {
    return tk::sum(
        tk::vmap([](const model& q, const array& x) { return loss(q, x); }, std::tuple{tk::not_mapped, 0})(p, batch));
  };
  const auto [slope, values] = optim::micro_grad(loss, 2)(m, batch);
  CHECK(distance(slope.w, tk::grad(all)(m).w) < 1e-5);
  CHECK(distance(values, optim::micro_vmap(loss, 8)(m, batch)) < 1e-5);
  const auto signs = optim::micro_grad(loss, 4, [](const model& g) { return model{tk::sign(g.w)}; })(m, batch).first;
  CHECK(tk::max(tk::abs(signs.w)).item() <= 8);
}

TEST_CASE("batches are multiples of their parts") {
  CHECK(optim::reshape_batch_axis(batch, 2).shape() == tk::shape{4, 2, 3});
  CHECK(optim::reshape_batch_axis(batch, 2)[1].values<float>()[3] == Approx(1.5));
  CHECK_THROWS_WITH(optim::microbatch(loss, 3)(m, batch),
                    contains("microbatch: batch: found f32[8,3], expected a leading multiple of 3"));
}
