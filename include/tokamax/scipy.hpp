// tokamax/scipy.hpp: all of scipy.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (a program of statistics or signals includes it; multivariate distributions need tokamax::linalg)
//
//   scipy/kaiser.hpp                    the window of Kaiser, whose side lobes a number chooses.
//   scipy/random/binomial.hpp           how many of n trials succeed, and how n trials fall into classes: binomial, multinomial.
//   scipy/random/gamma.hpp              samples of the gamma distribution, and their logarithms: gamma, loggamma.
//   scipy/random/gamma_family.hpp       samples made of gamma ones: beta, chisquare, dirichlet, f, t, generalized_normal, ball.
//   scipy/random/poisson.hpp            how many events there are, when so many are expected.
//   scipy/signal.hpp                    convolutions of signals, and signals without their trend: convolve, correlate, detrend.
//   scipy/special/bessel.hpp            Bessel functions of the first kind, and modified ones: bessel_jn, bessel_i0e, bessel_i1e.
//   scipy/special/elementary.hpp        logarithms of probabilities and entropies: expit, logit, xlogy, entr, kl_div and others.
//   scipy/special/error_functions.hpp   the error function and the normal distribution: erfc, erfcx, ndtri, log_ndtr, dawsn.
//   scipy/special/expn.hpp              exponential integrals of any order.
//   scipy/special/gamma.hpp             the logarithm of the gamma function and its derivatives: lgamma, digamma, polygamma, zeta.
//   scipy/special/gamma_functions.hpp   functions made of gamma functions under SciPy's names: gamma, beta, comb and others.
//   scipy/special/hypergeometric.hpp    the confluent hypergeometric function hyp1f1.
//   scipy/special/incomplete_beta.hpp   the regularized incomplete beta function.
//   scipy/special/incomplete_gamma.hpp  the regularized incomplete gamma functions: igamma, igammac, and their derivatives.
//   scipy/special/integrals.hpp         exponential integrals and the dilogarithm: exp1, expi, spence.
//   scipy/special/owens_t.hpp           how likely one normal variable is above h and another one between 0 and a times it.
//   scipy/special/special_op.hpp        what special functions are composed of, and numbers like their operands.
//   scipy/special/waves.hpp             integrals of waves: sici, fresnel.
//   scipy/stats/continuous.hpp          distributions of real variables: norm, gamma, beta, t, cauchy, expon, laplace and others.
//   scipy/stats/discrete.hpp            distributions of counts: bernoulli, binom, poisson, geom, nbinom, multinomial.
//   scipy/stats/distribution.hpp        what densities share: standard variables, and values outside of where they are positive.
//   scipy/stats/multivariate.hpp        distributions of vectors: multivariate_normal and dirichlet.
#pragma once

#include <tokamax/scipy/kaiser.hpp>
#include <tokamax/scipy/random/binomial.hpp>
#include <tokamax/scipy/random/gamma.hpp>
#include <tokamax/scipy/random/gamma_family.hpp>
#include <tokamax/scipy/random/poisson.hpp>
#include <tokamax/scipy/signal.hpp>
#include <tokamax/scipy/special/bessel.hpp>
#include <tokamax/scipy/special/elementary.hpp>
#include <tokamax/scipy/special/error_functions.hpp>
#include <tokamax/scipy/special/expn.hpp>
#include <tokamax/scipy/special/gamma.hpp>
#include <tokamax/scipy/special/gamma_functions.hpp>
#include <tokamax/scipy/special/hypergeometric.hpp>
#include <tokamax/scipy/special/incomplete_beta.hpp>
#include <tokamax/scipy/special/incomplete_gamma.hpp>
#include <tokamax/scipy/special/integrals.hpp>
#include <tokamax/scipy/special/owens_t.hpp>
#include <tokamax/scipy/special/special_op.hpp>
#include <tokamax/scipy/special/waves.hpp>
#include <tokamax/scipy/stats/continuous.hpp>
#include <tokamax/scipy/stats/discrete.hpp>
#include <tokamax/scipy/stats/distribution.hpp>
#include <tokamax/scipy/stats/multivariate.hpp>
