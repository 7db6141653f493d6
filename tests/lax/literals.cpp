// tests/lax/literals.cpp: programs on known numbers have JAX's bits, whoever computes them: kernels, traces, the compiler.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/tokamax.hpp>

#include "support/catch.hpp"

#include <fstream>
#include <sstream>

using namespace tokamax;

namespace {

constexpr std::string_view word_of(std::string_view& program) {
  const auto end = program.find(' ');
  const std::string_view word = program.substr(0, end);
  program = end == std::string_view::npos ? std::string_view{} : program.substr(end + 1);
  return word;
}
constexpr dtype dtype_named(std::string_view text) {
  for (const dtype t : {bool_, i8, i32, u32, bf16})
    if (text == name(t)) return t;
  return f32;
}
/// A leaf, `dtype:bits` or `weak_dtype:bits`.
constexpr array literal(std::string_view text) {
  const bool weak = text.starts_with("weak_");
  if (weak) text = text.substr(5);
  const dtype type = dtype_named(text.substr(0, text.find(':')));
  std::uint32_t bits = 0;
  for (const char digit : text.substr(text.find(':') + 1))
    bits = 16 * bits + static_cast<std::uint32_t>(digit <= '9' ? digit - '0' : digit - 'a' + 10);
  double value = bits;
  if (type == i8) value = static_cast<std::int8_t>(bits);
  if (type == i32) value = static_cast<std::int32_t>(bits);
  if (type == bf16) value = static_cast<double>(std::bit_cast<float>(bits << 16));
  if (type == f32) value = static_cast<double>(std::bit_cast<float>(bits));
  return array(value, {type, weak, {}});
}

using unary_function = tokamax::rule<array(const array&)>;
using binary_function = tokamax::rule<array(const array&, const array&)>;
struct unary_row {
  std::string_view name;
  unary_function f;
};
struct binary_row {
  std::string_view name;
  binary_function f;
};
constexpr unary_row unary_rows[] = {
    {"neg", [](const array& x) { return -x; }},
    {"abs", [](const array& x) { return abs(x); }},
    {"sign", [](const array& x) { return sign(x); }},
    {"not", [](const array& x) { return bitwise_not(x); }},
    {"relu", [](const array& x) { return relu(x); }},
    {"square", [](const array& x) { return square(x); }},
    {"clz", [](const array& x) { return clz(x); }},
    {"population_count", [](const array& x) { return population_count(x); }},
    {"floor", [](const array& x) { return floor(x); }},
    {"ceil", [](const array& x) { return ceil(x); }},
    {"logical_not", [](const array& x) { return logical_not(x); }},
};
constexpr binary_row binary_rows[] = {
    {"add", [](const array& a, const array& b) { return a + b; }},
    {"sub", [](const array& a, const array& b) { return a - b; }},
    {"mul", [](const array& a, const array& b) { return a * b; }},
    {"div", [](const array& a, const array& b) { return a / b; }},
    {"max", [](const array& a, const array& b) { return maximum(a, b); }},
    {"min", [](const array& a, const array& b) { return minimum(a, b); }},
    {"lt", [](const array& a, const array& b) { return a < b; }},
    {"le", [](const array& a, const array& b) { return a <= b; }},
    {"gt", [](const array& a, const array& b) { return a > b; }},
    {"ge", [](const array& a, const array& b) { return a >= b; }},
    {"eq", [](const array& a, const array& b) { return a == b; }},
    {"ne", [](const array& a, const array& b) { return a != b; }},
    {"rem", [](const array& a, const array& b) { return rem(a, b); }},
    {"quotient", [](const array& a, const array& b) { return quotient(a, b); }},
    {"remainder", [](const array& a, const array& b) { return remainder(a, b); }},
    {"floor_divide", [](const array& a, const array& b) { return floor_divide(a, b); }},
    {"and", [](const array& a, const array& b) { return bitwise_and(a, b); }},
    {"or", [](const array& a, const array& b) { return bitwise_or(a, b); }},
    {"xor", [](const array& a, const array& b) { return bitwise_xor(a, b); }},
    {"shift_left", [](const array& a, const array& b) { return shift_left(a, b); }},
    {"shift_right_logical", [](const array& a, const array& b) { return shift_right_logical(a, b); }},
    {"shift_right_arithmetic", [](const array& a, const array& b) { return shift_right_arithmetic(a, b); }},
};

/// The value of a program in prefix notation, whose leaves `leaf` makes of their text.
template <class Leaf>
constexpr array evaluate(std::string_view& program, const Leaf& leaf) {
  const std::string_view word = word_of(program);
  if (word.find(':') != std::string_view::npos) return leaf(word);
  const array a = evaluate(program, leaf);
  if (word.starts_with("astype_")) return astype(a, dtype_named(word.substr(7)));
  for (const unary_row& known : unary_rows)
    if (known.name == word) return known.f(a);
  const array b = evaluate(program, leaf);
  for (const binary_row& known : binary_rows)
    if (known.name == word) return known.f(a, b);
  return select(a, b, evaluate(program, leaf));
}

struct row {
  std::string text;
  dtype type = dtype::none;
  std::string bits;
};
const std::vector<row>& programs() {
  static const std::vector<row> list = [] {
    std::vector<row> rows;
    std::ifstream in(TOKAMAX_ROOT "/tests/golden/literals.txt");
    for (std::string line; std::getline(in, line);) {
      if (line[0] == '#') continue;
      std::istringstream words(line);
      std::string id, type, bits;
      words >> id >> type >> bits;
      rows.push_back({line.substr(line.find(" : ") + 3), dtype_named(type), bits});
    }
    return rows;
  }();
  return list;
}
std::string bits_of(array a) {
  a.materialize();
  std::string text;
  for (int i = size_of(a.dtype()) - 1; i >= 0; --i)
    for (const int shift : {4, 0})
      text += "0123456789abcdef"[(std::to_integer<int>(a.storage()->data[i]) >> shift) & 15];
  return text;
}
void check(const array& found, const row& p) {
  INFO(p.text);
  CHECK(name(found.dtype()) == name(p.type));
  CHECK(bits_of(found) == p.bits);
}

constexpr std::string_view sample[] = {
    "mul i32:00010000 i32:00010000",
    "mul u32:9e3779b1 u32:9e3779b1",
    "sub i32:80000000 weak_i32:00000001",
    "gt sub u32:00000000 u32:00000001 u32:00000000",
    "max shift_left u32:00000001 weak_i32:0000001f u32:00000003",
    "lt add i32:7fffffff i32:00000001 i32:00000000",
    "div bf16:4040 add add bf16:454b bf16:1e3d astype_bf16 ne bf16:3e9a bf16:bf33",
    "div add bf16:1e3d weak_f32:3e99999a square mul max bf16:c534 weak_f32:3dcccccd bf16:3f80",
    "add max bf16:c48b weak_f32:3f000000 add bf16:4cbf weak_i32:00000003",
    "max or astype_i32 bool:01 astype_i32 eq bf16:4040 weak_f32:3dcccccd f32:4cbebc20",
    "astype_i32 select gt bf16:3f80 bf16:c4e7 mul bf16:3dcd bf16:1e3d bf16:3dcd",
    "add add astype_i32 bool:00 weak_i32:00000001 square weak_f32:3e99999a",
    "floor mul max f32:bf333333 f32:c07b8af4 astype_i32 f32:40400000",
    "ceil min astype_u32 bool:01 select bool:01 weak_f32:3dcccccd weak_f32:c02ccccd",
    "ge f32:4cbebc20 astype_i32 le astype_u32 f32:40400000 max f32:3f800000 f32:1e3ce508",
    "min or weak_i32:7fffffff weak_i32:0000012c astype_u32 u32:0000a473",
    "add mul i32:00000001 weak_i32:00000003 weak_i32:00000064",
    "sub or relu i32:86299237 weak_i32:00000001 weak_i32:ffffffff",
    "shift_left u32:00003561 sub u32:00000007 u32:00000000",
    "add weak_i32:80000000 mul weak_i32:00000002 mul u32:00000007 weak_i32:ffffff7f",
};

}  // namespace

TEST_CASE("programs on literals have JAX's bits when each operation runs at once") {
  REQUIRE(programs().size() > 400);
  for (const row& p : programs()) {
    std::string_view text = p.text;
    check(evaluate(text, literal), p);
  }
}

TEST_CASE("... and on literals that are arguments of a function traced at run time, or constants in it") {
  constexpr std::size_t at_once = 24;
  for (std::size_t first = 0; first < programs().size(); first += at_once) {
    const std::size_t last = std::min(programs().size(), first + at_once);
    std::vector<array> leaves;
    const auto all = [&](const auto& leaf) {
      std::vector<array> results;
      for (std::size_t k = first; k < last; ++k) {
        std::string_view text = programs()[k].text;
        results.push_back(evaluate(text, leaf));
      }
      return results;
    };
    const auto folded = jit([&](const array&) { return all(literal); }, cpu, at_run_time)(array(1.0f));
    for (std::size_t k = first; k < last; ++k) {
      std::string_view text = programs()[k].text;
      evaluate(text, [&](std::string_view leaf) { return leaves.emplace_back(literal(leaf)); });
    }
    const auto computed = jit(
        [&](const std::vector<array>& given) {
          std::size_t next = 0;
          return all([&](std::string_view) { return given[next++]; });
        },
        cpu, at_run_time)(leaves);
    for (std::size_t k = first; k < last; ++k) {
      check(folded[k - first], programs()[k]);
      check(computed[k - first], programs()[k]);
    }
  }
}

TEST_CASE("... and where the compiler computes them") {
  constexpr auto f = [](const tensor<f32, 1>& x) {
    const auto constant = [&](std::string_view leaf) { return lift(*x.trace(), literal(leaf)); };
    std::array<array, std::size(sample)> results;
    for (std::size_t k = 0; k < std::size(sample); ++k) {
      std::string_view text = sample[k];
      results[k] = evaluate(text, constant);
    }
    return results;
  };
  const auto results = jit(f, cpu, while_compiling)(tensor<f32, 1>(zeros({1})));
  for (std::size_t k = 0; k < std::size(sample); ++k) {
    const auto known =
        std::find_if(programs().begin(), programs().end(), [&](const row& p) { return p.text == sample[k]; });
    REQUIRE(known != programs().end());
    check(results[k], *known);
  }
}
