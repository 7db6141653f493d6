// bench/packed_products.cpp: how fast a product of few rows reads weights of 32, 16, 8 and 4 bits.
// SPDX-License-Identifier: Apache-2.0
//
// The matrices are 4096 x 4096, more than the caches hold, and the formats run in turns. A case has the bytes of its codes and scales
// in GB/s, and the weights that it multiplies in a second.
#include <tokamax/ops/quantized/dot_general.hpp>
#include <tokamax/quant/pack.hpp>
#include <tokamax/tokamax.hpp>

#include <string>
#include <vector>

#include "support/measure.hpp"
#include "support/turns.hpp"

namespace tk = tokamax;
using tk::array, tk::packed_format;

namespace {

constexpr std::int64_t size = 4096, matrices = 2;

/// Products of rows with some matrices, one after the other.
struct product {
  std::string name;
  std::function<void()> run;
  double bytes;
};

template <class Weights, class F>
product product_of(const char* name, const array& x, double bytes_of_a_weight, const std::vector<Weights>& w,
                   F multiply) {
  auto f = tk::jit(
      [multiply](const array& rows, const std::vector<Weights>& all) {
        array y = rows;
        for (const Weights& one : all) y = multiply(y, one);
        return y;
      },
      tk::cpu);
  return {name, [f, x, w]() mutable { tk::block_until_ready(f(x, w)); }, bytes_of_a_weight * size * size * matrices};
}

}  // namespace

int main() {
  for (const std::int64_t m : {1, 4, 16, 128}) {
    const array x = bench::uniform_array({m, size}, 1);
    std::vector<array> floats, halves;
    std::vector<tk::quantized_array> columns;
    std::vector<tk::packed_weights> packed[4];
    for (std::uint32_t i = 0; i < matrices; ++i) {
      floats.push_back(bench::uniform_array({size, size}, i + 2));
      halves.push_back(tk::astype(floats[i], tk::bf16));
      columns.push_back(tk::quantize(floats[i], {.tiles = {0, 1}}));
      for (const auto f : {packed_format::int_8, packed_format::int_4, packed_format::uint_4, packed_format::nf4})
        packed[static_cast<int>(f)].push_back(tk::quant::pack(floats[i], {f, 32}));
    }
    const auto matmul = [](const array& a, const auto& w) { return tk::matmul(a, w); };
    const auto of_packed = [](const array& a, const tk::packed_weights& w) { return tk::packed_dot(a, w); };
    const std::vector<product> all = {product_of("f32", x, 4, floats, matmul),
                                      product_of("bf16", tk::astype(x, tk::bf16), 2, halves, matmul),
                                      product_of("int8 by columns", x, 1, columns, matmul),
                                      product_of("int8 in groups of 32", x, 1.125, packed[0], of_packed),
                                      product_of("int4 in groups of 32", x, 0.625, packed[1], of_packed),
                                      product_of("uint4 with offsets in groups of 32", x, 0.75, packed[2], of_packed),
                                      product_of("nf4 in groups of 32", x, 0.625, packed[3], of_packed)};
    std::vector<std::function<void()>> works;
    for (const product& p : all) works.push_back(p.run);
    const std::vector<double> seconds = bench::best_seconds_of(works, 15);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::string name = all[i].name + ", rows " + std::to_string(m);
      bench::report("packed_products", name, "tokamax", all[i].bytes / seconds[i] / 1e9, "GB/s");
      bench::report("packed_products", name, "tokamax", size * size * matrices / seconds[i] / 1e9, "G weights/s");
    }
  }
}
