// tokamax/transforms.hpp: all of transforms.
// SPDX-License-Identifier: Apache-2.0
//
//   transforms/backward.hpp    reverse mode as a pass over the node table.
//   transforms/batch.hpp       vectorisation as a pass over the node table\; the batch axis is always the first.
//   transforms/forward.hpp     forward mode as a pass over the node table.
//   transforms/jvp.hpp         the derivative of a function along a direction.
//   transforms/precision.hpp   choose the numbers a function computes in, without touching the function.
//   transforms/remat.hpp       recompute a function in the backward pass instead of keeping what it computed.
//   transforms/scan.hpp        a loop over the leading axis whose body is traced once.
//   transforms/scan_rules.hpp  the scan op and its derivative and batching rules.
//   transforms/scan_run.hpp    how a scan runs its body.
//   transforms/vjp.hpp         vjp, grad and value_and_grad of functions on trees.
//   transforms/vmap.hpp        a function of one example as a function of a batch.
#pragma once

#include <tokamax/transforms/backward.hpp>
#include <tokamax/transforms/batch.hpp>
#include <tokamax/transforms/forward.hpp>
#include <tokamax/transforms/jvp.hpp>
#include <tokamax/transforms/precision.hpp>
#include <tokamax/transforms/remat.hpp>
#include <tokamax/transforms/scan.hpp>
#include <tokamax/transforms/scan_rules.hpp>
#include <tokamax/transforms/scan_run.hpp>
#include <tokamax/transforms/vjp.hpp>
#include <tokamax/transforms/vmap.hpp>
