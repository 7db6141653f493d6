// tokamax/optim.hpp: all of optim.
// SPDX-License-Identifier: Apache-2.0
//
//   optim/accumulate.hpp             averages and sums of updates, and updates at some steps only.
//   optim/adabelief.hpp              Adam that divides by how far gradients are from their average.
//   optim/adadelta.hpp               steps whose size is that of earlier steps.
//   optim/adafactor.hpp              averages of squares that are kept as rows and columns.
//   optim/adam.hpp                   adam, and adamw with decoupled weight decay.
//   optim/adamax.hpp                 Adam with a decaying maximum of gradients in place of their squares.
//   optim/adan.hpp                   Adam with averages of differences of gradients.
//   optim/ademamix.hpp               Adam with a second, slow average of gradients.
//   optim/adopt.hpp                  ADOPT and ACProp, which divide a gradient by squares that do not contain it.
//   optim/aggregating.hpp            gradients of examples, aggregated before an optimiser sees them.
//   optim/amsgrad.hpp                Adam with the greatest average of squares so far.
//   optim/apply_if_finite.hpp        an optimiser that leaves out gradients with NaN or infinity.
//   optim/assignment.hpp             the cheapest way to give each row a column of its own.
//   optim/block.hpp                  updates scaled, bounded or centred leaf by leaf.
//   optim/cautious.hpp               updates that follow the gradient only where both have one sign.
//   optim/clip.hpp                   bound updates, element by element or by their joint norm.
//   optim/cocob.hpp                  steps that are bets on coins, and have no learning rate.
//   optim/dadapt_adamw.hpp           AdamW that finds its learning rate.
//   optim/dog.hpp                    gradient descent whose rate is the distance from the start over the norms of gradients.
//   optim/flatten.hpp                an optimiser that sees all parameters as one vector.
//   optim/galore.hpp                 optimisers of gradients that are projected to a low rank.
//   optim/hyperparameters.hpp        numbers of optimisers that follow schedules, and values of a state by name.
//   optim/join_schedules.hpp         schedules made of others, or of pieces.
//   optim/lbfgs.hpp                  steps by an estimate of the inverse Hessian, made of the last steps.
//   optim/lbfgsb.hpp                 the minimum of a function between bounds, by L-BFGS.
//   optim/line_search.hpp            how far to step along an update, found by trying.
//   optim/lion.hpp                   steps by the sign of an average gradient.
//   optim/lookahead.hpp              fast parameters that go ahead, and slow ones that follow.
//   optim/losses/classification.hpp  losses of scores and labels. Cross entropy is in ops/cross_entropy.hpp.
//   optim/losses/ctc.hpp             the loss of sequences whose alignment is unknown.
//   optim/losses/divergence.hpp      how far a distribution is from another, and embeddings from their kind.
//   optim/losses/ranking.hpp         losses of orders, and of sparse distributions.
//   optim/losses/regression.hpp      losses of numbers and directions.
//   optim/losses/segmentation.hpp    losses of overlaps of regions.
//   optim/madgrad.hpp                dual averaging with momentum and cube roots of squares.
//   optim/mars.hpp                   gradients with less variance, by the difference to those of the last step.
//   optim/masked.hpp                 transforms for some of the parameters, chosen by path or array.
//   optim/mechanize.hpp              a learning rate for any optimiser, found while it runs.
//   optim/microbatching.hpp          functions of batches that run on a part at a time, to save memory.
//   optim/minimize.hpp               the minimum of a function, in one program.
//   optim/moments.hpp                averages of gradients and of their squares, which several transforms divide by one another.
//   optim/momo.hpp                   momentum whose step size follows from the loss and a lower bound of it.
//   optim/monitor.hpp                what updates looked like, kept in the state.
//   optim/multi_steps.hpp            gradients averaged over several calls before an update.
//   optim/muon.hpp                   steps by orthogonal matrices.
//   optim/named_chain.hpp            chains whose parts have names, also in the paths of checkpoints.
//   optim/noise.hpp                  gradients with noise that fades, and clipped gradients of examples with noise.
//   optim/novograd.hpp               momentum of gradients over the norms of their layers.
//   optim/onecycle.hpp               schedules that rise once and fall to almost nothing.
//   optim/optimistic.hpp             steps that look ahead by the difference of the last two gradients, for games.
//   optim/orthogonalize.hpp          matrices near the orthogonal ones, by products alone.
//   optim/parameter_average.hpp      a moving average of the parameters of a model, with which it is evaluated.
//   optim/perturbations.hpp          gradients of functions that have none, by the mean over noise.
//   optim/polyak.hpp                 gradient descent with the step size of Polyak, which the loss and its minimum give.
//   optim/prodigy.hpp                Adam that finds its learning rate.
//   optim/projections.hpp            the nearest point of a set, for parameters that must stay in it.
//   optim/radam.hpp                  Adam that divides by squares once it has seen enough of them.
//   optim/reduce_on_plateau.hpp      smaller steps when the loss stops falling.
//   optim/rmsprop.hpp                rmsprop and adagrad, which divide by the root of squares seen so far.
//   optim/rprop.hpp                  steps that grow while a gradient keeps its sign.
//   optim/sam.hpp                    minima in flat surroundings.
//   optim/scale.hpp                  multiply updates, by a number or by the learning rate of the step, and add weight decay.
//   optim/schedule.hpp               learning rates as functions of the step.
//   optim/schedule_free.hpp          averages of parameters in place of a schedule.
//   optim/second_order.hpp           products with Hessians, diagonals, eigenvalues and roots of matrices.
//   optim/sgd.hpp                    gradient descent, with momentum if asked for.
//   optim/shampoo.hpp                gradients between roots of the sums of their products.
//   optim/sign.hpp                   steps by the signs of gradients.
//   optim/sm3.hpp                    adagrad whose squares are kept for rows and columns only.
//   optim/soap.hpp                   Adam in the eigenvectors of Shampoo's matrices.
//   optim/sophia.hpp                 steps by an average gradient over an estimate of the curvature.
//   optim/transform.hpp              gradient transforms as values, chained, and applied to parameters.
//   optim/tree.hpp                   arithmetic of whole trees of parameters.
//   optim/trust_ratio.hpp            LAMB and LARS, which scale each layer's update by the norm of its parameters.
//   optim/yogi.hpp                   Adam whose average of squares grows by no more than a square at a time.
#pragma once

#include <tokamax/optim/accumulate.hpp>
#include <tokamax/optim/adabelief.hpp>
#include <tokamax/optim/adadelta.hpp>
#include <tokamax/optim/adafactor.hpp>
#include <tokamax/optim/adam.hpp>
#include <tokamax/optim/adamax.hpp>
#include <tokamax/optim/adan.hpp>
#include <tokamax/optim/ademamix.hpp>
#include <tokamax/optim/adopt.hpp>
#include <tokamax/optim/aggregating.hpp>
#include <tokamax/optim/amsgrad.hpp>
#include <tokamax/optim/apply_if_finite.hpp>
#include <tokamax/optim/assignment.hpp>
#include <tokamax/optim/block.hpp>
#include <tokamax/optim/cautious.hpp>
#include <tokamax/optim/clip.hpp>
#include <tokamax/optim/cocob.hpp>
#include <tokamax/optim/dadapt_adamw.hpp>
#include <tokamax/optim/dog.hpp>
#include <tokamax/optim/flatten.hpp>
#include <tokamax/optim/galore.hpp>
#include <tokamax/optim/hyperparameters.hpp>
#include <tokamax/optim/join_schedules.hpp>
#include <tokamax/optim/lbfgs.hpp>
#include <tokamax/optim/lbfgsb.hpp>
#include <tokamax/optim/line_search.hpp>
#include <tokamax/optim/lion.hpp>
#include <tokamax/optim/lookahead.hpp>
#include <tokamax/optim/losses/classification.hpp>
#include <tokamax/optim/losses/ctc.hpp>
#include <tokamax/optim/losses/divergence.hpp>
#include <tokamax/optim/losses/ranking.hpp>
#include <tokamax/optim/losses/regression.hpp>
#include <tokamax/optim/losses/segmentation.hpp>
#include <tokamax/optim/madgrad.hpp>
#include <tokamax/optim/mars.hpp>
#include <tokamax/optim/masked.hpp>
#include <tokamax/optim/mechanize.hpp>
#include <tokamax/optim/microbatching.hpp>
#include <tokamax/optim/minimize.hpp>
#include <tokamax/optim/moments.hpp>
#include <tokamax/optim/momo.hpp>
#include <tokamax/optim/monitor.hpp>
#include <tokamax/optim/multi_steps.hpp>
#include <tokamax/optim/muon.hpp>
#include <tokamax/optim/named_chain.hpp>
#include <tokamax/optim/noise.hpp>
#include <tokamax/optim/novograd.hpp>
#include <tokamax/optim/onecycle.hpp>
#include <tokamax/optim/optimistic.hpp>
#include <tokamax/optim/orthogonalize.hpp>
#include <tokamax/optim/parameter_average.hpp>
#include <tokamax/optim/perturbations.hpp>
#include <tokamax/optim/polyak.hpp>
#include <tokamax/optim/prodigy.hpp>
#include <tokamax/optim/projections.hpp>
#include <tokamax/optim/radam.hpp>
#include <tokamax/optim/reduce_on_plateau.hpp>
#include <tokamax/optim/rmsprop.hpp>
#include <tokamax/optim/rprop.hpp>
#include <tokamax/optim/sam.hpp>
#include <tokamax/optim/scale.hpp>
#include <tokamax/optim/schedule.hpp>
#include <tokamax/optim/schedule_free.hpp>
#include <tokamax/optim/second_order.hpp>
#include <tokamax/optim/sgd.hpp>
#include <tokamax/optim/shampoo.hpp>
#include <tokamax/optim/sign.hpp>
#include <tokamax/optim/sm3.hpp>
#include <tokamax/optim/soap.hpp>
#include <tokamax/optim/sophia.hpp>
#include <tokamax/optim/transform.hpp>
#include <tokamax/optim/tree.hpp>
#include <tokamax/optim/trust_ratio.hpp>
#include <tokamax/optim/yogi.hpp>
