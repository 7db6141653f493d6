// tokamax/images/decode_jpeg.hpp: the pixels of a JPEG file, by libjpeg-turbo.
// SPDX-License-Identifier: Apache-2.0
// needs <jpeglib.h>
// tested by tests/images/decode.cpp
#pragma once

#include <tokamax/images/image.hpp>  // decode_options, new_image

#include <csetjmp>      // jmp_buf
#include <cstdio>       // snprintf
#include <string_view>  // string_view

#include <jpeglib.h>  // jpeg_decompress_struct

#include <jerror.h>  // JWRN_JPEG_EOF, JWRN_HIT_MARKER; their numbers are those of the library that jpeglib.h names

namespace tokamax::images {

namespace detail {

class jpeg_decoder {
 public:
  jpeg_decoder(std::string_view bytes, const std::string& where) : bytes_(bytes), where_(where) {
    info_.err = jpeg_std_error(&errors_);
    info_.client_data = this;
    errors_.error_exit = [](j_common_ptr info) {
      of(info).errors_.format_message(info, of(info).text_);
      std::longjmp(of(info).back_, 1);
    };
    // Of a file that is cut off the rest would be grey. Other warnings are of files that all programs show.
    errors_.emit_message = [](j_common_ptr info, int level) {
      const int code = info->err->msg_code;
      if (level < 0 && (code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER)) info->err->error_exit(info);
    };
    progress_.progress_monitor = [](j_common_ptr info) {
      if (of(info).info_.input_scan_number <= most_scans) return;
      std::snprintf(of(info).text_, sizeof of(info).text_, "more than %d scans", most_scans);
      std::longjmp(of(info).back_, 1);
    };
  }
  jpeg_decoder(const jpeg_decoder&) = delete;
  ~jpeg_decoder() { jpeg_destroy_decompress(&info_); }

  array decode(const decode_options& options) {
    guarded([&] {
      jpeg_create_decompress(&info_);
      info_.progress = &progress_;
      jpeg_mem_src(&info_, reinterpret_cast<const unsigned char*>(bytes_.data()),
                   static_cast<unsigned long>(bytes_.size()));
      jpeg_read_header(&info_, TRUE);
    });
    const bool grey = options.channels == 0 ? info_.num_components == 1 : options.channels == 1;
    const std::int64_t width = info_.image_width, channels = grey ? 1 : 3;
    array result = new_image(info_.image_height, width, channels, options, where_);
    auto* const pixels = reinterpret_cast<unsigned char*>(result.mutable_bytes());
    guarded([&] {
      info_.out_color_space = grey ? JCS_GRAYSCALE : JCS_RGB;
      jpeg_start_decompress(&info_);
      while (info_.output_scanline < info_.output_height) {
        unsigned char* row = pixels + info_.output_scanline * width * channels;
        jpeg_read_scanlines(&info_, &row, 1);
      }
      jpeg_finish_decompress(&info_);
    });
    return result;
  }

 private:
  // A file of a few bytes can ask for any number of passes over its pixels.
  static constexpr int most_scans = 100;

  static jpeg_decoder& of(j_common_ptr info) { return *static_cast<jpeg_decoder*>(info->client_data); }
  // libjpeg leaves by a jump when it fails, so `f` must not make anything that has a destructor.
  void guarded(const auto& f) {
    if (setjmp(back_) != 0) throw error(error_kind::file, "jpeg", text_, "a file of the format", where_);
    f();
  }

  std::string_view bytes_;
  const std::string& where_;
  jpeg_decompress_struct info_{};
  jpeg_error_mgr errors_{};
  jpeg_progress_mgr progress_{};
  std::jmp_buf back_{};
  char text_[JMSG_LENGTH_MAX] = {};
};

}  // namespace detail

/// The pixels of a JPEG file, whose name `where` messages have.
/// shapes  u8 [H, W, C]
/// errors  tokamax::error if the bytes are damaged or cut off, of colours for printing (CMYK), or of too many pixels
inline array decode_jpeg(std::string_view bytes, const decode_options& options = {}, const std::string& where = {}) {
  detail::check_channels(options, 3);
  return detail::jpeg_decoder(bytes, where).decode(options);
}

}  // namespace tokamax::images
