// bench/backend/cpu/functions.cpp: times of everyday functions of arrays as users call them.
// SPDX-License-Identifier: Apache-2.0
//
// bench/peers/functions.py has the same functions of the same data in NumPy, JAX and PyTorch.
//
//   tokamax_bench_functions        runs all and prints a line of JSON for each
//   tokamax_bench_functions serve  reads lines "RUNS NAME" and answers "MEDIAN_SECONDS MEAN 0", for turns with the peers
//   tokamax_bench_functions NAME   prints what each step of that function takes
#include <tokamax/benchmarking/benchmark.hpp>
#include <tokamax/lax/fourier/fft.hpp>
#include <tokamax/linalg.hpp>
#include <tokamax/numpy.hpp>
#include <tokamax/tokamax.hpp>

#include <cstdio>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "support/measure.hpp"
#include "support/turns.hpp"

namespace tk = tokamax;
using bench::array_list;
using tk::array;

namespace {

/// A function, and what makes its operands.
struct row {
  const char* name;
  array_list (*data)();
  array_list (*f)(const array_list&);
};

constexpr std::int64_t many = 1 << 20;

array floats(const tk::shape& s, std::uint32_t k = 0) { return bench::uniform_array(s, k); }
array below(std::int64_t end, const tk::shape& s, std::uint32_t k = 1) { return bench::mixed_numbers_below(end, s, k); }
array_list square() { return {floats({1024, 1024})}; }
array_list two_squares() { return {floats({1024, 1024}), floats({1024, 1024}, 1)}; }
array_list line() { return {floats({many})}; }
array positive_definite(std::int64_t n) {
  const array a = floats({n, n});
  return tk::matmul(a, tk::transpose(a)) + tk::eye(n);
}
array symmetric(std::int64_t n) {
  const array a = floats({n, n});
  return a + tk::transpose(a);
}
array ordered(std::int64_t n) { return tk::astype(tk::arange(n), tk::f32) * (1.7f / static_cast<float>(n)) - 0.85f; }
array_list both(const tk::complex_parts& c) { return {c.re, c.im}; }

const row elementwise_and_reductions[] = {
    {"exp(sin(x)) * x [2^20]", line, [](const array_list& x) -> array_list { return {tk::exp(tk::sin(x[0])) * x[0]}; }},
    {"where(x > 0, x, y) [2^20]", [] { return array_list{floats({many}), floats({many}, 1)}; },
     [](const array_list& x) -> array_list { return {tk::where(x[0] > 0, x[0], x[1])}; }},
    {"sum [1024, 1024]", square, [](const array_list& x) -> array_list { return {tk::sum(x[0])}; }},
    {"sum of axis 0 [1024, 1024]", square, [](const array_list& x) -> array_list { return {tk::sum(x[0], {{0}})}; }},
    {"sum of axis 1 [1024, 1024]", square, [](const array_list& x) -> array_list { return {tk::sum(x[0], {{1}})}; }},
    {"max of axis 1 [1024, 1024]", square, [](const array_list& x) -> array_list { return {tk::max(x[0], {{1}})}; }},
    {"var of axis 1 [1024, 1024]", square,
     [](const array_list& x) -> array_list { return {tk::var(x[0], {.axis = {1}})}; }},
    {"argmax of axis 1 [1024, 1024]", square, [](const array_list& x) -> array_list { return {tk::argmax(x[0], 1)}; }},
    {"softmax [1024, 1024]", square, [](const array_list& x) -> array_list { return {tk::softmax(x[0])}; }},
    {"logsumexp [1024, 1024]", square, [](const array_list& x) -> array_list { return {tk::logsumexp(x[0], {{1}})}; }},
    {"cumsum of axis 0 [1024, 1024]", square, [](const array_list& x) -> array_list { return {tk::cumsum(x[0], 0)}; }},
    {"cumsum of axis 1 [1024, 1024]", square, [](const array_list& x) -> array_list { return {tk::cumsum(x[0], 1)}; }},
};

const row orders[] = {
    {"sort [2^20]", line, [](const array_list& x) -> array_list { return {tk::sort(x[0])}; }},
    {"sort [1024, 1024]", square, [](const array_list& x) -> array_list { return {tk::sort(x[0])}; }},
    {"argsort [1024, 1024]", square, [](const array_list& x) -> array_list { return {tk::argsort(x[0])}; }},
    {"top_k of 16 [1024, 1024]", square,
     [](const array_list& x) -> array_list {
       const auto [values, indices] = tk::top_k(x[0], 16);
       return {values, indices};
     }},
    {"searchsorted of 2^18 in 10000", [] { return array_list{ordered(10000), floats({many / 4})}; },
     [](const array_list& x) -> array_list { return {tk::searchsorted(x[0], x[1])}; }},
    {"unique of 2^18 numbers below 5000", [] { return array_list{below(5000, {many / 4})}; },
     [](const array_list& x) -> array_list { return {tk::unique(x[0], {.size = 5000})}; }},
    {"median of axis 1 [1024, 1024]", square,
     [](const array_list& x) -> array_list { return {tk::median(x[0], {{1}})}; }},
    {"three quantiles [2^20]", [] { return array_list{floats({many}), array::from<float>({0.1f, 0.5f, 0.9f})}; },
     [](const array_list& x) -> array_list { return {tk::quantile(x[0], x[1])}; }},
    {"nonzero of x > 0 [2^20]", line,
     [](const array_list& x) -> array_list { return {tk::flatnonzero(x[0] > 0, {.size = many / 2})}; }},
    {"histogram of 64 bins [2^20]", line,
     [](const array_list& x) -> array_list { return {tk::histogram(x[0], 64).counts}; }},
    {"bincount of numbers below 1000 [2^20]", [] { return array_list{below(1000, {many})}; },
     [](const array_list& x) -> array_list { return {tk::bincount(x[0], 1000)}; }},
};

const row moves[] = {
    {"take of 8192 rows of [10000, 256]", [] { return array_list{floats({10000, 256}), below(10000, {8192})}; },
     [](const array_list& x) -> array_list { return {tk::take(x[0], x[1])}; }},
    {"take of elements [2^20]", [] { return array_list{floats({many}), below(many, {many})}; },
     [](const array_list& x) -> array_list { return {tk::take(x[0], x[1])}; }},
    {"take_along_axis [1024, 1024]", [] { return array_list{floats({1024, 1024}), below(1024, {1024, 1024})}; },
     [](const array_list& x) -> array_list { return {tk::take_along_axis(x[0], x[1], 1)}; }},
    {"scatter_add of 8192 rows to [10000, 256]",
     [] { return array_list{floats({10000, 256}), below(10000, {8192}), floats({8192, 256}, 2)}; },
     [](const array_list& x) -> array_list { return {x[0].at(x[1]).add(x[2])}; }},
    {"transpose to a copy [1024, 1024]", square,
     [](const array_list& x) -> array_list { return {tk::transpose(x[0])}; }},
    {"concatenate of axis 1 [1024, 1024] twice", two_squares,
     [](const array_list& x) -> array_list { return {tk::concatenate({x[0], x[1]}, 1)}; }},
    {"roll of axis 1 by 100 [1024, 1024]", square,
     [](const array_list& x) -> array_list { return {tk::roll(x[0], 100, 1)}; }},
    {"pad by 1 [1024, 1024]", square,
     [](const array_list& x) -> array_list { return {tk::pad(x[0], {{1, 1}, {1, 1}})}; }},
    {"flip of axis 1 [1024, 1024]", square, [](const array_list& x) -> array_list { return {tk::flip(x[0], {1})}; }},
    {"repeat of 4 [2^18]", [] { return array_list{floats({many / 4})}; },
     [](const array_list& x) -> array_list { return {tk::repeat(x[0], 4)}; }},
};

const row products[] = {
    {"matmul [512, 512]", [] { return array_list{floats({512, 512}), floats({512, 512}, 1)}; },
     [](const array_list& x) -> array_list { return {tk::matmul(x[0], x[1])}; }},
    {"matrix by vector [2048, 2048]", [] { return array_list{floats({2048, 2048}), floats({2048}, 1)}; },
     [](const array_list& x) -> array_list { return {tk::matmul(x[0], x[1])}; }},
    {"einsum bij,bjk->bik [64, 128, 128]", [] { return array_list{floats({64, 128, 128}), floats({64, 128, 128}, 1)}; },
     [](const array_list& x) -> array_list { return {tk::einsum("bij,bjk->bik", x[0], x[1])}; }},
    {"einsum i,j->ij [1024]", [] { return array_list{floats({1024}), floats({1024}, 1)}; },
     [](const array_list& x) -> array_list { return {tk::einsum("i,j->ij", x[0], x[1])}; }},
    {"einsum ij,jk,kl->il [256, 256]",
     [] { return array_list{floats({256, 256}), floats({256, 256}, 1), floats({256, 256}, 2)}; },
     [](const array_list& x) -> array_list { return {tk::einsum("ij,jk,kl->il", x[0], x[1], x[2])}; }},
    {"conv1d [8, 1024, 64] by 5", [] { return array_list{floats({8, 1024, 64}), floats({5, 64, 64}, 1)}; },
     [](const array_list& x) -> array_list {
       return {tk::conv_general_dilated(
           x[0], x[1], {.strides = {1}, .low = {2}, .high = {2}, .lhs_dilation = {1}, .rhs_dilation = {1}})};
     }},
    {"conv2d [4, 56, 56, 64] by 3 x 3", [] { return array_list{floats({4, 56, 56, 64}), floats({3, 3, 64, 64}, 1)}; },
     [](const array_list& x) -> array_list { return {tk::conv2d(x[0], x[1])}; }},
    {"convolve of 2^17 by 129", [] { return array_list{floats({many / 8}), floats({129}, 1)}; },
     [](const array_list& x) -> array_list { return {tk::convolve(x[0], x[1])}; }},
    {"fft [256, 1024]", [] { return array_list{floats({256, 1024}), floats({256, 1024}, 1)}; },
     [](const array_list& x) { return both(tk::fft({x[0], x[1]})); }},
    {"rfft [64, 4096]", [] { return array_list{floats({64, 4096})}; },
     [](const array_list& x) { return both(tk::rfft(x[0])); }},
    {"interp of 2^18 in 1000", [] { return array_list{floats({many / 4}), ordered(1000), floats({1000}, 1)}; },
     [](const array_list& x) -> array_list { return {tk::interp(x[0], x[1], x[2])}; }},
};

const row algebra[] = {
    {"cholesky [512, 512]", [] { return array_list{positive_definite(512)}; },
     [](const array_list& x) -> array_list { return {tk::linalg::cholesky(x[0])}; }},
    {"solve [512, 512] of 16", [] { return array_list{positive_definite(512), floats({512, 16}, 1)}; },
     [](const array_list& x) -> array_list { return {tk::linalg::solve(x[0], x[1])}; }},
    {"inv [256, 256]", [] { return array_list{positive_definite(256)}; },
     [](const array_list& x) -> array_list { return {tk::linalg::inv(x[0])}; }},
    {"qr [512, 128]", [] { return array_list{floats({512, 128})}; },
     [](const array_list& x) -> array_list {
       const auto [q, r] = tk::linalg::qr(x[0]);
       return {q, r};
     }},
    {"svd [256, 128]", [] { return array_list{floats({256, 128})}; },
     [](const array_list& x) -> array_list {
       const auto [u, s, vh] = tk::linalg::svd(x[0]);
       return {u, s, vh};
     }},
    {"eigh [256, 256]", [] { return array_list{symmetric(256)}; },
     [](const array_list& x) -> array_list {
       const auto [values, vectors] = tk::linalg::eigh(x[0]);
       return {values, vectors};
     }},
    {"random normal [2^20]", [] { return array_list{tk::random::key(0)}; },
     [](const array_list& x) -> array_list { return {tk::random::normal(tk::random::key(x[0]), {many})}; }},
    {"random uniform [2^20]", [] { return array_list{tk::random::key(0)}; },
     [](const array_list& x) -> array_list { return {tk::random::uniform(tk::random::key(x[0]), {many})}; }},
};

std::vector<row> all_rows() {
  std::vector<row> all;
  const auto append = [&](const auto& rows) { all.insert(all.end(), std::begin(rows), std::end(rows)); };
  append(elementwise_and_reductions), append(orders), append(moves), append(products), append(algebra);
  return all;
}

bench::ready_function ready(const row& r) { return {r.f, r.data(), 0, true}; }

row row_of(const std::string& name) {
  for (const row& r : all_rows())
    if (name == r.name) return r;
  throw tk::error("functions: name", name, "a name of bench/backend/cpu/functions.cpp");
}

void print_steps(const row& r) {
  const auto traced = [f = bench::function(r.f)](const array_list& x) { return f(x); };
  std::puts(tk::to_text(tk::benchmark(traced, {}, r.data())).c_str());
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc > 1 && std::string(argv[1]) == "serve")
    return bench::serve([](const std::string& name) { return ready(row_of(name)); }), 0;
  if (argc > 1) return print_steps(row_of(argv[1])), 0;
  for (const row& r : all_rows()) {
    const auto f = ready(r);
    bench::report("functions", r.name, "tokamax", 1e6 * bench::median_seconds([&] { f.run(); }), "us");
  }
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
