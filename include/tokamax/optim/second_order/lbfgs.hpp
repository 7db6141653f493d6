// tokamax/optim/second_order/lbfgs.hpp: steps by an estimate of the inverse Hessian, made of the last steps.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs use it)
// tested by tests/optim/second_order/minimize.cpp
#pragma once

#include <tokamax/base/tree/tree_like.hpp>             // tree_map
#include <tokamax/lax/indexing/slice.hpp>              // slice_in_dim
#include <tokamax/lax/shapes/concatenate.hpp>          // concatenate
#include <tokamax/optim/second_order/line_search.hpp>  // scale_by_zoom_linesearch
#include <tokamax/optim/transforms/scale.hpp>          // scale_by_learning_rate

#include <utility>  // declval

namespace tokamax::optim {

namespace detail {
/// Parameters with other shapes: a tree like Params whose leaves are plain arrays.
template <class Params>
struct arrays_like {
  static constexpr array of(const array& a) { return a; }
  using type = decltype(tree_map<array>(of, std::declval<const Params&>()));
};
}  // namespace detail

template <class Params>
struct lbfgs_state {
  using memory = typename detail::arrays_like<Params>::type;
  array count = zeros({}, i32);   ///< updates so far
  Params params{}, gradient{};    ///< those of the last call
  memory steps{}, differences{};  ///< of parameters and gradients, the oldest first: [memory_size, ...]
  array weights;                  ///< 1 / <step, difference>: [memory_size]
};

/// P g, where P is the estimate of the inverse Hessian that BFGS makes of the last `memory_size` steps and differences of gradients.
/// It starts from the identity times <d, s> / |d|^2, or 1 without `scale_init_precond`; in the first call from
/// min(1, 1 / |g|).
/// errors  "lbfgs: memory_size" below 1
/// source  optax.scale_by_lbfgs; Liu, Nocedal 1989
struct scale_by_lbfgs {
  int memory_size = 10;
  bool scale_init_precond = true;

  template <class Params>
  constexpr lbfgs_state<Params> init(const Params& params) const {
    if (memory_size < 1) reject(nullptr, location(), "lbfgs: memory_size", message() << memory_size, "1 or more");
    const Params none = optim::zeros_like(params);
    const auto many = tree::batch_shape(tree_map<array>(detail::arrays_like<Params>::of, none), {memory_size});
    return {zeros({}, i32), none, none, many, many, zeros({memory_size})};
  }
  template <class Params>
  constexpr std::pair<Params, lbfgs_state<Params>> update(const Params& g, const lbfgs_state<Params>& s,
                                                          const Params& params) const {
    const array later = s.count > 0;
    const auto differ = [&](const Params& now, const Params& before) {
      return map_floating([&](const array& b, const array& n) { return select(later, n - b, zeros_like(b)); }, before,
                          now);
    };
    const Params step = differ(params, s.params), difference = differ(g, s.gradient);
    const array product = tree::vdot(difference, step);
    const array weight = select(product == 0, zeros_like(product), 1.0 / product);
    auto push = [](const array& memory, const array& x) {
      return concatenate({slice_in_dim(memory, 1, memory.extent(0), 0), expand_dims(x, 0)}, 0);
    };
    const lbfgs_state<Params> next{incremented(s.count),
                                   with_parameters(s.params, params),
                                   with_parameters(s.gradient, g),
                                   map_floating(push, s.steps, step),
                                   map_floating(push, s.differences, difference),
                                   push(s.weights, weight)};
    return {times_estimate(g, next, first_scale(g, later, product, difference)), next};
  }

 private:
  template <class Params>
  constexpr array first_scale(const Params& g, const array& later, const array& product, const Params& d) const {
    if (!scale_init_precond) return ones({});
    const array square = tree::vdot(d, d), one = ones({});
    const array ratio = select(square > 0, product / square, one);
    return select(later, ratio, minimum(one, 1.0 / tree::norm(g)));
  }
  template <class Params>
  constexpr Params times_estimate(Params v, const lbfgs_state<Params>& s, const array& first) const {
    const auto at = [&](const typename lbfgs_state<Params>::memory& memory, int i) {
      return map_floating([&](const array&, const array& m) { return squeeze(slice_in_dim(m, i, i + 1, 0), 0); }, v,
                          memory);
    };
    const auto weight = [&](int i) { return squeeze(slice_in_dim(s.weights, i, i + 1, 0), 0); };
    arrays products(memory_size, array());
    for (int i = memory_size - 1; i >= 0; --i) {
      products[i] = weight(i) * tree::vdot(at(s.steps, i), v);
      v = tree::add_scale(v, -products[i], at(s.differences, i));
    }
    v = tree::scale(first, v);
    for (int i = 0; i < memory_size; ++i) {
      const array beta = weight(i) * tree::vdot(at(s.differences, i), v);
      v = tree::add_scale(v, products[i] - beta, at(s.steps, i));
    }
    return v;
  }
};

template <class Schedule = schedule, class LineSearch = scale_by_zoom_linesearch>
struct lbfgs_options {
  Schedule learning_rate = 1.0;
  int memory_size = 10;
  bool scale_init_precond = true;
  LineSearch line_search{.max_linesearch_steps = 20, .guess = first_guess::one};  ///< `identity{}`: none
};
/// L-BFGS with a line search. `update` takes line_facts; `minimize` gives them.
/// source  optax.lbfgs
template <class Options = lbfgs_options<>>
constexpr auto lbfgs(const Options& o = {}) {
  return chain(scale_by_lbfgs{o.memory_size, o.scale_init_precond}, scale_by_learning_rate{o.learning_rate},
               o.line_search);
}

}  // namespace tokamax::optim
