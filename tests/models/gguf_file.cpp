// tests/models/gguf_file.cpp: tensors of GGUF files, and files that promise what they do not have.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/models/gguf_file.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/ggml_bytes.hpp"
#include "support/gguf_writer.hpp"
#include "support/temporary_folder.hpp"

namespace tk = tokamax;
using tk::models::gguf_file;

TEST_CASE("tensors have the shapes of arrays and the values of their blocks") {
  const temporary_folder folder;
  tk::test::gguf_writer w;
  w.text("general.architecture", "none");
  w.tensor("a", tk::array::from<float>({1, 2, 3, 4, 5, 6}, {2, 3}));
  std::string q8(34 * 3, '\1');  // three blocks: the scale 0x0101 is a small number, and all elements are 1
  for (int b = 0; b < 3; ++b)
    q8[static_cast<std::size_t>(34 * b + 1)] = 0x3c, q8[static_cast<std::size_t>(34 * b)] = 0,
                                         q8[static_cast<std::size_t>(34 * b + 2)] = static_cast<char>(b - 1);
  w.tensor("b", {3, 32}, 8, q8);
  w.tensor("c", {}, 30, std::string("\x80\x3f", 2));
  w.tensor("d", {0, 32}, 2, "");
  w.write(folder.path / "m.gguf");
  const gguf_file file(folder.path / "m.gguf");
  CHECK(file.tensors().at("a").shape == tk::shape{2, 3});
  CHECK(std::ranges::equal(file.read("a", tk::f32).values<float>(), std::vector<float>{1, 2, 3, 4, 5, 6}));
  const tk::array b = file.read("b", tk::f32), halves = file.read("b", tk::bf16);
  for (int i = 0; i < 96; ++i)
    CHECK(b.values<float>()[static_cast<std::size_t>(i)] == (i % 32 == 0 ? static_cast<float>(i / 32 - 1) : 1.0f));
  CHECK(halves.dtype() == tk::bf16);
  CHECK(static_cast<float>(halves.values<tk::bfloat16>()[64]) == 1);
  CHECK(file.read("c", tk::f32).item() == 1);
  CHECK(file.read("a", tk::f32).storage()->read_only);  // it stays in the file
  CHECK(!file.read("a", tk::bf16).storage()->read_only);
  CHECK(file.read("d", tk::f32).shape() == tk::shape{0, 32});
  CHECK_THROWS_WITH(file.read("e", tk::f32), contains("gguf: tensor e: found nothing") && contains("m.gguf"));
}

TEST_CASE("rows of codes become columns of packed weights of the same numbers, bit by bit") {
  const temporary_folder folder;
  tk::test::gguf_writer w;
  std::vector<std::string> names;
  for (const auto& f : tk::checkpoint::ggml_formats) {
    const std::int64_t rows = 130, terms = 3 * f.elements;
    if (f.codes.bits == 0) continue;
    names.push_back(f.name);
    w.tensor(f.name, {rows, terms}, f.number, tk::test::ggml_bytes(f, rows * 3, f.number));
    w.tensor(std::string(f.name) + " of 3", {3, rows, terms}, f.number, tk::test::ggml_bytes(f, rows * 9, f.number));
  }
  w.tensor("floats", tk::array::from<float>({1, 2}, {1, 2}));
  w.tensor("flat", {32}, 8, tk::test::ggml_bytes(*tk::checkpoint::ggml_format_of(8), 1, 1));
  w.write(folder.path / "m.gguf");
  const gguf_file file(folder.path / "m.gguf");
  CHECK(!file.has_codes("floats"));
  CHECK(!file.has_codes("flat"));
  CHECK(!file.has_codes("none"));
  std::vector<std::int64_t> all, some{129, 3, 4, 5, 70, 0};
  for (std::int64_t i = 0; i < 130; ++i) all.push_back(i);
  for (std::int64_t i = 0; i < 70; ++i) some.push_back(i % 7 == 3 ? 2 : i);
  for (const std::string& name : names)
    for (const auto& rows : {all, some, std::vector<std::int64_t>{7}, std::vector<std::int64_t>{}}) {
      CAPTURE(name, rows.size());
      REQUIRE(file.has_codes(name));
      const tk::packed_weights p = file.read_packed(name, rows);
      const tk::array table = file.read(name, tk::f32), numbers = tk::unpack(p);
      const std::int64_t n = p.columns, k = table.extent(1);
      REQUIRE(numbers.shape() == tk::shape{1, k, static_cast<std::int64_t>(rows.size())});
      bool same = true;
      for (std::int64_t c = 0; c < n; ++c)
        for (std::int64_t i = 0; i < k; ++i)
          same = same &&
                 std::bit_cast<std::uint32_t>(numbers.values<float>()[static_cast<std::size_t>(i * n + c)]) ==
                     std::bit_cast<std::uint32_t>(
                         table.values<float>()[static_cast<std::size_t>(rows[static_cast<std::size_t>(c)] * k + i)]);
      CHECK(same);
      CHECK(p.scale.dtype() == (name.ends_with("_K") || name == "MXFP4" ? tk::f32 : tk::f16));
      // several matrices are one after the other
      const tk::packed_weights three = file.read_packed(name + " of 3", rows);
      REQUIRE(three.codes.extent(0) == 3);
      const tk::array tables = file.read(name + " of 3", tk::f32), all_numbers = tk::unpack(three);
      bool equal = true;
      for (std::int64_t m = 0; m < 3; ++m)
        for (std::int64_t c = 0; c < n; ++c)
          for (std::int64_t i = 0; i < k; i += 5)
            equal = equal && all_numbers.values<float>()[static_cast<std::size_t>((m * k + i) * n + c)] ==
                                 tables.values<float>()[static_cast<std::size_t>(
                                     (m * 130 + rows[static_cast<std::size_t>(c)]) * k + i)];
      CHECK(equal);
    }
  CHECK(names.size() == 9);
}

TEST_CASE(
    "tensors outside of the file, of unknown formats, and of too many elements are refused before they are read") {
  const temporary_folder folder;
  const auto refused = [&](auto fill) {
    tk::test::gguf_writer w;
    fill(w);
    w.write(folder.path / "m.gguf");
    return [&] { gguf_file{folder.path / "m.gguf"}; };
  };
  const std::string none;
  CHECK_THROWS_WITH(refused([&](auto& w) { w.tensor("a", {9}, 0, none); })(),
                    contains("gguf: tensor a: found bytes behind the end"));
  CHECK_THROWS_WITH(refused([&](auto& w) { w.tensor("a", {1 << 30, 1 << 17}, 0, none); })(),
                    contains("tensor a: found bytes behind the end"));
  CHECK_THROWS_WITH(refused([&](auto& w) { w.tensor("a", {1 << 30, 1 << 30, 1 << 30}, 0, none); })(),
                    contains("gguf: size of a"));
  CHECK_THROWS_WITH(refused([&](auto& w) { w.tensor("a", {-1}, 0, none); })(), contains("gguf: size of a"));
  CHECK_THROWS_WITH(refused([&](auto& w) { w.tensor("a", {1, 1, 1, 1, 1}, 0, none); })(),
                    contains("gguf: axes of a: found 5, expected at most 4"));
  CHECK_THROWS_WITH(refused([&](auto& w) { w.tensor("a", {32}, 4, none); })(),
                    contains("gguf: type of a: found 4, expected F32"));
  CHECK_THROWS_WITH(refused([&](auto& w) { w.tensor("a", {33}, 2, std::string(36, 'x')); })(),
                    contains("gguf: row of a: found 33, expected whole blocks of 32"));
  CHECK_THROWS_WITH(refused([&](auto& w) { w.tensor("a", {1}, 0, "1234"), w.tensor("a", {1}, 0, "1234"); })(),
                    contains("gguf: tensor: found a twice"));
  CHECK_THROWS_WITH(refused([&](auto& w) { w.number("general.alignment", 0); })(), contains("gguf: general.alignment"));
  CHECK_THROWS_WITH(refused([&](auto& w) {
                      w.number("general.alignment", 64), w.tensor("a", {1}, 0, "1234"), w.tensor("b", {1}, 0, "1234");
                    })(),
                    contains("gguf: offset of b: found 32, expected a multiple of 64"));
}
