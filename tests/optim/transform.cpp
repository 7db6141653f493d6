// tests/optim/transform.cpp: chains of gradient transforms.
#include <tokamax/optim/transform.hpp>

#include <tokamax/tokamax.hpp>

#include "support/catch.hpp"

namespace tk = tokamax;
using tk::array;

struct pair_of_arrays {
  array a, n;  // n holds integers, which no transform touches
};

TEST_CASE("a chain applies its transforms in order and keeps their states") {
  const auto chain = tk::optim::chain(tk::optim::scale{2.0}, tk::optim::clip_by_value(3.0), tk::optim::scale{-1.0});
  const array g = array::from<float>({1, 5, -2}), p = tk::zeros({3});
  const auto [updates, state] = chain.update(g, chain.init(p), p);
  CHECK(updates.values<float>()[0] == -2.0f);
  CHECK(updates.values<float>()[1] == -3.0f);
  CHECK(updates.values<float>()[2] == 3.0f);
  static_assert(std::tuple_size_v<decltype(chain.init(p))> == 3);
  static_assert(tk::optim::gradient_transform<decltype(chain)>);
}

TEST_CASE("apply_updates adds in the dtype of the parameters and leaves integers alone") {
  const pair_of_arrays p{tk::astype(array::from<float>({1, 2}), tk::bf16), array::from<std::int32_t>({7})};
  const pair_of_arrays u{tk::astype(array::from<float>({0.5f, -0.5f}), tk::bf16), array::from<std::int32_t>({9})};
  const pair_of_arrays q = tk::optim::apply_updates(p, u);
  CHECK(q.a.dtype() == tk::bf16);
  CHECK(tk::astype(q.a, tk::f32).values<float>()[0] == 1.5f);
  CHECK(q.n.item<int>() == 7);
  CHECK(tk::optim::zeros_like(p).a.shape() == tk::shape{2});
}

TEST_CASE("counting stops before it wraps") {
  CHECK(tk::optim::incremented(array::from<std::int32_t>({4}, {1})).item<int>() == 5);
  CHECK(tk::optim::incremented(array::from<std::int32_t>({2147483647}, {1})).item<int>() == 2147483647);
}

namespace {
struct add_bonus {
  constexpr tk::optim::empty_state init(const array&) const { return {}; }
  template <class Extra>
  constexpr std::pair<array, tk::optim::empty_state> update(const array& u, tk::optim::empty_state s, const array&,
                                                            const Extra& extra) const {
    return {u + extra.bonus, s};
  }
};
struct bonus {
  array bonus;
};
}  // namespace

TEST_CASE("update_with and chains give further facts to the transforms that take them") {
  const array g = array::from<float>({1, 2});
  const auto both = tk::optim::chain(tk::optim::scale{2.0}, add_bonus{});
  CHECK(both.update(g, both.init(g), g, bonus{10.0}).first.values<float>()[1] == 14);
  CHECK(tk::optim::update_with(tk::optim::scale{2.0}, g, tk::optim::empty_state{}, g, bonus{10.0})
            .first.values<float>()[1] == 4);
  CHECK(tk::optim::update_with(add_bonus{}, g, tk::optim::empty_state{}, g, bonus{10.0}).first.values<float>()[1] ==
        12);
}

TEST_CASE("complex parameters are trained as their two parts") {
  const tk::complex_parts z{array::from<float>({1, 2}), array::from<float>({3, 4})}, g{tk::ones({2}), tk::zeros({2})};
  const auto adam = tk::optim::adam({.learning_rate = 0.5});
  const auto u = adam.update(g, adam.init(z), z).first;
  CHECK(u.re.values<float>()[0] == Approx(-0.5));
  CHECK(u.im.values<float>()[0] == 0);
}
