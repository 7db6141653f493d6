// tests/backend/cuda/reduce.cpp: reductions over rows are those of a plain loop in f64, in the same bits each time.
#include <tokamax/backend/cuda/kernels/reduce.hpp>

#include <tokamax/backend/cuda.hpp>
#include <tokamax/tokamax.hpp>

#include <algorithm>
#include <cmath>

#include "support/catch.hpp"
#include "support/emulated_gpu.hpp"

namespace tk = tokamax;
using tk::array;
using namespace tk::cuda_backend;

namespace {

const tk::test::fake_gpu* gpu() { return tk::test::emulated_gpu(29); }

std::vector<double> wide(const array& x) {
  const array y = tk::astype(tk::device_put(x, tk::cpu), tk::f64);
  const auto all = y.values<double>();
  return {all.begin(), all.end()};
}
/// Sums and maxima over axis 1 of x [batches, length, columns].
template <class Device>
void check_on(const Device& device, tk::dtype t, tk::shape s) {
  CAPTURE(tk::name(t), s[0], s[1], s[2]);
  const array x = tk::astype(tk::random::normal(tk::random::key(1), s) * (tk::is_floating(t) ? 1.0f : 9.0f) + 0.25f, t);
  const auto run =
      tk::jit([](const array& y) { return std::pair{tk::sum(y, {.axis = {1}}), tk::max(y, {.axis = {1}})}; }, device,
              tk::at_run_time);
  const auto [sum, greatest] = run(x);
  const auto [sum_again, greatest_again] = run(x);
  const std::vector<double> in = wide(x), sums = wide(sum), most = wide(greatest);
  CHECK(sums == wide(sum_again));
  CHECK(most == wide(greatest_again));
  const auto columns = static_cast<std::size_t>(s[2]), length = static_cast<std::size_t>(s[1]);
  bool same = true;
  for (std::size_t i = 0; i < sums.size() && same; ++i) {
    double all = 0, size = 0, top = -INFINITY;
    for (std::size_t k = 0; k < length; ++k) {
      const double v = in[(i / columns * length + k) * columns + i % columns];
      all += v, size += std::fabs(v), top = std::max(top, v);
    }
    // An element is in three additions of a tree and in the few of two passes; then the sum is rounded.
    const double error = !tk::is_floating(t) ? 0 : 16 * 6e-8 * size + (t == tk::bf16 ? 4e-3 * std::fabs(all) : 0);
    same = std::fabs(sums[i] - all) <= error && most[i] == top;
    CAPTURE(i, sums[i], all, most[i], top);
    if (!same) FAIL_CHECK("a result differs");
  }
}

}  // namespace

TEST_CASE("reductions over rows are those of f64") {
  if (!gpu()) return;
  for (const tk::shape& s : {tk::shape{1, 1, 8}, tk::shape{1, 700, 264}, tk::shape{3, 65, 8}, tk::shape{2, 9000, 8}})
    check_on(*gpu(), tk::bf16, s);
  for (const tk::shape& s : {tk::shape{1, 300, 65}, tk::shape{2, 1, 3}, tk::shape{1, 257, 1}})
    check_on(*gpu(), tk::i32, s);
  if (!tk::cuda.is_available()) return;
  for (const tk::dtype t : {tk::bf16, tk::f32})
    for (const std::int64_t columns : {1, 65, 768, 2304, 3072, 50257}) check_on(tk::cuda, t, {1, 4096, columns});
  check_on(tk::cuda, tk::f32, {70, 100, 5000});
}

TEST_CASE("threads read as many columns as lie aligned, and passes fill the GPU") {
  const auto rows = [](const tk::shape& s) {
    return reduced_rows(reduce_axes({nullptr, tk::bf16, s, tk::row_major(s)}, {s.rank() - 2}));
  };
  const lane_split wide_rows(rows({32768, 768}), tk::bf16, nullptr);
  CHECK(wide_rows.lanes == 8);
  CHECK(wide_rows.across == 32);
  CHECK(wide_rows.batch() == 64);
  CHECK(lane_split(rows({32768, 768}), tk::bf16, reinterpret_cast<const void*>(4)).lanes == 2);
  CHECK(lane_split(rows({100, 3}), tk::bf16, nullptr).across == 4);
  CHECK(rows({7, 100, 6}).batches == 7);
  CHECK(!reduced_rows(reduce_axes({nullptr, tk::bf16, {4, 5}, {5, 1}}, {1})).exists);
  CHECK(!reduced_rows(reduce_axes({nullptr, tk::bf16, {2, 3, 4, 5}, {60, 20, 5, 1}}, {0, 2})).exists);
}
