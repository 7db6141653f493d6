// tests/images/decode.cpp: JPEG and PNG files have the pixels that Pillow sees, and damaged ones are refused.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/images/decode.hpp>

#include <algorithm>
#include <random>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/data_files.hpp"

namespace tk = tokamax;
namespace images = tokamax::images;

namespace {
const std::map<std::string, std::string>& files() {
  static const auto all = golden_files("images.txt");
  return all;
}
std::string bytes_of(const tk::array& image) {
  return {reinterpret_cast<const char*>(image.bytes()), static_cast<std::size_t>(image.size())};
}
// The largest difference of two pixels.
int difference(const std::string& a, const std::string& b) {
  REQUIRE(a.size() == b.size());
  int most = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    most = std::max(most, std::abs(static_cast<unsigned char>(a[i]) - static_cast<unsigned char>(b[i])));
  return most;
}
}  // namespace

TEST_CASE("pixels are those that Pillow sees") {
  int compared = 0;
  for (const auto& [name, expected] : files()) {
    const std::size_t dot = name.rfind('.');
    const std::string file = name.substr(0, dot), kind = name.substr(dot + 1);
    const std::int64_t channels = kind == "rgb" ? 3 : kind == "grey" ? 1 : kind == "rgba" ? 4 : 0;
    if (channels == 0) continue;
    INFO(name);
    const tk::array image = images::decode{{.channels = channels}}(files().at(file));
    CHECK(image.dtype() == tk::u8);
    CHECK(image.extent(2) == channels);
    // Versions of libjpeg-turbo round alike.
    CHECK(difference(bytes_of(image), expected) == 0);
    ++compared;
  }
  CHECK(compared == 21);
  const auto type = [](const char* name) { return images::decode{{.channels = 0}}(files().at(name)).type().shape; };
  CHECK(type("colours.jpg") == tk::shape{13, 19, 3});
  CHECK(type("grey.jpg") == tk::shape{9, 8, 1});
  CHECK(type("opacity.png") == tk::shape{7, 6, 4});
  CHECK(type("palette.png") == tk::shape{13, 19, 3});
  CHECK(type("clear.png") == tk::shape{13, 19, 4});
  CHECK(type("bits.png") == tk::shape{9, 8, 1});
  const tk::array opaque = images::decode_png(files().at("grey.png"), {.channels = 4});
  for (std::int64_t i = 3; i < opaque.size(); i += 4) CHECK(opaque.bytes()[i] == std::byte{255});
}

TEST_CASE("files that are no images are refused") {
  const images::decode decode;
  CHECK_THROWS_WITH(decode("GIF89a", "a.gif"), contains("expected JPEG or PNG") && contains("(a.gif)"));
  CHECK_THROWS_WITH(decode("", "f"), contains("image: format"));
  CHECK_THROWS_WITH(images::decode_jpeg("", {}, "f"), contains("jpeg") && contains("(f)"));
  CHECK_THROWS_WITH(images::decode_png("", {}, "f"), contains("png: found the end of the file") && contains("(f)"));
  CHECK_THROWS_WITH(decode(files().at("print.jpg"), "f"), contains("jpeg: found Unsupported color conversion"));
  CHECK_THROWS_WITH(images::decode_jpeg(files().at("colours.jpg"), {.channels = 4}),
                    contains("found 4, expected 0, 1 or 3"));
  CHECK_THROWS_WITH(images::decode_png(files().at("colours.png"), {.channels = 2}), contains("found 2"));
  // A size is looked at before memory is taken.
  std::string wide = files().at("colours.jpg");
  const std::size_t frame = wide.find("\xff\xc0");
  REQUIRE(frame != wide.npos);
  for (std::size_t i = 5; i < 9; ++i) wide[frame + i] = '\xff';
  CHECK_THROWS_WITH(decode(wide, "f"),
                    contains("found 65535 x 65535") || contains("Maximum supported image dimension"));
  CHECK_THROWS_WITH(images::decode{{.pixels = 100}}(files().at("colours.png"), "f"),
                    contains("found 13 x 19, expected 1 to 100"));
  CHECK_THROWS_WITH(images::decode{{.pixels = 100}}(files().at("colours.jpg"), "f"),
                    contains("found 13 x 19, expected 1 to 100"));
}

TEST_CASE("every cut of a file is noticed, and any change ends in an image or an error") {
  const images::decode decode;
  std::mt19937 random(1);
  for (const auto& [name, bytes] : files()) {
    if (!name.ends_with("g") || name == "print.jpg") continue;
    INFO(name);
    for (std::size_t i = 0; i + 12 < bytes.size(); ++i) CHECK_THROWS_AS(decode(bytes.substr(0, i)), tk::error);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      std::string bad = bytes;
      bad[i] = static_cast<char>(bad[i] ^ (1u << random() % 8));
      std::string found = "an image (bad)";
      try {
        decode(bad, "bad");
      } catch (const tk::error& e) {
        found = e.what();
      }
      CHECK_THAT(found, contains("(bad)"));
    }
  }
}

TEST_CASE("a file cannot ask for any number of passes") {
  // A progressive file whose first scan is there again and again.
  const std::string& good = files().at("progressive.jpg");
  const std::size_t begin = good.find("\xff\xda");
  std::size_t end = begin + 2;
  while (good[end] != '\xff' || good[end + 1] == '\0') ++end;
  const auto with = [&](int count) {
    std::string result = good.substr(0, end);
    for (int i = 0; i < count; ++i) result += good.substr(begin, end - begin);
    return result + good.substr(end);
  };
  CHECK(images::decode_jpeg(with(50), {}, "f").size() > 0);
  CHECK_THROWS_WITH(images::decode_jpeg(with(500), {}, "f"), contains("more than 100 scans"));
}
