// tests/backend/cpu/cases.hpp: what every op is tried on, by families; the case of an op fails when its kernel is wrong.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/adversarial.hpp"

namespace tokamax::test {

std::vector<adversarial_case> elementwise_cases();  ///< IEEE 754, elementary functions, integers, logic, conversions
std::vector<adversarial_case> movement_cases();     ///< what copies, views, gathers and sorts
std::vector<adversarial_case> reduction_cases();    ///< reductions, running sums, loops
std::vector<adversarial_case> product_cases();      ///< dot_general, convolutions, pooling, and their gradients
std::vector<adversarial_case> special_cases();      ///< functions of scipy.special
std::vector<adversarial_case> row_cases();  ///< softmax, normalisations, cross entropy, attention, and their gradients

}  // namespace tokamax::test
