// tests/numpy/signal.cpp: products, numerical calculus, polynomials, histograms and choices are those of jax.numpy.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/numpy.hpp>

#include "support/catch.hpp"
#include "support/functions.hpp"
#include "support/golden_cases.hpp"

#include <algorithm>
#include <cmath>

using namespace tokamax;
using namespace tokamax::test;

namespace {
using options = const case_options&;
int number(options o, const char* name, int otherwise = 0) { return static_cast<int>(o.integer(name, otherwise)); }
convolve_mode mode(options o) {
  return o.text("mode") == "same"    ? convolve_mode::same
         : o.text("mode") == "valid" ? convolve_mode::valid
                                     : convolve_mode::full;
}
arrays from(const arrays& x, int first) {
  arrays rest;
  for (int k = first; k < x.count(); ++k) rest.push_back(x[k]);
  return rest;
}

arrays counts_and_edges(const histogramdd_result& h) {
  arrays all{h.counts};
  for (const array& e : h.edges) all.push_back(e);
  return all;
}

void add_products(case_functions& table) {
  using product = array (*)(const array&, const array&, source_line);
  const std::pair<const char*, product> functions[] = {
      {"dot", dot},         {"vdot", vdot},       {"inner", inner},     {"outer", outer},
      {"kron", kron},       {"matvec", matvec},   {"vecmat", vecmat},   {"polyval", polyval},
      {"polyadd", polyadd}, {"polysub", polysub}, {"polymul", polymul},
  };
  for (const auto& [name, f] : functions)
    table[name] = [f = f](const arrays& x, options) -> arrays { return f(x[0], x[1], source_line::current()); };
  table["vecdot"] = [](const arrays& x, options o) -> arrays { return vecdot(x[0], x[1], o.axis(-1)); };
  table["cross"] = [](const arrays& x, options o) -> arrays { return cross(x[0], x[1], o.axis(-1)); };
  table["tensordot"] = [](const arrays& x, options o) -> arrays {
    if (o.has("n")) return tensordot(x[0], x[1], number(o, "n"));
    return tensordot(x[0], x[1], o.list("of_x"), o.list("of_y"));
  };
  table["convolve"] = [](const arrays& x, options o) -> arrays { return convolve(x[0], x[1], mode(o)); };
  table["correlate"] = [](const arrays& x, options o) -> arrays { return correlate(x[0], x[1], mode(o)); };
  table["polydiv"] = [](const arrays& x, options) { return polydiv(x[0], x[1]); };
  table["polyder"] = [](const arrays& x, options o) -> arrays { return polyder(x[0], number(o, "m")); };
  table["polyint"] = [](const arrays& x, options o) -> arrays { return polyint(x[0], number(o, "m")); };
  table["poly"] = [](const arrays& x, options) -> arrays { return poly(x[0]); };
}
void add_calculus(case_functions& table) {
  table["interp"] = [](const arrays& x, options o) -> arrays {
    interp_options i{.period = o.number("period")};
    if (o.has("left")) i.left = array(o.number("left")), i.right = array(o.number("right"));
    return interp(x[0], x[1], x[2], i);
  };
  table["trapezoid"] = [](const arrays& x, options o) -> arrays {
    if (x.count() == 2) return trapezoid(x[0], x[1], o.axis(-1));
    return trapezoid(x[0], o.number("dx", 1), o.axis(-1));
  };
  table["gradient"] = [](const arrays& x, options o) -> arrays {
    if (!o.has("axis")) return gradient(x[0]);
    return gradient(x[0], o.axis(0), o.number("distance", 1));
  };
  table["bincount"] = [](const arrays& x, options o) -> arrays {
    if (x.count() == 2) return bincount(x[0], o.integer("length"), x[1]);
    return bincount(x[0], o.integer("length"));
  };
  table["histogram_bin_edges"] = [](const arrays& x, options o) -> arrays {
    return histogram_bin_edges(x[0], o.integer("bins"));
  };
  table["histogram"] = [](const arrays& x, options o) -> arrays {
    const histogram_result h = histogram(x[0], o.integer("bins"), {}, o.flag("density"));
    return {h.counts, h.edges};
  };
  table["histogramdd"] = [](const arrays& x, options o) -> arrays {
    return counts_and_edges(histogramdd(x[0], o.integer("bins"), {}, o.flag("density")));
  };
  table["histogramdd_at"] = [](const arrays& x, options o) -> arrays {
    return counts_and_edges(histogramdd(x[0], from(x, 1), {}, o.flag("density")));
  };
  table["histogramdd_weights"] = [](const arrays& x, options) -> arrays {
    return counts_and_edges(histogramdd(x[0], from(x, 2), x[1]));
  };
  table["histogram2d"] = [](const arrays& x, options o) -> arrays {
    return counts_and_edges(histogram2d(x[0], x[1], o.integer("bins")));
  };
  table["place"] = [](const arrays& x, options) -> arrays { return place(x[0], x[1], x[2]); };
  table["histogram_at"] = [](const arrays& x, options) -> arrays {
    const histogram_result h = histogram(x[0], x[1]);
    return {h.counts, h.edges};
  };
  table["cov"] = [](const arrays& x, options o) -> arrays {
    return cov(x[0], {o.flag("rowvar", true), o.flag("bias"), o.number("ddof", -1)});
  };
  table["corrcoef"] = [](const arrays& x, options) -> arrays { return corrcoef(x[0]); };
}
void add_choices(case_functions& table) {
  table["select"] = [](const arrays& x, options) -> arrays {
    return select(arrays{x[0], x[1]}, arrays{x[2], x[3]}, 9.0);
  };
  table["choose"] = [](const arrays& x, options o) -> arrays { return choose(x[0], from(x, 1), o.flag("wrap")); };
  table["piecewise"] = [](const arrays& x, options) -> arrays {
    return piecewise(
        x[0], arrays{x[0] < -1.0, x[0] > 1.0}, 0.5, [](const array& z) { return -z; },
        [](const array& z) { return z * z; });
  };
  table["put_along_axis"] = [](const arrays& x, options o) -> arrays {
    return put_along_axis(x[0], x[1], x[2], o.axis(0));
  };
  table["put"] = [](const arrays& x, options) -> arrays { return put(x[0], x[1], x[2]); };
  table["ravel_multi_index"] = [](const arrays& x, options) -> arrays { return ravel_multi_index(x, {3, 4}); };
  table["unravel_index"] = [](const arrays& x, options) { return unravel_index(x[0], {3, 4}); };
  table["delete"] = [](const arrays& x, options o) -> arrays { return delete_(x[0], o.integer("at"), o.axis(0)); };
  table["insert"] = [](const arrays& x, options o) -> arrays { return insert(x[0], o.integer("at"), x[1], o.axis(0)); };
}
}  // namespace

TEST_CASE("products, calculus, histograms and choices are those of jax.numpy") {
  case_functions table;
  add_products(table);
  add_calculus(table);
  add_choices(table);
  check_cases("numpy/signal.txt", table);
}

TEST_CASE("long convolutions are the sums of their products") {
  for (const std::int64_t m : {1, 37, 200}) {
    const std::int64_t n = 9001;
    const array x = test::noise({n}, 1), v = test::noise({m}, 2), y = convolve(x, v),
                kept = convolve(v, x, convolve_mode::valid);
    REQUIRE(y.shape() == shape{n + m - 1});
    double wrong = 0;
    for (std::int64_t k = 0; k < n + m - 1; ++k) {
      double sum = 0;
      for (std::int64_t i = std::max<std::int64_t>(0, k - n + 1); i < std::min(m, k + 1); ++i)
        sum += static_cast<double>(v.values<float>()[static_cast<std::size_t>(i)]) *
               static_cast<double>(x.values<float>()[static_cast<std::size_t>(k - i)]);
      wrong = std::max(wrong, std::abs(sum - static_cast<double>(y.values<float>()[static_cast<std::size_t>(k)])));
    }
    CHECK(wrong < 1e-5);
    CHECK(kept.values<float>()[0] == y.values<float>()[static_cast<std::size_t>(m - 1)]);
  }
}

TEST_CASE("sums of 16-bit floats are rounded at the end") {
  const auto number = [](const array& x) { return astype(x, f64).item<double>(); };
  const array rows = astype(reshape(array::from<float>({-400, 400, -400, 400, 800, -800, 800, -800}), {2, 4}), f16);
  CHECK(number(corrcoef(rows)(0, 1)) == -1);  // the covariances are infinite in f16
  CHECK(number(cov(rows * 0.25f)(0, 0)) == Approx(40000.0 / 3).epsilon(1e-3));
  const array x = full({2000}, 1.0f, bf16), taps = full({400}, 1.0f, bf16);
  CHECK(number(convolve(x, taps)(1000)) == 400);
  CHECK(number(max(convolve(x * 0.3f, taps * 0.3f))) ==
        Approx(400 * number(array(0.3f, {bf16, false, {}})) * number(array(0.3f, {bf16, false, {}}))).epsilon(4e-3));
  CHECK(number(trapezoid(full({1001}, 1.0f, bf16))) == 1000);
}

TEST_CASE("operands are promoted before they are computed with") {
  const array y = array::from<double>({1, 1}), x = array::from<float>({1, 1.0f + 0x1p-20f});
  CHECK(trapezoid(y, x).dtype() == f64);
  CHECK(trapezoid(y, x).item<double>() == 0x1p-20);
  const array at = astype(array::from<float>({100}), bf16), places = array::from<float>({0, 1000.5f});
  CHECK(interp(at, places, places).dtype() == f32);
  CHECK(interp(at, places, places)(0).item() == 100);
  CHECK(convolve(full({3}, 1.0f, bf16), array::from<std::int32_t>({1, 1})).dtype() == bf16);
}

TEST_CASE("products of truth values are their conjunction") {
  const array t = array::from<bool>({true, false});
  CHECK(difference(to_values(arrays{outer(t, t)}),
                   to_values(arrays{array::from<bool>({true, false, false, false}, {2, 2})}), 0) == "");
  CHECK(difference(to_values(arrays{kron(t, t)}), to_values(arrays{array::from<bool>({true, false, false, false})}),
                   0) == "");
}

TEST_CASE("bincount leaves out what its counts have no place for, whatever the dtype") {
  const auto counts = [](const array& x) { return to_values(arrays{bincount(x, 3)}); };
  const values one = to_values(arrays{array::from<std::int32_t>({1, 0, 0})});
  CHECK(difference(counts(array::from<std::int64_t>({0, 4294967297, std::int64_t{1} << 40})), one, 0) == "");
  CHECK(difference(counts(array::from<std::uint32_t>({0, 4294967295u, 4294967294u})), one, 0) == "");
  CHECK(difference(counts(array::from<std::int64_t>({-4294967295, 7})), one, 0) == "");
}
