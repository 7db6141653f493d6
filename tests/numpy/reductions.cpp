// tests/numpy/reductions.cpp: reductions give what jax.numpy gives.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/numpy.hpp>
#include <tokamax/transforms/cumulative.hpp>

#include "support/catch.hpp"
#include "support/golden_cases.hpp"

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
