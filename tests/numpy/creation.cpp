// tests/numpy/creation.cpp: ranges, grids, diagonals and windows are those of jax.numpy.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/numpy.hpp>

#include "support/catch.hpp"
#include "support/golden_cases.hpp"

using namespace tokamax;
using namespace tokamax::test;

namespace {
using options = const case_options&;
int number(options o, const char* name, int otherwise = 0) { return static_cast<int>(o.integer(name, otherwise)); }
linspace_options spaces(options o) { return {o.flag("endpoint", true), o.type("dtype"), o.axis(0)}; }
diagonal_options which(options o) { return {o.integer("offset"), number(o, "axis1"), number(o, "axis2", 1)}; }

void add_ranges(case_functions& table) {
  table["arange"] = [](const arrays&, options o) -> arrays {
    if (o.flag("whole")) return arange(o.integer("start"), o.integer("stop"), o.integer("step"));
    return arange(o.number("start"), o.number("stop"), o.number("step"));
  };
  table["linspace"] = [](const arrays& x, options o) -> arrays {
    return linspace(x[0], x[1], o.integer("num"), spaces(o));
  };
  table["logspace"] = [](const arrays& x, options o) -> arrays {
    return logspace(x[0], x[1], o.integer("num"), o.number("base", 10), spaces(o));
  };
  table["geomspace"] = [](const arrays& x, options o) -> arrays {
    return geomspace(x[0], x[1], o.integer("num"), spaces(o));
  };
  table["meshgrid"] = [](const arrays& x, options o) {
    return meshgrid(x, {o.text("indexing", "xy") == "xy", o.flag("sparse")});
  };
  table["indices"] = [](const arrays&, options o) { return indices(o.list("shape"), i32, o.flag("sparse")); };
  table["ix_"] = [](const arrays& x, options) { return ix_(x); };
  table["bartlett"] = [](const arrays&, options o) -> arrays { return bartlett(o.integer("n")); };
  table["hanning"] = [](const arrays&, options o) -> arrays { return hanning(o.integer("n")); };
  table["hamming"] = [](const arrays&, options o) -> arrays { return hamming(o.integer("n")); };
  table["blackman"] = [](const arrays&, options o) -> arrays { return blackman(o.integer("n")); };
}
void add_matrices(case_functions& table) {
  table["eye"] = [](const arrays&, options o) -> arrays { return eye(o.integer("n"), o.integer("m"), o.integer("k")); };
  table["tri"] = [](const arrays&, options o) -> arrays { return tri(o.integer("n"), o.integer("m"), o.integer("k")); };
  table["identity"] = [](const arrays&, options o) -> arrays { return identity(o.integer("n"), o.type("dtype")); };
  table["tril_indices"] = [](const arrays&, options o) {
    return tril_indices(o.integer("n"), o.integer("m"), o.integer("k"));
  };
  table["triu_indices"] = [](const arrays&, options o) {
    return triu_indices(o.integer("n"), o.integer("m"), o.integer("k"));
  };
  table["diag_indices"] = [](const arrays&, options o) { return diag_indices(o.integer("n"), number(o, "count")); };
  table["tril"] = [](const arrays& x, options o) -> arrays { return tril(x[0], o.integer("k")); };
  table["triu"] = [](const arrays& x, options o) -> arrays { return triu(x[0], o.integer("k")); };
  table["diag"] = [](const arrays& x, options o) -> arrays { return diag(x[0], o.integer("k")); };
  table["diagflat"] = [](const arrays& x, options o) -> arrays { return diagflat(x[0], o.integer("k")); };
  table["diagonal"] = [](const arrays& x, options o) -> arrays { return diagonal(x[0], which(o)); };
  table["trace"] = [](const arrays& x, options o) -> arrays { return tokamax::trace(x[0], which(o)); };
  table["vander"] = [](const arrays& x, options o) -> arrays {
    return vander(x[0], o.integer("n"), o.flag("increasing"));
  };
  table["fill_diagonal"] = [](const arrays& x, options) -> arrays { return fill_diagonal(x[0], x[1]); };
}
}  // namespace

TEST_CASE("created arrays are those of jax.numpy") {
  case_functions table;
  add_ranges(table);
  add_matrices(table);
  check_cases("numpy/creation.txt", table);
}

TEST_CASE("ranges of integers are counted in integers") {
  const std::int64_t big = std::int64_t{1} << 53, least = std::numeric_limits<std::int64_t>::min();
  CHECK(arange(big + 1, big + 4, 1, i64).values<std::int64_t>()[2] == big + 3);
  CHECK(arange(big + 1, big + 4, 2, i64).shape() == shape{2});
  CHECK(arange(big, big + 1, 1, i64).shape() == shape{1});
  CHECK(arange(big, big - 3, -1, i64).values<std::int64_t>()[2] == big - 2);
  CHECK(arange(big, big - 3, std::int64_t{-1} << 60, i64).shape() == shape{1});
  CHECK(arange(least, std::int64_t{0}, std::int64_t{1} << 62, i64).values<std::int64_t>()[1] == least / 2);
  CHECK(arange(std::uint64_t{1} << 63, (std::uint64_t{1} << 63) + 2, 1, u64).shape() == shape{2});
  CHECK(arange(-1, 3u).shape() == shape{4});
  CHECK(arange(5, 5).shape() == shape{0});
  CHECK(arange(5, 2).shape() == shape{0});
}
