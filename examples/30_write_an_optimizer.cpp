// examples/30_write_an_optimizer.cpp: an optimiser of your own in 20 lines. New here: a gradient transform, its state, a chain.
#include <tokamax/tokamax.hpp>

#include <fmt/core.h>

namespace tk = tokamax;
namespace optim = tokamax::optim;

// A transform of gradients has two functions. `init` makes its state for some parameters, and `update` turns gradients into updates, and the
// state into the next one. Parameters are a tree of any type, so both are templates. This one, signed momentum, steps by the sign of an
// average of gradients where the gradient agrees with it, and by nothing elsewhere.
struct cautious_sign {
  double decay = 0.9;

  template <class Params>
  constexpr Params init(const Params& params) const {
    return optim::zeros_like(params);
  }
  template <class Params>
  constexpr std::pair<Params, Params> update(const Params& gradients, const Params& average, const Params&) const {
    const auto moved = [&](const tk::array& m, const tk::array& g) { return decay * m + (1.0 - decay) * g; };
    const Params next = optim::map_floating(moved, average, gradients);
    const auto direction = [](const tk::array& m, const tk::array& g) {
      return tk::select(m * g > 0, tk::sign(m), tk::zeros_like(m));
    };
    return {optim::map_floating(direction, next, gradients), next};
  }
};

// A chain puts it before others. The last one multiplies by the learning rate and turns around, since a gradient points uphill.
constexpr auto optimizer =
    optim::chain(optim::clip_by_global_norm(1.0), cautious_sign{.decay = 0.8}, optim::scale_by_learning_rate{0.01});

struct line {
  tk::tensor<tk::f32, 3> slope;
  tk::tensor<tk::f32> offset;
};
using points = tk::tensor<tk::f32, 64, 3>;
using heights = tk::tensor<tk::f32, 64>;
constexpr auto loss = [](const line& m, const points& x, const heights& y) {
  return tk::mean(tk::square(tk::matmul(x, m.slope) + m.offset - y));
};

int main() {
  const points x = tk::random::normal(tk::random::key(0), {64, 3});
  const heights y = tk::matmul(x, tk::array{1.0f, -2.0f, 0.5f}) + 0.25f;
  // The state of training holds that of the chain. It is compiled, donated and saved like any other tree.
  tk::train::state<line, optimizer> now{{tk::zeros({3}), tk::zeros({})}};
  now.opt_state = optimizer.init(now.model);
  const auto step = tk::jit(tk::train::step<loss, optimizer>(), tk::cpu);
  for (int i = 0; i <= 300; ++i) {
    auto [next, value] = step(std::move(now), x, y);
    now = std::move(next);
    if (i % 100 == 0) fmt::print("step {:3}  loss {:.5f}\n", i, value.item());
  }
  const auto slope = now.model.slope.values<float>();
  fmt::print("slope {:.2f} {:.2f} {:.2f}, offset {:.2f}\n", slope[0], slope[1], slope[2], now.model.offset.item());
}
