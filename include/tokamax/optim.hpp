// tokamax/optim.hpp: all of optim.
// SPDX-License-Identifier: Apache-2.0
//
//   optim/adaptive/adabelief.hpp           Adam that divides by how far gradients are from their average.
//   optim/adaptive/adadelta.hpp            steps whose size is that of earlier steps.
//   optim/adaptive/adafactor.hpp           averages of squares that are kept as rows and columns.
//   optim/adaptive/adam.hpp                adam, and adamw with decoupled weight decay.
//   optim/adaptive/adamax.hpp              Adam with a decaying maximum of gradients in place of their squares.
//   optim/adaptive/adan.hpp                Adam with averages of differences of gradients.
//   optim/adaptive/ademamix.hpp            Adam with a second, slow average of gradients.
//   optim/adaptive/adopt.hpp               ADOPT and ACProp, which divide a gradient by squares that do not contain it.
//   optim/adaptive/amsgrad.hpp             Adam with the greatest average of squares so far.
//   optim/adaptive/cautious.hpp            updates that follow the gradient only where both have one sign.
//   optim/adaptive/madgrad.hpp             dual averaging with momentum and cube roots of squares.
//   optim/adaptive/mars.hpp                gradients with less variance, by the difference to those of the last step.
//   optim/adaptive/novograd.hpp            momentum of gradients over the norms of their layers.
//   optim/adaptive/radam.hpp               Adam that divides by squares once it has seen enough of them.
//   optim/adaptive/rmsprop.hpp             rmsprop and adagrad, which divide by the root of squares seen so far.
//   optim/adaptive/sm3.hpp                 adagrad whose squares are kept for rows and columns only.
//   optim/adaptive/yogi.hpp                Adam whose average of squares grows by no more than a square at a time.
//   optim/assignment.hpp                   the cheapest way to give each row a column of its own.
//   optim/descent/lion.hpp                 steps by the sign of an average gradient.
//   optim/descent/optimistic.hpp           steps that look ahead by the difference of the last two gradients, for games.
//   optim/descent/rprop.hpp                steps that grow while a gradient keeps its sign.
//   optim/descent/sgd.hpp                  gradient descent, with momentum if asked for.
//   optim/descent/sign.hpp                 steps by the signs of gradients.
//   optim/descent/trust_ratio.hpp          LAMB and LARS, which scale each layer's update by the norm of its parameters.
//   optim/losses/classification.hpp        losses of scores and labels. Cross entropy is in ops/cross_entropy.hpp.
//   optim/losses/ctc.hpp                   the loss of sequences whose alignment is unknown.
//   optim/losses/divergence.hpp            how far a distribution is from another, and embeddings from their kind.
//   optim/losses/ranking.hpp               losses of orders, and of sparse distributions.
//   optim/losses/regression.hpp            losses of numbers and directions.
//   optim/losses/segmentation.hpp          losses of overlaps of regions.
//   optim/matrices/galore.hpp              optimisers of gradients that are projected to a low rank.
//   optim/matrices/muon.hpp                steps by orthogonal matrices.
//   optim/matrices/orthogonalize.hpp       matrices near the orthogonal ones, by products alone.
//   optim/matrices/shampoo.hpp             gradients between roots of the sums of their products.
//   optim/matrices/soap.hpp                Adam in the eigenvectors of Shampoo's matrices.
//   optim/microbatching.hpp                functions of batches that run on a part at a time, to save memory.
//   optim/parameter_average.hpp            a moving average of the parameters of a model, with which it is evaluated.
//   optim/parameter_free/cocob.hpp         steps that are bets on coins, and have no learning rate.
//   optim/parameter_free/dadapt_adamw.hpp  AdamW that finds its learning rate.
//   optim/parameter_free/dog.hpp           gradient descent whose rate is the distance from the start over the norms of gradients.
//   optim/parameter_free/mechanize.hpp     a learning rate for any optimiser, found while it runs.
//   optim/parameter_free/momo.hpp          momentum whose step size follows from the loss and a lower bound of it.
//   optim/parameter_free/polyak.hpp        gradient descent with the step size of Polyak, which the loss and its minimum give.
//   optim/parameter_free/prodigy.hpp       Adam that finds its learning rate.
//   optim/perturbations.hpp                gradients of functions that have none, by the mean over noise.
//   optim/projections.hpp                  the nearest point of a set, for parameters that must stay in it.
//   optim/schedules/hyperparameters.hpp    numbers of optimisers that follow schedules, and values of a state by name.
//   optim/schedules/join_schedules.hpp     schedules made of others, or of pieces.
//   optim/schedules/onecycle.hpp           schedules that rise once and fall to almost nothing.
//   optim/schedules/reduce_on_plateau.hpp  smaller steps when the loss stops falling.
//   optim/schedules/schedule.hpp           learning rates as functions of the step.
//   optim/second_order/lbfgs.hpp           steps by an estimate of the inverse Hessian, made of the last steps.
//   optim/second_order/lbfgsb.hpp          the minimum of a function between bounds, by L-BFGS.
//   optim/second_order/line_search.hpp     how far to step along an update, found by trying.
//   optim/second_order/minimize.hpp        the minimum of a function, in one program.
//   optim/second_order/second_order.hpp    products with Hessians, diagonals, eigenvalues and roots of matrices.
//   optim/second_order/sophia.hpp          steps by an average gradient over an estimate of the curvature.
//   optim/transform.hpp                    gradient transforms as values, chained, and applied to parameters.
//   optim/transforms/accumulate.hpp        averages and sums of updates, and updates at some steps only.
//   optim/transforms/aggregating.hpp       gradients of examples, aggregated before an optimiser sees them.
//   optim/transforms/block.hpp             updates scaled, bounded or centred leaf by leaf.
//   optim/transforms/clip.hpp              bound updates, element by element or by their joint norm.
//   optim/transforms/masked.hpp            transforms for some of the parameters, chosen by path or array.
//   optim/transforms/moments.hpp           averages of gradients and of their squares, which several transforms divide by one another.
//   optim/transforms/monitor.hpp           what updates looked like, kept in the state.
//   optim/transforms/named_chain.hpp       chains whose parts have names, also in the paths of checkpoints.
//   optim/transforms/noise.hpp             gradients with noise that fades, and clipped gradients of examples with noise.
//   optim/transforms/scale.hpp             multiply updates, by a number or by the learning rate of the step, and add weight decay.
//   optim/tree.hpp                         arithmetic of whole trees of parameters.
//   optim/wrappers/apply_if_finite.hpp     an optimiser that leaves out gradients with NaN or infinity.
//   optim/wrappers/flatten.hpp             an optimiser that sees all parameters as one vector.
//   optim/wrappers/lookahead.hpp           fast parameters that go ahead, and slow ones that follow.
//   optim/wrappers/multi_steps.hpp         gradients averaged over several calls before an update.
//   optim/wrappers/sam.hpp                 minima in flat surroundings.
//   optim/wrappers/schedule_free.hpp       averages of parameters in place of a schedule.
#pragma once

#include <tokamax/optim/adaptive/adabelief.hpp>
#include <tokamax/optim/adaptive/adadelta.hpp>
#include <tokamax/optim/adaptive/adafactor.hpp>
#include <tokamax/optim/adaptive/adam.hpp>
#include <tokamax/optim/adaptive/adamax.hpp>
#include <tokamax/optim/adaptive/adan.hpp>
#include <tokamax/optim/adaptive/ademamix.hpp>
#include <tokamax/optim/adaptive/adopt.hpp>
#include <tokamax/optim/adaptive/amsgrad.hpp>
#include <tokamax/optim/adaptive/cautious.hpp>
#include <tokamax/optim/adaptive/madgrad.hpp>
#include <tokamax/optim/adaptive/mars.hpp>
#include <tokamax/optim/adaptive/novograd.hpp>
#include <tokamax/optim/adaptive/radam.hpp>
#include <tokamax/optim/adaptive/rmsprop.hpp>
#include <tokamax/optim/adaptive/sm3.hpp>
#include <tokamax/optim/adaptive/yogi.hpp>
#include <tokamax/optim/assignment.hpp>
#include <tokamax/optim/descent/lion.hpp>
#include <tokamax/optim/descent/optimistic.hpp>
#include <tokamax/optim/descent/rprop.hpp>
#include <tokamax/optim/descent/sgd.hpp>
#include <tokamax/optim/descent/sign.hpp>
#include <tokamax/optim/descent/trust_ratio.hpp>
#include <tokamax/optim/losses/classification.hpp>
#include <tokamax/optim/losses/ctc.hpp>
#include <tokamax/optim/losses/divergence.hpp>
#include <tokamax/optim/losses/ranking.hpp>
#include <tokamax/optim/losses/regression.hpp>
#include <tokamax/optim/losses/segmentation.hpp>
#include <tokamax/optim/matrices/galore.hpp>
#include <tokamax/optim/matrices/muon.hpp>
#include <tokamax/optim/matrices/orthogonalize.hpp>
#include <tokamax/optim/matrices/shampoo.hpp>
#include <tokamax/optim/matrices/soap.hpp>
#include <tokamax/optim/microbatching.hpp>
#include <tokamax/optim/parameter_average.hpp>
#include <tokamax/optim/parameter_free/cocob.hpp>
#include <tokamax/optim/parameter_free/dadapt_adamw.hpp>
#include <tokamax/optim/parameter_free/dog.hpp>
#include <tokamax/optim/parameter_free/mechanize.hpp>
#include <tokamax/optim/parameter_free/momo.hpp>
#include <tokamax/optim/parameter_free/polyak.hpp>
#include <tokamax/optim/parameter_free/prodigy.hpp>
#include <tokamax/optim/perturbations.hpp>
#include <tokamax/optim/projections.hpp>
#include <tokamax/optim/schedules/hyperparameters.hpp>
#include <tokamax/optim/schedules/join_schedules.hpp>
#include <tokamax/optim/schedules/onecycle.hpp>
#include <tokamax/optim/schedules/reduce_on_plateau.hpp>
#include <tokamax/optim/schedules/schedule.hpp>
#include <tokamax/optim/second_order/lbfgs.hpp>
#include <tokamax/optim/second_order/lbfgsb.hpp>
#include <tokamax/optim/second_order/line_search.hpp>
#include <tokamax/optim/second_order/minimize.hpp>
#include <tokamax/optim/second_order/second_order.hpp>
#include <tokamax/optim/second_order/sophia.hpp>
#include <tokamax/optim/transform.hpp>
#include <tokamax/optim/transforms/accumulate.hpp>
#include <tokamax/optim/transforms/aggregating.hpp>
#include <tokamax/optim/transforms/block.hpp>
#include <tokamax/optim/transforms/clip.hpp>
#include <tokamax/optim/transforms/masked.hpp>
#include <tokamax/optim/transforms/moments.hpp>
#include <tokamax/optim/transforms/monitor.hpp>
#include <tokamax/optim/transforms/named_chain.hpp>
#include <tokamax/optim/transforms/noise.hpp>
#include <tokamax/optim/transforms/scale.hpp>
#include <tokamax/optim/tree.hpp>
#include <tokamax/optim/wrappers/apply_if_finite.hpp>
#include <tokamax/optim/wrappers/flatten.hpp>
#include <tokamax/optim/wrappers/lookahead.hpp>
#include <tokamax/optim/wrappers/multi_steps.hpp>
#include <tokamax/optim/wrappers/sam.hpp>
#include <tokamax/optim/wrappers/schedule_free.hpp>
