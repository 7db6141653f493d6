// examples/15_systolic_array.cpp: the systolic array by hand. New here: pe_array, pipelined_cycles, pictures of each cycle.
#include <tokamax/backend/systolic.hpp>
#include <tokamax/backend/systolic/report/wavefront.hpp>

#include <fmt/core.h>

#include <filesystem>
#include <vector>

namespace sys = tokamax::systolic_backend;

// The heart of a TPU is a square of cells. Each has a weight, takes an activation from its left and a sum from above, and hands
// on the activation to its right and sum + activation * weight below. The array here has 8 x 8 cells, so that paper suffices.
constexpr sys::array_shape cells{8, 8};

int main() {
  constexpr sys::product_shape product{12, 16, 8};  // [12, 16] x [16, 8]: two tiles of 8 x 8 weights
  std::vector<int> a(12 * 16), b(16 * 8);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<int>(i % 5) - 2;
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<int>(i % 7) - 3;

  // First weights come down, w. Then row 0 of the activations enters at the upper left corner, and each row moves on by a cell
  // per cycle: the wavefront. A digit is the row that a cell multiplies. While 12 rows pass, the next weights follow them.
  sys::pe_array<int> array(cells);
  const auto run = array.run(a.data(), b.data(), product, [](long long cycle, const auto& now) {
    if (cycle == 4 || cycle == 12 || cycle == 26 || cycle == 40) fmt::print("cycle {}\n{}", cycle, wavefront_text(now));
  });

  // The values are those of a product, because the cells did it.
  int wrong = 0;
  for (std::size_t m = 0; m < 12; ++m)
    for (std::size_t n = 0; n < 8; ++n) {
      int sum = 0;
      for (std::size_t k = 0; k < 16; ++k) sum += a[m * 16 + k] * b[k * 8 + n];
      if (run.values[m * 8 + n] != sum) ++wrong;
    }
  fmt::print("{} values, {} wrong\n", run.values.size(), wrong);

  // Cycles: 8 for the first weights, 12 rows for each tile, and 14 until the last row has left: 8 + 2 * 12 + 14.
  const sys::array_cycles form = sys::pipelined_cycles(cells, product);
  fmt::print("{} cycles: load {}, rows {}, wait {}, drain {}\n", run.cycles, form.load, form.rows, form.wait,
             form.drain);

  // With fewer than 8 rows the array waits for weights; with many it is busy. That is why batches are large.
  for (const long long rows : {1, 4, 8, 64, 512}) {
    const sys::product_shape p{rows, 64, 64};
    const long long pipelined = sys::pipelined_cycles(cells, p).total();
    const auto apart = sys::scalesim(sys::dataflow::weight_stationary, cells, p);  // weights are not loaded meanwhile
    fmt::print("{:>3} rows: {:>5.1f}% of the array, {:>4.1f}% if it loads weights apart\n", rows,
               100 * sys::utilisation(cells, p, pipelined), 100 * sys::utilisation(cells, p, apart.cycles));
  }

  // Each cycle is also a picture, with the numbers in the cells. The page has a slider that chooses the cycle.
  const auto frames = sys::wavefront_frames<int>(cells, a.data(), b.data(), product);
  const auto file = std::filesystem::temp_directory_path() / "tokamax_15_wavefront.html";
  sys::write_file(file, sys::wavefront_page(frames));
  fmt::print("{} pictures\n", frames.size());
  std::filesystem::remove(file);
}
