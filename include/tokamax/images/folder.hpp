// tokamax/images/folder.hpp: the images of a folder, with the names of its folders as labels.
// SPDX-License-Identifier: Apache-2.0
// needs <jpeglib.h>
// needs <png.h>
#pragma once

#include <tokamax/base/system/file.hpp>  // read_file
#include <tokamax/data/dataset.hpp>      // dataset
#include <tokamax/images/decode.hpp>     // decode

#include <algorithm>   // sort
#include <filesystem>  // directory_iterator
#include <memory>      // shared_ptr
#include <vector>      // vector

namespace tokamax::images {

/// An image u8 [H, W, C] and its class, an i32.
struct labelled {
  array image, label;
};

/// The files CLASS/NAME.jpg, .jpeg and .png of a folder, by class and name. An image is read when it is asked for.
/// source  torchvision.datasets.ImageFolder
class folder : public data::dataset<folder> {
 public:
  /// errors  tokamax::error that names the folder if it has no images
  explicit folder(const std::filesystem::path& path, decode_options options = {}) : decode_{options} {
    auto found = std::make_shared<contents>();
    for (const auto& one : entries(path))
      if (std::filesystem::is_directory(one)) found->classes.push_back(one.filename().string());
    for (const std::string& name : found->classes) {
      const auto label = static_cast<std::int32_t>(&name - found->classes.data());
      for (const auto& file : entries(path / name))
        if (is_image(file)) found->files.push_back({file.string(), label});
    }
    if (found->files.empty())
      throw error(error_kind::file, "images::folder", "none", "files CLASS/NAME.jpg, .jpeg or .png", path.string());
    contents_ = std::move(found);
  }
  std::int64_t size() const { return static_cast<std::int64_t>(contents_->files.size()); }
  /// errors  those of decode, with the name of the file
  labelled operator[](std::int64_t index) const {
    const entry& file = contents_->files[static_cast<std::size_t>(index % size())];
    array label(file.label);
    label.materialize();
    return {decode_(read_file(file.path), file.path), label};
  }
  /// The names of the classes: label i is that of number i.
  const std::vector<std::string>& classes() const { return contents_->classes; }

 private:
  struct entry {
    std::string path;
    std::int32_t label;
  };
  struct contents {
    std::vector<std::string> classes;
    std::vector<entry> files;
  };
  static std::vector<std::filesystem::path> entries(const std::filesystem::path& path) {
    std::error_code failure;
    std::vector<std::filesystem::path> result;
    for (std::filesystem::directory_iterator at(path, failure), end; !failure && at != end; at.increment(failure))
      result.push_back(at->path());
    if (failure)
      throw error(error_kind::file, "images::folder", failure.message(), "a folder that can be read", path.string());
    std::sort(result.begin(), result.end());
    return result;
  }
  static bool is_image(const std::filesystem::path& file) {
    std::string ending = file.extension().string();
    for (char& c : ending) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return ending == ".jpg" || ending == ".jpeg" || ending == ".png";
  }

  decode decode_;
  std::shared_ptr<const contents> contents_;
};

}  // namespace tokamax::images
