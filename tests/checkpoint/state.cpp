// tests/checkpoint/state.cpp: whole trees to a folder and back, or nothing at all.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/far.hpp>
#include <tokamax/checkpoint/metadata_file.hpp>
#include <tokamax/checkpoint/restore_async.hpp>
#include <tokamax/checkpoint/state.hpp>
#include <tokamax/random/key.hpp>
#include <tokamax/runtime/device_put.hpp>

#include <nlohmann/json.hpp>

#include <atomic>
#include <cmath>
#include <thread>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/temporary_folder.hpp"

namespace tk = tokamax;
namespace checkpoint = tokamax::checkpoint;
namespace fs = std::filesystem;

namespace {
struct layer {
  tk::array weight, bias;
  int heads = 4;
};
struct network {
  tk::array embed;
  std::vector<layer> blocks;
};
struct state {
  network model;
  std::pair<tk::array, tk::array> moments;
};
struct only_model {
  network model;
};

tk::array filled(const tk::shape& extents, float first) {
  tk::array a = tk::array::uninitialized({tk::f32, false, extents});
  for (std::int64_t i = 0; i < a.size(); ++i) a.mutable_data<float>()[i] = first + static_cast<float>(i);
  return a;
}
state concrete(float first) {
  const layer one{filled({2, 3}, first), filled({3}, first + 1)},
      two{filled({3, 2}, first + 2), filled({2}, first + 3)};
  return {{tk::array::from<tk::bfloat16>({tk::bfloat16(first)}), {one, two}},
          {tk::array(first), tk::array::from<std::int32_t>({7, 8})}};
}
state abstract() {
  state result = concrete(0);
  tk::for_each_leaf([](tk::array& leaf) { leaf = tk::array(leaf.type()); }, result);
  return result;
}
bool same(const state& a, const state& b) {
  bool result = true;
  tk::for_each_leaf(
      [&](tk::array x, tk::array y) {
        x.materialize();
        y.materialize();
        result = result && x.type() == y.type() &&
                 std::ranges::equal(checkpoint::detail::bytes_of(x), checkpoint::detail::bytes_of(y));
      },
      a, b);
  return result;
}
std::string message_of(const auto& f) {
  try {
    f();
  } catch (const tk::error& e) {
    return e.what();
  }
  return "no error";
}
void flip(const fs::path& path, std::uintmax_t at) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(at));
  const char old = static_cast<char>(file.get());
  file.seekp(static_cast<std::streamoff>(at));
  file.put(static_cast<char>(old ^ 1));
}
}  // namespace

TEST_CASE("a tree is restored into abstract and concrete leaves") {
  const temporary_folder folder;
  checkpoint::save(folder.path / "7", concrete(1), checkpoint::metadata{7, {}}.set("loss", 0.5));
  for (state s : {abstract(), concrete(9)}) {
    const checkpoint::metadata about = checkpoint::restore(folder.path / "7", s);
    CHECK(same(s, concrete(1)));
    CHECK(about.step == 7);
    CHECK(about.get<double>("loss") == 0.5);
  }
  const checkpoint::safetensors_file file(folder.path / "7" / "arrays.safetensors");
  CHECK(file.arrays().contains("model.blocks[1].weight"));
  CHECK(file.arrays().contains("moments[0]"));
}

TEST_CASE("a model of another device is saved through a few MiB of the host's memory") {
  const temporary_folder folder;
  const tk::far_device far(50);
  tk::buffer_pool& pool = tk::buffer_pool::instance();
  constexpr std::int64_t odd = (std::int64_t{9} << 20) + 3;  // larger than a piece, and no multiple of it
  const auto number = [](std::int64_t i) { return static_cast<float>(i % 1021) + 0.5f; };
  const auto make = [&](tk::dtype type) {
    tk::array a = tk::array::uninitialized({type, false, {odd}});
    for (std::int64_t i = 0; i < odd; ++i)
      if (type == tk::f32)
        a.mutable_data<float>()[i] = number(i);
      else
        a.mutable_data<tk::uint4>()[i] = tk::uint4(static_cast<int>(i * 7 % 16));
    return a;
  };
  std::vector<tk::array> model;
  for (int i = 0; i < 3; ++i) model.push_back(tk::device_put(make(tk::f32), far));  // 36 MiB each
  model.push_back(tk::device_put(make(tk::u4), far));
  model.push_back(tk::device_put(tk::array::from<float>({}), far));
  far.get().synchronize();
  pool.trim();
  const std::size_t before = pool.used_bytes() + pool.idle_bytes();
  std::atomic<bool> saved = false;
  std::atomic<std::size_t> most = 0;
  far.delay(3, 400);  // so that each piece takes some time
  std::thread watch([&] {
    while (!saved) most = std::max(most.load(), pool.used_bytes() + pool.idle_bytes());
  });
  checkpoint::save(folder.path / "7", model);
  saved = true;
  watch.join();
  far.delay(0, 0);
  CHECK(most - before > 0);
  CHECK(most - before <= std::size_t{64} << 20);
  for (const tk::array& leaf : model) CHECK(leaf.storage()->next == nullptr);
  checkpoint::check(folder.path / "7");
  std::vector<tk::array> back = model;
  checkpoint::restore(folder.path / "7", back);
  for (std::size_t k : {0u, 1u, 2u}) CHECK(std::ranges::equal(back[k].values<float>(), make(tk::f32).values<float>()));
  CHECK(std::ranges::equal(checkpoint::detail::bytes_of(back[3]), checkpoint::detail::bytes_of(make(tk::u4))));
  checkpoint::save(folder.path / "8", back);  // of the host: the same bytes
  const auto bytes_of_file = [&](const char* step) {
    std::ifstream file(folder.path / step / "arrays.safetensors", std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  CHECK(bytes_of_file("7") == bytes_of_file("8"));
}

TEST_CASE("a restored tree shares nothing with the old one") {
  const temporary_folder folder;
  checkpoint::save(folder.path / "7", concrete(1));
  state s = concrete(9);
  const state copy = s;
  checkpoint::restore(folder.path / "7", s);
  CHECK(same(copy, concrete(9)));
}

TEST_CASE("a single array, and a model out of more, are trees too") {
  const temporary_folder folder;
  checkpoint::save(folder.path / "a" / "", filled({4}, 1));
  tk::array a({tk::f32, false, {4}});
  checkpoint::restore(folder.path / "a", a);
  CHECK(a.values<float>()[3] == 4);

  checkpoint::save(folder.path / "b", concrete(1));
  only_model m{abstract().model};
  CHECK_THROWS_WITH(checkpoint::restore(folder.path / "b", m), contains("leaf moments[0]") && contains("no such leaf"));
  CHECK(m.model.embed.is_abstract());
  checkpoint::restore(folder.path / "b", m, {.partial = true});
  CHECK(same({m.model, concrete(1).moments}, concrete(1)));
}

TEST_CASE("differences name the leaf and change nothing") {
  const temporary_folder folder;
  const fs::path path = folder.path / "7";
  checkpoint::save(path, concrete(1));
  const auto check = [&](const state& original, const std::string& expected) {
    state s = original;
    CHECK_THAT(message_of([&] { checkpoint::restore(path, s); }), contains(expected) && contains(path.string()));
    CHECK(same(original, s));
  };
  state s = concrete(9);
  s.model.blocks[1].weight = filled({3, 3}, 0);
  check(s, "leaf model.blocks[1].weight: found f32[3,2], expected f32[3,3]");
  s = concrete(9);
  s.moments.second = tk::array::from<float>({7, 8});
  check(s, "leaf moments[1]: found i32[2], expected f32[2]");
  s = concrete(9);
  s.model.blocks.push_back(s.model.blocks[0]);
  check(s, "leaf model.blocks[2].weight: found nothing, expected f32[2,3]");
  s = concrete(9);
  s.model.blocks.pop_back();
  check(s, "leaf model.blocks[1].bias: found f32[2], expected no such leaf");
  state t = abstract();
  checkpoint::restore(path, t);
  CHECK(same(t, concrete(1)));
}

TEST_CASE("a save that fails leaves nothing") {
  const temporary_folder folder;
  state s = concrete(1);
  s.model.blocks[0].bias = tk::array(s.model.blocks[0].bias.type());
  CHECK_THROWS_WITH(checkpoint::save(folder.path / "7", s),
                    contains("model.blocks[0].bias") && contains("f32[3] without data"));
  CHECK_THROWS_WITH(checkpoint::save(folder.path / "7", concrete(1), checkpoint::metadata{}.set("text", "\xff")),
                    contains("UTF-8"));
  CHECK(fs::is_empty(folder.path));
  checkpoint::save(folder.path / "7", concrete(1));
  CHECK_THROWS_WITH(checkpoint::save(folder.path / "7", concrete(2)), contains("exists already"));
  checkpoint::restore(folder.path / "7", s);
  CHECK(same(s, concrete(1)));
  CHECK_THROWS_WITH(checkpoint::save(folder.write("file", "") / "7", s), contains("Not a directory"));
}

TEST_CASE("every flipped bit and every cut is noticed") {
  const temporary_folder folder;
  const fs::path good = folder.path / "good", bad = folder.path / "bad";
  checkpoint::save(good, concrete(1), checkpoint::metadata{7, {}}.set("loss", 0.5));
  for (const char* name : {"arrays.safetensors", "metadata.json"}) {
    const std::uintmax_t size = fs::file_size(good / name);
    for (std::uintmax_t i = 0; i < size; ++i) {
      for (const bool cut : {false, true}) {
        fs::remove_all(bad);
        fs::copy(good, bad);
        if (cut)
          fs::resize_file(bad / name, i);
        else
          flip(bad / name, i);
        state s = abstract();
        try {
          checkpoint::restore(bad, s);
          CHECK(same(s, concrete(1)));  // only what means nothing may differ, such as the last line's end
          INFO(name << " " << i);
          CHECK(std::string(name) == "metadata.json");
          CHECK(i + 3 > size);
        } catch (const tk::error& e) {
          CHECK_THAT(e.what(), contains(bad.string()));
          CHECK(s.model.embed.is_abstract());
        }
      }
    }
  }
}

TEST_CASE("missing files are named") {
  const temporary_folder folder;
  state s = abstract();
  CHECK_THROWS_WITH(checkpoint::restore(folder.path / "7", s), contains("No such file") && contains("7/metadata.json"));
  checkpoint::save(folder.path / "7", concrete(1));
  fs::remove(folder.path / "7" / "arrays.safetensors");
  CHECK_THROWS_WITH(checkpoint::restore(folder.path / "7", s), contains("7/arrays.safetensors"));
}

TEST_CASE("keys are saved, restored and mapped") {
  struct noisy {
    tk::array weight;
    tk::random::key key;
    std::vector<tk::random::key> more;
  };
  const temporary_folder folder;
  checkpoint::save(folder.path / "7", noisy{filled({2}, 1), tk::random::key(5), {tk::random::key(6)}});
  noisy s{tk::array({tk::f32, false, {2}}), {}, {tk::random::key(1)}};
  checkpoint::restore(folder.path / "7", s);
  CHECK(s.key.values<std::uint32_t>()[1] == 5);
  CHECK(s.more[0].values<std::uint32_t>()[1] == 6);
  const noisy copy = tk::tree_map([](const tk::array& leaf) { return leaf; }, s);
  CHECK(copy.key.values<std::uint32_t>()[1] == 5);
}

TEST_CASE("crafted metadata are refused before a leaf changes") {
  const temporary_folder folder;
  const fs::path path = folder.path / "7";
  checkpoint::save(path, concrete(1));
  using nlohmann::json;
  const json good = json::parse(std::ifstream(path / "metadata.json"));
  const auto refused = [&](const std::string& text) {
    INFO(text.substr(0, 200));
    std::ofstream(path / "metadata.json", std::ios::binary) << text;
    state s = concrete(9);
    CHECK_THAT(message_of([&] { checkpoint::restore(path, s); }), contains("metadata.json"));
    CHECK(same(s, concrete(9)));
    CHECK_THROWS_AS(checkpoint::about(path), tk::error);
    CHECK_THROWS_AS(checkpoint::check(path), tk::error);
  };
  const auto with_checksum = [](json all) {
    all.erase("crc32c");
    all["crc32c"] = checkpoint::detail::crc32c_of(all.dump());
    return all.dump();
  };
  const auto with = [&](const char* name, const json& value) {
    json all = good;
    all[name] = value;
    return with_checksum(all);
  };
  refused(R"({"format":1,"crc32c":1,"entries":)" + std::string(100000, '[') + std::string(100000, ']') + "}");
  for (const char* name : {"format", "crc32c", "step", "entries", "arrays"}) {
    json all = good;
    all.erase(name);
    refused(std::string(name) == "crc32c" ? all.dump() : with_checksum(all));
    for (const json& value : {json(), json("7"), json(7.0), json(1e64), json(true), json(json::array({1}))})
      if (std::string(name) != "crc32c") refused(with(name, value));
  }
  refused(with("step", json(1ull << 63)));
  refused(with("arrays", json{{"model.embed", -1}}));
  refused(with("arrays", json{{"model.embed", 1ull << 32}}));
  refused(with("arrays", json{{"model.embed", 1.0}}));
  refused(with("more", json(1)));
  refused(good.dump() + "x");
  refused("null");
  refused("");
  json nested = json::array();
  for (int i = 0; i < 100; ++i) nested = json::array({nested});
  checkpoint::metadata about;
  about.entries["deep"] = nested;
  CHECK_THROWS_WITH(checkpoint::save(folder.path / "8", concrete(1), about), contains("depth"));
  CHECK_FALSE(fs::exists(folder.path / "8"));
}

TEST_CASE("a checkpoint is checked without its tree") {
  const temporary_folder folder;
  checkpoint::save(folder.path / "7", concrete(1), checkpoint::metadata{7, {}}.set("loss", 0.5));
  checkpoint::check(folder.path / "7");
  CHECK(checkpoint::about(folder.path / "7").get<double>("loss") == 0.5);
  flip(folder.path / "7" / "arrays.safetensors", fs::file_size(folder.path / "7" / "arrays.safetensors") - 1);
  CHECK_THROWS_WITH(checkpoint::check(folder.path / "7"), contains("damaged leaf") && contains("7/arrays.safetensors"));
  CHECK(checkpoint::about(folder.path / "7").step == 7);
}

TEST_CASE("every failure of a save is an error of the library") {
  const temporary_folder folder;
  CHECK_THROWS_AS(checkpoint::save(folder.write("file", "") / "a" / "7", concrete(1)), tk::error);
  CHECK_THROWS_AS(checkpoint::save("/proc/no/7", concrete(1)), tk::error);
  CHECK_THROWS_AS(checkpoint::save(folder.path / std::string(300, 'x'), concrete(1)), tk::error);
}

TEST_CASE("parts of a tree are restored, and other names and dtypes are met") {
  const temporary_folder folder;
  const fs::path path = folder.path / "7";
  checkpoint::save(path, concrete(1));
  state s = concrete(9);
  checkpoint::restore(path, s, {.only = {"model.blocks[1]", "moments[0]"}});
  CHECK(same({{concrete(9).model.embed, {concrete(9).model.blocks[0], concrete(1).model.blocks[1]}},
              {concrete(1).moments.first, concrete(9).moments.second}},
             s));
  CHECK_THROWS_WITH(checkpoint::restore(path, s, {.only = {"model.blocks[1].wei", "moments[0]"}}),
                    contains("found model.blocks[1].wei, expected a part of the tree"));
  CHECK_THROWS_WITH(checkpoint::restore(path, s, {.rename = {{"net", "model"}}}), contains("found net, expected"));

  struct renamed {
    network net;
  } net{abstract().model};
  CHECK_THROWS_WITH(checkpoint::restore(path, net, {.partial = true}), contains("leaf net.embed: found nothing"));
  CHECK_THROWS_WITH(checkpoint::restore(path, net, {.rename = {{"net", "model"}}}), contains("moments[0]"));
  checkpoint::restore(path, net, {.partial = true, .rename = {{"net", "model"}}});
  CHECK(same({net.net, concrete(1).moments}, concrete(1)));
  network root = abstract().model;
  checkpoint::restore(path, root, {.partial = true, .rename = {{"", "model"}}});
  CHECK(same({root, concrete(1).moments}, concrete(1)));
  CHECK_THROWS_WITH(checkpoint::restore(path, root, {.partial = true, .rename = {{"blocks[0]", "model.blocks[7]"}}}),
                    contains("found nothing"));

  s = concrete(9);
  s.model.blocks.push_back({filled({2, 2}, 5), filled({2}, 5)});
  CHECK_THROWS_WITH(checkpoint::restore(path, s), contains("leaf model.blocks[2].weight"));
  checkpoint::restore(path, s, {.missing = checkpoint::when_missing::keep});
  CHECK(s.model.blocks.back().weight.values<float>()[3] == 8);
  s.model.blocks.pop_back();
  CHECK(same(s, concrete(1)));
}

TEST_CASE("floats are converted where that is asked for, and nothing else is") {
  const temporary_folder folder;
  struct mixed {
    tk::array a, b, c;
  };
  const auto of = [](tk::dtype a, tk::dtype b, tk::dtype c) {
    return mixed{tk::array({a, false, {3}}), tk::array({b, false, {2}}), tk::array({c, false, {1}})};
  };
  checkpoint::save(folder.path / "7", mixed{tk::array::from<float>({1.00390625f, -2, 1e30f}),
                                            tk::array::from<tk::bfloat16>({tk::bfloat16(3), tk::bfloat16(-0.5f)}),
                                            tk::array::from<std::int32_t>({7})});
  mixed other = of(tk::bf16, tk::f32, tk::i32);
  CHECK_THROWS_WITH(checkpoint::restore(folder.path / "7", other), contains("leaf a: found f32[3], expected bf16[3]"));
  checkpoint::restore(folder.path / "7", other, {.cast = true});
  CHECK(static_cast<float>(other.a.values<tk::bfloat16>()[0]) == 1.0f);  // a tie goes to the even mantissa
  CHECK(other.b.values<float>()[1] == -0.5f);
  other = of(tk::f16, tk::f64, tk::i32);
  checkpoint::restore(folder.path / "7", other, {.cast = true});
  CHECK(std::isinf(static_cast<float>(other.a.values<tk::float16>()[2])));
  CHECK(other.b.values<double>()[0] == 3);
  other = of(tk::f32, tk::bf16, tk::f32);
  CHECK_THROWS_WITH(checkpoint::restore(folder.path / "7", other, {.cast = true}), contains("leaf c: found i32[1]"));
  other = {tk::array({tk::f32, false, {4}}), other.b, tk::array({tk::i32, false, {1}})};
  CHECK_THROWS_WITH(checkpoint::restore(folder.path / "7", other, {.cast = true}), contains("expected f32[4]"));
}

TEST_CASE("items are saved in one step, and each is restored by itself") {
  const temporary_folder folder;
  const fs::path path = folder.path / "7";
  struct place {
    std::int64_t epoch, index;
  };
  const std::string bytes("\0a\xff", 3);
  checkpoint::save(path,
                   checkpoint::items()
                       .tree("model", concrete(1).model)
                       .tree("model_average", concrete(3).model)
                       .tree("key", tk::random::key(5))
                       .record("data", place{2, 7})
                       .bytes("tokenizer", bytes)
                       .bytes("nothing", ""),
                   checkpoint::metadata{7, {}}.set("loss", 0.5));
  network model = abstract().model, average = concrete(9).model;
  tk::random::key key;
  CHECK(checkpoint::restore(path, model, {.item = "model"}).get<double>("loss") == 0.5);
  checkpoint::restore(path, average, {.item = "model_average"});
  checkpoint::restore(path, key, {.item = "key"});
  CHECK(same({model, concrete(0).moments}, {concrete(1).model, concrete(0).moments}));
  CHECK(same({average, concrete(0).moments}, {concrete(3).model, concrete(0).moments}));
  CHECK(key.values<std::uint32_t>()[1] == 5);
  CHECK(checkpoint::about(path).get<place>("data").index == 7);
  CHECK(checkpoint::read_bytes(path, "tokenizer") == bytes);
  CHECK(checkpoint::read_bytes(path, "nothing").empty());
  CHECK_THROWS_WITH(checkpoint::read_bytes(path, "model"), contains("item model: found nothing"));
  CHECK_THROWS_WITH(checkpoint::read_bytes(path, "model.embed"), contains("no bytes"));
  model.blocks.pop_back();
  CHECK_THROWS_WITH(checkpoint::restore(path, model, {.item = "model"}), contains("leaf model.blocks[1].bias"));
  CHECK(checkpoint::types(path).at("model.blocks[1].weight") == tk::array_type{tk::f32, false, {3, 2}});
  CHECK(checkpoint::types(path).size() == 13);
  CHECK_THROWS_WITH(
      checkpoint::save(folder.path / "8", checkpoint::items().record("loss", 1), checkpoint::metadata{}.set("loss", 2)),
      contains("loss twice"));
  CHECK_THROWS_WITH(checkpoint::save(folder.path / "8", checkpoint::items().bytes("a", "1").bytes("a", "2")),
                    contains("a twice"));
}

TEST_CASE("old and new arrays are never in memory together") {
  const temporary_folder folder;
  constexpr std::int64_t large = 1 << 20;
  std::vector<tk::array> model;
  for (int i = 0; i < 8; ++i) model.push_back(filled({large}, static_cast<float>(i)));
  checkpoint::save(folder.path / "7", model);
  tk::buffer_pool& pool = tk::buffer_pool::instance();
  pool.trim();
  const std::size_t before = pool.used_bytes();
  std::atomic<bool> restored = false;
  std::atomic<std::size_t> most = 0;
  std::thread watch([&] {
    while (!restored) most = std::max(most.load(), pool.used_bytes() + pool.idle_bytes());
  });
  for (int i = 0; i < 20; ++i) checkpoint::restore(folder.path / "7", model);
  restored = true;
  watch.join();
  CHECK(most <= before + (std::size_t{8} << 20));  // of 32 MiB; the sum may count an array twice while it changes hands
  CHECK(model[5].values<float>()[7] == 12);
}

TEST_CASE("a checkpoint is read on another thread, and deleted") {
  const temporary_folder folder;
  checkpoint::save(folder.path / "1", concrete(1), checkpoint::metadata{7, {}});
  auto later = checkpoint::restore_async(folder.path / "1", abstract());
  const auto found = later.get();
  CHECK(same(found.tree, concrete(1)));
  CHECK(found.about.step == 7);
  auto none = checkpoint::restore_async(folder.path / "2", abstract());
  CHECK_THROWS_WITH(none.get(), contains("No such file"));
  checkpoint::remove_checkpoint(folder.path / "1");
  CHECK(fs::is_empty(folder.path));
  CHECK_THROWS_WITH(checkpoint::remove_checkpoint(folder.path / "1"), contains("one to delete: found nothing"));
}

TEST_CASE("arrays of other extents are cut or filled where that is asked for") {
  const temporary_folder folder;
  const auto numbers = [](std::initializer_list<float> all, const tk::shape& extents) {
    return tk::array::from<float>(std::vector<float>(all), extents);
  };
  checkpoint::save(folder.path / "a", numbers({1, 2, 3, 4, 5, 6}, {2, 3}));
  const auto read = [&](const tk::shape& extents, tk::dtype type = tk::f32) {
    tk::array a(tk::array_type{type, false, extents});
    checkpoint::restore(folder.path / "a", a, {.cast = true, .pad_or_truncate = true});
    return a;
  };
  const auto equal = [](const tk::array& a, const std::vector<float>& expected) {
    return std::ranges::equal(a.values<float>(), expected);
  };
  CHECK(equal(read({3, 2}), {1, 2, 4, 5, 0, 0}));
  CHECK(equal(read({1, 4}), {1, 2, 3, 0}));
  CHECK(equal(read({2, 3}), {1, 2, 3, 4, 5, 6}));
  CHECK(read({0, 3}).size() == 0);
  CHECK(float(read({3, 3}, tk::bf16).values<tk::bfloat16>()[5]) == 6);
  CHECK_THROWS_WITH(read({6}), contains("found f32[2,3], expected f32[6]"));
  tk::array strict(tk::array_type{tk::f32, false, {3, 2}});
  CHECK_THROWS_WITH(checkpoint::restore(folder.path / "a", strict), contains("found f32[2,3]"));
  checkpoint::save(folder.path / "e", numbers({}, {0, 2}));
  tk::array filled(tk::array_type{tk::f32, false, {2, 2}});
  checkpoint::restore(folder.path / "e", filled, {.pad_or_truncate = true});
  CHECK(equal(filled, {0, 0, 0, 0}));
}
