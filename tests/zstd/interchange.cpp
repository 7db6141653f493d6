// tests/zstd/interchange.cpp: writes what check_interchange.py then reads by the programs whose formats these are.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/checkpoint/orbax/save_orbax.hpp>
#include <tokamax/data/sources/array_record_writer.hpp>
#include <tokamax/zstd.hpp>

#include <array>
#include <cstdlib>

#include "support/catch.hpp"

namespace tk = tokamax;

TEST_CASE("a folder and files for other programs", "[.interchange]") {
  struct block {
    tk::array up, gate;
  };
  struct state {
    std::array<block, 2> blocks;
    tk::array step, empty, truths;
  };
  const std::filesystem::path folder = std::getenv("TOKAMAX_INTERCHANGE");
  const auto made = [](float i) {
    return block{tk::array::from<float>({0, i, 2 * i, 3 * i, 4 * i, 5 * i}, {2, 3}),
                 tk::array::from<tk::bfloat16>({tk::bfloat16(1.5f), tk::bfloat16(1 - i)})};
  };
  const state saved{{made(1), made(2)},
                    tk::array(7),
                    tk::array::from<std::uint8_t>({}, {0, 3}),
                    tk::array::from<bool>({true, false})};
  tk::checkpoint::save_orbax(folder / "run/5/default", saved);
  for (int i = 0; i < 16; ++i)
    tk::checkpoint::save_orbax(folder / "formats" / std::to_string(i), saved,
                               {.use_ocdbt = (i & 1) != 0,
                                .use_zarr3 = (i & 2) != 0,
                                .use_compression = (i & 4) != 0,
                                .chunk_byte_size = (i & 8) != 0 ? 8u : 0u});
  for (const auto& [name, options] : std::initializer_list<std::pair<const char*, tk::data::array_record_options>>{
           {"plain", {}}, {"zstd", {.group_size = 7, .zstd = true}}}) {
    tk::data::array_record_writer out((folder / (std::string(name) + ".array_record")).string(), options);
    for (int i = 0; i < 2000; ++i) {
      std::string record;
      for (int k = 0; k < i % 300; ++k) record += "record " + std::to_string(i) + " ";
      out.write(record);
    }
    out.finish();
  }
}
