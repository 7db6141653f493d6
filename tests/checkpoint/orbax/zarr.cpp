// tests/checkpoint/orbax/zarr.cpp: arrays in chunks of all kinds, and metadata and chunks that lie.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/checkpoint/orbax/zarr.hpp>

#include <tokamax/checkpoint/crc32c.hpp>
#include <tokamax/checkpoint/orbax/zarr_chunks.hpp>

#include <cmath>

#include "support/catch.hpp"
#include "support/contains.hpp"

namespace tk = tokamax;
using namespace tokamax::checkpoint::detail;

namespace {
using numbers = std::vector<std::int32_t>;
std::string bytes_of_numbers(const numbers& all) { return {reinterpret_cast<const char*>(all.data()), all.size() * 4}; }
std::string checked(std::string bytes) {
  const std::uint32_t crc = tk::checkpoint::crc32c(std::as_bytes(std::span(bytes)));
  return bytes.append(reinterpret_cast<const char*>(&crc), 4);
}
byte_place here(std::string bytes) { return {{}, 0, bytes.size(), std::move(bytes)}; }
std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != text.npos);
  return text.replace(at, from.size(), to);
}
const std::string v2 = R"({"chunks":[2,2],"compressor":null,"dimension_separator":".","dtype":"<i4","fill_value":-3,
                           "filters":null,"order":"C","shape":[3,3],"zarr_format":2})";
const std::string v3 = R"({"chunk_grid":{"configuration":{"chunk_shape":[2,4]},"name":"regular"},
  "chunk_key_encoding":{"name":"default"},"codecs":[{"configuration":{"chunk_shape":[1,2],
  "codecs":[{"configuration":{"endian":"little"},"name":"bytes"},{"name":"crc32c"}],
  "index_codecs":[{"name":"bytes"},{"name":"crc32c"}],"index_location":"end"},"name":"sharding_indexed"}],
  "data_type":"int32","fill_value":9,"node_type":"array","shape":[3,3],"zarr_format":3})";
numbers read(const std::string& text, int version, const byte_store& store) {
  const tk::array a = read_zarr(parse_zarr("a", text, version, "f"), store, "k", "a", "w");
  return {a.values<std::int32_t>().begin(), a.values<std::int32_t>().end()};
}
double fill(const std::string& dtype, const std::string& value) {
  const std::string text = replaced(replaced(v2, "<i4", dtype), "-3", value);
  const zarr_layout layout = parse_zarr("a", text, 2, "f");
  const tk::array a = read_zarr(layout, {}, "k", "a", "w");
  double result = 0;
  tk::dispatch(a.dtype(), [&]<tk::dtype Type>() {
    if constexpr (!tk::is_packed(Type)) result = tk::converted<double>(a.data<tk::element_t<Type>>()[8]);
  });
  return result;
}
// A shard of four cells, of which the last is not there.
std::string shard() {
  std::string all, index;
  for (std::int32_t i = 0; i < 3; ++i) {
    const std::string cell = checked(bytes_of_numbers({2 * i, 2 * i + 1}));
    const std::uint64_t part[] = {all.size(), cell.size()};
    index.append(reinterpret_cast<const char*>(part), 16);
    all += cell;
  }
  return all + checked(index + std::string(16, '\xff'));
}
}  // namespace

TEST_CASE("chunks lie in their places, and where there is none is the fill value") {
  const byte_store store{{"k/0.0", here(bytes_of_numbers({1, 2, 3, 4}))},
                         {"k/0.1", here(bytes_of_numbers({5, 77, 6, 77}))},
                         {"k/1.1", here(bytes_of_numbers({7, 77, 77, 77}))},
                         {"k/2.0", here("none of its chunks")},
                         {"k/.zattrs", here("{}")},
                         {"k2/1.0", here("another array")}};
  CHECK(read(v2, 2, store) == numbers{1, 2, 5, 3, 4, 6, -3, -3, 7});
  const std::string slashes = replaced(v2, R"("dimension_separator":".")", R"("dimension_separator":"/")");
  CHECK(read(slashes, 2, {{"k/0/1", store.at("k/0.1")}}) == numbers{-3, -3, 5, -3, -3, 6, -3, -3, -3});
  const std::string scalar = replaced(replaced(v2, "[2,2]", "[]"), "[3,3]", "[]");
  CHECK(read(scalar, 2, {{"k/0", here(bytes_of_numbers({8}))}}) == numbers{8});
  CHECK(read(scalar, 2, {}) == numbers{-3});
  CHECK(read(replaced(replaced(v2, "[2,2]", "[1,1]"), "[3,3]", "[0,3]"), 2, {}).empty());
  // The first two rows and the first three columns of a shard of two rows and four columns; its cells are two columns wide.
  CHECK(read(v3, 3, {{"k/c/0/0", here(shard())}}) == numbers{0, 1, 2, 4, 5, 9, 9, 9, 9});
  const std::string first = replaced(v3, R"("index_location":"end")", R"("index_location":"start")");
  CHECK_THROWS_WITH(read(first, 3, {{"k/c/0/0", here(shard())}}), contains("checksum"));
  CHECK(read(replaced(v3, R"({"name":"default"})", R"({"name":"v2"})"), 3, {{"k/0.0", here(shard())}})[3] == 4);
}

TEST_CASE("fill values of all kinds") {
  CHECK(fill("<i8", "-9007199254740993") == -9007199254740992.0);
  CHECK(fill("|u1", "255") == 255);
  CHECK(fill("|b1", "true") == 1);
  CHECK(fill("<f2", "1.5") == 1.5);
  CHECK(fill("bfloat16", "-2") == -2);
  CHECK(fill("<f8", "\"-Infinity\"") == -INFINITY);
  CHECK(std::isnan(fill("<f4", "\"NaN\"")));
  CHECK(fill("<f4", "null") == 0);
  CHECK_THROWS_WITH(fill("<f4", "\"one\""), contains("fill_value of a: found \"one\", expected a number (f)"));
}

TEST_CASE("metadata of other programs are refused by name") {
  const auto refused = [](const std::string& from, const std::string& to, const char* what) {
    const bool second = v2.find(from) != v2.npos;
    CHECK_THROWS_WITH(parse_zarr("a", replaced(second ? v2 : v3, from, to), second ? 2 : 3, "f"),
                      contains(what) && contains("(f)"));
  };
  refused("\"zarr_format\":2", "\"zarr_format\":3", "zarr_format of a: found 3, expected 2");
  refused(R"("order":"C")", R"("order":"F")", "order");
  refused("\"filters\":null", "\"filters\":[{}]", "filters");
  refused("\"compressor\":null", R"("compressor":{"id":"blosc"})", "expected none or zstd");
  refused("\"compressor\":null,", "", "compressor");
  refused("[2,2]", "[2]", "as many axes");
  refused("[2,2]", "[0,2]", "chunks");
  refused("[3,3]", "[-1,3]", "shape");
  refused("[3,3]", "[4611686018427387904,3]", "shape");
  refused("[1,2]", "[1,3]", "divides");
  refused("[1,2]", "[1]", "divides");
  refused("\"name\":\"regular\"", "\"name\":\"other\"", "regular");
  refused("\"little\"", "\"big\"", "little-endian");
  refused("{\"name\":\"crc32c\"}]", "{\"name\":\"blosc\"}]", "expected bytes, zstd, crc32c");
  CHECK_THROWS_WITH(parse_zarr("a", "[1]", 2, "f"), contains("zarr_format"));
  CHECK(parse_zarr("a", replaced(v2, "<i4", ">i4"), 2, "f").stored.type.dtype == tk::dtype::none);
  CHECK(parse_zarr("a", replaced(v2, "<i4", ">i4"), 2, "f").stored.text == "\">i4\"[3,3]");
}

TEST_CASE("chunks that are damaged are refused, and bounded by the array") {
  CHECK_THROWS_WITH(read(v2, 2, {{"k/0.0", here("short")}}),
                    contains("found 5 bytes, expected 16") && contains("k/0.0"));
  CHECK_THROWS_WITH(read(replaced(v2, "[2,2]", "[4000,4000]"), 2, {}),
                    contains("64000000 bytes, expected at most 16777216"));
  CHECK_THROWS_WITH(read(replaced(v2, "null", R"({"id":"zstd"})"), 2, {{"k/0.0", here("x")}}),
                    contains("tokamax::zstd"));
  const std::string good = shard();
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 4);
    CHECK_THROWS_WITH(read(v3, 3, {{"k/c/0/0", here(bad)}}), contains("zarr: ") && contains("k/c/0/0"));
    CHECK_THROWS_WITH(read(v3, 3, {{"k/c/0/0", here(good.substr(0, i))}}), contains("zarr: "));
  }
  std::string outside(64, '\0');  // an index whose cells are beyond the shard
  outside[1] = outside[8] = 1;
  CHECK_THROWS_WITH(read(v3, 3, {{"k/c/0/0", here(checked(outside))}}), contains("zarr: index: found 1 from byte 256"));
  const std::string truths = replaced(replaced(v2, "<i4", "|b1"), "-3", "0");
  CHECK_THROWS_WITH(read(truths, 2, {{"k/0.0", here(std::string("\0\1\2\0", 4))}}), contains("a byte above 1"));
}
