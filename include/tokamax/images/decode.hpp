// tokamax/images/decode.hpp: the pixels of a JPEG or PNG file.
// SPDX-License-Identifier: Apache-2.0
// needs <jpeglib.h>
// needs <png.h>
#pragma once

#include <tokamax/images/decode_jpeg.hpp>  // decode_jpeg
#include <tokamax/images/decode_png.hpp>   // decode_png

namespace tokamax::images {

/// Makes pixels of the bytes of a file: `images::decode{}(bytes)`, or for each element `data::map(images::decode{})`.
/// shapes  u8 [H, W, C]
/// errors  those of decode_jpeg and decode_png; tokamax::error for bytes of another format
/// source  tf.io.decode_image
struct decode {
  decode_options options;
  array operator()(std::string_view bytes, const std::string& where = {}) const {
    if (bytes.starts_with("\xff\xd8")) return decode_jpeg(bytes, options, where);
    if (bytes.starts_with("\x89PNG")) return decode_png(bytes, options, where);
    throw error(error_kind::file, "image: format", "other bytes", "JPEG or PNG", where);
  }
};

}  // namespace tokamax::images
