// examples/19_simulated_tpu.cpp: a kernel is checked, and timed on a TPU that is simulated. New here: check_kernel, systolic.
#include <tokamax/backend/systolic/device.hpp>
#include <tokamax/backend/systolic/report/roofline.hpp>
#include <tokamax/backend/systolic/report/sweep.hpp>
#include <tokamax/kernel.hpp>
#include <tokamax/kernel/check/check_kernel.hpp>
#include <tokamax/tokamax.hpp>

#include <fmt/core.h>

namespace tk = tokamax;
using tk::array;

// A kernel of your own, its block specs and its gradient rule: rows divided by their root mean square.
constexpr auto rows_of_8 = [](const array& x) { return tk::block_spec{{8, x.extent(1)}, {0, tk::first_block}}; };
constexpr auto normalised = [](const array& x, const array& scale) {
  const auto body = [](auto&, auto& rows, auto& s, auto& out) {
    const array v = rows.get(), rstd = tk::rsqrt(tk::mean(v * v, {.axis = {1}, .keepdims = true}) + 1e-6f);
    out.set(v * rstd * s.get());
  };
  return tk::kernel_call(body, {.grid = {x.extent(0) / 8},
                                .in = {rows_of_8(x), {}},
                                .out = {{x.type(), rows_of_8(x)}},
                                .semantics = {tk::dimension_semantics::parallel}})(x, scale);
};
constexpr auto rms_norm = tk::custom_vjp(
    normalised,
    [](const array& x, const array& scale) { return std::pair{normalised(x, scale), std::tuple{x, scale}}; },
    [](const std::tuple<array, array>& kept, const array& ct) {
      const auto& [x, scale] = kept;
      const tk::reduce_options along{.axis = {1}, .keepdims = true};
      const array rstd = tk::rsqrt(tk::mean(x * x, along) + 1e-6f), x_hat = x * rstd, g = ct * scale;
      return std::tuple{rstd * (g - x_hat * tk::mean(g * x_hat, along)), tk::sum(ct * x_hat, {.axis = {0}})};
    });

// A kernel that copies what it needs itself, and one line of which is wrong.
array doubled(const array& x) {
  const tk::block_spec outside{.space = tk::memory_space::any};
  const auto body = [](auto& p, auto& in, auto& out) {
    p.run_scoped({{in.type()}, tk::semaphores()}, [&](auto& here, auto& arrived) {
      const auto copy = tk::make_async_copy(in, here, arrived);
      copy.start();
      out.set(here.get() * 2.0f);  // the wait should come first
      copy.wait();
    });
  };
  return tk::kernel_call(body, {.in = {outside}, .out = {{x.type()}}})(x);
}

constexpr auto loss = [](const array& x, const array& scale, const array& w) {
  return tk::mean(tk::square(tk::matmul(rms_norm(x, scale), w)));
};

// The largest difference, as a share of the largest element.
float distance(const array& a, const array& b) { return tk::max(tk::abs(a - b)).item() / tk::max(tk::abs(b)).item(); }

int main() {
  const auto normal = [](int seed, const tk::shape& s) { return tk::random::normal(tk::random::key(seed), s); };
  const array x = normal(1, {1024, 512}), scale = normal(2, {512}), w = normal(3, {512, 2048});

  // A check runs the kernel on memory that notices mistakes, with copies that arrive in pieces.
  fmt::print("rms_norm: {} problems\n", tk::check_kernel(rms_norm, x, scale).problems.size());
  fmt::print("{}", tk::check_kernel(doubled, normal(4, {8, 128})).text());

  // The values on a simulated TPU are those of products in bfloat16.
  const auto plain = [](const array& v, const array& s) {
    return v * tk::rsqrt(tk::mean(v * v, {.axis = {1}, .keepdims = true}) + 1e-6f) * s;
  };
  const auto expected = tk::grad<0, 1>(
      [&](const array& a, const array& s) { return tk::mean(tk::square(tk::matmul(plain(a, s), w))); })(x, scale);
  const auto step = tk::jit(tk::grad<0, 1>(loss), tk::systolic(tk::v5e));
  const auto [dx, ds] = step(x, scale, w);
  const auto& [ex, es] = expected;
  fmt::print("gradients agree: {}\n", distance(dx, ex) < 0.02f && distance(ds, es) < 0.02f);

  // And the report says what a run costs on the chip, and why.
  const auto report = step.report();
  fmt::print("{}", report.text(4));
  for (const auto& chip : {tk::v4, tk::v6e})
    fmt::print("{}: {:.0f} us\n", chip.name,
               tk::systolic_report(tk::systolic(chip), tk::grad<0, 1>(loss), x, scale, w).microseconds());

  // Blocks of a product decide what a chip waits for. The table has % of the arrays for sides of blocks, m down and n across.
  namespace sys = tk::systolic_backend;
  const sys::product_shape product{1024, 2048, 2048};
  const auto all = sys::sweep_blocks(tk::v5e, product);
  fmt::print("{}", sys::sweep_text(all));
  for (const auto& block : {sys::product_shape{128, 128, 128}, sys::fastest(all).block})
    fmt::print("{}", sys::roofline_text(sys::simulate_matmul(tk::v5e, product, {.block = block}),
                                        fmt::format("{} x {} x {}", block.m, block.k, block.n)));
}
