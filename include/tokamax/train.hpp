// tokamax/train.hpp: all of train.
// SPDX-License-Identifier: Apache-2.0
//
//   train/generate.hpp    continue a text with a model, one token after the other.
//   train/gpt.hpp         a decoder-only transformer, with its size fixed in its type or chosen at run time.
//   train/loss_curve.hpp  draw series of numbers over steps as an SVG picture.
//   train/metrics.hpp     numbers of a run as lines of JSON, one a step, that a resumed run continues.
//   train/progress.hpp    one line that says how far a run is.
#pragma once

#include <tokamax/train/generate.hpp>
#include <tokamax/train/gpt.hpp>
#include <tokamax/train/loss_curve.hpp>
#include <tokamax/train/metrics.hpp>
#include <tokamax/train/progress.hpp>
