// tokamax/tokamax.hpp: all of tokamax but data.hpp, checkpoint.hpp, profile.hpp and benchmarking.hpp, which are included beside it.
// SPDX-License-Identifier: Apache-2.0
//
//   backend/cpu.hpp  all of backend/cpu.
//   base.hpp         all of base.
//   compiler.hpp     all of compiler.
//   core.hpp         all of core.
//   kernel.hpp       kernels on blocks of arrays, written once for all devices.
//   lax.hpp          all of lax.
//   models.hpp       all of models.
//   nn.hpp           all of nn.
//   numpy.hpp        all of numpy.
//   ops.hpp          all of ops.
//   optim.hpp        all of optim.
//   random.hpp       all of random.
//   runtime.hpp      all of runtime.
//   train.hpp        all of train.
//   transforms.hpp   all of transforms.
#pragma once

#include <tokamax/backend/cpu.hpp>
#include <tokamax/base.hpp>
#include <tokamax/compiler.hpp>
#include <tokamax/core.hpp>
#include <tokamax/kernel.hpp>
#include <tokamax/lax.hpp>
#include <tokamax/models.hpp>
#include <tokamax/nn.hpp>
#include <tokamax/numpy.hpp>
#include <tokamax/ops.hpp>
#include <tokamax/optim.hpp>
#include <tokamax/random.hpp>
#include <tokamax/runtime.hpp>
#include <tokamax/train.hpp>
#include <tokamax/transforms.hpp>
