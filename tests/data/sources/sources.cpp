// tests/data/sources/sources.cpp: files of data, those that other programs wrote, ours, and damaged ones.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/data/batch.hpp>
#include <tokamax/data/map.hpp>
#include <tokamax/data/rows.hpp>
#include <tokamax/data/shuffle.hpp>
#include <tokamax/data/sources/array_record.hpp>
#include <tokamax/data/sources/array_record_writer.hpp>
#include <tokamax/data/sources/bagz.hpp>
#include <tokamax/data/sources/csv.hpp>
#include <tokamax/data/sources/lines.hpp>
#include <tokamax/data/sources/npy.hpp>
#include <tokamax/data/sources/tf_example.hpp>
#include <tokamax/data/sources/tfrecord.hpp>
#include <tokamax/data/token_file.hpp>
#include <tokamax/data/windows.hpp>

#include <random>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/data_files.hpp"
#include "support/temporary_folder.hpp"

namespace tk = tokamax;
using namespace tokamax::data;
using texts = std::vector<std::string>;

namespace {
const temporary_folder& folder() {
  static const temporary_folder made;
  return made;
}
std::string path_of(const std::string& name) { return (folder().path / name).string(); }
std::string written(const std::string& name, const std::string& bytes) { return folder().write(name, bytes).string(); }
std::string golden(const std::string& name) {
  static const auto files = golden_files();
  return written(name, files.at(name));
}
texts all(const auto& source) {
  texts result;
  for (std::int64_t i = 0; i < source.size(); ++i) result.push_back(source[i]);
  return result;
}
template <class T>
std::vector<T> values(const tk::array& a) {
  return {a.values<T>().begin(), a.values<T>().end()};
}
// Reads a file, all of it, with each byte changed and at each length: it is as before, or an error names the file.
void damage(const std::string& name, const std::string& bytes, std::size_t last, const auto& read) {
  read(written(name, bytes));
  std::mt19937 random(1);
  for (std::size_t i = 0; i < bytes.size(); i += i < 400 || i + 400 > bytes.size() ? 1 : 509) {
    for (const bool cut : {true, false}) {
      std::string bad = bytes;
      if (cut)
        bad.resize(i);
      else
        bad[i] = static_cast<char>(bad[i] ^ (1u << random() % 8));
      try {
        read(written(name, bad));
      } catch (const tk::error& e) {
        if (i < last) CHECK_THAT(e.what(), contains(name));
      }
    }
  }
}
}  // namespace

TEST_CASE("lines and records of JSON") {
  struct record {
    std::string text;
    std::vector<int> ids;
  };
  const std::string path = written(
      "a.jsonl",
      "{\"text\": \"one\", \"ids\": [1]}\n\r\n  \n{\"ids\": [], \"more\": 0, \"text\": \"t\\u00e4\"}\r\n{\"text\": 5}");
  CHECK(lines(path).size() == 3);
  CHECK(lines(path)[1].where() == path + ", line 4");
  CHECK(lines(path)[1].text.ends_with("\"}"));
  const auto records = jsonl<record>(path);
  CHECK(records[0].text == "one");
  CHECK(records[3].ids == std::vector<int>{1});
  CHECK(records[1].text == "t\xc3\xa4");
  CHECK_THROWS_WITH(records[2], contains("a.jsonl, line 5") && contains("text"));
  CHECK_THROWS_WITH(jsonl<record>(written("b.jsonl", "\n{\"a\": [}"))[0], contains("b.jsonl, line 2"));
  CHECK(lines(written("empty.jsonl", "")).size() == 0);
  CHECK_THROWS_WITH(lines((folder().path / "none").string()), contains("none"));
}

TEST_CASE("tables") {
  const std::string path = written("a.csv", "name,\"x, \"\"y\"\"\",z\r\nada, 1.5,-2e3\n\n\"b\nc\",,\"\"\nlast,3,4");
  const csv table(path);
  CHECK(table.columns() == texts{"name", "x, \"y\"", "z"});
  CHECK(table.size() == 3);
  CHECK(table[0] == texts{"ada", " 1.5", "-2e3"});
  CHECK(table[1] == texts{"b\nc", "", ""});
  CHECK(table[5] == texts{"last", "3", "4"});
  CHECK(table.column("z") == 2);
  CHECK_THROWS_WITH(table.column("w"), contains("no w"));
  CHECK_THROWS_WITH(table.numbers(), contains("'ada'") && contains("a.csv, byte"));
  CHECK_THROWS_WITH(csv(written("b.csv", "a,b\n1,2\n3\n")),
                    contains("fields of a row: found 1, expected 2") && contains("byte 8"));
  CHECK_THROWS_WITH(csv(written("c.csv", "a\n\"b\n")), contains("end of the quote"));
  const tk::array numbers = csv(written("d.csv", "1;2\n-3; 4.5\n"), {.separator = ';', .header = false}).numbers();
  CHECK(numbers.shape() == tk::shape{2, 2});
  CHECK(values<float>(numbers) == std::vector<float>{1, 2, -3, 4.5});
  CHECK(csv(written("e.csv", "")).size() == 0);
}

TEST_CASE("arrays of NumPy") {
  const tk::array floats = read_npy(golden("f4.npy"));
  CHECK(floats.shape() == tk::shape{2, 3});
  CHECK(values<float>(floats) == std::vector<float>{0, 1, 2, 3, 4, 5});
  CHECK(read_npy(golden("scalar.npy")).item<std::int64_t>() == -7);
  CHECK(read_npy(golden("bool.npy")).type() == tk::array_type{tk::bool_, false, {3}});
  CHECK(read_npy(golden("bool.npy")).values<bool>()[2]);
  CHECK(read_npy(golden("empty.npy")).type() == tk::array_type{tk::f16, false, {0, 4}});
  CHECK_THROWS_WITH(read_npy(golden("columns.npy")), contains("rows first"));
  CHECK_THROWS_WITH(read_npy(golden("big.npy")), contains("'>i4'") && contains("little-endian"));
  const auto two = read_npz(golden("two.npz"));
  CHECK(two.size() == 2);
  CHECK(values<std::int32_t>(two.at("x")) == std::vector<std::int32_t>{0, 1, 2, 3, 4});
  CHECK(values<double>(two.at("y")) == std::vector<double>(4, 1.5));
  CHECK_THROWS_WITH(read_npz(golden("compressed.npz")),
                    contains("links tokamax::zlib") && contains("compressed.npz, x"));
  std::string other = tk::read_file(golden("compressed.npz"));
  for (std::size_t at = 0; (at = other.find("PK\1\2", at)) != other.npos; ++at) other[at + 10] = 9;
  CHECK_THROWS_WITH(read_npz(written("deflate64.npz", other)), contains("found 9 of x.npy, expected 0 or 8"));
  for (const tk::array& a : {floats, tk::array(2.5f), tk::array::from<std::int32_t>({}), two.at("y")}) {
    const std::string path = (folder().path / "ours.npy").string();
    write_npy(path, a);
    const tk::array back = read_npy(path);
    CHECK(back.type() == a.type());
    tk::array data = a;
    data.materialize();
    CHECK(std::equal(back.bytes(), back.bytes() + back.size() * tk::size_of(back.dtype()), data.bytes()));
  }
  CHECK_THROWS_WITH(write_npy("x", tk::array::from<tk::bfloat16>({tk::bfloat16(1)})), contains("bf16"));
  struct pair {
    tk::array image, label;
  };
  const auto rows_of = rows(pair{floats, tk::array::from<std::int32_t>({7, 8})}) | batch<pair>(2);
  CHECK(values<std::int32_t>(rows_of[0].label) == std::vector<std::int32_t>{7, 8});
  CHECK(values<float>(rows_of[0].image) == values<float>(floats));
  CHECK_THROWS_WITH(rows(pair{floats, tk::array::from<std::int32_t>({7})}), contains("2 rows"));
  // A batch that takes many rows at once has the bytes of one that takes them one by one.
  std::vector<float> many(7 * 5);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = static_cast<float>(i);
  const auto source = rows(tk::array::from(many, {7, 5})) | shuffle({.seed = 3});
  const auto at_once = source | batch<tk::array>(3, {rest_of_batch::pad});
  const auto one_by_one = source | map([](tk::array row) { return row; }) | batch<tk::array>(3, {rest_of_batch::pad});
  REQUIRE(at_once.size() == 3);
  for (std::int64_t i = 0; i < 9; ++i) {
    CHECK(at_once[i].type() == one_by_one[i].type());
    CHECK(values<float>(at_once[i]) == values<float>(one_by_one[i]));
  }
}

TEST_CASE("records of TensorFlow") {
  const tfrecord records(golden("tfrecord"));
  REQUIRE(records.size() == 4);
  CHECK(records[0] == "first");
  CHECK(records[5].empty());
  for (const std::int64_t i : {2, 3}) {  // numbers are packed, or one by one
    const tf_example e = tf_example::parse(records[i]);
    CHECK(e.features().size() == 3);
    CHECK(e.get<std::string>("image") == texts{std::string("\0\1png", 5), ""});
    CHECK(e.get<float>("weight") == std::vector<float>{0.5, -1.25});
    CHECK(e.get<std::int64_t>("label") == std::vector<std::int64_t>{3, -1, std::int64_t{1} << 40});
    CHECK(values<float>(e.values("weight")) == std::vector<float>{0.5, -1.25});
    CHECK_THROWS_WITH(e.values("label"), contains("1099511627776"));
    CHECK_THROWS_WITH(e.get<float>("label"), contains("expected floats"));
    CHECK_THROWS_WITH(e.get<float>("none"), contains("feature none"));
    CHECK(tf_example::parse(e.text()).features() == e.features());
  }
  const std::string path = (folder().path / "ours.tfrecord").string();
  tfrecord_writer writer(path);
  for (const std::string& one : all(records)) writer.write(one);
  writer.finish();
  CHECK(all(tfrecord(path)) == all(records));
  CHECK(tk::read_file(path) == tk::read_file(golden("tfrecord")));
}

TEST_CASE("records of ArrayRecord and Bagz") {
  texts expected;
  for (int i = 0; i < 10; ++i) {
    expected.emplace_back();
    for (int k = 0; k <= i; ++k) expected.back() += "record " + std::to_string(i) + " ";
  }
  const array_record records(golden("array_record"));
  CHECK(all(records) == expected);
  CHECK(records[13] == expected[3]);
  CHECK(highway_hash("", {1, 2, 3, 4}) != highway_hash(std::string_view("\0", 1), {1, 2, 3, 4}));
  CHECK_THROWS_WITH(array_record(golden("array_record_zstd"))[0], contains("links tokamax::zstd"));
  for (const std::int64_t group : {1, 3, 7, 100000}) {  // chunks of one record, and those that cross blocks of 64 KiB
    const std::string ours = (folder().path / "ours.array_record").string();
    array_record_writer out(ours, {.group_size = group});
    texts many = expected;
    for (int i = 0; i < 300; ++i)
      many.push_back(std::string(static_cast<std::size_t>(i * 7919 % 2000), static_cast<char>(i)));
    for (const std::string& one : many) out.write(one);
    out.finish();
    CHECK(all(array_record(ours)) == many);
    CHECK(std::filesystem::file_size(ours) % 65536 == 0);
  }
  array_record_writer none((folder().path / "none.array_record").string());
  none.finish();
  CHECK(array_record((folder().path / "none.array_record").string()).size() == 0);
  CHECK_THROWS_WITH(array_record_writer(path_of("a"), {.group_size = 0}), contains("found 0, expected 1 or more"));
  CHECK_THROWS_WITH(array_record_writer(path_of("a"), {.zstd = true}), contains("links tokamax::zstd"));
  const bagz bag(golden("bag"));
  CHECK(all(bag) == texts{"0", "r1", "rr2", "rrr3"});
  const std::string path = (folder().path / "ours.bag").string();
  bagz_writer writer(path);
  for (const std::string& one : all(bag)) writer.write(one);
  writer.finish();
  CHECK(tk::read_file(path) == tk::read_file(golden("bag")));
  CHECK(bagz(written("empty.bag", "")).size() == 0);
}

TEST_CASE("tokens of several widths stay in their file") {
  const std::string bytes("\x01\x00\x02\x00\xff\xff\x03\x00", 8);
  const std::string path = written("tokens.bin", bytes);
  const token_file wide(path), narrow(path, {.dtype = tk::u8, .skip = 2}), widest(path, {.dtype = tk::u32});
  CHECK(wide.size() == 4);
  CHECK(wide[2] == 65535);
  CHECK(wide[7] == 3);
  CHECK(narrow.size() == 6);
  CHECK(narrow[2] == 255);
  CHECK(widest[0] == 0x20001);
  CHECK(token_file(written("high.bin", "\xff\xff\xff\xff"), {.dtype = tk::u32}).size() == 1);
  CHECK_THROWS_WITH(token_file(written("high.bin", "\xff\xff\xff\xff"), {.dtype = tk::u32})[0], contains("4294967295"));
  CHECK_THROWS_WITH(token_file(path, {.skip = 1}), contains("found 7, expected a multiple of 2"));
  CHECK_THROWS_WITH(token_file(path, {.skip = 8}), contains("found 0"));
  CHECK_THROWS_WITH(token_file(path, {.dtype = tk::i32}), contains("found i32"));
  struct example_batch {
    tk::array inputs, targets;
  };
  const auto batches = wide | windows(3) | batch<example_batch>(2);
  CHECK(values<std::int32_t>(batches[0].targets) == std::vector<std::int32_t>{2, 65535, 65535, 3});
}

TEST_CASE("damaged files are noticed, or read as they are") {
  const auto bytes = [](const std::string& name) { return tk::read_file(golden(name)); };
  constexpr std::size_t everywhere = std::size_t(-1);
  damage("bad.array_record", bytes("array_record"), 0, [](const std::string& path) { all(array_record(path)); });
  damage("bad.bag", bytes("bag"), everywhere, [](const std::string& path) { all(bagz(path)); });
  damage("bad.tfrecord", bytes("tfrecord"), everywhere, [](const std::string& path) { all(tfrecord(path)); });
  damage("bad.npy", bytes("f4.npy"), everywhere, [](const std::string& path) { read_npy(path).bytes(); });
  damage("bad.npz", bytes("two.npz"), everywhere, [](const std::string& path) { read_npz(path); });
  damage("bad.csv", "a,b\n\"1\",2\n3,4\n", everywhere, [](const std::string& path) { csv(path).numbers(); });
  const tf_example good = tf_example::parse(tfrecord(golden("tfrecord"))[2]);
  std::mt19937 random(2);
  for (int i = 0; i < 2000; ++i) {
    std::string bad = good.text();
    bad[random() % bad.size()] = static_cast<char>(random());
    try {
      tf_example::parse(std::string_view(bad).substr(0, random() % (bad.size() + 1)));
    } catch (const tk::error& e) {
      CHECK(std::string(e.what()).find("protocol buffer") != std::string::npos);
    }
  }
}
