// tokamax/backend/cuda/kernels/composed.hpp: the meaning of an op as the kernel of calls that a faster kernel refuses.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cuda/row_kernels.cpp
#pragma once

#include <tokamax/backend/cuda/launch.hpp>  // instance_of
#include <tokamax/runtime/choice.hpp>       // chosen_implementation

#include <map>  // map

namespace tokamax::cuda_backend {

/// What tells one call of a kernel from others, but for the addresses: op, dtypes, extents, strides and attributes.
inline std::string key_of(const op& o, const kernel_arguments& a) {
  std::string key = call_text(o, a);
  for (int k = 0; k < a.in_count; ++k)
    for (int i = 0; i < a.in[k].rank(); ++i)
      key.append(i ? "," : ";").append(std::to_string(a.in[k].extent(i) > 1 ? a.in[k].stride(i) : 0));
  return key;
}

/// Runs the `compose` rule of the op on the GPU. The programs of all such calls are kept.
inline void run_composed(const op& o, const kernel_arguments& a) {
  static std::mutex& mutex = *new std::mutex;
  static auto& known = *new std::map<std::string, chosen_implementation>;
  const std::lock_guard lock(mutex);
  const std::string key = key_of(o, a) + " on " + std::to_string(instance_of(a).number());
  auto found = known.find(key);
  if (found == known.end()) {
    std::vector<std::string> refused;
    const auto all = tokamax::detail::implementations_for(o, a, nullptr, nullptr, {}, refused);
    for (const chosen_implementation& i : all)
      if (i.composed) found = known.emplace(key, i).first;
    if (found == known.end())
      throw error(error_kind::device, "cuda: " + call_text(o, a), refused.empty() ? "no rule" : refused[0],
                  "a call that the GPU has a kernel for");
  }
  found->second(a);
}

}  // namespace tokamax::cuda_backend
