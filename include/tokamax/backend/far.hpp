// tokamax/backend/far.hpp: devices for tests.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (it is for tests, and for Linux)
//
//   backend/far/device.hpp  devices for tests: the CPU's kernels behind memory and a queue of their own, with faults.
//   backend/far/memory.hpp  memory that the host cannot touch: a file in memory, mapped once closed and once open.
//   backend/far/queue.hpp   a thread that does the work of a device in order, and asynchronously.
#pragma once

#include <tokamax/backend/far/device.hpp>
#include <tokamax/backend/far/memory.hpp>
#include <tokamax/backend/far/queue.hpp>
