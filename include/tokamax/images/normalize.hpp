// tokamax/images/normalize.hpp: pixels as numbers around 0.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/images/image.hpp>  // image_for

#include <vector>  // vector

namespace tokamax::images {

/// Makes numbers of bytes: `data::map(images::normalize{{0.485f, 0.456f, 0.406f}, {0.229f, 0.224f, 0.225f}})`.
///
///   y = (x / 255 - mean) / deviation, with a mean and a deviation for each channel
///
/// shapes  u8 [H, W, C] -> f32 [H, W, C]
/// errors  tokamax::error for an array that is no image of bytes, or means of another number than its channels
/// source  torchvision.transforms.Normalize
struct normalize {
  std::vector<float> mean, deviation;
  array operator()(const array& image) const {
    const array from = detail::image_for("images::normalize", image);
    const auto channels = static_cast<std::size_t>(from.extent(2));
    if (from.dtype() != u8 || mean.size() != channels || deviation.size() != channels)
      throw error(error_kind::shape, "images::normalize",
                  std::string(message{from.type()}.view()) + ", " + std::to_string(mean.size()) + " means and " +
                      std::to_string(deviation.size()) + " deviations",
                  "u8 [H, W, C] and C of each");
    std::vector<float> factors, offsets;
    for (std::size_t c = 0; c < channels; ++c) {
      factors.push_back(1 / (255 * deviation[c]));
      offsets.push_back(-mean[c] / deviation[c]);
    }
    array result = array::uninitialized({f32, false, from.shape()});
    float* to = result.mutable_data<float>();
    std::size_t c = 0;
    for (const std::uint8_t pixel : from.values<std::uint8_t>()) {
      *to++ = static_cast<float>(pixel) * factors[c] + offsets[c];
      if (++c == channels) c = 0;
    }
    return result;
  }
};

}  // namespace tokamax::images
