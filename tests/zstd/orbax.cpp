// tests/zstd/orbax.cpp: the folders that Orbax wrote, whole and damaged.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/checkpoint/orbax/orbax_folder.hpp>
#include <tokamax/zstd.hpp>

#include <array>
#include <random>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/temporary_folder.hpp"

namespace tk = tokamax;
namespace fs = std::filesystem;
using tk::checkpoint::orbax_folder;
using tk::checkpoint::restore_orbax;

namespace {
struct layer {
  tk::array kernel{tk::array_type{tk::f32, false, {6, 8}}}, bias{tk::array_type{tk::bf16, false, {8}}};
};
struct parameters {
  std::array<layer, 2> layers;
  tk::array scale{tk::array_type{tk::f16, false, {3, 4}}};
};
struct state {
  parameters params;
  tk::array step{tk::array_type{tk::i32, false, {}}}, mask{tk::array_type{tk::bool_, false, {3}}},
      zeros{tk::array_type{tk::i8, false, {4, 4}}};
};
// What make_orbax.py saved.
void check(const state& s) {
  for (int l : {0, 1}) {
    const float sign = l == 0 ? 1 : -1;
    const layer& one = s.params.layers[static_cast<std::size_t>(l)];
    for (int i = 0; i < 48; ++i) CHECK(one.kernel.values<float>()[static_cast<std::size_t>(i)] == sign * float(i) / 8);
    for (int i = 0; i < 8; ++i)
      CHECK(float(one.bias.values<tk::bfloat16>()[static_cast<std::size_t>(i)]) == sign * float(i));
  }
  for (const auto value : s.params.scale.values<tk::float16>()) CHECK(float(value) == 0.5f);
  CHECK(s.step.item<int>() == 7);
  CHECK(std::ranges::equal(s.mask.values<bool>(), std::array{true, false, true}));
  for (const std::int8_t value : s.zeros.values<std::int8_t>()) CHECK(value == 0);
}
const fs::path golden = fs::path(TOKAMAX_ROOT) / "tests/golden/orbax";
}  // namespace

TEST_CASE("what Orbax writes is read bit for bit") {
  for (const char* name : {"v0_files", "v0_ocdbt", "merged", "v1"}) {
    CAPTURE(name);
    state s;
    restore_orbax(golden / name, s);
    check(s);
    restore_orbax(golden / name, s);  // once more, into leaves that have data
    check(s);
    CHECK(orbax_folder(golden / name).arrays().size() == 8);
  }
  state s;
  restore_orbax(golden / "v1", s, {.item = "state"});
  check(s);
  CHECK_THROWS_WITH(restore_orbax(golden / "v1", s, {.item = "optimizer"}), contains("found the items state"));
  CHECK_THROWS_WITH(orbax_folder(golden / "none"), contains("no _METADATA"));
  struct model {
    layer first;
    tk::array other = tk::array(tk::array_type{tk::f32, false, {2}});
  } m;
  const auto options = [] {
    return tk::checkpoint::restore_options{.partial = true, .rename = {{"first", "params.layers[1]"}}};
  };
  CHECK_THROWS_WITH(restore_orbax(golden / "v1", m, options()), contains("leaf other: found nothing"));
  auto kept = options();
  kept.missing = tk::checkpoint::when_missing::keep;
  restore_orbax(golden / "v1", m, kept);
  CHECK(m.first.kernel.values<float>()[8] == -1);
  m.first.bias = tk::array(tk::array_type{tk::bf16, false, {9}});
  CHECK_THROWS_WITH(restore_orbax(golden / "v1", m, kept), contains("found bf16[8], expected bf16[9]"));
}

TEST_CASE("damaged folders are refused, or read as far as they are whole") {
  const temporary_folder made;
  std::mt19937 random(3);
  for (const char* name : {"v0_files", "merged", "v1"}) {
    const fs::path folder = made.path / name;
    fs::copy(golden / name, folder, fs::copy_options::recursive);
    int refused = 0, tried = 0;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (!entry.is_regular_file()) continue;
      const std::string good = tk::read_file(entry.path());
      for (int i = 0; i < 40; ++i) {
        std::string bad = good;
        if (bad.empty()) continue;
        if (i % 4 == 0)
          bad.resize(random() % bad.size());
        else
          bad[random() % bad.size()] ^= static_cast<char>(1u << random() % 8);
        made.write(entry.path().lexically_relative(made.path).string(), bad);
        state s;
        ++tried;
        try {
          restore_orbax(folder, s);
        } catch (const tk::error& e) {
          ++refused;
          CHECK_THAT(e.what(), contains(made.path.string()));
        }
      }
      made.write(entry.path().lexically_relative(made.path).string(), good);
    }
    CAPTURE(name, tried, refused);
    CHECK(refused > tried / 5);
    state s;
    restore_orbax(folder, s);
    check(s);
  }
}
