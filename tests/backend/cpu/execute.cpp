// tests/backend/cpu/execute.cpp: every kernel on values, extents and layouts that are easy to get wrong.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu/execute.hpp>
#include <tokamax/lax/dot_general.hpp>

#include "cases.hpp"
#include "support/catch.hpp"

#include <bit>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>

using namespace tokamax;
using namespace tokamax::test;

TEST_CASE("elementwise ops are right for all special values, and conversions where a dtype ends") {
  check_adversarial(elementwise_cases());
}
TEST_CASE("what moves elements keeps their bits") { check_adversarial(movement_cases()); }
TEST_CASE("reductions and loops on rows with special values") { check_adversarial(reduction_cases()); }
TEST_CASE("products, convolutions and pools carry special values where sums do") { check_adversarial(product_cases()); }
TEST_CASE("products in bf16 round operands of f32 to nearest even") {
  const function product = [](const arrays& x) -> arrays {
    return dot_general(x[0], x[1],
                       {.lhs_contracting = {1}, .rhs_contracting = {0}, .algorithm = dot_algorithm::bf16_bf16_f32});
  };
  const auto halfway = [](const shape& s, unsigned seed) {  // between neighbours of bf16
    array a = noise(s, seed);
    for (std::int64_t i = 0; i < a.size(); ++i) {
      float& x = a.mutable_data<float>()[i];
      x = std::bit_cast<float>((std::bit_cast<std::uint32_t>(x) & 0xffff0000u) | 0x8000u);
    }
    return a;
  };
  const auto rounded = [](const array& a) { return astype(astype(a, bf16), f32); };
  for (const std::int64_t m : {1, 7, 131}) {
    CAPTURE(m);
    const array a = halfway({m, 257}, 1), b = halfway({257, 61}, 2), nan = sprinkled({257, 61}, 0, f32, 1e4);
    CHECK(bit_difference(listed(product({a, b})), listed(product({rounded(a), rounded(b)}))) == "");
    CHECK(difference(to_values(product({a, nan})), to_values(product({rounded(a), rounded(nan)})), 0) == "");
  }
}
TEST_CASE("softmax, normalisations, losses and attention carry special values where sums do") {
  check_adversarial(row_cases());
}

namespace {

/// The ops of a graph and of its loops, and the dtypes of their operands.
void collect(const graph& g, std::map<std::string, std::set<dtype>>& seen) {
  for (int i = 0; i < g.count(); ++i) {
    const node& n = g[i];
    if (!n.op) continue;
    auto& types = seen[std::string(n.op->name)];
    for (int k = 0; k < n.operand_count; ++k) types.insert(g[g.operand(n, k)].type.dtype);
  }
  for (const graph& body : g.bodies) collect(body, seen);
}
struct declared_op {
  std::string name, own_test;  // what the test of its header holds
};
std::string content(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}
/// All descriptors: `inline constexpr op NAME_p`.
std::vector<declared_op> declared_ops() {
  const std::filesystem::path root = TOKAMAX_ROOT, headers = root / "include/tokamax";
  const std::regex descriptor("inline constexpr op (\\w+)_p\\b");
  std::vector<declared_op> found;
  for (const auto& file : std::filesystem::recursive_directory_iterator(headers)) {
    if (file.path().extension() != ".hpp") continue;
    const std::string text = content(file.path());
    const auto test = root / "tests" / std::filesystem::relative(file.path(), headers).replace_extension(".cpp");
    for (std::sregex_iterator at(text.begin(), text.end(), descriptor), end; at != end; ++at)
      found.push_back({(*at)[1], content(test)});
  }
  return found;
}

}  // namespace

TEST_CASE("special functions at poles and on both sides of where formulas change") {
  check_adversarial(special_cases());
}

TEST_CASE("every op has an adversarial case, here or in its own test, and that of f32 is there in bf16") {
  std::map<std::string, std::set<dtype>> seen;
  for (const auto& cases :
       {elementwise_cases(), movement_cases(), reduction_cases(), product_cases(), special_cases(), row_cases()})
    for (const adversarial_case& c : cases) collect(trace(c.f, types_of(c.inputs)), seen);
  for (const auto& [name, types] : seen) {
    INFO(name);
    CHECK(types.contains(f32) == types.contains(bf16));
  }
  const std::vector<declared_op> ops = declared_ops();
  CHECK(ops.size() > 90);
  for (const auto& [name, own_test] : ops) {
    INFO(name << ": add a case to tests/backend/cpu/cases_*.cpp or to the test of the op's header");
    // Some stand for operands until a program is made, or for what vmap puts there; tables are data of static programs; the
    // host's functions are not ours.
    static const std::set<std::string> without_kernel{"placeholder", "captured", "stand_in",    "dense", "axis_index",
                                                      "all_gather",  "callback", "debug_print", "check"};
    const bool tried =
        own_test.find("check_adversarial(") != std::string::npos && own_test.find(name) != std::string::npos;
    CHECK((without_kernel.contains(name) || tried || seen.contains(name)));
  }
}
