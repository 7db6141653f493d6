// tokamax/lax/index_observer.hpp: lets a tool see indices before those outside of their axis become others.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (a tool that looks for mistakes includes it)
// tested by tests/transforms/checks/checkify.cpp
#pragma once

#include <tokamax/core/array.hpp>  // array

namespace tokamax {

/// Is told of indices into one axis of `size` elements. Those that are not from 0 to size - 1 are mistakes, except for the
/// lowest i32, which stands for an element that a mask does not choose.
using index_observer_function = void (*)(const array& indices, int axis, std::int64_t size, location where);
/// The observer of this thread, or null. Indices are clipped or dropped where they become operands, so that an op no longer
/// tells which of them were outside.
inline thread_local index_observer_function index_observer = nullptr;

}  // namespace tokamax
