// tokamax/images/resize.hpp: images of another size.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/images/image.hpp>  // image_for

#include <algorithm>  // max, min, clamp
#include <cmath>      // abs
#include <vector>     // vector

namespace tokamax::images {

namespace detail {

// The elements of a row that make an element of the new row, with weights whose sum is 1. Where a row becomes shorter, all
// elements count that are nearer than one step of the new row.
struct resize_weights {
  struct part {
    std::int64_t begin;
    std::vector<float> weights;
  };
  resize_weights(std::int64_t from, std::int64_t to) {
    const double scale = static_cast<double>(from) / static_cast<double>(to), reach = std::max(scale, 1.0);
    for (std::int64_t i = 0; i < to; ++i) {
      const double centre = (static_cast<double>(i) + 0.5) * scale;
      const auto begin = std::max<std::int64_t>(0, static_cast<std::int64_t>(centre - reach + 0.5));
      const auto end = std::min<std::int64_t>(from, static_cast<std::int64_t>(centre + reach + 0.5));
      part one{begin, {}};
      double sum = 0;
      for (std::int64_t k = begin; k < end; ++k) {
        const double weight = std::max(0.0, 1 - std::abs(static_cast<double>(k) + 0.5 - centre) / reach);
        one.weights.push_back(static_cast<float>(weight));
        sum += weight;
      }
      for (float& weight : one.weights) weight = static_cast<float>(weight / sum);
      parts.push_back(std::move(one));
    }
  }
  std::vector<part> parts;
};

template <class Pixel>
void resize_pixels(const Pixel* from, const shape& old, std::int64_t height, std::int64_t width, Pixel* to) {
  const std::int64_t channels = old[2], row = width * channels;
  const resize_weights along(old[1], width), down(old[0], height);
  std::vector<float> narrow(static_cast<std::size_t>(old[0] * row));  // [old H, W, C]
  float* at = narrow.data();
  for (std::int64_t y = 0; y < old[0]; ++y, from += old[1] * channels) {
    for (const auto& [begin, weights] : along.parts) {
      const Pixel* pixel = from + begin * channels;
      std::fill(at, at + channels, 0.0f);
      for (const float weight : weights)
        for (std::int64_t c = 0; c < channels; ++c) at[c] += weight * static_cast<float>(*pixel++);
      at += channels;
    }
  }
  std::vector<float> sums(static_cast<std::size_t>(row));
  for (const auto& [begin, weights] : down.parts) {
    std::fill(sums.begin(), sums.end(), 0.0f);
    const float* line = narrow.data() + begin * row;
    for (const float weight : weights) {
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += weight * line[i];
      line += row;
    }
    for (const float sum : sums) {
      if constexpr (std::is_same_v<Pixel, float>)
        *to++ = sum;
      else
        *to++ = static_cast<Pixel>(std::clamp(sum + 0.5f, 0.0f, 255.0f));
    }
  }
}

}  // namespace detail

/// Makes an image of another size by linear interpolation: `images::resize{224, 224}(image)`, or for each element
/// `data::map(images::resize{224, 224})`. A smaller image has the means of what was there.
/// shapes  u8 or f32 [H, W, C] -> [height, width, C]
/// errors  tokamax::error for an array that is no image, or sizes below 1
/// source  PIL.Image.resize with BILINEAR, whose bytes differ by 1 at most; jax.image.resize
struct resize {
  std::int64_t height, width;
  array operator()(const array& image) const {
    const array from = detail::image_for("images::resize", image);
    if (height < 1 || width < 1 || from.size() == 0)
      throw error(
          error_kind::shape, "images::resize",
          std::to_string(height) + " x " + std::to_string(width) + " of " + std::string(message{from.type()}.view()),
          "sizes of 1 or more");
    array result = array::uninitialized({from.dtype(), false, {height, width, from.extent(2)}});
    detail::with_pixels(from, [&](const auto& pixels) {
      using pixel = std::remove_cvref_t<decltype(pixels[0])>;
      detail::resize_pixels<pixel>(pixels.data(), from.shape(), height, width, result.mutable_data<pixel>());
    });
    return result;
  }
};

}  // namespace tokamax::images
