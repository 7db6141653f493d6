// tests/images/folder.cpp: a folder of images becomes batches, and goes on where a reader was.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/data.hpp>
#include <tokamax/images.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/data_files.hpp"
#include "support/temporary_folder.hpp"

namespace tk = tokamax;
namespace data = tokamax::data;
namespace images = tokamax::images;

TEST_CASE("a folder of images") {
  const auto files = golden_files("images.txt");
  const temporary_folder made;
  std::filesystem::create_directories(made.path / "sea");
  std::filesystem::create_directories(made.path / "land");
  std::filesystem::create_directories(made.path / "void");
  made.write("sea/b.JPG", files.at("colours.jpg"));
  made.write("sea/a.png", files.at("colours.png"));
  made.write("sea/notes.txt", "no image");
  made.write("land/c.jpeg", files.at("grey.jpg"));
  made.write("outside.png", files.at("grey.png"));
  const images::folder all(made.path);
  CHECK(all.size() == 3);
  CHECK(all.classes() == std::vector<std::string>{"land", "sea", "void"});
  CHECK(all[0].image.shape() == tk::shape{9, 8, 3});
  CHECK(all[0].label.item<std::int32_t>() == 0);
  CHECK(all[4].image.shape() == tk::shape{13, 19, 3});
  CHECK(all[5].label.item<std::int32_t>() == 1);
  CHECK(images::folder(made.path, {.channels = 1})[2].image.shape() == tk::shape{13, 19, 1});

  const auto batches = all | data::shuffle({.seed = 1}) | data::random_map([](images::labelled e, const auto& key) {
                         e.image = images::random_flip{}(images::resize{8, 8}(e.image), key);
                         e.image = images::normalize{{0.5f, 0.5f, 0.5f}, {0.5f, 0.5f, 0.5f}}(e.image);
                         return e;
                       }) |
                       data::repeat(4) | data::batch<images::labelled>(2) | data::prefetch({.threads = 3});
  CHECK((*batches.from().next()).value.image.type() == tk::array_type{tk::f32, false, {2, 8, 8, 3}});
  CHECK((*batches.from().next()).value.label.type() == tk::array_type{tk::i32, false, {2}});
  data::check_restores(batches);

  made.write("land/broken.png", "no image");
  CHECK_THROWS_WITH(images::folder(made.path)[0], contains("land/broken.png"));
  CHECK_THROWS_WITH(images::folder(made.path / "void"), contains("found none") && contains("void"));
  CHECK_THROWS_WITH(images::folder(made.path / "nowhere"), contains("nowhere"));
}
