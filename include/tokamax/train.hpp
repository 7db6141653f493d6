// tokamax/train.hpp: all of train.
// SPDX-License-Identifier: Apache-2.0
//
//   train/generate.hpp  continue a text with a model, one token after the other.
//   train/state.hpp     what a training step changes: a model and the state of its optimizer.
//   train/step.hpp      the training step of a loss and an optimizer.
#pragma once

#include <tokamax/train/generate.hpp>
#include <tokamax/train/state.hpp>
#include <tokamax/train/step.hpp>
