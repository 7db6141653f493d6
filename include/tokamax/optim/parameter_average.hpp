// tokamax/optim/parameter_average.hpp: a moving average of the parameters of a model, with which it is evaluated.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs use it)
#pragma once

#include <tokamax/optim/transform.hpp>  // map_floating

namespace tokamax::optim {

/// decay * average + (1 - decay) * parameters, after each step. Averages of parameters of 16 bits are kept in f32, because averages in bf16 stop
/// moving. Leaves that are no floating parameters have none.
///
///   optim::parameter_average shadow(model, 0.999);
///   shadow.update(model);          // after a step, or in it
///   shadow.apply_to(model)(x);
///
/// errors  "parameter_average: decay" outside [0, 1]
/// source  flax.nnx.EMA; Polyak, Juditsky 1992
template <class Model>
struct parameter_average {
  Model average = widened(Model{});
  double decay = 0.999;

  constexpr parameter_average() = default;
  constexpr parameter_average(const Model& model, double d, source_line l = source_line::current())
      : average(widened(model)), decay(d) {
    if (!(d >= 0 && d <= 1))
      reject(nullptr, l, "parameter_average: decay",
             d < 0   ? "below 0"
             : d > 1 ? "above 1"
                     : "nan",
             "a number from 0 to 1");
  }
  static constexpr auto tokamax_fields(auto& self) { return std::tie(self.average, self.decay); }
  static constexpr std::array<std::string_view, 2> tokamax_field_names{"average", "decay"};

  constexpr void update(const Model& now) {
    update_floating([&](const array& a, const array& p) { return decay * a + (1.0 - decay) * astype(p, a.dtype()); },
                    average, now);
  }
  /// `model` with averages in place of its parameters, in its dtypes.
  constexpr Model apply_to(const Model& model) const {
    return map_floating([](const array& p, const array& a) { return astype(a, p.dtype()); }, model, average);
  }

 private:
  static constexpr Model widened(const Model& model) {
    return map_floating([](const array& p) { return astype(p, carrying(p.dtype())); }, parameters_of(model));
  }
};

}  // namespace tokamax::optim
