// tokamax/stablehlo.hpp: programs that were exported as StableHLO; link tokamax::stablehlo.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (programs that read StableHLO include it)
//
//   stablehlo/module.hpp   what StableHLO programs are made of: functions of operations with attributes and regions.
//   stablehlo/program.hpp  programs that were exported as StableHLO, by JAX and others, as functions of arrays.
//   stablehlo/write.hpp    functions of ours as StableHLO text, which XLA runs.
#pragma once

#include <tokamax/stablehlo/module.hpp>
#include <tokamax/stablehlo/program.hpp>
#include <tokamax/stablehlo/write.hpp>
