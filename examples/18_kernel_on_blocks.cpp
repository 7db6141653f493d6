// examples/18_kernel_on_blocks.cpp: a kernel on blocks with a gradient rule. New here: kernel_call, block_spec, ref.
#include <tokamax/kernel.hpp>
#include <tokamax/tokamax.hpp>

#include <fmt/core.h>

namespace tk = tokamax;
using tk::array;

// A kernel works on blocks. Step (i, j, k) of the grid gets block (i, k) of x and block (k, j) of w, and adds their product to
// block (i, j) of the result. The sum lies in scratch memory, which keeps its values from step to step.
constexpr auto product = [](const array& x, const array& w) {
  const auto body = [](auto& p, auto& x_block, auto& w_block, auto& out, auto& sum) {
    p.when(p.program_id(2) == 0, [&] { sum.set(0.0f); });
    sum += tk::matmul(x_block.get(), w_block.get());
    p.when(p.program_id(2) == p.num_programs(2) - 1, [&] { out.set(tk::relu(sum.get())); });
  };
  const auto m = x.extent(0), n = w.extent(1), k = x.extent(1), b = std::int64_t{4};
  using enum tk::dimension_semantics;
  return tk::kernel_call(body, {.grid = {m / b, n / b, k / b},
                                .in = {{{b, b}, {0, 2}}, {{b, b}, {2, 1}}},
                                .out = {{{x.dtype(), false, {m, n}}, {{b, b}, {0, 1}}}},
                                .scratch = {{{x.dtype(), false, {b, b}}}},
                                .semantics = {parallel, parallel}})(x, w);
};
// Steps share the sum, so the gradient is a rule: `forward` keeps what `backward` needs.
constexpr auto dense_relu = tk::custom_vjp(
    product,
    [](const array& x, const array& w) {
      const array y = product(x, w);
      return std::pair{y, std::tuple{x, w, y}};
    },
    [](const std::tuple<array, array, array>& kept, const array& ct) {
      const auto& [x, w, y] = kept;
      const array through = tk::where(y > 0.0f, ct, 0.0f);
      return std::tuple{tk::matmul(through, tk::swapaxes(w, 0, 1)), tk::matmul(tk::swapaxes(x, 0, 1), through)};
    });

using inputs = tk::tensor<tk::f32, 8, 16>;
using weights = tk::tensor<tk::f32, 16, 12>;
constexpr auto loss = [](const inputs& x, const weights& w) { return tk::sum(tk::square(dense_relu(x, w))); };
constexpr auto plain = [](const inputs& x, const weights& w) {
  return tk::sum(tk::square(tk::relu(tk::matmul(x, w))));
};

float distance(const array& a, const array& b) { return tk::max(tk::abs(a - b)).item(); }

int main() {
  const inputs x = tk::random::normal(tk::random::key(1), {8, 16});
  const weights w = tk::random::normal(tk::random::key(2), {16, 12});
  const auto step = tk::jit(tk::grad<0, 1>(loss), tk::cpu);  // the C++ compiler has traced the kernel and its rule
  const auto expected = tk::jit(tk::grad<0, 1>(plain), tk::cpu);
  const auto [dx, dw] = step(x, w);
  const auto [ex, ew] = expected(x, w);
  fmt::print("the kernel agrees: {}\n", distance(product(x, w), tk::relu(tk::matmul(x, w))) < 1e-4f);
  fmt::print("so do its gradients: {}\n", distance(dx, ex) < 1e-3f && distance(dw, ew) < 1e-3f);

  // vmap adds an axis to the grid. The body stays as it is.
  const array batch = tk::stack({array(x), array(x) * 2.0f, array(x) - 1.0f});
  const array ys = tk::vmap(product, {.in_axes = {0, tk::not_mapped}})(batch, array(w));
  fmt::print("a batch of three: {}\n", ys.shape() == tk::shape{3, 8, 12} && distance(ys[0], product(x, w)) < 1e-4f);
}
