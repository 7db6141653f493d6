// tokamax/core/attributes/dot_algorithm.hpp: how the products of an op multiply and add.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/transforms/precision.cpp
#pragma once

#include <tokamax/base/requirements.hpp>

#include <cstdint>  // uint8_t

namespace tokamax {

/// The number format in which f32 operands are multiplied and summed. `unspecified` is f32, unless with_precision chooses
/// another one.
///
/// x3 and x6 write each operand as a sum of two or three bf16 numbers, and add the three or six largest of the products.
/// The errors are 3 * 2^-16 of each product for x3, and two roundings to f32 for x6, if operands and products are at least
/// 2^-102; smaller ones lose digits. Infinities and NaN are those of f32. Machines on which this is not faster compute in
/// f32 instead, and so does attention.
///
/// tf32 keeps 10 of the 23 fraction bits of each operand: the errors are 2^-10 of each product. It is the fast format of
/// NVIDIA's GPUs, and nothing takes it unless it is asked for. Other devices compute in f32 instead.
/// source  jax.lax.DotAlgorithmPreset
enum class dot_algorithm : std::uint8_t {
  unspecified,
  f32_f32_f32,
  bf16_bf16_f32,
  bf16_bf16_f32_x3,
  bf16_bf16_f32_x6,
  tf32_tf32_f32
};

}  // namespace tokamax
