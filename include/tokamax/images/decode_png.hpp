// tokamax/images/decode_png.hpp: the pixels of a PNG file, by libpng.
// SPDX-License-Identifier: Apache-2.0
// needs <png.h>
// tested by tests/images/decode.cpp
#pragma once

#include <tokamax/images/image.hpp>  // decode_options, new_image

#include <png.h>  // png_read_image

#include <csetjmp>      // jmp_buf
#include <cstdio>       // snprintf
#include <cstring>      // memcpy
#include <string_view>  // string_view
#include <vector>       // vector

namespace tokamax::images {

namespace detail {

class png_decoder {
 public:
  png_decoder(std::string_view bytes, const std::string& where) : bytes_(bytes), where_(where) {
    png_ = png_create_read_struct(
        PNG_LIBPNG_VER_STRING, this,
        [](png_structp png, png_const_charp text) {
          auto& self = *static_cast<png_decoder*>(png_get_error_ptr(png));
          std::snprintf(self.text_, sizeof self.text_, "%s", text);
          std::longjmp(self.back_, 1);
        },
        [](png_structp, png_const_charp) {});
    if (png_) info_ = png_create_info_struct(png_);
    if (!info_) throw error(error_kind::resource, "png", "no memory", "a decoder");
  }
  png_decoder(const png_decoder&) = delete;
  ~png_decoder() { png_destroy_read_struct(&png_, &info_, nullptr); }

  array decode(const decode_options& options) {
    guarded([&] {
      png_set_read_fn(png_, this, [](png_structp png, png_bytep to, std::size_t count) {
        auto& self = *static_cast<png_decoder*>(png_get_io_ptr(png));
        if (count > self.bytes_.size()) png_error(png, "the end of the file");
        std::memcpy(to, self.bytes_.data(), count);
        self.bytes_.remove_prefix(count);
      });
      png_read_info(png_, info_);
      width_ = png_get_image_width(png_, info_);
      height_ = png_get_image_height(png_, info_);
      kind_ = png_get_color_type(png_, info_);
      opaque_ = (kind_ & PNG_COLOR_MASK_ALPHA) == 0 && png_get_valid(png_, info_, PNG_INFO_tRNS) == 0;
    });
    const bool grey = (kind_ & PNG_COLOR_MASK_COLOR) == 0;
    const std::int64_t of_file = (grey ? 1 : 3) + !opaque_;
    const std::int64_t asked = options.channels == 0 ? of_file : options.channels;
    const std::int64_t channels = asked == 1 && !grey ? 3 : asked;  // colours become grey afterwards
    array result = new_image(height_, width_, channels, options, where_);
    std::vector<png_bytep> rows;
    for (std::int64_t i = 0; i < height_; ++i)
      rows.push_back(reinterpret_cast<png_bytep>(result.mutable_bytes()) + i * width_ * channels);
    guarded([&] {
      png_set_expand(png_);  // indices, and pixels of less than 8 bits
      png_set_strip_16(png_);
      if (grey && channels >= 3) png_set_gray_to_rgb(png_);
      if (channels % 2 == 1) png_set_strip_alpha(png_);
      if (channels == 4 && opaque_) png_set_add_alpha(png_, 255, PNG_FILLER_AFTER);
      png_set_interlace_handling(png_);
      png_read_update_info(png_, info_);
      if (static_cast<std::int64_t>(png_get_rowbytes(png_, info_)) != width_ * channels)
        png_error(png_, "rows of another length");
      png_read_image(png_, rows.data());
      png_read_end(png_, nullptr);
    });
    return asked == channels ? result : grey_of(result);
  }

 private:
  // libpng leaves by a jump when it fails, so `f` must not make anything that has a destructor.
  void guarded(const auto& f) {
    if (setjmp(back_) != 0) throw error(error_kind::file, "png", text_, "a file of the format", where_);
    f();
  }
  // The brightness of colours, as JPEG and Pillow have it. source  ITU-R BT.601, in 16 bits
  static array grey_of(const array& colours) {
    const std::int64_t height = colours.extent(0), width = colours.extent(1);
    array result = array::uninitialized({u8, false, {height, width, 1}});
    const auto* from = colours.values<std::uint8_t>().data();
    auto* const to = result.mutable_data<std::uint8_t>();
    for (std::int64_t i = 0; i < height * width; ++i, from += 3)
      to[i] = static_cast<std::uint8_t>((19595u * from[0] + 38470u * from[1] + 7471u * from[2] + 0x8000u) >> 16);
    return result;
  }

  std::string_view bytes_;
  const std::string& where_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  std::int64_t width_ = 0, height_ = 0;
  int kind_ = 0;
  bool opaque_ = true;
  std::jmp_buf back_{};
  char text_[200] = {};
};

}  // namespace detail

/// The pixels of a PNG file, whose name `where` messages have. Of 16 bits the upper 8 stay.
/// shapes  u8 [H, W, C]
/// errors  tokamax::error if the bytes are damaged or cut off, or of too many pixels
inline array decode_png(std::string_view bytes, const decode_options& options = {}, const std::string& where = {}) {
  detail::check_channels(options, 4);
  return detail::png_decoder(bytes, where).decode(options);
}

}  // namespace tokamax::images
