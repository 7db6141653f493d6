// tokamax/transforms/control_flow/scan_run.hpp: how a scan runs its body.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/transforms/control_flow/scan.cpp
#pragma once

#include <tokamax/base/compiled_once.hpp>                  // TOKAMAX_COMPILED_ONCE
#include <tokamax/core/kernel_arguments.hpp>               // array_view, kernel_arguments
#include <tokamax/transforms/control_flow/scan_rules.hpp>  // scan_attributes

namespace tokamax::detail {

#if defined(TOKAMAX_COMPILED_ONCE)
/// Runs the body for each step. A step writes its carries over those that it reads. Where the plan does not allow that, it
/// writes into the result and a second buffer alternately, so that the last step writes the result.
TOKAMAX_COMPILED_ONCE void run_scan(const kernel_arguments& a) {
  const auto w = a.attrs<scan_attributes>();
  const std::int64_t length = a.bodies->extent(w.length);
  const auto bytes = [](const array_view& v) { return v.size() * size_of(v.type); };
  std::byte** const inputs = a.bodies->pointers;
  std::byte** const outputs = inputs + a.in_count;
  for (int k = 0; k < a.in_count; ++k) inputs[k] = a.in[k].as<std::byte>();
  for (std::int64_t i = 0; i < length; ++i) {
    const std::int64_t place = w.reverse ? length - 1 - i : i;
    for (int k = w.carries; k < w.carries + w.sequences; ++k)
      inputs[k] = a.in[k].as<std::byte>() + place * (bytes(a.in[k]) / length);
    for (int k = 0; k < w.carries; ++k) {
      std::byte* const spare = a.bodies->spare(k);
      outputs[k] = spare && (length - 1 - i) % 2 ? spare : a.out[k].as<std::byte>();
    }
    for (int k = w.carries; k < w.carries + w.stacked; ++k)
      outputs[k] = a.out[k].as<std::byte>() + place * (bytes(a.out[k]) / length);
    a.bodies->run(0, inputs, outputs);
    for (int k = 0; k < w.carries; ++k) inputs[k] = outputs[k];
  }
  if (length > 0) return;
  for (int k = 0; k < w.carries; ++k)
    if (a.out[k].data != a.in[k].data)
      a.context->where.copy_in_step(a.out[k].as<std::byte>(), a.in[k].as<std::byte>(),
                                    static_cast<std::size_t>(bytes(a.in[k])));
}
#endif

}  // namespace tokamax::detail
