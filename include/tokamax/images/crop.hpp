// tokamax/images/crop.hpp: parts of images.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/data/counter_hash.hpp>  // counter_hash
#include <tokamax/images/image.hpp>       // image_for
#include <tokamax/random/key.hpp>         // key

#include <cstring>  // memcpy

namespace tokamax::images {

/// Takes a part of an image: `images::crop{top, left, height, width}(image)`.
/// shapes  u8 or f32 [H, W, C] -> [height, width, C]
/// errors  tokamax::error for an array that is no image, or a part that is not within it
struct crop {
  std::int64_t top, left, height, width;
  array operator()(const array& image) const {
    const array from = detail::image_for("images::crop", image);
    const auto within = [](std::int64_t begin, std::int64_t count, std::int64_t all) {
      return begin >= 0 && count >= 1 && count <= all && begin <= all - count;
    };
    if (!within(top, height, from.extent(0)) || !within(left, width, from.extent(1)))
      throw error(error_kind::shape, "images::crop",
                  std::to_string(height) + " x " + std::to_string(width) + " from " + std::to_string(top) + ", " +
                      std::to_string(left),
                  "a part of " + std::string(message{from.type()}.view()));
    array result = array::uninitialized({from.dtype(), false, {height, width, from.extent(2)}});
    const std::int64_t pixel = from.extent(2) * size_of(from.dtype()), row = width * pixel;
    for (std::int64_t y = 0; y < height; ++y)
      std::memcpy(result.mutable_bytes() + y * row, from.bytes() + ((top + y) * from.extent(1) + left) * pixel,
                  static_cast<std::size_t>(row));
    return result;
  }
};

/// Takes the middle of each image: `data::map(images::center_crop{224, 224})`.
/// errors  those of crop
struct center_crop {
  std::int64_t height, width;
  array operator()(const array& image) const {
    const array from = detail::image_for("images::center_crop", image);
    return crop{(from.extent(0) - height) / 2, (from.extent(1) - width) / 2, height, width}(from);
  }
};

/// Takes a part of each image, any with the same probability: `data::random_map(images::random_crop{224, 224})`.
/// errors  those of crop
struct random_crop {
  std::int64_t height, width;
  array operator()(const array& image, const random::key& key) const {
    const array from = detail::image_for("images::random_crop", image);
    const auto words = key.values<std::uint32_t>();
    const std::uint64_t seed = std::uint64_t{words[0]} << 32 | words[1];
    const auto below = [&](std::uint64_t number, std::int64_t count) {
      return count < 1
                 ? 0
                 : static_cast<std::int64_t>(data::counter_hash(seed, number) % static_cast<std::uint64_t>(count));
    };
    return crop{below(0, from.extent(0) - height + 1), below(1, from.extent(1) - width + 1), height, width}(from);
  }
};

}  // namespace tokamax::images
