// tests/runtime/dynamic_program.cpp
#include <tokamax/runtime/dynamic_program.hpp>

#include <tokamax/tokamax.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"

namespace tk = tokamax;
using tk::array;

TEST_CASE("programs are kept by shape and dtype") {
  int traces = 0;
  const auto f = tk::jit(
      [&](const array& x) {
        ++traces;
        return tk::sum(x * 2);
      },
      tk::cpu);
  CHECK(f(array::from<float>({1, 2})).item() == 6.0f);
  CHECK(f(array::from<float>({3, 4})).item() == 14.0f);
  CHECK(traces == 1);
  CHECK(f(array::from<float>({1, 2, 3})).item() == 12.0f);
  CHECK(f(array::from<std::int32_t>({1, 2, 3})).item<int>() == 12);
  CHECK(f(array::from<float>({5, 2})).item() == 14.0f);
  CHECK(traces == 3);
}

TEST_CASE("and by static fields") {
  struct layer {
    array w;
    int power = 1;
  };
  const auto f =
      tk::jit([](const layer& l, const array& x) { return l.power == 2 ? x * l.w * l.w : x * l.w; }, tk::cpu);
  const array x = array::from<float>({1}), w = array::from<float>({3});
  CHECK(f(layer{w, 1}, x).item() == 3.0f);
  CHECK(f(layer{w, 2}, x).item() == 9.0f);
  CHECK(f(layer{w, 1}, x).item() == 3.0f);
}

TEST_CASE("models whose size is chosen at run time") {
  struct stack {
    std::vector<tk::nn::linear> layers;
    array operator()(array x) const {
      for (const auto& l : layers) x = tk::tanh(l(x));
      return x;
    }
  };
  const auto loss = [](const stack& m, const array& x) { return tk::sum(m(x)); };
  const auto step = tk::jit([&](const stack& m, const array& x) { return tk::grad(loss)(m, x); }, tk::cpu);
  for (int depth : {1, 3}) {
    const stack m = tk::init(stack{std::vector<tk::nn::linear>(static_cast<std::size_t>(depth), tk::nn::linear{4, 4})},
                             tk::random::key(0));
    const array x = tk::random::normal(tk::random::key(1), {2, 4});
    const stack compiled = step(m, x), eager = tk::grad(loss)(m, x);
    REQUIRE(compiled.layers.size() == static_cast<std::size_t>(depth));
    tk::for_each_leaf(
        [](const array& a, const array& b) {
          for (std::size_t i = 0; i < a.values<float>().size(); ++i)
            CHECK(a.values<float>()[i] == b.values<float>()[i]);
        },
        compiled, eager);
  }
}

TEST_CASE("an argument without data is refused") {
  const auto f = tk::jit([](const array& x) { return x + 1; }, tk::cpu);
  CHECK_THROWS_WITH(f(array(tk::array_type{tk::f32, false, {2}})), contains("without data"));
}
