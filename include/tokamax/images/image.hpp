// tokamax/images/image.hpp: arrays of pixels, and what readers of image files may be told.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/images/decode.cpp
#pragma once

#include <tokamax/core/array.hpp>  // array

#include <string>  // to_string

namespace tokamax::images {

struct decode_options {
  std::int64_t channels = 3;                    ///< 1 for grey, 3 for colours, 4 with opacity; 0: those of the file
  std::int64_t pixels = std::int64_t{1} << 26;  ///< an image of more is refused before memory is taken for it
};

namespace detail {

// Memory for the pixels of a file, which may promise any size.
inline array new_image(std::int64_t height, std::int64_t width, std::int64_t channels, const decode_options& options,
                       const std::string& where) {
  if (height < 1 || width < 1 || height > options.pixels / width)
    throw error(error_kind::file, "image: pixels", std::to_string(height) + " x " + std::to_string(width),
                "1 to " + std::to_string(options.pixels), where);
  return array::uninitialized({u8, false, {height, width, channels}});
}
inline void check_channels(const decode_options& options, std::int64_t most) {
  const std::int64_t found = options.channels;
  if (found != 0 && found != 1 && found != 3 && !(found == 4 && most == 4))
    throw error("image: channels", std::to_string(found), most == 4 ? "0, 1, 3 or 4" : "0, 1 or 3");
}

// An image with data, for `what`.
inline array image_for(const char* what, const array& image) {
  if (image.rank() != 3 || (image.dtype() != u8 && image.dtype() != f32))
    throw error(error_kind::shape, what, std::string(message{image.type()}.view()), "an image u8 or f32 [H, W, C]");
  array result = image;
  result.materialize();
  return result;
}
// Calls `f` with the elements of an image.
auto with_pixels(const array& image, const auto& f) {
  return image.dtype() == u8 ? f(image.values<std::uint8_t>()) : f(image.values<float>());
}

}  // namespace detail

}  // namespace tokamax::images
