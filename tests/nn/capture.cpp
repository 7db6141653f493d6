// tests/nn/capture.cpp: what layers return, beside results and gradients.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/nn/capture.hpp>

#include <tokamax/tokamax.hpp>

#include "support/contains.hpp"
#include "support/functions.hpp"
#include "support/golden.hpp"

namespace tk = tokamax;
namespace nn = tokamax::nn;
using tk::array;

namespace capture_test {  // with a name, for clang
struct network {
  std::array<nn::mlp, 2> blocks = nn::copies<2>(nn::mlp{4, 8});
  nn::layer_norm norm{4};
  array operator()(const array& x) const {
    array h = x;
    for (const nn::mlp& b : blocks) h = h + b(h);
    return tk::checkpoint_name(norm(h), "last") * 2.0f;
  }
};
const auto forward = [](const network& m, const array& x) { return m(x); };
const auto all = [](std::string_view) { return true; };
}  // namespace capture_test
using namespace capture_test;

TEST_CASE("capture returns what each layer returned") {
  const network m = tk::init(network{}, tk::random::key(0));
  const array x = tk::test::noise({3, 4}, 1);
  const auto [y, values] = nn::capture(forward, all)(m, x);
  CHECK(tk::test::distance(y, m(x)) == 0);
  const array first = m.blocks[0](x), between = x + first, second = m.blocks[1](between);
  CHECK(tk::test::distance(values.at("blocks[0]"), first) < 1e-6);
  CHECK(tk::test::distance(values.at("blocks[0].up"), m.blocks[0].up(x)) < 1e-6);
  CHECK(tk::test::distance(values.at("blocks[1].down"), second) < 1e-6);
  CHECK(tk::test::distance(values.at("norm"), m.norm(between + second)) < 1e-6);
  CHECK(tk::test::distance(values.at("last"), m.norm(between + second)) < 1e-6);
  const auto compiled = tk::jit(nn::capture(forward, tk::matching("blocks[*].up")), tk::cpu)(m, x).second;
  CHECK(compiled.size() == 2);
  CHECK(tk::test::bit_difference({compiled.at("blocks[0].up")}, {values.at("blocks[0].up")}).empty());
  CHECK(nn::capture(forward, tk::matching("none"))(m, x).second.empty());
}

TEST_CASE("captured values come beside a gradient, and from within a larger program") {
  const network m = tk::init(network{}, tk::random::key(0));
  const array x = tk::test::noise({3, 4}, 1);
  const auto loss = [](const network& f, const array& in) {
    const auto [y, values] = nn::capture(forward, tk::matching("blocks[1]"))(f, in);
    return std::pair{tk::mean(tk::square(y)), values.at("blocks[1]")};
  };
  const auto [g, value] = tk::grad(loss, tk::has_aux)(m, x);
  CHECK(tk::test::distance(value, m.blocks[1](x + m.blocks[0](x))) < 1e-6);
  const network h = tk::grad([](const network& f, const array& in) { return tk::mean(tk::square(f(in))); })(m, x);
  CHECK(tk::test::distance(g.blocks[0].up.kernel, h.blocks[0].up.kernel) < 1e-6);
  const auto twice = [](const std::pair<network, network>& both, const array& in) {
    const tk::named_scope scope("outer", in);
    return nn::capture(forward, tk::matching("norm"))(both.second, both.first(in)).second.at("norm");
  };
  const array expected = nn::capture(forward, all)(m, m(x)).second.at("norm");
  CHECK(tk::test::distance(tk::jit(twice, tk::cpu)(std::pair{m, m}, x), expected) < 1e-6);
}
