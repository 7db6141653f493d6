// examples/16_matmul_ladder.cpp: a matrix product becomes 15 times as fast. New here: simulate, why_matmul, sweep_blocks, traces.
#include <tokamax/backend/systolic.hpp>
#include <tokamax/backend/systolic/report/compare.hpp>
#include <tokamax/backend/systolic/report/trace.hpp>
#include <tokamax/backend/systolic/report/why.hpp>

#include <fmt/core.h>

#include <filesystem>

namespace sys = tokamax::systolic_backend;

// The tutorial of Pallas multiplies matrices on a TPU v5e with blocks of 128, 128, 128 (m, k, n), and then of 512, 1024, 1024:
// 8192 x 8192 x 8192 takes 91.8 ms and then 6.1 ms. This lesson climbs from one to the other, and asks at each rung why.
constexpr sys::product_shape product{8192, 8192, 8192};

int main() {
  for (const sys::product_shape& block :
       {sys::product_shape{128, 128, 128}, {256, 128, 128}, {256, 256, 256}, {512, 512, 512}, {512, 1024, 1024}}) {
    const sys::timeline t = sys::simulate_matmul(sys::v5e, product, {.block = block});
    const sys::stall_cycles& s = t.stalls[0];
    fmt::print("{:>3} {:>4} {:>4}: {:>5.1f} ms, {:>4.1f}% of the arrays; most is lost to {}, {:.1f}%\n", block.m,
               block.k, block.n, t.microseconds() * 1e-3, 100 * t.utilisation(), name_of(s.worst()),
               100 * s[s.worst()] / t.cycles);
  }

  // Why is the first one slow? A copy takes 691 cycles before its first byte, and a step computes for 197: the arrays wait. Each
  // line below is a run on a chip without one cost. All of them together say that only larger blocks help.
  fmt::print("\n{}", sys::why_matmul(sys::v5e, {4096, 4096, 4096}, {.block = {128, 128, 128}}));

  // What is lost multiplies out: utilisation is the product of what each loss has left.
  const sys::program ladder = sys::matmul_program(sys::v5e, {2048, 2048, 2048}, {.block = {512, 1024, 1024}});
  const sys::timeline t = sys::simulate(sys::v5e, ladder);
  fmt::print("\n{:.3f} =", t.utilisation());
  for (const sys::factor& f : sys::loss_factors(t)) fmt::print(" {} {:.3f}", f.name, f.kept);

  // Three buffers let copies start two steps ahead: each more hides more of a copy's fixed cost.
  for (const long long side : {128, 512})
    for (const int buffers : {1, 2, 3}) {
      const sys::matmul_options o{.block = {side, side, side}, .buffers = buffers};
      fmt::print("{}{} buffers of {}: {:.1f}%", buffers == 1 ? "\n" : ", ", buffers, side,
                 100 * sys::simulate_matmul(sys::v5e, {2048, 2048, 2048}, o).utilisation());
    }

  // The same kernel on five chips. Only v4 and v5e were compared with real times.
  fmt::print("\n\n{}", sys::compare_chips([](const sys::chip& c) {
               return sys::matmul_program(c, {4096, 4096, 4096},
                                          {.block = {512, 1024, 512}, .cores = c.megacore ? 2 : 1});
             }));

  // A run is a picture, and a trace for ui.perfetto.dev.
  const auto folder = std::filesystem::temp_directory_path();
  sys::write_file(folder / "tokamax_16_ladder.svg", sys::timeline_svg(ladder, t));
  sys::write_file(folder / "tokamax_16_ladder.json", sys::trace_json(ladder, t));
  for (const char* name : {"tokamax_16_ladder.svg", "tokamax_16_ladder.json"}) std::filesystem::remove(folder / name);
}
