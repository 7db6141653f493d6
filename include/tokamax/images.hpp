// tokamax/images.hpp: all of images: pixels of JPEG and PNG files, for programs that link tokamax::images.
// SPDX-License-Identifier: Apache-2.0
// needs <jpeglib.h>
// needs <png.h>
// umbrella: no (it needs libjpeg-turbo and libpng, which few programs need)
//
// Each change of an image is a value that is called with one, and a stage of a pipeline:
//
//  auto batches = images::folder("photos") | data::map(...) | data::random_map(images::random_flip{}) | ...
//
//   images/crop.hpp         parts of images.
//   images/decode.hpp       the pixels of a JPEG or PNG file.
//   images/decode_jpeg.hpp  the pixels of a JPEG file, by libjpeg-turbo.
//   images/decode_png.hpp   the pixels of a PNG file, by libpng.
//   images/flip.hpp         mirrored images.
//   images/folder.hpp       the images of a folder, with the names of its folders as labels.
//   images/image.hpp        arrays of pixels, and what readers of image files may be told.
//   images/normalize.hpp    pixels as numbers around 0.
//   images/resize.hpp       images of another size.
#pragma once

#include <tokamax/images/crop.hpp>
#include <tokamax/images/decode.hpp>
#include <tokamax/images/decode_jpeg.hpp>
#include <tokamax/images/decode_png.hpp>
#include <tokamax/images/flip.hpp>
#include <tokamax/images/folder.hpp>
#include <tokamax/images/image.hpp>
#include <tokamax/images/normalize.hpp>
#include <tokamax/images/resize.hpp>
