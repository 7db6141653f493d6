// tests/stablehlo/reader/read_bytecode.cpp: a file of jax.export is the program of its text, and broken files are refused.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu/device.hpp>
#include <tokamax/lax/iota.hpp>
#include <tokamax/stablehlo.hpp>
#include <tokamax/stablehlo/reader/elements.hpp>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/error_of.hpp"
#include "support/temporary_folder.hpp"

using tokamax::array;
using tokamax::read_stablehlo;
using tokamax::stablehlo::program;
using tokamax::test::error_of;

namespace {

std::string content(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
std::string exported() { return content(TOKAMAX_ROOT "/tests/golden/stablehlo.export"); }
std::string bytecode() {
  const std::string file = exported();
  const std::size_t begin = file.find("ML\xefR");
  std::uint32_t bytes = 0;  // stands before them
  std::memcpy(&bytes, file.data() + begin - 4, 4);
  return file.substr(begin, bytes);
}

}  // namespace

TEST_CASE("stablehlo bytecode: a file of jax.export gives what its text gives") {
  const program text = read_stablehlo(TOKAMAX_ROOT "/examples/35_stablehlo.mlir"), file = read_stablehlo(exported());
  REQUIRE(file.inputs().size() == text.inputs().size());
  std::vector<array> in;
  for (std::size_t k = 0; k < file.inputs().size(); ++k) {
    CHECK(file.inputs()[k].type == text.inputs()[k].type);
    array a = array::uninitialized(file.inputs()[k].type);
    if (a.dtype() == tokamax::f32)
      for (std::int64_t i = 0; i < a.size(); ++i) a.mutable_data<float>()[i] = static_cast<float>(i * 7 % 11 - 5) / 10;
    else
      for (std::int64_t i = 0; i < a.size(); ++i) a.mutable_data<std::int32_t>()[i] = static_cast<std::int32_t>(i % 3);
    in.push_back(a);
  }
  const std::vector<array> a = text(tokamax::cpu, in), b = file(tokamax::cpu, in);
  REQUIRE(a.size() == b.size());
  CHECK(a[0].item() == Approx(1.0726032f));  // JAX's value
  CHECK(a[0].item() == b[0].item());
  for (int i = 0; i < 6; ++i) CHECK(a[1].data<std::int32_t>()[i] == b[1].data<std::int32_t>()[i]);
}

TEST_CASE("stablehlo bytecode: large constants stay in the file, which the program keeps") {
  const temporary_folder folder;
  const std::string golden = content(TOKAMAX_ROOT "/tests/golden/stablehlo_constant.bc");
  const std::string path = folder.write("constant.bc", golden).string();
  const auto constant_of = [](const program& p) {
    for (const auto& o : p.source().functions[0].body.operations)
      if (o.name == "stablehlo.constant") return o.attributes.find("value")->elements.re;
    return array();
  };
  array kept;
  {
    const program file = read_stablehlo(path), bytes = read_stablehlo(golden);
    kept = constant_of(file);
    CHECK(kept.storage()->read_only);
    CHECK_FALSE(constant_of(bytes).storage()->read_only);
    const array one = tokamax::ones({4096}, tokamax::u8);
    std::filesystem::remove(path);
    for (const program& p : {file, bytes}) {
      const array sum = p(tokamax::cpu, {one})[0];
      for (int i = 0; i < 4096; ++i) REQUIRE(sum.data<std::uint8_t>()[i] == i * 7 % 251 + 1);
    }
  }
  for (int i = 0; i < 4096; ++i) REQUIRE(kept.data<std::uint8_t>()[i] == i * 7 % 251);
}

TEST_CASE("stablehlo bytecode: elements are copied if they are few, or do not lie as in memory") {
  using tokamax::stablehlo::value_type;
  array owner = array::uninitialized({tokamax::u8, false, {8196}});
  for (int i = 0; i < 8196; ++i) owner.mutable_data<std::uint8_t>()[i] = static_cast<std::uint8_t>(i % 101);
  const auto stays = [&](tokamax::dtype type, std::int64_t count, std::size_t begin, const array& by) {
    const value_type t{.is = value_type::form::array, .dtype = type, .extents = {count}};
    const std::span<const std::byte> bytes(owner.bytes() + begin, static_cast<std::size_t>(count * size_of(type)));
    tokamax::stablehlo::value v;
    REQUIRE(tokamax::stablehlo::detail::elements_of_bytes(t, bytes, v, by).empty());
    if (type != tokamax::bool_) CHECK(std::memcmp(v.re.bytes(), bytes.data(), bytes.size()) == 0);
    return v.re.bytes() == bytes.data();
  };
  CHECK(stays(tokamax::f32, 2048, 0, owner));
  CHECK(stays(tokamax::f32, 2048, 4, owner));
  CHECK_FALSE(stays(tokamax::f32, 2048, 3, owner));
  CHECK_FALSE(stays(tokamax::f32, 1023, 0, owner));
  CHECK_FALSE(stays(tokamax::f32, 2048, 0, {}));
  CHECK_FALSE(stays(tokamax::bool_, 8000, 0, owner));
}

TEST_CASE("stablehlo bytecode: text, module and text again are the same") {
  for (const std::string& source : {std::string(TOKAMAX_ROOT "/examples/35_stablehlo.mlir"), exported()}) {
    const std::string once = tokamax::stablehlo::to_text(read_stablehlo(source).source());
    CHECK(once == tokamax::stablehlo::to_text(read_stablehlo(once).source()));
  }
}

TEST_CASE("stablehlo bytecode: broken files are refused, wherever they are broken") {
  const std::string good = bytecode();
  CHECK(error_of([&] { read_stablehlo(good); }) == "none");
  CHECK_THAT(error_of([&] { read_stablehlo(good.substr(0, 9) + std::string(3, '\0')); }),
             contains("stablehlo bytecode"));
  CHECK_THAT(error_of([] { read_stablehlo(std::string(200, '\0')); }), contains("stablehlo: file of jax.export"));
  for (std::size_t n = 8; n < good.size(); n += 97) {
    INFO(n);
    CHECK_THAT(error_of([&] { read_stablehlo(good.substr(0, n) + std::string(1, '\0')); }), contains("stablehlo"));
  }
  std::mt19937 random(1);
  for (int k = 0; k < 3000; ++k) {  // whatever else they are, they do not crash
    std::string bad = good;
    for (int i = 0; i < 1 + k % 4; ++i) bad[random() % bad.size()] = static_cast<char>(random());
    try {
      read_stablehlo(bad);
    } catch (const tokamax::error&) {}
  }
}
