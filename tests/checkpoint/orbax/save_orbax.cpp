// tests/checkpoint/orbax/save_orbax.cpp: what is written for Orbax, read back here. The test `interchange` has Orbax read it.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/checkpoint/orbax/save_orbax.hpp>

#include <tokamax/checkpoint/orbax/orbax_folder.hpp>

#include <array>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/temporary_folder.hpp"

namespace tk = tokamax;
namespace fs = std::filesystem;
using namespace tokamax::checkpoint;

namespace {
struct block {
  tk::array up, gate;
};
struct state {
  std::array<block, 2> blocks;
  tk::array step, empty, truths;
};
state saved() {
  return {
      {block{tk::array::from<float>({1, 2, 3, 4, 5, 6}, {2, 3}), tk::array::from<tk::bfloat16>({tk::bfloat16(1.5f)})},
       block{tk::array::from<float>({-1, -2, -3, -4, -5, -6}, {2, 3}),
             tk::array::from<tk::bfloat16>({tk::bfloat16(-2)})}},
      tk::array(7),
      tk::array::from<std::uint8_t>({}, {0, 3}),
      tk::array::from<bool>({true, false})};
}
// The same leaves without data.
state expected() {
  state s = saved();
  tk::for_each_leaf([](tk::array& leaf) { leaf = tk::array(leaf.type()); }, s);
  return s;
}
}  // namespace

TEST_CASE("a tree comes back from a folder for Orbax") {
  const temporary_folder made;
  const fs::path folder = made.path / "run" / "5" / "default";
  save_orbax(folder, saved());
  CHECK(fs::exists(folder / "_METADATA"));
  CHECK(tk::read_file(folder / "blocks.1.up" / "0.0").size() == 24);
  CHECK(tk::read_file(folder / "step" / "0") == std::string("\7\0\0\0", 4));
  CHECK(!fs::exists(folder / "empty" / "0.0"));
  for (const fs::path& path : {folder, folder.parent_path()}) {  // a step has the items
    state s = expected();
    restore_orbax(path, s);
    CHECK(s.blocks[1].up.values<float>()[5] == -6);
    CHECK(float(s.blocks[0].gate.values<tk::bfloat16>()[0]) == 1.5f);
    CHECK(s.step.item<int>() == 7);
    CHECK(s.empty.shape() == tk::shape{0, 3});
    CHECK(s.truths.values<bool>()[0]);
  }
  CHECK_THROWS_WITH(save_orbax(folder, saved()), contains("exists already"));
  save_orbax(made.path / "one", tk::array(2.5f));
  tk::array value(tk::array_type{tk::f32, false, {}});
  restore_orbax(made.path / "one", value);
  CHECK(value.item<float>() == 2.5f);
}

TEST_CASE("chunks have the shapes of Orbax") {
  const auto shape = [](std::vector<std::int64_t> whole, std::int64_t elements) {
    return chunk_shape(whole, elements);
  };
  using extents = std::vector<std::int64_t>;
  CHECK(shape({10, 100, 200}, 1) == extents{1, 1, 1});
  CHECK(shape({10, 100, 200}, 125) == extents{5, 5, 5});
  CHECK(shape({10, 100, 200}, 625) == extents{5, 10, 10});
  CHECK(shape({7, 0}, 100) == extents{7, 1});
  CHECK(shape({}, 1).empty());
}

TEST_CASE("trees come back from all formats") {
  const temporary_folder made;
  int number = 0;
  for (const bool use_ocdbt : {false, true}) {
    for (const bool use_zarr3 : {false, true}) {
      for (const std::uint64_t chunk_byte_size : {0, 8, 1}) {
        const fs::path folder = made.path / std::to_string(number++);
        save_orbax(folder, saved(),
                   {.use_ocdbt = use_ocdbt, .use_zarr3 = use_zarr3, .chunk_byte_size = chunk_byte_size});
        CHECK(fs::exists(folder / "manifest.ocdbt") == use_ocdbt);
        state s = expected();
        restore_orbax(folder, s);
        for (std::size_t b = 0; b < 2; ++b) {
          CHECK(std::ranges::equal(s.blocks[b].up.values<float>(), saved().blocks[b].up.values<float>()));
          CHECK(float(s.blocks[b].gate.values<tk::bfloat16>()[0]) ==
                float(saved().blocks[b].gate.values<tk::bfloat16>()[0]));
        }
        CHECK(s.step.item<int>() == 7);
        CHECK(s.truths.values<bool>()[0]);
        CHECK(!s.truths.values<bool>()[1]);
      }
    }
  }
  save_orbax(made.path / "cast", saved(), {.cast = tk::f16});
  const orbax_folder folder(made.path / "cast");
  CHECK(folder.arrays().at("blocks[0].gate").type.dtype == tk::f16);
  CHECK(folder.arrays().at("step").type.dtype == tk::i32);
  CHECK(float(folder.read("blocks[1].up").values<tk::float16>()[5]) == -6);
  CHECK_THROWS_WITH(save_orbax(made.path / "a", saved(), {.cast = tk::i32}),
                    contains("dtype of blocks[0].up: found i32"));
  CHECK_THROWS_WITH(save_orbax(made.path / "a", saved(), {.use_compression = true}), contains("links tokamax::zstd"));
  CHECK(!fs::exists(made.path / "a"));
}

TEST_CASE("a save for Orbax that fails leaves nothing") {
  const temporary_folder made;
  CHECK_THROWS_WITH(save_orbax(made.path / "a", expected()), contains("without data"));
  state s = saved();
  s.empty = tk::array::from<tk::int4>({tk::int4(1)});
  CHECK_THROWS_WITH(save_orbax(made.path / "a", s), contains("dtype of empty: found i4"));
  CHECK(fs::is_empty(made.path));
}

TEST_CASE("folders that are none of Orbax are refused") {
  const temporary_folder made;
  const fs::path folder = made.path / "a";
  save_orbax(folder, saved());
  const std::string good = tk::read_file(folder / "_METADATA");
  const auto refused = [&](const std::string& text, const char* what) {
    made.write("a/_METADATA", text);
    CHECK_THROWS_WITH(orbax_folder(folder), contains(what) && contains(folder.string()));
  };
  refused("[]", "expected a record with tree_metadata");
  refused(R"({"tree_metadata": {"a": 3}})", "key_metadata");
  refused(R"({"tree_metadata": {"a": {"key_metadata": [{"key": null}]}}})", "texts or numbers");
  refused(
      R"({"tree_metadata": {"a": {"key_metadata": [{"key": "q"}], "value_metadata": {"value_type": "jax.Array"}}}})",
      "array q: found nothing");
  refused(R"({"tree_metadata": {"a": {"key_metadata": [{"key": "step"}]}, "b": {"key_metadata": [{"key": "step"}]}}})",
          "distinct names");
  made.write("a/_METADATA",
             R"({"tree_metadata": {"a": {"key_metadata": [{"key": "t"}], "value_metadata": {"value_type": "None"}}}})");
  CHECK(orbax_folder(folder).arrays().empty());  // what is no array
  CHECK_THROWS_WITH(orbax_folder(folder).read("t"), contains("array t: found nothing"));
  made.write("a/_METADATA", good);
  save_orbax(made.path / "b", saved());
  CHECK_THROWS_WITH(orbax_folder(made.path), contains("the items a, b") || contains("the items b, a"));
  CHECK(orbax_folder(made.path, "b").arrays().size() == 7);
  fs::remove(folder / "step" / "0");
  fs::create_directory(folder / "step" / "0");
  state s = expected();
  restore_orbax(folder, s);  // a chunk that is not there is zeros
  CHECK(s.step.item<int>() == 0);
  made.write("a/truths/0", "\1\2");
  CHECK_THROWS_WITH(restore_orbax(folder, s), contains("truths") && contains("a byte above 1"));
}
