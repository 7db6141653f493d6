// tests/nn/tabulate.cpp: rows of layers, and the table as text.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/nn/tabulate.hpp>

#include <tokamax/models/gpt.hpp>
#include <tokamax/nn/norms/batch_norm.hpp>
#include <tokamax/nn/stacked.hpp>
#include <tokamax/tokamax.hpp>

#include "support/contains.hpp"

namespace tk = tokamax;
namespace nn = tokamax::nn;
using tk::array;

namespace tabulate_test {  // with a name, for clang
struct network {
  nn::linear up{784, 128};
  nn::batch_norm norm{128};
  nn::linear down{.in = 128, .out = 10, .use_bias = false}, unused{2, 2};
  array operator()(const array& x) { return down(tk::relu(norm(up(x)))); }
};
const array images({tk::f32, false, {32, 784}});
nn::layer_summary row(const std::vector<nn::layer_summary>& rows, const std::string& path) {
  for (const auto& r : rows)
    if (r.path == path) return r;
  throw tk::error("row", path, "a row of the table");
}
}  // namespace tabulate_test
using namespace tabulate_test;

TEST_CASE("layers have their types, shapes, parameters, bytes and operations") {
  const auto rows = nn::summarize(network{}, images);
  const auto whole = row(rows, ""), up = row(rows, "up"), norm = row(rows, "norm"), down = row(rows, "down");
  CHECK(rows.size() == 5);
  CHECK(up.type == "linear");
  CHECK(norm.type == "batch_norm");
  CHECK(whole.type == "network");
  CHECK(up.inputs == "f32[32,784]");
  CHECK(up.outputs == "f32[32,128]");
  CHECK(up.parameters == 784 * 128 + 128);
  CHECK(up.bytes == 4 * up.parameters);
  CHECK(up.flops == 2.0 * 32 * 784 * 128 + 32 * 128);
  CHECK(norm.parameters == 256);
  CHECK(norm.other == 256);
  CHECK(norm.outputs.find("f32[32,128]") != std::string::npos);
  CHECK(down.parameters == 1280);
  CHECK(down.flops == 2.0 * 32 * 128 * 10);
  CHECK(whole.parameters == up.parameters + 256 + 1280 + 6);
  CHECK(whole.flops > up.flops + down.flops);
  CHECK(row(rows, "unused").outputs.empty());
  const auto cost = tk::cost_analysis([](network m, const array& x) { return m(x); }, network{}, images);
  CHECK(whole.flops == cost.flops);
}

TEST_CASE("loops count as often as they run") {
  const tk::models::gpt_block block{16, 2};
  const array x({tk::f32, false, {2, 5, 16}});
  const auto one = nn::summarize(block, x), many = nn::summarize(nn::stack(6, block), x);
  CHECK(row(many, "").flops == 6 * row(one, "").flops);
  CHECK(row(many, "layers.attend.qkv").flops == 6 * row(one, "attend.qkv").flops);
  CHECK(row(many, "layers.attend.qkv").parameters == 6 * row(one, "attend.qkv").parameters);
}

TEST_CASE("the table has a row for each layer, down to a depth") {
  const std::string table = nn::tabulate(network{}, images);
  INFO(table);
  CHECK(table.find("path    layer       inputs") == 0);
  CHECK(table.find("up      linear      f32[32,784]  f32[32,128]") != std::string::npos);
  CHECK(table.find("100,480") != std::string::npos);
  CHECK(std::count(table.begin(), table.end(), '\n') == 6);
  const std::string short_table = nn::tabulate({.depth = 0}, network{}, images);
  CHECK(std::count(short_table.begin(), short_table.end(), '\n') == 2);
  CHECK_THROWS_WITH(nn::tabulate(network{}, array({tk::f32, false, {32, 7}})), contains("matmul: inner extents"));
}
