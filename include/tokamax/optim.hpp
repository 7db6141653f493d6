// tokamax/optim.hpp: all of optim.
// SPDX-License-Identifier: Apache-2.0
//
//   optim/adabelief.hpp              Adam that divides by how far gradients are from their average.
//   optim/adam.hpp                   adam, and adamw with decoupled weight decay.
//   optim/adamax.hpp                 Adam with a decaying maximum of gradients in place of their squares.
//   optim/amsgrad.hpp                Adam with the greatest average of squares so far.
//   optim/apply_if_finite.hpp        an optimiser that leaves out gradients with NaN or infinity.
//   optim/clip.hpp                   bound updates, element by element or by their joint norm.
//   optim/join_schedules.hpp         schedules made of others, or of pieces.
//   optim/lion.hpp                   steps by the sign of an average gradient.
//   optim/losses/classification.hpp  losses of scores and labels. Cross entropy is in ops/cross_entropy.hpp.
//   optim/losses/divergence.hpp      how far a distribution is from another, and embeddings from their kind.
//   optim/losses/regression.hpp      losses of numbers and directions.
//   optim/masked.hpp                 transforms for some of the parameters, chosen by path or array.
//   optim/moments.hpp                averages of gradients and of their squares, which several transforms divide by one another.
//   optim/multi_steps.hpp            gradients averaged over several calls before an update.
//   optim/muon.hpp                   steps by orthogonal matrices.
//   optim/onecycle.hpp               schedules that rise once and fall to almost nothing.
//   optim/radam.hpp                  Adam that divides by squares once it has seen enough of them.
//   optim/reduce_on_plateau.hpp      smaller steps when the loss stops falling.
//   optim/rmsprop.hpp                rmsprop and adagrad, which divide by the root of squares seen so far.
//   optim/scale.hpp                  multiply updates, by a number or by the learning rate of the step, and add weight decay.
//   optim/schedule.hpp               learning rates as functions of the step.
//   optim/sgd.hpp                    gradient descent, with momentum if asked for.
//   optim/sign.hpp                   steps by the signs of gradients.
//   optim/transform.hpp              gradient transforms as values, chained, and applied to parameters.
//   optim/trust_ratio.hpp            LAMB and LARS, which scale each layer's update by the norm of its parameters.
//   optim/yogi.hpp                   Adam whose average of squares grows by no more than a square at a time.
#pragma once

#include <tokamax/optim/adabelief.hpp>
#include <tokamax/optim/adam.hpp>
#include <tokamax/optim/adamax.hpp>
#include <tokamax/optim/amsgrad.hpp>
#include <tokamax/optim/apply_if_finite.hpp>
#include <tokamax/optim/clip.hpp>
#include <tokamax/optim/join_schedules.hpp>
#include <tokamax/optim/lion.hpp>
#include <tokamax/optim/losses/classification.hpp>
#include <tokamax/optim/losses/divergence.hpp>
#include <tokamax/optim/losses/regression.hpp>
#include <tokamax/optim/masked.hpp>
#include <tokamax/optim/moments.hpp>
#include <tokamax/optim/multi_steps.hpp>
#include <tokamax/optim/muon.hpp>
#include <tokamax/optim/onecycle.hpp>
#include <tokamax/optim/radam.hpp>
#include <tokamax/optim/reduce_on_plateau.hpp>
#include <tokamax/optim/rmsprop.hpp>
#include <tokamax/optim/scale.hpp>
#include <tokamax/optim/schedule.hpp>
#include <tokamax/optim/sgd.hpp>
#include <tokamax/optim/sign.hpp>
#include <tokamax/optim/transform.hpp>
#include <tokamax/optim/trust_ratio.hpp>
#include <tokamax/optim/yogi.hpp>
