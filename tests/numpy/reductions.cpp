// tests/numpy/reductions.cpp: reductions give what jax.numpy gives.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/numpy.hpp>
#include <tokamax/transforms/cumulative.hpp>
#include <tokamax/transforms/grad.hpp>

#include "support/catch.hpp"
#include "support/golden_cases.hpp"

#include <cmath>

using namespace tokamax;
using namespace tokamax::test;

namespace {
using options = const case_options&;
using reduction = array (*)(const array&, reduce_options, source_line);

moment_options moments(options o) {
  const reduce_options r = o.reduction();
  return {r.axis, r.keepdims, o.number("ddof")};
}
quantile_options quantiles(options o) {
  const std::map<std::string, quantile_method> methods{{"linear", quantile_method::linear},
                                                       {"lower", quantile_method::lower},
                                                       {"higher", quantile_method::higher},
                                                       {"midpoint", quantile_method::midpoint},
                                                       {"nearest", quantile_method::nearest}};
  const reduce_options r = o.reduction();
  return {r.axis, r.keepdims, methods.at(o.text("method", "linear"))};
}
void add_plain(case_functions& table) {
  const std::pair<const char*, reduction> functions[] = {
      {"sum", sum},
      {"max", max},
      {"min", min},
      {"mean", mean},
      {"all", all},
      {"any", any},
      {"prod", prod},
      {"ptp", ptp},
      {"count_nonzero", count_nonzero},
      {"nansum", nansum},
      {"nanprod", nanprod},
      {"nanmax", nanmax},
      {"nanmin", nanmin},
      {"nanmean", nanmean},
      {"median", median},
      {"nanmedian", nanmedian},
  };
  for (const auto& [name, f] : functions)
    table[name] = [f = f](const arrays& x, options o) -> arrays {
      return f(x[0], o.reduction(), source_line::current());
    };
}
void add_moments(case_functions& table) {
  table["var"] = [](const arrays& x, options o) -> arrays { return var(x[0], moments(o)); };
  table["std"] = [](const arrays& x, options o) -> arrays { return std_(x[0], moments(o)); };
  table["nanvar"] = [](const arrays& x, options o) -> arrays { return nanvar(x[0], moments(o)); };
  table["nanstd"] = [](const arrays& x, options o) -> arrays { return nanstd(x[0], moments(o)); };
  table["average"] = [](const arrays& x, options o) -> arrays {
    const average_result r = average(x[0], x[1], o.reduction());
    return {r.average, r.sum_of_weights};
  };
  table["quantile"] = [](const arrays& x, options o) -> arrays { return quantile(x[0], x[1], quantiles(o)); };
  table["percentile"] = [](const arrays& x, options o) -> arrays { return percentile(x[0], x[1], quantiles(o)); };
  table["nanquantile"] = [](const arrays& x, options o) -> arrays { return nanquantile(x[0], x[1], quantiles(o)); };
  table["nanpercentile"] = [](const arrays& x, options o) -> arrays { return nanpercentile(x[0], x[1], quantiles(o)); };
}
void add_along_axis(case_functions& table) {
  table["argmax"] = [](const arrays& x, options o) -> arrays { return argmax(x[0], o.axis(-1)); };
  table["argmin"] = [](const arrays& x, options o) -> arrays { return argmin(x[0], o.axis(-1)); };
  table["nanargmax"] = [](const arrays& x, options o) -> arrays { return nanargmax(x[0], o.axis(-1)); };
  table["nanargmin"] = [](const arrays& x, options o) -> arrays { return nanargmin(x[0], o.axis(-1)); };
  table["diff"] = [](const arrays& x, options o) -> arrays {
    return diff(x[0], static_cast<int>(o.integer("n")), o.axis(-1));
  };
  table["ediff1d"] = [](const arrays& x, options) -> arrays {
    return x.count() == 1 ? ediff1d(x[0]) : ediff1d(x[0], x[1], x[2]);
  };
  table["cumulative_sum"] = [](const arrays& x, options o) -> arrays {
    return cumulative_sum(x[0], o.axis(-1), o.flag("include_initial"));
  };
  table["cumulative_prod"] = [](const arrays& x, options o) -> arrays {
    return cumulative_prod(x[0], o.axis(-1), o.flag("include_initial"));
  };
  table["nancumprod"] = [](const arrays& x, options o) -> arrays { return nancumprod(x[0], o.axis(-1)); };
  table["nancumsum"] = [](const arrays& x, options o) -> arrays { return nancumsum(x[0], o.axis(-1)); };
}
}  // namespace

TEST_CASE("reductions are those of jax.numpy") {
  case_functions table;
  add_plain(table);
  add_moments(table);
  add_along_axis(table);
  check_cases("numpy/reductions.txt", table);
  check_cases("numpy/moments.txt", table);
}

TEST_CASE("average takes options alone, and weights") {
  const array x = array::from<float>({1, 2, 3, 6}, {2, 2});
  CHECK(average(x, {}).item() == 3);
  CHECK(average(x, {{0}}).shape() == shape{2});
  CHECK(average(x, {.axis = {1}, .keepdims = true}).shape() == shape{2, 1});
  CHECK(average(x, array::from<float>({1, 0}), {{1}}).average.values<float>()[1] == 3);
}

TEST_CASE("what follows a sum of 16-bit floats is computed before it is rounded") {
  const auto number = [](const array& x) { return astype(x, f64).item<double>(); };
  const array large = concatenate({full({50}, 400.0f, f16), full({50}, -400.0f, f16)}, 0);
  CHECK(number(nanstd(large)) == 400);  // the variance is 160,000
  CHECK(number(std_(large)) == 400);
  const array tiny = concatenate({full({50}, 1e-4f, f16), full({50}, -1e-4f, f16)}, 0);
  CHECK(number(nanstd(tiny)) == number(tiny(0)));
  const auto [mean_of, total] = average(full({10000}, 20.0f, f16), full({10000}, 30.0f, f16));
  CHECK(number(mean_of) == 20);
  CHECK(std::isinf(number(total)));
  CHECK(nanstd(array::from<std::int32_t>({1, 3})).item() == 1);
}

TEST_CASE("the gradient of an extreme is shared among all that tie, whose number f16 cannot hold") {
  for (const dtype t : {f16, bf16, f32}) {
    const auto largest = [](const array& x) { return max(x); };
    const auto smallest = [](const array& x) { return nanmin(x); };
    const array x = ones({70000}, t);
    for (const array& g : {grad(largest)(x), grad(smallest)(x)})
      CHECK(astype(g, f64)(3).item<double>() == Approx(1.0 / 70000).epsilon(t == f32 ? 1e-6 : 5e-3));
  }
}
