// tests/numpy/dynamic_extents.cpp: functions on dynamic extents compute what they do on known ones, or refuse them.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/lax/fourier/fft.hpp>
#include <tokamax/lax/windows/reduce_window.hpp>
#include <tokamax/numpy.hpp>
#include <tokamax/scipy.hpp>
#include <tokamax/tokamax.hpp>

#include "support/catch.hpp"

#include <cmath>
#include <functional>
#include <vector>

using namespace tokamax;

namespace {
using function = std::function<array(const array&)>;

std::vector<function> functions() {
  return {
      [](const array& x) { return array(median(x)); },
      [](const array& x) { return array(median(x, {.axis = {0}})); },
      [](const array& x) { return array(quantile(x, array(0.25f), {.axis = {0}})); },
      [](const array& x) { return array(percentile(x, array(30.0f), {.axis = {-1}})); },
      [](const array& x) { return array(roll(x, 1, 0)); },
      [](const array& x) { return array(roll(x, -2, 0)); },
      [](const array& x) { return array(roll(x, 5)); },
      [](const array& x) { return array(diff(x, 1, 0)); },
      [](const array& x) { return array(diff(x, 2, 0)); },
      [](const array& x) { return array(diff(x)); },
      [](const array& x) { return array(flip(x)); },
      [](const array& x) { return array(tile(x, {2})); },
      [](const array& x) { return array(repeat(x, 3, 0)); },
      [](const array& x) { return array(trapezoid(x, 1.0, 0)); },
      [](const array& x) { return array(trapezoid(x)); },
      [](const array& x) { return array(cumulative_sum(x, 0, true)); },
      [](const array& x) { return array(partition(x, 2, 0)); },
      [](const array& x) { return array(argpartition(x, 1, 0)); },
      [](const array& x) { return array(append(x, x, 0)); },
      [](const array& x) { return array(append(x, ones({1}))); },
      [](const array& x) { return array(delete_(x, 0, 0)); },
      [](const array& x) { return array(delete_(x, range{0, 2}, 0)); },
      [](const array& x) { return array(ediff1d(x)); },
      [](const array& x) { return array(nan_to_num(x)); },
      [](const array& x) { return array(ptp(x, {{0}})); },
      [](const array& x) { return array(std_(x, {{0}})); },
      [](const array& x) { return array(average(x, {{0}})); },
      [](const array& x) { return array(prod(x, {{0}})); },
      [](const array& x) { return array(resize(x, {7})); },
      [](const array& x) { return array(rot90(x)); },
      [](const array& x) { return array(tril(x)); },
      [](const array& x) { return array(triu(x, 1)); },
      [](const array& x) { return array(trace(x)); },
      [](const array& x) { return array(diagonal(x)); },
      [](const array& x) { return array(diag(x)); },
      [](const array& x) { return array(diag(x, 1)); },
      [](const array& x) { return array(vander(x, 3)); },
      [](const array& x) { return array(outer(x, x)); },
      [](const array& x) { return array(kron(x, x)); },
      [](const array& x) { return array(convolve(x, x)); },
      [](const array& x) { return array(convolve(x, ones({3}), convolve_mode::same)); },
      [](const array& x) { return array(correlate(x, ones({2}))); },
      [](const array& x) { return array(interp(x, arange(4, f32), arange(4, f32))); },
      [](const array& x) { return array(interp(array(0.5f), x, x)); },
      [](const array& x) { return array(bincount(astype(abs(x * 3.0f), i32), 4)); },
      [](const array& x) { return array(searchsorted(x, array(0.5f))); },
      [](const array& x) { return array(searchsorted(arange(4, f32), x)); },
      [](const array& x) { return array(cov(x)); },
      [](const array& x) { return array(corrcoef(x)); },
      [](const array& x) { return array(polyval(x, array(2.0f))); },
      [](const array& x) { return array(polyval(ones({3}), x)); },
      [](const array& x) { return array(polymul(x, x)); },
      [](const array& x) { return array(polyder(x)); },
      [](const array& x) { return array(polyint(x)); },
      [](const array& x) { return array(moveaxis(x, 0, -1)); },
      [](const array& x) { return array(expand_dims(x, 0)); },
      [](const array& x) { return array(atleast_2d(x)); },
      [](const array& x) { return array(vstack({x, x})); },
      [](const array& x) { return array(hstack({x, x})); },
      [](const array& x) { return array(dstack({x, x})); },
      [](const array& x) { return array(column_stack({x, x})); },
      [](const array& x) { return array(insert(x, 0, array(1.0f), 0)); },
      [](const array& x) { return array(take(x, array{0, 1})); },
      [](const array& x) { return array(take(x, array{-1})); },
      [](const array& x) { return array(x(array{0, 2})); },
      [](const array& x) { return array(x(array{-1})); },
      [](const array& x) { return array(x.at(array{0}).set(5.0f)); },
      [](const array& x) { return array(x.at(range{0, 2}).set(5.0f)); },
      [](const array& x) { return array(x.at(range{1}).add(5.0f)); },
      [](const array& x) { return array(x.at(-1).set(1.0f)); },
      [](const array& x) { return array(x(0)); },
      [](const array& x) { return array(x(-1)); },
      [](const array& x) { return array(x[0]); },
      [](const array& x) { return array(x(every(-1))); },
      [](const array& x) { return array(x(range{1, 3})); },
      [](const array& x) { return array(x(range{-3, -1})); },
      [](const array& x) { return array(x(range{5, 2})); },
      [](const array& x) { return array(fill_diagonal(x, array(1.0f))); },
      [](const array& x) { return array(linspace(array(0.0f), array(1.0f), x.extent(0))); },
      [](const array& x) { return array(arange(0, x.extent(0))); },
      [](const array& x) { return array(arange(x.extent(0), 0, -1)); },
      [](const array& x) { return array(arange(0.0, x.extent(0))); },
      [](const array& x) { return array(arange(x.extent(0) / 2)); },
      [](const array& x) { return array(arange(x.extent(0) - 1)); },
      [](const array& x) { return array(arange(x.extent(0) * 2)); },
      [](const array& x) { return array(eye(x.extent(0), 5)); },
      [](const array& x) { return array(eye(x.extent(0), 5, 1)); },
      [](const array& x) { return array(tri(x.extent(0), x.extent(0))); },
      [](const array& x) { return array(hanning(x.extent(0))); },
      [](const array& x) { return array(bartlett(x.extent(0))); },
      [](const array& x) { return array(ones({x.extent(0) / 2})); },
      [](const array& x) { return array(zeros({x.extent(0) + 1})); },
      [](const array& x) { return array(full({4}, static_cast<float>(x.extent(0)))); },
      [](const array& x) { return array(x * (0.5f * static_cast<float>(x.extent(0)))); },
      [](const array& x) { return array(x / (x.extent(0) / 2)); },
      [](const array& x) { return array(x + x.extent(0)); },
      [](const array& x) { return array(unwrap(x)); },
      [](const array& x) { return array(gradient(x)[0]); },
      [](const array& x) { return array(histogram(x, 4).counts); },
      [](const array& x) { return array(nancumsum(x, 0)); },
      [](const array& x) { return array(nanmedian(x, {{0}})); },
      [](const array& x) { return array(top_k(x, 2).values); },
      [](const array& x) { return array(unwrap(x * 9.0f)); },
      [](const array& x) { return array(scipy::signal::detrend(x)); },
      [](const array& x) { return array(fft(complex_parts{x, x}).re); },
      [](const array& x) { return array(ifft(complex_parts{x, x}).re); },
      [](const array& x) { return array(rfft(x).re); },
      [](const array& x) {
        return reduce(x, array(0.0f), [](const array& a, const array& b) { return a + b * 0.5f; }, {0});
      },
      [](const array& x) { return array(scipy::special::zeta(x + 2.0f, array(2.0f))); },
      [](const array& x) { return array(associative_scan([](const array& a, const array& b) { return a + b; }, x)); },
      [](const array& x) { return array(pad(x, {{1, 2}})); },
      [](const array& x) { return array(pad(x, {{1, 2}}, {.mode = pad_mode::reflect})); },
      [](const array& x) { return array(pad(x, {{1, 2}}, {.mode = pad_mode::edge})); },
      [](const array& x) { return array(pad(x, {{1, 2}}, {.mode = pad_mode::mean})); },
      [](const array& x) { return array(pad(x, {{1, 2}}, {.mode = pad_mode::linear_ramp})); },
      [](const array& x) { return array(split(x, 1, 0)[0]); },
      [](const array& x) { return array(array_split(x, 2, 0)[0]); },
      [](const array& x) { return array(one_hot(astype(abs(x * 3.0f), i32), x.extent(0))); },
      [](const array& x) { return array(softmax(x / array(2.0f))); },
      [](const array& x) { return array(meshgrid({x, x})[0]); },
      [](const array& x) { return array(indices({x.extent(0), 2})[0]); },
  };
}
/// The result, or one that does not exist if there is none for these extents.
array result_of(const auto& run, const auto& x) {
  try {
    return run(x);
  } catch (const error&) {
    return {};
  }
}
bool close(const array& a, const array& b) {
  if (!(a.type() == b.type())) return false;
  const array x = astype(a, f32), y = astype(b, f32);
  for (std::size_t i = 0; i < x.values<float>().size(); ++i) {
    const float v = x.values<float>()[i], w = y.values<float>()[i];
    if (!(v == w || (std::isnan(v) && std::isnan(w)) || std::abs(v - w) <= 1e-5f * std::max(1.0f, std::abs(w))))
      return false;
  }
  return true;
}
}  // namespace

TEST_CASE("functions on dynamic extents are right or refused") {
  int number = 0, right = 0;
  for (const function& f : functions()) {
    ++number;
    for (const int rank : {1, 2, -2}) {
      const auto run = jit([&](const array& x) { return f(x); }, cpu);
      const auto any = jit([&](const array& x) { return f(x); }, cpu);
      for (const std::int64_t n : {3, 0, 1, 2, 5}) {
        const array x = random::normal(random::key(1), rank == 1 ? shape{n} : rank == 2 ? shape{n, 4} : shape{4, n});
        INFO("function " << number << " of " << message(x.type()).view());
        const array expected = result_of(run, x), found = result_of(any, symbolic(x, rank < 0 ? 1 : 0));
        if (!found.exists() || !expected.exists()) continue;
        ++right;
        CHECK(close(found, expected));
      }
    }
  }
  CHECK(right > 500);
}
