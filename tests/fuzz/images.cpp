// tests/fuzz/images.cpp: any bytes as JPEG and PNG files.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/images.hpp>

#include "fuzz/fuzz.hpp"

void fuzz(std::string_view bytes) {
  for (const std::int64_t channels : {0, 1, 3}) {
    only_errors([&] {
      const tokamax::array image = tokamax::images::decode{{.channels = channels, .pixels = 1 << 20}}(bytes, "f");
      if (image.size() > 4 << 20) std::abort();
    });
  }
}
