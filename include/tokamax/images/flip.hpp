// tokamax/images/flip.hpp: mirrored images.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/data/counter_hash.hpp>  // counter_hash
#include <tokamax/images/image.hpp>       // image_for
#include <tokamax/random/key.hpp>         // key

#include <cstring>  // memcpy

namespace tokamax::images {

/// Exchanges left and right: `images::flip{}(image)`.
/// shapes  u8 or f32 [H, W, C] -> [H, W, C]
/// errors  tokamax::error for an array that is no image
struct flip {
  array operator()(const array& image) const {
    const array from = detail::image_for("images::flip", image);
    array result = array::uninitialized(from.type());
    const std::int64_t width = from.extent(1), pixel = from.extent(2) * size_of(from.dtype());
    std::byte* to = result.mutable_bytes();
    for (std::int64_t y = 0; y < from.extent(0); ++y)
      for (std::int64_t x = width - 1; x >= 0; --x, to += pixel)
        std::memcpy(to, from.bytes() + (y * width + x) * pixel, static_cast<std::size_t>(pixel));
    return result;
  }
};

/// Mirrors every other image, chosen by its key: `data::random_map(images::random_flip{})`.
/// errors  those of flip
struct random_flip {
  array operator()(const array& image, const random::key& key) const {
    const auto words = key.values<std::uint32_t>();
    return data::counter_hash(words[0], words[1]) % 2 == 0 ? image : flip{}(image);
  }
};

}  // namespace tokamax::images
