// tokamax/models/placed_step.hpp: a step of a decoder as a program with its weights on a device.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (models that are read from files use it)
// tested by tests/models/generator.cpp
#pragma once

#include <tokamax/models/decoder.hpp>              // decoder
#include <tokamax/quant/weight_only.hpp>           // weight_only
#include <tokamax/runtime/device_put.hpp>          // device_put
#include <tokamax/runtime/jit.hpp>                 // jit
#include <tokamax/transforms/rewrite/rewrite.hpp>  // rewrite

namespace tokamax::models {

/// Returns `made(program, weights)` for the program of `step(model, ...)` and the weights of the model: as they are, with those
/// matrices packed that are packed already, or with integers in place of those that the rules name. `example` are further arguments
/// of a step, by which rules find matrices.
/// errors  `subject` if there are rules beside packed matrices
template <class Step, class Made, class... Example>
auto placed_step(const Step& step, decoder model, any_device where, const std::vector<quant::rule>& rules,
                 const quant::packed_leaves& packed, const char* subject, const Made& made, const Example&... example) {
  if (!packed.empty()) {
    if (!rules.empty()) throw error(subject, "rules beside packed matrices", "one of them");
    return made(jit(rewrite(step, quant::weight_only{{}, packed}), where),
                device_put(quant::with_packed(model, packed), where));
  }
  if (rules.empty()) return made(jit(step, where), device_put(std::move(model), where));
  const auto small = rewrite(step, quant::weight_only{rules});
  return made(jit(small, where), device_put(small.prepare(model, example...), where));
}

}  // namespace tokamax::models
