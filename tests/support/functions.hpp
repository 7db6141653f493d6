// tests/support/functions.hpp: functions of lists of arrays, their derivatives and batches, and how far results differ.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/reference.hpp"

#include <string>

namespace tokamax::test {

/// The type in which all checks take a function of arrays.
using function = std::function<arrays(const arrays&)>;

/// The graph of f on inputs of these types.
graph trace(const function& f, const std::vector<array_type>& inputs);
/// (inputs, cotangents of the floating results) -> cotangents of the floating inputs
function vjp_of(const function& f, int inputs);
/// (inputs, tangents of the floating inputs) -> tangents of the floating results
function jvp_of(const function& f, int inputs);
/// vmap over n entries: input k carries a leading axis if bit k of `mask` is set.
function vmap_of(const function& f, std::int64_t n, unsigned mask);
/// The same program, in which ops with both a rule and a compose are differentiated by their compose.
function without_rules(const function& f);

/// Distinct numbers in (-1, 1).
array noise(const array_type& t, unsigned seed);
array noise(const shape& s, unsigned seed, dtype t = f32);

std::vector<array_type> types_of(const std::vector<array>& list);
std::vector<array_type> types_of(const values& list);
values to_values(const std::vector<array>& list);
values to_values(const arrays& list);
std::vector<array> listed(const arrays& list);
arrays listed(const std::vector<array>& list);

/// Describes where and how much two lists differ; empty if they do not. `tolerance` is relative to the largest element of
/// each expected array. It is 8192 times as large for bf16, and 0 for dtypes that are not floating.
std::string difference(const values& found, const values& expected, double tolerance);
/// Empty if types and bits agree.
std::string bit_difference(const std::vector<array>& found, const std::vector<array>& expected);

}  // namespace tokamax::test
