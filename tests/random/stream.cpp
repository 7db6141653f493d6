// tests/random/stream.cpp: streams of keys in layers, programs and transformations.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/random/stream.hpp>

#include <tokamax/checkpoint.hpp>
#include <tokamax/tokamax.hpp>

#include "support/contains.hpp"
#include "support/functions.hpp"
#include "support/golden.hpp"
#include "support/temporary_folder.hpp"

namespace tk = tokamax;
namespace rnd = tokamax::random;
using tk::array;

namespace stream_test {  // with a name, for clang
struct noisy {
  tk::nn::linear up{3, 2};
  rnd::stream noise;
  constexpr array operator()(const array& x) {
    const array y = up(x);
    return y + rnd::normal(noise.next(), y.shape());
  }
};
using points = tk::tensor<tk::f32, 4, 3>;
constexpr auto loss = [](noisy m, const points& x) {
  const array value = tk::mean(tk::square(m(x)));
  return std::pair{value, m};
};
constexpr auto optimizer = tk::optim::adamw({.learning_rate = 1e-2, .weight_decay = 0.1});
std::vector<std::uint32_t> words(array a) {
  a.materialize();
  const auto v = a.values<std::uint32_t>();
  return {v.begin(), v.end()};
}
}  // namespace stream_test
using namespace stream_test;

static_assert(tk::is_leaf<rnd::stream> && !tk::is_parameter<rnd::stream>);

TEST_CASE("a stream gives the keys fold_in(key, 0), fold_in(key, 1) and so on") {
  rnd::stream s(7);
  CHECK(words(s) == std::vector<std::uint32_t>{0, 7, 0});
  for (int i = 0; i < 3; ++i) {
    CHECK(words(s.count()) == std::vector<std::uint32_t>{static_cast<std::uint32_t>(i)});
    CHECK(words(s.next()) == words(rnd::fold_in(rnd::key(7), i)));
  }
  CHECK(words(s.base()) == words(rnd::key(7)));
  rnd::stream last(array::from<std::uint32_t>({0, 7, 0xffffffffu}));
  last.next();
  CHECK(words(last) == std::vector<std::uint32_t>{0, 7, 0});  // the count wraps around
}

TEST_CASE("init gives streams their keys, and a step changes their count alone") {
  const noisy first = tk::init<noisy>(rnd::key(0));
  CHECK(words(first.noise) != words(tk::init<noisy>(rnd::key(1)).noise));
  tk::train::state<noisy, optimizer> s{first};
  s.opt_state = optimizer.init(first);
  const points x = tk::test::noise({4, 3}, 1);
  const auto step = tk::train::step<loss, optimizer>();
  const auto [early, value] = tk::jit(step, tk::cpu, tk::while_compiling)(s, x);
  const auto [late, same] = tk::jit(step, tk::cpu, tk::at_run_time)(s, x);
  const auto [eager, again] = step(s, x);
  auto expected = words(first.noise);
  ++expected[2];
  CHECK(words(early.model.noise) == expected);
  CHECK(words(late.model.noise) == expected);
  CHECK(words(eager.model.noise) == expected);
  CHECK(tk::test::bit_difference({value, value}, {same, again}).empty());
  const auto second =
      tk::jit(step, tk::cpu)(tk::train::state<noisy, optimizer>{{first.up, early.model.noise}, s.opt_state}, x).second;
  CHECK(second.item() != value.item());
  const temporary_folder folder;
  tk::checkpoint::save(folder.path / "s", early);
  auto back = s;
  tk::checkpoint::restore(folder.path / "s", back);
  CHECK(words(back.model.noise) == expected);
}

TEST_CASE("scan carries a stream, vmap takes one for each entry, and fields of a pair are found") {
  const auto drawn = [](const rnd::stream& given) {
    return tk::scan(
        [](rnd::stream s, const tk::nothing&) {
          const rnd::key k = s.next();
          return std::pair{s, static_cast<array>(k)};
        },
        given, tk::nothing{}, {.length = 4});
  };
  const auto [last, keys] = tk::jit(drawn, tk::cpu)(rnd::stream(3));
  CHECK(words(last) == std::vector<std::uint32_t>{0, 3, 4});
  for (int i = 0; i < 4; ++i) CHECK(words(keys[i]) == words(rnd::fold_in(rnd::key(3), i)));
  rnd::stream source(5);
  const rnd::stream three = source.split({3});
  CHECK(three.shape() == tk::shape{3, 3});
  CHECK(words(source.count())[0] == 1);
  const auto next = tk::vmap([](rnd::stream s) {
    const array k = s.next();
    return std::pair{k, s};
  })(three);
  const auto split = rnd::split(rnd::fold_in(rnd::key(5), 0), {3});
  for (int i = 0; i < 3; ++i) {
    CHECK(words(next.first[i]) == words(rnd::fold_in(rnd::key(split[i]), 0)));
    CHECK(words(next.second[i])[2] == 1);
  }
}
