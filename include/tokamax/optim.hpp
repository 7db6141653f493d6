// tokamax/optim.hpp: all of optim.
// SPDX-License-Identifier: Apache-2.0
//
//   optim/adam.hpp         adam, and adamw with decoupled weight decay.
//   optim/clip.hpp         bound updates, element by element or by their joint norm.
//   optim/lion.hpp         steps by the sign of an average gradient.
//   optim/multi_steps.hpp  gradients averaged over several calls before an update.
//   optim/rmsprop.hpp      rmsprop and adagrad, which divide by the root of squares seen so far.
//   optim/scale.hpp        multiply updates, by a number or by the learning rate of the step, and add weight decay.
//   optim/schedule.hpp     learning rates as functions of the step.
//   optim/sgd.hpp          gradient descent, with momentum if asked for.
//   optim/transform.hpp    gradient transforms as values, chained, and applied to parameters.
#pragma once

#include <tokamax/optim/adam.hpp>
#include <tokamax/optim/clip.hpp>
#include <tokamax/optim/lion.hpp>
#include <tokamax/optim/multi_steps.hpp>
#include <tokamax/optim/rmsprop.hpp>
#include <tokamax/optim/scale.hpp>
#include <tokamax/optim/schedule.hpp>
#include <tokamax/optim/sgd.hpp>
#include <tokamax/optim/transform.hpp>
