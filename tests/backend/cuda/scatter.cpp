// tests/backend/cuda/scatter.cpp: sums of rows by index are those of a plain loop in f64, in the same bits each time.
#include <tokamax/backend/cuda/kernels/scatter.hpp>

#include <tokamax/backend/cuda.hpp>
#include <tokamax/tokamax.hpp>

#include <algorithm>
#include <cmath>

#include "support/catch.hpp"
#include "support/emulated_gpu.hpp"

namespace tk = tokamax;
using tk::array;

namespace {

const tk::test::fake_gpu* gpu() { return tk::test::emulated_gpu(30); }

array normal(int seed, tk::shape s) { return tk::random::normal(tk::random::key(seed), s); }
std::vector<double> wide(const array& x) {
  const array y = tk::astype(tk::device_put(x, tk::cpu), tk::f64);
  const auto all = y.values<double>();
  return {all.begin(), all.end()};
}
/// How the indices of updates are spread over the rows.
enum class spread { even, one_row, few_rows, outside, descending };
template <class Index>
array indices_of(spread how, std::int64_t count, std::int64_t rows) {
  array x = array::uninitialized({tk::dtype_of<Index>, false, {count}});
  Index* const at = x.mutable_data<Index>();
  for (std::int64_t i = 0; i < count; ++i)
    at[i] = static_cast<Index>(how == spread::even         ? i * 7919 % rows
                               : how == spread::one_row    ? rows - 1
                               : how == spread::few_rows   ? i * i % 3 * (rows / 3)
                               : how == spread::descending ? rows - 1 - i * rows / count
                                                           : i * 31 % (3 * rows) - rows);
  return x;
}

/// Adds updates to `onto`, and to zeros, and compares both with sums in f64.
template <class Index, class Device>
void check_on(const Device& device, tk::dtype t, std::int64_t rows, std::int64_t columns, std::int64_t count,
              spread how) {
  CAPTURE(tk::name(t), rows, columns, count, static_cast<int>(how));
  const bool floats = tk::is_floating(t);
  const array indices = indices_of<Index>(how, count, rows);
  const array onto = tk::astype(normal(1, {rows, columns}) * (floats ? 1.0f : 3.0f), t);
  const array updates = tk::astype(normal(2, {count, columns}) * (floats ? 1.0f : 3.0f), t);
  std::vector<double> expected = wide(onto), size(expected.size()), zero(expected.size(), 0.0);
  std::transform(expected.begin(), expected.end(), size.begin(), [](double x) { return std::fabs(x); });
  const std::vector<double> u = wide(updates), at = wide(indices);
  for (std::size_t i = 0; i < at.size(); ++i) {
    if (at[i] < 0 || at[i] >= static_cast<double>(rows)) continue;
    for (std::size_t c = 0; c < static_cast<std::size_t>(columns); ++c) {
      const std::size_t to = static_cast<std::size_t>(at[i]) * static_cast<std::size_t>(columns) + c;
      const double add = u[i * static_cast<std::size_t>(columns) + c];
      expected[to] += add, zero[to] += add, size[to] += std::fabs(add);
    }
  }
  const auto run =
      tk::jit([rows](const array& o, const array& i,
                     const array& x) { return std::pair{tk::scatter_add(o, i, x), tk::scatter_add(i, x, rows)}; },
              device, tk::at_run_time);
  const auto [found, from_zero] = run(onto, indices, updates);
  const auto [again, zero_again] = run(onto, indices, updates);
  REQUIRE(found.dtype() == t);
  CHECK(wide(found) == wide(again));
  CHECK(wide(from_zero) == wide(zero_again));
  const double rounding = !floats ? 0 : t == tk::f64 ? 1e-15 : t == tk::f32 ? 5e-7 : t == tk::bf16 ? 4e-3 : 5e-4;
  const std::vector<double> a = wide(found), b = wide(from_zero);
  bool same = true;
  for (std::size_t i = 0; i < a.size() && same; ++i) {
    const double most = rounding * size[i] * (t == tk::f32 || t == tk::f64 ? std::sqrt(1.0 + double(count)) : 1);
    same = std::fabs(a[i] - expected[i]) <= most && std::fabs(b[i] - zero[i]) <= most;
    CAPTURE(i, a[i], expected[i], b[i], zero[i]);
    if (!same) FAIL_CHECK("a sum differs");
  }
}
/// On the host, and on a GPU where there is one.
template <class Index>
void check(tk::dtype t, std::int64_t rows, std::int64_t columns, std::int64_t count, spread how) {
  check_on<Index>(*gpu(), t, rows, columns, count, how);
  if (tk::cuda.is_available()) check_on<Index>(tk::cuda, t, rows, columns, count, how);
}

}  // namespace

TEST_CASE("sums of rows are those of f64, however the indices are spread") {
  if (!gpu()) return;
  for (const spread how : {spread::even, spread::one_row, spread::few_rows, spread::outside, spread::descending}) {
    check<std::int32_t>(tk::bf16, 70, 24, 300, how);    // 16 bytes a thread, some pieces of several rows
    check<std::int64_t>(tk::f32, 70000, 3, 1500, how);  // three digits, two chunks, single elements
  }
}
TEST_CASE("sums of rows have integers and other floats") {
  if (!gpu()) return;
  for (const tk::dtype t : {tk::u16, tk::f16}) check<std::int32_t>(t, 5, 16, 90, spread::few_rows);
}
TEST_CASE("sums of rows have edges") {
  if (!gpu()) return;
  for (const std::int64_t count : {0, 1, 31, 32, 33, 64, 65, 1024, 1025}) {
    check<std::int32_t>(tk::f32, 3, 4, count, spread::even);
    check<std::int32_t>(tk::f32, 1, 1, count, spread::one_row);
  }
  for (const std::int64_t rows : {255, 256, 257}) check<std::int32_t>(tk::f32, rows, 4, 600, spread::outside);
  check<std::int32_t>(tk::f32, 4, 0, 3, spread::even);
  check<std::int32_t>(tk::f32, 4, 2100, 40, spread::few_rows);  // several blocks for the columns
}
TEST_CASE("the gradient of an embedding of GPT-2 is that of f64") {
  if (!tk::cuda.is_available()) return;
  for (const spread how : {spread::even, spread::one_row, spread::few_rows})
    check_on<std::int32_t>(tk::cuda, tk::bf16, 50257, 768, 32768, how);
}
