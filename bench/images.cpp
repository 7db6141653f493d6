// bench/images.cpp: images beside a loop around libjpeg-turbo that is written by hand.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/images.hpp>

#include <cmath>
#include <cstdlib>
#include <vector>

#include "support/measure.hpp"

namespace tk = tokamax;
namespace images = tokamax::images;

namespace {
constexpr std::int64_t height = 480, width = 640;

// A photo of waves and noise.
std::string photo() {
  std::vector<unsigned char> pixels(height * width * 3);
  std::uint32_t noise = 1;
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    noise = noise * 1664525 + 1013904223;
    const double x = static_cast<double>(i % (width * 3)), y = static_cast<double>(i / (width * 3));
    pixels[i] = static_cast<unsigned char>(128 + 80 * std::sin(x / 90) * std::cos(y / 25) + (noise >> 28));
  }
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &bytes, &size);
  info.image_width = width;
  info.image_height = height;
  info.input_components = 3;
  info.in_color_space = JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, 90, TRUE);
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < info.image_height) {
    unsigned char* row = pixels.data() + info.next_scanline * width * 3;
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  const std::string result(reinterpret_cast<char*>(bytes), size);
  jpeg_destroy_compress(&info);
  std::free(bytes);
  return result;
}

// What a program without tokamax would write.
std::size_t decoded_by_hand(const std::string& file) {
  jpeg_decompress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(file.data()), file.size());
  jpeg_read_header(&info, TRUE);
  jpeg_start_decompress(&info);
  const std::size_t row_bytes = std::size_t{info.output_width} * 3;
  std::vector<unsigned char> pixels(info.output_height * row_bytes);
  while (info.output_scanline < info.output_height) {
    unsigned char* row = pixels.data() + info.output_scanline * row_bytes;
    jpeg_read_scanlines(&info, &row, 1);
  }
  jpeg_finish_decompress(&info);
  jpeg_destroy_decompress(&info);
  return pixels[5];
}
}  // namespace

int main() {
  const std::string file = photo();
  std::size_t sum = 0;
  constexpr int count = 20;
  const auto seconds = bench::median_seconds_of({[&] {
                                                   for (int i = 0; i < count; ++i)
                                                     sum += static_cast<std::size_t>(images::decode{}(file).bytes()[5]);
                                                 },
                                                 [&] {
                                                   for (int i = 0; i < count; ++i) sum += decoded_by_hand(file);
                                                 }});
  bench::report("images", "JPEG of 640 x 480", "tokamax", count / seconds[0], "images/s");
  bench::report("images", "JPEG of 640 x 480", "libjpeg-turbo", count / seconds[1], "images/s");
  const tk::array image = images::decode{}(file);
  const double resized =
      bench::median_seconds([&] { sum += static_cast<std::size_t>(images::resize{224, 224}(image).bytes()[5]); });
  bench::report("images", "640 x 480 to 224 x 224", "tokamax", 1 / resized, "images/s");
  if (sum == 0) fmt::print("\n");
}
