// tokamax/optim/parameter_average.hpp: a moving average of the parameters of a model, with which it is evaluated.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs use it)
#pragma once

#include <tokamax/optim/transform.hpp>  // map_floating

namespace tokamax::optim {

/// decay * average + (1 - decay) * parameters, after each step. Averages of parameters of 16 bits are kept in f32, because
/// averages in bf16 stop moving. Leaves that are no floating parameters have none.
///
///   auto shadow = optim::average_of(model);
///   shadow.update(model, 0.999);   // after a step, or in it
///   shadow.apply_to(model)(x);
///
/// source  flax.nnx.EMA; Polyak, Juditsky 1992
template <class Model>
struct parameter_average {
  Model average = widened(Model{});

  /// errors  "parameter_average: decay" outside [0, 1]
  constexpr void update(const Model& now, double decay = 0.999, source_line l = source_line::current()) {
    if (!(decay >= 0 && decay <= 1))
      reject(nullptr, l, "parameter_average: decay",
             decay < 0   ? "below 0"
             : decay > 1 ? "above 1"
                         : "nan",
             "a number from 0 to 1");
    update_floating([&](const array& a, const array& p) { return decay * a + (1.0 - decay) * astype(p, a.dtype()); },
                    average, now);
  }
  /// `model` with averages in place of its parameters, in its dtypes.
  constexpr Model apply_to(const Model& model) const {
    return map_floating([](const array& p, const array& a) { return astype(a, p.dtype()); }, model, average);
  }

  static constexpr Model widened(const Model& model) {
    return map_floating([](const array& p) { return astype(p, carrying(p.dtype())); }, parameters_of(model));
  }
};

/// The average before the first update: the parameters of the model.
template <class Model>
constexpr parameter_average<Model> average_of(const Model& model) {
  return {parameter_average<Model>::widened(model)};
}

}  // namespace tokamax::optim
