// tests/nn/tie.cpp: one array in two places: values, gradients, steps and files.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/nn/tie.hpp>

#include <tokamax/checkpoint.hpp>
#include <tokamax/nn/norms/batch_norm.hpp>
#include <tokamax/tokamax.hpp>

#include "support/contains.hpp"
#include "support/functions.hpp"
#include "support/golden.hpp"
#include "support/temporary_folder.hpp"

namespace tk = tokamax;
namespace nn = tokamax::nn;
using tk::array;

namespace tie_test {  // with a name, for clang
struct network {
  nn::embed token{11, 4};
  nn::linear head{.in = 4, .out = 11, .use_bias = false};
  constexpr array operator()(const array& ids) const { return head(tk::tanh(token(ids))); }
};
using tied = nn::tied<network, "head.kernel", "token.table", nn::tied_as::transposed>;
struct twins {
  nn::linear first{3, 3}, second{3, 3};
  nn::batch_norm norm{3};
  constexpr array operator()(const array& x) { return norm(second(first(x))); }
};
using numbers = tk::tensor<tk::i32, 5>;
constexpr auto loss = [](const auto& m, const numbers& ids) {
  return tk::mean(tk::softmax_cross_entropy(m(ids), (ids + 1) % 11));
};
constexpr auto optimizer = tk::optim::adamw({.learning_rate = 1e-2});
const numbers ids = array::from<std::int32_t>({1, 4, 4, 0, 10});
tied some() {
  return tk::init(nn::tie<"head.kernel", "token.table", nn::tied_as::transposed>(network{}), tk::random::key(2));
}
}  // namespace tie_test
using namespace tie_test;

TEST_CASE("a tied model computes as one that has the array twice, and its gradient is the sum of both") {
  const tied m = some();
  const network whole = m.whole();
  CHECK(tk::test::distance(whole.head.kernel, tk::transpose(m.model.token.table, {1, 0})) == 0);
  CHECK(tk::test::distance(whole.token.table, tk::init(network{}, tk::random::key(2)).token.table) == 0);
  CHECK(tk::test::distance(m(ids), whole(ids)) == 0);
  const tied g = tk::grad(loss)(m, ids);
  const network h = tk::grad(loss)(whole, ids);
  CHECK(tk::test::distance(g.model.token.table, h.token.table + tk::transpose(h.head.kernel, {1, 0})) < 1e-6);
  CHECK(tk::is_absent(g.model.head.kernel));
}

TEST_CASE("steps that are known while compiling and at run time keep one array") {
  tk::train::state<tied, optimizer> s{some()};
  s.opt_state = optimizer.init(s.model);
  const auto step = tk::train::step<loss, optimizer>();
  const auto [early, value] = tk::jit(step, tk::cpu, tk::while_compiling)(s, ids);
  const auto [late, same] = tk::jit(step, tk::cpu, tk::at_run_time)(s, ids);
  CHECK(tk::test::bit_difference({value, early.model.model.token.table}, {same, late.model.model.token.table}).empty());
  CHECK(tk::is_absent(early.model.model.head.kernel));
  const auto arrays = [](const auto& tree) {
    int count = 0;
    tk::for_each_leaf([&](const array& a) { count += !tk::is_absent(a); }, tree);
    return count;
  };
  CHECK(arrays(early.opt_state) == arrays(optimizer.init(network{})) - 2);  // no averages of the second place
}

TEST_CASE("files have a tied array once") {
  const tied m = some();
  const temporary_folder folder;
  tk::checkpoint::save(folder.path / "m", m);
  const std::string file = tk::read_file(folder.path / "m" / "arrays.safetensors");
  CHECK(file.find("model.token.table") != std::string::npos);
  CHECK(file.find("model.head.kernel") == std::string::npos);
  tied back = nn::tie<"head.kernel", "token.table", nn::tied_as::transposed>(network{});
  tk::checkpoint::restore(folder.path / "m", back);
  CHECK(tk::test::distance(back(ids), m(ids)) == 0);
}

TEST_CASE("two ties, and layers that change") {
  const auto once = nn::tie<"second.kernel", "first.kernel">(twins{});
  auto m = tk::init(nn::tie<"model.second.bias", "model.first.bias">(once), tk::random::key(1));
  const array x = tk::test::noise({6, 3}, 4);
  twins by_hand = m.whole().whole();
  CHECK(tk::test::distance(by_hand.second.kernel, by_hand.first.kernel) == 0);
  const array expected = by_hand(x);
  CHECK(tk::test::distance(m(x), expected) == 0);
  CHECK(tk::test::distance(m.model.model.norm.average, by_hand.norm.average) == 0);
  CHECK(tk::is_absent(m.model.model.second.kernel));
  CHECK(tk::is_absent(m.model.model.second.bias));
}

TEST_CASE("tie says which path or array is wrong") {
  CHECK_THROWS_WITH((nn::tie<"head.weight", "token.table">(network{})),
                    contains("tie: path") && contains("head.weight") && contains("tie.cpp"));
  CHECK_THROWS_WITH((nn::tie<"head.kernel", "token">(network{})), contains("tie: path") && contains("token"));
  CHECK_THROWS_WITH((nn::tie<"head.kernel", "token.table">(network{})),
                    contains("tie: arrays") && contains("f32[11,4]") && contains("f32[4,11]"));
}
