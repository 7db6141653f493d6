// tokamax/backend/cuda/text/condition.hpp: device text: a value in memory becomes the condition of a node of a CUDA graph.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cuda/text.cpp
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

#include <string_view>  // string_view

namespace tokamax::cuda_text {

/// The value is a byte or an i32. The driver has the function that sets a condition, as it has printf: code refers to it by
/// name, and needs neither a header nor a library of the toolkit.
/// source  CUDA Runtime API, 12.4: cudaGraphSetConditional
inline constexpr std::string_view condition = R"text(
#ifdef __CUDA_ARCH__
extern "C" __device__ void cudaGraphSetConditional(u64 condition, u32 value);
#endif
struct condition_data {
  u64 condition;
  const void* value;
  u64 bytes;
};
KERNEL(set_condition, condition_data) {
  cudaGraphSetConditional(d.condition, d.bytes == 1 ? *(const u8*)d.value : *(const u32*)d.value);
}
)text";

}  // namespace tokamax::cuda_text
