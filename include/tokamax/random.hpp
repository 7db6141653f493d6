// tokamax/random.hpp: all of random.
// SPDX-License-Identifier: Apache-2.0
//
// Samples that draw until they accept, such as gamma and poisson ones, are in scipy/random/, because they need loops and
// special functions; those that decompose matrices are in linalg/random.hpp.
//
//   random/distributions.hpp  samples that are functions of a uniform or normal one: laplace, cauchy, pareto, geometric.
//   random/key.hpp            the state of random numbers as a value, and how new ones are made of it.
//   random/key_reuse.hpp      a debug mode that finds keys which are used twice.
//   random/randint.hpp        random integers and random orders.
//   random/sample_shape.hpp   the shape of samples whose parameters are arrays.
//   random/samplers.hpp       samples of the usual distributions, from JAX's random bits.
//   random/threefry.hpp       threefry2x32, the counter-based generator behind all random numbers.
#pragma once

#include <tokamax/random/distributions.hpp>
#include <tokamax/random/key.hpp>
#include <tokamax/random/key_reuse.hpp>
#include <tokamax/random/randint.hpp>
#include <tokamax/random/sample_shape.hpp>
#include <tokamax/random/samplers.hpp>
#include <tokamax/random/threefry.hpp>
