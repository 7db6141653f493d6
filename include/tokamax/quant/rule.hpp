// tokamax/quant/rule.hpp: which weights of a model are quantised, and how.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few models have quantised numbers)
// tested by tests/quant/weight_only.cpp
#pragma once

#include <tokamax/base/dtype.hpp>           // dtype
#include <tokamax/base/tree/tree_path.hpp>  // path_matches

#include <cstdint>  // int64_t
#include <string>   // string
#include <vector>   // vector

namespace tokamax::quant {

/// How the weights under some paths are quantised.
/// source  qwix.QuantizationRule
struct rule {
  std::string module_path =
      "*";                  ///< a pattern for the path of a weight, such as "blocks[*].attend", as `matching` takes it
  dtype weight_qtype = i8;  ///< of the integers; dtype::none: these weights stay as they are
  std::int64_t tile_size = 0;  ///< so many elements along a contracted axis share a scale; 0: all of them
  bool packed = false;  ///< as packed_weights, which products read fastest; weight_qtype is i8, i4, u4 or f8e4m3fn then
  dtype scale_dtype = f32;  ///< of packed weights: f16 halves what is read beside the integers
};

/// The first rule for a path; null if there is none.
inline const rule* find_rule(const std::vector<rule>& rules, std::string_view path) {
  for (const rule& r : rules)
    if (path_matches(path, r.module_path)) return &r;
  return nullptr;
}

}  // namespace tokamax::quant
