// examples/12_write_a_kernel.cpp: a faster kernel for an op. New here: devices, kernel, kernel_arguments, kernel_list.
#include <tokamax/tokamax.hpp>

#include <fmt/core.h>

#include <algorithm>  // max
#include <cmath>      // exp, log

namespace tk = tokamax;
using tk::array, tk::jit;

// The op of lesson 11. Its meaning runs as loops and reductions that read each row more than once.
inline constexpr tk::op smooth_max_p{
    .name = "smooth_max",
    .infer = [](const tk::call& c) -> tk::array_type {  // [rows, n] -> [rows]
      if (c[0].rank() != 2 || c[0].dtype() != tk::f32) return c.fail("smooth_max: x", c[0].type(), "f32[rows, n]");
      return {tk::f32, false, {c[0].extent(0)}};
    },
    .compose = [](const tk::call& c) -> tk::arrays { return tk::logsumexp(c[0], {.axis = {1}}); },
    .vjp = [](const tk::call& c) -> tk::arrays { return tk::expand_dims(c.ct(), {-1}) * tk::softmax(c[0]); },
};
constexpr array smooth_max(const array& x, tk::source_line l = tk::source_line::current()) {
  return tk::bind(smooth_max_p, {x}, tk::words{}, l);
}

// A kernel belongs to a device. This one is the processor with one kernel more: all other ops run as they do on
// tk::cpu. The list is for programs that are traced at run time.
struct my_device : tk::cpu_tag {
  static constexpr std::string_view name = "mine";
  using kernels = tk::kernel_list<smooth_max_p>;
};

// A kernel gets memory: operands and results with dtypes, extents and strides. It writes the results and nothing else.
// Operands are dense, unless the kernel says that it reads any strides by specialising tokamax::takes_views.
void kernel(tk::op_c<smooth_max_p>, my_device, const tk::kernel_arguments& a) {
  const float* x = a.in[0].as<const float>();
  float* y = a.out[0].as<float>();
  const std::int64_t rows = a.in[0].extent(0), n = a.in[0].extent(1);
  // Chunks follow from the shape and never from the number of threads, so that results have the same bits everywhere.
  tk::cpu_backend::parallel_for(rows, [&](std::int64_t r) {
    const float* row = x + r * n;
    float top = row[0], sum = 0;
    for (std::int64_t j = 1; j < n; ++j) top = std::max(top, row[j]);
    for (std::int64_t j = 0; j < n; ++j) sum += std::exp(row[j] - top);
    y[r] = top + std::log(sum);
  });
}

using table = tk::tensor<tk::f32, 4, 100>;
constexpr auto scaled = [](const table& x) { return smooth_max(x * 2 + 1); };

int main() {
  const table x = tk::sin(tk::reshape(tk::arange(400), {4, 100}) * 0.37f);
  const auto plain = jit(scaled, tk::cpu);
  const auto mine = jit(scaled, my_device{});
  const std::string steps = tk::describe<decltype(mine)::for_types<table>>();
  fmt::print("{}", steps.substr(steps.find("program:")));

  // The meaning of the op is the reference for every kernel. Compare them, on shapes and values that are hard, too.
  const array wanted = plain(x), found = mine(x), late = jit(scaled, my_device{}, tk::at_run_time)(x);
  fmt::print("\nlargest difference: {}\n",
             tk::max(tk::abs(found - wanted)).item() < 1e-5f ? "below 1e-5" : "too large");
  fmt::print("traced at run time: {}\n",
             tk::max(tk::abs(late - found)).item() == 0 ? "the same kernel" : "another one");
}
